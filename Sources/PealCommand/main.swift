import Foundation
import Peal
import PealHub
import PealModel
import PealReplica

let root = RootCommand.command

/// The exit code and the sentence of an error.
func explain(_ error: any Error) -> CommandError {
    switch error {
    case let error as CommandError: return error
    case let error as PealError:
        let code: ExitCode =
            switch error.code {
            case .unreachable, .notAHub: .offline
            case .refused: .refused
            case .file: .badFile
            case .invalid, .badURL: .usage
            default: .failure
            }
        var told = CommandError(code: code, message: error.message, hint: hint(error))
        if told.hint == nil, [404, 410].contains(error.status) {
            told.hint = "Check the id or name that was given, and --key: each project has its own."
        }
        return told
    case let error as ReplicaError: return CommandError(code: .badFile, message: error.message)
    default: return CommandError(code: .failure, message: "\(error)")
    }
}

/// What to do about it, where the sentence does not say it.
func hint(_ error: PealError) -> String? {
    switch error.code {
    case .unreachable, .notAHub:
        return
            "Does a hub run there? `peal hub` starts one, --hub or PEAL_HUB names another, and `peal doctor` looks at the way to it."
    case .refused where error.status == 401:
        return
            "Check --key, --instance, --secret and --hmac: `peal doctor` tries them, `peal projects list` shows a hub's keys."
    case .file where error.file == .otherIdentity:
        return
            "Inboxes of several projects want a directory each: --directory DIR, or in a profile `peal config set directory DIR`. "
            + "Where this is the same project and its key was replaced, give --former-key with the old one."
    default: return nil
    }
}

#if PlantedBugs
    // Before any other thread is made.
    Planted.bug = ProcessInfo.processInfo.environment["PEAL_PLANTED_BUG"].flatMap { PlantedBug(rawValue: $0) }
#endif
let words = Array(CommandLine.arguments.dropFirst())
if words == ["--version"] {
    Output.line("peal \(pealVersion)")
    exit(0)
}
do {
    switch try Arguments.parse(words, root: root, environment: ProcessInfo.processInfo.environment) {
    case .help(let command, let path):
        Output.text(Help.text(command, path: path, everywhere: root.options))
        exit(words.isEmpty ? ExitCode.usage.rawValue : ExitCode.success.rawValue)
    case .run(let command, let arguments):
        guard let run = command.run else { fatalError("a command without subcommands does something") }
        let environment = ProcessInfo.processInfo.environment
        let arguments =
            command.takesProfile
            ? try Profiles.apply(to: arguments, of: command, root: root, environment: environment) : arguments
        Output.configure(arguments)
        exit(try await run(arguments).rawValue)
    }
} catch {
    let problem = explain(error).advised(RootCommand.path(of: words))
    Output.note("\(Output.paint("peal:", .bad, on: 2)) \(problem)")
    exit(problem.code.rawValue)
}
