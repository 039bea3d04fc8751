import Peal
import PealModel
import PealReplica

/// The screen of a state, as text with looks: heading, list, preview, status, keys.
extension ViewerModel {
    var screen: ViewerScreen {
        var lines = [heading]
        switch mode {
        case .open(let row, let offset): lines += part(openLines(row), from: offset)
        case .help(let offset): lines += part(helpLines, from: offset)
        case .categories(let choices, let index): lines += categoryLines(choices, index)
        case .list, .search: lines += layout.isBeside ? beside : below
        }
        while lines.count < layout.rows - 2 { lines.append(line()) }
        lines = Array(lines.prefix(max(0, layout.rows - 2)))
        lines += [statusLine, lastLine].suffix(layout.rows)
        var screen = ViewerScreen(lines: lines)
        if case .search(let text) = mode {
            let column = TerminalText.width(searchPrompt + visibleEnd(of: text))
            screen.cursor = (row: layout.rows - 1, column: min(column, layout.columns - 1))
        }
        return screen
    }

    func line() -> ViewerLine { ViewerLine(layout.columns) }

    /// The rows between heading and status, of more that are there.
    private func part(_ lines: [ViewerLine], from offset: Int) -> [ViewerLine] {
        Array(lines.dropFirst(offset).prefix(max(1, layout.rows - 3)))
    }

    // MARK: Heading

    private var heading: ViewerLine {
        var line = line()
        let right = narrowing
        let room = layout.columns - (right.isEmpty ? 0 : min(TerminalText.width(right), layout.columns / 2) + 1)
        for (index, tab) in tabs.enumerated() {
            let isCurrent = index == current
            var text = tabs.count > 1 ? "\(index + 1) \(tab.name)" : tab.name
            if tabs.count > 1, tab.counts.unread > 0 { text += " ●\(Self.number(tab.counts.unread))" }
            let left = room - line.width
            if left < 4 { break }
            line.add(
                TerminalText.cut(" \(text) ", left),
                ViewerStyle(colour: isCurrent ? .accent : .plain, isBold: isCurrent, isReverse: isCurrent))
        }
        guard !right.isEmpty else { return line }
        let text = TerminalText.cut(right, max(0, layout.columns - line.width - 1))
        line.fill(to: layout.columns - TerminalText.width(text))
        line.add(text, ViewerStyle(colour: .accent))
        return line
    }

    /// What narrows the list, as words.
    private var narrowing: String {
        var words: [String] = []
        if tab.filter != .inbox { words.append(tab.filter.rawValue) }
        if let type = tab.query.type { words.append("type \(TerminalText.line(type))") }
        if let categories = tab.query.categories {
            words.append("category " + categories.map { TerminalText.line($0) }.joined(separator: ","))
        }
        if let topics = tab.query.topics {
            words.append("topic " + topics.map { TerminalText.line($0) }.joined(separator: ","))
        }
        if tab.query.since != nil || tab.query.until != nil { words.append("some days") }
        if let text = tab.query.text { words.append("“\(TerminalText.line(text))”") }
        return words.joined(separator: " · ")
    }

    // MARK: List

    private var below: [ViewerLine] {
        var lines = listLines(layout.listColumns)
        guard layout.previewRows > 0 else { return lines }
        var divider = line()
        divider.add(String(repeating: "─", count: layout.columns), .muted)
        lines.append(divider)
        if let row = tab.selectedRow { lines += previewLines(row, layout.previewColumns, layout.previewRows) }
        return lines
    }

    private var beside: [ViewerLine] {
        let left = listLines(layout.listColumns)
        let right = tab.selectedRow.map { previewLines($0, layout.previewColumns, layout.previewRows) } ?? []
        return (0..<layout.listRows).map { index in
            var line = line()
            if index < left.count { line.add(left[index]) }
            line.fill(to: layout.listColumns)
            line.add("│ ", .muted)
            if index < right.count { line.add(right[index]) }
            return line
        }
    }

    /// As many as the list has rows.
    private func listLines(_ columns: Int) -> [ViewerLine] {
        var lines: [ViewerLine] = []
        if tab.rows.isEmpty {
            lines = emptyLines(columns)
        } else {
            let end = min(tab.rows.count, tab.top + height)
            for row in tab.rows[min(tab.top, end)..<end] { lines.append(listLine(row, columns)) }
        }
        while lines.count < height { lines.append(ViewerLine(columns)) }
        return Array(lines.prefix(height))
    }

