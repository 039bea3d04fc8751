import PealModel
import Testing

@Test func `of each kind the first fact counts, with the hub's time`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    let answer = PealModel.Operation.track(item: item(1), event: "answered", data: raw(#"{"choice":"b"}"#))
    #expect(inbox.act(answer, by: phone, at: 5).outcome == .applied)
    let time = inbox.now
    let again = inbox.act(.track(item: item(1), event: "answered", data: raw("1")), by: tablet)
    #expect(again.outcome == .noop)
    #expect(again.effect == .none)
    #expect(inbox.act(.track(item: item(1), event: "opened", data: nil), by: tablet).outcome == .applied)
    #expect(
        inbox.state.facts[item(1)] == [
            Fact(event: "answered", time: time, data: raw(#"{"choice":"b"}"#)), Fact(event: "opened", time: inbox.now),
        ])
}

@Test func `a fact leaves the item as it is, and goes with it`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    let before = inbox.state.items
    inbox.act(.track(item: item(1), event: "clicked", data: nil), by: phone)
    #expect(inbox.state.items == before)
    inbox.act(.delete(items: [item(1)]), by: phone)
    #expect(inbox.state.facts.isEmpty)
    #expect(inbox.act(.track(item: item(1), event: "opened", data: nil), by: phone).outcome == .gone)
    #expect(inbox.act(.track(item: item(2), event: "opened", data: nil), by: phone).outcome == .gone)
}

@Test func `delivery and other words are no facts, and much data is too large`() {
    var inbox = Inbox(device: true)
    inbox.publish(item(1))
    for event in ["delivered", "", "Opened"] {
        #expect(inbox.act(.track(item: item(1), event: event, data: nil), by: phone).outcome.code == .invalid)
    }
    func track(_ count: Int) -> PealModel.Operation {
        .track(item: item(1), event: "answered", data: raw("\"" + String(repeating: "x", count: count - 2) + "\""))
    }
    #expect(inbox.act(track(Limits.factData + 1), by: phone).outcome.code == .tooLarge)
    #expect(inbox.act(track(Limits.factData), by: phone).outcome == .applied)
}

@Test func `a read that loses to somebody's unread has been seen all the same`() {
    for passive in [true, false] {
        var inbox = Inbox()
        inbox.publish(item(1))
        inbox.publish(item(2))
        inbox.act(read(item(1), on: false), by: phone, observed: 2, at: 900)
        #expect(!inbox.isSeen(item(1)))
        let alone = inbox.resolve(
            .read(items: [item(1)], on: true, passive: passive), by: tablet, observed: 2, at: 100)
        #expect(alone.outcome == Outcome(.superseded, author: phone, position: 3))
        #expect(alone.effect == .seen(items: [item(1)]))
        inbox.act(.read(items: [item(1), item(2)], on: true, passive: passive), by: tablet, observed: 2, at: 100)
        #expect(!inbox.isRead(item(1)))
        #expect(inbox.isSeen(item(1)))
        #expect(inbox.isRead(item(2)))
    }
}

@Test func `where a mark of somebody else stands, it is the mark that is named`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(read(item(1), on: false), by: phone, at: 900)
    inbox.act(.mark(.read, upTo: 1), by: laptop)
    // The tablet wants what the phone wanted; what keeps the item read is the laptop's mark.
    let act = inbox.act(read(item(1), on: false), by: tablet, observed: 1, at: 100)
    #expect(act.outcome == Outcome(.superseded, author: laptop, position: 3))
}

@Test func `a device's token, user and end are taken in the order of arrival, and a user only with a proof`() {
    var inbox = Inbox(device: true)
    #expect(
        inbox.act(.token("t", platform: "fcm"), by: phone).effect == .token("t", platform: "fcm"))
    #expect(inbox.act(.token(""), by: phone).effect == .token("", platform: nil))
    #expect(inbox.act(.token("t", platform: "smoke"), by: phone).outcome.code == .invalid)
    let long = String(repeating: "x", count: Limits.token + 1)
    #expect(inbox.act(.token(long), by: phone).outcome.code == .tooLarge)
    #expect(inbox.act(.user(id: "anna", proof: "p"), by: phone).outcome.code == .denied)
    let mutation = Mutation(
        n: 9, uid: 9, observed: 0, observedTime: 0, moment: .age(0), operation: .user(id: "anna", proof: "p"))
    #expect(
        Resolver.resolve(mutation, by: phone, in: inbox.state, now: 0, isProven: true).effect == .user(id: "anna"))
    #expect(inbox.act(.user(id: nil, proof: nil), by: phone).effect == .user(id: nil))
    #expect(inbox.act(.user(id: "", proof: "p"), by: phone).outcome.code == .invalid)
    inbox.act(.interest(name: "a", on: true), by: phone)
    #expect(inbox.act(.end, by: phone).effect == .end)
    #expect(inbox.state.interests() == [])
}
