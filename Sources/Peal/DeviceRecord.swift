internal import Foundation

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// What a device remembers beside its replica: which file that is, the user and the push token. It survives a power cut, and a change of it
/// happens as a whole or not at all.
struct DeviceRecord: Codable, Equatable, Sendable {
    /// The hub that was used last.
    var hub: String
    /// The name of the replica's file in the same folder; empty after a stop.
    var file = ""
    /// The user whose device this is.
    var user: String?
    /// The act that says so is in the replica's outbox, or was.
    var isBound = false
    /// The push token, in hexadecimal.
    var token: String?
    /// The token that a system without a push service gives, in hexadecimal; it outlives a stop.
    var registration: String?

    private static let name = "/device.json"

    /// What a folder holds; nil where there is none.
    ///
    /// - Throws: ``PealError``: `file` for one that cannot be read.
    static func load(_ folder: String) throws(PealError) -> DeviceRecord? {
        guard FileManager.default.fileExists(atPath: folder + name) else { return nil }
        do {
            return try JSONDecoder().decode(DeviceRecord.self, from: Data(contentsOf: URL(filePath: folder + name)))
        } catch {
            throw PealError(.file, "\(folder + name) cannot be read: it is no device's record")
        }
    }

    /// Durable when it returns. Blocking.
    ///
    /// - Throws: ``PealError``: `file`; then it is as before.
    func save(_ folder: String) throws(PealError) {
        guard let data = try? JSONEncoder().encode(self) else { preconditionFailure("a record is encoded") }
        let path = folder + Self.name
        let new = path + ".new"
        let descriptor = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure(new) }
        let isWritten = data.withUnsafeBytes { bytes in
            var done = 0
            while done < bytes.count {
                let count = write(descriptor, bytes.baseAddress! + done, bytes.count - done)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                done += count
            }
            return fsync(descriptor) == 0
        }
        let failure = isWritten ? nil : Self.failure(new)
        close(descriptor)
        if let failure { throw failure }
        guard rename(new, path) == 0 else { throw Self.failure(path) }
        // The name is durable once the folder is.
        let directory = open(folder, O_RDONLY | O_CLOEXEC)
        guard directory >= 0 else { throw Self.failure(folder) }
        defer { close(directory) }
        guard fsync(directory) == 0 else { throw Self.failure(folder) }
    }

    private static func failure(_ path: String) -> PealError {
        PealError(.file, "\(path): \(String(cString: strerror(errno)))")
    }
}
