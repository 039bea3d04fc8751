import Testing

@testable import Peal
@testable import PealCommand
@testable import PealModel
@testable import PealReplica

/// What the viewer shows, of each state and size.
struct ViewerScreenTests {
    @Test func `a small terminal has the list, the status and the keys that matter most`() {
        let script = ViewerScript(rows: 12, columns: 40, items: 3)
        #expect(
            script.screen
                == """
                 Mary
                ›●  13:00  Item 3
                 ●  13:00  Item 2
                 ●  13:00  Item 1





                \u{20}
                 ● live · 3 unread of 3
                 ? help q quit / search Enter open
                """.replacing("\n \n", with: "\n\n"))
    }

    @Test func `an ordinary terminal has types, categories and a preview`() {
        var script = ViewerScript(rows: 24, columns: 80, items: 1)
        script.lists[0].add(
            ViewerList.item(
                2, title: "How was it?", content: "Tell us.\nPlease.", category: "billing", type: "survey",
                url: "https://example.org/2"))
        script.send(.changed(tab: 0))
        script.press(.up)
        let lines = script.lines
        #expect(lines.count == 24)
        #expect(lines[1] == "›●  13:00  survey   billing    How was it?  Tell us. Please.")
        #expect(lines[2] == " ●  13:00  message  –          Item 1  Text of 1")
        let divider = lines.firstIndex(of: String(repeating: "─", count: 80))
        let preview = lines[((divider ?? 0) + 1)...].prefix(6)
        #expect(
            Array(preview) == [
                " How was it?", " 2026-11-30 13:00 · survey · billing · unread", " https://example.org/2", "",
                " Tell us.", " Please.",
            ])
        #expect(lines[22] == " ● live · 2 unread of 2")
        #expect(lines[23].hasPrefix(" ? help q quit / search Enter open d delete a archive r read"))
    }

    @Test func `a large terminal has the preview beside the list`() {
        let script = ViewerScript(rows: 50, columns: 200, items: 100)
        let lines = script.lines
        #expect(lines.count == 50)
        #expect(lines[1].contains("Item 100  Text of 100"))
        #expect(lines[1].contains("│  Item 100"))
        #expect(lines[4].hasSuffix("│  Text of 100"))
        #expect(lines[47].contains("Item 54"))
    }

    @Test func `every state of an empty list says what it is and what to do`() {
        func first(_ script: ViewerScript) -> String { script.lines[1...4].joined(separator: "|") }
        var script = ViewerScript(items: 0)
        #expect(first(script).contains("No notifications yet"))
        script.press(.character("f"))
        #expect(first(script).contains("No matches|  Esc shows the whole inbox."))
        script.press(.escape)
        #expect(first(script).contains("No notifications yet"))
        script.send(.status(tab: 0, InboxStatus(state: .connecting)))
        #expect(first(script).contains("Loading…"))
        script.send(.status(tab: 0, InboxStatus(state: .offline, retryAfter: 1_000, message: "nobody listens")))
        #expect(first(script).contains("Nothing is here yet, and the hub is away: nobody listens"))
        script.send(.status(tab: 0, InboxStatus(state: .stopped, message: "a wrong key")))
        #expect(first(script).contains("The hub refused: a wrong key|  Check --key"))

        var failing = ViewerModel(rows: 24, columns: 80, names: ["Mary"], query: DeliveredQuery())
        #expect(failing.screen.text.contains("Loading…"))
        _ = failing.begin()
        _ = failing.handle(.loaded(tab: 0, generation: 1, .failure(ViewerProblem(message: "the file is damaged"))))
        #expect(failing.screen.text.contains("Something went wrong: the file is damaged"))
        #expect(failing.screen.text.contains("peal inspect"))
    }

    @Test(arguments: [
        (InboxStatus(state: .live), "● live · 3 unread of 3"),
        (InboxStatus(state: .elsewhere), "● live (another process) · 3 unread of 3"),
        (InboxStatus(state: .connecting), "◌ connecting · 3 unread of 3"),
        (InboxStatus(state: .stalled), "◌ stalled · 3 unread of 3"),
        (
            InboxStatus(state: .offline, retryAfter: 5, message: "nobody listens"),
            "○ offline · 3 unread of 3 · nobody listens"
        ), (InboxStatus(state: .stopped, message: "no"), "✗ refused · 3 unread of 3 · no"),
    ])
    func `the status line says how the connection stands`(status: InboxStatus, text: String) {
        var script = ViewerScript()
        script.send(.status(tab: 0, status))
        #expect(script.lines[22] == " " + text)
    }

    @Test func `counts have commas, and what waits is told`() {
        var script = ViewerScript()
        let window = ViewerWindow(
            rows: [], counts: Counts(total: 1_000_000, unread: 12_345, unseen: 3), waiting: 4, dead: 1)
        script.isHeld = true
        script.send(.changed(tab: 0))
        script.send(.loaded(tab: 0, generation: 1, .success(window)))
        #expect(script.lines[22] == " ● live · 12,345 unread of 1,000,000 · outbox 4 · 1 refused")
    }

    @Test func `help has every key, also on a small terminal`() {
        var script = ViewerScript(rows: 12, columns: 40)
        script.type("?")
        #expect(script.lines[1].contains("down, up"))
        for _ in 0..<40 { script.press(.down) }
        #expect(script.screen.contains("q             quit"))
        script.press(.escape)
        #expect(script.model.mode == .list)
    }

    @Test
    func `whatever a publisher writes and whatever the size, no control character is shown and no row is too wide`() {
        var random = SystemRandomNumberGenerator()
        let some: [Unicode.Scalar] = [
            "\u{1B}", "\u{7}", "\n", "\r", "\t", "\u{7F}", "\u{9B}", "\u{85}", "\u{202E}", "\u{2066}", "\u{2069}",
            "\u{200F}",
            "\u{200D}", "\u{200B}", "\u{FE0F}", "\u{301}", "\u{20E3}", "a", "[", "m", " ", "日", "ש", "ع", "👨", "👩", "🏽",
            "🇩", "🇪", "\u{1100}", "\u{1161}", "\u{93F}", "\u{E0067}", "\u{FFFE}", "\u{10FFFF}", "\u{2028}", "\u{AD}",
            "1",
        ]
        for (rows, columns) in [(12, 40), (24, 80), (50, 200), (3, 2), (1, 1)] {
            for _ in 0..<40 {
                var text = String.UnicodeScalarView()
                for _ in 0..<Int.random(in: 0...60, using: &random) {
                    if let scalar = some.randomElement(using: &random) { text.append(scalar) }
                }
                let evil = String(text)
                var script = ViewerScript(rows: rows, columns: columns, names: [evil], items: 0)
                script.lists[0].add(
                    ViewerList.item(1, title: evil, content: evil, category: evil, type: evil, url: evil))
                script.send(.changed(tab: 0))
                script.send(.status(tab: 0, InboxStatus(state: .offline, retryAfter: 1, message: evil)))
                check(script)
                script.type("/" + evil.filter { !$0.isNewline })
                check(script)
                script.press(.escape, .enter)
                check(script)
                script.press(.escape)
                script.send(.notice(tab: 0, evil))
                check(script)
                script.type("o")
                check(script)
                script.type("c")
                check(script)
            }
        }
    }

    private func check(_ script: ViewerScript) {
        let screen = script.model.screen
        #expect(screen.lines.count == script.model.layout.rows)
        for line in screen.lines {
            let bad = line.text.unicodeScalars.first {
                TerminalText.isControl($0) || TerminalText.isDirectional($0) || TerminalText.width($0) == nil
            }
            #expect(bad == nil, "\(line.text.debugDescription)")
            let width = line.text.unicodeScalars.reduce(0) { $0 + (TerminalText.width($1) ?? 0) }
            #expect(width <= script.model.layout.columns, "\(line.text.debugDescription)")
            #expect(width == line.width)
        }
    }
}
