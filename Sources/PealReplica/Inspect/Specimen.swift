internal import PealSQLite

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// A file that is looked at as it lies there: live, copied, without its log, cut off or damaged. Nothing of it is changed, and nothing is
/// left beside it (docs/inspector.md, "How a file is opened").
final class Specimen {
    let connection: Connection
    let access: ReplicaReader.Access
    let path: String
    /// What is wrong with the file as a file.
    let problems: [String]
    /// What somebody should know who judges it.
    private(set) var notes: [String]
    /// It has neither log nor index beside it, and may be a copy without them.
    private let isAlone: Bool
    private let before: [RawFile.Mark?]

    /// Opens it. Blocking; a file with a log and no index, or one that is cut off, is read from a private copy, which takes as much room in
    /// `TMPDIR` and is gone with the process.
    init(_ path: String) throws(SQLiteError) {
        self.path = path
        before = Self.marks(path)
        var condition = FileCondition(path)
        var opened: Connection?
        if condition.access == .live, condition.refusal == nil {
            opened = try? ReplicaFile.openReadOnly(path)
            // An index that cannot be used, as in a folder that takes no writes; or a damaged file, of which its bytes tell more.
            if opened == nil { condition = FileCondition(path, isLive: false) }
        }
        problems = condition.problems
        notes = condition.notes
        isAlone = condition.isAlone
        if let refusal = condition.refusal { throw refusal }
        if let opened {
            (connection, access) = (opened, .live)
            return
        }
        switch condition.access {
        case .still:
            var settings = Connection.Options()
            settings.readOnly = true
            settings.creates = false
            settings.isImmutable = true
            (connection, access) = (try Connection(path: path, options: settings), .still)
        case .copied, .live: (connection, access) = (try Self.openCopy(path, condition), .copied)
        }
    }

    /// Says what the file itself tells of how it was closed, where it lies alone. In its bytes nothing does: pages come into it with every
    /// checkpoint, and an orderly close only takes the log away. A session that has not ended is a sign that the app ran or died; one that has
    /// ended is none that it did not.
    func judgeClosing() {
        guard isAlone else { return }
        let row = try? connection.prepare("SELECT ended FROM session ORDER BY attempt DESC LIMIT 1")
        guard let row, (try? row.step()) == true else {
            notes.append(
                "There is no write-ahead log. That is so after an orderly close, and no session is known here that would tell more. "
                    + Self.advice(path))
            return
        }
        notes.append(
            row.isNull(0)
                ? "There is no write-ahead log, and the last session has not ended here: the app ran when this was copied, or had died. Its last "
                    + "transactions are missing then, unless the file was opened and closed since. " + Self.advice(path)
                : "There is no write-ahead log, and the last session that is known here has ended: after an orderly close this is all of it. Nothing "
                    + "tells whether the app was opened again before this was copied. " + Self.advice(path))
    }

    private static func advice(_ path: String) -> String {
        "To copy a file of an app that runs, copy \(path)-wal with it."
    }

    /// Whether somebody has written since it was opened, which only an open in place without locks cannot stand.
    var hasChanged: Bool { access == .still && Self.marks(path) != before }

    private static func marks(_ path: String) -> [RawFile.Mark?] {
        ["", "-wal", "-shm"].map { RawFile.mark(path + $0) }
    }

    // MARK: A private copy

    /// Copies the file with its log, and takes the copy's name away again once SQLite has it open.
    private static func openCopy(_ path: String, _ condition: FileCondition) throws(SQLiteError) -> Connection {
        let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array((base + "/peal-inspect-XXXXXX").utf8CString)
        let folder = template.withUnsafeMutableBufferPointer { mkdtemp($0.baseAddress!).map { String(cString: $0) } }
        guard let folder else {
            throw SQLiteError(.cantOpen, "no copy of it can be made in \(base): \(String(cString: strerror(errno)))")
        }
        let copy = folder + "/copy"
        defer {
            for suffix in ["", "-wal", "-shm", "-journal"] { unlink(copy + suffix) }
            rmdir(folder)
        }
        for suffix in ["", "-wal", "-journal"] where suffix.isEmpty || RawFile.size(path + suffix) > 0 {
            guard RawFile.copy(path + suffix, to: copy + suffix) else {
                throw SQLiteError(.ioError, "\(path + suffix) cannot be copied: \(String(cString: strerror(errno)))")
            }
        }
        if let bytes = condition.fullBytes {
            let size = RawFile.size(copy)
            guard truncate(copy, off_t(bytes)) == 0 else {
                throw SQLiteError(.ioError, "its copy cannot be filled up: \(String(cString: strerror(errno)))")
            }
            if let header = condition.header { FreshPages(folder)?.fill(copy, from: size, header) }
        }
        if RawFile.size(copy + "-journal") > 0 {
            // Who died while the file was being made has left a journal: only a connection that writes undoes it.
            var settings = Connection.Options()
            settings.creates = false
            settings.usesWriteAheadLog = false
            _ = try Connection(path: copy, options: settings)
        }
        return try ReplicaFile.openReadOnly(copy)
    }
}

