import Foundation
import Testing

@testable import PealCommand

/// What can stand where somebody types: out of the table, and in real shells.
@Suite(.timeLimit(.minutes(2)))
struct CompletionTests {
    private func words(_ typed: String...) -> [String] {
        Completion(typed, root: RootCommand.command).candidates.map(\.word)
    }

    private func kind(_ typed: String...) -> ValueKind { Completion(typed, root: RootCommand.command).kind }

    @Test func `a word is completed as what stands before it lets it be`() {
        #expect(words("").sorted() == RootCommand.command.subcommands.map(\.name).sorted())
        #expect(words("ins") == ["inspect"])
        #expect(words("inspect", "re") == ["redact", "repair", "retry"])
        #expect(words("help", "inspect", "re") == ["redact", "repair", "retry"])
        // Options of every command stand before it, and have values that are no command.
        #expect(words("--color", "never", "-q", "insp") == ["inspect"])
        #expect(words("--color", "") == ["auto", "always", "never"])
        #expect(words("--color=a") == ["--color=auto", "--color=always"])
        #expect(words("inspect", "export", "--format", "") == ["jsonl", "csv", "sqlite"])
        #expect(words("inbox", "--un") == ["--unread", "--unseen", "--until"])
        #expect(words("inbox", "--unread", "--unre") == [])
        // What may be given twice is offered again.
        #expect(words("inbox", "--user", "Mary", "--user") == ["--user"])
        #expect(words("inbox", "--user", "") == [])
        #expect(words("completions", "") == ["bash", "zsh", "fish", "words"])
        #expect(words("completions", "bash", "x", "").isEmpty)
        #expect(words("outbox", "re") == ["retry"])
        #expect(words("tail", "--", "--us").isEmpty)
        #expect(words("no-such-command", "").contains("inspect") == false)
        #expect(words() == words(""))
    }

    @Test func `files and folders are looked for where the table says so`() {
        #expect(kind("inspect", "items", "") == .file)
        #expect(kind("inspect", "items", "--limit", "3", "x") == .file)
        #expect(kind("inspect", "items", "--limit", "") == .text)
        #expect(kind("inspect", "diff", "a.peal", "") == .file)
        #expect(kind("hub", "--directory", "") == .directory)
        #expect(kind("hub", "--directory=x") == .directory)
        #expect(kind("man", "") == .directory)
        #expect(kind("inbox", "") == .text)
    }

    @Test func `every option with a value of a file's or a folder's name says so in the table`() {
        func check(_ command: Command, _ path: String) {
            for option in command.options where ["FILE", "PATH"].contains(option.value) {
                #expect(option.kind == .file, "\(path) --\(option.name)")
            }
            for option in command.options where ["DIR", "FOLDER"].contains(option.value) {
                #expect(option.kind == .directory, "\(path) --\(option.name)")
            }
            for operand in command.operands where ["FILE", "DIR"].contains(operand.name) {
                #expect(operand.kind != .text, "\(path) \(operand.name)")
            }
            for sub in command.subcommands { check(sub, path + " " + sub.name) }
        }
        check(RootCommand.command, "peal")
    }

    // MARK: Real shells

    /// A folder with some files, and `peal` on the path.
    private final class Bench {
        let directory: Directory

        init() throws {
            directory = try Directory()
            for name in ["phone.peal", "lap top.peal", "note.txt"] {
                _ = FileManager.default.createFile(atPath: directory.path + "/" + name, contents: nil)
            }
            try FileManager.default.createDirectory(
                atPath: directory.path + "/pages", withIntermediateDirectories: true)
            for shell in ["bash", "zsh", "fish"] {
                try Data(try Peal.run("completions", shell).output.utf8).write(
                    to: URL(fileURLWithPath: "\(directory.path)/peal.\(shell)"))
            }
        }

        var path: String { Peal.binary.deletingLastPathComponent().path + ":/usr/bin:/bin" }

        func run(_ words: [String]) throws -> Finished {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = words
            process.currentDirectoryURL = URL(fileURLWithPath: directory.path)
            process.environment = ["PATH": path, "HOME": directory.path, "LC_ALL": "C.UTF-8", "TERM": "dumb"]
            return try Peal.finish(process)
        }
    }

    /// Lines that are typed, and what each shell makes of them.
    private static let lines: [(typed: String, found: [String])] = [
        ("peal insp", ["inspect"]), ("peal inspect re", ["redact", "repair", "retry"]),
        ("peal --color ", ["always", "auto", "never"]), ("peal inbox --unre", ["--unread"]),
        ("peal inspect export --format c", ["csv"]), ("peal inspect items ph", ["phone.peal"]),
        ("peal man pa", ["pages"]),
        ("peal tail --hub http://127.0.0.1:1 --user Mary --follow-", ["--follow-reconnect"]),
    ]

