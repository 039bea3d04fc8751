import CPealTerminal

/// Text that somebody else wrote, as a terminal may get it, and how wide it is there. What terminals do not agree on is left out, because one
/// column of difference disturbs the whole row: of a picture made of several characters only the first one is shown.
enum TerminalText {
    /// LC_CTYPE is one with UTF-8, which `wcwidth` needs.
    private static let utf8: Void = cpt_use_utf8()

    /// Columns of a scalar: 0, 1 or 2; nil for what the system does not know, and control characters.
    static func width(_ scalar: Unicode.Scalar) -> Int? {
        if scalar.value < 0x7F { return scalar.value < 0x20 ? nil : 1 }
        _ = utf8
        let width = Int(cpt_width(scalar.value))
        return width < 0 ? nil : width
    }

    /// Columns of text that ``line(_:)`` gave.
    static func width(_ text: String) -> Int {
        if text.utf8.allSatisfy({ $0 < 0x7F }) { return text.utf8.count }
        return text.unicodeScalars.reduce(0) { $0 + (width($1) ?? 1) }
    }

    /// A control character: what a terminal obeys.
    static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
    }

    /// Embeds, overrides or isolates a direction: such a character can make a line lie about its own order.
    static func isDirectional(_ scalar: Unicode.Scalar) -> Bool {
        (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
    }

    // MARK: Making it safe

    /// What stands for something that is not shown.
    private static let substitute: Unicode.Scalar = "\u{FFFD}"

    /// One line: breaks and tabs are spaces, other control characters something visible. It ends after `limit` characters.
    static func line(_ text: String, limit: Int = .max) -> String {
        // Most titles are plain.
        if text.utf8.count <= limit, text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text }
        var scalars = String.UnicodeScalarView()
        for character in text.prefix(limit) { append(character, to: &scalars) }
        return String(scalars)
    }

    /// The lines of a text, each as ``line(_:)``.
    static func lines(_ text: String) -> [String] {
        text.split(omittingEmptySubsequences: false) { $0.isNewline }.map { line(String($0)) }
    }

    private static func append(_ character: Character, to scalars: inout String.UnicodeScalarView) {
        let all = character.unicodeScalars
        guard let first = all.first else { return }
        if isControl(first) || first.value == 0x2028 || first.value == 0x2029 {
            scalars.append(visible(first))
            return
        }
        if isDirectional(first) {
            scalars.append(substitute)
            return
        }
        if first.properties.generalCategory == .format { return }
        guard let base = width(first) else {
            scalars.append(substitute)
            return
        }
        // A mark without a letter would go to what stands before.
        if base == 0 { scalars.append("\u{25CC}") }
        scalars.append(first)
        appendMarks(all.dropFirst(), to: &scalars, isPicture: first.value > 0xFF && first.properties.isEmoji)
    }

    /// What belongs to a character beside its first scalar; a cell holds few marks.
    private static func appendMarks(
        _ rest: Substring.UnicodeScalarView, to scalars: inout String.UnicodeScalarView, isPicture: Bool
    ) {
        var marks = 0
        for scalar in rest {
            if scalar.value == 0x200D {
                if isPicture { return }
                continue
            }
            let isSelector =
                (0xFE00...0xFE0F).contains(scalar.value) || (0xE0000...0xE0FFF).contains(scalar.value)
            if isSelector || scalar.properties.isEmojiModifier || isControl(scalar) || isDirectional(scalar) {
                continue
            }
            guard let width = width(scalar) else { continue }
            if width == 0 {
                marks += 1
                if marks > 3 { continue }
            }
            scalars.append(scalar)
        }
    }

    /// The picture of a control character.
    private static func visible(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        switch scalar.value {
        case 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x85, 0x2028, 0x2029: " "
        case 0x7F: "\u{2421}"
        case 0..<0x20: Unicode.Scalar(0x2400 + scalar.value) ?? substitute
        default: substitute
        }
    }

    // MARK: Fitting it

    /// The beginning of safe text that has at most so many columns, and how many it has.
    static func prefix(_ text: String, _ columns: Int) -> (text: String, width: Int) {
        if text.utf8.allSatisfy({ $0 < 0x7F }) {
            let cut = String(text.utf8.prefix(max(0, columns))) ?? ""
            return (cut, cut.utf8.count)
        }
        var width = 0
        var end = text.startIndex
        for index in text.indices {
            let more = text[index].unicodeScalars.reduce(0) { $0 + (Self.width($1) ?? 1) }
            if width + more > columns { break }
            width += more
            end = text.index(after: index)
        }
        return (String(text[..<end]), width)
    }

    /// Safe text cut to so many columns, with an ellipsis where something is missing.
    static func cut(_ text: String, _ columns: Int) -> String {
        if width(text) <= columns { return text }
        return columns < 1 ? "" : prefix(text, columns - 1).text + "…"
    }

    /// Safe text cut or filled to exactly so many columns.
    static func fit(_ text: String, _ columns: Int) -> String {
        let text = cut(text, columns)
        return text + String(repeating: " ", count: max(0, columns - width(text)))
    }

    /// Safe text broken into rows of at most so many columns, between words where that is possible; at most `limit` rows.
    static func wrap(_ text: String, _ columns: Int, limit: Int = .max) -> [String] {
        guard columns > 1 else { return [] }
        var rows: [String] = []
        var rest = Substring(text)
        repeat {
            let (row, _) = prefix(String(rest.prefix(columns + 1)), columns)
            // Something wider than a row is passed over.
            let end =
                rest.index(rest.startIndex, offsetBy: max(1, row.count), limitedBy: rest.endIndex) ?? rest.endIndex
            if end == rest.endIndex {
                rows.append(row)
                return rows
            }
            if rest[end] != " ", let space = rest[..<end].lastIndex(of: " "), space > rest.startIndex {
                rows.append(String(rest[..<space]))
                rest = rest[rest.index(after: space)...]
            } else {
                rows.append(row)
                rest = rest[end...].drop { $0 == " " }
            }
        } while !rest.isEmpty && rows.count < limit
        return rows
    }
}
