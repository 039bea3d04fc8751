import PealModel
import PealReplica

/// `peal inspect outbox`, `dead`, `journal`, `entries`.
extension InspectCommand {
    static let outbox = acts(
        .outbox, "acts that wait for the hub, in their order",
        "held: can be taken back; queued: not sent yet; sent: on its way, under its number N. An act with three cuts goes alone."
    )
    static let dead = acts(
        .dead, "dead letters: acts that failed for good and wait for a person",
        "`peal inspect retry UID FILE` makes one again as a new act, `discard` forgets it; 'dead' in place of UIDs is all of them."
    )
    static let journal = acts(
        .journal, "settled acts of the last 30 days, with what the hub said",
        "The latest first. They are offered again where the hub or this device was restored (docs/sync.md section 7).")

    private static func acts(_ place: InspectedAct.Place, _ summary: String, _ discussion: String) -> Command {
        Command(
            name: place.rawValue, summary: summary, discussion: discussion, operands: [InspectFile.file],
            options: InspectFile.pages + [InspectFile.content, InspectFile.json],
            examples: ["peal inspect \(place.rawValue) id-%4dary.peal"],
            run: { arguments in
                let (after, limit) = try InspectFile.page(arguments)
                let file = try InspectFile(arguments.operands[0])
                let content = arguments.has("content")
                let page = file.reader.inspectActs(place, after: after, limit: limit)
                let code = file.show(
                    page, place.rawValue, arguments, empty: empty(place), head: head(place),
                    row: { row($0, place, content) }, json: { json($0, content) })
                if place == .dead, !page.rows.isEmpty, !arguments.has("json") {
                    Output.note(
                        "To make one again: peal inspect retry UID \(quoted(file.path)); to forget it: peal inspect discard UID \(quoted(file.path))"
                    )
                }
                return code
            })
    }

    private static func empty(_ place: InspectedAct.Place) -> String {
        switch place {
        case .outbox: "Nothing waits"
        case .dead: "No dead letters"
        case .journal: "The journal is empty"
        }
    }

    private static func head(_ place: InspectedAct.Place) -> String {
        switch place {
        case .outbox: "ROW     UID               STATE   N       ACTED             CUTS  WHAT"
        case .dead: "ROW     UID               N       ACTED             WHAT"
        case .journal: "ROW     UID               N       ACTED             AT      OUTCOME     WHAT"
        }
    }

    private static func row(_ act: InspectedAct, _ place: InspectedAct.Place, _ content: Bool) -> String {
        func number(_ value: Int64?, _ width: Int) -> String { Output.fit(value.map(String.init) ?? "-", width) + " " }
        var line = number(act.row, 7) + Hex64.text(act.uid) + "  "
        if place == .outbox { line += Output.fit(act.state.map { "\($0)" } ?? "-", 7) + " " }
        line += number(act.n, 7) + Output.time(act.acted) + "  "
        switch place {
        case .outbox: line += number(act.attempts, 5)
        case .dead: break
        case .journal: line += number(act.position, 7) + Output.fit(act.outcome?.code.rawValue ?? "damaged", 11) + " "
        }
        line += what(act, content)
        if let outcome = act.outcome, let reason = outcome.reason {
            line += "  " + (place == .dead ? "\(outcome.code.rawValue): " : "") + Output.safe(reason)
        } else if place == .dead {
            line += "  " + (act.outcome?.code.rawValue ?? "damaged")
        }
        return line
    }

    /// What was done, in words; names only where they were asked for, tokens and proofs never.
    static func what(_ act: InspectedAct, _ content: Bool) -> String {
        if act.void != nil { return "void: only its number is sent" }
        func shown(_ text: String) -> String { content ? " " + Output.safe(text) : "" }
        func items(_ word: String, _ items: [ItemID]) -> String {
            items.count == 1 ? "\(word) \(items[0])" : "\(word) of \(items.count) items"
        }
        switch act.operation {
        case nil: return "\(Output.safe(act.name)): cannot be read back"
        case .read(let ids, let on, let passive):
            return items(on ? (passive ? "read (was shown)" : "read") : "unread", ids)
        case .seen(let ids): return items("seen", ids)
        case .archive(let ids, let on): return items(on ? "archive" : "unarchive", ids)
        case .delete(let ids): return items("delete", ids)
        case .mark(let kind, let upTo): return "mark \(kind.rawValue) up to \(upTo)"
        case .preference(let category, let channel, let enabled):
            return "preference \(enabled ? "on" : "off")" + shown("\(category)/\(channel)")
        case .track(let item, let event, _): return "\(Output.safe(event)) \(item)"
        case .interest(let name, let on): return (on ? "add an interest" : "remove an interest") + shown(name)
        case .interests(let names): return "set \(names.count) interests" + shown(names.joined(separator: ", "))
        case .token: return "push token"
        case .user(let id, _): return id == nil ? "free the device" : "bind the device to a user" + shown(id ?? "")
        case .end: return "end the device"
        case .void, .malformed: return "void"
        }
    }

