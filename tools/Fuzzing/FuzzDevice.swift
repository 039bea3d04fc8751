import PealModel
import PealReplica

/// A device of one inbox: the replica and the driver that ship, on a file in memory, and its end of one socket.
final class FuzzDevice {
    /// What a call of the driver did.
    struct Outcome {
        var effects: [SessionDriver.Effect]
        var failure: ReplicaError?
        var before: Cursor
        var after: Cursor
    }

    static let user = InboxIdentity.user(externalID: "mary", email: nil)
    /// A fresh file of each kind: to make one takes longer than to copy it.
    private static let fresh = [fresh(user), fresh(.device(id: nil))]

    private let time: FuzzTime
    private let identity: InboxIdentity
    let path: String
    private var replica: Replica?
    private var driver: SessionDriver
    /// Frames on their way to the hub.
    var up: [[UInt8]] = []
    var isOpen = false
    var timers: [DeviceSession.Timer: Milliseconds] = [:]

    init(_ time: FuzzTime, isDevice: Bool) {
        self.time = time
        identity = isDevice ? .device(id: nil) : Self.user
        path = FuzzFolder.file("session", Self.fresh[isDevice ? 1 : 0])
        driver = Self.driver()
        replica = Self.open(path, identity, time)
    }

    private static func driver() -> SessionDriver {
        SessionDriver(seed: 1, proof: Proof(), windowEntries: SessionWorld.window)
    }

    private static func open(_ path: String, _ identity: InboxIdentity, _ time: FuzzTime) -> Replica {
        do throws(ReplicaError) {
            return try Replica(path: path, identity: identity, project: "key", options: time.options)
        } catch {
            preconditionFailure("a replica opens: \(error)")
        }
    }

    private static func fresh(_ identity: InboxIdentity) -> [UInt8] {
        let path = FuzzFolder.file("fresh")
        _ = open(path, identity, FuzzTime(SessionWorld.start))
        return FuzzFolder.content(path)
    }

    private var store: Replica {
        guard let replica else { preconditionFailure("a device is used until it is closed") }
        return replica
    }

    /// Traps where it cannot be read.
    var cursor: Cursor {
        guard let cursor = try? store.cursor() else { preconditionFailure("a cursor is read") }
        return cursor
    }

    func drive(_ input: (inout DeviceSession) -> [DeviceSession.Action]) -> Outcome {
        let before = cursor
        let result = driver.drive(store, input)
        return Outcome(effects: result.effects, failure: result.failure, before: before, after: cursor)
    }

    func closed(_ code: CloseCode, _ reason: String) -> Outcome {
        let before = cursor
        let result = driver.closed(store, code: code, reason: reason)
        return Outcome(effects: result.effects, failure: result.failure, before: before, after: cursor)
    }

    func stage(_ page: Page) -> Outcome {
        let before = cursor
        let result = driver.stage(store, page)
        return Outcome(effects: result.effects, failure: result.failure, before: before, after: cursor)
    }

    /// The process ends and another one opens the file.
    func restart() {
        replica = nil
        replica = Self.open(path, identity, time)
        driver = Self.driver()
        isOpen = false
        timers = [:]
    }

    func act(_ operation: PealModel.Operation, hold: Milliseconds) {
        _ = try? store.enqueue(operation, hold: hold)
    }

    func secondThoughts(_ choice: UInt8, _ index: Int) {
        guard let rows = try? store.outbox(), !rows.isEmpty else { return }
        let uid = rows[index % rows.count].id
        switch choice % 3 {
        case 0: _ = try? store.undo(uid)
        case 1: _ = try? store.discard(uid)
        default: _ = try? store.retry(uid)
        }
    }

    /// - Parameter names: the checks that count; nil for all.
    /// - Returns: what the file shows of broken invariants.
    func verify(_ names: Set<String>?) -> String? {
        do throws(ReplicaError) {
            let found = try store.verify().checks.filter { $0.isFailure && names?.contains($0.name) ?? true }
            return found.isEmpty ? nil : "the file is broken: \(found.map { "\($0.name): \($0.result)" })"
        } catch {
            return "the file cannot be checked: \(error)"
        }
    }

    func close() { replica = nil }
}
