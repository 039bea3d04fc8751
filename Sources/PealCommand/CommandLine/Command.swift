/// One command of `peal`, as data: the same table drives parsing, `--help`, completion and man pages.
struct Command: Sendable {
    /// The word; `peal` for the root.
    var name: String
    /// Other words for it, which help does not list.
    var aliases: [String] = []
    /// One line, without a full stop.
    var summary: String
    /// Paragraphs below the summary.
    var discussion = ""
    /// What stands after the options, such as `ITEM…`.
    var operands: [Operand] = []
    /// The options, in the order in which help shows them; those of the root are every command's, and may stand before its word.
    var options: [Option] = []
    /// Lines of an example section, without `$`.
    var examples: [String] = []
    /// Commands below this one; one of them, or `run`, does something.
    var subcommands: [Command] = []
    /// Whether what a profile says is added to its command line.
    var takesProfile = true
    /// What it does; the result is the exit code.
    var run: (@Sendable (Arguments) async throws -> ExitCode)?
}

/// One option of a command.
struct Option: Sendable {
    /// The long name, without dashes.
    var name: String
    /// The short name, without a dash.
    var short: Character?
    /// What the value stands for, in capitals; nil for a switch.
    var value: String?
    /// One line, without a full stop.
    var help: String
    /// The environment variable that gives a value where the option is absent.
    var environment: String?
    /// Whether it may be given more than once.
    var repeats = false
    /// The words that it takes; empty for any.
    var values: [String] = []
    /// What the value is.
    var kind = ValueKind.text
    /// Whether a profile may give it: not what says what is to be done, only with whom and how.
    var isConfigurable = true
}

/// What a value is, for completion.
enum ValueKind: Sendable { case text, file, directory }

/// One operand of a command.
struct Operand: Sendable {
    /// In capitals.
    var name: String
    /// One line, without a full stop.
    var help: String
    /// Whether it may be left out.
    var optional = false
    /// Whether there may be many; the last one only.
    var repeats = false
    /// The words that it takes; empty for any.
    var values: [String] = []
    /// What it is.
    var kind = ValueKind.text
}

/// What a command ends with. Documented in `peal --help`.
struct ExitCode: Equatable, Sendable {
    let rawValue: Int32

    /// All is well.
    static let success = ExitCode(rawValue: 0)
    /// It failed; standard error says why and what to do.
    static let failure = ExitCode(rawValue: 1)
    /// The command line is wrong.
    static let usage = ExitCode(rawValue: 2)
    /// The hub cannot be reached and the command needs it.
    static let offline = ExitCode(rawValue: 3)
    /// The hub refused: a wrong key, secret or proof, or something that may not be done.
    static let refused = ExitCode(rawValue: 4)
    /// A file is damaged, is no replica, or belongs to another inbox.
    static let badFile = ExitCode(rawValue: 5)
    /// Interrupted by a signal.
    static let interrupted = ExitCode(rawValue: 130)
}

/// A mistake on the command line, or a failure with its exit code and a sentence that says what to do next.
struct CommandError: Error, CustomStringConvertible {
    var code: ExitCode
    var message: String
    var hint: String?

    static func usage(_ message: String) -> CommandError { CommandError(code: .usage, message: message) }

    var description: String { hint.map { "\(message)\n\($0)" } ?? message }
}
