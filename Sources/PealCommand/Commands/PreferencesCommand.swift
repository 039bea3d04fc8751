import Peal
import PealModel
import PealReplica

/// `peal preferences`.
enum PreferencesCommand {
    static let command = Command(
        name: "preferences", summary: "what a user wants to get by which channel: list, set",
        discussion: """
            Works offline: a change is durable when the command returns, and is sent when there is a hub. A change that switches a
            channel off wins over one that switches it on and had not seen it.
            """,
        subcommands: [
            Command(name: "list", summary: "list them", options: options, run: list),
            Command(
                name: "set", summary: "switch a channel of a category on or off",
                operands: [
                    Operand(name: "CATEGORY", help: "the slug of a category, as the list shows it"),
                    Operand(name: "CHANNEL", help: "the slug of a channel, such as email"),
                    Operand(name: "VALUE", help: "on or off"),
                ],
                options: options, examples: ["peal preferences set billing email off --user Mary"], run: set),
        ])

    private static let options = InboxOptions.all.filter { $0.name != "device" }

    private static func list(_ arguments: Arguments) async throws -> ExitCode {
        let inbox = try await InboxOptions.open(arguments)
        try await InboxOptions.settle(inbox, arguments)
        let preferences = try await inbox.preferences()
        await inbox.close()
        for preference in preferences { Output.line(arguments.has("json") ? preference.json : preference.row) }
        if preferences.isEmpty, !arguments.has("json") {
            Output.remark("no preferences: the project has no catalogue, or this replica has not got it yet")
        }
        return .success
    }

    private static func set(_ arguments: Arguments) async throws -> ExitCode {
        let words = arguments.operands
        guard let enabled = ["on": true, "off": false][words[2]] else {
            throw CommandError.usage("'\(Output.safe(words[2]))' is neither on nor off.")
        }
        let inbox = try await InboxOptions.open(arguments)
        try await MarkCommand.act(inbox, arguments) {
            .preference(category: words[0], channel: words[1], enabled: enabled)
        }
        await inbox.close()
        return .success
    }
}

extension Preference {
    /// One JSON line.
    var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("category", key.category)
        writer.member("category_label", categoryLabel)
        writer.member("channel", key.channel)
        writer.member("channel_label", channelLabel)
        writer.member("enabled", enabled)
        writer.member("required", required)
        writer.member("chosen", chosen)
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// One row of a table.
    var row: String {
        let why = required ? "required" : chosen ? "chosen" : "default"
        let label = categoryLabel.map { Output.safe($0) } ?? ""
        return Output.fit(enabled ? "on" : "off", 4) + Output.fit(Output.safe(key.category), 20) + " "
            + Output.fit(Output.safe(key.channel), 16) + " " + Output.fit(why, 9) + label
    }
}
