import Foundation
import PealModel
import PealReplica

/// `peal inspect export`.
extension InspectCommand {
    static let export = Command(
        name: "export", summary: "write the file's rows as JSON Lines, CSV, or SQLite without content",
        discussion: """
            One consistent state of the file, a thousand rows at a time. jsonl: every item, act, entry, mark and session, each with its kind. csv: the
            items. sqlite: the same as `redact`, always without content. Without --output it goes to standard output (not sqlite).
            """,
        operands: [InspectFile.file],
        options: [
            Option(
                name: "format", value: "FORMAT", help: "jsonl, csv or sqlite (jsonl)",
                values: ["jsonl", "csv", "sqlite"]),
            Option(
                name: "output", short: "o", value: "COPY", help: "a file of mode 0600; nothing may be there",
                kind: .file, isConfigurable: false),
            Option(name: "force", value: nil, help: "replace what is at --output", isConfigurable: false),
            InspectFile.content,
        ],
        examples: [
            "peal inspect export id-%4dary.peal > rows.jsonl",
            "peal inspect export --format csv --content id-%4dary.peal -o items.csv",
        ], run: export)

    private static func export(_ arguments: Arguments) async throws -> ExitCode {
        let format = arguments.value("format") ?? "jsonl"
        guard ["jsonl", "csv", "sqlite"].contains(format) else {
            throw CommandError.usage("--format is one of jsonl, csv, sqlite.")
        }
        let target = arguments.value("output")
        if format == "sqlite" {
            guard let target else { throw CommandError.usage("A database goes to a file: give --output COPY.") }
            guard !arguments.has("content") else {
                throw CommandError.usage("SQLite is exported without content; the file itself has it.")
            }
            let file = try InspectFile(arguments.operands[0])
            try makeRoom(target, file, arguments)
            let tables = try made(target) { () throws(ReplicaError) in try file.reader.redact(to: target) }
            return tables.allSatisfy(\.isWhole) ? file.end() : .badFile
        }
        let file = try InspectFile(arguments.operands[0])
        let sink = try Sink(target, file, arguments)
        var failure: ReplicaError?
        do throws(ReplicaError) {
            failure = try file.reader.consistently { () throws(ReplicaError) in
                format == "csv"
                    ? csv(file, sink, arguments.has("content")) : lines(file, sink, arguments.has("content"))
            }
        } catch {
            failure = error
        }
        try sink.finish()
        return file.end(failure, "what was to be exported")
    }

    private static func makeRoom(
        _ target: String, _ file: InspectFile, _ arguments: Arguments
    ) throws(CommandError) {
        guard access(target, F_OK) == 0 else { return }
        guard arguments.has("force") else {
            throw CommandError(
                code: .failure, message: "\(Output.safe(target)) is there already.",
                hint: "Choose another name, or give --force to replace it.")
        }
        guard !isSame(target, file.path) else {
            throw CommandError(code: .usage, message: "--output is FILE itself.", hint: "Choose another name.")
        }
        unlink(target)
    }

