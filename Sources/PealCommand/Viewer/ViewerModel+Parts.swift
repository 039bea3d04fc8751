import Peal
import PealModel

/// The parts of the screen that are not the list.
extension ViewerModel {
    // MARK: One notification

    /// Its beginning, in so many rows.
    func previewLines(_ row: ViewerRow, _ columns: Int, _ limit: Int) -> [ViewerLine] {
        Array(itemLines(row, columns, limit: limit).prefix(limit))
    }

    /// All of it, on the whole screen.
    func openLines(_ row: ViewerRow) -> [ViewerLine] { itemLines(row, layout.columns, limit: .max) }

    private func itemLines(_ row: ViewerRow, _ columns: Int, limit: Int) -> [ViewerLine] {
        var lines: [ViewerLine] = []
        func add(_ text: String, _ style: ViewerStyle) {
            guard lines.count < limit else { return }
            for part in TerminalText.wrap(text, columns - 1, limit: limit - lines.count) {
                var line = ViewerLine(columns)
                line.add(" " + part, style)
                lines.append(line)
            }
        }
        add(row.title, .strong)
        var words = [Output.time(row.time), row.type] + [row.category, row.topic].compactMap { $0 }
        words.append(row.isRead ? "read" : row.isSeen ? "unread, seen" : "unread")
        if row.isArchived { words.append("archived") }
        add(words.joined(separator: " · "), .muted)
        for url in [row.actionURL, row.mediaURL].compactMap({ $0 }) { add(url, ViewerStyle(colour: .accent)) }
        let text = row.textLines
        if !text.isEmpty { lines.append(ViewerLine(columns)) }
        for part in text { add(part, .plain) }
        return lines
    }

    // MARK: Status

    var statusLine: ViewerLine {
        var line = line()
        let (word, style) = connection
        line.add(" \(word)", style)
        let counts = tab.counts
        line.add(" · \(Self.number(counts.unread)) unread of \(Self.number(counts.total))")
        if tab.waiting > 0 { line.add(" · outbox \(Self.number(Int64(tab.waiting)))", ViewerStyle(colour: .warning)) }
        if tab.dead > 0 { line.add(" · \(Self.number(Int64(tab.dead))) refused", .bad) }
        if tab.isPartial { line.add(" · loading", ViewerStyle(colour: .warning)) }
        if tab.isSearching { line.add(" · searching", ViewerStyle(colour: .warning)) }
        if let problem = tab.problem, !tab.rows.isEmpty {
            line.add(" · \(TerminalText.line(problem))", .bad)
        } else if let message = tab.status.message, tab.status.state != .live {
            line.add(" · \(TerminalText.line(message))", .muted)
        }
        return line
    }

    /// How the connection stands.
    private var connection: (String, ViewerStyle) {
        switch tab.status.state {
        case .live: ("● live", ViewerStyle(colour: .good, isBold: true))
        case .elsewhere: ("● live (another process)", ViewerStyle(colour: .good, isBold: true))
        case .connecting, .loading: ("◌ connecting", ViewerStyle(colour: .warning))
        case .stalled: ("◌ stalled", ViewerStyle(colour: .warning, isBold: true))
        case .stopped where tab.reopening != nil: ("✗ not open", .bad)
        case .stopped: ("✗ refused", .bad)
        case .offline where isConnecting(tab): ("◌ connecting", ViewerStyle(colour: .warning))
        case .offline: ("○ offline", ViewerStyle(colour: .warning, isBold: true))
        }
    }

    // MARK: The last row

    var searchPrompt: String { "Search: " }

    /// As much of the end of what is typed as there is room for.
    func visibleEnd(of text: String) -> String {
        var text = TerminalText.line(text)
        while TerminalText.width(text) > max(1, layout.columns - searchPrompt.count - 1) { text.removeFirst() }
        return text
    }

    var lastLine: ViewerLine {
        var line = line()
        if case .search(let text) = mode {
            line.add(searchPrompt, .heading)
            line.add(visibleEnd(of: text))
            return line
        }
        if let message {
            line.add(" \(message)", isProblem ? .bad : .strong)
            return line
        }
        for (key, what) in keys {
            let text = " \(key) \(what)"
            guard line.width + TerminalText.width(text) + 1 <= layout.columns else { continue }
            line.add(" ")
            line.add(key, .heading)
            line.add(" \(what)")
        }
        return line
    }

    /// The most wanted first: what there is no room for is left out.
    private var keys: [(String, String)] {
        switch mode {
        case .list, .search:
            var keys = [
                ("?", "help"), ("q", "quit"), ("/", "search"), ("Enter", "open"), ("d", "delete"), ("a", "archive"),
            ]
            keys += [("r", "read"), ("u", "unread"), ("f", "filter"), ("U", "undo"), ("A", "all read"), ("s", "seen")]
            keys += [("c", "category"), ("o", "URL"), ("g/G", "ends")]
            if tab.problem != nil { keys.insert(("R", "try again"), at: 0) }
            if tabs.count > 1 { keys.insert(("Tab", "next user"), at: 2) }
            if tab.query.text != nil || tab.query.categories != nil || tab.filter != .inbox {
                keys.insert(("Esc", "clear"), at: 2)
            }
            return keys
        case .open:
            return [
                ("Esc", "back"), ("n", "next"), ("p", "previous"), ("d", "delete"), ("a", "archive"), ("u", "unread"),
                ("j/k", "scroll"),
            ]
        case .help: return [("Esc", "back"), ("j/k", "scroll")]
        case .categories: return [("Enter", "choose"), ("Esc", "back"), ("j/k", "move")]
        }
    }

    // MARK: Help

    var helpLines: [ViewerLine] {
        let rows: [(String, String)] = [
            ("j k ↓ ↑", "down, up"), ("Space PgUp", "a page down, up; also Ctrl-F, Ctrl-B"),
            ("Ctrl-D Ctrl-U", "half a page down, up"), ("g G", "the newest, the oldest; also Home, End"),
            ("Enter", "open, and mark read; n, p: the next, the one before"), ("Esc", "back; the whole list again"),
            ("", ""), ("r u", "mark read, unread"), ("s", "mark seen"), ("a", "archive, or take out of the archive"),
            ("A", "mark all that is listed read"), ("d", "delete"), ("U z", "take the last act back"),
            ("o", "show where it leads"), ("", ""), ("/", "search words in title and text; empty: everything"),
            ("f", "inbox, unread, unseen, read, archived, everything"), ("c", "choose a category"),
            ("Tab 1–9", "the next user, a user"), ("R", "try again what went wrong"),
            ("Ctrl-L", "draw the screen again"), ("Ctrl-Z", "suspend"),
            ("q", "quit"),
        ]
        return rows.map { key, what in
            var line = line()
            line.add(" " + TerminalText.fit(key, 14), .heading)
            line.add(what)
            return line
        }
    }
}
