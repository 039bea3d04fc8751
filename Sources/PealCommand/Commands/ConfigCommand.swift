import Foundation
import PealModel

/// `peal config`.
enum ConfigCommand {
    static let command = Command(
        name: "config", summary: "the configuration file and its profiles: list, get, set, unset, use, path",
        discussion: """
            The file is $PEAL_CONFIG, else $XDG_CONFIG_HOME/peal/config, else ~/.config/peal/config: lines 'key = value', whose keys are the
            long names of options. What stands before the first section is of every profile; a section '[name]' is a profile. What
            counts, from the most to the least: the command line, the environment, the profile, the part before the first section.
            --profile NAME says which section 'get', 'set' and 'unset' are about.
            """,
        subcommands: [
            Command(
                name: "list", summary: "show the file's settings, secrets hidden; * is the profile in use",
                options: [json], takesProfile: false, run: list),
            Command(
                name: "get", summary: "print a value as a command would have it from the file; exit code 1 for none",
                operands: [key], takesProfile: false, run: get),
            Command(
                name: "set", summary: "write a value, into a section that is made where it is missing",
                operands: [
                    key,
                    Operand(
                        name: "VALUE", help: "without it, a line of standard input, so that a secret is in no history",
                        optional: true),
                ],
                examples: [
                    "peal config set hub https://hub.example.org",
                    "peal --profile shop config set secret-file ~/.config/peal/shop.secret",
                ], takesProfile: false, run: set),
            Command(name: "unset", summary: "take a value out", operands: [key], takesProfile: false, run: unset),
            Command(
                name: "use", summary: "use this profile where none is named; 'default' for none",
                operands: [Operand(name: "NAME", help: "a section of the file")],
                takesProfile: false, run: use),
            Command(name: "path", summary: "print where the file is", takesProfile: false, run: showPath),
        ])

    private static let json = Option(name: "json", value: nil, help: "JSON, one object a section")
    private static let key = Operand(name: "KEY", help: "the long name of an option, such as hub or user")

    private static var environment: [String: String] { ProcessInfo.processInfo.environment }

    private static func showPath(_ arguments: Arguments) async throws -> ExitCode {
        Output.line(Profiles.path(environment))
        return .success
    }

    // MARK: Reading

    private static func list(_ arguments: Arguments) async throws -> ExitCode {
        guard let profiles = try Profiles(environment, root: root) else {
            Output.remark("There is no configuration file: \(Profiles.path(environment)).")
            return .success
        }
        let used = arguments.value(Profiles.chosen) ?? profiles.preset
        for section in [nil] + profiles.names.map(Optional.some) {
            let settings = profiles.settings(of: section)
            if section == nil, settings.isEmpty { continue }
            if arguments.has("json") {
                json(section, settings, isUsed: section == nil || section == used)
                continue
            }
            if let section { Output.line("[\(Output.safe(section))]\(section == used ? " *" : "")") }
            for setting in settings { Output.line("\(setting.key) = \(shown(setting))") }
        }
        return .success
    }

    private static func shown(_ setting: ConfigurationFile.Setting) -> String {
        Profiles.secrets.contains(setting.key) ? "(hidden)" : Output.safe(setting.value)
    }

    private static func json(_ section: String?, _ settings: [ConfigurationFile.Setting], isUsed: Bool) {
        let values = settings.map { setting in
            (key: setting.key, value: Profiles.secrets.contains(setting.key) ? JSON.null : .string(setting.value))
        }
        Output.json([
            ("section", .string(section ?? Profiles.defaultSection)), ("used", .bool(isUsed)),
            ("settings", .object(values)),
        ])
    }

    private static func get(_ arguments: Arguments) async throws -> ExitCode {
        let key = try option(arguments.operands[0])
        guard let profiles = try Profiles(environment, root: root) else { return .failure }
        let name = try profiles.name(arguments)
        for section in name == nil ? [nil] : [name, nil] {
            if let setting = profiles.settings(of: section).first(where: { $0.key == key }) {
                Output.line(Output.safe(setting.value))
                return .success
            }
        }
        return .failure
    }

    // MARK: Writing

    private static func set(_ arguments: Arguments) async throws -> ExitCode {
        let key = try option(arguments.operands[0])
        var value = arguments.operands.count > 1 ? arguments.operands[1] : readLine(strippingNewline: true) ?? ""
        guard !value.isEmpty, !value.contains(where: \.isNewline) else {
            throw CommandError.usage("A value is one line, and not empty.")
        }
        if let option = Profiles.configurable(root)[key] {
            var check = Arguments(path: [], operands: [])
            try check.set(option, value, from: key)
            // A path is meant from here, and read from anywhere.
            if option.kind != .text, !value.hasPrefix("~/") { value = URL(fileURLWithPath: value).path }
        }
        if value != value.trimmingCharacters(in: .whitespaces) || (value.hasPrefix("\"") && value.hasSuffix("\"")) {
            value = "\"\(value)\""
        }
        try change(section: arguments.value(Profiles.chosen)) { $0.set(key, value, in: $1) }
        return .success
    }

