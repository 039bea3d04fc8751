import Foundation
import Peal
import PealModel

/// `peal users`.
enum UsersCommand {
    static let command = Command(
        name: "users", aliases: ["user"], summary: "a project's users: show, set, delete, inboxes, dead-letters",
        discussion: """
            For a project's back end: key and secret are needed. A user is named by the external id, or as email:ADDRESS or id:ID (the
            hub's id). The hub makes a user by itself when somebody publishes to it or connects it; it has no list of users.
            """,
        subcommands: [
            Command(name: "show", summary: "show a user", operands: [user], options: options, run: show),
            Command(
                name: "set", summary: "make a user, or change what is given", operands: [user],
                options: options + [
                    Option(
                        name: "add-email", value: "ADDRESS", help: "the address, where none is known",
                        isConfigurable: false),
                    Option(
                        name: "add-id", value: "ID", help: "the external id, where none is known", isConfigurable: false
                    ),
                    Option(name: "first-name", value: "TEXT", help: "the first name", isConfigurable: false),
                    Option(name: "last-name", value: "TEXT", help: "the last name", isConfigurable: false),
                    Option(
                        name: "phone", value: "NUMBER", help: "the telephone numbers, in place of those before",
                        repeats: true,
                        isConfigurable: false),
                    Option(name: "attributes", value: "JSON", help: "an object of your own", isConfigurable: false),
                ], examples: ["peal users set Mary --first-name Mary --add-email mary@example.org"], run: set),
            Command(
                name: "delete", summary: "delete a user with devices and inboxes, for good", operands: [user],
                options: options + [HubOptions.yes], run: delete),
            Command(
                name: "inboxes", summary: "the user's inbox and those of its devices, and who has copies",
                operands: [user], options: options, run: inboxes),
            Command(
                name: "dead-letters", summary: "acts of an inbox that could not be taken, newest first",
                operands: [Operand(name: "INBOX", help: "an inbox's id, as 'inboxes' shows it")],
                options: options + [Option(name: "limit", short: "n", value: "N", help: "acts at most (50)")],
                run: deadLetters),
        ])

    private static let user = Operand(name: "USER", help: "the external id, or email:ADDRESS, or id:ID")
    private static let options = HubOptions.project + HubOptions.connection + [HubOptions.json]

    private static func api(_ arguments: Arguments) throws -> HubAPI {
        try HubOptions.api(arguments, HubOptions.backEnd(arguments))
    }

    /// How the operand names a user.
    static func name(_ word: String) -> HubAPI.UserName {
        let parts = word.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, !parts[1].isEmpty else { return .externalId(word) }
        switch parts[0] {
        case "email": return .email(parts[1])
        case "id": return .id(parts[1])
        case "external_id": return .externalId(parts[1])
        default: return .externalId(word)
        }
    }

    // MARK: One user

    private static func show(_ arguments: Arguments) async throws -> ExitCode {
        show(try await api(arguments).user(name(arguments.operands[0])), arguments)
        return .success
    }

    private static func show(_ user: HubAPI.User, _ arguments: Arguments) {
        let attributes = user.customAttributes ?? .object([])
        if arguments.has("json") {
            func text(_ text: String?) -> JSON { text.map(JSON.string) ?? .null }
            Output.json([
                ("id", text(user.id)), ("external_id", text(user.externalId)), ("email", text(user.email)),
                ("first_name", text(user.firstName)), ("last_name", text(user.lastName)),
                ("phone_numbers", .array((user.phoneNumbers ?? []).map(JSON.string))),
                ("custom_attributes", attributes),
            ])
            return
        }
        let rows = [
            ("id", user.id), ("external id", user.externalId), ("email", user.email), ("first name", user.firstName),
            ("last name", user.lastName),
            ("phones", (user.phoneNumbers ?? []).isEmpty ? nil : user.phoneNumbers?.joined(separator: ", ")),
            (
                "attributes",
                attributes.objectValue?.isEmpty == false
                    ? String(decoding: attributes.bytes, as: UTF8.self) : nil
            ),
        ]
        Output.rows(rows.compactMap { row in row.1.map { (row.0, $0) } })
    }