    static func json(_ act: InspectedAct, _ content: Bool) -> String {
        InspectFile.object { writer in
            writer.member("row", act.row)
            writer.member("uid", Hex64.text(act.uid))
            writer.member("n", act.n)
            writer.member("state", act.state.map { "\($0)" } ?? "settled")
            writer.member("acted", act.acted)
            writer.member("observed", act.observed)
            writer.member("attempts", act.attempts)
            writer.member("heldUntil", act.heldUntil)
            writer.member("retryAt", act.retryAt)
            if act.quiet { writer.member("quiet", true) }
            if act.void != nil { writer.member("void", true) }
            writer.member("name", act.name)
            writer.member("readable", act.operation != nil)
            if let operation = act.operation, let shown = without(operation, content) {
                writer.key("op")
                shown.write(to: &writer)
            }
            if let outcome = act.outcome {
                writer.key("outcome")
                outcome.write(to: &writer)
            }
            writer.member("at", act.position)
            writer.member("settled", act.settled)
        }
    }

    /// An operation without content, tokens and proofs; nil where nothing would be left.
    private static func without(_ operation: Operation, _ content: Bool) -> Operation? {
        switch operation {
        case .token, .void, .malformed: nil
        case .user(let id, _): content ? .user(id: id, proof: nil) : nil
        case .track(let item, let event, let data): .track(item: item, event: event, data: content ? data : nil)
        case .preference, .interest, .interests: content ? operation : nil
        case .read, .seen, .archive, .delete, .mark, .end: operation
        }
    }

    /// A word as a shell takes it.
    static func quoted(_ word: String) -> String {
        let plain = word.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "/._-%+=:,@".utf8.contains(byte)
            }
        }
        return plain && !word.isEmpty
            ? word
            : "'" + Output.safe(word).split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''")
                + "'"
    }

    // MARK: Entries

    static let entries = Command(
        name: "entries", summary: "what the file shows of the log, entry by entry",
        discussion: """
            A replica holds what the log amounts to, not the log. So this is what each entry has left behind: the item that it brought, the
            fields that it decided and nobody has decided since, the marks that stand, the acts of this device that it settled. Entries are
            there whole only where this version could not fold them (set aside), or where a snapshot is being loaded (staged); --content
            shows their bytes. The latest first.
            """,
        operands: [InspectFile.file], options: InspectFile.pages + [InspectFile.content, InspectFile.json],
        examples: ["peal inspect entries id-%4dary.peal", "peal inspect entries --after 900 id-%4dary.peal"],
        run: { arguments in
            let (after, limit) = try InspectFile.page(arguments)
            let file = try InspectFile(arguments.operands[0])
            let content = arguments.has("content")
            return file.show(
                file.reader.inspectEntries(after: after, limit: limit), "entries", arguments, empty: "No entries",
                head: "POSITION  WHAT", row: { Output.fit(String($0.position), 9) + " " + text($0.trace, content) },
                json: { json($0, content) })
        })

    private static func text(_ trace: InspectedEntry.Trace, _ content: Bool) -> String {
        func raw(_ bytes: [UInt8]) -> String {
            content ? ": " + Output.safe(String(decoding: bytes, as: UTF8.self)) : ""
        }
        switch trace {
        case .item(let id): return "item       \(id)"
        case .act(let field, let items, let first, let author, let itime, let uid):
            let what = items == 1 ? "item \(first)" : "\(items) items, the first \(first)"
            return
                "act        \(field) of \(what), by \(Output.safe(author)), \(Output.time(itime)), uid \(Hex64.text(uid))"
        case .mark(let kind, let upTo): return "mark       \(kind.rawValue) up to \(upTo)"
        case .own(let name, let uid, let code):
            return "own act    \(Output.safe(name)): \(code?.rawValue ?? "damaged"), uid \(Hex64.text(uid))"
        case .setAside(let reason, let bytes):
            return "set aside  \(Output.safe(reason ?? "of an unknown kind")), \(bytes.count) bytes\(raw(bytes))"
        case .staged(let bytes): return "staged     \(bytes.count) bytes\(raw(bytes))"
        }
    }

    static func json(_ entry: InspectedEntry, _ content: Bool) -> String {
        InspectFile.object { writer in
            func raw(_ bytes: [UInt8]) {
                writer.member("bytes", Int64(bytes.count))
                if content { writer.member("raw", String(decoding: bytes, as: UTF8.self)) }
            }
            writer.member("position", entry.position)
            switch entry.trace {
            case .item(let id):
                writer.member("what", "item")
                writer.member("id", id.description)
            case .act(let field, let items, let first, let author, let itime, let uid):
                writer.member("what", "act")
                writer.member("field", field)
                writer.member("items", items)
                writer.member("first", first)
                writer.member("by", author)
                writer.member("acted", itime)
                writer.member("uid", Hex64.text(uid))
            case .mark(let kind, let upTo):
                writer.member("what", "mark")
                writer.member("mark", kind.rawValue)
                writer.member("upTo", upTo)
            case .own(let name, let uid, let code):
                writer.member("what", "own")
                writer.member("name", name)
                writer.member("uid", Hex64.text(uid))
                writer.member("outcome", code?.rawValue)
            case .setAside(let reason, let bytes):
                writer.member("what", "setAside")
                writer.member("reason", reason)
                raw(bytes)
            case .staged(let bytes):
                writer.member("what", "staged")
                raw(bytes)
            }
        }
    }
}
