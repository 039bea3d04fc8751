import Foundation
import Peal
import PealModel
import PealReplica

/// `peal inbox`.
enum InboxCommand {
    static let command = Command(
        name: "inbox", summary: "show an inbox: what was delivered, newest first",
        discussion: """
            On a terminal it is a full-screen viewer, live and offline: arrows or j and k move, Enter opens, r and u mark read and
            unread, a archives, d deletes, U takes back, / searches, f filters, ? lists every key, q quits. Several --user are
            tabs. Off a terminal, or with --plain, --json, --watch or --limit, it is a table or JSON lines: without a hub that
            shows what the replica holds, and says so; with --watch it stays and shows the list again whenever it changes.
            """,
        options: InboxOptions.several + InboxFilter.options + [
            Option(name: "archived", value: nil, help: "only archived ones"),
            Option(name: "all", value: nil, help: "archived ones too"),
            Option(
                name: "since", value: "TIME",
                help: "delivered at or after: 2026-01-31, 2026-01-31T18:00, or milliseconds"),
            Option(name: "until", value: "TIME", help: "delivered before"),
            Option(name: "limit", short: "n", value: "N", help: "items at most (50)"),
            Option(name: "plain", value: nil, help: "a table, on a terminal too"),
            Option(name: "watch", short: "w", value: nil, help: "stay, and show every change"),
        ],
        examples: [
            "peal inbox --user Mary --unread", "peal inbox --user Mary --user Bob",
            "peal inbox --device --json --limit 10",
        ], run: run)

    private static func run(_ arguments: Arguments) async throws -> ExitCode {
        let environment = ProcessInfo.processInfo.environment
        if wantsViewer(arguments, environment: environment),
            let end = try await view(arguments, environment: environment)
        {
            return end
        }
        guard arguments.all("user").count < 2 else { throw .usage("A table is of one user.") as CommandError }
        let query = try query(arguments)
        let limit = try arguments.int("limit", in: 1...10_000, default: 50)
        let inbox = try await InboxOptions.open(arguments)
        try await InboxOptions.settle(inbox, arguments)
        try await show(inbox, query, limit, arguments)
        guard arguments.has("watch") else {
            await inbox.close()
            return .success
        }
        let ended: ExitCode? = try await Signals.run {
            try await TailCommand.first(
                {
                    for await change in inbox.changes where change.items || change.outbox {
                        if !arguments.has("json") { Output.line("") }
                        try await show(inbox, query, limit, arguments)
                    }
                    return .success
                },
                {
                    try await PipeWriter.closed()
                    return .success
                })
        }
        await inbox.close()
        return ended ?? .success
    }

    /// The query of a list: archived ones where they are asked for, and a time.
    static func query(_ arguments: Arguments) throws(CommandError) -> DeliveredQuery {
        var query = try InboxFilter.query(arguments)
        query.archived = arguments.has("all") ? nil : arguments.has("archived")
        query.since = try TimeArgument.milliseconds(arguments.value("since"), "since")
        query.until = try TimeArgument.milliseconds(arguments.value("until"), "until")
        return query
    }

    private static func show(
        _ inbox: Inbox, _ query: DeliveredQuery, _ limit: Int, _ arguments: Arguments
    ) async throws {
        var items: [DeliveredItem] = []
        var cursor: PageCursor?
        var isPartial = false
        repeat {
            let page = try await inbox.page(query, after: cursor, limit: min(500, limit - items.count))
            items += page.items
            cursor = page.next
            isPartial = isPartial || page.isPartial
        } while cursor != nil && items.count < limit
        if isPartial { Output.remark("This is only a part: the inbox is being loaded, and older ones are to come.") }
        if arguments.has("json") {
            for item in items { Output.line(item.json) }
            return
        }
        let counts = try await inbox.counts()
        let waiting = try await inbox.outbox().count
        var status = "\(counts.total) listed, \(counts.unread) unread, \(counts.unseen) unseen"
        if waiting > 0 { status += ", \(waiting) in the outbox" }
        Output.line(status)
        if items.isEmpty {
            Output.line("No notifications")
            return
        }
        Output.line("NUMBER    DELIVERED         CATEGORY     TITLE")
        for item in items { Output.line(item.row) }
        if cursor != nil { Output.line("… more; see --limit") }
    }
}
