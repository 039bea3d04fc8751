/// Tells what is pasted from what is typed: a terminal puts `ESC [ 200 ~` before pasted text and `ESC [ 201 ~` behind it, where it is asked to. The
/// library knows both as keys, but one whose bytes come apart reaches us as characters.
struct TerminalPaste {
    private static let opening: [Unicode.Scalar] = ["\u{1B}", "[", "2", "0", "0", "~"]
    private static let closing: [Unicode.Scalar] = ["\u{1B}", "[", "2", "0", "1", "~"]
    /// Characters that are kept of one paste.
    private static let limit = 4_096

    /// What has been pasted so far; nil where nothing is being pasted.
    private var text: [Unicode.Scalar]?
    /// The last characters that were typed, or pasted beyond the limit.
    private var last: [Unicode.Scalar] = []

    var isOpen: Bool { text != nil }

    mutating func begin() {
        text = []
        last = []
    }

    /// - Returns: nil where nothing was being pasted.
    mutating func end() -> String? {
        defer {
            text = nil
            last = []
        }
        return text.map { String(String.UnicodeScalarView($0)) }
    }

    /// Takes a character.
    ///
    /// - Returns: what it amounts to; nil where it belongs to a paste that goes on.
    mutating func take(_ scalar: Unicode.Scalar) -> ViewerEvent? {
        last = (last + [scalar]).suffix(Self.opening.count)
        guard var pasted = text else {
            if last == Self.opening { begin() }
            return isOpen ? nil : .key(ViewerKey(scalar: scalar))
        }
        if last == Self.closing {
            pasted.removeLast(min(pasted.count, Self.closing.count - 1))
            text = pasted
            return end().map { .pasted($0) }
        }
        if pasted.count < Self.limit { text?.append(scalar) }
        return nil
    }
}