extension ReplicaReader {
    /// How a file was opened for ``init(inspecting:clock:)``.
    public enum Access: String, Sendable {
        /// In place, with SQLite's locks, as another process of the app would.
        case live
        /// In place; nobody has it open, so no lock is taken and nothing is made beside it.
        case still
        /// From a private copy, because its log has no index, or because it is cut off.
        case copied
    }
}

/// What a file is by its bytes, before SQLite is asked.
struct FileCondition {
    var access: ReplicaReader.Access
    var problems: [String] = []
    var notes: [String] = []
    /// Why it cannot be opened at all.
    var refusal: SQLiteError?
    /// It is written through a log, and has none beside it.
    var isAlone = false
    /// Bytes that a cut off file should have at least.
    var fullBytes: Int64?
    /// What its head says.
    private(set) var header: FileHeader?

    /// - Parameter isLive: whether a file with a log and an index is one that somebody has open.
    init(_ path: String, isLive: Bool = true) {
        access = .live
        // Somebody has the file open, and what its bytes are just now says little.
        let isIndexed = RawFile.size(path + "-shm") > 0
        let log = RawFile.size(path + "-wal")
        guard let size = RawFile.mark(path)?.bytes else {
            problems.append("\(path) is not there.")
            refusal = SQLiteError(.cantOpen, "\(path) is not there")
            return
        }
        let isWhole = isIndexed && RawFile.exists(path + "-wal")
        if isWhole, isLive { return }
        access = log > 0 || RawFile.size(path + "-journal") > 0 ? .copied : .still
        judge(path, size)
        if isIndexed, !isWhole {
            problems.append(
                "\(path)-shm is here and \(path)-wal is not: the write-ahead log is missing, and the last transactions with it."
            )
        } else if log > 0 {
            judgeLog(path)
        } else if header?.usesWriteAheadLog == true, refusal == nil {
            isAlone = true
        }
    }

    private mutating func judge(_ path: String, _ size: Int64) {
        guard size > 0 else {
            problems.append("\(path) is empty.")
            refusal = SQLiteError(.notADatabase, "\(path) is empty")
            return
        }
        guard let bytes = RawFile.head(path, 100) else {
            refusal = SQLiteError(.cantOpen, "\(path) cannot be read: \(String(cString: strerror(errno)))")
            return
        }
        header = FileHeader(bytes)
        guard let header else {
            problems.append(
                "\(path) does not begin as an SQLite database does: it is another kind of file, or its first page was overwritten."
            )
            refusal = SQLiteError(.notADatabase, "\(path) is no SQLite database")
            return
        }
        let whole = max(header.pages ?? 0, (size + header.pageSize - 1) / header.pageSize) * header.pageSize
        guard size < whole else { return }
        let pages = header.pages.map { "of \($0) pages of \(header.pageSize) bytes " } ?? ""
        problems.append(
            "\(path) is cut off: \(pages)\(size / header.pageSize) are here whole, \(whole - size) bytes are missing.")
        fullBytes = whole
        access = .copied
    }

    private mutating func judgeLog(_ path: String) {
        guard let scan = WALScan(path + "-wal") else {
            problems.append("\(path)-wal is cut off within its first 32 bytes: what it held is lost.")
            return
        }
        if scan.isForeign {
            problems.append("\(path)-wal does not begin as a write-ahead log does: what it held is lost.")
        } else if let damaged = scan.damaged {
            problems.append(
                "\(path)-wal is damaged at frame \(damaged): what was committed from there on is lost, \(scan.committed) frames count."
            )
        } else if scan.isCutOff || scan.frames > scan.committed {
            notes.append(
                "\(path)-wal ends within a transaction: one that was not finished, or a copy that was cut off. \(scan.committed) frames count."
            )
        }
    }
}
