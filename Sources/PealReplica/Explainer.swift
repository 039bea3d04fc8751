internal import PealModel
internal import PealSQLite

extension Queries {
    func explanation(of id: ItemID) throws(ReplicaError) -> Explanation? {
        try read { () throws(SQLiteError) in try Explainer(self, id).explanation() }
    }

    func explanation(ofNumber number: Position) throws(ReplicaError) -> Explanation? {
        try read { () throws(SQLiteError) in
            let id = try connection.statement("SELECT id FROM item WHERE position = ?1") {
                (query) throws(SQLiteError) -> ItemID? in
                query.bind(1, number)
                return try query.step() ? query.itemID(0) : nil
            }
            guard let id else { return nil }
            return try Explainer(self, id).explanation()
        }
    }
}

/// Puts an ``Explanation`` together, of one state of the file.
private struct Explainer {
    /// An act of this device that names the item or may cover it.
    private struct Own {
        var uid: UInt64
        var operation: Operation
        var wall: Milliseconds
        /// Nil for one of the journal.
        var state: OutboxItem.State?
        var outcome: Outcome?
        var position: Position?
        /// Shown over the base.
        var shapes: Bool
    }

    private let queries: Queries
    private let id: ItemID
    private let state: ReplicaState
    private let frame: Queries.Frame
    private let marks: Marks
    private let item: ItemState?
    private let acts: [Own]

    init(_ queries: Queries, _ id: ItemID) throws(SQLiteError) {
        self.queries = queries
        self.id = id
        let connection = queries.connection
        let state = try ReplicaState.loadOrFail(connection)
        self.state = state
        frame = try queries.frame()
        marks = try Marks(connection)
        item = try ItemState.base(id, connection)
        acts = try Self.acts(on: id, at: item?.position, connection)
    }

    func explanation() throws(SQLiteError) -> Explanation? {
        guard let item else { return gone() }
        let shown = try queries.shown(item.position, frame)
        var fields = [
            field(.read, shown.read, item, register: item.read, .read),
            seen(shown.seen, item),
            field(.archived, shown.archived, item, register: item.archived, .archive),
            Explanation.Field(name: .deleted, value: false, rule: .untouched),
        ]
        if shown.deleted, let act = acts.last(where: { $0.shapes && $0.operation.name == "delete" }) {
            fields[3] = pending(.deleted, true, base: false, act)
        }
        return Explanation(
            id: id, number: item.position, view: frame.view, fields: fields, acts: acts.map { own($0, item) })
    }

    /// A deleted item has no row; only acts of this device can still name it.
    private func gone() -> Explanation? {
        let naming = acts.filter { $0.operation.items.contains(id) }
        guard !naming.isEmpty else { return nil }
        var deleted = Explanation.Field(name: .deleted, value: true, rule: .gone, who: .unknown)
        if let act = naming.last(where: { $0.operation.name == "delete" && $0.outcome?.code == .applied }) {
            deleted.who = .thisDevice
            deleted.acted = hubTime(act.wall)
            deleted.position = act.position
        }
        return Explanation(
            id: id, number: nil, view: frame.view, fields: [deleted], acts: naming.map { own($0, nil) })
    }

    // MARK: Fields

    private func field(
        _ name: Explanation.Field.Name, _ value: Bool, _ item: ItemState, register: Register?, _ kind: MarkKind
    ) -> Explanation.Field {
        let base = marks.value(kind, register, at: item.position)
        if value != base, let act = shaping(name, value, item) { return pending(name, value, base: base, act) }
        let mark = newest(kind, covering: item.position)
        guard let register, register.rank >= mark?.version ?? 0 else { return covered(name, value, by: mark) }
        return Explanation.Field(
            name: name, value: value, rule: register.since < mark?.version ?? 0 ? .spared : .register,
            who: who(register), acted: register.itime, position: register.since, passive: register.passive, mark: mark)
    }

    private func covered(_ name: Explanation.Field.Name, _ value: Bool, by mark: Mark?) -> Explanation.Field {
        guard let mark else { return Explanation.Field(name: name, value: value, rule: .untouched) }
        let own = acts.first { $0.operation.name == "mark" && $0.position == mark.version }
        return Explanation.Field(
            name: name, value: value, rule: .mark, who: own == nil ? .unknown : .thisDevice,
            acted: own.map { hubTime($0.wall) }, position: mark.version, mark: mark)
    }

    private func seen(_ value: Bool, _ item: ItemState) -> Explanation.Field {
        let base = marks.isSeen(item)
        if value != base, let act = shaping(.seen, value, item) { return pending(.seen, value, base: base, act) }
        let mark = newest(.seen, covering: item.position)
        guard item.seen else { return covered(.seen, value, by: mark) }
        return Explanation.Field(name: .seen, value: value, rule: .raised, who: .unknown, mark: mark)
    }

    private func pending(
        _ name: Explanation.Field.Name, _ value: Bool, base: Bool, _ act: Own
    ) -> Explanation.Field {
        Explanation.Field(
            name: name, value: value, rule: act.operation.name == "mark" ? .pendingMark : .pending, who: .thisDevice,
            acted: hubTime(act.wall), passive: act.operation.isPassive, base: base)
    }

