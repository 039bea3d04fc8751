/// A manual page of a command, in mdoc(7), made from the same table as `--help`.
struct ManPage {
    /// The page's name without its section: `peal-inspect-items`.
    let name: String
    /// What `man` reads.
    let text: String

    /// When the table of commands changed last.
    private static let date = "December 1, 2026"

    /// The pages of a command and of all below it.
    static func all(_ command: Command, path: [String] = [], root: Command) -> [ManPage] {
        let own = path + [command.name]
        return [ManPage(command, path: own, root: root)]
            + command.subcommands.flatMap { all($0, path: own, root: root) }
    }

    private init(_ command: Command, path: [String], root: Command) {
        name = path.joined(separator: "-")
        var page = Roff()
        let isRoot = path.count == 1
        page.macro("Dd", Self.date)
        page.macro("Dt", name.uppercased() + " 1")
        page.macro("Os")
        page.macro("Sh", "NAME")
        page.macro("Nm", name)
        page.macro("Nd", Roff.text(command.summary))
        Self.synopsis(command, path, &page)
        page.macro("Sh", "DESCRIPTION")
        page.sentences(command.discussion.isEmpty ? command.summary.capitalizedFirst + "." : command.discussion)
        if !command.operands.isEmpty {
            page.paragraph("The operands:")
            page.list(command.operands.map { ("Ar \(Roff.word($0.name))", Self.explanation($0.help, $0.values)) })
        }
        if !command.subcommands.isEmpty {
            page.macro("Sh", "COMMANDS")
            page.list(command.subcommands.map { ("Cm \(Roff.word($0.name))", $0.summary + ".") })
            page.macro("Pp")
            page.line("Each has a page of its own, and")
            page.macro("Fl", "\\-help .")
        }
        Self.options(isRoot ? [] : command.options, isRoot ? root.options : [], &page)
        let variables = (isRoot ? root.options : command.options).filter { $0.environment != nil }
        if !variables.isEmpty || isRoot {
            page.macro("Sh", "ENVIRONMENT")
            page.line("Where an option is not given:")
            page.list(
                variables.map { ("Ev \($0.environment ?? "")", "for --\($0.name): \($0.help).") }
                    + (isRoot ? Self.environment : []))
        }
        if isRoot {
            page.macro("Sh", "FILES")
            page.list(Self.files.map { ("Pa \(Roff.word($0.0))", $0.1) })
        }
        Self.exitStatus(&page)
        if !command.examples.isEmpty {
            page.macro("Sh", "EXAMPLES")
            page.display(command.examples)
        }
        Self.seeAlso(command, path, root, &page)
        text = page.text
    }

    // MARK: Sections

    private static func synopsis(_ command: Command, _ path: [String], _ page: inout Roff) {
        page.macro("Sh", "SYNOPSIS")
        page.macro("Nm", path.joined(separator: " "))
        if !command.subcommands.isEmpty { page.macro(command.run == nil ? "Ar" : "Op Ar", "COMMAND") }
        page.macro("Op Ar", "OPTIONS")
        for operand in command.operands {
            let word = Roff.word(operand.name) + (operand.repeats ? " ..." : "")
            page.macro(operand.optional ? "Op Ar" : "Ar", word)
        }
    }

    private static func options(_ own: [Option], _ everywhere: [Option], _ page: inout Roff) {
        page.macro("Sh", "OPTIONS")
        page.list(
            (own + everywhere).map { option in
                var flag = option.short.map { "Fl \($0) , " } ?? ""
                flag += "Fl \\-" + Roff.word(option.name)
                if let value = option.value { flag += " Ar " + Roff.word(value) }
                var help = option.help + (option.repeats ? "; may be repeated" : "")
                if let name = option.environment { help += "; $\(name) gives it too" }
                return (flag, explanation(help, option.values))
            })
        if everywhere.isEmpty {
            if !own.isEmpty { page.macro("Pp") }
            page.line("Options of every command are in")
            page.macro("Xr", "peal 1 .")
        } else {
            page.macro("Pp")
            page.line("These are options of every command, and may stand before its word.")
        }
    }

    private static func explanation(_ help: String, _ values: [String]) -> String {
        let missing = values.filter { !help.contains($0) }
        return help.capitalizedFirst + (missing.isEmpty ? "" : "; one of " + values.joined(separator: ", ")) + "."
    }

