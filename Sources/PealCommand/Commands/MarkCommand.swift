import Peal
import PealModel
import PealReplica

/// `peal mark`.
enum MarkCommand {
    static let command = Command(
        name: "mark", summary: "mark notifications: read, unread, seen, archive, unarchive, delete, all-read",
        discussion: "Works offline: the act is durable when the command returns, and is sent when there is a hub.",
        subcommands: [
            one("read", "mark as read") { .read(items: $0, on: true, passive: false) },
            one("unread", "mark as unread") { .read(items: $0, on: false, passive: false) },
            one("seen", "mark as seen") { .seen(items: $0) },
            one("archive", "archive") { .archive(items: $0, on: true) },
            one("unarchive", "take out of the archive") { .archive(items: $0, on: false) },
            one("delete", "delete, for good and on every device") { .delete(items: $0) },
            Command(
                name: "all-read", summary: "mark everything that is there as read", options: InboxOptions.all,
                run: { arguments in try await allRead(arguments) }),
        ])

    private static func one(
        _ name: String, _ summary: String, _ operation: @escaping @Sendable ([ItemID]) -> PealModel.Operation
    ) -> Command {
        Command(
            name: name, summary: summary,
            operands: [Operand(name: "ITEM", help: "an item's number or id, as `peal inbox` shows it", repeats: true)],
            options: InboxOptions.all, examples: ["peal mark \(name) 12 --user Mary"],
            run: { arguments in
                let inbox = try await InboxOptions.open(arguments)
                try await act(inbox, arguments) { operation(try await items(inbox, arguments.operands)) }
                await inbox.close()
                return .success
            })
    }

    private static func allRead(_ arguments: Arguments) async throws -> ExitCode {
        let inbox = try await InboxOptions.open(arguments)
        try await act(inbox, arguments) { .mark(.read, upTo: try await inbox.view().position) }
        await inbox.close()
        return .success
    }

    private static func items(_ inbox: Inbox, _ words: [String]) async throws -> [ItemID] {
        var items: [ItemID] = []
        for word in words {
            if let number = Int64(word) {
                guard let item = try await inbox.item(number: number) else { throw unknown(word) }
                items.append(item.id)
            } else if let id = ItemID(word), try await inbox.item(id) != nil {
                items.append(id)
            } else {
                throw unknown(word)
            }
        }
        return items
    }

    private static func unknown(_ word: String) -> CommandError {
        CommandError(
            code: .failure, message: "'\(word)' is no item of this inbox.",
            hint: "`peal inbox` shows the numbers; an item that is new at the hub is here after a connection.")
    }

    /// Acts, waits for the hub's outcome, and says what became of it.
    static func act(
        _ inbox: Inbox, _ arguments: Arguments, _ operation: () async throws -> PealModel.Operation
    ) async throws {
        let uid = try await inbox.perform(try await operation())
        try await InboxOptions.settle(inbox, arguments)
        let row = try await inbox.outbox().first { $0.id == uid }
        if let row, row.state == .dead {
            throw CommandError(
                code: .refused, message: "The hub refused: \(row.outcome?.reason ?? "no reason was given")",
                hint: "It is kept as a dead letter; see `peal outbox`.")
        }
        let state = row == nil ? "done" : "queued"
        if arguments.has("json") {
            Output.line(
                String(
                    decoding: JSON.object([("uid", .string(Hex64.text(uid))), ("state", .string(state))]).bytes,
                    as: UTF8.self))
        } else {
            Output.line(state)
        }
    }
}
