import PealHub
import PealHubMemory
import PealModel
import PealReplica

/// A hub, two replicas of a user, one item: a value, so that every way on from it can be tried. The machines and the rules are those
/// that ship, the stores are in memory.
struct SmallWorld {
    /// What a person does to the item.
    enum Act: Int, CaseIterable {
        case read, unread, show, archive, unarchive, delete, readAll, see, archiveAll

        func operation(_ item: ItemID, upTo: Position) -> Operation {
            switch self {
            case .read: .read(items: [item], on: true, passive: false)
            case .unread: .read(items: [item], on: false, passive: false)
            case .show: .read(items: [item], on: true, passive: true)
            case .archive: .archive(items: [item], on: true)
            case .unarchive: .archive(items: [item], on: false)
            case .delete: .delete(items: [item])
            case .readAll: .mark(.read, upTo: upTo)
            case .see: .seen(items: [item])
            case .archiveAll: .mark(.archive, upTo: upTo)
            }
        }
    }

    /// What can happen next.
    enum Move: Hashable, CustomStringConvertible {
        case act(Int, Act)
        /// The hub receives the next frame of a device.
        case up(Int)
        /// A device receives what the hub writes now: one frame, or all entries as one batch.
        case down(Int)
        /// A connection breaks, and what was under way up is lost, or arrives later from a socket that the device has given up.
        case cut(Int, late: Bool)
        case lateUp(Int)

        var description: String {
            switch self {
            case .act(let device, let act): "\(device) \(act)"
            case .up(let device): "\(device) up"
            case .down(let device): "\(device) down"
            case .cut(let device, let late): "\(device) cut\(late ? ", late" : "")"
            case .lateUp(let device): "\(device) late"
            }
        }
    }

    struct Socket {
        var session = HubSession()
        var up: [UpFrame] = []
        var replica: ReplicaKey?
    }

    struct End {
        var file: MemoryReplica.State
        var memory = MemoryReplica.SessionMemory()
        var driver: SessionDriver
        var socket = Socket()
        /// A socket that the device has given up and the hub has not.
        var late: Socket?
        /// The nonces that the hub holds, the current and the issued one.
        var proven = ""
        var issued = ""
        var acts = 0
    }

    var hub: MemoryHubStore.State
    var ends: [End]
    var actsLeft: Int
    var cutsLeft: Int
    var made: [UInt64: SmallOracle.Made] = [:]
    var oracle = SmallOracle()
    /// The fold through each position.
    var states = [InboxState(device: false)]
    var chain: UInt64 = 0
    var decided: Set<UInt64> = []
    var moves: [Move] = []

    /// All moves that are possible now; acts and cuts last.
    var possible: [Move] {
        var moves: [Move] = []
        for (index, end) in ends.enumerated() {
            if !end.socket.up.isEmpty { moves.append(.up(index)) }
            if end.socket.session.hasOutput { moves.append(.down(index)) }
            if let late = end.late, !late.up.isEmpty { moves.append(.lateUp(index)) }
        }
        for index in ends.indices where actsLeft > 0 { moves += Act.allCases.map { .act(index, $0) } }
        for index in ends.indices where cutsLeft > 0 {
            moves.append(.cut(index, late: false))
            if ends[index].late == nil, !ends[index].socket.up.isEmpty { moves.append(.cut(index, late: true)) }
        }
        return moves
    }

    /// Nothing is under way.
    var isQuiet: Bool {
        ends.allSatisfy { $0.socket.up.isEmpty && !$0.socket.session.hasOutput && ($0.late?.up.isEmpty ?? true) }
    }

    /// Tells states apart that can go on differently.
    var fingerprint: Int {
        var hasher = Hasher()
        hasher.combine(actsLeft)
        hasher.combine(cutsLeft)
        hasher.combine(chain)
        hasher.combine(oracle)
        for (uid, act) in made.sorted(by: { $0.key < $1.key }) where !decided.contains(uid) {
            hasher.combine(uid)
            hasher.combine(act)
        }
        for end in ends {
            hasher.combine(end.proven)
            hasher.combine(end.issued)
            fingerprint(end, &hasher)
            fingerprint(end.socket, &hasher)
            if let late = end.late { fingerprint(late, &hasher) }
        }
        return hasher.finalize()
    }

    private func fingerprint(_ socket: Socket, _ hasher: inout Hasher) {
        socket.session.fingerprint(into: &hasher)
        hasher.combine(socket.replica?.row)
        hasher.combine(socket.up.count)
        for frame in socket.up { hasher.combine(frame.bytes) }
    }

    private func fingerprint(_ end: End, _ hasher: inout Hasher) {
        end.driver.session.fingerprint(into: &hasher)
        let file = end.file
        hasher.combine(file.cursor.position)
        hasher.combine(file.attempt)
        hasher.combine(file.nonce)
        hasher.combine(file.nextN)
        hasher.combine(file.settledN)
        hasher.combine(file.synced)
        for row in file.outbox {
            hasher.combine(row.uid)
            hasher.combine(row.n)
            hasher.combine(row.state.rawValue)
            hasher.combine(row.attempts)
        }
        hasher.combine(file.journal.count)
        for row in file.journal { hasher.combine(row.uid) }
        hasher.combine(end.memory.awaitsSnapshot)
        for (settled, at) in end.memory.settled {
            hasher.combine(settled.uid)
            hasher.combine(at)
        }
    }
}
