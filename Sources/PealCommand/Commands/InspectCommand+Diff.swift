import PealModel
import PealReplica

/// `peal inspect diff`.
extension InspectCommand {
    static let diff = Command(
        name: "diff", summary: "compare two devices' files of one inbox: what each shows, who set it, why they differ",
        discussion: """
            Item by item, then preferences, interests and marks; without content, but with --content the names of what differs. behind: one
            file has not folded an entry that the other has, and will. pending: acts wait in an outbox; it will agree when that is sent. letGo:
            one device keeps less. diverged: both have folded the same and hold different things, which is a fault and ends with exit code 5.
            Other differences end with 0.
            """,
        operands: [
            Operand(name: "A", help: "a .peal file", kind: .file),
            Operand(name: "B", help: "another device's file of the same inbox", kind: .file),
        ],
        options: [
            Option(name: "limit", value: "N", help: "items that are listed, 1 to 1000 (50)"), InspectFile.content,
            InspectFile.json,
        ],
        examples: ["peal inspect diff phone.peal laptop.peal"], run: diff)

    private static func diff(_ arguments: Arguments) async throws -> ExitCode {
        let limit = try arguments.int("limit", in: 1...1_000, default: 50)
        let (a, b) = (try InspectFile(arguments.operands[0]), try InspectFile(arguments.operands[1]))
        let found: FileComparison
        do throws(ReplicaError) {
            found = try a.reader.compare(to: b.reader, limit: limit)
        } catch {
            if error.code == .otherInbox {
                throw CommandError(
                    code: .failure, message: Output.safe(error.message),
                    hint: "diff compares devices of one user; `peal inspect` shows whose a file is.")
            }
            throw CommandError(
                code: .badFile, message: Output.safe(error.message), hint: "`peal inspect verify` says what is wrong.")
        }
        let names = arguments.has("content")
        if arguments.has("json") { json(found, a, b, names: names) } else { show(found, a, b, names: names) }
        let codes = [a.end(found.failure, "items"), b.end()]
        let isFault = found.isFaulty || codes.contains(.badFile)
        return isFault ? .badFile : .success
    }

    private static func show(_ found: FileComparison, _ a: InspectFile, _ b: InspectFile, names: Bool) {
        for (name, side) in [("A", found.a), ("B", found.b)] {
            let file = side.file
            let waiting = file.outbox.filter { $0.key != .dead }.values.reduce(0, +)
            Output.line(
                "\(name)  \(Output.safe(file.path)), replica \(file.replica): position \(file.cursor.position), "
                    + "\(file.counts.total) items, \(file.counts.unread) unread, \(file.counts.unseen) unseen, "
                    + "\(waiting) acts wait, \(file.outbox[.dead] ?? 0) dead")
        }
        for sentence in verdict(found) { Output.line(sentence) }
        for difference in found.differences {
            Output.line("item \(difference.number): \(sentence(difference.cause, difference))")
            if difference.fields == ["here"] {
                Output.line("  only in \(difference.a == nil ? "B" : "A")")
                continue
            }
            explain(difference, a, b)
        }
        for difference in found.rest { Output.line(sentence(difference, names: names)) }
        let total = found.totals.values.reduce(0, +)
        if total > found.differences.count { Output.note("There are \(total) in all: --limit \(min(total, 1_000))") }
    }

    private static func verdict(_ found: FileComparison) -> [String] {
        let (a, b) = (found.a.file.cursor, found.b.file.cursor)
        var lines: [String] = []
        if a.epoch != b.epoch {
            lines.append("They follow two logs: the hub was replaced between them, or one has not been welcomed.")
        } else if a.position == b.position {
            let same = a.chain == b.chain && (found.hasRedacted || found.a.sum == found.b.sum)
            lines.append(
                same
                    ? "Both stand at position \(a.position), with one chain\(found.hasRedacted ? "" : " and one sum"): their bases are the same."
                    : "Both stand at position \(a.position) with \(a.chain == b.chain ? "one chain" : "two chains") and "
                        + "\(found.a.sum == found.b.sum ? "one sum" : "two sums").")
        } else {
            let behind = a.position < b.position ? "A" : "B"
            lines.append("\(behind) is \(abs(a.position - b.position)) entries behind.")
        }
        if found.hasRedacted {
            lines.append("A redacted copy has bodies, names and a sum of its own: these are not compared.")
        }
        if found.isEqual, !found.hasRedacted {
            lines.append("Every item is shown alike, and preferences, interests and marks are the same.")
        } else if found.totals.isEmpty, found.failure == nil {
            lines.append("Every item is shown alike.")
        }
        for kind in FileComparison.RestDifference.Kind.allCases {
            let count = found.rest.count { $0.kind == kind }
            if count > 0 { lines.append("\(count) \(kind.rawValue)s differ") }
        }
        for cause in FileComparison.Cause.allCases {
            guard let count = found.totals[cause] else { continue }
            lines.append("\(count) items differ: \(cause.rawValue)")
        }
        return lines
    }

