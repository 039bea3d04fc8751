import Testing

@testable import Peal
@testable import PealCommand
@testable import PealModel
@testable import PealReplica

/// What keys and events do to the viewer.
struct ViewerModelTests {
    // MARK: Moving

    @Test func `keys move over a list of any size, a part of which is loaded`() {
        var script = ViewerScript(items: 10_000)
        let height = script.model.height
        script.press(.down, .character("j"), .control("n"))
        #expect(script.selected == "Item 9997")
        script.press(.up, .character("k"))
        #expect(script.selected == "Item 9999")
        for _ in 0..<500 { script.press(.down) }
        #expect(script.selected == "Item 9499")
        for _ in 0..<20 { script.press(.pageDown) }
        #expect(script.selected == "Item \(9_499 - 20 * (height - 1))")
        script.type("G")
        #expect(script.selected == "Item 1")
        script.press(.down)
        #expect(script.selected == "Item 1")
        for _ in 0..<100 { script.press(.pageUp) }
        #expect(script.selected == "Item \(1 + 100 * (height - 1))")
        script.press(.home, .up)
        #expect(script.selected == "Item 10000")
        #expect(script.model.tab.rows.count < 200)
    }

    @Test func `keys that come quicker than the list is read get as far as slow ones`() {
        var script = ViewerScript(items: 10_000)
        script.isHeld = true
        for _ in 0..<30 { script.press(.pageDown) }
        script.press(.down)
        script.release()
        #expect(script.selected == "Item \(10_000 - 30 * (script.model.height - 1) - 1)")
        script.isHeld = true
        script.type("G")
        script.press(.up, .up)
        script.type("g")
        script.press(.down)
        script.type("G")
        script.press(.up)
        script.release()
        #expect(script.selected == "Item 2")
    }

    @Test func `what is selected stays on the screen and is selected on every row of it`() {
        var script = ViewerScript(rows: 12, columns: 40, items: 300)
        for key in [ViewerKey.down, .pageDown, .up, .end, .pageUp, .home, .control("d"), .control("u")] {
            for _ in 0..<25 {
                script.press(key)
                let shown = script.lines.filter { $0.hasPrefix("›") }
                #expect(shown.count == 1)
                #expect(shown.first?.contains(script.selected ?? "?") == true)
            }
        }
    }

    // MARK: What comes by itself

    @Test func `what arrives never moves the selection`() {
        var script = ViewerScript(items: 100)
        script.press(.down)
        #expect(script.lines[2].hasPrefix("›"))
        script.lists[0].add(ViewerList.item(101))
        script.send(.changed(tab: 0))
        #expect(script.selected == "Item 99")
        // The top is in sight: what is new is seen to come in.
        #expect(script.lines[1].contains("Item 101"))
        #expect(script.lines[3].hasPrefix("›"))
        for _ in 0..<40 { script.press(.down) }
        let before = script.lines[1..<12]
        for number in 102...160 {
            script.lists[0].add(ViewerList.item(number))
            script.send(.changed(tab: 0))
        }
        #expect(script.selected == "Item 59")
        #expect(script.lines[1..<12] == before)
    }

    @Test func `what is new pushes the selection to the last row and no further`() {
        var script = ViewerScript(items: 50)
        for number in 51...200 {
            script.lists[0].add(ViewerList.item(number))
            script.send(.changed(tab: 0))
            #expect(script.lines.filter { $0.hasPrefix("›") }.count == 1)
        }
        #expect(script.selected == "Item 50")
        script.type("g")
        #expect(script.selected == "Item 200")
    }

    @Test func `where what is selected goes, the next older one is selected`() {
        var script = ViewerScript(items: 5)
        script.press(.down)
        script.lists[0].items.removeAll { $0.number == 4 }
        script.send(.changed(tab: 0))
        #expect(script.selected == "Item 3")
        script.lists[0].items.removeAll { $0.number < 4 }
        script.send(.changed(tab: 0))
        #expect(script.selected == "Item 5")
        script.lists[0].items = []
        script.send(.changed(tab: 0))
        #expect(script.selected == nil)
        script.press(.down, .enter, .character("d"))
        #expect(script.model.mode == .list)
    }

