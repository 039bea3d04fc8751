internal import PealModel
internal import PealSQLite

/// Takes out of rows what a person wrote or is called: titles, texts, payloads, data, names, tokens, proofs, secrets (docs/inspector.md,
/// "What a redacted copy holds"). Positions, times, ids, authors, outcomes and sizes of tables stay.
final class Redaction {
    /// What stands in place of a text that has no name of its own.
    static let word = "redacted"

    private var names: [String: [[UInt8]: String]] = [:]

    /// The same word for the same name within one copy: `category-1`.
    private func name(_ kind: String, _ value: SQLiteValue) -> SQLiteValue {
        guard case .text(let bytes) = value else { return value }
        return .text(Array(name(kind, bytes).utf8))
    }

    private func name(_ kind: String, _ bytes: [UInt8]) -> String {
        if let known = names[kind]?[bytes] { return known }
        let made = "\(kind)-\((names[kind]?.count ?? 0) + 1)"
        names[kind, default: [:]][bytes] = made
        return made
    }

    private func name(_ kind: String, _ text: String) -> String { name(kind, Array(text.utf8)) }

    private func type(_ value: SQLiteValue) -> SQLiteValue {
        value == .text(Array("message".utf8)) ? value : name("type", value)
    }

    /// Changes a row of a table.
    func change(_ table: Salvage.Table, _ row: inout [SQLiteValue]) {
        func change(_ column: String, _ body: (SQLiteValue) -> SQLiteValue) {
            if let index = table.columns.firstIndex(of: column) { row[index] = body(row[index]) }
        }
        func blank(_ column: String, _ text: String = Redaction.word) {
            change(column) { $0 == .null ? $0 : .text(Array(text.utf8)) }
        }
        switch table.name {
        case "replica":
            change("identity", Self.identity)
            blank("project")
            change("secret") { _ in .null }
            change("previous_secret") { _ in .null }
            change("nonce") { _ in .text([]) }
        case "item", "stage_item":
            change("type", type)
            change("category") { name("category", $0) }
            change("topic") { name("topic", $0) }
            change("interests", interests)
            change("body", body)
        case "tally": change("category") { $0 == .text([]) ? $0 : name("category", $0) }
        case "interest", "stage_interest": change("name") { name("interest", $0) }
        case "preference", "stage_preference":
            change("category") { name("category", $0) }
            change("channel") { name("channel", $0) }
        case "catalogue", "stage_catalogue": change("body", catalogue)
        case "fact", "stage_fact": change("data") { _ in .null }
        case "outbox", "journal":
            change("op", operation)
            change("outcome", Self.outcome)
            blank("boot")
            blank("void")
        case "raw":
            change("bytes") { _ in .blob(Array("{}".utf8)) }
            blank("reason")
        case "stage_log": change("bytes") { _ in .blob(Array("{}".utf8)) }
        default: break
        }
    }

    // MARK: Values

    private static func object(_ value: SQLiteValue) -> JSONObject? {
        guard case .text(let bytes) = value else { return nil }
        return try? JSONObject(bytes[...])
    }

    private static func identity(_ value: SQLiteValue) -> SQLiteValue {
        guard let object = object(value), let kind = try? object.string("kind") else { return .text([]) }
        let made: InboxIdentity = kind == "device" ? .device(id: nil) : .user(externalID: "redacted", email: nil)
        return .text(Array(ReplicaFile.text(made).utf8))
    }

    /// A body that cannot be read stays one that cannot be read.
    private func body(_ value: SQLiteValue) -> SQLiteValue {
        if value == .text([]) { return value }
        guard let object = Self.object(value), let body = try? ItemBody(object) else { return .text(Array("{".utf8)) }
        let made = ItemBody(
            title: nil, type: body.type == "message" ? body.type : name("type", body.type),
            category: body.category.map { name("category", $0) }, topic: body.topic.map { name("topic", $0) },
            interests: body.interests.map { name("interest", $0) }.sorted(), sent: body.sent, expires: body.expires,
            silent: body.silent)
        return .text(made.bytes)
    }

    /// The names of a JSON array, each replaced.
    private func interests(_ value: SQLiteValue) -> SQLiteValue {
        guard case .text(let bytes) = value else { return value }
        let names = (try? JSON(bytes[...]))?.arrayValue?.compactMap(\.stringValue) ?? []
        return .text(ItemBody.text(names.map { name("interest", $0) }.sorted()))
    }

