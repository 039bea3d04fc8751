internal import Foundation

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// A small file in the client's directory: mode 0600, replaced as a whole, and durable when a call returns. Every call blocks.
struct StateFile: Sendable {
    let path: String

    /// What it holds; nil where there is none.
    func read() throws(PealError) -> Data? {
        if access(path, F_OK) != 0, errno == ENOENT { return nil }
        do {
            return try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw PealError(.file, "\(path) cannot be read: \(error.localizedDescription)")
        }
    }

    /// Replaces it.
    func write(_ data: Data) throws(PealError) {
        let made = try temporary(data)
        guard rename(made, path) == 0 else { throw failure(made) }
        syncDirectory()
    }

    /// Deletes it, where it is there.
    func remove() { unlink(path) }

    /// Makes it, unless it is there already; whether it did.
    func create(_ data: Data) throws(PealError) -> Bool {
        let made = try temporary(data)
        let failed = link(made, path) != 0
        let reason = errno
        unlink(made)
        guard failed else {
            syncDirectory()
            return true
        }
        if reason == EEXIST { return false }
        errno = reason
        throw failure(nil)
    }

    /// Whether it is there.
    var isThere: Bool { access(path, F_OK) == 0 }

    /// Runs `body` while no other process and no other thread does so with a file of the same directory.
    func locked<R>(_ body: () throws(PealError) -> R) throws(PealError) -> R {
        let lock = open(directory, O_RDONLY | O_CLOEXEC)
        guard lock >= 0 else { throw failure(nil) }
        defer { close(lock) }
        while flock(lock, LOCK_EX) != 0 { guard errno == EINTR else { throw failure(nil) } }
        return try body()
    }

    private var directory: String { path.lastIndex(of: "/").map { String(path[...$0]) } ?? "." }

    private func temporary(_ data: Data) throws(PealError) -> String {
        let name = path + "." + String(UInt64.random(in: 0 ... .max), radix: 36)
        let file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure(nil) }
        var written = 0
        let bytes = Array(data)
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { systemWrite(file, $0.baseAddress, $0.count) }
            guard count > 0 || (count < 0 && errno == EINTR) else { break }
            written += max(count, 0)
        }
        let isWhole = written == bytes.count && fsync(file) == 0
        let reason = errno
        close(file)
        errno = reason
        guard isWhole else { throw failure(name) }
        return name
    }

    private func failure(_ leftOver: String?) -> PealError {
        let reason = String(cString: strerror(errno))
        if let leftOver { unlink(leftOver) }
        return PealError(.file, "\(path) cannot be written: \(reason)")
    }

    private func syncDirectory() {
        let folder = open(directory, O_RDONLY | O_CLOEXEC)
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }
}

/// The system's, which a method of the same name hides.
private func systemWrite(_ file: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int { write(file, bytes, count) }
