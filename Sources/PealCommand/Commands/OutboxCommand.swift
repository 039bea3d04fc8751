import Peal
import PealModel
import PealReplica

/// `peal outbox`.
enum OutboxCommand {
    static let command = Command(
        name: "outbox", summary: "acts that wait for the hub, and dead letters; retry or discard one",
        discussion: """
            Without a word it lists them. A dead letter is an act that the hub refused, or that could not be read back from the file:
            it is kept until somebody retries it, as a new act, or discards it. An act that was not sent yet can be discarded too.
            """,
        operands: [
            Operand(
                name: "ACTION", help: "retry, or discard; without it they are listed", optional: true,
                values: ["retry", "discard"]),
            Operand(
                name: "UID", help: "which, as the list shows them, or 'dead' for every dead letter", optional: true,
                repeats: true),
        ],
        options: InboxOptions.all,
        examples: [
            "peal outbox --user Mary", "peal outbox retry 00c5a1e0f3b2d417 --user Mary",
            "peal outbox discard dead --user Mary",
        ], run: run)

    private static func run(_ arguments: Arguments) async throws -> ExitCode {
        let words = arguments.operands
        guard let action = words.first else { return try await list(arguments) }
        guard ["retry", "discard"].contains(action) else {
            throw .usage("'\(action)' is none of retry, discard.") as CommandError
        }
        guard words.count > 1 else {
            throw .usage("Which? `peal outbox` shows the uids; 'dead' is every dead letter.") as CommandError
        }
        let inbox = try await InboxOptions.open(arguments)
        do {
            try await carryOut(action, Array(words.dropFirst()), inbox)
        } catch {
            await inbox.close()
            throw error
        }
        return try await list(arguments, inbox)
    }

    private static func carryOut(_ action: String, _ words: [String], _ inbox: Inbox) async throws {
        var uids: [UInt64] = []
        for word in words {
            if word == "dead" {
                uids += try await inbox.outbox().filter { $0.state == .dead }.map(\.id)
            } else if let uid = Hex64.parse(word) {
                uids.append(uid)
            } else {
                throw .usage("'\(word)' is no uid: 16 hexadecimal digits, as `peal outbox` shows them.") as CommandError
            }
        }
        for uid in uids {
            let isDone = action == "retry" ? try await inbox.retry(uid) != nil : try await inbox.discard(uid)
            guard !isDone else { continue }
            let hint =
                action == "retry"
                ? "Only a dead letter that can be read is retried."
                : "What was sent and is not dead cannot be taken back."
            throw CommandError(
                code: .failure, message: "\(Hex64.text(uid)) cannot be \(action == "retry" ? "retried" : "discarded").",
                hint: hint)
        }
    }

    private static func list(_ arguments: Arguments, _ opened: Inbox? = nil) async throws -> ExitCode {
        let inbox: Inbox
        if let opened { inbox = opened } else { inbox = try await InboxOptions.open(arguments) }
        try await InboxOptions.settle(inbox, arguments)
        let rows = try await inbox.outbox()
        await inbox.close()
        if arguments.has("json") {
            for row in rows { Output.line(json(row)) }
            return .success
        }
        if rows.isEmpty { Output.line("The outbox is empty") }
        for row in rows {
            var line =
                Hex64.text(row.id) + "  " + Output.fit("\(row.state)", 7) + Output.time(row.acted) + "  "
                + (row.operation?.name ?? "unknown")
            if let operation = row.operation, !operation.items.isEmpty { line += " of \(operation.items.count)" }
            if let outcome = row.outcome { line += "  \(outcome.code.rawValue): \(Output.safe(outcome.reason ?? ""))" }
            Output.line(line)
        }
        return .success
    }

    private static func json(_ row: OutboxItem) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("uid", Hex64.text(row.id))
        writer.member("n", row.n)
        writer.member("state", "\(row.state)")
        writer.member("acted", row.acted)
        writer.member("attempts", row.attempts)
        if let operation = row.operation {
            writer.key("op")
            operation.write(to: &writer)
        }
        if let outcome = row.outcome {
            writer.key("outcome")
            outcome.write(to: &writer)
        }
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
