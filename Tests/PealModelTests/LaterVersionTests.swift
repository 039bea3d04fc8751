import PealModel
import Testing

private let act = #""by":"api","uid":"0000000000000001","itime":1,"outcome":{"code":"applied"}"#

@Test func `an entry of a later version's kind is kept apart and moves the head`() throws {
    let entry = try Entry(raw(#"{"kind":"weather","time":5,"version":3}"#))
    #expect(entry == Entry(time: 5, kind: .unknown("weather")))
    var state = InboxState()
    state.fold(entry)
    #expect(state.head == 1)
}

@Test func `an act with a later version's effect is kept apart and not quarantined`() throws {
    let entry = try Entry(raw(#"{"kind":"act","time":5,\#(act),"effect":{"set":"mood","category":"c"}}"#))
    #expect(entry == Entry(time: 5, kind: .unknown("act")))
}

@Test func `an effect that is known and broken is an error`() {
    for effect in [
        #"{"set":"read","on":true}"#, #"{"items":[]}"#, #"{"set":7}"#, "[]", #"{"set":"mark","kind":"x","upTo":1}"#,
    ] {
        #expect(throws: JSONError.self) { try Entry(raw(#"{"kind":"act","time":5,\#(act),"effect":\#(effect)}"#)) }
    }
}

@Test func `members of a later version are ignored`() throws {
    let entry = try Entry(raw(#"{"kind":"retract","time":5,"items":[],"because":{"x":1}}"#))
    #expect(entry == Entry(time: 5, kind: .removed(items: [], why: "retract")))
    #expect(try UpFrame(raw(#"{"type":"got","to":4,"mood":"good"}"#)) == .got(to: 4))
}

@Test func `an outcome of a later version is a success that is kept as it is`() throws {
    let entry = try Entry(
        raw(#"{"kind":"act","time":5,"by":"api","uid":"0000000000000001","itime":1,"outcome":{"code":"later"}}"#))
    guard case .act(let act) = entry.kind else {
        Issue.record("no act")
        return
    }
    #expect(act.outcome.code.rawValue == "later")
    #expect(!act.outcome.isDead)
}

@Test func `an operation of a later version can still be settled by its number`() throws {
    let push =
        #"{"type":"push","mutations":[{"n":4,"uid":"0000000000000009","observed":1,"age":0,"op":{"op":"star"}}]}"#
    guard case .push(let mutations) = try UpFrame(raw(push)) else {
        Issue.record("no push")
        return
    }
    #expect(mutations[0].n == 4)
    #expect(mutations[0].operation == .malformed(reason: Operation.unknownReason))
}

@Test func `a broken operation is settled as invalid, a broken envelope ends the session`() throws {
    func push(_ mutation: String) throws(FrameError) -> UpFrame {
        try UpFrame(raw(#"{"type":"push","mutations":[\#(mutation)]}"#))
    }
    for operation in [
        #"{"op":"read","items":[]}"#, #"{"op":"read","items":["x"],"on":true}"#,
        #"{"op":"mark","kind":"all","upTo":1}"#,
        #"{"op":"mark","kind":"read"}"#, #"{}"#, #"{"op":7}"#, #"{"op":"track","item":"x","event":"opened"}"#,
        #"{"op":"interests","replace":[1]}"#,
    ] {
        guard
            case .push(let mutations) = try push(
                #"{"n":4,"uid":"0000000000000009","observed":1,"age":0,"op":\#(operation)}"#),
            case .malformed(let reason) = mutations[0].operation
        else {
            Issue.record("\(operation)")
            continue
        }
        #expect(reason != Operation.unknownReason)
    }
    for envelope in [
        #"{"uid":"0000000000000009","observed":1,"age":0,"op":{"op":"end"}}"#,
        #"{"n":4,"uid":"9","observed":1,"age":0,"op":{"op":"end"}}"#,
        #"{"n":4,"uid":"0000000000000009","age":0,"op":{"op":"end"}}"#,
        #"{"n":4,"uid":"0000000000000009","observed":1,"op":{"op":"end"}}"#, "4", "[]",
    ] {
        #expect(throws: FrameError.self) { try push(envelope) }
    }
}

@Test func `limits of a frame are refused with their own close codes`() throws {
    let mutation = #"{"n":4,"uid":"0000000000000009","observed":1,"age":0,"op":{"op":"end"}}"#
    func push(_ count: Int) -> RawJSON {
        raw(#"{"type":"push","mutations":[\#(Array(repeating: mutation, count: count).joined(separator: ","))]}"#)
    }
    #expect(throws: Never.self) { try UpFrame(push(100)) }
    #expect(throws: FrameError(.protocolError, "'mutations' has 101, at most 100 go in one push")) {
        try UpFrame(push(101))
    }
    let frame = #"{"type":"ping"}"#
    let full = frame + String(repeating: " ", count: 65_536 - frame.utf8.count)
    #expect(try UpFrame(raw(full)) == .ping)
    #expect(throws: FrameError(.frameTooLarge, "a frame of 65537 bytes; at most 65536 go up")) {
        try UpFrame(raw(full + " "))
    }
}

@Test func `five hundred items go in one mutation, and one more is too many`() throws {
    for (count, valid) in [(500, true), (501, false)] {
        let mutation = Mutation(
            n: 1, uid: 1, observed: 0, observedTime: 0, moment: .age(0),
            operation: .seen(items: (0..<count).map { item(UInt64($0)) }))
        let bytes = UpFrame.push([mutation]).bytes
        #expect(bytes.count < Limits.frameUp)
        guard case .push(let decoded) = try UpFrame(bytes[...]) else { continue }
        #expect((decoded[0] == mutation) == valid)
        #expect(
            valid
                || decoded[0].operation
                    == .malformed(reason: Operation.tooManyReason)
        )
        var inbox = Inbox()
        #expect(valid || inbox.act(decoded[0].operation, by: phone).outcome.code == .tooLarge)
    }
}
