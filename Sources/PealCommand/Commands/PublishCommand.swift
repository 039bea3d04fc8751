import Peal
import PealModel

/// `peal publish`.
enum PublishCommand {
    static let command = Command(
        name: "publish", summary: "publish a notification to interests or users, or each line of a file",
        discussion: """
            One notification is given by options. With --file each line is one, a JSON object as POST /v1/publishes takes it
            (schema/rest/openapi.yaml): users, interests, title, content, category, topic, type, action_url, attributes, collapse_key,
            deliver_at, expires_at, and others. The file may also be a JSON array of such objects, or one object.

            Each line has an idempotency key: its member "key", else --key-prefix and the line's number, else one made of its content and
            its number. The hub carries a key out once in 24 hours, so a run that was cut off, by Ctrl-C, a kill or a lost connection, is
            given again as it was and publishes no line twice. Where the same file is meant to be published again, give another
            --key-prefix. With --resume FILE what is done is kept in that file too, which holds longer than 24 hours; lines that failed are
            tried again.

            A hub that is busy (429, 503) or away is waited for. Ctrl-C finishes what is under way; a second one does not.

            exit codes: 0 every line is published, 1 a line was refused (it is named, with field and limit), 3 the hub is away,
            4 key or secret are refused, 130 after Ctrl-C
            """,
        operands: [
            Operand(name: "FILE", help: "as --file; '-' is standard input", optional: true, kind: .file)
        ],
        options: HubOptions.connection + HubOptions.project + [
            Option(
                name: "interest", value: "NAME", help: "devices that have this interest", repeats: true,
                isConfigurable: false),
            Option(name: "user", value: "ID", help: "a user, by external id", repeats: true, isConfigurable: false),
            Option(name: "title", value: "TEXT", help: "the title, up to 255 characters"),
            Option(name: "body", value: "TEXT", help: "the text"),
            Option(name: "category", value: "SLUG", help: "a category"),
            Option(name: "topic", value: "TOPIC", help: "a topic, such as order:42"),
            Option(name: "type", value: "TYPE", help: "message, survey, video, image, audio, or your own (message)"),
            Option(name: "url", value: "URL", help: "where a tap leads"),
            HubOptions.json,
        ] + fileOptions,
        examples: [
            "peal publish --interest apple --title 'Hello' --body 'From the command line'",
            "peal publish --file newsletter.jsonl --resume newsletter.progress --keep-going",
            "generate | peal publish - --key-prefix 2026-12-01- --rate 500 --json > results.jsonl",
        ], run: run)

    private static func run(_ arguments: Arguments) async throws -> ExitCode {
        if arguments.has("file"), !arguments.operands.isEmpty { throw CommandError.usage("One file at a time.") }
        if let path = arguments.value("file") ?? arguments.operands.first { return try await runFile(path, arguments) }
        if let other = ["key-prefix", "resume"].first(where: arguments.has) {
            throw CommandError.usage("--\(other) goes with --file.")
        }
        let credentials = try HubOptions.backEnd(arguments)
        let interests = arguments.list("interest")
        let users = arguments.all("user")
        guard interests.isEmpty != users.isEmpty else {
            throw CommandError(code: .usage, message: "To whom?", hint: "Give either --interest NAME or --user ID.")
        }
        let title = try arguments.required("title", "A notification has a title.")
        let message = HubAPI.Message(
            title: title, content: arguments.value("body"), type: arguments.value("type"),
            actionURL: arguments.value("url"), category: arguments.value("category"), topic: arguments.value("topic"))
        let api = try HubOptions.api(arguments, credentials)
        let id = try await api.publish(message, interests: interests, users: users).id
        if arguments.has("json") {
            Output.line(String(decoding: JSON.object([("publishId", .string(id))]).bytes, as: UTF8.self))
        } else {
            Output.line("published \(id)")
        }
        return .success
    }
}