    private func catalogue(_ value: SQLiteValue) -> SQLiteValue {
        guard let object = Self.object(value), var catalogue = try? Catalogue(object) else {
            return .text(Array("{}".utf8))
        }
        for index in catalogue.categories.indices {
            let slug = name("category", catalogue.categories[index].slug)
            catalogue.categories[index].slug = slug
            catalogue.categories[index].label = slug
            for channel in catalogue.categories[index].channels.indices {
                let slug = name("channel", catalogue.categories[index].channels[channel].slug)
                catalogue.categories[index].channels[channel].slug = slug
                catalogue.categories[index].channels[channel].label = slug
            }
        }
        return .text(catalogue.bytes)
    }

    private func operation(_ value: SQLiteValue) -> SQLiteValue {
        guard let object = Self.object(value), let operation = try? Operation(object) else {
            return .text(Array("{}".utf8))
        }
        let made: Operation =
            switch operation {
            case .preference(let category, let channel, let enabled):
                .preference(
                    category: name("category", category), channel: name("channel", channel), enabled: enabled)
            case .track(let item, let event, _): .track(item: item, event: event, data: nil)
            case .interest(let name, let on): .interest(name: self.name("interest", name), on: on)
            case .interests(let names): .interests(replace: names.map { name("interest", $0) })
            case .token(_, let platform): .token("redacted", platform: platform)
            case .user(let id, _): .user(id: id.map { _ in "redacted" }, proof: nil)
            case .void: .void(reason: "redacted")
            case .malformed: .malformed(reason: "redacted")
            case .read, .seen, .archive, .delete, .mark, .end: operation
            }
        return .text(Replica.bytes(made))
    }

    /// The code stays; the sentence may quote what a person wrote.
    private static func outcome(_ value: SQLiteValue) -> SQLiteValue {
        if value == .null { return value }
        guard let object = object(value), var outcome = try? Outcome(object) else { return .text(Array("{}".utf8)) }
        outcome.reason = nil
        var writer = JSONWriter()
        outcome.write(to: &writer)
        return .text(writer.bytes)
    }
}

extension ReplicaReader {
    /// Makes a copy that holds no content, for somebody who may not see it: titles, texts, payloads, data, names, tokens, proofs and secrets
    /// are gone or replaced, and every view and check of the file gives the same answers on it. Blocking; a damaged file is copied as far as
    /// it can be read.
    ///
    /// - Parameter path: where; nothing may be there. It is made with mode 0600 and appears when it is whole.
    /// - Returns: what is in it of each table.
    /// - Throws: ``ReplicaError``: `cantOpen` where something is there, `newerVersion`, `full`, `ioError`.
    public func redact(to path: String) throws(ReplicaError) -> [SalvagedTable] {
        try refuseNewer()
        let file = try NewFile(path)
        let redaction = Redaction()
        do throws(SQLiteError) {
            var salvage = try Salvage(from: queries.connection, to: file.partial)
            try inOneState { () throws(SQLiteError) in
                try salvage.copy(redaction.change)
                // Names are in the sum: what it differed by, it goes on to differ by.
                if let state = try? ReplicaState.load(queries.connection), let before = try? BaseSum(queries.connection)
                {
                    let after = try BaseSum(salvage.target)
                    let update = try salvage.target.prepare("UPDATE replica SET sum = ?1")
                    update.bind(1, bits: state.sum &- before.sum &+ after.sum)
                    try update.run()
                }
            }
            let tables = salvage.tables
            try finish(file)
            return tables
        } catch {
            Replica.remove(file.partial)
            throw ReplicaError(error)
        }
    }

    private func finish(_ file: NewFile) throws(SQLiteError) {
        do throws(ReplicaError) {
            try file.finish()
        } catch {
            throw SQLiteError(.cantOpen, error.message)
        }
    }

    /// Runs a body on one state of the file, also where its end cannot be read.
    func inOneState(_ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        try queries.connection.execute("BEGIN DEFERRED")
        defer { queries.connection.rollback() }
        try body()
    }

    func refuseNewer() throws(ReplicaError) {
        let version: Int32
        do throws(SQLiteError) {
            version = try queries.connection.userVersion()
        } catch {
            throw ReplicaError(error)
        }
        guard version <= Int32(ReplicaFile.migrator.steps.count) else {
            throw ReplicaError(
                .newerVersion, "\(queries.path) was made by a newer version: this needs the `peal` of that version")
        }
    }
}