    private static func sentence(_ cause: FileComparison.Cause, _ difference: FileComparison.Difference) -> String {
        switch cause {
        case .behind: "one file has not folded an entry that the other has"
        case .pending: "it will agree when \(pendingSide(difference)) is sent"
        case .letGo: "one device has let it go"
        case .diverged: "both have folded the same entries and hold different things"
        }
    }

    private static func sentence(_ difference: FileComparison.RestDifference, names: Bool) -> String {
        func word(_ value: Bool?) -> String { value.map { $0 ? "on" : "off" } ?? "no choice" }
        let why =
            switch difference.cause {
            case .behind: "one file has not folded an entry that the other has"
            case .pending: "it will agree when what waits in the outboxes is sent"
            case .letGo, .diverged: "both have folded the same entries and hold different things"
            }
        if difference.kind == .mark {
            return
                "mark \(difference.name[0]) up to \(difference.name[1]): only in \(difference.a == nil ? "B" : "A"), \(why)"
        }
        let name = names ? " " + Output.safe(difference.name.joined(separator: " ")) : ""
        return "\(difference.kind.rawValue)\(name): A \(word(difference.a)), B \(word(difference.b)): \(why)"
    }

    private static func pendingSide(_ difference: FileComparison.Difference) -> String {
        func waits(_ item: InspectedItem?) -> Bool {
            guard let item else { return false }
            return item.overlay != InspectedItem.Flags(read: nil, seen: nil, archived: nil, deleted: nil)
        }
        switch (waits(difference.a), waits(difference.b)) {
        case (true, false): return "A's outbox"
        case (false, true): return "B's outbox"
        default: return "what waits in the outboxes"
        }
    }

    private static func explain(_ difference: FileComparison.Difference, _ a: InspectFile, _ b: InspectFile) {
        let sides = [("A", a), ("B", b)].map { name, file in
            (name, try? file.reader.explain(number: difference.number))
        }
        for field in difference.fields {
            guard let name = Explanation.Field.Name(rawValue: field) else {
                Output.line("  \(field) differs")
                continue
            }
            for (side, explanation) in sides {
                guard let found = explanation?[name] else { continue }
                Output.line(
                    "  \(side)  " + Output.fit(field, 9) + (found.value ? "yes  " : "no   ")
                        + ExplainCommand.sentence(found))
            }
        }
    }

    private static func json(_ found: FileComparison, _ a: InspectFile, _ b: InspectFile, names: Bool) {
        func write(_ key: String, _ side: FileComparison.Side, to writer: inout JSONWriter) {
            let file = side.file
            writer.key(key)
            writer.beginObject()
            writer.member("file", file.path)
            writer.member("replica", file.replica.description)
            writer.member("epoch", file.cursor.epoch.map(Hex64.text))
            writer.member("position", file.cursor.position)
            writer.member("chain", Hex64.text(file.cursor.chain))
            writer.member("sum", Hex64.text(side.sum))
            writer.member("total", file.counts.total)
            writer.member("unread", file.counts.unread)
            writer.member("unseen", file.counts.unseen)
            writer.member("waiting", file.outbox.filter { $0.key != .dead }.values.reduce(0, +))
            writer.member("dead", file.outbox[.dead] ?? 0)
            writer.endObject()
        }
        Output.line(
            InspectFile.object { writer in
                write("a", found.a, to: &writer)
                write("b", found.b, to: &writer)
                writer.key("totals")
                writer.beginObject()
                for cause in FileComparison.Cause.allCases {
                    guard let count = found.totals[cause] else { continue }
                    writer.key(cause.rawValue)
                    writer.int(Int64(count))
                }
                writer.endObject()
                writer.key("differences")
                writer.beginArray()
                for difference in found.differences {
                    writer.beginObject()
                    writer.member("number", difference.number)
                    writer.member("id", difference.id?.description)
                    writer.member("cause", difference.cause.rawValue)
                    writer.strings("fields", difference.fields)
                    writer.member("inA", difference.a != nil)
                    writer.member("inB", difference.b != nil)
                    writer.endObject()
                }
                writer.endArray()
                json(found.rest, names: names, to: &writer)
                writer.member("failure", found.failure?.message)
            })
    }

    private static func json(
        _ rest: [FileComparison.RestDifference], names: Bool, to writer: inout JSONWriter
    ) {
        writer.key("rest")
        writer.beginArray()
        for difference in rest {
            writer.beginObject()
            writer.member("kind", difference.kind.rawValue)
            if names || difference.kind == .mark { writer.strings("name", difference.name) }
            writer.member("cause", difference.cause.rawValue)
            writer.member("a", difference.a)
            writer.member("b", difference.b)
            writer.endObject()
        }
        writer.endArray()
    }
}
