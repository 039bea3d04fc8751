import Foundation

/// A file of `key = value` lines, whose keys are the long names of a command's options. Empty lines, and those that begin with `#`, say
/// nothing; a value may stand in double quotes; a switch has `true` or `false`.
enum ConfigurationFile {
    /// Words of a switch that is on, and off.
    static let switchedOn: Set<String> = ["true", "yes", "on", "1"]
    static let switchedOff: Set<String> = ["false", "no", "off", "0"]

    /// Adds what a file says to what the command line and the environment say, which count more.
    ///
    /// - Throws: ``CommandError``: the file cannot be read, or a line is wrong; it names file, line and key.
    static func apply(
        _ path: String, to arguments: Arguments, options: [Option]
    ) throws(CommandError) -> Arguments {
        guard let data = FileManager.default.contents(atPath: path), let text = String(data: data, encoding: .utf8)
        else {
            throw CommandError(code: .badFile, message: "The configuration \(path) cannot be read.")
        }
        var merged = arguments
        var seen: Set<String> = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.isEmpty || line.hasPrefix("#") { continue }
            let place = "\(path):\(index + 1)"
            guard let equals = line.firstIndex(of: "=") else {
                throw .usage("\(place): this is no line of the form 'key = value'.")
            }
            let key = line[..<equals].trimmingCharacters(in: .whitespaces)
            var value = line[line.index(after: equals)...].trimmingCharacters(in: .whitespaces)
            if value.count > 1, value.hasPrefix("\""), value.hasSuffix("\"") {
                value = String(value.dropFirst().dropLast())
            }
            guard let option = options.first(where: { $0.name == key }), key != "config" else {
                let known = options.map(\.name).filter { $0 != "config" }.joined(separator: ", ")
                throw CommandError(
                    code: .usage, message: "\(place): '\(key)' is no setting.", hint: "There are: \(known).")
            }
            guard seen.insert(key).inserted || option.repeats else {
                throw .usage("\(place): '\(key)' is there twice.")
            }
            if arguments.has(key) || arguments.isOff(key) { continue }
            try merged.set(option, value, from: "\(place): '\(key)'")
        }
        return merged
    }
}
