import PealModel
import PealReplica

/// `peal inspect`.
enum InspectCommand {
    static let command = Command(
        name: "inspect", summary: "look into a replica's file: what it holds, why, what is wrong with it",
        discussion: """
            Reads only: safe on a live file and on a customer's copy, cut off or damaged; nothing is left beside it. Without a command it
            gives an overview. No content is shown: titles, texts, payloads, topics, names of interests and preferences appear with --content
            only, tokens and proofs never. A file that is named like a command is ./NAME. docs/inspector.md explains each view.

            exit codes: 0 all is well, 1 it failed, 2 the command line is wrong, 3 the hub cannot be reached, 4 the hub refused,
            5 something is wrong with the file
            """,
        operands: [InspectFile.file],
        options: [
            Option(name: "quick", value: nil, help: "leave the integrity check out"),
            Option(name: "json", value: nil, help: "JSON"),
        ],
        examples: [
            "peal inspect ~/.local/share/peal/id-%4dary.peal", "peal inspect items ~/.local/share/peal/id-%4dary.peal",
            "peal inspect verify --hub http://127.0.0.1:8080 ~/.local/share/peal/id-%4dary.peal",
        ],
        subcommands: [
            items, outbox, dead, journal, sessions, entries, marks, ExplainCommand.command, verify, diff, export,
            redact,
            repair, retry, discard,
        ], run: run)

    private static func run(_ arguments: Arguments) async throws -> ExitCode {
        let file = try InspectFile(arguments.operands[0])
        let found: Inspection
        do throws(ReplicaError) {
            found = try file.reader.inspect(integrity: !arguments.has("quick"))
        } catch {
            return survey(file, arguments)
        }
        let problems = found.problems ?? []
        if arguments.has("json") { json(found, file) } else { show(found, file) }
        let code = file.end()
        for note in file.reader.notes { Output.note("note: \(Output.safe(note))") }
        return problems.isEmpty ? code : .badFile
    }

    /// Of a file that does not even say what an overview needs: what can be read.
    private static func survey(_ file: InspectFile, _ arguments: Arguments) -> ExitCode {
        let found = FileSurvey(file.path)
        if arguments.has("json") {
            Output.line(
                InspectFile.object { writer in
                    writer.member("file", found.path)
                    writer.member("fileBytes", found.fileBytes)
                    writer.member("walBytes", found.walBytes)
                    writer.key("tables")
                    writer.beginArray()
                    for table in found.tables {
                        writer.beginObject()
                        writer.member("name", table.name)
                        writer.member("rows", table.rows)
                        writer.member("problem", table.problem)
                        writer.endObject()
                    }
                    writer.endArray()
                    writer.strings("problems", found.problems)
                    writer.strings("notes", found.notes)
                })
        } else {
            Output.line(Output.fit("file", 18) + Output.safe(found.path))
            Output.line(Output.fit("size", 18) + "\(found.fileBytes) bytes, log \(found.walBytes)")
            for table in found.tables {
                let problem = table.problem.map { ", then: " + Output.safe($0) } ?? ""
                Output.line(Output.fit(Output.safe(table.name), 18) + "\(table.rows) rows\(problem)")
            }
            for problem in found.problems { Output.line(Output.fit("PROBLEM", 18) + Output.safe(problem)) }
        }
        Output.note("peal: \(file.path) is damaged. `peal inspect repair` makes a file of what can be read.")
        return .badFile
    }

    private static func waiting(_ found: Inspection) -> [(String, Int64)] {
        found.outbox.map { ("\($0.key)", $0.value) }.sorted { $0.0 < $1.0 }
    }

