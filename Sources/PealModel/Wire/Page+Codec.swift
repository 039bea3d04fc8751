extension Page {
    init(_ object: JSONObject) throws(JSONError) {
        self.init(
            id: try object.hex("id"), at: try object.required("at", object.int("at")), chain: try object.hex("chain"),
            rows: try Self.rows(object), after: try object.required("after", object.int("after")),
            last: try object.required("last", object.bool("last")),
            rest: try object.object("rest").map { (object) throws(JSONError) in try Rest(object) },
            sum: try object.optionalHex("sum"))
    }

    private static func rows(_ object: JSONObject) throws(JSONError) -> [SnapshotRow] {
        let raw = try object.required("rows", object.raw("rows"))
        if let rows = try leanRows(raw) { return rows }
        var rows: [SnapshotRow] = []
        for row in try object.required("rows", object.array("rows")) { rows.append(try SnapshotRow(JSONObject(row))) }
        return rows
    }

    func write(to writer: inout JSONWriter) {
        writer.member("type", "page")
        writer.member("id", Hex64.text(id))
        writer.member("at", at)
        writer.member("chain", Hex64.text(chain))
        writer.member("after", after)
        writer.member("last", last)
        writer.member("sum", sum.map(Hex64.text))
        if let rest {
            writer.key("rest")
            rest.write(to: &writer)
        }
        writer.key("rows")
        writer.beginArray()
        for row in rows { row.write(to: &writer) }
        writer.endArray()
    }
}

extension Page.Rest {
    init(_ object: JSONObject) throws(JSONError) {
        self.init()
        for raw in try object.array("marks") ?? [] {
            let mark = try JSONObject(raw)
            guard let kind = MarkKind(rawValue: try mark.required("kind", mark.string("kind"))) else {
                throw JSONError("'kind' is none of read, seen, archive")
            }
            marks[kind].add(
                Mark(
                    upTo: try mark.required("upTo", mark.int("upTo")),
                    version: try mark.required("version", mark.int("version"))))
        }
        if object.raw("interests") != nil { interests = try object.strings("interests") }
        for raw in try object.array("preferences") ?? [] {
            let cell = try JSONObject(raw)
            let key = PreferenceKey(
                category: try cell.required("category", cell.string("category")),
                channel: try cell.required("channel", cell.string("channel")))
            preferences[key] = try PreferenceCell(cell)
        }
        catalogue = try object.object("catalogue").map { (object) throws(JSONError) in try Catalogue(object) }
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("marks")
        writer.beginArray()
        for kind in MarkKind.allCases {
            for mark in marks[kind].marks {
                writer.beginObject()
                writer.member("kind", kind.rawValue)
                writer.member("upTo", mark.upTo)
                writer.member("version", mark.version)
                writer.endObject()
            }
        }
        writer.endArray()
        if let interests { writer.member("interests", interests) }
        if !preferences.isEmpty {
            writer.key("preferences")
            writer.beginArray()
            for (key, cell) in preferences.sorted(by: { $0.key < $1.key }) {
                writer.beginObject()
                writer.member("category", key.category)
                writer.member("channel", key.channel)
                cell.writeMembers(to: &writer)
                writer.endObject()
            }
            writer.endArray()
        }
        if let catalogue {
            writer.key("catalogue")
            writer.beginObject()
            catalogue.writeMembers(to: &writer)
            writer.endObject()
        }
        writer.endObject()
    }
}

extension SnapshotRow {
    /// Decodes a row of a page, or one that a replica has staged.
    ///
    /// - Throws: ``JSONError`` that names the member.
    public init(_ object: JSONObject) throws(JSONError) {
        func register(_ object: JSONObject?) throws(JSONError) -> Register? {
            guard let object else { return nil }
            return try Register(object)
        }
        var facts: [Fact] = []
        for fact in try object.array("facts") ?? [] { facts.append(try Fact(JSONObject(fact))) }
        self.init(
            id: try object.item("id"), publish: try object.string("publish") ?? "",
            time: try object.required("time", object.int("time")),
            body: try object.required("body", object.raw("body")),
            state: ItemState(
                position: try object.required("number", object.int("number")),
                read: try register(object.object("read")), archived: try register(object.object("archived")),
                seen: try object.bool("seen") ?? false), facts: facts)
    }

    /// Writes the row as an object.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("id", id)
        writer.member("number", state.position)
        writer.member("publish", publish)
        writer.member("time", time)
        if let read = state.read {
            writer.key("read")
            read.write(to: &writer)
        }
        if let archived = state.archived {
            writer.key("archived")
            archived.write(to: &writer)
        }
        if state.seen { writer.member("seen", true) }
        if !facts.isEmpty {
            writer.key("facts")
            writer.beginArray()
            for fact in facts { fact.write(to: &writer) }
            writer.endArray()
        }
        writer.member("body", raw: body)
        writer.endObject()
    }
}
