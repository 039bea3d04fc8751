import Foundation
import Peal
import PealModel
import PealReplica

/// `peal tail`.
enum TailCommand {
    static let command = Command(
        name: "tail", summary: "show notifications as they are delivered",
        discussion: """
            Follows an inbox until Ctrl-C, oldest first. While the hub cannot be reached it waits and says so on standard error; what
            was published meanwhile is shown when the connection is back, once and in order. It begins with what comes after it was
            started, on a new device after the first connection. Silent items, and those that expired or were deleted before their turn,
            are not shown; filters look at an item as it is when its turn comes.

            --since goes back: to a time, as 'peal inbox' has it; to '#N', the items after number N, so that a script goes on where it
            ended; or to the beginning, by 'all'. --interest is of this device's own inbox and changes no subscription.

            --format TEMPLATE: {number} {id} {title} {content} {time} {ms} {category} {topic} {type} {url} {interests} {read}
            {publish}; {{ and }} are braces, \\n, \\t and \\\\ a line's end, a tab and a backslash. What publishers wrote is shown without
            control characters; --json has it as it is.

            --exec runs a program for each item, one after the other, without a shell; its arguments stand after '--'. It gets the
            item as JSON on standard input and the names above in the environment: PEAL_NUMBER, PEAL_TITLE, and so on. A program that
            fails is told on standard error, and the tail goes on. With --exec or --notify items are printed only where --json or
            --format asks for it.

            exit codes: 0 at the end (--count, --offline, or nobody reads the output any more), 130 after Ctrl-C or SIGTERM
            """,
        operands: [
            Operand(name: "ARGUMENT", help: "of the program of --exec, after '--'", optional: true, repeats: true)
        ],
        options: InboxOptions.all + InboxFilter.options + [
            Option(name: "since", value: "WHEN", help: "first what is there since a time, after '#N', or 'all'"),
            Option(name: "last", short: "n", value: "N", help: "first the last N that are there already (0)"),
            Option(name: "count", value: "N", help: "end after N"),
            Option(name: "format", value: "TEMPLATE", help: "a line of your own for each"),
            Option(name: "exec", value: "PROGRAM", help: "run a program for each", kind: .file, isConfigurable: false),
            Option(name: "exec-stop", value: nil, help: "end with 1 where that program fails"),
            Option(name: "notify", value: nil, help: "a desktop notification for each, else lines on the terminal"),
            Option(name: "follow-reconnect", value: nil, help: "tell of each try to connect, not of the first alone"),
        ],
        examples: [
            "peal tail --user Mary --category orders --since 2026-01-31", "peal tail --user Mary --json | jq -r .title",
            "peal tail --interest apple --format '{time} {title}: {url}'",
            "peal tail --user Mary --exec ./on-item -- --verbose",
            "peal tail --user Mary --offline --since '#120' --json",
        ], run: run)

    private static func run(_ arguments: Arguments) async throws -> ExitCode {
        let settings = try TailSettings(arguments)
        let inbox = try await InboxOptions.open(arguments, device: settings.query.interests != nil)
        if let wanted = settings.query.interests {
            let interests = try await inbox.interests()
            if let missing = wanted.first(where: { !interests.contains($0) }) {
                await inbox.close()
                throw CommandError(
                    code: .usage, message: "This device does not have the interest '\(Output.safe(missing))'.",
                    hint: "Add it by `peal interests add \(Output.safe(missing))`; a tail changes no subscription.")
            }
        }
        signal(SIGPIPE) { _ in }
        let follower = TailFollower(inbox: inbox, settings: settings, changes: inbox.changes)
        let notices = inbox.notices
        let ended: ExitCode? = try await Signals.run {
            if !settings.isOffline { await inbox.connect() }
            return try await first(
                { try await follower.run() },
                {
                    for await notice in notices { InboxOptions.show(notice) }
                    return nil
                },
                {
                    try await PipeWriter.closed()
                    return .success
                })
        }
        await inbox.close()
        return ended ?? .interrupted
    }

    /// Runs some tasks until one of them has an exit code.
    static func first(_ bodies: (@Sendable () async throws -> ExitCode?)...) async throws -> ExitCode {
        try await withThrowingTaskGroup(of: ExitCode?.self) { group in
            for body in bodies { group.addTask { try await body() } }
            defer { group.cancelAll() }
            while let code = try await group.next() {
                if let code { return code }
            }
            return .success
        }
    }
}

/// What the options of a tail say.
struct TailSettings {
    /// Where it begins.
    enum Start {
        /// With what comes; first the last few that are there.
        case now(last: Int)
        /// After a number.
        case after(Position)
    }

    var query: DeliveredQuery
    var start: Start
    var count: Int?
    var isOffline: Bool
    var isQuiet: Bool
    var tellsTries: Bool
    var stopsAtFailure: Bool
    var notifies: Bool
    var program: ItemProgram?
    /// A line for an item; nil where none is printed.
    var line: (@Sendable (DeliveredItem) -> String)?

    init(_ arguments: Arguments) throws {
        query = try InboxFilter.query(arguments)
        let last = try arguments.int("last", in: 0...1_000, default: 0)
        start = .now(last: last)
        if let since = arguments.value("since") {
            if last > 0 { throw CommandError.usage("--since and --last exclude each other.") }
            start = .after(0)
            if since.hasPrefix("#") {
                guard let number = Position(since.dropFirst()), number >= 0 else {
                    throw CommandError.usage("--since takes '#' and a number, as in '#12'.")
                }
                start = .after(number)
            } else if since != "all" {
                query.since = try TimeArgument.milliseconds(since, "since")
                // Before March 1973: whoever writes that means a position, or seconds.
                if Int64(since) != nil, query.since! < 100_000_000_000 {
                    throw CommandError.usage(
                        "--since \(since): a number is milliseconds since 1970; a position is '#\(since)'.")
                }
            }
        }
        count = arguments.value("count") == nil ? nil : try arguments.int("count", in: 1...1_000_000_000, default: 1)
        isOffline = arguments.has("offline")
        isQuiet = arguments.has("quiet")
        tellsTries = arguments.has("follow-reconnect")
        stopsAtFailure = arguments.has("exec-stop")
        notifies = arguments.has("notify")
        if let name = arguments.value("exec") {
            program = try ItemProgram(
                name, words: arguments.operands, environment: ProcessInfo.processInfo.environment)
        } else if let word = arguments.operands.first {
            throw CommandError.usage("'\(Output.safe(word))' is one word too many: only --exec takes arguments.")
        }
        if arguments.has("json"), arguments.value("format") != nil {
            throw CommandError.usage("--json and --format exclude each other.")
        }
        if let template = try arguments.value("format").map({ try ItemTemplate($0) }) {
            line = { template.line($0) }
        } else if arguments.has("json") {
            line = { $0.json }
        } else if program == nil, !notifies {
            line = { $0.row }
        }
    }
}
