import Faults
import Foundation
import PealModel
import PealReplica
import PealSQLite

/// A fresh directory, removed with its content.
final class Scratch {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appending(path: "peal-faulty-\(UUID().uuidString)").path()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var file: String { path + "/file" }

    func exists(_ suffix: String = "") -> Bool { FileManager.default.fileExists(atPath: file + suffix) }

    func connect(_ disk: Disk?, _ synchronous: Connection.Synchronous = .full) throws -> Connection {
        var options = Connection.Options()
        options.synchronous = synchronous
        options.vfs = disk?.vfs
        return try Connection(path: file, options: options)
    }

    func replica(_ disk: Disk?) throws -> Replica {
        var options = ReplicaOptions()
        options.clock = TestClock().clock
        options.vfs = disk?.vfs
        return try Replica(
            path: file, identity: .user(externalID: "alice", email: nil), project: "project", options: options)
    }
}