    private static func has(_ program: String) -> Bool {
        ["/usr/bin/", "/bin/"].contains { FileManager.default.isExecutableFile(atPath: $0 + program) }
    }

    @Test func `bash completes commands, options, values, files and folders`() throws {
        let bench = try Bench()
        // What readline hands to the function, of a line that bash itself has cut.
        let script = """
            source ./peal.bash
            compopt() { :; }
            cut() {
                COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=() COMPREPLY=()
                local rest=$1
                while [[ $rest =~ ^([[:space:]]*)([=:]+|[^[:space:]=:]+)(.*)$ ]]; do
                    COMP_WORDS+=("${BASH_REMATCH[2]}"); rest=${BASH_REMATCH[3]}
                done
                [[ $1 == *' ' ]] && COMP_WORDS+=("")
                COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
                _peal
                printf '%s|' "${COMPREPLY[@]}"; echo
            }
            complete -p peal >/dev/null || exit 9
            while IFS= read -r line; do cut "$line"; done <<'LINES'
            \(Self.lines.map(\.typed).joined(separator: "\n"))
            peal --color=a
            peal --color=
            peal hub --directory=pa
            peal inspect items lap
            LINES
            """
        let done = try bench.run(["bash", "--norc", "-c", script])
        #expect(done.status == 0 && done.errors.isEmpty, "\(done)")
        let wanted =
            Self.lines.map(\.found) + [["always", "auto"], ["always", "auto", "never"], ["pages"], ["lap top.peal"]]
        let found = done.lines.map { $0.split(separator: "|").map(String.init).sorted() }
        #expect(found == wanted)
    }

    @Test(.enabled(if: has("fish"))) func `fish completes commands, options, values, files and folders`() throws {
        let bench = try Bench()
        for (typed, wanted) in Self.lines + [("peal --color=a", ["--color=always", "--color=auto"])] {
            let done = try bench.run(["fish", "--no-config", "-c", "source peal.fish; complete -C '\(typed)'"])
            #expect(done.status == 0 && done.errors.isEmpty, "\(done)")
            let found = done.lines.map {
                $0.split(separator: "\t")[0].trimmingCharacters(in: CharacterSet(charactersIn: "/"))
            }
            #expect(found.sorted() == wanted, "\(typed): \(done.output)")
        }
    }

    @Test(arguments: ["bash", "zsh"]) func `somebody presses Tab in a terminal`(shell: String) async throws {
        guard Self.has(shell) else { return }
        let bench = try Bench()
        let tmux = try Tmux(
            columns: 100, rows: 20,
            environment: ["PATH": bench.path, "INPUTRC": "/dev/null", "ZDOTDIR": bench.directory.path])
        try tmux.command(["cd", bench.directory.path])
        try tmux.command(shell == "bash" ? ["exec", "bash", "--norc"] : ["exec", "zsh", "-f"])
        try tmux.type(
            shell == "bash"
                ? "PS1='> '; source ./peal.bash; echo ready-$((1+1))"
                : "PS1='> '; autoload -Uz compinit; compinit -u -D; source ./peal.zsh; echo ready-$((1+1))")
        try tmux.press("Enter")
        try await tmux.wait(for: "ready-2")
        for (typed, whole) in [
            ("peal insp", "> peal inspect"), ("peal inspect red", "> peal inspect redact"),
            ("peal inspect export --form", "> peal inspect export --format"),
            ("peal inspect items pho", "> peal inspect items phone.peal"), ("peal man pag", "> peal man pages/"),
            ("peal --color=ne", "> peal --color=never"),
            (
                "peal tail --hub http://127.0.0.1:1 --follow-r",
                "> peal tail --hub http://127.0.0.1:1 --follow-reconnect"
            ),
        ] {
            try tmux.type(typed)
            try await tmux.wait("what is typed") { $0.contains("> " + typed) }
            try tmux.press("Tab")
            try await tmux.wait("'\(whole)'") { $0.contains(whole) }
            try tmux.press("C-e", "C-u")
            try await tmux.wait("an empty line") { !$0.contains(whole) }
        }
        try tmux.type("peal mark un")
        try tmux.press("Tab", "Tab")
        try await tmux.wait("both") { $0.contains("unarchive") && $0.contains("unread") }
    }

    @Test func `the scripts are printed, and help says where they go`() throws {
        let help = try Peal.run("completions", "--help")
        for place in ["bash-completion/completions/peal", "~/.zfunc", "~/.config/fish/completions/peal.fish"] {
            #expect(help.output.contains(place))
        }
        let wrong = try Peal.run("completions", "tcsh")
        #expect(wrong.status == 2 && wrong.errors.contains("bash"))
    }
}
