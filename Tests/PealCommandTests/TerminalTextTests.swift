import Testing

@testable import PealCommand

struct TerminalTextTests {
    @Test(arguments: [
        ("plain", "plain", 5), ("a\u{1B}[31mb", "a␛[31mb", 7), ("bell\u{7}", "bell␇", 5), ("del\u{7F}", "del␡", 4),
        ("c1\u{9B}2J", "c1\u{FFFD}2J", 5), ("a\r\nb\tc", "a b c", 5), ("over\u{202E}ride", "over\u{FFFD}ride", 9),
        ("iso\u{2067}late\u{2069}", "iso\u{FFFD}late\u{FFFD}", 9), ("mark\u{200F}s", "marks", 5),
        ("日本語", "日本語", 6), ("שלום", "שלום", 4), ("e\u{301}", "e\u{301}", 1), ("👍🏽", "👍", 2),
        ("👨‍👩‍👧!", "👨!", 3), ("❤️", "❤", 1), ("🇩🇪", "🇩🇪", 2), ("\u{301}x", "\u{25CC}\u{301}x", 2),
        ("한", "한", 2), ("می‌خواهم", "می‌خواهم", 7), ("soft\u{AD}hyphen", "softhyphen", 10),
        ("\u{10FFFF}", "\u{FFFD}", 1),
    ])
    func `text is made safe and measured`(text: String, safe: String, width: Int) {
        let line = TerminalText.line(text)
        #expect(Array(line.unicodeScalars) == Array(safe.unicodeScalars), "\(line.debugDescription)")
        #expect(TerminalText.width(line) == width)
    }

    @Test func `a heap of marks is cut down to what a cell holds`() {
        let line = TerminalText.line("a" + String(repeating: "\u{301}", count: 50) + "b")
        #expect(line.unicodeScalars.count == 5)
        #expect(TerminalText.width(line) == 2)
    }

    @Test func `cutting and filling go by columns, and never through a character`() {
        #expect(TerminalText.fit("日本語", 5) == "日本…")
        #expect(TerminalText.fit("日本語", 4) == "日… ")
        #expect(TerminalText.fit("abc", 5) == "abc  ")
        #expect(TerminalText.fit("abcdef", 3) == "ab…")
        #expect(TerminalText.fit("e\u{301}e\u{301}e\u{301}", 2) == "e\u{301}…")
        #expect(TerminalText.cut("abc", 0).isEmpty)
    }

    @Test func `text is broken between words, and where there are none anywhere`() {
        #expect(TerminalText.wrap("the quick brown fox", 10) == ["the quick", "brown fox"])
        #expect(TerminalText.wrap("abcdefghij", 4) == ["abcd", "efgh", "ij"])
        #expect(TerminalText.wrap("日本語日本語", 5) == ["日本", "語日", "本語"])
        #expect(TerminalText.wrap("", 5) == [""])
        #expect(TerminalText.wrap("one two three", 5, limit: 2) == ["one", "two"])
        #expect(TerminalText.wrap("x", 1).isEmpty)
    }

    @Test func `the table has a space where a terminal would obey`() {
        #expect(Output.safe("a\u{1B}[2Jb\u{9B}c\u{202E}d\ne") == "a [2Jb c d e")
    }
}
