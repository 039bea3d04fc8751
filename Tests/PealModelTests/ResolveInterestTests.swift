import PealModel
import Testing

@Test func `interests are added, removed and replaced literally, in the order of arrival`() {
    var inbox = Inbox(device: true)
    #expect(inbox.act(.interest(name: "news", on: true), by: phone).effect == .interest(name: "news", on: true))
    #expect(inbox.act(.interest(name: "news", on: true), by: phone).outcome == .noop)
    #expect(inbox.act(.interest(name: "sport", on: false), by: phone).outcome == .noop)
    #expect(inbox.act(.interests(replace: ["b", "a", "b"]), by: phone).effect == .interests(["a", "b"]))
    #expect(inbox.state.interests() == ["a", "b"])
    #expect(inbox.act(.interests(replace: ["b", "a"]), by: phone).outcome == .noop)
    #expect(inbox.act(.interests(replace: []), by: phone).outcome == .applied)
    #expect(inbox.state.interests() == [])
}

@Test func `an interest that breaks the naming rule is invalid`() {
    var inbox = Inbox(device: true)
    let longest = String(repeating: "x", count: 164)
    #expect(inbox.act(.interest(name: "aZ09_-=@,.;", on: true), by: phone).outcome == .applied)
    #expect(inbox.act(.interest(name: longest, on: true), by: phone).outcome == .applied)
    for name in ["", "a b", "ä", "a/b", longest + "x"] {
        #expect(inbox.act(.interest(name: name, on: true), by: phone).outcome.code == .invalid)
        #expect(inbox.act(.interests(replace: ["ok", name]), by: phone).outcome.code == .invalid)
    }
}

@Test func `more interests than a device may have are too large`() {
    var inbox = Inbox(device: true)
    let all = (1...5_000).map { "i\($0)" }
    #expect(inbox.act(.interests(replace: all), by: phone).outcome == .applied)
    #expect(inbox.act(.interest(name: "more", on: true), by: phone).outcome.code == .tooLarge)
    #expect(inbox.act(.interests(replace: all + ["more"]), by: phone).outcome.code == .tooLarge)
    #expect(inbox.act(.interest(name: "i1", on: false), by: phone).outcome == .applied)
}
