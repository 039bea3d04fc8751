/// `peal completions`.
enum CompletionsCommand {
    static let command = Command(
        name: "completions", summary: "print the script with which a shell completes peal's words",
        discussion: """
            Commands, options, what an option takes, files and folders. The script asks this program for the words, which uses no network and
            no inbox, so it stays right after an upgrade. Each new shell knows it once it is in its place:

            bash  ~/.local/share/bash-completion/completions/peal (with Debian's package bash-completion),
                  or in ~/.bashrc: source <(peal completions bash)
            zsh   a file _peal in a folder of $fpath, such as ~/.zfunc; ~/.zshrc has, in this order:
                  fpath=(~/.zfunc $fpath); autoload -Uz compinit; compinit
            fish  ~/.config/fish/completions/peal.fish
            """,
        operands: [
            Operand(
                name: "SHELL",
                help: "bash, zsh or fish; or 'words', which the scripts use: what can stand for the last WORD",
                values: ["bash", "zsh", "fish", "words"]),
            Operand(
                name: "WORD", help: "behind `words --`: what has been typed behind `peal`", optional: true,
                repeats: true),
        ],
        examples: [
            "mkdir -p ~/.local/share/bash-completion/completions",
            "peal completions bash > ~/.local/share/bash-completion/completions/peal",
            "peal completions zsh > ~/.zfunc/_peal",
            "peal completions fish > ~/.config/fish/completions/peal.fish",
        ], takesProfile: false, run: { arguments in try run(arguments) })

    private static func run(_ arguments: Arguments) throws(CommandError) -> ExitCode {
        let shell = arguments.operands[0]
        if let script = CompletionScript.scripts[shell] {
            guard arguments.operands.count == 1 else {
                throw .usage("'\(arguments.operands[1])' is one word too many.")
            }
            Output.text(script)
        } else {
            guard shell == "words" else { throw .usage("'\(shell)' is none of bash, zsh, fish.") }
            Output.text(Completion(Array(arguments.operands.dropFirst()), root: RootCommand.command).text)
        }
        return .success
    }
}
