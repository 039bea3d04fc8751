import PealModel
import Testing

@Test func `every later act on a deleted item is gone`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    #expect(inbox.act(.delete(items: [item(1)]), by: phone).outcome == .applied)
    let later: [PealModel.Operation] = [
        read(item(1)), shown(item(1)), .seen(items: [item(1)]), .archive(items: [item(1)], on: true),
        .delete(items: [item(1)]),
    ]
    for operation in later {
        let act = inbox.act(operation, by: tablet, observed: 1, at: inbox.now)
        #expect(act.outcome == .gone, "\(operation.name)")
        #expect(act.effect == .none, "\(operation.name)")
    }
    #expect(inbox.state.items[item(1)] == ItemState(position: 1, deleted: true))
    #expect(inbox.state.bodies[item(1)] == nil)
}

@Test func `delete wins over an edit that it had not seen and that is later`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(read(item(1)), by: phone, observed: 1, at: 900)
    #expect(inbox.act(.delete(items: [item(1)]), by: tablet, observed: 1, at: 100).outcome == .applied)
}

@Test func `an item that was never here is gone`() {
    var inbox = Inbox()
    let act = inbox.act(read(item(9)), by: phone)
    #expect(act.outcome == .gone)
    #expect(act.results.isEmpty)
}

@Test func `retract and expired delete as a person does`() {
    for why in ["retract", "expired"] {
        var inbox = Inbox()
        inbox.publish(item(1))
        inbox.append(.removed(items: [item(1)], why: why))
        #expect(inbox.act(read(item(1)), by: phone, observed: 1).outcome == .gone)
    }
}

@Test func `the whole outcome is the strongest, and the items that differ are listed`() {
    var inbox = Inbox()
    for number in 1...4 { inbox.publish(item(UInt64(number))) }
    inbox.act(.delete(items: [item(1)]), by: tablet)
    inbox.act(read(item(2), on: false), by: tablet, at: 900)
    inbox.act(read(item(3)), by: tablet, at: 100)
    let act = inbox.act(
        .read(items: [item(1), item(2), item(3), item(4)], on: true, passive: false), by: phone, observed: 4, at: 500)
    #expect(act.outcome == .applied)
    #expect(
        act.results == [
            ItemOutcome(items: [item(1)], outcome: .gone),
            ItemOutcome(items: [item(2)], outcome: Outcome(.superseded, author: tablet, position: 6)),
            ItemOutcome(items: [item(3)], outcome: .noop),
        ])
    #expect(
        act.effect
            == .read(items: [item(3), item(4)], on: true, passive: false, unseen: [], alsoSeen: [item(2)]))
}

@Test func `an act on no item is a noop`() {
    var inbox = Inbox()
    #expect(inbox.act(.delete(items: []), by: phone).outcome == .noop)
    #expect(inbox.act(.read(items: [], on: true, passive: false), by: phone).effect == .none)
}

@Test func `what cannot be understood is a dead letter with a sentence, and a void is not`() {
    var inbox = Inbox()
    let unknown = inbox.act(.malformed(reason: Operation.unknownReason), by: phone).outcome
    #expect(unknown.code == .unknownOp)
    #expect(unknown.reason != nil)
    #expect(unknown.isDead)
    let invalid = inbox.act(.malformed(reason: "'on' is missing"), by: phone).outcome
    #expect(invalid == Outcome(.invalid, reason: "'on' is missing"))
    let void = inbox.act(.void(reason: "row lost"), by: phone)
    #expect(void.outcome == Outcome(.void, reason: "row lost"))
    #expect(void.effect == .none)
    #expect(!void.outcome.isDead)
}

@Test func `an operation of another kind of inbox is unknown here`() {
    var inbox = Inbox()
    let operations: [PealModel.Operation] = [
        .interest(name: "a", on: true), .interests(replace: []), .token("t"), .end, .user(id: nil, proof: nil),
    ]
    for operation in operations {
        #expect(inbox.act(operation, by: phone).outcome.code == .unknownOp, "\(operation.name)")
    }
    var device = Inbox(device: true)
    let preference = PealModel.Operation.preference(category: "c", channel: "push", enabled: false)
    #expect(device.act(preference, by: phone).outcome.code == .unknownOp)
}