    private static func set(_ arguments: Arguments) async throws -> ExitCode {
        var user = HubAPI.User(
            externalId: arguments.value("add-id"), email: arguments.value("add-email"),
            firstName: arguments.value("first-name"), lastName: arguments.value("last-name"),
            phoneNumbers: arguments.has("phone") ? arguments.all("phone") : nil)
        if let text = arguments.value("attributes") {
            guard let json = try? JSON(Array(text.utf8)[...]), json.objectValue != nil else {
                throw CommandError.usage("--attributes takes a JSON object.")
            }
            user.customAttributes = json
        }
        let api = try api(arguments)
        let name = name(arguments.operands[0])
        switch name {
        case .id: show(try await api.changeUser(name, user), arguments)
        case .externalId(let id):
            guard user.externalId == nil else { throw CommandError.usage("--add-id is for a user by email or id.") }
            user.externalId = id
            show(try await api.createUser(user), arguments)
        case .email(let email):
            guard user.email == nil else { throw CommandError.usage("--add-email is for a user by external id or id.") }
            user.email = email
            show(try await api.createUser(user), arguments)
        }
        return .success
    }

    private static func delete(_ arguments: Arguments) async throws -> ExitCode {
        let api = try api(arguments)
        let name = name(arguments.operands[0])
        let user = try await api.user(name)
        let word = Output.safe(arguments.operands[0])
        try HubOptions.confirm("This deletes the user \(word) with every device and inbox, for good", arguments)
        try await api.deleteUser(name)
        if arguments.has("json") {
            Output.json([("id", user.id.map(JSON.string)), ("deleted", .bool(true))])
        } else {
            Output.line("deleted \(word)")
        }
        return .success
    }

    // MARK: Inboxes

    private static func inboxes(_ arguments: Arguments) async throws -> ExitCode {
        let inboxes = try await api(arguments).inboxes(of: name(arguments.operands[0]))
        func number(_ number: some BinaryInteger) -> JSON { .number("\(number)") }
        if arguments.has("json") {
            for inbox in inboxes {
                let copies = inbox.replicas.map { copy in
                    JSON.object([
                        ("id", .string(copy.id)), ("position", number(copy.position)), ("acts", number(copy.acts)),
                        ("last_seen_at", .seconds(copy.lastSeenDate)),
                    ])
                }
                Output.json([
                    ("id", .string(inbox.id)), ("kind", .string(inbox.isDevice ? "device" : "user")),
                    ("position", number(inbox.position)), ("total", number(inbox.total)),
                    ("unread_count", number(inbox.unreadCount)), ("unseen_count", number(inbox.unseenCount)),
                    ("replicas", .array(copies)),
                ])
            }
            return .success
        }
        var table = Table("INBOX", "KIND", "POSITION", "LISTED", "UNREAD", "UNSEEN", "COPIES", "LAST SEEN")
        for inbox in inboxes {
            table.add(
                inbox.id, inbox.isDevice ? "device" : "user", "\(inbox.position)", "\(inbox.total)",
                "\(inbox.unreadCount)", "\(inbox.unseenCount)", "\(inbox.replicas.count)",
                inbox.replicas.map(\.lastSeenDate).max().map { Output.time($0) })
        }
        table.show(nothing: "no inboxes")
        return .success
    }

    private static func deadLetters(_ arguments: Arguments) async throws -> ExitCode {
        let limit = try arguments.int("limit", in: 1...10_000, default: 50)
        let api = try api(arguments)
        var letters: [HubAPI.DeadLetter] = []
        var cursor: String?
        repeat {
            let page = try await api.deadLetters(
                of: arguments.operands[0], before: cursor, limit: min(100, limit - letters.count))
            letters += page.letters
            cursor = page.letters.isEmpty ? nil : page.before
        } while cursor != nil && letters.count < limit
        if arguments.has("json") {
            for letter in letters {
                Output.json([
                    ("time", .seconds(letter.date)), ("uid", .string(letter.uid)), ("author", .string(letter.author)),
                    ("n", .number("\(letter.number)")), ("code", .string(letter.code.rawValue)),
                    ("reason", letter.reason.map(JSON.string)),
                ])
            }
            return .success
        }
        var table = Table("TIME", "UID", "AUTHOR", "N", "CODE", "REASON")
        for letter in letters {
            table.add(
                Output.time(letter.date), letter.uid, letter.author, "\(letter.number)", letter.code.rawValue,
                letter.reason)
        }
        table.show(nothing: "no dead letters")
        if cursor != nil { Output.remark("… more; see --limit") }
        return .success
    }
}
