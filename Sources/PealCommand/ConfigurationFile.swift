import Foundation

/// A file of `key = value` lines, whose keys are the long names of options. Empty lines, and those that begin with `#`, say nothing; a
/// value may stand in double quotes; a switch has `true` or `false`. Where a file has sections, each begins with a line `[name]`.
struct ConfigurationFile {
    /// Words of a switch that is on, and off.
    static let switchedOn: Set<String> = ["true", "yes", "on", "1"]
    static let switchedOff: Set<String> = ["false", "no", "off", "0"]

    /// One line that says something.
    struct Setting {
        var section: String?
        var key: String
        var value: String
        /// From 1.
        var line: Int
    }

    let path: String
    /// In the order of the file.
    private(set) var settings: [Setting] = []
    /// The sections that have a head, also empty ones.
    private(set) var sections: [String] = []

    /// Reads a file.
    ///
    /// - Throws: ``CommandError``: it cannot be read, or a line is none; it names file and line.
    init(path: String, hasSections: Bool) throws(CommandError) {
        guard let data = FileManager.default.contents(atPath: path), let text = String(data: data, encoding: .utf8)
        else {
            throw CommandError(code: .badFile, message: "The configuration \(path) cannot be read.")
        }
        try self.init(text: text, path: path, hasSections: hasSections)
    }

    /// What a file's text says.
    init(text: String, path: String, hasSections: Bool) throws(CommandError) {
        self.path = path
        var section: String?
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.isEmpty || line.hasPrefix("#") { continue }
            if hasSections, let name = Self.head(line) {
                guard !name.isEmpty else { throw .usage("\(path):\(index + 1): this section has no name.") }
                section = name
                if !sections.contains(name) { sections.append(name) }
                continue
            }
            guard let equals = line.firstIndex(of: "=") else {
                throw .usage("\(path):\(index + 1): this is no line of the form 'key = value'.")
            }
            var value = line[line.index(after: equals)...].trimmingCharacters(in: .whitespaces)
            if value.count > 1, value.hasPrefix("\""), value.hasSuffix("\"") {
                value = String(value.dropFirst().dropLast())
            }
            let key = line[..<equals].trimmingCharacters(in: .whitespaces)
            settings.append(Setting(section: section, key: key, value: value, line: index + 1))
        }
    }

    /// The name in the head of a section; nil for another line.
    static func head(_ line: String) -> String? {
        guard line.hasPrefix("["), line.hasSuffix("]"), line.count > 1 else { return nil }
        return line.dropFirst().dropLast().trimmingCharacters(in: .whitespaces)
    }

    /// Where a setting stands, for whoever wrote it.
    func place(_ setting: Setting) -> String { "\(path):\(setting.line): '\(Output.safe(setting.key))'" }

    /// Adds what a file without sections says to what the command line and the environment say, which count more.
    ///
    /// - Throws: ``CommandError``: the file cannot be read, or a line is wrong; it names file, line and key.
    static func apply(
        _ path: String, to arguments: Arguments, options: [Option]
    ) throws(CommandError) -> Arguments {
        let file = try ConfigurationFile(path: path, hasSections: false)
        var merged = arguments
        var seen: Set<String> = []
        for setting in file.settings {
            let (key, place) = (setting.key, file.place(setting))
            guard let option = options.first(where: { $0.name == key }), key != "config" else {
                let known = options.map(\.name).filter { $0 != "config" }.joined(separator: ", ")
                throw CommandError(code: .usage, message: "\(place) is no setting.", hint: "There are: \(known).")
            }
            guard seen.insert(key).inserted || option.repeats else { throw .usage("\(place) is there twice.") }
            if arguments.has(key) || arguments.isOff(key) { continue }
            try merged.set(option, setting.value, from: place)
        }
        return merged
    }
}
