internal import PealSQLite

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The pages that a replica's file begins with: its schema, and each table and index while it is empty. A small file that is cut off
/// has lost some of them, and without the schema nothing of what is there can be read. No row is in them.
struct FreshPages {
    private let bytes: [UInt8]

    /// Makes them in a folder, and leaves nothing there; nil where that cannot be done.
    init?(_ folder: String) {
        let path = folder + "/fresh"
        defer { for suffix in ["", "-journal"] { unlink(path + suffix) } }
        var settings = Connection.Options()
        settings.usesWriteAheadLog = false
        do throws(SQLiteError) {
            try ReplicaFile.migrator.migrate(try Connection(path: path, options: settings))
        } catch {
            return nil
        }
        guard let bytes = RawFile.head(path, Int(RawFile.size(path))), FileHeader(bytes) != nil else { return nil }
        self.bytes = bytes
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
        let start = Int(size) / page * page
        for offset in stride(from: start, to: bytes.count, by: page) {
            let there = max(0, Int(size) - offset)
            var part = [UInt8](repeating: 0, count: there)
            guard pread(file, &part, there, off_t(offset)) == there, part[...] == bytes[offset..<offset + there] else {
                continue
            }
            _ = bytes[offset..<offset + page].withUnsafeBytes { pwrite(file, $0.baseAddress!, page, off_t(offset)) }
        }
    }
}
