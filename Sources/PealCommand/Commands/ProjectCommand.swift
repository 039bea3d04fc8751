import Foundation
import PealHub
import PealModel

/// `peal projects`.
enum ProjectCommand {
    static let command = Command(
        name: "projects", aliases: ["project"], summary: "make, list, rotate and close the projects in a hub's file",
        discussion: """
            A project is a tenant: it sees nothing of another one. These commands change the file; a hub that runs on it notices
            within seconds, and ends the sessions of what was revoked.
            """,
        subcommands: [
            Command(
                name: "create", summary: "make a project and print its values, the secret this once",
                options: [
                    directory, Option(name: "name", value: "TEXT", help: "your word for it", isConfigurable: false),
                    Option(
                        name: "no-hmac", value: nil, help: "believe users who prove nothing; for development",
                        isConfigurable: false), json,
                ], run: create),
            Command(
                name: "list", summary: "list the projects, without secrets", options: [directory, json], run: list),
            Command(
                name: "rotate", summary: "replace key or secret; what was current stays good for a while",
                operands: [instance],
                options: [
                    directory, Option(name: "key", value: nil, help: "a new API key", isConfigurable: false),
                    Option(name: "secret", value: nil, help: "a new secret", isConfigurable: false),
                    Option(
                        name: "overlap", value: "SECONDS",
                        help: "how long the old one stays good, up to 90 days (86400)", isConfigurable: false), json,
                ], run: rotate),
            Command(
                name: "revoke", summary: "end at once what a rotation left good, or close a project for good",
                operands: [instance],
                options: [
                    directory,
                    Option(
                        name: "close", value: nil, help: "close the project: nothing opens it any more",
                        isConfigurable: false),
                    json,
                ], run: revoke),
            Command(
                name: "operator", summary: "replace the operator's token and print the new one",
                options: [directory, json],
                run: makeOperator),
        ])

    private static let instance = Operand(name: "INSTANCE", help: "the project's instance id")
    private static let directory = Option(
        name: "directory", value: "DIR", help: "where hub.sqlite lies (./hub)", environment: "PEAL_HUB_DIRECTORY",
        kind: .directory, isConfigurable: false)
    private static let json = Option(name: "json", value: nil, help: "JSON, one object a line")

    private static func open(_ arguments: Arguments, makes: Bool = false) throws(CommandError) -> ProjectFile {
        let directory = arguments.value("directory") ?? "hub"
        let path = directory + "/hub.sqlite"
        if makes {
            do {
                try FileManager.default.createDirectory(
                    atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            } catch {
                throw CommandError(code: .badFile, message: "The directory \(directory) cannot be made.")
            }
        } else if !FileManager.default.fileExists(atPath: path) {
            throw CommandError(
                code: .badFile, message: "There is no hub's file in \(directory).",
                hint: "Give --directory, or make a project with `peal projects create`.")
        }
        return try guarded(.badFile) { () throws(HubError) in try ProjectFile(databasePath: path) }
    }

    private static func guarded<R>(
        _ code: ExitCode = .failure, _ body: () throws(HubError) -> R
    ) throws(CommandError) -> R {
        do throws(HubError) {
            return try body()
        } catch {
            throw CommandError(code: code, message: "\(error.message).")
        }
    }

    private static func create(_ arguments: Arguments) async throws -> ExitCode {
        let file = try open(arguments, makes: true)
        let made = try guarded { () throws(HubError) in
            try file.create(name: arguments.value("name") ?? "", requiresHMAC: !arguments.has("no-hmac"))
        }
        show(made, withSecret: true, arguments)
        return .success
    }

    private static func list(_ arguments: Arguments) async throws -> ExitCode {
        let file = try open(arguments)
        let tenants = try guarded { () throws(HubError) in try file.list() }
        if arguments.has("json") {
            for tenant in tenants { show(tenant, withSecret: false, arguments) }
            return .success
        }
        var table = Table("INSTANCE", "NAME", "KEY", "USERS PROVE", "OLD KEY UNTIL", "OLD SECRET UNTIL", "STATE")
        for tenant in tenants {
            table.add(
                tenant.instance, tenant.name, tenant.apiKey, tenant.requiresHMAC ? "yes" : "no",
                tenant.isClosed ? nil : tenant.oldKeyUntil.map { Output.time($0) },
                tenant.isClosed ? nil : tenant.oldSecretUntil.map { Output.time($0) },
                tenant.isClosed ? "closed" : "open")
        }
        table.show(nothing: "no projects")
        return .success
    }

    private static func rotate(_ arguments: Arguments) async throws -> ExitCode {
        guard arguments.has("key") || arguments.has("secret") else {
            throw CommandError(code: .usage, message: "What?", hint: "Give --key or --secret, or both.")
        }
        let overlap = try arguments.int("overlap", in: 0...90 * 86_400, default: 86_400)
        let file = try open(arguments)
        let rotated = try guarded { () throws(HubError) in
            try file.rotate(
                arguments.operands[0], key: arguments.has("key"), secret: arguments.has("secret"),
                overlapSeconds: Int64(overlap))
        }
        show(rotated, withSecret: arguments.has("secret"), arguments)
        if arguments.has("key") {
            Output.remark(
                "Give apps the new key together with the old one as a former key: without that they do not open what they hold. "
                    + "Apps that name the project by its instance id need nothing.")
        }
        return .success
    }

    private static func revoke(_ arguments: Arguments) async throws -> ExitCode {
        let file = try open(arguments)
        let revoked = try guarded { () throws(HubError) in
            arguments.has("close")
                ? try file.close(arguments.operands[0]) : try file.revokeOld(arguments.operands[0])
        }
        show(revoked, withSecret: false, arguments)
        if !arguments.has("close") {
            Output.remark("What was replaced opens nothing any more; a running hub notices within seconds.")
        }
        return .success
    }

    private static func makeOperator(_ arguments: Arguments) async throws -> ExitCode {
        let file = try open(arguments)
        let token = try guarded { () throws(HubError) in try file.makeOperatorToken() }
        Output.line(
            arguments.has("json")
                ? String(decoding: JSON.object([("operator", .string(token))]).bytes, as: UTF8.self) : token)
        return .success
    }

    private static func show(_ tenant: ProjectFile.Tenant, withSecret: Bool, _ arguments: Arguments) {
        let ends = [("old key", tenant.oldKeyUntil), ("old secret", tenant.oldSecretUntil)]
        guard arguments.has("json") else {
            Output.line("instance  \(tenant.instance)\(tenant.isClosed ? "  (closed)" : "")")
            if !tenant.name.isEmpty { Output.line("name      \(tenant.name)") }
            Output.line("key       \(tenant.apiKey)")
            if withSecret { Output.line("secret    \(tenant.secret)") }
            if !tenant.requiresHMAC { Output.line("believes users who prove nothing") }
            for (what, until) in ends {
                guard let until, !tenant.isClosed else { continue }
                let date = Date(timeIntervalSince1970: Double(until) / 1_000)
                Output.line("\(what) good until \(date.ISO8601Format())")
            }
            return
        }
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("instance", tenant.instance)
        writer.member("name", tenant.name)
        writer.member("key", tenant.apiKey)
        if withSecret { writer.member("secret", tenant.secret) }
        writer.member("hmac_required", tenant.requiresHMAC)
        writer.member("old_key_until", tenant.oldKeyUntil)
        writer.member("old_secret_until", tenant.oldSecretUntil)
        writer.member("closed", tenant.isClosed)
        writer.endObject()
        Output.line(String(decoding: writer.bytes, as: UTF8.self))
    }
}