    private static func unset(_ arguments: Arguments) async throws -> ExitCode {
        let key = try option(arguments.operands[0])
        var isDone = false
        try change(section: arguments.value(Profiles.chosen)) { isDone = $0.remove(key, in: $1) }
        return isDone ? .success : .failure
    }

    private static func use(_ arguments: Arguments) async throws -> ExitCode {
        let name = arguments.operands[0]
        let names = try Profiles(environment, root: root)?.names ?? []
        guard name == Profiles.defaultSection || names.contains(name) else {
            throw Profiles.unknown(name, Profiles.path(environment), names)
        }
        try change(section: nil) { text, section in
            if name == Profiles.defaultSection {
                _ = text.remove(Profiles.chosen, in: section)
            } else {
                text.set(Profiles.chosen, name, in: section)
            }
        }
        return .success
    }

    private static func option(_ key: String) throws(CommandError) -> String {
        let known = Profiles.configurable(root)
        guard known[key] != nil else {
            throw CommandError(
                code: .usage, message: "'\(Output.safe(key))' is no setting.",
                hint: "There are: \(known.keys.sorted().joined(separator: ", ")).")
        }
        return key
    }

    private static func change(
        section: String?, _ body: (inout ConfigurationText, String?) -> Void
    ) throws(CommandError) {
        let path = Profiles.path(environment)
        // What is wrong in it is said before it is written to.
        _ = try Profiles(environment, root: root)
        var text = try ConfigurationText(path)
        body(&text, section == Profiles.defaultSection ? nil : section)
        try text.write()
    }
}

/// The lines of a configuration file, to change some and keep the others, comments too.
struct ConfigurationText {
    private let path: String
    private var lines: [String] = []

    /// Reads a file; an absent one is empty.
    ///
    /// - Throws: ``CommandError`` `badFile`.
    init(_ path: String) throws(CommandError) {
        self.path = path
        guard FileManager.default.fileExists(atPath: path) else { return }
        guard let data = FileManager.default.contents(atPath: path), let text = String(data: data, encoding: .utf8)
        else { throw CommandError(code: .badFile, message: "The configuration \(path) cannot be read.") }
        lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if lines.last == "" { lines.removeLast() }
    }

    /// The lines of a section without its head; nil where it is not there.
    private func range(_ section: String?) -> Range<Int>? {
        func head(_ line: String) -> String? { ConfigurationFile.head(line.trimmingCharacters(in: .whitespaces)) }
        let heads = lines.indices.filter { head(lines[$0]) != nil }
        guard let section else { return 0..<(heads.first ?? lines.count) }
        guard let start = heads.first(where: { head(lines[$0]) == section }) else { return nil }
        return (start + 1)..<(heads.first { $0 > start } ?? lines.count)
    }

    private func index(_ key: String, in range: Range<Int>) -> Int? {
        range.first { index in
            let line = lines[index].trimmingCharacters(in: .whitespaces)
            guard !line.hasPrefix("#"), let equals = line.firstIndex(of: "=") else { return false }
            return line[..<equals].trimmingCharacters(in: .whitespaces) == key
        }
    }

    /// The section in which a key of the default one stands: before the first head, or under `[default]`.
    private func place(_ key: String, _ section: String?) -> Range<Int>? {
        guard section == nil, let named = range(Profiles.defaultSection), index(key, in: named) != nil else {
            return range(section)
        }
        return named
    }

    mutating func set(_ key: String, _ value: String, in section: String?) {
        let line = "\(key) = \(value)"
        guard let range = place(key, section) else {
            if lines.last?.isEmpty == false { lines.append("") }
            lines += ["[\(section ?? "")]", line]
            return
        }
        if let index = index(key, in: range) {
            lines[index] = line
            return
        }
        // Behind the last line of the section that says something.
        let last = range.last { !lines[$0].trimmingCharacters(in: .whitespaces).isEmpty }
        lines.insert(line, at: last.map { $0 + 1 } ?? range.lowerBound)
    }

    /// Whether it was there.
    mutating func remove(_ key: String, in section: String?) -> Bool {
        guard let range = place(key, section), let index = index(key, in: range) else { return false }
        lines.remove(at: index)
        return true
    }

    /// Writes it as a whole or not at all, for its owner alone, whatever its mode was.
    ///
    /// - Throws: ``CommandError`` `badFile`.
    func write() throws(CommandError) {
        // A link stays one.
        let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        let temporary = target + ".\(getpid()).new"
        let data = Data((lines.joined(separator: "\n") + "\n").utf8)
        do {
            try FileManager.default.createDirectory(
                atPath: URL(fileURLWithPath: target).deletingLastPathComponent().path,
                withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandError(code: .badFile, message: "The directory of \(path) cannot be made.")
        }
        guard
            FileManager.default.createFile(
                atPath: temporary, contents: data, attributes: [.posixPermissions: 0o600]),
            rename(temporary, target) == 0
        else {
            unlink(temporary)
            throw CommandError(code: .badFile, message: "The configuration \(path) cannot be written.")
        }
    }
}
