import PealModel
import Testing

/// Rows of every kind: plain ones, and those whose registers, facts or escapes take the long way.
private func rows() -> [SnapshotRow] {
    func register(_ on: Bool) -> Register {
        Register(value: on, passive: false, since: 7, rank: 9, itime: 5, author: .api, uid: 3)
    }
    func row(_ number: Position, publish: String = "pubid-1", change: (inout SnapshotRow) -> Void = { _ in })
        -> SnapshotRow
    {
        var row = SnapshotRow(
            id: ItemID(time: 1_700_000_000_000, counter: UInt64(number), random: 4), publish: publish,
            time: 12 + number,
            body: ItemBody(title: "a \"title\" é\n", content: "]}{[,\\", sent: 3).bytes[...],
            state: ItemState(position: number))
        change(&row)
        return row
    }
    return [
        row(9), row(8) { $0.state.seen = true }, row(7) { $0.state.read = register(true) },
        row(6) { $0.state.archived = register(false) },
        row(5) { $0.facts = [Fact(event: "opened", time: 3, data: Array(#"{"a":[1]}"#.utf8)[...])] },
        row(4, publish: "with \"quotes\""), row(3, publish: ""), row(2, publish: "é"), row(1),
    ]
}

private func text(_ rows: [SnapshotRow]) -> String {
    let page = Page(id: 9, at: 9, chain: 1, rows: rows, after: 0, last: true, rest: nil)
    return String(decoding: DownFrame.page(page).bytes, as: UTF8.self)
}

private func read(_ text: String) throws -> [SnapshotRow]? {
    guard case .page(let page) = try DownFrame(Array(text.utf8)[...]) else { return nil }
    return page.rows
}

@Suite struct PageRowTests {
    @Test func `rows are the same whichever way they are read`() throws {
        let rows = rows()
        #expect(try read(text(rows)) == rows)
        for count in 0...rows.count {
            #expect(try read(text(Array(rows[..<count]))) == Array(rows[..<count]))
        }
        // White space anywhere between tokens sends a row, or all of them, the long way.
        let compact = text(rows)
        for (token, spaced) in [
            (#""rows":["#, #""rows":[ "#), ("},{", "} , {"), (#"{"id":"#, #"{ "id" : "#), ("}]}", "} ] }"),
        ] {
            let other = compact.split(separator: token, omittingEmptySubsequences: false).joined(separator: spaced)
            #expect(other != compact)
            #expect(try read(other) == rows)
        }
    }

    @Test func `a quote and an escape are seen at every place of a body`() throws {
        for length in 0..<20 {
            for place in 0...length {
                for mark in ["\\\"", "\\\\", "\\u0041", "é", "}", "]"] {
                    let text =
                        String(repeating: "a", count: place) + mark + String(repeating: "b", count: length - place)
                    var row = rows()[0]
                    row.body = Array(#"{"sent":3,"title":"\#(text)","x":["\#(text)"]}"#.utf8)[...]
                    #expect(try read(PealModelTests.text([row])) == [row])
                }
            }
        }
    }

    @Test func `of two members of a name the first counts, and what is not known is ignored`() throws {
        let compact = text([rows()[8]])
        let plain = try read(compact)
        for member in [
            #""number":77"#, #""id":"x""#, #""seen":false"#, #""later":[{}]"#, #""time":1"#, #""publish":"p""#,
        ] {
            let close = compact.dropLast("}]}".count)
            #expect(try read(close + "," + member + "}]}") == plain, "\(member)")
        }
    }

    @Test(arguments: [#""number":1"#, #""id":"#, #""time":13"#, #""body":"#]) func `what a row lacks is an error`(
        _ member: String
    ) {
        let broken = text(rows()).split(separator: member, omittingEmptySubsequences: false)
            .joined(separator: #""other":"# + member.drop { $0 != ":" }.dropFirst())
        #expect(throws: FrameError.self) { _ = try read(broken) }
    }
}
