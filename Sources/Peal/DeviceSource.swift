internal import Foundation
internal import PealModel
internal import PealReplica
internal import Synchronization

/// The device's own inbox as the client reads it: opened where its file is there, and never connected from here. Who connects it (``PealClient/device()``)
/// has an object of its own on the same file; acts go through the file to whoever has the connection.
final class DeviceSource: Sendable {
    private let configuration: Inbox.Configuration
    private let context: CallbackContext
    private let opened = Mutex<(core: UserCore, file: UInt64)?>(nil)

    init(_ configuration: Inbox.Configuration, _ context: CallbackContext) {
        self.configuration = configuration
        self.context = context
    }

    var path: String { configuration.path }

    /// The inbox; nil where there is no file.
    var core: UserCore? {
        let file = fileNumber
        return opened.withLock { opened in
            // A file that was erased keeps its number while it is open here, so another one has another.
            if let opened, opened.file == file { return opened.core }
            _ = opened?.core.end(force: false)
            opened = nil
            guard let file else { return nil }
            let core = UserCore(
                configuration.identity, context: context, status: { _ in },
                open: { [configuration] () async throws(PealError) in try await Inbox(configuration) })
            opened = (core, file)
            return core
        }
    }

    /// Differs after each commit of somebody else's, and when the file comes or goes.
    func version() async -> [Int64] {
        guard let core else { return [] }
        let version = try? await core.call { (inbox) throws(PealError) in try inbox.fileVersion() }
        return [version ?? 0, Int64(truncatingIfNeeded: fileNumber ?? 0)]
    }

    private var fileNumber: UInt64? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: configuration.path)
        return (attributes?[.systemFileNumber] as? NSNumber)?.uint64Value
    }
}

extension Inbox {
    /// A number that moves when another object or process commits to the file.
    fileprivate func fileVersion() throws(PealError) -> Int64 {
        try reading { () throws(ReplicaError) in try replica.dataVersion() }
    }
}
