import Peal
import PealModel
import PealReplica

/// `peal explain`.
enum ExplainCommand {
    static let command = Command(
        name: "explain", summary: "say why an item is as it is shown: who set what, when, and which rule decided",
        discussion: """
            Reads a file only: safe on a live one, and on a customer's copy. Shows no content. In place of the file --user, --email or
            --device names an inbox of this machine.
            """,
        operands: [
            Operand(name: "ITEM", help: "an item's number or id, as `peal inbox` shows it"),
            Operand(name: "FILE", help: "a .peal file", optional: true, kind: .file),
        ],
        options: [Option(name: "json", value: nil, help: "JSON")]
            + InboxOptions.all.filter { ["user", "email", "device", "directory"].contains($0.name) },
        examples: ["peal explain 12 --user Mary", "peal explain 12 phone.peal"], run: run)

    /// The file that is named, else that of an inbox of this machine.
    private static func file(_ arguments: Arguments) throws -> String {
        if arguments.operands.count > 1 { return arguments.operands[1] }
        let (user, email) = (arguments.value("user"), arguments.value("email"))
        guard arguments.has("device") || user != nil || email != nil else {
            throw CommandError(
                code: .usage, message: "FILE is missing.",
                hint: "Give a .peal file, or --user ID, --email ADDRESS or --device.")
        }
        let identity = arguments.has("device") ? .device(id: nil) : try PealClient.identity(user, email)
        return PealClient.path(of: identity, in: arguments.value("directory") ?? PealClient.defaultDirectory)
    }

    private static func run(_ arguments: Arguments) async throws -> ExitCode {
        let word = arguments.operands[0]
        let (number, id) = (Position(word), ItemID(word))
        guard number != nil || id != nil else {
            let isTurned = arguments.operands.count > 1 && Position(arguments.operands[1]) != nil
            throw CommandError(
                code: .usage, message: "'\(word)' is neither an item's number nor its id.",
                hint: isTurned ? "The item stands before the file." : nil)
        }
        let file = try InspectFile(file(arguments))
        let reader = file.reader
        let found: Explanation?
        do throws(ReplicaError) {
            found = if let id { try reader.explain(id) } else { try reader.explain(number: number ?? 0) }
        } catch {
            return file.end(error, "what decides it")
        }
        guard let found else {
            throw CommandError(
                code: .failure,
                message: "This file knows no item '\(word)' as of position \(try reader.view().position).",
                hint: "It has not come yet, or was deleted: a deleted item leaves nothing behind.")
        }
        if arguments.has("json") { Output.line(json(found)) } else { show(found) }
        return file.end()
    }

    // MARK: Sentences

    private static func show(_ found: Explanation) {
        let number = found.number.map { "item \($0)" } ?? "an item that is not here any more"
        Output.line("\(number), id \(found.id), as of position \(found.view.position)")
        for field in found.fields {
            Output.line(Output.fit(field.name.rawValue, 9) + (field.value ? "yes  " : "no   ") + sentence(field))
        }
        if !found.acts.isEmpty { Output.line("what was done on this device:") }
        for act in found.acts {
            let what = act.name + (act.on ? "" : " (taken back)")
            Output.line("  \(Output.time(act.acted))  \(Output.fit(what, 22)) \(sentence(act.fate))")
        }
    }

    private static func name(_ who: Explanation.Who?) -> String {
        switch who {
        case .thisDevice: "this device"
        case .replica(let id): "replica \(id)"
        case .api: "somebody through HTTP"
        case .unknown, nil: "somebody (the file does not keep who)"
        }
    }

    private static func act(_ field: Explanation.Field) -> String {
        var text = name(field.who)
        if let acted = field.acted { text += ", \(Output.time(acted))" }
        if let position = field.position { text += ", at position \(position)" }
        return text
    }

