internal import Foundation

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

    /// What a folder holds; nil where there is none.
    ///
    /// - Throws: ``PealError``: `file` for one that cannot be read.
    static func load(_ folder: String) throws(PealError) -> DeviceRecord? {
        let file = file(in: folder)
        guard let data = try file.read() else { return nil }
        guard let record = try? JSONDecoder().decode(DeviceRecord.self, from: data) else {
            throw PealError(.file, "\(file.path) cannot be read: it is no device's record")
        }
        return record
    }

    /// Durable when it returns. Blocking.
    ///
    /// - Throws: ``PealError``: `file`; then it is as before.
    func save(_ folder: String) throws(PealError) {
        guard let data = try? JSONEncoder().encode(self) else { preconditionFailure("a record is encoded") }
        try Self.file(in: folder).write(data)
    }

    private static func file(in folder: String) -> StateFile { StateFile(path: folder + "/device.json") }
}
