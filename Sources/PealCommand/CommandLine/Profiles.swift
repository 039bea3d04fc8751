import Foundation

/// The configuration file with its profiles: values of options that are typed once.
///
/// The part before the first section, and the section `default`, are of every profile. The profile is that of `--profile`, else of
/// `$PEAL_PROFILE`, else of the line `profile = NAME` before the first section. The command line counts more than the environment, that more than the
/// profile, and that more than the default section.
struct Profiles {
    /// The key of the profile that is used where none is named.
    static let chosen = "profile"
    static let defaultSection = "default"
    /// Options whose values are shown to nobody who did not ask for them.
    static let secrets: Set<String> = ["secret", "hmac", "operator", "proxy"]

    let file: ConfigurationFile

    /// Where the file is: `$PEAL_CONFIG`, else below `$XDG_CONFIG_HOME`, else `~/.config/peal/config`.
    static func path(_ environment: [String: String]) -> String {
        if let path = environment["PEAL_CONFIG"], !path.isEmpty { return path }
        if let folder = environment["XDG_CONFIG_HOME"], !folder.isEmpty { return folder + "/peal/config" }
        return (environment["HOME"] ?? "") + "/.config/peal/config"
    }

    /// Every option that the file may give, by name.
    static func configurable(_ root: Command) -> [String: Option] {
        var found: [String: Option] = [:]
        func add(_ command: Command) {
            for option in command.options where option.isConfigurable { found[option.name] = option }
            for command in command.subcommands { add(command) }
        }
        add(root)
        return found
    }

    /// Reads the file; nil where there is none.
    ///
    /// - Throws: ``CommandError`` that names file and line.
    init?(_ environment: [String: String], root: Command) throws(CommandError) {
        let path = Self.path(environment)
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        file = try ConfigurationFile(path: path, hasSections: true)
        let known = Self.configurable(root)
        var seen: Set<[String]> = []
        for setting in file.settings {
            let isChoice = setting.key == Self.chosen && Self.isDefault(setting.section)
            guard isChoice || known[setting.key] != nil else {
                throw CommandError(
                    code: .usage, message: "\(file.place(setting)) is no setting.",
                    hint: "There are: \((known.keys.sorted()).joined(separator: ", ")).")
            }
            guard seen.insert([setting.section ?? Self.defaultSection, setting.key]).inserted else {
                throw .usage("\(file.place(setting)) is there twice.")
            }
        }
    }

    private static func isDefault(_ section: String?) -> Bool { section == nil || section == defaultSection }

    /// The names of the profiles, in the order of the file.
    var names: [String] { file.sections.filter { $0 != Self.defaultSection } }

    /// The profile that the file uses where none is named.
    var preset: String? { settings(of: nil).first { $0.key == Self.chosen }?.value }

    /// The settings of a section; nil for the default one.
    func settings(of section: String?) -> [ConfigurationFile.Setting] {
        file.settings.filter { Self.isDefault(section) ? Self.isDefault($0.section) : $0.section == section }
    }

    /// The profile in use; nil for the default section alone.
    ///
    /// - Throws: ``CommandError`` for a name that the file does not have.
    func name(_ arguments: Arguments) throws(CommandError) -> String? {
        guard let name = arguments.value(Self.chosen) ?? preset, name != Self.defaultSection else { return nil }
        guard names.contains(name) else { throw Self.unknown(name, file.path, names) }
        return name
    }

    static func unknown(_ name: String, _ path: String, _ names: [String]) -> CommandError {
        CommandError(
            code: .usage, message: "There is no profile '\(Output.safe(name))' in \(path).",
            hint: names.isEmpty
                ? "`peal --profile \(Output.safe(name)) config set hub URL` makes it."
                : "There are: \(names.map(Output.safe).joined(separator: ", ")).")
    }

    // MARK: Adding it to a command line

    /// Adds what the file says to what the command line and the environment say.
    ///
    /// - Throws: ``CommandError``: a profile that is not there, a value that its option does not take.
    static func apply(
        to arguments: Arguments, of command: Command, root: Command, environment: [String: String], warns: Bool = true
    ) throws(CommandError) -> Arguments {
        guard let profiles = try Profiles(environment, root: root) else {
            if let name = arguments.value(chosen) { throw unknown(name, path(environment), []) }
            return arguments
        }
        var merged = arguments
        let name = try profiles.name(arguments)
        for section in name == nil ? [nil] : [name, nil] {
            let above = merged
            for setting in profiles.settings(of: section) where !isOverruled(setting.key, above) {
                guard let option = command.options.first(where: { $0.name == setting.key }), option.isConfigurable
                else { continue }
                try merged.set(option, setting.value, from: profiles.file.place(setting))
            }
        }
        if warns { profiles.warn(merged) }
        return merged
    }

    /// Whether something above says it already, or says another thing of the same matter: who it is, or by what secret.
    private static func isOverruled(_ key: String, _ above: Arguments) -> Bool {
        func isGiven(_ names: String...) -> Bool { names.contains { above.has($0) || above.isOff($0) } }
        switch key {
        case "user", "email", "device": return isGiven("user", "email", "device")
        case "hmac": return isGiven("user", "email", "device", "hmac")
        case "secret", "secret-file": return isGiven("secret", "secret-file")
        case "operator", "operator-file": return isGiven("operator", "operator-file")
        default: return isGiven(key)
        }
    }

    /// The permissions where others can read a file of secrets; nil where all is well.
    static func looseMode(_ path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0 else {
            return nil
        }
        return String(status.st_mode & 0o777, radix: 8)
    }

    /// Says so where others can read a secret of the file.
    private func warn(_ arguments: Arguments) {
        guard !arguments.has("quiet"), file.settings.contains(where: { Self.secrets.contains($0.key) }),
            let mode = Self.looseMode(file.path)
        else { return }
        Output.note("note: \(file.path) holds a secret and others can read it (mode \(mode)): chmod 600 \(file.path)")
    }
}
