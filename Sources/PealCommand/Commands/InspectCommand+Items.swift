import PealModel
import PealReplica

/// `peal inspect items`, `entries`, `marks`, `sessions`.
extension InspectCommand {
    static let items = Command(
        name: "items",
        summary: "every item that the file holds, listed or not: as shown, as the log has it, what waits",
        discussion: """
            The newest first. R, S, A, D: read, seen, archived, deleted, as an app is shown them; a small letter is what an act that
            waits makes of it. READ and ARCHIVED: the entry at which the item's own register stands, and its value.
            """,
        operands: [InspectFile.file], options: InspectFile.pages + [InspectFile.content, InspectFile.json],
        examples: ["peal inspect items id-%4dary.peal", "peal inspect items --limit 500 --json id-%4dary.peal"],
        run: { arguments in
            let (after, limit) = try InspectFile.page(arguments)
            let file = try InspectFile(arguments.operands[0])
            let content = arguments.has("content")
            return file.show(
                file.reader.inspectItems(after: after, limit: limit), "items", arguments, empty: "No items",
                head: "NUMBER  FLAGS  DELIVERED         READ      ARCHIVED  TYPE         CATEGORY     ID",
                row: { row($0, content) }, json: { json($0, content) })
        })

    private static func row(_ item: InspectedItem, _ content: Bool) -> String {
        func flag(_ letter: Character, _ value: Bool, _ overlay: Bool?) -> String {
            value ? (overlay == nil ? String(letter) : letter.lowercased()) : overlay == nil ? "-" : "."
        }
        let flags =
            flag("R", item.shown.read, item.overlay.read) + flag("S", item.shown.seen, item.overlay.seen)
            + flag("A", item.shown.archived, item.overlay.archived)
            + flag("D", item.shown.deleted, item.overlay.deleted)
        func register(_ register: Register?) -> String {
            Output.fit(register.map { "\($0.rank) \($0.value ? "yes" : "no")" } ?? "-", 9)
        }
        var line =
            Output.fit(String(item.base.position), 7) + " " + Output.fit(flags, 6) + " " + Output.time(item.time) + "  "
            + register(item.base.read) + " " + register(item.base.archived) + " "
            + Output.fit(Output.safe(item.type), 12) + " " + Output.fit(Output.safe(item.category ?? "-"), 12)
            + " \(item.id)"
        if item.isLetGo { line += "  let go" } else if item.silent { line += "  silent" }
        if content, let body = body(item) {
            line += "  " + Output.safe(body.title ?? "No title") + (body.content.map { " – " + Output.safe($0) } ?? "")
        }
        return line
    }

    static func body(_ item: InspectedItem) -> ItemBody? {
        (try? JSONObject(item.body)).flatMap { try? ItemBody($0) }
    }

    static func json(_ item: InspectedItem, _ content: Bool) -> String {
        InspectFile.object { writer in
            writer.member("number", item.base.position)
            writer.member("id", item.id.description)
            writer.member("publish", item.publish)
            writer.member("delivered", item.time)
            writer.member("sent", item.sent)
            writer.member("expires", item.expires)
            writer.member("type", item.type)
            writer.member("category", item.category)
            writer.member("silent", item.silent)
            writer.member("letGo", item.isLetGo)
            writer.member("version", item.version)
            write("shown", item.shown.map { $0 }, to: &writer)
            write("pending", item.overlay, to: &writer)
            write("log", item.logged.map { $0 }, to: &writer)
            write("readRegister", item.base.read, to: &writer)
            write("archivedRegister", item.base.archived, to: &writer)
            guard content else { return }
            writer.member("topic", item.topic)
            if let raw = try? JSON(item.body) {
                writer.key("body")
                writer.value(raw)
            }
        }
    }

    private static func write(_ key: String, _ flags: InspectedItem.Flags<Bool?>, to writer: inout JSONWriter) {
        writer.key(key)
        writer.beginObject()
        writer.member("read", flags.read)
        writer.member("seen", flags.seen)
        writer.member("archived", flags.archived)
        writer.member("deleted", flags.deleted)
        writer.endObject()
    }

