import Foundation
import Peal
import PealModel
import PealReplica

/// `peal inbox` on a terminal.
extension InboxCommand {
    /// Whether somebody sits in front of it who did not ask for a table.
    static func wantsViewer(_ arguments: Arguments, environment: [String: String]) -> Bool {
        guard isatty(0) == 1, isatty(1) == 1 else { return false }
        guard !["plain", "json", "watch", "limit"].contains(where: arguments.has) else { return false }
        let terminal = environment["TERM"] ?? ""
        return !terminal.isEmpty && terminal != "dumb"
    }

    /// Runs the viewer; nil where the terminal cannot show it.
    static func view(_ arguments: Arguments, environment: [String: String]) async throws -> ExitCode? {
        let query = try query(arguments)
        let client = try InboxOptions.client(arguments, log: { _ in })
        let inboxes = try inboxes(arguments, client)
        let isOffline = arguments.has("offline")
        let model = ViewerModel(
            rows: 24, columns: 80, names: inboxes.map(\.name), query: query, isOffline: isOffline)
        let mailbox = try ViewerMailbox()
        let opened = inboxes.enumerated().map { index, inbox in
            ViewerInbox(tab: index, mailbox: mailbox, isConnecting: !isOffline, open: inbox.open)
        }
        let end = await Viewer.run(model, mailbox, opened, hasColours: Output.hasColours(1))
        await withTaskGroup(of: Void.self) { group in
            for inbox in opened { group.addTask { await inbox.end() } }
        }
        switch end {
        case .quit: return .success
        case .signal: return .interrupted
        case .noTerminal:
            Output.remark("The terminal '\(environment["TERM"] ?? "")' cannot show the viewer; this is the table.")
            return nil
        }
    }

    private struct Named {
        var name: String
        var open: @Sendable () async throws -> Inbox
    }

    /// Users in the order in which they were given, and the device's own inbox.
    private static func inboxes(_ arguments: Arguments, _ client: PealClient) throws -> [Named] {
        let users = arguments.all("user")
        let codes = arguments.all("hmac")
        let email = arguments.value("email")
        guard codes.isEmpty || codes.count == max(1, users.count) else {
            throw CommandError.usage("Give --hmac once for each --user, in the same order.")
        }
        var inboxes: [Named] = []
        if users.count == 1 || (users.isEmpty && email != nil) {
            // One person may have both names.
            let user = users.first
            inboxes.append(
                Named(name: user ?? email ?? "") {
                    try await client.user(externalID: user, email: email, hmac: codes.first)
                })
        } else {
            for (index, user) in users.enumerated() {
                let code = codes.isEmpty ? nil : codes[index]
                inboxes.append(Named(name: user) { try await client.user(externalID: user, hmac: code) })
            }
            if let email { inboxes.append(Named(name: email) { try await client.user(email: email) }) }
        }
        if arguments.has("device") { inboxes.append(Named(name: "this device") { try await client.device() }) }
        guard !inboxes.isEmpty else { throw InboxOptions.nobody }
        guard inboxes.count <= 9 else { throw CommandError.usage("At most nine inboxes are shown at once.") }
        return inboxes
    }
}
