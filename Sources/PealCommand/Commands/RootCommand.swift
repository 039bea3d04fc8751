/// The table of all commands: parsing, help, completions and man pages are made of it.
enum RootCommand {
    static let command = Command(
        name: "peal", summary: "an offline-first notification inbox: hub, viewer, live tail, inspector",
        discussion: """
            exit codes: 0 done, 1 failed, 2 the command line is wrong, 3 the hub cannot be reached and is needed,
            4 the hub refused, 5 a file is damaged or of another kind, 130 interrupted
            """,
        options: GlobalOptions.all,
        subcommands: [
            HubCommand.command, ProjectCommand.command, PublishCommand.command, InboxCommand.command,
            TailCommand.command,
            MarkCommand.command,
            InterestsCommand.command, PreferencesCommand.command, DevicesCommand.command, UsersCommand.command,
            OutboxCommand.command, ExplainCommand.command,
            InspectCommand.command, ConfigCommand.command, DoctorCommand.command, CompletionsCommand.command,
            ManCommand.command,
        ])

    /// The words of a command line that lead to a command, wherever options stand.
    static func path(of words: [String]) -> [String] {
        var path = [command.name]
        var place = command
        for word in words {
            guard
                let next = place.subcommands.first(where: { $0.name == word || $0.aliases.contains(word) })
            else { continue }
            path.append(next.name)
            place = next
        }
        return path
    }
}
