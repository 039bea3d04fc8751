import CPealTerminal

/// The terminal in full-screen mode. Of one thread, the one that made it.
struct Terminal: ~Copyable {
    private var shown: [ViewerLine] = []
    private let pairs: Int32
    private var paste = TerminalPaste()

    /// Takes the terminal; nil where TERM names none that can do it.
    ///
    /// - Parameter hasColours: whether colours are wanted at all.
    init?(hasColours: Bool) {
        guard cpt_begin() else { return nil }
        let colours = hasColours ? cpt_colours() : 0
        pairs = colours >= 8 ? 5 : 0
        guard pairs > 0 else { return }
        // Accent, good, warning, bad, muted.
        let foregrounds: [Int32] = colours >= 256 ? [75, 78, 214, 203, 245] : [6, 2, 3, 1, -1]
        for (index, colour) in foregrounds.enumerated() { cpt_pair(Int32(index + 1), colour, -1) }
    }

    deinit { cpt_end() }

    var size: (rows: Int, columns: Int) {
        var rows: Int32 = 0
        var columns: Int32 = 0
        cpt_size(&rows, &columns)
        return (Int(rows), Int(columns))
    }

    /// The next key, or pasted text, that has come; nil where none has.
    mutating func input() -> ViewerEvent? {
        while true {
            var code: UInt32 = 0
            switch Int(cpt_key(&code)) {
            case cpt_character:
                guard let scalar = Unicode.Scalar(code) else { return .key(.other) }
                if let event = paste.take(scalar) { return event }
            case cpt_function_key where Int(code) == cpt_key_paste: paste.begin()
            case cpt_function_key where Int(code) == cpt_key_paste_end:
                if let text = paste.end() { return .pasted(text) }
            case cpt_function_key: if !paste.isOpen { return .key(Self.functionKey(Int(code))) }
            default: return nil
            }
        }
    }

    private static func functionKey(_ code: Int) -> ViewerKey {
        switch code {
        case cpt_key_up: .up
        case cpt_key_down: .down
        case cpt_key_left: .left
        case cpt_key_right: .right
        case cpt_key_page_up: .pageUp
        case cpt_key_page_down: .pageDown
        case cpt_key_home: .home
        case cpt_key_end: .end
        case cpt_key_enter: .enter
        case cpt_key_backspace: .backspace
        case cpt_key_delete: .delete
        case cpt_key_back_tab: .backTab
        default: .other
        }
    }

    /// Shows a screen; only what is different is sent.
    mutating func show(_ screen: ViewerScreen) {
        for (row, line) in screen.lines.enumerated() where row >= shown.count || shown[row] != line {
            cpt_begin_row(Int32(row))
            for run in line.runs { write(run) }
            // What stood behind it goes.
            write(ViewerLine.Run(text: String(repeating: " ", count: line.room - line.width), style: .plain))
            cpt_end_row()
        }
        shown = screen.lines
        cpt_show(Int32(screen.cursor?.row ?? -1), Int32(screen.cursor?.column ?? 0))
    }

    private func write(_ run: ViewerLine.Run) {
        var look = 0
        if run.style.isBold { look |= cpt_bold }
        if run.style.isDim { look |= cpt_dim }
        if run.style.isReverse { look |= cpt_reverse }
        var text = run.text
        let pair = pairs > 0 ? run.style.colour.rawValue : 0
        text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                guard let start = characters.baseAddress else { return }
                cpt_write(start, Int32(characters.count), Int32(look), pair)
            }
        }
    }

    /// The next ``show(_:)`` sends everything.
    mutating func redraw() {
        shown = []
        cpt_redraw()
    }

    /// Stops the process; returns when it goes on.
    mutating func suspend() {
        shown = []
        cpt_suspend()
    }

    /// After a stop that nobody could catch.
    mutating func resume() {
        shown = []
        cpt_resume()
    }
}
