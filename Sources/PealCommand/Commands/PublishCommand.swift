import Peal
import PealModel

/// `peal publish`.
enum PublishCommand {
    static let command = Command(
        name: "publish", summary: "publish a notification to interests or users",
        options: [
            Option(
                name: "hub", value: "URL", help: "the hub's publishing side (http://127.0.0.1:8080)",
                environment: "PEAL_HUB"),
            Option(name: "instance", value: "ID", help: "the project's instance id", environment: "PEAL_INSTANCE"),
            HubOptions.secret, HubOptions.secretFile,
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
            InboxOptions.proxy, Option(name: "json", value: nil, help: "JSON"),
        ],
        examples: ["peal publish --interest apple --title 'Hello' --body 'From the command line'"], run: run)

    private static func run(_ arguments: Arguments) async throws -> ExitCode {
        let url = arguments.value("hub") ?? "http://127.0.0.1:8080"
        let hub = try HubAddress(url, proxy: InboxOptions.proxy(arguments, hub: url))
        let hint = "`peal hub` printed it at its first start."
        let instance = try arguments.required("instance", hint)
        let secret = try arguments.requiredSecret("secret", hint)
        let interests = arguments.list("interest")
        let users = arguments.all("user")
        guard interests.isEmpty != users.isEmpty else {
            throw CommandError(code: .usage, message: "To whom?", hint: "Give either --interest NAME or --user ID.")
        }
        let title = try arguments.required("title", "A notification has a title.")
        var alert: [(key: String, value: JSON)] = [("title", .string(title))]
        if let body = arguments.value("body") { alert.append(("body", .string(body))) }
        var data: [(key: String, value: JSON)] = []
        for (option, key) in [("category", "category"), ("topic", "topic"), ("type", "type"), ("url", "action_url")] {
            if let value = arguments.value(option) { data.append((key, .string(value))) }
        }
        var apns: [(key: String, value: JSON)] = [("aps", .object([("alert", .object(alert))]))]
        if !data.isEmpty { apns.append(("data", .object(data))) }
        // The interests surface asks for no key.
        let api = HubAPI(hub: hub, credentials: .project(instance: instance, key: "", secret: secret))
        let id = try await api.publish(
            platforms: .object([("apns", .object(apns))]), to: users.isEmpty ? .interests(interests) : .users(users))
        if arguments.has("json") {
            Output.line(String(decoding: JSON.object([("publishId", .string(id))]).bytes, as: UTF8.self))
        } else {
            Output.line("published \(id)")
        }
        return .success
    }
}