    private static func show(_ found: Inspection, _ file: InspectFile) {
        var rows: [(String, String)] = [
            ("file", found.path), ("version", String(found.version)), ("identity", Output.safe(found.identity)),
            ("project", Output.safe(found.project)), ("inbox", found.inbox ?? "not bound yet"),
            ("replica", found.replica.description),
            (
                "cursor",
                "position \(found.cursor.position), epoch \(found.cursor.epoch.map(Hex64.text) ?? "none"), chain \(Hex64.text(found.cursor.chain))"
            ),
            ("attempt", String(found.attempt)), ("next n", String(found.nextN)), ("items", String(found.items)),
            ("listed", "\(found.counts.total), \(found.counts.unread) unread, \(found.counts.unseen) unseen"),
            ("marks", String(found.marks)),
            ("outbox", waiting(found).map { "\($0.1) \($0.0)" }.joined(separator: ", ")),
            ("journal", String(found.journal)), ("unknown entries", String(found.unknown)),
            ("quarantined", String(found.quarantined.count)),
            ("sessions", sessions(found)),
            ("size", "\(found.fileBytes) bytes, log \(found.walBytes), free \(found.freeBytes)"),
        ]
        if let time = found.wentBack {
            rows.append(
                (
                    "hub went back",
                    "\(Output.time(time)), \(found.wentBackLost ?? 0) notifications gone"
                ))
        }
        if let time = found.forked {
            rows.append(("restored", "\(Output.time(time)), or copied; it took a new id, and its acts were sent again"))
        }
        if let time = found.diverged { rows.append(("differed", "\(Output.time(time)), from the hub")) }
        if let staged = found.staged { rows.append(("snapshot", "being loaded: \(staged) rows so far")) }
        if let access = file.reader.access { rows.append(("opened", words(access))) }
        for problem in file.reader.problems { rows.append(("PROBLEM", Output.safe(problem))) }
        switch found.problems {
        case nil: rows.append(("integrity", "not checked"))
        case []?: rows.append(("integrity", "ok"))
        case let problems?: for problem in problems { rows.append(("PROBLEM", Output.safe(problem))) }
        }
        for (name, value) in rows { Output.line(Output.fit(name, 16) + (value.isEmpty ? "empty" : value)) }
        for quarantined in found.quarantined { Output.line("  entry \(quarantined.position): \(quarantined.reason)") }
    }

    private static func sessions(_ found: Inspection) -> String {
        guard let last = found.sessions.first else { return "none yet" }
        let end = last.ended.map {
            "ended \(Output.time($0))" + (last.code.map { " with \($0)" } ?? "")
                + (last.reason.map { ": " + Output.safe($0) } ?? "")
        }
        return "last began \(Output.time(last.started)), " + (end ?? "has not ended")
    }

    private static func words(_ access: ReplicaReader.Access) -> String {
        switch access {
        case .live: "in place, as another process of the app would"
        case .still: "in place; nobody else has it open"
        case .copied: "from a private copy with its log"
        }
    }

    private static func json(_ found: Inspection, _ file: InspectFile) {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("file", found.path)
        writer.member("version", found.version)
        writer.member("identity", found.identity)
        writer.member("project", found.project)
        writer.member("inbox", found.inbox)
        writer.member("replica", found.replica.description)
        writer.member("epoch", found.cursor.epoch.map(Hex64.text))
        writer.member("position", found.cursor.position)
        writer.member("chain", Hex64.text(found.cursor.chain))
        writer.member("attempt", found.attempt)
        writer.member("nextN", found.nextN)
        writer.member("wentBack", found.wentBack)
        writer.member("wentBackLost", found.wentBackLost)
        writer.member("forked", found.forked)
        writer.member("diverged", found.diverged)
        writer.member("items", found.items)
        writer.member("total", found.counts.total)
        writer.member("unread", found.counts.unread)
        writer.member("unseen", found.counts.unseen)
        writer.key("outbox")
        writer.beginObject()
        for (name, count) in waiting(found) {
            writer.key(name)
            writer.int(count)
        }
        writer.endObject()
        writer.member("journal", found.journal)
        writer.member("unknownEntries", found.unknown)
        writer.member("quarantined", Int64(found.quarantined.count))
        writer.member("staged", found.staged)
        writer.member("fileBytes", found.fileBytes)
        writer.member("walBytes", found.walBytes)
        writer.member("access", file.reader.access?.rawValue)
        if let problems = found.problems { writer.strings("problems", file.reader.problems + problems) }
        writer.strings("notes", file.reader.notes)
        writer.endObject()
        Output.line(String(decoding: writer.bytes, as: UTF8.self))
    }
}

extension JSONWriter {
    /// A member that is an array of strings.
    mutating func strings(_ key: String, _ values: [String]) {
        self.key(key)
        beginArray()
        for value in values { string(value) }
        endArray()
    }
}
