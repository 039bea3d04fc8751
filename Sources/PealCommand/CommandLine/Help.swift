/// Help texts, made from the same table as parsing.
enum Help {
    /// The help of a command.
    ///
    /// - Parameter everywhere: the options of every command.
    static func text(_ command: Command, path: [String], everywhere: [Option] = []) -> String {
        var lines = ["\(path.joined(separator: " ")) – \(command.summary)", ""]
        var usage = "usage: " + path.joined(separator: " ")
        if !command.subcommands.isEmpty { usage += command.run == nil ? " COMMAND" : " [COMMAND]" }
        if !command.options.isEmpty || !everywhere.isEmpty { usage += " [OPTIONS]" }
        for operand in command.operands {
            let word = operand.name + (operand.repeats ? "…" : "")
            usage += operand.optional ? " [\(word)]" : " \(word)"
        }
        lines.append(usage)
        if !command.discussion.isEmpty { lines += ["", command.discussion] }
        section("operands", command.operands.map { ($0.name, $0.help) }, into: &lines)
        section("commands", command.subcommands.map { ($0.name, $0.summary) }, into: &lines)
        func rows(_ options: [Option]) -> [(String, String)] { options.map { (spelling($0), explanation($0)) } }
        if path.count > 1 { section("options", rows(command.options), into: &lines) }
        section("options of every command", rows(everywhere), into: &lines)
        if !command.examples.isEmpty { lines += ["", "examples:"] + command.examples.map { "  " + $0 } }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func spelling(_ option: Option) -> String {
        var text = option.short.map { "-\($0), " } ?? "    "
        text += "--" + option.name
        if let value = option.value { text += " " + value }
        return text
    }

    private static func explanation(_ option: Option) -> String {
        var text = option.help
        if option.repeats { text += "; may be repeated" }
        if let name = option.environment { text += " [$\(name)]" }
        return text
    }

    private static func section(_ title: String, _ rows: [(String, String)], into lines: inout [String]) {
        guard !rows.isEmpty else { return }
        let width = rows.map(\.0.count).max() ?? 0
        lines += ["", title + ":"]
        for (left, right) in rows {
            lines.append("  " + left + String(repeating: " ", count: width - left.count + 2) + right)
        }
    }
}
