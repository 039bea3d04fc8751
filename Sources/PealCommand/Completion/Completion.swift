/// What can stand where somebody is typing, out of the same table as parsing and help.
struct Completion: Equatable {
    /// A word, and what it is.
    struct Candidate: Equatable {
        var word: String
        var help: String
    }

    /// Words that begin as what is typed does.
    var candidates: [Candidate] = []
    /// Whether names of files or folders fit too; the shell knows them.
    var kind = ValueKind.text

    /// - Parameters:
    ///   - words: the words behind `peal`, up to where somebody is typing; the last one is what is typed so far, which may be nothing.
    ///   - root: the table.
    init(_ words: [String], root: Command) {
        var place = Place(command: root, root: root)
        for word in words.dropLast() { place.pass(word) }
        let typed = words.last ?? ""
        if let option = place.open {
            offer(option.values, option.kind, typed)
        } else if !place.hasEnded, typed.hasPrefix("--"), let equals = typed.firstIndex(of: "=") {
            let name = typed[..<equals].dropFirst(2)
            guard let option = place.options.first(where: { $0.name == name }), option.value != nil else { return }
            offer(option.values.map { "--\(name)=\($0)" }, option.kind, typed)
        } else if !place.hasEnded, typed.hasPrefix("-") {
            offer(place)
            candidates.removeAll { !$0.word.hasPrefix(typed) }
        } else {
            if place.operands == 0, !place.hasEnded {
                candidates = place.command.subcommands.map { Candidate(word: $0.name, help: $0.summary) }
            }
            if let operand = place.operand {
                offer(operand.values, operand.kind, typed, operand.help)
            }
            candidates.removeAll { !$0.word.hasPrefix(typed) }
        }
    }

    private mutating func offer(_ values: [String], _ kind: ValueKind, _ typed: String, _ help: String = "") {
        candidates += values.filter { $0.hasPrefix(typed) }.map { Candidate(word: $0, help: help) }
        self.kind = kind
    }

    private mutating func offer(_ place: Place) {
        let open = place.options.filter { $0.repeats || !place.given.contains($0.name) }
        candidates = open.map { Candidate(word: "--" + $0.name, help: $0.help) }
        candidates.append(Candidate(word: "--help", help: "what it does, and its options"))
    }

    /// As a shell's script reads it: a line that says what else fits, then a candidate a line, a tab, and what it is.
    var text: String {
        let other =
            switch kind {
            case .text: ":none"
            case .file: ":file"
            case .directory: ":directory"
            }
        return ([other] + candidates.map { "\($0.word)\t\($0.help)" }).map { $0 + "\n" }.joined()
    }

    /// How far the words have led.
    private struct Place {
        var command: Command
        let root: Command
        /// An option that waits for its value.
        var open: Option?
        var given: Set<String> = []
        var operands = 0
        /// `--` was there.
        var hasEnded = false

        var options: [Option] {
            let own = command.name == root.name ? [] : command.options
            let names = Set(own.map(\.name))
            return own + root.options.filter { !names.contains($0.name) }
        }

        /// The operand that comes next.
        var operand: Operand? {
            if operands < command.operands.count { return command.operands[operands] }
            return command.operands.last.flatMap { $0.repeats ? $0 : nil }
        }

        mutating func pass(_ word: String) {
            if open != nil {
                open = nil
            } else if hasEnded {
                operands += 1
            } else if word == "--" {
                hasEnded = true
            } else if word.hasPrefix("-"), word != "-" {
                let name = word.prefix { $0 != "=" }
                let option = options.first { "--" + $0.name == name || $0.short.map { "-\($0)" == name } ?? false }
                guard let option else { return }
                given.insert(option.name)
                if option.value != nil, !word.contains("=") { open = option }
            } else if operands == 0, word == "help", !command.subcommands.isEmpty {
                return
            } else if operands == 0,
                let next = command.subcommands.first(where: { $0.name == word || $0.aliases.contains(word) })
            {
                command = next
            } else {
                operands += 1
            }
        }
    }
}
