internal import Foundation
internal import PealModel
internal import PealReplica
internal import Synchronization

/// Devices that were ended here and whose hub does not know it yet. Each goes on until it has been told, also after a restart of the program;
/// then its file goes.
final class Farewells: Sendable {
    static let shared = Farewells()

    private struct Going: Sendable {
        var inbox: Inbox
        var hub: HubAddress
    }

    private let going = Mutex<[String: Going]>([:])

    /// Sees an inbox off whose end is queued.
    func add(_ inbox: Inbox) {
        let configuration = inbox.configuration
        going.withLock { $0[configuration.path] = Going(inbox: inbox, hub: configuration.hub) }
        Task {
            await inbox.connect()
            for await status in await inbox.statuses where status.state == .stopped {
                await inbox.close()
                // The hub has deleted it, or never knew it. Whatever else stopped it may be over when the program starts again.
                if status.code == CloseCode.revoked.rawValue { Replica.remove(configuration.path) }
                break
            }
            self.going.withLock { going in
                if going[configuration.path]?.inbox === inbox { going[configuration.path] = nil }
            }
        }
    }

    /// Goes on with those of a folder that are not under way. Blocking: opens each file.
    ///
    /// - Parameters:
    ///   - current: the name of the file that is in use.
    ///   - configuration: what an inbox of a path is made of.
    func resume(_ folder: String, except current: String, _ configuration: (String) -> Inbox.Configuration) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for name in names where name.hasPrefix("device-") && name.hasSuffix(".peal") && name != current {
            let path = folder + "/" + name
            let wanted = configuration(path)
            let before = going.withLock { $0[path] }
            if let before {
                guard before.hub != wanted.hub else { continue }
                // The hub has moved.
                try? before.inbox.blocking { (inbox) in inbox.close() }
            }
            do throws(PealError) {
                let inbox = try Inbox.open(wanted)
                if try inbox.blocking({ (inbox) throws(PealError) in try inbox.isUnheard() }) {
                    try inbox.blocking { (inbox) in inbox.close() }
                    Replica.remove(path)
                    continue
                }
                try inbox.blocking { (inbox) throws(PealError) in
                    if try !inbox.hasEnd() { try inbox.perform(.end) }
                }
                add(inbox)
            } catch {
                wanted.log("the end of a device cannot be sent: \(error)")
            }
        }
    }
}
