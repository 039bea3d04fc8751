/// What text looks like.
struct ViewerStyle: Equatable, Sendable {
    /// What a colour means; the terminal's own where it has none.
    enum Colour: Int32, Sendable {
        case plain = 0
        /// Headings and keys.
        case accent
        /// All is well.
        case good
        /// Something is on its way, or away.
        case warning
        /// Something needs somebody.
        case bad
        /// Less important.
        case muted
    }

    var colour = Colour.plain
    var isBold = false
    var isDim = false
    var isReverse = false

    static let plain = ViewerStyle()
    static let strong = ViewerStyle(isBold: true)
    static let heading = ViewerStyle(colour: .accent, isBold: true)
    static let muted = ViewerStyle(colour: .muted, isDim: true)
    static let bad = ViewerStyle(colour: .bad, isBold: true)
}

/// One row of the screen.
struct ViewerLine: Equatable, Sendable {
    struct Run: Equatable, Sendable {
        var text: String
        var style: ViewerStyle
    }

    private(set) var runs: [Run] = []
    /// Columns so far.
    private(set) var width = 0
    /// Columns that it has room for.
    let room: Int

    init(_ room: Int) { self.room = room }

    /// Adds safe text, cut to the room that is left.
    mutating func add(_ text: String, _ style: ViewerStyle = .plain) {
        let text = TerminalText.cut(text, room - width)
        guard !text.isEmpty else { return }
        width += TerminalText.width(text)
        if let last = runs.indices.last, runs[last].style == style {
            runs[last].text += text
        } else {
            runs.append(Run(text: text, style: style))
        }
    }

    /// Fills it up to a column.
    mutating func fill(to column: Int? = nil, _ style: ViewerStyle = .plain) {
        let missing = min(column ?? room, room) - width
        if missing > 0 { add(String(repeating: " ", count: missing), style) }
    }

    /// Adds what another one holds.
    mutating func add(_ line: ViewerLine) {
        for run in line.runs { add(run.text, run.style) }
    }

    /// Without its looks.
    var text: String { runs.map(\.text).joined() }
}

/// A whole screen.
struct ViewerScreen: Equatable, Sendable {
    /// As many as the screen has rows.
    var lines: [ViewerLine]
    /// Where somebody types.
    var cursor: (row: Int, column: Int)?

    static func == (left: ViewerScreen, right: ViewerScreen) -> Bool {
        left.lines == right.lines && left.cursor?.row == right.cursor?.row
            && left.cursor?.column == right.cursor?.column
    }

    /// Without its looks, and without spaces at the ends.
    var text: String {
        lines.map { line in
            String(line.text.reversed().drop { $0 == " " }.reversed())
        }.joined(separator: "\n")
    }
}