    private func listLine(_ row: ViewerRow, _ columns: Int) -> ViewerLine {
        let isSelected = row.number == tab.selected
        func style(_ colour: ViewerStyle.Colour = .plain, dim: Bool = false) -> ViewerStyle {
            ViewerStyle(
                colour: isSelected ? .plain : colour, isBold: !row.isRead, isDim: dim && !isSelected && row.isRead,
                isReverse: isSelected)
        }
        var line = ViewerLine(columns)
        line.add(isSelected ? "›" : " ", style())
        line.add(row.isRead ? (row.isSeen ? " " : "·") : "●", style(.accent))
        line.add(row.isArchived ? "a " : "  ", style(.muted))
        line.add(TerminalText.fit(ViewerTime.short(row.time, now: now), 6) + " ", style(.muted, dim: true))
        if columns >= 60 {
            line.add(TerminalText.fit(row.type, 8) + " ", style(.muted, dim: true))
            line.add(TerminalText.fit(row.category ?? "–", columns >= 100 ? 16 : 10) + " ", style(.accent))
        }
        line.add(row.title, style())
        if columns >= 60, !row.summary.isEmpty, columns - line.width > 8 {
            var look = style(.muted, dim: true)
            look.isBold = false
            line.add("  " + row.summary, look)
        }
        if isSelected { line.fill(style()) }
        return line
    }

    /// What stands where nothing is listed.
    private func emptyLines(_ columns: Int) -> [ViewerLine] {
        let (text, hint, style) = emptiness
        var lines = [ViewerLine(columns)]
        for (part, style) in [(text, style), (hint, ViewerStyle.muted)] {
            for row in TerminalText.wrap(part, columns - 4) {
                var line = ViewerLine(columns)
                line.add("  " + row, style)
                lines.append(line)
            }
        }
        return lines
    }

    private var emptiness: (text: String, hint: String, style: ViewerStyle) {
        if let problem = tab.problem {
            let again = tab.reopening.map { "R tries again; by itself it is tried in \($0) s." } ?? "R tries again."
            return (
                "Something went wrong: \(TerminalText.line(problem))",
                "\(again) `peal inspect FILE` looks into the file.", .bad
            )
        }
        if tab.isSearching { return ("Searching…", "The words of everything that is here are looked at.", .muted) }
        let isNarrowed = tab.query.text != nil || tab.query.categories != nil || tab.filter != .inbox
        if tab.isFilled, isNarrowed { return ("No matches", "Esc shows the whole inbox.", .plain) }
        let reason = tab.status.message.map { TerminalText.line($0) }
        if tab.status.state == .stopped {
            return (
                "The hub refused: \(reason ?? "no reason was given")",
                "Check --key, --user and --hmac. What you did is kept.", .bad
            )
        }
        let isNew = !tab.isFilled || tab.view?.position == 0 || tab.isPartial
        switch tab.status.state {
        case .connecting, .loading, .stalled:
            if isNew { return ("Loading…", "Notifications come as soon as the hub sends them.", .muted) }
        case .offline where isNew && tab.isFilled && !isConnecting(tab):
            return (
                "Nothing is here yet" + (reason.map { ", and the hub is away: \($0)" } ?? ""),
                isOffline ? "Without --offline it asks the hub." : "It is tried again by itself. Is --hub right?",
                .plain
            )
        case .offline: if !tab.isFilled || (isNew && isConnecting(tab)) { return ("Loading…", "", .muted) }
        default: if !tab.isFilled { return ("Loading…", "", .muted) }
        }
        return ("No notifications yet", "What comes is shown at once.", .plain)
    }

    /// Before the first try.
    func isConnecting(_ tab: ViewerTab) -> Bool {
        tab.status.state == .offline && !isOffline && tab.status.retryAfter == nil && tab.status.message == nil
    }

    private func categoryLines(_ choices: [String?], _ index: Int) -> [ViewerLine] {
        let room = max(1, layout.rows - 3)
        let first = max(0, min(index - room / 2, choices.count - room))
        return choices[first..<min(choices.count, first + room)].enumerated().map { offset, slug in
            var line = line()
            let isChosen = first + offset == index
            let text = slug.map { TerminalText.line($0) } ?? "any category"
            line.add((isChosen ? "› " : "  ") + text, ViewerStyle(isBold: isChosen, isReverse: isChosen))
            if isChosen { line.fill(ViewerStyle(isReverse: true)) }
            return line
        }
    }

    /// With commas between thousands.
    static func number(_ number: Int64) -> String {
        var text = ""
        for (index, digit) in String(number).reversed().enumerated() {
            if index > 0, index % 3 == 0, digit != "-" { text.append(",") }
            text.append(digit)
        }
        return String(text.reversed())
    }
}
