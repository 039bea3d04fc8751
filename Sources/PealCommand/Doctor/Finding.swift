import PealModel

/// What the doctor found in one place.
struct Finding: Sendable {
    enum State: String, Sendable {
        case ok
        /// It works, and somebody should know.
        case warning
        /// It does not work.
        case failed
        /// It was not looked at.
        case skipped
    }

    /// `versions`, `configuration`, `hub`, `replicas` or `terminal`.
    var section: String
    var name: String
    var state: State
    /// What is there. Never a secret.
    var text: String
    /// What to do next; nil for nothing.
    var advice: String?

    /// As JSON.
    var json: [(String, JSON?)] {
        [
            ("section", .string(section)), ("check", .string(name)), ("state", .string(state.rawValue)),
            ("text", .string(text)), ("advice", advice.map(JSON.string)),
        ]
    }

    /// As lines, safe for a terminal.
    var lines: [String] {
        let word: String
        switch state {
        case .ok: word = Output.paint("ok     ", .good)
        case .warning: word = Output.paint("warning", .warning)
        case .failed: word = Output.paint("FAILED ", .bad)
        case .skipped: word = Output.paint("skipped", .dim)
        }
        let row = "  \(word)  \(TerminalText.fit(TerminalText.line(name), 16)) \(TerminalText.line(text))"
        return [row] + (advice.map { ["           -> " + TerminalText.line($0)] } ?? [])
    }
}

/// The findings of one section, as they come.
struct Findings: Sendable {
    let section: String
    private(set) var all: [Finding] = []

    init(_ section: String) { self.section = section }

    mutating func add(_ state: Finding.State, _ name: String, _ text: String, _ advice: String? = nil) {
        all.append(Finding(section: section, name: name, state: state, text: text, advice: advice))
    }
}