    static func sentence(_ field: Explanation.Field) -> String {
        let passive = field.passive ? " It was only shown, not chosen." : ""
        switch field.rule {
        case .untouched:
            return field.name == .deleted ? "It is here." : "Nobody has acted on it, and no mark covers it."
        case .register: return "The last act on this item decides: \(act(field)).\(passive)"
        case .spared:
            return "The last act on this item stands: \(act(field)).\(passive) The mark at \(field.mark?.version ?? 0) "
                + "up to \(field.mark?.upTo ?? 0) spared it, because its person had not seen this choice."
        case .mark: return "A mark up to \(field.mark?.upTo ?? 0) covers it: \(act(field))."
        case .raised: return "An entry raised it, and it never falls."
        case .pending, .pendingMark:
            let what = field.rule == .pending ? "An act" : "A mark"
            let base = field.base == true ? "yes" : "no"
            return
                "\(what) of this device that the hub has not decided: \(act(field)).\(passive) Until then the log says \(base)."
        case .gone:
            return field.who == .thisDevice
                ? "Deleted: \(act(field))." : "Deleted, retracted or expired; nothing of it is kept."
        }
    }

    private static func sentence(_ fate: Explanation.Fate) -> String {
        switch fate {
        case .pending(let state): "\(state): the hub has not decided it"
        case .stands(let position): "took effect" + (position.map { " at position \($0)" } ?? "") + " and stands"
        case .replaced(let who, let position): "took effect; then \(name(who)) acted at position \(position)"
        case .covered(let mark): "took effect; then the mark at position \(mark.version) covered it"
        case .superseded(let who, let position):
            "superseded: \(name(who)) acted at the same time" + (position.map { ", at position \($0)" } ?? "")
        case .unchanged(let code): "changed nothing (\(code.rawValue))"
        case .gone: "came when the item was deleted"
        case .dead(let code): "failed (\(code.rawValue)) and waits for a person; see `peal inspect dead`"
        }
    }

    // MARK: JSON

    private static func json(_ found: Explanation) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("id", found.id.description)
        writer.member("number", found.number)
        writer.member("position", found.view.position)
        writer.key("fields")
        writer.beginObject()
        for field in found.fields {
            writer.key(field.name.rawValue)
            write(field, to: &writer)
        }
        writer.endObject()
        writer.key("acts")
        writer.beginArray()
        for act in found.acts { write(act, to: &writer) }
        writer.endArray()
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private static func word(_ who: Explanation.Who) -> String {
        switch who {
        case .thisDevice: "thisDevice"
        case .replica(let id): id.description
        case .api: "api"
        case .unknown: "unknown"
        }
    }

    private static func write(_ field: Explanation.Field, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("value", field.value)
        writer.member("rule", field.rule.rawValue)
        writer.member("by", field.who.map(word))
        writer.member("acted", field.acted)
        writer.member("at", field.position)
        if field.passive { writer.member("passive", true) }
        if let mark = field.mark {
            writer.key("mark")
            writer.beginObject()
            writer.member("upTo", mark.upTo)
            writer.member("at", mark.version)
            writer.endObject()
        }
        if let base = field.base { writer.member("log", base) }
        writer.endObject()
    }

    private static func write(_ act: Explanation.OwnAct, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("uid", Hex64.text(act.uid))
        writer.member("op", act.name)
        writer.member("on", act.on)
        writer.member("acted", act.acted)
        switch act.fate {
        case .pending(let state): writer.member("fate", "\(state)")
        case .stands(let position):
            writer.member("fate", "stands")
            writer.member("at", position)
        case .replaced(let who, let position):
            writer.member("fate", "replaced")
            writer.member("by", word(who))
            writer.member("at", position)
        case .covered(let mark):
            writer.member("fate", "covered")
            writer.member("at", mark.version)
        case .superseded(let who, let position):
            writer.member("fate", "superseded")
            writer.member("by", word(who))
            writer.member("at", position)
        case .unchanged(let code): writer.member("fate", code.rawValue)
        case .gone: writer.member("fate", "gone")
        case .dead(let code):
            writer.member("fate", "dead")
            writer.member("code", code.rawValue)
        }
        writer.endObject()
    }
}
