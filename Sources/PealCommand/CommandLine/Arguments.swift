/// A parsed command line: the values of options and operands of one command.
struct Arguments: Sendable {
    /// The words of the command, such as `["peal", "mark", "read"]`.
    let path: [String]
    /// What stands after the options.
    let operands: [String]
    private var values: [String: [String]] = [:]
    /// Switches that the environment turned off.
    private var off: Set<String> = []

    /// Whether a switch was given.
    func has(_ name: String) -> Bool { values[name] != nil }

    /// Whether a switch was turned off, which no file turns on again.
    func isOff(_ name: String) -> Bool { off.contains(name) }

    /// Takes a value that the environment or a file has.
    ///
    /// - Parameter source: names the place, for whoever wrote it.
    /// - Throws: ``CommandError`` for a switch whose value is neither on nor off.
    mutating func set(_ option: Option, _ value: String, from source: String) throws(CommandError) {
        guard option.value == nil else {
            values[option.name, default: []].append(value)
            return
        }
        switch value.lowercased() {
        case let word where ConfigurationFile.switchedOn.contains(word): values[option.name] = [""]
        case let word where ConfigurationFile.switchedOff.contains(word): off.insert(option.name)
        default: throw .usage("\(source) is a switch: 'true' or 'false'.")
        }
    }

    /// The last value of an option.
    func value(_ name: String) -> String? { values[name]?.last }

    /// Every value of an option, comma lists split.
    func list(_ name: String) -> [String] {
        (values[name] ?? []).flatMap { $0.split(separator: ",").map(String.init) }
    }

    /// Every value of an option as it was given.
    func all(_ name: String) -> [String] { values[name] ?? [] }

    /// The value of an option that must be there.
    func required(_ name: String, _ hint: String) throws(CommandError) -> String {
        guard let value = value(name) else {
            throw CommandError(code: .usage, message: "--\(name) is missing.", hint: hint)
        }
        return value
    }

    /// The integer value of an option within a range.
    func int(_ name: String, in range: ClosedRange<Int>, default fallback: Int) throws(CommandError) -> Int {
        guard let text = value(name) else { return fallback }
        guard let number = Int(text), range.contains(number) else {
            throw .usage("--\(name) takes a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }
}

extension Arguments {
    /// What a command line asks for.
    enum Request {
        case run(Command, Arguments)
        case help(Command, path: [String])
    }

    /// Parses a command line below a root command.
    ///
    /// - Throws: ``CommandError`` with ``ExitCode/usage`` that names the word that is wrong.
    static func parse(
        _ words: [String], root: Command, environment: [String: String]
    ) throws(CommandError) -> Request {
        var command = root
        var path = [root.name]
        var rest = words[...]
        while !command.subcommands.isEmpty {
            guard let word = rest.first, word != "--help", word != "-h" else {
                if command.run != nil, rest.isEmpty { break }
                return .help(command, path: path)
            }
            if word == "help" {
                rest = rest.dropFirst() + ["--help"]
                continue
            }
            guard let next = command.subcommands.first(where: { $0.name == word }) else {
                if command.run != nil { break }
                let known = command.subcommands.map(\.name).joined(separator: ", ")
                throw .usage("'\(word)' is no command of '\(path.joined(separator: " "))'. There are: \(known).")
            }
            command = next
            path.append(next.name)
            rest = rest.dropFirst()
        }
        let own = rest.prefix { $0 != "--" }
        if own.contains("--help") || own.contains("-h") { return .help(command, path: path) }
        return .run(command, try parse(Array(rest), of: command, path: path, environment: environment))
    }

    private static func parse(
        _ words: [String], of command: Command, path: [String], environment: [String: String]
    ) throws(CommandError) -> Arguments {
        var values: [String: [String]] = [:]
        var operands: [String] = []
        var index = 0
        var optionsEnded = false
        while index < words.count {
            let word = words[index]
            index += 1
            if optionsEnded || word == "-" || !word.hasPrefix("-") {
                operands.append(word)
            } else if word == "--" {
                optionsEnded = true
            } else {
                try parseOption(word, words, &index, of: command, into: &values)
            }
        }
        try check(operands, of: command, path: path)
        var arguments = Arguments(path: path, operands: operands, values: values)
        for option in command.options where values[option.name] == nil {
            if let name = option.environment, let value = environment[name], !value.isEmpty {
                try arguments.set(option, value, from: "$\(name)")
            }
        }
        return arguments
    }

    private static func parseOption(
        _ word: String, _ words: [String], _ index: inout Int, of command: Command,
        into values: inout [String: [String]]
    ) throws(CommandError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let option = command.options.first {
            word.hasPrefix("--") ? parts[0] == "--" + $0.name : $0.short.map { parts[0] == "-\($0)" } ?? false
        }
        guard let option else { throw .usage("'\(parts[0])' is no option of '\(command.name)'.") }
        guard values[option.name] == nil || option.repeats else { throw .usage("'\(parts[0])' was given twice.") }
        guard option.value != nil else {
            guard parts.count == 1 else { throw .usage("'\(parts[0])' takes no value.") }
            values[option.name] = [""]
            return
        }
        if parts.count == 2 {
            values[option.name, default: []].append(parts[1])
        } else {
            guard index < words.count else { throw .usage("'\(word)' needs a value: \(option.value ?? "").") }
            values[option.name, default: []].append(words[index])
            index += 1
        }
    }

    private static func check(
        _ operands: [String], of command: Command, path: [String]
    ) throws(CommandError) {
        let least = command.operands.filter { !$0.optional }.count
        if operands.count < least {
            throw .usage(
                "\(command.operands[operands.count].name) is missing. See '\(path.joined(separator: " ")) --help'.")
        }
        if operands.count > command.operands.count, command.operands.last?.repeats != true {
            if !command.subcommands.isEmpty {
                let known = command.subcommands.map(\.name).joined(separator: ", ")
                throw .usage("'\(operands[0])' is no command of '\(path.joined(separator: " "))'. There are: \(known).")
            }
            throw .usage("'\(operands[command.operands.count])' is one word too many.")
        }
    }
}
