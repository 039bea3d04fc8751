#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// How far a long command is, on standard error: on a terminal one line that is drawn again, elsewhere a line now and then.
struct ProgressBar {
    /// What is shown.
    struct Value {
        /// 0 to 1; nil where the end is not known.
        var share: Double?
        var count: Int
        /// How the things that are counted are called.
        var word: String
        var failed: Int
        /// Seconds since the beginning.
        var seconds: Double
        /// Things that count for the rate: not those that were done before.
        var fresh: Int
        /// What it waits for.
        var waits: String?
    }

    private let isTerminal: Bool
    private let isQuiet: Bool
    private var shown = 0.0
    private var isDrawn = false
    /// Seconds between two lines off a terminal.
    private static let pace = 5.0

    init(isQuiet: Bool) {
        self.isQuiet = isQuiet
        isTerminal = isatty(2) == 1 && getenv("TERM").map { String(cString: $0) } != "dumb"
    }

    /// Shows it, where that is due.
    mutating func show(_ value: Value) {
        if isQuiet { return }
        if isTerminal {
            var size = winsize()
            let columns = ioctl(2, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : 80
            Output.draw("\r" + Self.line(value, columns: columns - 1) + "\u{1B}[K")
            isDrawn = true
        } else if value.seconds - shown >= Self.pace {
            shown = value.seconds
            Output.note(Self.line(value, columns: nil))
        }
    }

    /// Takes the line away, before something else is written.
    mutating func clear() {
        if isDrawn { Output.draw("\r\u{1B}[K") }
        isDrawn = false
    }

    /// The line; without columns it has no bar.
    static func line(_ value: Value, columns: Int?) -> String {
        var parts = ["\(value.count) \(value.word)s"]
        if value.failed > 0 { parts.append("\(value.failed) failed") }
        let rate = value.seconds > 0 ? Double(value.fresh) / value.seconds : 0
        parts.append("\(Int(rate.rounded()))/s")
        // The share of what was done before took no time.
        if let share = value.share, share > 0.001, share < 1, value.fresh > 0 {
            let fresh = share * Double(value.fresh) / Double(max(1, value.count))
            if fresh > 0 { parts.append("\(time((1 - share) * value.seconds / fresh)) left") }
        }
        if let waits = value.waits { parts.append("waiting: \(Output.safe(waits))") }
        let text = parts.joined(separator: ", ")
        let percent = value.share.map { "\(Int(($0 * 100).rounded(.down))) % " } ?? ""
        guard let columns else { return percent + text }
        let room = min(30, columns - TerminalText.width(percent + text) - 3)
        guard let share = value.share, room >= 8 else { return TerminalText.cut(percent + text, columns) }
        let full = Int(Double(room) * share)
        let bar = String(repeating: "=", count: full) + String(repeating: " ", count: room - full)
        return "[\(bar)] \(percent)\(text)"
    }

    private static func time(_ seconds: Double) -> String {
        let all = Int(min(seconds, 360_000))
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return all < 3_600
            ? "\(all / 60):\(two(all % 60))" : "\(all / 3_600):\(two(all / 60 % 60)):\(two(all % 60))"
    }
}