    private static let environment = [
        ("Ev PEAL_CONFIG", "The configuration file."),
        ("Ev NO_COLOR", "Where it is set, nothing is coloured."),
        ("Ev TZ", "The time zone in which times are shown."),
        ("Ev http_proxy , https_proxy , no_proxy", "A proxy before the hub, where --proxy is not given."),
    ]

    private static let files = [
        ("~/.config/peal/config", "Profiles: options that are typed once; `peal config` shows and changes it."),
        ("~/.local/share/peal", "The replicas of this person's inboxes; --directory is another place."),
        ("./hub/hub.sqlite", "A hub's log; `peal hub --directory` is another place."),
    ]

    /// What every command ends with.
    static let statuses: [(ExitCode, String)] = [
        (.success, "It is done."), (.failure, "It failed; standard error says why and what to do."),
        (.usage, "The command line is wrong."), (.offline, "The hub cannot be reached and is needed."),
        (.refused, "The hub refused."), (.badFile, "A file is damaged or of another kind."),
        (.interrupted, "A signal ended it."),
    ]

    private static func exitStatus(_ page: inout Roff) {
        page.macro("Sh", "EXIT STATUS")
        page.list(statuses.map { ("Er \($0.0.rawValue)", $0.1) })
    }

    private static func seeAlso(_ command: Command, _ path: [String], _ root: Command, _ page: inout Roff) {
        var others: [String] = []
        if path.count > 1 { others.append(path.dropLast().joined(separator: "-")) }
        others += command.subcommands.map { (path + [$0.name]).joined(separator: "-") }
        if path.count > 2 { others.append(root.name) }
        page.macro("Sh", "SEE ALSO")
        let sorted = Set(others).sorted()
        for other in sorted { page.macro("Xr", "\(other) 1" + (other == sorted.last ? "" : " ,")) }
    }
}

/// Text for roff, with what it would obey made plain.
private struct Roff {
    private(set) var text = ""

    mutating func macro(_ name: String, _ rest: String = "") {
        text += rest.isEmpty ? ".\(name)\n" : ".\(name) \(rest)\n"
    }

    /// A line of text.
    mutating func line(_ words: String) {
        let plain = Self.text(words)
        text += (plain.hasPrefix(".") || plain.hasPrefix("'") ? "\\&" : "") + plain + "\n"
    }

    mutating func paragraph(_ words: String) {
        macro("Pp")
        line(words)
    }

    /// Paragraphs of a command's discussion: each sentence begins a line, and what is laid out in columns stays as it is.
    mutating func sentences(_ words: String) {
        var isFirst = true
        for part in words.split(separator: "\n\n") {
            let lines = part.split(separator: "\n").map(String.init)
            if lines.contains(where: { $0.hasPrefix(" ") || $0.dropFirst().contains("  ") }) {
                display(lines)
                isFirst = true
                continue
            }
            if !isFirst { macro("Pp") }
            isFirst = false
            flow(lines.joined(separator: " "))
        }
    }

    /// Sentences, in lines of at most 78 characters.
    private mutating func flow(_ words: String) {
        var line = ""
        for word in words.split(separator: " ") {
            if !line.isEmpty, Self.text(line + word).utf8.count > 76 {
                self.line(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
            if let last = word.last, ".?!".contains(last), word.count > 2 {
                self.line(line)
                line = ""
            }
        }
        if !line.isEmpty { self.line(line) }
    }

    mutating func list(_ rows: [(String, String)]) {
        guard !rows.isEmpty else { return }
        macro("Bl", "-tag -width Ds")
        for (head, help) in rows {
            macro("It", head)
            flow(help)
        }
        macro("El")
    }

    /// Lines as they are.
    mutating func display(_ lines: [String]) {
        macro("Bd", "-literal -offset indent")
        for line in lines { self.line(line) }
        macro("Ed")
    }

    static func text(_ words: String) -> String {
        words.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("`", with: "\\(ga").replacing(
            "'", with: "\\(aq"
        ).replacing("~", with: "\\(ti").replacing("^", with: "\\(ha")
    }

    /// A word of a macro's line.
    static func word(_ word: String) -> String { text(word).replacing(" ", with: "\\ ") }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
