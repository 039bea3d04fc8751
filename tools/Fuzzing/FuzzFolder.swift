import Foundation

/// A folder in memory for the files of one process; gone with it, as far as the process ends in order.
enum FuzzFolder {
    private static let path: String = {
        let path = "/dev/shm/peal-fuzz-\(ProcessInfo.processInfo.processIdentifier)"
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        atexit { try? FileManager.default.removeItem(atPath: FuzzFolder.path) }
        return path
    }()

    /// The path of a file with this content, and without what another database of this name left behind. Each thread has files of its
    /// own, because tests run inputs side by side.
    static func file(_ name: String, _ content: [UInt8]? = nil) -> String {
        let file = "\(path)/\(name)-\(UInt(pthread_self()))"
        for suffix in ["-wal", "-shm"] { unlink(file + suffix) }
        unlink(file)
        if let content {
            precondition(FileManager.default.createFile(atPath: file, contents: Data(content)), "no place in /dev/shm")
        }
        return file
    }

    static func content(_ file: String) -> [UInt8] {
        (try? Data(contentsOf: URL(fileURLWithPath: file))).map { [UInt8]($0) } ?? []
    }
}