    @Test func `a burst of changes is read once more, not once for each`() {
        var script = ViewerScript(items: 50)
        let before = script.loads
        script.isHeld = true
        for _ in 0..<100 { script.send(.changed(tab: 0)) }
        script.release()
        #expect(script.loads - before <= 2)
    }

    @Test func `a new size keeps the selection on the screen`() {
        var script = ViewerScript(rows: 50, columns: 200, items: 300)
        for _ in 0..<45 { script.press(.down) }
        script.send(.resized(rows: 12, columns: 40))
        #expect(script.lines.count == 12)
        #expect(script.lines.filter { $0.hasPrefix("›") }.count == 1)
        script.send(.resized(rows: 24, columns: 80))
        #expect(script.selected == "Item 255")
        script.send(.resized(rows: 1, columns: 1))
        #expect(script.lines.count == 1)
    }

    // MARK: Acts

    @Test func `an act is seen at once, before anything is durable`() {
        var script = ViewerScript(items: 5)
        script.isHeld = true
        script.type("r")
        #expect(script.lines[1].hasPrefix("›   13:00"))
        script.press(.down)
        script.type("s")
        #expect(script.model.tab.selectedRow?.isSeen == true)
        script.type("d")
        #expect(script.selected == "Item 3")
        #expect(!script.screen.contains("Item 4"))
        script.type("a")
        #expect(script.selected == "Item 2")
        script.release()
        #expect(script.lists[0].items.map { $0.number } == [5, 3, 2, 1])
        #expect(script.lists[0].items[0].read)
        #expect(script.lists[0].items[1].archived)
        #expect(script.selected == "Item 2")
    }

    @Test func `a window that was read before an act does not take it off the screen`() {
        var script = ViewerScript(items: 5)
        script.isHeld = true
        script.send(.changed(tab: 0))
        script.type("d")
        #expect(script.selected == "Item 4")
        // The window of before, which still has it.
        let old = script.lists[0].window(
            ViewerLoad(query: script.model.tab.query, place: .newest, reach: 50, generation: 1))
        script.send(.loaded(tab: 0, generation: 1, .success(old)))
        #expect(!script.screen.contains("Item 5"))
        script.release()
        #expect(!script.screen.contains("Item 5"))
        #expect(script.selected == "Item 4")
    }

    @Test func `what was done is taken back, the last first, and is selected again`() {
        var script = ViewerScript(items: 5)
        script.type("d")
        #expect(script.lines[23] == " Deleted. U takes it back, for 10 s or until you do something else.")
        script.type("U")
        #expect(script.selected == "Item 5")
        #expect(script.lines[23] == " Deleted: taken back.")
        script.type("r")
        script.press(.down)
        script.type("a")
        #expect(script.selected == "Item 3")
        script.type("zU")
        #expect(script.selected == "Item 5")
        #expect(script.lists[0].items.allSatisfy { !$0.read && !$0.archived })
        script.type("U")
        #expect(script.lines[23] == " There is nothing to take back.")
    }

    @Test func `a deletion stands once something else was done`() {
        var script = ViewerScript(items: 5)
        script.type("drU")
        #expect(script.lines[23] == " Marked read: taken back.")
        script.type("U")
        #expect(script.lines[23] == " There is nothing to take back.")
        #expect(script.lists[0].items.map { $0.number } == [4, 3, 2, 1])
    }

    @Test func `an act that fails says so, and the list is as it is`() {
        var script = ViewerScript(items: 2)
        script.isHeld = true
        script.type("d")
        #expect(script.selected == "Item 1")
        script.send(.acted(tab: 0, number: 1, .failure(ViewerProblem(message: "the disk is full"))))
        #expect(script.lines[23] == " the disk is full")
        let load = ViewerLoad(query: script.model.tab.query, place: .newest, reach: 50, generation: 1)
        script.send(.loaded(tab: 0, generation: 1, .success(script.lists[0].window(load))))
        #expect(script.screen.contains("Item 2"))
    }

    @Test func `all are marked read by one mark, and those of a narrower list one by one`() {
        var script = ViewerScript(items: 5)
        script.type("A")
        #expect(script.lists[0].items.allSatisfy { $0.read })
        #expect(script.lines[22] == " ● live · 0 unread of 5")
        script.type("U")
        #expect(script.lists[0].items.allSatisfy { !$0.read })
        script.type("/item 3")
        script.press(.enter)
        script.type("A")
        #expect(script.lists[0].items.filter { $0.read }.map { $0.number } == [3])
    }

