/// A parsed command line: the values of options and operands of one command.
struct Arguments: Sendable {
    /// The words of the command, such as `["peal", "mark", "read"]`.
    let path: [String]
    /// What stands after the options.
    let operands: [String]
    private var values: [String: [String]]
    /// Switches that the environment turned off.
    private var off: Set<String> = []
    /// Where the environment or a file has a value, for whoever wrote it.
    private var sources: [String: String] = [:]

    init(path: [String], operands: [String], values: [String: [String]] = [:]) {
        self.path = path
        self.operands = operands
        self.values = values
    }

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
            try Self.check(value, of: option, from: source)
            values[option.name, default: []].append(value)
            sources[option.name] = source
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

    /// A secret: the value of an option, or the first line of the file that the option of its name and `-file` gives.
    ///
    /// - Throws: ``CommandError``: both were given, or the file cannot be read.
    func secret(_ name: String) throws(CommandError) -> String? {
        guard let path = value(name + "-file") else { return value(name) }
        guard value(name) == nil else { throw .usage("--\(name) and --\(name)-file exclude each other.") }
        return try SecretFile.read(path)
    }

    /// The same where it must be there.
    func requiredSecret(_ name: String, _ hint: String) throws(CommandError) -> String {
        if let secret = try secret(name) { return secret }
        throw CommandError(code: .usage, message: "--\(name) is missing.", hint: hint)
    }

    /// The integer value of an option within a range.
    func int(_ name: String, in range: ClosedRange<Int>, default fallback: Int) throws(CommandError) -> Int {
        guard let text = value(name) else { return fallback }
        guard let number = Int(text), range.contains(number) else {
            let place = sources[name] ?? "--\(name)"
            throw .usage("\(place) takes a whole number from \(range.lowerBound) to \(range.upperBound).")
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

    /// Parses a command line below a root command, whose options are every command's: they may stand before the command's word too.
    ///
    /// - Throws: ``CommandError`` with ``ExitCode/usage`` that names the word that is wrong.
    static func parse(
        _ words: [String], root: Command, environment: [String: String]
    ) throws(CommandError) -> Request {
        var command = root
        var path = [root.name]
        var rest = words[...]
        var first: [String] = []
        while !command.subcommands.isEmpty {
            if let count = leading(rest, root.options) {
                first += rest.prefix(count)
                rest = rest.dropFirst(count)
                continue
            }
            guard let word = rest.first, word != "--help", word != "-h" else {
                if command.run != nil, rest.isEmpty { break }
                return .help(command, path: path)
            }
            if word == "help" {
                rest = rest.dropFirst() + ["--help"]
                continue
            }
            guard let next = command.subcommands.first(where: { $0.name == word || $0.aliases.contains(word) }) else {
                if command.run != nil { break }
                if word.hasPrefix("-") { throw .usage("'\(word)' is no option of '\(path.joined(separator: " "))'.") }
                let known = command.subcommands.map(\.name).joined(separator: ", ")
                throw .usage("'\(word)' is no command of '\(path.joined(separator: " "))'. There are: \(known).")
            }
            command = next
            path.append(next.name)
            rest = rest.dropFirst()
        }
        let own = rest.prefix { $0 != "--" }
        if own.contains("--help") || own.contains("-h") { return .help(command, path: path) }
        // The command's own option wins over one of every command.
        let names = Set(command.options.map(\.name))
        command.options += root.options.filter { !names.contains($0.name) }
        return .run(command, try parse(first + rest, of: command, path: path, environment: environment))
    }

    /// How many words an option at the front takes; nil where none of these is there.
    private static func leading(_ words: ArraySlice<String>, _ options: [Option]) -> Int? {
        guard let word = words.first, word.hasPrefix("-") else { return nil }
        guard let option = option(of: word, options) else { return nil }
        return option.value == nil || word.contains("=") ? 1 : min(2, words.count)
    }

    private static func option(of word: String, _ options: [Option]) -> Option? {
        let name = word.prefix { $0 != "=" }
        return options.first { option in
            word.hasPrefix("--") ? name == "--" + option.name : option.short.map { name == "-\($0)" } ?? false
        }
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
            // A file of the command line counts more than a variable.
            if values[option.name + "-file"] != nil { continue }
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
        guard let option = option(of: word, command.options) else {
            throw .usage("'\(parts[0])' is no option of '\(command.name)'.")
        }
        guard values[option.name] == nil || option.repeats else { throw .usage("'\(parts[0])' was given twice.") }
        guard option.value != nil else {
            guard parts.count == 1 else { throw .usage("'\(parts[0])' takes no value.") }
            values[option.name] = [""]
            return
        }
        let value: String
        if parts.count == 2 {
            value = parts[1]
        } else {
            guard index < words.count else { throw .usage("'\(word)' needs a value: \(option.value ?? "").") }
            value = words[index]
            index += 1
        }
        try check(value, of: option, from: "--\(option.name)")
        values[option.name, default: []].append(value)
    }

    private static func check(_ value: String, of option: Option, from source: String) throws(CommandError) {
        guard option.values.isEmpty || option.values.contains(value) else {
            throw .usage("\(source) takes one of \(option.values.joined(separator: ", ")).")
        }
    }

    private static func check(
        _ operands: [String], of command: Command, path: [String]
    ) throws(CommandError) {
        let least = command.operands.filter { !$0.optional }.count
        if operands.count < least {
            throw .usage("\(command.operands[operands.count].name) is missing.")
        }
        if operands.count > command.operands.count, command.operands.last?.repeats != true {
            if let word = operands.first(where: { word in command.subcommands.contains { $0.name == word } }) {
                let whole = (path + [word]).joined(separator: " ")
                throw .usage("'\(word)' stands before what it is about: \(whole) …")
            }
            if !command.subcommands.isEmpty {
                let known = command.subcommands.map(\.name).joined(separator: ", ")
                throw .usage("'\(operands[0])' is no command of '\(path.joined(separator: " "))'. There are: \(known).")
            }
            throw .usage("'\(operands[command.operands.count])' is one word too many.")
        }
    }
}