    /// The last pending act that makes a field what is shown.
    private func shaping(_ name: Explanation.Field.Name, _ value: Bool, _ item: ItemState) -> Own? {
        acts.last { act in
            guard act.shapes else { return false }
            switch (name, act.operation) {
            case (.read, .read(_, let on, _)): return on == value
            case (.archived, .archive(_, let on)): return on == value
            case (.seen, .seen): return true
            case (.seen, .read(_, let on, _)): return on
            case (.read, .mark(.read, let upTo)), (.seen, .mark(.read, let upTo)), (.seen, .mark(.seen, let upTo)),
                (.archived, .mark(.archive, let upTo)):
                return value && upTo >= item.position
            default: return false
            }
        }
    }

    private func newest(_ kind: MarkKind, covering position: Position) -> Mark? {
        marks[kind].marks.filter { $0.upTo >= position }.max { $0.version < $1.version }
    }

    private func who(_ register: Register) -> Explanation.Who {
        // After a fork this device's older acts carry another id.
        acts.contains { $0.uid == register.uid } ? .thisDevice : who(register.author)
    }

    private func who(_ author: Author?) -> Explanation.Who {
        switch author {
        case nil: .unknown
        case .api: .api
        case .replica(let id): id == state.replica ? .thisDevice : .replica(id)
        }
    }

    private func hubTime(_ wall: Milliseconds) -> Milliseconds { wall + (state.clockOffset ?? 0) }

    // MARK: Own acts

    private func own(_ act: Own, _ item: ItemState?) -> Explanation.OwnAct {
        Explanation.OwnAct(
            uid: act.uid, name: act.operation.name, on: act.operation.isOn, acted: act.wall, fate: fate(act, item))
    }

    private func fate(_ act: Own, _ item: ItemState?) -> Explanation.Fate {
        if act.state == .dead { return .dead(act.outcome?.code ?? .invalid) }
        if let state = act.state { return .pending(state) }
        guard let outcome = act.outcome else { return .stands(act.position) }
        switch outcome.code {
        case .superseded: return .superseded(by: who(outcome.author), at: outcome.position)
        case .gone: return .gone
        case .applied: return applied(act, item)
        default: return .unchanged(outcome.code)
        }
    }

    /// The journal keeps the outcome of the whole act; what it was for this item shows in the register that stands.
    private func applied(_ act: Own, _ item: ItemState?) -> Explanation.Fate {
        guard let item else { return act.operation.name == "delete" ? .stands(act.position) : .gone }
        let (kind, register): (MarkKind, Register?)
        switch act.operation {
        case .read: (kind, register) = (.read, item.read)
        case .archive: (kind, register) = (.archive, item.archived)
        default: return .stands(act.position)
        }
        guard let register else { return .stands(act.position) }
        if register.uid == act.uid {
            guard let mark = newest(kind, covering: item.position), mark.version > register.rank, !register.value else {
                return .stands(act.position ?? register.since)
            }
            return .covered(by: mark)
        }
        guard let position = act.position, register.since <= position else {
            return .replaced(by: who(register), at: register.since)
        }
        return register.value == act.operation.isOn
            ? .unchanged(.noop) : .superseded(by: who(register), at: register.since)
    }

    /// Acts that name the item, and marks; of the journal and then of the outbox, which is their order.
    private static func acts(
        on id: ItemID, at position: Position?, _ connection: Connection
    ) throws(SQLiteError) -> [Own] {
        let query = try connection.prepare(
            """
            SELECT seq, uid, op, wall, NULL, outcome, position, 0 FROM journal WHERE name = 'mark' OR instr(op, ?1) > 0
            UNION ALL
            SELECT seq, uid, op, wall, state, outcome, NULL, state < 3 AND quiet = 0 AND void IS NULL FROM outbox
            WHERE name = 'mark' OR instr(op, ?1) > 0
            ORDER BY 1
            """)
        query.bind(1, id.description)
        var found: [Own] = []
        while try query.step() {
            let op = query.blob(2)
            guard let object = try? JSONObject(op[...]), let operation = try? Operation(object) else { continue }
            if case .mark(_, let upTo) = operation {
                guard let position, upTo >= position else { continue }
            } else if !operation.items.contains(id) {
                continue
            }
            var outcome: Outcome?
            if let text = query.optionalBlob(5), let object = try? JSONObject(text[...]) {
                outcome = try? Outcome(object)
            }
            found.append(
                Own(
                    uid: query.bits(1), operation: operation, wall: query.number(3),
                    state: query.optionalInt64(4).map { OutboxItem.State(rawValue: $0) ?? .dead }, outcome: outcome,
                    position: query.optionalInt64(6), shapes: query.bool(7)))
        }
        return found
    }
}

extension Queries {
    /// What an item shows, base and overlay together.
    fileprivate func shown(
        _ position: Position, _ frame: Frame
    ) throws(SQLiteError) -> (read: Bool, seen: Bool, archived: Bool, deleted: Bool) {
        let query = try connection.prepare(
            """
            SELECT \(Shown.read), \(Shown.seen), \(Shown.archived), o_deleted IS NOT NULL FROM item WHERE position = ?5
            """)
        query.bind(1, frame.readUpTo)
        query.bind(2, frame.seenUpTo)
        query.bind(3, frame.archiveUpTo)
        query.bind(5, position)
        guard try query.step() else { return (false, false, false, true) }
        return (query.bool(0), query.bool(1), query.bool(2), query.bool(3))
    }
}

extension Operation {
    /// To which value a read or an archive goes.
    fileprivate var isOn: Bool {
        switch self {
        case .read(_, let on, _), .archive(_, let on): on
        default: true
        }
    }

    fileprivate var isPassive: Bool {
        if case .read(_, _, let passive) = self { passive } else { false }
    }
}