    private static func write(_ key: String, _ register: Register?, to writer: inout JSONWriter) {
        guard let register else { return }
        writer.key(key)
        writer.beginObject()
        writer.member("value", register.value)
        writer.member("passive", register.passive)
        writer.member("at", register.since)
        writer.member("rank", register.rank)
        writer.member("acted", register.itime)
        writer.member("by", register.author.description)
        writer.member("uid", Hex64.text(register.uid))
        writer.endObject()
    }

    // MARK: Marks and sessions

    static let marks = Command(
        name: "marks", summary: "read-all, seen-all and archive-all marks that stand",
        discussion: "A mark covers everything up to a position and was made by the entry at another one.",
        operands: [InspectFile.file], options: [InspectFile.json], examples: ["peal inspect marks id-%4dary.peal"],
        run: { arguments in
            let file = try InspectFile(arguments.operands[0])
            let page = page { () throws(ReplicaError) in try file.reader.inspectMarks() }
            return file.show(
                page, "marks", arguments, empty: "No marks", head: "KIND     UP TO     AT        ITEMS",
                row: { mark in
                    Output.fit(mark.kind.rawValue, 8) + " " + Output.fit(String(mark.mark.upTo), 9) + " "
                        + Output.fit(String(mark.mark.version), 9) + " \(mark.items)"
                },
                json: json)
        })

    static func json(_ mark: InspectedMark) -> String {
        InspectFile.object { writer in
            writer.member("mark", mark.kind.rawValue)
            writer.member("upTo", mark.mark.upTo)
            writer.member("at", mark.mark.version)
            writer.member("items", mark.items)
        }
    }

    static let sessions = Command(
        name: "sessions", summary: "the last 20 sessions with the hub: how each began, and why it ended",
        discussion: "The newest first, by this device's clock. docs/sync.md section 6 says what each close code means.",
        operands: [InspectFile.file], options: [InspectFile.json],
        examples: ["peal inspect sessions id-%4dary.peal"],
        run: { arguments in
            let file = try InspectFile(arguments.operands[0])
            let page = page { () throws(ReplicaError) in try file.reader.inspectSessions() }
            return file.show(
                page, "sessions", arguments, empty: "No sessions",
                head: "ATTEMPT  STARTED           WELCOMED          MODE      ENDED             CODE  REASON", row: row,
                json: json)
        })

    private static func row(_ session: Inspection.Session) -> String {
        func time(_ value: Milliseconds?) -> String { Output.fit(value.map(Output.time) ?? "-", 17) }
        return Output.fit(String(session.attempt), 8) + " " + time(session.started) + " " + time(session.welcomed) + " "
            + Output.fit(session.mode ?? "-", 9) + " " + time(session.ended) + " "
            + Output.fit(session.code.map(String.init) ?? "-", 5) + " " + Output.safe(session.reason ?? "")
    }

    static func json(_ session: Inspection.Session) -> String {
        InspectFile.object { writer in
            writer.member("attempt", session.attempt)
            writer.member("started", session.started)
            writer.member("welcomed", session.welcomed)
            writer.member("mode", session.mode)
            writer.member("ended", session.ended)
            writer.member("code", session.code)
            writer.member("reason", session.reason)
        }
    }

    static func page<Row>(_ body: () throws(ReplicaError) -> [Row]) -> InspectedPage<Row> {
        do throws(ReplicaError) {
            return InspectedPage(rows: try body(), next: nil, failure: nil)
        } catch {
            return InspectedPage(rows: [], next: nil, failure: error)
        }
    }
}

extension InspectedItem.Flags where Value == Bool {
    fileprivate func map(_ body: (Bool) -> Bool?) -> InspectedItem.Flags<Bool?> {
        InspectedItem.Flags<Bool?>(
            read: body(read), seen: body(seen), archived: body(archived), deleted: body(deleted))
    }
}
