internal import PealSQLite

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The pages in which a replica's file has its schema, the same in every file that was made by it. A small file that is cut off has lost
/// some of them, and without the schema nothing of what is there can be read.
///
/// Pages of tables are left as they are, lost: an empty one in the place of a lost one would say that there were no acts.
struct FreshPages {
    private let bytes: [UInt8]
    /// From 0; without the first one.
    private let schema: [Int]

    /// Makes them in a folder, and leaves nothing there; nil where that cannot be done.
    init?(_ folder: String) {
        let path = folder + "/fresh"
        defer { for suffix in ["", "-journal"] { unlink(path + suffix) } }
        var settings = Connection.Options()
        settings.usesWriteAheadLog = false
        var roots: Set<Int> = []
        do throws(SQLiteError) {
            let connection = try Connection(path: path, options: settings)
            try ReplicaFile.migrator.migrate(connection)
            let query = try connection.prepare("SELECT rootpage FROM sqlite_schema")
            while try query.step() { roots.insert(query.int(0)) }
        } catch {
            return nil
        }
        guard let bytes = RawFile.head(path, Int(RawFile.size(path))), let header = FileHeader(bytes) else {
            return nil
        }
        self.bytes = bytes
        // Each table and index is one page while it is empty; what is left is the schema's.
        schema = (1..<max(1, bytes.count / Int(header.pageSize))).filter { !roots.contains($0 + 1) }
    }

    /// Puts into a file of zeros from `size` on the pages that it has lost, where its first page says that it was made as these were.
    /// A page of which a part is there is replaced only where that part is the same.
    func fill(_ path: String, from size: Int64, _ header: FileHeader) {
        let page = Int(header.pageSize)
        // The first page alone has no row.
        guard size >= 2 * page, let first = RawFile.head(path, page), first.count == page, bytes.count >= page,
            FileHeader(bytes)?.pageSize == header.pageSize, header.version == FileHeader(bytes)?.version,
            // The head before it counts changes.
            first[100...] == bytes[100..<page]
        else { return }
        let file = open(path, O_RDWR | O_CLOEXEC)
        guard file >= 0 else { return }
        defer { close(file) }
        for offset in schema.map({ $0 * page }) where offset + page > size {
            let there = max(0, Int(size) - offset)
            var part = [UInt8](repeating: 0, count: there)
            guard pread(file, &part, there, off_t(offset)) == there, part[...] == bytes[offset..<offset + there] else {
                continue
            }
            _ = bytes[offset..<offset + page].withUnsafeBytes { pwrite(file, $0.baseAddress!, page, off_t(offset)) }
        }
    }
}
