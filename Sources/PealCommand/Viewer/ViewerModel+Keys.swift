import Peal
import PealModel
import PealReplica

/// What keys do.
extension ViewerModel {
    mutating func press(_ key: ViewerKey) -> [ViewerCommand] {
        switch key {
        case .character("R") where tab.problem != nil && mode == .list: return tryAgain()
        case .control("l"): return [.redraw] + list { $0.refresh($1) }
        case .control("z"): return [.suspend]
        case .control("c"): return [.quit]
        default: break
        }
        switch mode {
        case .list: return pressInList(key)
        case .open(let row, let offset): return pressInOpen(key, row, offset)
        case .help(let offset): pressInHelp(key, offset)
        case .search(let text): return pressInSearch(key, text)
        case .categories(let choices, let index): return pressInCategories(key, choices, index)
        }
        return []
    }

    private mutating func pressInList(_ key: ViewerKey) -> [ViewerCommand] {
        if let commands = move(key) ?? act(key) ?? turn(key) { return commands }
        switch key {
        case .character("q"): return [.quit]
        case .character("?"): mode = .help(offset: 0)
        case .character("/"): mode = .search(tab.query.text ?? "")
        case .character("f"):
            return list { tab, height in
                tab.filter = tab.filter.next
                return tab.begin(height)
            }
        case .character("c"): return [.categories(tab: current)]
        case .enter, .right, .character("l"): return open()
        case .escape: return clear()
        default: break
        }
        return []
    }

    /// Keys that move the selection.
    private mutating func move(_ key: ViewerKey) -> [ViewerCommand]? {
        let page = max(1, height - 1)
        switch key {
        case .down, .character("j"), .control("n"): return list { $0.move(1, $1) }
        case .up, .character("k"), .control("p"): return list { $0.move(-1, $1) }
        case .pageDown, .character(" "), .control("f"): return list { $0.move(page, $1) }
        case .pageUp, .control("b"): return list { $0.move(-page, $1) }
        case .control("d"): return list { $0.move(max(1, page / 2), $1) }
        case .control("u"): return list { $0.move(-max(1, page / 2), $1) }
        case .home, .character("g"): return list { $0.goTo(.newest, $1) }
        case .end, .character("G"): return list { $0.goTo(.oldest, $1) }
        default: return nil
        }
    }

    /// Keys that turn to another tab.
    private mutating func turn(_ key: ViewerKey) -> [ViewerCommand]? {
        switch key {
        case .tab: current = (current + 1) % tabs.count
        case .backTab: current = (current + tabs.count - 1) % tabs.count
        case .character(let digit):
            guard let number = digit.wholeNumberValue, (1...9).contains(number) else { return nil }
            if number <= tabs.count { current = number - 1 }
        default: return nil
        }
        return list { $0.refresh($1) }
    }

    /// Takes away what narrows the list.
    private mutating func clear() -> [ViewerCommand] {
        guard tab.query.text != nil || tab.query.categories != nil || tab.filter != .inbox else { return [] }
        return list { tab, height in
            tab.query.text = nil
            tab.query.categories = nil
            tab.filter = .inbox
            return tab.begin(height)
        }
    }

    // MARK: One notification

    private mutating func open() -> [ViewerCommand] {
        guard let row = tab.selectedRow else { return [] }
        mode = .open(row, offset: 0)
        return row.isRead ? [] : read(row, true, isSaid: false)
    }

    private mutating func pressInOpen(_ key: ViewerKey, _ row: ViewerRow, _ offset: Int) -> [ViewerCommand] {
        let page = max(1, layout.rows - 4)
        switch key {
        case .escape, .enter, .left, .backspace, .character("q"), .character("h"): mode = .list
        case .down, .character("j"): scroll(row, offset + 1)
        case .up, .character("k"): scroll(row, offset - 1)
        case .pageDown, .character(" "), .control("f"): scroll(row, offset + page)
        case .pageUp, .control("b"): scroll(row, offset - page)
        case .home, .character("g"): scroll(row, 0)
        case .end, .character("G"): scroll(row, .max / 2)
        case .character("n"), .character("J"): return step(1)
        case .character("p"), .character("K"): return step(-1)
        case .character("?"): mode = .help(offset: 0)
        case .character("a"), .character("d"):
            mode = .list
            return act(key) ?? []
        default: return act(key) ?? []
        }
        return []
    }

    private mutating func scroll(_ row: ViewerRow, _ offset: Int) {
        let most = max(0, openLines(row).count - max(1, layout.rows - 3))
        mode = .open(row, offset: min(max(0, offset), most))
    }

    /// The next one, or the one before, while one is open.
    private mutating func step(_ distance: Int) -> [ViewerCommand] {
        let commands = list { $0.move(distance, $1) }
        return commands + open()
    }

    // MARK: Others

    private mutating func pressInHelp(_ key: ViewerKey, _ offset: Int) {
        let most = max(0, helpLines.count - max(1, layout.rows - 3))
        switch key {
        case .down, .character("j"), .pageDown, .character(" "): mode = .help(offset: min(most, offset + 1))
        case .up, .character("k"), .pageUp: mode = .help(offset: max(0, offset - 1))
        default: mode = .list
        }
    }

    /// What went wrong may be mended by now.
    private mutating func tryAgain() -> [ViewerCommand] {
        tab.reopening == nil ? list { $0.refresh($1) } : [.reopen(tab: current)]
    }

    /// No key is pressed by what is pasted, and nothing of it is obeyed.
    mutating func paste(_ text: String) {
        message = nil
        isProblem = false
        guard case .search(let before) = mode else { return say("What is pasted goes into a search: press / first.") }
        let words = text.unicodeScalars.split { TerminalText.isControl($0) }.map {
            String(String.UnicodeScalarView($0))
        }
        mode = .search(String((before + words.joined(separator: " ")).prefix(Self.searchLength)))
    }

    private mutating func pressInSearch(_ key: ViewerKey, _ text: String) -> [ViewerCommand] {
        switch key {
        case .escape: mode = .list
        case .backspace: if text.isEmpty { mode = .list } else { mode = .search(String(text.dropLast())) }
        case .control("u"): mode = .search("")
        case .character(let character) where text.count < Self.searchLength: mode = .search(text + String(character))
        case .enter:
            mode = .list
            return list { tab, height in
                tab.query.text = text.allSatisfy(\.isWhitespace) ? nil : text
                tab.isSearching = tab.query.text != nil
                return tab.begin(height, keeping: tab.query.text == nil)
            }
        default: break
        }
        return []
    }

    private mutating func pressInCategories(
        _ key: ViewerKey, _ choices: [String?], _ index: Int
    ) -> [ViewerCommand] {
        switch key {
        case .down, .character("j"), .character("c"): mode = .categories(choices, index: (index + 1) % choices.count)
        case .up, .character("k"):
            mode = .categories(choices, index: (index + choices.count - 1) % choices.count)
        case .enter, .character(" "):
            mode = .list
            return list { tab, height in
                tab.query.categories = choices[index].map { [$0] }
                return tab.begin(height)
            }
        case .escape, .character("q"): mode = .list
        default: break
        }
        return []
    }
}
