import PealModel
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Writing to the terminal or a pipe, a line at a time, unbuffered: a tail in a pipeline shows each line at once. Where nobody reads
/// standard output any more the process ends, as one that gets SIGPIPE does; libraries of ours switch that signal off.
enum Output {
    /// When there are colours.
    enum Color: String { case auto, always, never }

    /// What the options of every command say.
    struct Settings {
        var color = Color.auto
        var isQuiet = false
        var isVerbose = false
    }

    private static let current = Mutex(Settings())
    static var settings: Settings {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    /// Takes the options of every command.
    static func configure(_ arguments: Arguments) {
        settings = Settings(
            color: arguments.value("color").flatMap(Color.init(rawValue:)) ?? .auto, isQuiet: arguments.has("quiet"),
            isVerbose: arguments.has("verbose"))
    }

    /// Writes a line to standard output.
    static func line(_ text: String) { write(text + "\n", to: 1) }

    /// Writes a line to standard error: what is wrong.
    static func note(_ text: String) { write(text + "\n", to: 2) }

    /// Writes to standard error as it is: what a terminal obeys.
    static func draw(_ text: String) { write(text, to: 2) }

    /// Writes a line to standard error that is no error: not with `--quiet`.
    static func remark(_ text: String) { if !settings.isQuiet { note(text) } }

    /// Writes a line to standard error that matters less than the others: dim where that is a terminal that shows it.
    static func aside(_ text: String) { remark(paint(text, .dim, on: 2)) }

    /// Writes a line of what is done, with `--verbose`; never a body, a secret or a token.
    static func trace(_ text: String) { if settings.isVerbose { note(paint("peal: \(text)", .dim, on: 2)) } }

    /// Milliseconds since a moment, to tenths.
    static func milliseconds(_ begin: ContinuousClock.Instant) -> Double {
        (begin.duration(to: .now) / .microseconds(100)).rounded() / 10
    }

    // MARK: Colours

    /// How text looks.
    enum Look: String {
        case dim = "2"
        case bold = "1"
        case good = "32"
        case warning = "33"
        case bad = "31"
    }

    /// Text in a look, where the descriptor is shown in colours.
    static func paint(_ text: String, _ look: Look, on descriptor: Int32 = 1) -> String {
        hasColours(descriptor) ? "\u{1B}[\(look.rawValue)m\(text)\u{1B}[0m" : text
    }

    /// Whether a descriptor is shown in colours.
    static func hasColours(_ descriptor: Int32) -> Bool {
        hasColours(settings.color, isTerminal: isatty(descriptor) == 1) { getenv($0).map { String(cString: $0) } }
    }

    /// The option, else NO_COLOR, CLICOLOR_FORCE, CLICOLOR and TERM, else whether it is a terminal.
    static func hasColours(_ color: Color, isTerminal: Bool, variable: (String) -> String?) -> Bool {
        switch color {
        case .always: return true
        case .never: return false
        case .auto: break
        }
        if variable("NO_COLOR")?.isEmpty == false { return false }
        if let force = variable("CLICOLOR_FORCE"), !force.isEmpty, force != "0" { return true }
        return isTerminal && variable("TERM") != "dumb" && variable("CLICOLOR") != "0"
    }

    // MARK: Writing

    /// Writes text as it is.
    static func text(_ text: String) { write(text, to: 1) }

    /// Writes a line that is a JSON object, without the members that are nil.
    static func json(_ members: [(String, JSON?)]) {
        let present = members.compactMap { member in member.1.map { (key: member.0, value: $0) } }
        line(String(decoding: JSON.object(present).bytes, as: UTF8.self))
    }

    /// The exit code of a shell's command that SIGPIPE ended.
    static let closedPipe: Int32 = 141

    private static func write(_ text: String, to descriptor: Int32) {
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while let start = rest.baseAddress, !rest.isEmpty {
                #if canImport(Glibc)
                    let count = Glibc.write(descriptor, start, rest.count)
                #else
                    let count = Darwin.write(descriptor, start, rest.count)
                #endif
                if count < 0 {
                    let problem = errno
                    if problem == EINTR || problem == EAGAIN { continue }
                    // Standard error may be gone without harm; what was asked for may not.
                    if descriptor != 1 { return }
                    if problem == EPIPE { _exit(closedPipe) }
                    note("peal: Standard output cannot be written: \(String(cString: strerror(problem))).")
                    _exit(ExitCode.failure.rawValue)
                }
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
    }

    /// Text that somebody else wrote, made safe for a terminal: control characters, and those of a text's direction, become a space.
    static func safe(_ text: String) -> String {
        // Most texts have none: those are C0, DEL, or begin with C2 or E2 in UTF-8.
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != 0xC2 && $0 != 0xE2 }) { return text }
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            let isUnsafe = TerminalText.isControl(scalar) || TerminalText.isDirectional(scalar)
            scalars.append(isUnsafe ? " " : scalar)
        }
        return String(scalars)
    }

    /// Text cut or filled to a number of characters.
    static func fit(_ text: String, _ width: Int) -> String {
        if text.count > width { return text.prefix(max(0, width - 1)) + "…" }
        return text + String(repeating: " ", count: width - text.count)
    }

    /// A time in the local zone, to the minute.
    static func time(_ milliseconds: Milliseconds) -> String {
        var seconds = time_t(milliseconds / 1_000)
        var parts = tm()
        localtime_r(&seconds, &parts)
        var buffer = [CChar](repeating: 0, count: 32)
        strftime(&buffer, buffer.count, "%Y-%m-%d %H:%M", &parts)
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