    @Test func `opening shows the whole and marks it read; the next one follows`() {
        var script = ViewerScript(items: 3)
        script.lists[0].add(
            ViewerList.item(
                4, content: (1...60).map { "line \($0)" }.joined(separator: "\n"), url: "https://example.org"))
        script.send(.changed(tab: 0))
        script.type("g")
        script.press(.enter)
        #expect(script.lines[1] == " Item 4")
        #expect(script.lines[2] == " 2026-11-30 13:00 · message · read")
        #expect(script.lists[0].items[0].read)
        script.type("G")
        #expect(script.screen.contains("line 60"))
        script.type("n")
        #expect(script.lines[1] == " Item 3")
        script.type("u")
        #expect(script.lines[2] == " 2026-11-30 13:00 · message · unread, seen")
        script.type("p")
        #expect(script.lines[1] == " Item 4")
        script.press(.escape)
        script.type("o")
        #expect(script.lines[23] == " https://example.org")
    }

    // MARK: Which are listed

    @Test func `filters go round, and what does not belong leaves at once`() {
        var script = ViewerScript(items: 5)
        script.type("f")
        #expect(script.lines[0].hasSuffix("unread"))
        script.isHeld = true
        script.type("r")
        #expect(script.selected == "Item 4")
        script.release()
        #expect(!script.screen.contains("Item 5"))
        for name in ["unseen", "read", "archived", "everything"] {
            script.type("f")
            #expect(script.lines[0].hasSuffix(name))
        }
        script.type("f")
        #expect(script.lines[0] == " Mary")
    }

    @Test func `a search is typed, shown, corrected and cleared`() {
        var script = ViewerScript(items: 50)
        script.type("/item 77")
        #expect(script.lines[23] == "Search: item 77")
        #expect(script.model.screen.cursor?.column == 15)
        script.press(.backspace, .backspace)
        script.type("4")
        script.press(.enter)
        #expect(script.lines[0].hasSuffix("“item 4”"))
        #expect(script.model.tab.rows.map { $0.title }.first == "Item 49")
        #expect(script.model.tab.rows.count == 11)
        script.type("/")
        script.press(.control("u"))
        script.type("nothing of that kind")
        script.press(.enter)
        #expect(script.screen.contains("No matches"))
        script.press(.escape)
        #expect(script.model.tab.rows.count == 50)
    }

    @Test func `a category is chosen of the project's and of those that are there`() {
        var script = ViewerScript(items: 5)
        script.lists[0].add(ViewerList.item(6, category: "alarms"))
        script.send(.changed(tab: 0))
        script.type("c")
        #expect(Array(script.lines[1...4]) == ["› any category", "  alarms", "  billing", "  news"])
        script.press(.down, .enter)
        #expect(script.lines[0].hasSuffix("category alarms"))
        #expect(script.model.tab.rows.count == 1)
        script.press(.escape)
        #expect(script.model.tab.rows.count == 6)
    }

    @Test func `a list that was left for another one is not shown when it comes`() {
        var script = ViewerScript(items: 5)
        script.isHeld = true
        script.send(.changed(tab: 0))
        script.type("f")
        let old = ViewerWindow(rows: [ViewerRow(ViewerList.item(77, title: "of before"))])
        script.send(.loaded(tab: 0, generation: 1, .success(old)))
        #expect(!script.screen.contains("of before"))
        script.release()
        #expect(script.selected == "Item 5")
    }

    // MARK: Several

    @Test func `each user is a tab with a list, a selection and unread ones of their own`() {
        var script = ViewerScript(names: ["Mary", "Bob"], items: 3)
        #expect(script.lines[0] == " 1 Mary ●3  2 Bob ●3")
        script.press(.down, .tab)
        #expect(script.selected == "Item 3")
        script.type("r")
        #expect(script.lines[0] == " 1 Mary ●3  2 Bob ●2")
        script.type("1")
        #expect(script.selected == "Item 2")
        script.press(.backTab)
        #expect(script.model.current == 1)
        script.type("9")
        #expect(script.model.current == 1)
    }

    @Test func `keys for the terminal are handed on`() {
        var script = ViewerScript()
        script.press(.control("l"), .control("z"), .character("q"))
        #expect(script.asked == [.redraw, .suspend, .quit])
    }
}
