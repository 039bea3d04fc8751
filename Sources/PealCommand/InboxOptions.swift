import Foundation
import Peal
import PealModel
import PealReplica

/// The options that every command with an inbox has, and what they open.
enum InboxOptions {
    static let all: [Option] = [
        Option(
            name: "hub", value: "URL", help: "the hub's publishing side (http://127.0.0.1:8080)",
            environment: "PEAL_HUB"),
        Option(name: "key", value: "KEY", help: "the project's API key, or its instance id", environment: "PEAL_KEY"),
        Option(
            name: "former-key", value: "KEY",
            help: "a key that --key has replaced: files that were made with it are taken over",
            environment: "PEAL_FORMER_KEY", repeats: true),
        Option(name: "user", value: "ID", help: "a user's inbox, by external id", environment: "PEAL_USER"),
        Option(name: "email", value: "ADDRESS", help: "a user's inbox, by email", environment: "PEAL_EMAIL"),
        Option(name: "device", value: nil, help: "this device's own inbox, of its interests"),
        Option(
            name: "hmac", value: "CODE", help: "what proves the user, where the project wants it",
            environment: "PEAL_HMAC"),
        Option(
            name: "directory", value: "DIR", help: "where the replicas lie (~/.local/share/peal)",
            environment: "PEAL_DIRECTORY", kind: .directory),
        Option(
            name: "ca", value: "FILE", help: "certificate authorities (PEM) in place of the system's",
            environment: "PEAL_CA", kind: .file),
        proxy,
        Option(name: "timeout", value: "SECONDS", help: "how long to wait for the hub (5)"),
        Option(name: "offline", value: nil, help: "do not connect; what is done is sent later"),
        Option(name: "json", value: nil, help: "JSON, one object a line"),
    ]

    static let proxy = Option(
        name: "proxy", value: "URL", help: "an HTTP proxy before the hub (http_proxy, https_proxy, no_proxy)",
        environment: "PEAL_PROXY")

    /// The proxy that the options name, else the environment.
    static func proxy(_ arguments: Arguments, hub: String) throws -> HubProxy? {
        if let text = arguments.value("proxy") { return try HubProxy(text) }
        return try HubProxy.environment(for: hub)
    }

    /// The same where several users can be shown at once.
    static let several: [Option] = all.map { option in
        guard option.name == "user" || option.name == "hmac" else { return option }
        var option = option
        option.repeats = true
        return option
    }

    /// Opens the inbox that the options name; nothing is connected yet.
    static func open(_ arguments: Arguments, device: Bool = false) async throws -> Inbox {
        let client = try client(arguments) { Output.trace($0) }
        let begin = ContinuousClock.now
        let inbox = try await open(client, arguments, device: device)
        guard Output.settings.isVerbose else { return inbox }
        Output.trace("opened \(inbox.path) in \(Output.milliseconds(begin)) ms")
        let statuses = await inbox.statuses
        Task.detached {
            for await status in statuses {
                let why = status.message.map { ": " + Output.safe($0) } ?? ""
                Output.trace("session \(status.state) after \(Output.milliseconds(begin)) ms\(why)")
            }
        }
        return inbox
    }

    private static func open(_ client: PealClient, _ arguments: Arguments, device: Bool) async throws -> Inbox {
        if device || arguments.has("device") { return try await client.device() }
        guard arguments.value("user") != nil || arguments.value("email") != nil else {
            throw nobody
        }
        return try await client.user(
            externalID: arguments.value("user"), email: arguments.value("email"), hmac: arguments.value("hmac"))
    }

    /// No inbox was named.
    static let nobody = CommandError(
        code: .usage, message: "Whose inbox?", hint: "Give --user ID, --email ADDRESS, or --device.")

