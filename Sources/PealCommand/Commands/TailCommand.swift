import Peal
import PealModel
import PealReplica

/// `peal tail`.
enum TailCommand {
    static let command = Command(
        name: "tail", summary: "show notifications as they are delivered",
        discussion: """
            Follows an inbox until Ctrl-C. While the hub cannot be reached it waits and says so on standard error; what was
            published meanwhile is shown when the connection is back, once and in order.
            """,
        options: InboxOptions.all + [
            Option(name: "last", short: "n", value: "N", help: "first the last N that are there already (0)"),
            Option(name: "count", value: "N", help: "end after N"),
        ],
        examples: ["peal tail --device", "peal tail --user Mary --json | jq -r .title"], run: run)

    private static func run(_ arguments: Arguments) async throws -> ExitCode {
        let last = try arguments.int("last", in: 0...1_000, default: 0)
        let count = arguments.value("count") == nil ? nil : try arguments.int("count", in: 1...1_000_000, default: 1)
        let inbox = try await InboxOptions.open(arguments)
        let changes = inbox.changes
        let notices = inbox.notices
        var shown = try await inbox.view().position
        if last > 0 {
            let page = try await inbox.page(DeliveredQuery(), limit: last)
            for item in page.items.reversed() { show(item, arguments) }
        }
        if !arguments.has("offline") { await inbox.connect() }
        let start = shown
        let ended: ExitCode? = try await Signals.run {
            try await withThrowingTaskGroup(of: ExitCode?.self) { group in
                group.addTask { try await follow(inbox, changes, from: start, count, arguments) }
                group.addTask { try await watch(inbox) }
                group.addTask {
                    for await notice in notices { InboxOptions.show(notice) }
                    return nil
                }
                while let code = try await group.next() {
                    if let code {
                        group.cancelAll()
                        return code
                    }
                }
                return .success
            }
        }
        shown = 0
        await inbox.close()
        return ended ?? .success
    }

    /// Shows what lies above the last shown position, whenever something was committed.
    private static func follow(
        _ inbox: Inbox, _ changes: AsyncStream<Change>, from start: Position, _ count: Int?, _ arguments: Arguments
    ) async throws -> ExitCode? {
        var shown = start
        var left = count
        for await change in changes where change.items {
            var fresh: [DeliveredItem] = []
            var cursor: PageCursor?
            repeat {
                let page = try await inbox.page(DeliveredQuery(archived: nil), after: cursor, limit: 200)
                fresh += page.items.prefix { $0.number > shown }
                cursor = page.items.last.map { $0.number > shown } == true ? page.next : nil
            } while cursor != nil
            for item in fresh.reversed() {
                show(item, arguments)
                shown = item.number
                if let rest = left {
                    left = rest - 1
                    if rest == 1 { return .success }
                }
            }
        }
        return .success
    }

    /// Says on standard error how the connection goes.
    private static func watch(_ inbox: Inbox) async throws -> ExitCode? {
        var said = InboxStatus.State.connecting
        for await status in await inbox.statuses {
            switch status.state {
            case .stopped:
                throw CommandError(
                    code: .refused, message: "The hub refused: \(status.message ?? "no reason was given").",
                    hint: "Check --key, --user and --hmac.")
            case .offline where said != .offline && status.retryAfter != nil:
                Output.note("offline\(status.message.map { " (\($0))" } ?? ""); trying again")
                said = .offline
            case .live where said != .live:
                Output.note("live")
                said = .live
            default: break
            }
        }
        return nil
    }

    private static func show(_ item: DeliveredItem, _ arguments: Arguments) {
        Output.line(arguments.has("json") ? item.json : item.row)
    }
}
