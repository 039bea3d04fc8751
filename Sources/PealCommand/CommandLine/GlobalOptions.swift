/// The options of every command. They are the root's in the table of commands, so that help, completions and man pages have them.
enum GlobalOptions {
    static let all: [Option] = [
        Option(
            name: "profile", value: "NAME", help: "a section of the configuration file; see `peal config`",
            environment: "PEAL_PROFILE", isConfigurable: false),
        Option(
            name: "color", value: "WHEN",
            help:
                "auto, always or never (auto: on a terminal, where NO_COLOR, CLICOLOR and TERM=dumb do not forbid it)",
            values: ["auto", "always", "never"]),
        Option(name: "quiet", short: "q", value: nil, help: "say only results and errors"),
        Option(
            name: "verbose", short: "v", value: nil,
            help: "say on standard error what is asked of the hub and of files, never what is in it"),
    ]
}
