import PealModel
import PealReplica

/// `peal inspect`.
enum InspectCommand {
    static let command = Command(
        name: "inspect", summary: "look into a replica's file: cursor, counts, outbox, sizes, integrity",
        discussion: """
            Reads only: safe on a live file, and on a customer's copy. With --verify it checks the invariants of docs/sync.md
            section 9, one by one, with evidence and without content; a failed check ends with exit code 5.
            """,
        operands: [Operand(name: "FILE", help: "a .peal file")],
        options: [
            Option(name: "quick", value: nil, help: "leave the integrity check out"),
            Option(name: "json", value: nil, help: "JSON"),
        ] + verifyOptions,
        examples: [
            "peal inspect ~/.local/share/peal/id-%4dary.peal",
            "peal inspect --verify --hub http://127.0.0.1:8080 ~/.local/share/peal/id-%4dary.peal",
        ], run: run)

    private static func run(_ arguments: Arguments) async throws -> ExitCode {
        if arguments.has("verify") { return try await verify(arguments) }
        guard arguments.value("hub") == nil else { throw CommandError.usage("--hub goes with --verify.") }
        let reader = try ReplicaReader(path: arguments.operands[0])
        let found: Inspection
        do {
            found = try reader.inspect(integrity: !arguments.has("quick"))
        } catch {
            throw CommandError(
                code: .badFile, message: error.message,
                hint: "--verify answers check by check, also where one cannot be read.")
        }
        let problems = found.problems ?? []
        if arguments.has("json") { json(found) } else { show(found) }
        return problems.isEmpty ? .success : .badFile
    }

    private static func outbox(_ found: Inspection) -> [(String, Int64)] {
        found.outbox.map { ("\($0.key)", $0.value) }.sorted { $0.0 < $1.0 }
    }

    private static func show(_ found: Inspection) {
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
            ("outbox", outbox(found).map { "\($0.1) \($0.0)" }.joined(separator: ", ")),
            ("journal", String(found.journal)), ("unknown entries", String(found.unknown)),
            ("quarantined", String(found.quarantined.count)),
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
        switch found.problems {
        case nil: rows.append(("integrity", "not checked"))
        case []?: rows.append(("integrity", "ok"))
        case let problems?: for problem in problems { rows.append(("PROBLEM", problem)) }
        }
        for (name, value) in rows { Output.line(Output.fit(name, 16) + (value.isEmpty ? "empty" : value)) }
        for quarantined in found.quarantined { Output.line("  entry \(quarantined.position): \(quarantined.reason)") }
    }

    private static func json(_ found: Inspection) {
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
        for (name, count) in outbox(found) {
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
        if let problems = found.problems {
            writer.key("problems")
            writer.beginArray()
            for problem in problems { writer.string(problem) }
            writer.endArray()
        }
        writer.endObject()
        Output.line(String(decoding: writer.bytes, as: UTF8.self))
    }
}
