import PealModel
#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Writing to the terminal or a pipe, a line at a time, unbuffered: a tail in a pipeline shows each line at once.
enum Output {
    /// Writes a line to standard output.
    static func line(_ text: String) { write(text + "\n", to: 1) }

    /// Writes a line to standard error.
    static func note(_ text: String) { write(text + "\n", to: 2) }

    /// Writes a line to standard error that matters less than the others: dim where that is a terminal that shows it.
    static func aside(_ text: String) { note(dims ? "\u{1B}[2m\(text)\u{1B}[0m" : text) }

    private static let dims: Bool = {
        func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
        return isatty(2) == 1 && variable("NO_COLOR")?.isEmpty != false && variable("TERM") != "dumb"
    }()

    /// Writes text as it is.
    static func text(_ text: String) { write(text, to: 1) }

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
                    if errno == EINTR || errno == EAGAIN { continue }
                    return
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
