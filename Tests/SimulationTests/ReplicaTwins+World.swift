import PealHub
import PealHubMemory
import PealModel
import PealReplica
import PealSQLite

@testable import Simulation

/// What others do, and what happens to files.
extension ReplicaTwins {
    mutating func others() throws {
        publishes += 1
        let name = "publish-\(publishes)"
        let time = now
        switch random.below(6) {
        case 0..<3:
            var request = PublishRequest(project: project, name: name, body: ItemBody(title: name, sent: now))
            if case .user = identity {
                request.recipients = [.init(identity: UserIdentity(externalID: "anna"))]
            } else {
                request.interests = ["sun", "rain"]
            }
            _ = try commit { () throws(HubStoreError) in try hub.publish(request, now: time) }
        case 3:
            let channels = [Catalogue.Channel(slug: "push", label: name, enabled: true, required: chance(1, of: 3))]
            _ = try commit { () throws(HubStoreError) in
                try hub.setCatalogue([.init(slug: "news", label: "", channels: channels)], in: project, now: time)
            }
        default:
            guard let inbox, let item = try replicas.one.sight().items.last else { return }
            let operation: PealModel.Operation =
                switch random.below(6) {
                case 0: .read(items: [item], on: false, passive: false)
                case 1: .archive(items: [item], on: true)
                case 2: .delete(items: [item])
                case 3: .track(item: item, event: "opened", data: nil)
                default: .mark(.read, upTo: .max)
                }
            let uid = random.next()
            _ = try commit { () throws(HubStoreError) in
                try hub.act(operation, uid: uid, observed: nil, in: inbox, now: time)
            }
        }
    }

    /// The hub's log is trimmed, or the hub is backed up or restored.
    mutating func upkeep() throws {
        let time = now
        if chance(1, of: 4), let backup = hubBackup {
            hub.restore(backup)
            live = nil
        } else if chance(1, of: 3) {
            hubBackup = hub.snapshot()
        } else {
            _ = try commit { () throws(HubStoreError) in try hub.upkeep(limit: 50, now: time) }
        }
    }

    /// Both processes start again, or their files are backed up or restored.
    mutating func processes() throws {
        switch random.below(4) {
        case 0: backup = (try replicas.one.copied(), try replicas.other.copied())
        case 1:
            guard let backup else { return }
            replicas = (try backup.one.copied(), try backup.other.copied())
            live = nil
        default:
            replicas = (try replicas.one.reopened(), try replicas.other.reopened())
            live = nil
        }
    }

    /// A disk, or another program.
    mutating func damage() throws {
        guard chance(1, of: 4), let real = replicas.one as? SQLiteReplica, let memory = replicas.other as? MemoryReplica
        else { return }
        let connection = try Connection(path: real.path)
        if chance(1, of: 2) {
            let sum = memory.state.base.sum &+ 77
            memory.state.base.sum = sum
            try connection.execute("UPDATE replica SET sum = \(Int64(bitPattern: sum))")
        } else if let row = memory.state.base.items.values.min(by: { $0.state.position < $1.state.position }) {
            let position = row.state.position
            guard let id = memory.state.base.items.first(where: { $0.value.state.position == position })?.key else {
                return
            }
            memory.state.base.items[id] = nil
            memory.state.base.facts[id] = nil
            for table in ["item", "register", "fact"] {
                try connection.execute("DELETE FROM \(table) WHERE position = \(position)")
            }
        }
        replicas = (try real.reopened(), try memory.reopened())
        live = nil
    }
}

/// The clocks of both, and random bits that are the same for each.
final class TwinClock: @unchecked Sendable {
    // A test has one thread.
    var wall: Milliseconds = 1_800_000_000_000
    var boot: Milliseconds = 0
    var bootID = 0

    func options(_ seed: UInt64) -> ReplicaOptions {
        final class Source: @unchecked Sendable {
            // As above.
            var random: SimRandom
            init(_ seed: UInt64) { random = SimRandom(seed: seed) }
        }
        let source = Source(seed)
        var options = ReplicaOptions()
        options.clock = ReplicaClock(
            wall: { [self] in wall }, boot: { [self] in boot }, bootID: { [self] in "boot-\(bootID)" })
        options.random = { source.random.next() }
        return options
    }
}
