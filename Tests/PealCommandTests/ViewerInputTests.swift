import Testing

@testable import Peal
@testable import PealCommand
@testable import PealModel
@testable import PealReplica

/// Searches that are under way, text that is pasted, and files that cannot be opened, in the viewer's model.
struct ViewerInputTests {
    @Test func `what has been found is shown while the rest is searched, and stays selected`() {
        var script = ViewerScript(items: 5)
        func found(_ numbers: [Int], isSearching: Bool) -> Result<ViewerWindow, ViewerProblem> {
            .success(
                ViewerWindow(
                    rows: numbers.map { ViewerRow(ViewerList.item($0)) }, isSearching: isSearching,
                    counts: Counts(total: 5, unread: 5, unseen: 5)))
        }
        script.type("/item")
        script.isHeld = true
        script.press(.enter)
        #expect(script.screen.contains("searching"))
        script.send(.loaded(tab: 0, generation: 2, found([], isSearching: true)))
        #expect(script.screen.contains("Searching…"))
        #expect(!script.screen.contains("No matches"))
        script.send(.changed(tab: 0))
        script.send(.loaded(tab: 0, generation: 2, found([5, 4], isSearching: true)))
        #expect(script.selected == "Item 5")
        #expect(script.screen.contains("· searching"))
        script.press(.down)
        script.send(.changed(tab: 0))
        script.send(.loaded(tab: 0, generation: 2, found([5, 4, 3, 1], isSearching: false)))
        #expect(script.selected == "Item 4")
        #expect(script.screen.contains("Item 1 "))
        #expect(!script.screen.contains("searching"))
    }

    @Test func `what is pasted goes into the search, on one row and without controls, and presses no key elsewhere`() {
        var script = ViewerScript(items: 3)
        script.send(.pasted("dddq"))
        #expect(script.screen.contains("What is pasted goes into a search: press / first."))
        #expect(script.asked.isEmpty && script.lists[0].items.count == 3)
        script.type("/a ")
        script.send(.pasted("green\r\nq\u{1B}[2J\u{7}\u{9B}apple\t"))
        #expect(script.model.mode == .search("a green q [2J apple"))
        script.send(.pasted(String(repeating: "x", count: 10_000)))
        guard case .search(let text) = script.model.mode else {
            Issue.record("no search")
            return
        }
        #expect(text.count == ViewerModel.searchLength)
    }

    @Test func `what a terminal pastes is told from keys, also where its marks come apart`() {
        func events(_ text: String) -> [String] {
            var paste = TerminalPaste()
            return text.unicodeScalars.compactMap { scalar in
                switch paste.take(scalar) {
                case .pasted(let text): "paste \(text)"
                case .key(let key): "\(key)"
                default: nil
                }
            }
        }
        #expect(events("a\u{1B}[200~q\u{1B}[A\u{1B}[201~b").filter { $0.contains("paste") } == ["paste q\u{1B}[A"])
        #expect(!events("\u{1B}[200~qqq").contains { $0.contains("\"q\"") })
        #expect(events("\u{1B}[200~\u{1B}[201~q").suffix(2) == ["paste ", "character(\"q\")"])
        var paste = TerminalPaste()
        paste.begin()
        for scalar in String(repeating: "x", count: 100_000).unicodeScalars { _ = paste.take(scalar) }
        #expect(paste.end()?.count == 4_096)
        #expect(paste.end() == nil)
    }

    @Test func `a file that cannot be opened is tried again by a key and by itself`() {
        var script = ViewerScript(items: 3)
        script.isHeld = true
        let problem = ViewerProblem(message: "it is no replica")
        script.send(.notOpened(tab: 0, problem, seconds: 4))
        #expect(script.screen.contains("✗ not open"))
        #expect(script.lines.last?.hasPrefix(" R try again") == true)
        script.type("R")
        #expect(script.held.contains(.reopen(tab: 0)))
        script.isHeld = false
        script.send(.opened(tab: 0))
        #expect(script.selected == "Item 3")
        #expect(!script.screen.contains("R try again"))
        // A list that could not be read is read again.
        script.send(.loaded(tab: 0, generation: 1, .failure(problem)))
        #expect(script.screen.contains("it is no replica"))
        script.type("R")
        #expect(!script.screen.contains("it is no replica"))
    }
}
