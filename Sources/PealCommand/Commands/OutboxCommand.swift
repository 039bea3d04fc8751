import Peal
import PealModel
import PealReplica

/// `peal outbox`.
enum OutboxCommand {
    static let command = Command(
        name: "outbox", summary: "acts that wait for the hub, and dead letters",
        options: InboxOptions.all, run: run)

    private static func run(_ arguments: Arguments) async throws -> ExitCode {
        let inbox = try await InboxOptions.open(arguments)
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
                Output.fit("\(row.state)", 7) + Output.time(row.acted) + "  " + (row.operation?.name ?? "unknown")
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
