import Foundation

/// A file whose first line is a secret.
enum SecretFile {
    /// Reads it; `~/` is the home directory, for a path in a configuration file. Says on standard error where others can read it too.
    ///
    /// - Throws: ``CommandError`` `badFile`: it cannot be read, or is empty.
    static func read(_ path: String, warns: Bool = true) throws(CommandError) -> String {
        let expanded = path.hasPrefix("~/") ? NSHomeDirectory() + path.dropFirst() : path
        guard let data = FileManager.default.contents(atPath: expanded),
            let line = String(data: data, encoding: .utf8)?.split(whereSeparator: \.isNewline).first
        else { throw CommandError(code: .badFile, message: "The secret's file \(path) cannot be read, or is empty.") }
        if warns, let mode = Profiles.looseMode(expanded) {
            Output.remark("note: others can read the secret in \(path) (mode \(mode)): chmod 600 \(path)")
        }
        return line.trimmingCharacters(in: .whitespaces)
    }
}