    /// A client as the options have it; nothing is opened yet.
    static func client(_ arguments: Arguments, log: @escaping @Sendable (String) -> Void) throws -> PealClient {
        let key = try arguments.required(
            "key", "Give --key KEY, or set PEAL_KEY; `peal hub` printed it at its first start.")
        let hub = arguments.value("hub") ?? "http://127.0.0.1:8080"
        return try PealClient(
            hub: hub, apiKey: key, formerKeys: arguments.list("former-key"),
            logLevel: arguments.has("verbose") ? .debug : .none,
            directory: arguments.value("directory"), authorityPath: arguments.value("ca"),
            proxy: proxy(arguments, hub: hub), log: log)
    }

    /// Connects, unless that is not wanted, and waits until the replica stands at the hub's head and every act that is due is
    /// settled, or until that cannot be. Says on standard error when it is offline, and what happened to the inbox meanwhile.
    ///
    /// - Throws: ``CommandError`` where the hub refused for good.
    @discardableResult
    static func settle(_ inbox: Inbox, _ arguments: Arguments) async throws -> InboxStatus {
        let result: Result<InboxStatus, any Error>
        do {
            result = .success(try await wait(inbox, arguments))
        } catch {
            result = .failure(error)
        }
        for notice in await inbox.recentNotices { show(notice) }
        return try result.get()
    }

    /// Says on standard error what happened to the inbox.
    static func show(_ notice: InboxNotice) { Output.remark("note: \(notice)") }

    private static func wait(_ inbox: Inbox, _ arguments: Arguments) async throws -> InboxStatus {
        if arguments.has("offline") {
            Output.remark("offline, as asked: this is what the replica holds; what you do is sent later.")
            return await inbox.status
        }
        let seconds = try arguments.int("timeout", in: 0...3_600, default: 5)
        let deadline = ContinuousClock.now + .seconds(seconds)
        await inbox.connect()
        var status = await inbox.status
        while ContinuousClock.now < deadline {
            status = await inbox.status
            if await inbox.isSettled { return status }
            // Where the inbox mends itself, by a new id or by a snapshot, it is back in a moment.
            let mends = await !inbox.recentNotices.isEmpty
            switch status.state {
            case .stopped:
                throw CommandError(
                    code: .refused, message: "The hub refused: \(status.message ?? "no reason was given").",
                    hint: "Check --key, --user and --hmac. What you did is kept.")
            case .offline where status.message != nil && !mends: return offline(status)
            case .elsewhere where try await inbox.outbox().allSatisfy({ $0.state == .dead || $0.state == .held }):
                return status
            default: break
            }
            try await Task.sleep(for: .milliseconds(5))
        }
        if status.state == .elsewhere { return status }
        return offline(status)
    }

    private static func offline(_ status: InboxStatus) -> InboxStatus {
        let why = status.message.map { " (\($0))" } ?? ""
        Output.remark("offline\(why): this is what the replica holds; what you do is sent later.")
        return status
    }
}

extension DeliveredItem {
    /// The publisher's part, or an empty one where it cannot be read.
    var content: ItemBody { (try? decodeBody()) ?? ItemBody(title: nil, sent: sent) }

    /// One JSON line.
    var json: String {
        let body = content
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("id", id.description)
        writer.member("number", number)
        writer.member("publish", publish)
        writer.member("type", type)
        writer.member("title", body.title)
        writer.member("content", body.content)
        writer.member("category", category)
        writer.member("topic", topic)
        if let names = body.interestsText { writer.member("interests", raw: Array(names.utf8)[...]) }
        writer.member("action_url", body.actionURL)
        writer.member("custom_attributes", raw: body.attributes)
        writer.member("payload", raw: body.payload)
        writer.member("delivered", time)
        writer.member("sent", sent)
        writer.member("read", read)
        writer.member("seen", seen)
        writer.member("archived", archived)
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// One row of a table.
    var row: String {
        let body = content
        let title = Output.safe(body.title ?? "No title")
        let text = body.content.map { " – " + Output.safe($0) } ?? ""
        let mark = (read ? " " : "●") + (archived ? "a" : " ")
        return Output.fit(String(number), 6) + mark + " " + Output.time(time) + "  "
            + Output.fit(Output.safe(category ?? "-"), 12) + " " + Output.fit(title + text, 60)
    }
}
