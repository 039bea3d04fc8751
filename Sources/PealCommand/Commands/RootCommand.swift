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
}
