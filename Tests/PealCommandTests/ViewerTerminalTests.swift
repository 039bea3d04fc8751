import Foundation
import Testing

/// `peal inbox` on a real terminal, with a hub beside it.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct ViewerTerminalTests {
    private static let path = "/usr/local/bin:/usr/bin:/bin"

    private func publish(_ hub: HubProcess, _ title: String, _ more: String..., to user: String = "Mary") throws {
        let finished = try Peal.run(
            ["publish", "--title", title, "--user", user] + more, environment: hub.publisher)
        #expect(finished.status == 0, "\(finished.errors)")
    }

    private func viewer(_ device: Directory, _ more: String...) -> [String] {
        [Peal.binary.path, "inbox", "--user", "Mary", "--directory", device.path] + more
    }

    private func terminal(_ hub: HubProcess, columns: Int, rows: Int, _ more: [String: String] = [:]) throws -> Tmux {
        try Tmux(columns: columns, rows: rows, environment: hub.environment.merging(more) { $1 })
    }

    @Test(arguments: [(40, 12), (80, 24), (200, 50)])
    func `keys change the screen, live items come in, and quitting gives the terminal back`(
        columns: Int, rows: Int
    ) async throws {
        let hub = try HubProcess()
        let device = try Directory()
        for number in 1...3 { try publish(hub, "Item \(number)", "--body", "Text of \(number)") }
        let tmux = try terminal(hub, columns: columns, rows: rows)
        try tmux.command(viewer(device))
        try await tmux.wait("three items") { $0.contains("Item 3") && $0.contains("● live · 3 unread of 3") }
        #expect(try tmux.rows().count == rows)
        try tmux.press("j")
        try await tmux.wait("the second row") { Self.selected($0)?.contains("Item 2") == true }
        try publish(hub, "Item 4")
        try await tmux.wait("a live item") { $0.contains("Item 4") && $0.contains("4 unread of 4") }
        #expect(Self.selected(try tmux.screen())?.contains("Item 2") == true)
        try tmux.press("d")
        try await tmux.wait("a row less") { Self.selected($0)?.contains("Item 1") == true && !$0.contains("Item 2") }
        try tmux.press("U")
        try await tmux.wait("it to be back") { Self.selected($0)?.contains("Item 2") == true }
        try tmux.press("Enter")
        try await tmux.wait("it to be open") { $0.contains(" · read") && $0.contains("Text of 2") }
        try tmux.press("Escape")
        try await tmux.wait(for: "3 unread of 4")
        try tmux.press("q")
        try await tmux.wait("the shell's screen") { $0.contains("$ ") && !$0.contains("unread of") }
        // The modes are those of before: what is typed is echoed, and lines are lines.
        try tmux.command(["stty", "-a"])
        try await tmux.wait("sane modes", until: Self.isSane)
    }

    @Test func `a hub that goes away and comes back is told in the status line, and acts wait meanwhile`() async throws
    {
        let hub = try HubProcess()
        let device = try Directory()
        try publish(hub, "Item 1")
        let tmux = try terminal(hub, columns: 80, rows: 24)
        try tmux.command(viewer(device))
        try await tmux.wait(for: "● live · 1 unread of 1")
        hub.stop()
        try await tmux.wait(for: "○ offline")
        try tmux.press("r")
        try await tmux.wait("the act to wait") { $0.contains("0 unread of 1 · outbox 1") }
        try hub.start()
        try await tmux.wait("the act to be sent", seconds: 60) {
            $0.contains("● live · 0 unread of 1") && !$0.contains("outbox")
        }
        try publish(hub, "Item 2")
        try await tmux.wait(for: "Item 2")
    }

    @Test func `a new size is taken over, and back`() async throws {
        let hub = try HubProcess()
        let device = try Directory()
        for number in 1...30 { try publish(hub, "Item \(number)") }
        let tmux = try terminal(hub, columns: 80, rows: 24)
        try tmux.command(viewer(device))
        try await tmux.wait(for: "30 unread of 30")
        try tmux.press("j", "j", "j", "j", "j", "j", "j", "j", "j", "j")
        try await tmux.wait("the eleventh") { Self.selected($0)?.contains("Item 20") == true }
        try tmux.resize(columns: 40, rows: 8)
        try await tmux.wait("a small screen") { screen in
            let lines = screen.split(separator: "\n")
            return Self.selected(screen)?.contains("Item 20") == true && lines.last?.hasPrefix(" ? help") == true
        }
        #expect(try tmux.rows().count == 8)
        try tmux.resize(columns: 200, rows: 50)
        try await tmux.wait("a large screen") { $0.contains("│") && $0.contains("Item 1 ") }
        #expect(Self.selected(try tmux.screen())?.contains("Item 20") == true)
    }

    @Test func `wide characters, marks and right-to-left text leave every row in its place, and nothing is obeyed`()
        async throws
    {
        let hub = try HubProcess()
        let device = try Directory()
        let titles = [
            "plain", "日本語のお知らせ", "שלום עולם", "مرحبا", "👨‍👩‍👧 family 👍🏽", "e\u{301}clair", "a\u{1B}[2J\u{1B}]0;owned\u{7}b",
            "over\u{202E}ride",
        ]
        for title in titles { try publish(hub, title, "--category", "c", "--body", "END") }
        let tmux = try terminal(hub, columns: 80, rows: 24)
        try tmux.command(viewer(device))
        try await tmux.wait(for: "8 unread of 8")
        let rows = try tmux.rows()
        let list = rows[1...8]
        for row in list {
            #expect(row.dropFirst(1).hasPrefix("●  "), "\(row)")
            #expect(row.hasSuffix("END"), "\(row)")
        }
        #expect(list.contains { $0.contains("a␛[2J␛]0;owned␇b") })
        #expect(list.contains { $0.contains("over\u{FFFD}ride") })
        #expect(list.contains { $0.contains("日本語のお知らせ") })
        #expect(list.contains { $0.contains("👨 family 👍") })
        try tmux.press("q")
    }

    @Test func `colours are there, and not where NO_COLOR is set`() async throws {
        let hub = try HubProcess()
        let device = try Directory()
        try publish(hub, "Item 1")
        for (variables, isColoured) in [
            (["TERM": "screen-256color"], true), (["TERM": "screen-256color", "NO_COLOR": "1"], false),
        ] {
            let tmux = try terminal(hub, columns: 80, rows: 24, variables)
            try tmux.command(viewer(device))
            try await tmux.wait(for: "● live")
            let looks = try tmux.screen(withLooks: true)
            #expect(looks.contains("38;5;") == isColoured, "\(looks.debugDescription)")
            // Bold and reverse are no colours.
            #expect(looks.contains("\u{1B}[1;7m") || looks.contains("\u{1B}[7m") || isColoured)
            try tmux.press("q")
            try await tmux.wait("the end") { !$0.contains("● live") }
        }
    }

    @Test func `a search, two users and the device stand side by side`() async throws {
        let hub = try HubProcess()
        let device = try Directory()
        for title in ["red apple", "green pear", "green apple"] { try publish(hub, title) }
        try publish(hub, "for Bob", to: "Bob")
        let tmux = try terminal(hub, columns: 80, rows: 24)
        try tmux.command(viewer(device, "--user", "Bob", "--device"))
        try await tmux.wait("three tabs") { $0.contains(" 1 Mary ●3  2 Bob ●1  3 this device") }
        try tmux.type("/green")
        try await tmux.wait(for: "Search: green")
        try tmux.press("Enter")
        try await tmux.wait("what was found") { $0.contains("green pear") && !$0.contains("red apple") }
        try tmux.press("Escape")
        try await tmux.wait(for: "red apple")
        try tmux.press("Tab")
        try await tmux.wait(for: "for Bob")
        try tmux.press("Tab")
        try await tmux.wait(for: "No notifications yet")
        try tmux.press("q")
    }

    @Test(arguments: ["INT", "TERM", "HUP", "SEGV", "TRAP"])
    func `a signal or a crash gives the terminal back`(signal: String) async throws {
        let device = try Directory()
        // The backtracer would take what is typed next.
        let tmux = try Tmux(columns: 80, rows: 24, environment: ["SWIFT_BACKTRACE": "enable=no"])
        try tmux.command(viewer(device, "--key", "k", "--offline"))
        try await tmux.wait(for: "Nothing is here yet")
        let found = try Self.pid(of: device)
        kill(found, ["INT": SIGINT, "TERM": SIGTERM, "HUP": SIGHUP, "SEGV": SIGSEGV, "TRAP": SIGTRAP][signal] ?? 0)
        try await tmux.wait("the shell") { $0.contains("$ ") && !$0.contains("unread of") }
        try tmux.command(["stty", "-a"])
        try await tmux.wait("sane modes", until: Self.isSane)
    }

    @Test func `it can be suspended and goes on`() async throws {
        let device = try Directory()
        let tmux = try Tmux(columns: 80, rows: 24)
        try tmux.command(["set", "-m"])
        try tmux.command(viewer(device, "--key", "k", "--offline"))
        try await tmux.wait(for: "Nothing is here yet")
        try tmux.press("C-z")
        try await tmux.wait("the shell") { !$0.contains("Nothing is here yet") && $0.contains("$ ") }
        try tmux.command(["echo", "sane"])
        try await tmux.wait(for: "\nsane")
        try tmux.command(["fg"])
        try await tmux.wait(for: "Nothing is here yet")
        try tmux.press("q")
        try await tmux.wait("the end") { !$0.contains("Nothing is here yet") }
    }

    @Test func `a terminal that can do nothing, and a pipe, get the table`() async throws {
        let device = try Directory()
        let tmux = try Tmux(columns: 80, rows: 24, environment: ["TERM": "dumb"])
        try tmux.command(viewer(device, "--key", "k", "--offline"))
        try await tmux.wait(for: "No notifications")
        let other = try Tmux(columns: 80, rows: 24, environment: ["TERM": "no-such-terminal"])
        try other.command(viewer(device, "--key", "k", "--offline"))
        try await other.wait("a note and the table") {
            $0.contains("The terminal 'no-such-terminal' cannot show the viewer") && $0.contains("No notifications")
        }
        let plain = try Tmux(columns: 80, rows: 24)
        try plain.command(viewer(device, "--key", "k", "--offline", "--plain"))
        try await plain.wait(for: "0 listed, 0 unread, 0 unseen")
        let piped = try Peal.run(
            "inbox", "--user", "Mary", "--key", "k", "--offline", "--directory", device.path)
        #expect(piped.output == "0 listed, 0 unread, 0 unseen\nNo notifications\n")
        let two = try Peal.run(
            "inbox", "--user", "Mary", "--user", "Bob", "--key", "k", "--offline", "--directory", device.path)
        #expect(two.status == 2)
    }

    // MARK: Parts

    /// The row that is selected.
    private static func selected(_ screen: String) -> Substring? {
        screen.split(separator: "\n").first { $0.hasPrefix("›") }
    }

    /// Whether `stty -a` says that lines are lines and are echoed.
    private static func isSane(_ screen: String) -> Bool {
        Set(screen.split(whereSeparator: \.isWhitespace)).isSuperset(of: ["icanon", "echo", "isig", "icrnl", "opost"])
    }

    /// The process that has a directory in its words.
    private static func pid(of directory: Directory) throws -> pid_t {
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") {
            guard let pid = pid_t(name), let words = FileManager.default.contents(atPath: "/proc/\(name)/cmdline")
            else {
                continue
            }
            let text = String(decoding: words, as: UTF8.self)
            if text.hasPrefix(Peal.binary.path), text.contains(directory.path) { return pid }
        }
        throw Failure(message: "no viewer runs")
    }
}
