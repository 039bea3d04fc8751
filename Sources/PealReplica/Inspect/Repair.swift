internal import PealModel
internal import PealSQLite

/// What a repaired file holds of the one that it was made from.
public struct Repair: Equatable, Sendable {
    /// Each table, as far as it could be read.
    public var tables: [SalvagedTable]
    /// Acts that wait, and dead letters, that are in the new file.
    public var acts: Int64
    /// Of these, damaged ones that were set aside as dead letters.
    public var setAside: Int64
    /// Numbers of acts that had been given out and could not be read back: they go as voids, so that those behind them go on.
    public var voided: [Int64]
    /// The base is not what the log amounts to: the replica asks the hub for a snapshot in its next session. Until then it shows what was
    /// read.
    public var wantsSnapshot: Bool
    /// A snapshot that was being loaded was dropped; it begins anew.
    public var droppedSnapshot: Bool

    /// Every row of every table is in the new file.
    public var isWhole: Bool { tables.allSatisfy(\.isWhole) }
}

extension ReplicaReader {
    /// Makes a file anew out of what can be read of this one: rows one by one, then indexes, counts and overlay from them. The replica in it is
    /// the same one, with its cursor and its numbers; where the base lacks something it asks for a snapshot in its next session, as after a
    /// divergence (docs/sync.md section 8), and never forks by itself. This file is not written. Blocking.
    ///
    /// - Parameters:
    ///   - path: where; nothing may be there. It is made with mode 0600 and appears when it is whole.
    ///   - options: clocks and the source of uids.
    /// - Throws: ``ReplicaError``: `corrupt` where the one row that says whose file it is cannot be read, `cantOpen` where something is there,
    ///   `newerVersion`, `full`, `ioError`.
    public func repair(to path: String, options: ReplicaOptions = ReplicaOptions()) throws(ReplicaError) -> Repair {
        try refuseNewer()
        let file = try NewFile(path)
        do throws(ReplicaError) {
            let repair = try mend(file.partial, options)
            try file.finish()
            return repair
        } catch {
            Replica.remove(file.partial)
            throw error
        }
    }

    private func mend(_ partial: String, _ options: ReplicaOptions) throws(ReplicaError) -> Repair {
        var repair: Repair
        let state: ReplicaState
        do throws(SQLiteError) {
            var salvage = try Salvage(from: queries.connection, to: partial)
            try inOneState { () throws(SQLiteError) in try salvage.copy(except: ["tally"]) { _, _ in } }
            guard salvage["replica"]?.rows == 1, let found = try? ReplicaState.load(salvage.target) else {
                throw SQLiteError(
                    .corrupt,
                    "the row that says whose file this is, how far it has come and which numbers it gave out is lost")
            }
            state = found
            repair = Repair(
                tables: salvage.tables, acts: 0, setAside: 0, voided: [], wantsSnapshot: false, droppedSnapshot: false)
            try salvage.target.transaction { () throws(SQLiteError) in
                try Mending(connection: salvage.target, options: options).run(state, &repair)
            }
        } catch {
            throw ReplicaError(error)
        }
        let dead = "SELECT count(*) FROM outbox WHERE state = 3"
        do throws(SQLiteError) {
            let before = try readCount(dead, partial)
            let identity = try ReplicaFile.identity(state.identity)
            let replica = try opened(partial, identity, state.project, options)
            repair.acts = try replica.connection.int("SELECT count(*) FROM outbox")
            repair.setAside = try replica.connection.int(dead) - before
        } catch {
            throw ReplicaError(error)
        }
        return repair
    }

    /// Opened as an app opens it, which sets damaged acts aside; then the overlay is made of what waits.
    private func opened(
        _ path: String, _ identity: InboxIdentity, _ project: String, _ options: ReplicaOptions
    ) throws(SQLiteError) -> Replica {
        do throws(ReplicaError) {
            let replica = try Replica(path: path, identity: identity, project: project, options: options)
            try replica.write(.full) { () throws(SQLiteError) in
                var state = try replica.loadState()
                try replica.outboxChanged(&state)
            }
            return replica
        } catch {
            throw SQLiteError(.corrupt, error.message)
        }
    }

    private func readCount(_ sql: String, _ path: String) throws(SQLiteError) -> Int64 {
        try ReplicaFile.openReadOnly(path).int(sql)
    }
}

/// What has to be true of rows that were read one by one before an app can go on with them.
private struct Mending {
    let connection: Connection
    let options: ReplicaOptions

    private static let base = ["item", "register", "mark", "interest", "preference", "catalogue", "fact"]
    private static let stage = [
        "stage", "stage_item", "stage_register", "stage_mark", "stage_interest", "stage_preference", "stage_catalogue",
        "stage_fact", "stage_log",
    ]

    func run(_ state: ReplicaState, _ repair: inout Repair) throws(SQLiteError) {
        try dropStage(&repair)
        let isWhole = repair.tables.allSatisfy { !Self.base.contains($0.name) || $0.isWhole }
        // Of an item that is lost nothing is left to judge by.
        try connection.execute(
            """
            DELETE FROM register WHERE position NOT IN (SELECT position FROM item);
            DELETE FROM fact WHERE position NOT IN (SELECT position FROM item);
            \(Tally.rebuild)
            """)
        let sum = try BaseSum(connection).sum
        repair.wantsSnapshot = state.divergence.repair || !isWhole || sum != state.sum
        if repair.wantsSnapshot { try wantSnapshot(sum) }
        repair.voided = try voidMissing(state)
    }