    private static func isSame(_ left: String, _ right: String) -> Bool {
        var (a, b) = (stat(), stat())
        return stat(left, &a) == 0 && stat(right, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev
    }

    // MARK: Formats

    private static func lines(_ file: InspectFile, _ sink: Sink, _ content: Bool) -> ReplicaError? {
        var failure: ReplicaError?
        func all<Row>(
            _ kind: String, _ page: (Int64?) -> InspectedPage<Row>, _ json: (Row) -> String
        ) {
            var after: Int64?
            repeat {
                let found = page(after)
                for row in found.rows { sink.line("{\"kind\":\"\(kind)\"," + json(row).dropFirst()) }
                failure = failure ?? found.failure
                after = found.next
            } while after != nil
        }
        let reader = file.reader
        let most = ReplicaReader.maximumInspected
        all("item", { reader.inspectItems(after: $0, limit: most) }, { json($0, content) })
        for place in [InspectedAct.Place.outbox, .dead, .journal] {
            all(place.rawValue, { reader.inspectActs(place, after: $0, limit: most) }, { json($0, content) })
        }
        all("entry", { reader.inspectEntries(after: $0, limit: most) }, { json($0, content) })
        all("mark", { _ in page { () throws(ReplicaError) in try reader.inspectMarks() } }, json)
        all("session", { _ in page { () throws(ReplicaError) in try reader.inspectSessions() } }, json)
        return failure
    }

    private static func csv(_ file: InspectFile, _ sink: Sink, _ content: Bool) -> ReplicaError? {
        var names = [
            "number", "id", "publish", "delivered", "sent", "expires", "type", "category", "silent", "let_go", "read",
            "seen",
            "archived", "deleted", "read_by", "read_at", "archived_by", "archived_at",
        ]
        if content { names += ["topic", "title", "content", "action_url"] }
        sink.line(names.joined(separator: ","))
        var after: Int64?
        repeat {
            let found = file.reader.inspectItems(after: after, limit: ReplicaReader.maximumInspected)
            for item in found.rows {
                sink.line(
                    columns(item, content).map { field(sink.isStandardOutput ? Output.safe($0) : $0) }.joined(
                        separator: ","))
            }
            if let failure = found.failure { return failure }
            after = found.next
        } while after != nil
        return nil
    }

    private static func columns(_ item: InspectedItem, _ content: Bool) -> [String] {
        func number(_ value: Int64?) -> String { value.map(String.init) ?? "" }
        func flag(_ value: Bool) -> String { value ? "true" : "false" }
        var columns = [
            number(item.base.position), item.id.description, item.publish, number(item.time), number(item.sent),
            number(item.expires), item.type, item.category ?? "", flag(item.silent), flag(item.isLetGo),
            flag(item.shown.read), flag(item.shown.seen), flag(item.shown.archived), flag(item.shown.deleted),
            item.base.read?.author.description ?? "", number(item.base.read?.since),
            item.base.archived?.author.description ?? "", number(item.base.archived?.since),
        ]
        if content {
            let body = body(item)
            columns += [item.topic ?? "", body?.title ?? "", body?.content ?? "", body?.actionURL ?? ""]
        }
        return columns
    }

    /// As RFC 4180 has it; what a spreadsheet would take for a formula begins with a quote sign.
    static func field(_ text: String) -> String {
        let isFormula = text.first.map { "=+-@\t\r".contains($0) } ?? false
        let text = isFormula ? "'" + text : text
        let isPlain = text.utf8.allSatisfy { !"\",\r\n".utf8.contains($0) }
        guard !isPlain else { return text }
        return "\"" + text.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    /// Where lines go: a file that appears when it is whole, or standard output; and how many on a terminal beside it.
    private final class Sink {
        private let target: String?
        private let file: UnsafeMutablePointer<FILE>
        private var count = 0

        /// It may be a terminal, and what somebody wrote may steer one.
        var isStandardOutput: Bool { target == nil }
        private var hasFailed = false

        init(_ target: String?, _ source: InspectFile, _ arguments: Arguments) throws(CommandError) {
            self.target = target
            guard let target else {
                guard let file = fdopen(dup(1), "w") else {
                    throw CommandError(
                        code: .failure, message: "There is no standard output.", hint: "Give --output COPY.")
                }
                self.file = file
                return
            }
            try InspectCommand.makeRoom(target, source, arguments)
            let descriptor = open(target + ".partial", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
            guard descriptor >= 0, let file = fdopen(descriptor, "w") else {
                throw CommandError(
                    code: .failure, message: "\(target) cannot be made: \(String(cString: strerror(errno))).",
                    hint: "Choose another place with --output.")
            }
            self.file = file
        }

        func line(_ text: String) {
            var text = text + "\n"
            text.withUTF8 { if fwrite($0.baseAddress, 1, $0.count, file) != $0.count { hasFailed = true } }
            count += 1
            if count % 10_000 == 0, target != nil, isatty(2) == 1 { Output.note("\(count) rows") }
        }

        func finish() throws(CommandError) {
            if fflush(file) != 0 { hasFailed = true }
            if let target {
                if fsync(fileno(file)) != 0 { hasFailed = true }
                fclose(file)
                if !hasFailed, rename(target + ".partial", target) == 0 { return }
                let reason = String(cString: strerror(errno))
                unlink(target + ".partial")
                throw CommandError(
                    code: .failure, message: "\(target) cannot be written: \(reason).",
                    hint: "Make room, or choose another place.")
            }
            if hasFailed { throw CommandError(code: .failure, message: "Standard output took no more.", hint: nil) }
        }
    }
}
