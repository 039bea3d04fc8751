import Foundation
import Peal
import PealModel

/// `peal devices`.
enum DevicesCommand {
    static let command = Command(
        name: "devices", aliases: ["device"], summary: "a user's devices as the hub knows them: list, show, revoke",
        discussion: """
            A device is a copy of the user's inbox (replica), or a device with interests or a push token of its own (device). The hub is
            asked: with what proves the user (--hmac), or on the operator's own machines with the project's secret (--secret), which also
            shows what only a back end may see.
            """,
        subcommands: [
            Command(name: "list", summary: "list them", options: options, run: list),
            Command(
                name: "show", summary: "show all that the hub knows of one", operands: [device], options: options,
                run: show),
            Command(
                name: "revoke", summary: "sign one out: its session ends and its push token goes", operands: [device],
                options: options + [HubOptions.yes], examples: ["peal devices revoke 8d1c… --user Mary"], run: revoke),
        ])

    private static let device = Operand(
        name: "ID", help: "as the list shows it, or so much of its beginning that it is the only one")

    private static let options =
        [
            Option(name: "user", value: "ID", help: "the user, by external id", environment: "PEAL_USER"),
            Option(name: "email", value: "ADDRESS", help: "the user, by email", environment: "PEAL_EMAIL"),
            Option(name: "hmac", value: "CODE", help: "what proves the user", environment: "PEAL_HMAC"),
        ] + HubOptions.project.filter { $0.name != "instance" } + HubOptions.connection + [HubOptions.json]

    /// Who is asked about, and by whom.
    private struct Asked {
        var api: HubAPI
        /// For a back end.
        var backEnd: HubAPI?
        var name: HubAPI.UserName
    }

    private static func asked(_ arguments: Arguments) throws -> Asked {
        let key = try arguments.required("key", "Give --key KEY, or set PEAL_KEY; `peal config set key` keeps it.")
        let (user, email) = (arguments.value("user"), arguments.value("email"))
        guard user != nil || email != nil else {
            throw CommandError(code: .usage, message: "Whose devices?", hint: "Give --user ID or --email ADDRESS.")
        }
        let secret = try arguments.secret("secret")
        let api = try HubOptions.api(
            arguments,
            .user(key: key, externalId: user, email: email, hmac: arguments.value("hmac"), secret: secret))
        let backEnd = try secret.map {
            try HubOptions.api(arguments, .project(instance: key, key: key, secret: $0))
        }
        return Asked(api: api, backEnd: backEnd, name: user.map { .externalId($0) } ?? .email(email ?? ""))
    }

    private static func list(_ arguments: Arguments) async throws -> ExitCode {
        let devices = try await asked(arguments).api.ownDevices()
        if arguments.has("json") {
            for device in devices { Output.json(members(device)) }
            return .success
        }
        var table = Table("ID", "KIND", "PLATFORM", "PUSH", "LAST SEEN")
        for device in devices {
            table.add(
                device.id, word(device.kind), device.platform, device.hasPushToken ? "yes" : "no",
                Output.time(device.lastSeenDate))
        }
        table.show(nothing: "no devices")
        return .success
    }

    private static func word(_ kind: HubAPI.OwnDevice.Kind) -> String { kind == .replica ? "replica" : "device" }

    private static func members(_ device: HubAPI.OwnDevice) -> [(String, JSON?)] {
        [
            ("id", .string(device.id)), ("kind", .string(word(device.kind))),
            ("platform", device.platform.map(JSON.string) ?? .null), ("push", .bool(device.hasPushToken)),
            ("last_seen_at", .seconds(device.lastSeenDate)),
        ]
    }

    private static func find(_ arguments: Arguments, _ asked: Asked) async throws -> HubAPI.OwnDevice {
        let word = arguments.operands[0]
        let found = try await asked.api.ownDevices().filter { $0.id == word || $0.id.hasPrefix(word) }
        if let exact = found.first(where: { $0.id == word }) ?? (found.count == 1 ? found[0] : nil) { return exact }
        throw CommandError(
            code: .failure,
            message: found.isEmpty
                ? "'\(Output.safe(word))' is no device of this user."
                : "'\(Output.safe(word))' is the beginning of \(found.count) devices.",
            hint: "`peal devices list` shows them.")
    }

    private static func show(_ arguments: Arguments) async throws -> ExitCode {
        let asked = try asked(arguments)
        let device = try await find(arguments, asked)
        var known: HubAPI.Device?
        var copy: HubAPI.InboxState.Copy?
        var inbox: HubAPI.InboxState?
        if let backEnd = asked.backEnd {
            known = try await backEnd.devices(of: asked.name).first { $0.id == device.id }
            for state in try await backEnd.inboxes(of: asked.name) {
                if let found = state.replicas.first(where: { $0.id == device.id }) { (copy, inbox) = (found, state) }
                if state.id == device.id { inbox = state }
            }
        }
        if arguments.has("json") {
            Output.json(
                members(device) + [
                    ("created_at", known?.creationDate.map { .seconds($0) }), ("metadata", known?.metadata),
                    ("position", copy.map { .number("\($0.position)") }), ("acts", copy.map { .number("\($0.acts)") }),
                    ("inbox", inbox.map { .string($0.id) }),
                    ("inbox_position", inbox.map { .number("\($0.position)") }),
                ])
            return .success
        }
        var rows = [
            ("id", device.id), ("kind", word(device.kind)), ("platform", device.platform ?? "-"),
            ("push token", device.hasPushToken ? "yes" : "no"), ("last seen", Output.time(device.lastSeenDate)),
        ]
        if let date = known?.creationDate { rows.append(("made", Output.time(date))) }
        if let known { rows.append(("metadata", String(decoding: known.metadata.bytes, as: UTF8.self))) }
        if let inbox { rows.append(("inbox", "\(inbox.id), \(inbox.total) listed, \(inbox.unreadCount) unread")) }
        if let copy, let inbox {
            rows.append(("position", "\(copy.position) of \(inbox.position)"))
            rows.append(("acts", "\(copy.acts)"))
        }
        Output.rows(rows)
        return .success
    }

    private static func revoke(_ arguments: Arguments) async throws -> ExitCode {
        let asked = try asked(arguments)
        let device = try await find(arguments, asked)
        try HubOptions.confirm("This signs the \(word(device.kind)) \(Output.safe(device.id)) out", arguments)
        try await asked.api.revokeOwnDevice(device.id)
        if arguments.has("json") {
            Output.json([("id", .string(device.id)), ("revoked", .bool(true))])
        } else {
            Output.line("revoked \(Output.safe(device.id))")
        }
        return .success
    }
}

extension JSON {
    /// Whole seconds since 1970.
    static func seconds(_ date: Date) -> JSON { .number("\(Int64(date.timeIntervalSince1970))") }
}

extension Output {
    /// A time in the local zone, to the minute.
    static func time(_ date: Date) -> String { time(Milliseconds(date.timeIntervalSince1970 * 1_000)) }

    /// Names and values below each other; values are made safe.
    static func rows(_ rows: [(String, String)]) {
        let width = rows.map(\.0.count).max() ?? 0
        for (name, value) in rows { line(fit(name, width) + "  " + TerminalText.line(value)) }
    }
}