    /// A snapshot that was being loaded is loaded anew; one that had gone into the base takes that with it.
    private func dropStage(_ repair: inout Repair) throws(SQLiteError) {
        let isWhole = repair.tables.allSatisfy { !Self.stage.contains($0.name) || $0.isWhole }
        let isBase = repair.tables.allSatisfy { !Self.base.contains($0.name) || $0.isWhole }
        let stage = try? Stage.load(connection)
        let rows = repair.tables.filter { Self.stage.contains($0.name) }.reduce(0) { $0 + $1.rows }
        let isPartial = try connection.int("SELECT position FROM replica") == 0
        guard !isWhole || stage == nil && rows > 0 || stage?.isPartial == true && !isBase else { return }
        repair.droppedSnapshot = true
        for table in Self.stage { try connection.execute("DELETE FROM \(table)") }
        guard isPartial else { return }
        for table in Self.base { try connection.execute("DELETE FROM \(table)") }
        try connection.execute("UPDATE replica SET sum = 0")
    }

    private func wantSnapshot(_ sum: UInt64) throws(SQLiteError) {
        let update = try connection.prepare("UPDATE replica SET sum = ?1, sum_computed = ?2, diverged = ?2, repair = 1")
        update.bind(1, bits: sum)
        update.bind(2, options.clock.wall())
        try update.run()
    }

    /// A hub takes no number but the next: one that was given out and is lost is filled by a void (docs/sync.md section 4).
    private func voidMissing(_ state: ReplicaState) throws(SQLiteError) -> [Int64] {
        let waiting = try numbers("SELECT n FROM outbox WHERE n IS NOT NULL")
        let settled = try numbers("SELECT n FROM journal WHERE n > \(state.settledN)")
        guard state.settledN < Int64.max - 1, state.nextN > state.settledN + 1 else { return [] }
        // More than a queue ever had in flight is a damaged number: that takes a new id at the next hello.
        guard state.nextN - state.settledN <= 10_000 else { return [] }
        let missing = (state.settledN + 1..<state.nextN).filter { !waiting.contains($0) && !settled.contains($0) }
        guard !missing.isEmpty else { return [] }
        try shiftRows(missing, state)
        return missing
    }

    private func numbers(_ sql: String) throws(SQLiteError) -> Set<Int64> {
        let query = try connection.prepare(sql)
        var found = Set<Int64>()
        while try query.step() { found.insert(query.int64(0)) }
        return found
    }

    /// Puts voids where the order of the queue has room for them: numbers go up with rows, and each void stands before the next number.
    private func shiftRows(_ missing: [Int64], _ state: ReplicaState) throws(SQLiteError) {
        let query = try connection.prepare(
            "SELECT seq, n FROM outbox WHERE state < 3 ORDER BY n IS NULL, n, seq")
        var order: [(seq: Int64?, n: Int64?)] = []
        while try query.step() { order.append((query.int64(0), query.optionalInt64(1))) }
        for n in missing {
            let place = order.firstIndex { $0.n.map { $0 > n } ?? true } ?? order.endIndex
            order.insert((nil, n), at: place)
        }
        // New rows at the end, in the wanted order: a row's place is nothing but its order.
        let top = try connection.int("SELECT coalesce(max(seq), 0) FROM outbox")
        for (index, entry) in order.enumerated() {
            let seq = top + 1 + Int64(index)
            if let old = entry.seq {
                try connection.execute("UPDATE outbox SET seq = \(seq) WHERE seq = \(old)")
            } else {
                let insert = try connection.prepare(
                    """
                    INSERT INTO outbox (seq, uid, n, state, name, op, observed, observed_time, boot, boot_time, wall, void)
                    VALUES (?1, ?2, ?3, 1, 'void', '{}', 0, 0, '', 0, ?4, ?5)
                    """)
                insert.bind(1, seq)
                insert.bind(2, bits: options.random())
                insert.bind(3, entry.n)
                insert.bind(4, options.clock.wall())
                insert.bind(5, Replica.damagedReason)
                try insert.run()
            }
        }
    }
}

extension ReplicaFile {
    /// The identity that a file names.
    ///
    /// - Throws: `corrupt` where it names none.
    static func identity(_ text: String) throws(SQLiteError) -> InboxIdentity {
        do throws(JSONError) {
            let object = try JSONObject(Array(text.utf8)[...])
            if try object.string("kind") == "device" { return .device(id: nil) }
            if try object.string("kind") == "user" {
                return .user(externalID: try object.string("externalId"), email: try object.string("email"))
            }
        } catch {}
        throw SQLiteError(.corrupt, "the file does not say whose it is")
    }
}

extension Replica {
    /// Opens a file as what it says that it is, for whoever looks after a file and not after an inbox. Blocking.
    ///
    /// - Throws: ``ReplicaError``: as ``init(path:identity:project:formerProjects:options:)``, and `corrupt` where the file does not say it.
    public static func open(
        _ path: String, options: ReplicaOptions = ReplicaOptions()
    ) throws(ReplicaError) -> Replica {
        let (identity, project): (InboxIdentity, String)
        do throws(SQLiteError) {
            let reader = try ReplicaFile.openReadOnly(path)
            _ = try ReplicaFile.migrator.check(reader, allowsNewer: true)
            let state = try ReplicaState.loadOrFail(reader)
            (identity, project) = (try ReplicaFile.identity(state.identity), state.project)
        } catch {
            throw ReplicaError(error, opening: path)
        }
        return try Replica(path: path, identity: identity, project: project, options: options)
    }
}
