#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// What the first hundred bytes of a file say, read without SQLite: it refuses a file as a whole, and somebody wants to know why.
struct FileHeader: Equatable {
    /// Bytes of a page.
    var pageSize: Int64
    /// Pages that the file has by its own word; nil where that word is of an older SQLite.
    var pages: Int64?
    /// It is written through a write-ahead log.
    var usesWriteAheadLog: Bool
    /// The application's number.
    var application: UInt32
    /// `user_version`.
    var version: UInt32

    /// Nil where the bytes begin no SQLite database.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= 100, bytes.starts(with: Array("SQLite format 3\0".utf8)) else { return nil }
        let size = Int64(bytes[16]) << 8 | Int64(bytes[17])
        pageSize = size == 1 ? 65_536 : size
        guard pageSize >= 512, pageSize & (pageSize - 1) == 0 else { return nil }
        let count = Self.number(bytes, at: 28)
        // The count is good where the change counter is the one that it was written with.
        pages = count > 0 && Self.number(bytes, at: 24) == Self.number(bytes, at: 92) ? Int64(count) : nil
        usesWriteAheadLog = bytes[18] == 2 && bytes[19] == 2
        application = Self.number(bytes, at: 68)
        version = Self.number(bytes, at: 60)
    }

    static func number(_ bytes: [UInt8], at index: Int) -> UInt32 {
        bytes[index..<index + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
}

/// Bytes of files, outside SQLite. Only of files that no connection of this process has open: closing a descriptor drops the process's
/// locks on the file.
enum RawFile {
    /// Size and moment of the last change; nil where there is none.
    struct Mark: Equatable {
        var bytes: Int64
        var seconds: Int
        var nanoseconds: Int
    }

    static func mark(_ path: String) -> Mark? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        #if canImport(Glibc)
            let time = status.st_mtim
        #else
            let time = status.st_mtimespec
        #endif
        return Mark(bytes: Int64(status.st_size), seconds: time.tv_sec, nanoseconds: time.tv_nsec)
    }

    static func size(_ path: String) -> Int64 { mark(path)?.bytes ?? 0 }

    static func exists(_ path: String) -> Bool { mark(path) != nil }

    /// The first bytes of a file, fewer where it is shorter; nil where it cannot be read.
    static func head(_ path: String, _ count: Int) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let got = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress! + filled, count - filled) }
            guard got > 0 else { break }
            filled += got
        }
        buffer.removeLast(count - filled)
        return buffer
    }

    /// Copies a file, mode 0600; false where that fails, `errno` says why.
    static func copy(_ source: String, to target: String) -> Bool {
        let input = open(source, O_RDONLY | O_CLOEXEC)
        guard input >= 0 else { return false }
        defer { close(input) }
        let output = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard output >= 0 else { return false }
        defer { close(output) }
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = read(input, &buffer, buffer.count)
            if count == 0 { return true }
            guard count > 0 else { return false }
            var written = 0
            while written < count {
                let put = buffer.withUnsafeBytes { write(output, $0.baseAddress! + written, count - written) }
                guard put > 0 else { return false }
                written += put
            }
        }
    }
}
