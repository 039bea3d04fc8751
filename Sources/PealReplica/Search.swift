/// What somebody typed into a field of search, as FTS5 understands it.
enum Search {
    /// More words than anybody looks for.
    private static let maximumWords = 32

    /// The words of a text: runs of letters and digits.
    static func words(_ text: String) -> [String] {
        text.unicodeScalars.split { !isPartOfWord($0) }.prefix(maximumWords).map { String($0) }
    }

    /// Each word as a string, so that nothing in it means anything, all of them wanted, the last as a beginning; nil where there is no word.
    static func expression(_ text: String) -> String? {
        let words = words(text)
        return words.isEmpty ? nil : words.map { "\"\($0)\"" }.joined(separator: " ") + "*"
    }

    /// The query, where blank text is none.
    static func normal(_ query: DeliveredQuery) -> DeliveredQuery {
        guard let text = query.text, text.unicodeScalars.allSatisfy(\.properties.isWhitespace) else { return query }
        var normal = query
        normal.text = nil
        return normal
    }

    /// As `unicode61` has it, but for marks: inside a word they stay with it, whatever the tokenizer makes of them there.
    private static func isPartOfWord(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
            .letterNumber, .otherNumber, .privateUse, .nonspacingMark, .spacingMark, .enclosingMark:
            true
        default: false
        }
    }
}
