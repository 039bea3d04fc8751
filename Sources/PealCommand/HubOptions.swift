import Foundation
import Peal
import PealModel

/// The options of commands that ask a hub by HTTP, and the calls that they make.
enum HubOptions {
    static let standard = "http://127.0.0.1:8080"

    static let hub = Option(
        name: "hub", value: "URL", help: "the hub's publishing side (\(standard))", environment: "PEAL_HUB")
    static let instance = Option(
        name: "instance", value: "ID", help: "the project's instance id", environment: "PEAL_INSTANCE")
    static let key = Option(
        name: "key", value: "KEY", help: "the project's API key, or its instance id", environment: "PEAL_KEY")
    static let secret = Option(
        name: "secret", value: "SECRET", help: "the project's secret; better in the environment, or in a file",
        environment: "PEAL_SECRET")
    static let secretFile = Option(
        name: "secret-file", value: "FILE", help: "a file whose first line is the project's secret",
        environment: "PEAL_SECRET_FILE", kind: .file)
    static let authority = Option(
        name: "ca", value: "FILE", help: "certificate authorities (PEM) in place of the system's",
        environment: "PEAL_CA", kind: .file)
    static let timeout = Option(name: "timeout", value: "SECONDS", help: "how long to wait for an answer (30)")
    static let json = Option(name: "json", value: nil, help: "JSON, one object a line")

    /// What every call needs.
    static let connection = [hub, authority, InboxOptions.proxy, timeout]
    /// What a project's back end shows.
    static let project = [key, instance, secret, secretFile]

    /// Asked before something is gone for good.
    static let yes = Option(name: "yes", short: "y", value: nil, help: "do not ask", isConfigurable: false)

    private static let hint = "`peal hub` printed it at its first start; `peal config set` keeps it."
    private static let keyHint = "Give --key or --instance, or set PEAL_KEY. "

    /// A project's back end, by the options.
    ///
    /// - Throws: ``CommandError`` that names what is missing.
    static func backEnd(_ arguments: Arguments) throws(CommandError) -> HubCredentials {
        guard let key = arguments.value("key") ?? arguments.value("instance") else {
            throw CommandError(code: .usage, message: "--key is missing.", hint: keyHint + hint)
        }
        let secret = try arguments.requiredSecret("secret", hint)
        return .project(instance: arguments.value("instance") ?? key, key: key, secret: secret)
    }

    /// Calls to the hub of the options.
    static func api(_ arguments: Arguments, _ credentials: HubCredentials) throws -> HubAPI {
        let url = arguments.value("hub") ?? standard
        let hub = try HubAddress(url, proxy: InboxOptions.proxy(arguments, hub: url))
        var api = HubAPI(hub: hub, credentials: credentials, authorityPath: arguments.value("ca"))
        api.timeoutSeconds = try arguments.int("timeout", in: 1...3_600, default: 30)
        api.told = { Output.trace($0) }
        return api
    }

    /// Asks before something is gone, unless `--yes` was given.
    ///
    /// - Parameter what: the sentence, without its end.
    /// - Throws: ``CommandError``: standard input is no terminal, or the answer was no.
    static func confirm(_ what: String, _ arguments: Arguments) throws(CommandError) {
        if arguments.has("yes") { return }
        guard isatty(0) == 1 else {
            throw CommandError(
                code: .usage, message: "\(what), and is asked before; standard input is no terminal.",
                hint: "Give --yes.")
        }
        Output.note("\(what). Go on? [y/N]")
        guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else {
            throw CommandError(code: .failure, message: "Nothing was done.")
        }
    }
}

/// Rows in columns as wide as their widest cell on a terminal. Cells are made safe: somebody else wrote them.
struct Table {
    private let head: [String]
    private var rows: [[String]] = []

    init(_ head: String...) { self.head = head }

    var isEmpty: Bool { rows.isEmpty }

    mutating func add(_ cells: String?...) { rows.append(cells.map { $0.map { TerminalText.line($0) } ?? "-" }) }

    /// The lines, the head first.
    var lines: [String] {
        let all = [head] + rows
        let widths = head.indices.map { column in all.map { TerminalText.width($0[column]) }.max() ?? 0 }
        return all.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                // Nothing stands behind the last one.
                line += column == row.count - 1 ? cell : TerminalText.fit(cell, widths[column]) + "  "
            }
            return line
        }
    }

    /// Writes it; `nothing` to standard error where it has no rows.
    func show(nothing: String) {
        if isEmpty { return Output.remark(nothing) }
        for (index, line) in lines.enumerated() { Output.line(index == 0 ? Output.paint(line, .bold) : line) }
    }
}
