import PealHub
import PealModel
import PealSQLite

/// A hub's store under test.
final class HubSubject: Subject {
    static let now: Milliseconds = 1_700_000_000_000

    let store: SQLiteHubStore
    private let file: String

    /// Opens the file of a folder; it checkpoints after few pages, keeps short logs, and turns publishes early into jobs.
    init(_ folder: String, _ vfs: String?) throws(HubStoreError) {
        file = folder + "/file"
        store = try SQLiteHubStore(
            path: file, retention: Retention(entries: 6, age: .max / 4, hold: 0, period: 1), random: SplitMix(state: 1),
            vfs: vfs, checkpointPages: 60)
        store.wideFrom = 100
    }

    func seed(_ step: Int) { store.random = SplitMix(state: UInt64(step) &+ 1_000) }

    /// A group commit as the hub makes it.
    func commit<R>(_ body: (SQLiteHubStore) throws(HubStoreError) -> R) throws(HubStoreError) -> R {
        do throws(HubStoreError) {
            try store.begin()
            let result = try store.savepoint { () throws(HubStoreError) in try body(store) }
            try store.commit()
            return result
        } catch {
            store.rollback()
            throw error
        }
    }

    /// The first two columns of a query, as numbers.
    func rows(_ sql: String) throws -> [(Int64, Int64)] {
        let query = try Connection(path: file).prepare(sql)
        var rows: [(Int64, Int64)] = []
        while try query.step() { rows.append((query.int64(0), query.int64(1))) }
        return rows
    }

    /// SQLite's own check; each log dense and chained; its sum the fold's; no inbox that has anything twice.
    func problems() throws -> [String] {
        let connection = try Connection(path: file)
        var problems = try connection.integrityProblems()
        let reader = try store.makeReader()
        let inboxes = try connection.prepare("SELECT id, kind FROM inbox WHERE kind < 2 ORDER BY id")
        while try inboxes.step() {
            let inbox = InboxKey(row: inboxes.int64(0))
            if let problem = try problem(of: inbox, isDevice: inboxes.int64(1) == 1, reader) {
                problems.append("inbox \(inbox.row): \(problem)")
            }
        }
        return problems
    }

    private func problem(of inbox: InboxKey, isDevice: Bool, _ reader: any HubReader) throws -> String? {
        let standing = try reader.sum(of: inbox)
        let floor = try reader.log(of: inbox).floor
        var chain = try reader.chain(of: inbox, at: floor)
        var state = InboxState(device: isDevice)
        var hasher = SHA256Hasher()
        var names = Set<String>()
        let entries = try reader.entries(of: inbox, after: floor, maxCount: .max, maxBytes: .max)
        for (index, entry) in entries.enumerated() {
            guard entry.position == floor + Position(index) + 1 else { return "there is a gap at \(entry.position)" }
            let bytes = entry.bytes
            chain = hasher.link(after: chain ?? 0, entry: bytes[...])
            guard chain == entry.chain else { return "the chain breaks at \(entry.position)" }
            let decoded = try Entry(bytes[...])
            if case .item(_, let publish, _) = decoded.kind, !names.insert(publish).inserted {
                return "a publish is there twice"
            }
            state.fold(decoded)
        }
        guard standing.head == floor + Position(entries.count), standing.chain == chain ?? 0 else {
            return "the head is not where the log ends"
        }
        if floor == 0, standing.sum != state.sum { return "the sum is not the fold's" }
        return nil
    }

    static func objection(to error: any Error, of fault: Fault, opening: String?) -> String? {
        guard let error = error as? HubStoreError else { return "it is no HubStoreError" }
        let expected: HubStoreError.Code = [.full, .short].contains(fault.effect) ? .full : .io
        return error.code == expected ? nil : "its code is not \(expected.rawValue)"
    }
}

/// A hub's calls, made once so that the keys and sessions in them are known.
struct HubScript {
    private(set) var steps: [Scenario.Step] = []
    let pilot: HubSubject

    init(_ folder: String) throws { pilot = try HubSubject(folder, nil) }

    /// One more call, made at once on the pilot.
    mutating func call(
        _ name: String, isWhole: Bool = true, _ run: @escaping @Sendable (HubSubject) throws -> Void
    ) throws {
        let step = Scenario.Step(name: name, isWhole: isWhole) { subject in
            guard let subject = subject as? HubSubject else { throw Misconceived("no hub") }
            try run(subject)
        }
        pilot.seed(steps.count)
        steps.append(step)
        try step.run(pilot)
    }

    /// One more group commit.
    mutating func commit(
        _ name: String, _ body: @escaping @Sendable (SQLiteHubStore) throws(HubStoreError) -> Void
    ) throws {
        try call(name) { try $0.commit(body) }
    }
}
