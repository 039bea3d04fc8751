import PealModel
import Testing

@Test func `an act that had seen the current value is accepted, whatever the clocks say`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(read(item(1)), by: phone, at: inbox.now)
    let act = inbox.act(read(item(1), on: false), by: tablet, at: 0)
    #expect(act.outcome == .applied)
    #expect(act.effect == .read(items: [item(1)], on: false, passive: false, unseen: []))
    #expect(!inbox.isRead(item(1)))
}

@Test func `an author's own acts stand in the order in which they arrive, although the second has a stale view`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(read(item(1)), by: phone, at: inbox.now)
    let act = inbox.act(read(item(1), on: false), by: phone, observed: 1, at: 0)
    #expect(act.outcome == .applied)
    #expect(!inbox.isRead(item(1)))
}

@Test func `a uid that an author has sent as a duplicate is its own`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(read(item(1)), by: phone, at: inbox.now, uid: 77)
    // After a clone the same act arrives from the tablet too; the hub answers `duplicate` without an effect.
    let duplicate = Act(author: tablet, n: 1, uid: 77, itime: 0, outcome: .duplicate)
    #expect(inbox.resolve(read(item(1), on: false), by: tablet, observed: 1, at: 0).outcome.code == .superseded)
    inbox.append(.act(duplicate))
    #expect(inbox.act(read(item(1), on: false), by: tablet, observed: 1, at: 0).outcome == .applied)
}

@Test func `of two concurrent acts the later intent wins, in either order of arrival`() {
    for late in [true, false] {
        var inbox = Inbox()
        inbox.publish(item(1))
        let (first, second): (Milliseconds, Milliseconds) = late ? (500, 600) : (600, 500)
        inbox.act(read(item(1)), by: phone, observed: 1, at: first)
        let act = inbox.act(read(item(1), on: false), by: tablet, observed: 1, at: second)
        #expect(inbox.isRead(item(1)) == !late)
        #expect(act.outcome == (late ? .applied : Outcome(.superseded, author: phone, position: 2)))
        #expect((act.effect == .none) == !late)
    }
}

@Test func `of two concurrent acts with one intent time the current value stays`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(read(item(1)), by: phone, observed: 1, at: 500)
    #expect(inbox.act(read(item(1), on: false), by: tablet, observed: 1, at: 500).outcome.code == .superseded)
    #expect(inbox.isRead(item(1)))
}

@Test func `a passive act loses to a concurrent deliberate one, though it is later`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(read(item(1), on: false), by: phone, observed: 1, at: 500)
    let act = inbox.act(shown(item(1)), by: tablet, observed: 1, at: 900)
    #expect(act.outcome == Outcome(.superseded, author: phone, position: 2))
    #expect(!inbox.isRead(item(1)))
}

@Test func `a deliberate act wins over a concurrent passive one, though it is earlier`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(shown(item(1)), by: phone, observed: 1, at: 900)
    #expect(inbox.act(read(item(1), on: false), by: tablet, observed: 1, at: 500).outcome == .applied)
    #expect(!inbox.isRead(item(1)))
}

@Test func `a passive act that had seen the deliberate one is accepted`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(read(item(1), on: false), by: phone, at: 500)
    #expect(inbox.act(shown(item(1)), by: tablet, at: 900).outcome == .applied)
    #expect(inbox.isRead(item(1)))
}

@Test func `an accepted act of the same value rewrites the register and is a noop`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(read(item(1)), by: phone, at: 100, uid: 1)
    let act = inbox.act(read(item(1)), by: tablet, at: 700, uid: 2)
    #expect(act.outcome == .noop)
    #expect(
        inbox.state.items[item(1)]?.read
            == Register(value: true, passive: false, since: 3, rank: 3, itime: 700, author: tablet, uid: 2))
}

@Test func `an old act of the other value does not slip past what a person has just confirmed`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(read(item(1)), by: phone, at: 100)
    inbox.act(read(item(1)), by: tablet, at: 700)
    // The laptop had seen the phone's act at 2 and not the tablet's confirmation at 3.
    #expect(
        inbox.act(read(item(1), on: false), by: laptop, observed: 2, at: 400).outcome
            == Outcome(.superseded, author: tablet, position: 3))
    #expect(inbox.isRead(item(1)))
}

@Test func `a passive repeat rewrites nothing`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(read(item(1)), by: phone, at: 100, uid: 1)
    let before = inbox.state.items[item(1)]?.read
    let act = inbox.act(shown(item(1)), by: tablet, at: 700)
    #expect(act.outcome == .noop)
    #expect(act.effect == .none)
    #expect(inbox.state.items[item(1)]?.read == before)
}

@Test func `a concurrent act of the same value that does not win is a noop without an effect`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(read(item(1)), by: phone, observed: 1, at: 700)
    let act = inbox.act(read(item(1)), by: tablet, observed: 1, at: 100)
    #expect(act.outcome == .noop)
    #expect(act.effect == .none)
}

@Test func `unread on an untouched item is a noop that a later unseeing mark spares`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    #expect(inbox.act(read(item(1), on: false), by: phone).outcome == .noop)
    inbox.act(.mark(.read, upTo: 1), by: tablet, observed: 1)
    #expect(!inbox.isRead(item(1)))
}

@Test func `nobody has seen more than there is`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(read(item(1)), by: phone, observed: .max, at: 700)
    #expect(inbox.state.items[item(1)]?.read?.since == 2)
    // An `observed` above the head is the head at that moment; the act at 3 was not seen by an act that says 2.
    inbox.act(read(item(1)), by: tablet, observed: 2, at: 700)
    #expect(inbox.act(read(item(1), on: false), by: laptop, observed: 2, at: 1).outcome.code == .superseded)
}

@Test func `an act through the API is an author like a replica, and all such acts are one author`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    let act = inbox.act(read(item(1)), by: .api, at: 700)
    #expect(act.n == nil)
    #expect(inbox.act(read(item(1), on: false), by: .api, observed: 1, at: 1).outcome == .applied)
    inbox.act(read(item(1)), by: .api, at: 700)
    #expect(
        inbox.act(read(item(1), on: false), by: phone, observed: 1, at: 1).outcome
            == Outcome(.superseded, author: .api, position: 4))
}

@Test func `read implies seen, and unread leaves seen as it was`() {
    var inbox = Inbox()
    for number in 1...3 { inbox.publish(item(UInt64(number))) }
    inbox.act(read(item(1)), by: phone)
    inbox.act(.seen(items: [item(2)]), by: phone)
    let act = inbox.act(.read(items: [item(1), item(2), item(3)], on: false, passive: false), by: phone)
    #expect(
        act.effect == .read(items: [item(1), item(2), item(3)], on: false, passive: false, unseen: [item(3)]))
    #expect([1, 2, 3].map { inbox.isSeen(item($0)) } == [true, true, false])
    #expect(act.outcome == .applied)
    #expect(act.results == [ItemOutcome(items: [item(2), item(3)], outcome: .noop)])
}

@Test func `seen on what is seen already is a noop`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.publish(item(2))
    inbox.act(.mark(.seen, upTo: 1), by: phone)
    let act = inbox.act(.seen(items: [item(1), item(2), item(2)]), by: phone)
    #expect(act.effect == .seen(items: [item(2)]))
    #expect(act.results == [ItemOutcome(items: [item(1)], outcome: .noop)])
    #expect(inbox.act(.seen(items: [item(1)]), by: phone).effect == .none)
}

@Test func `archive is a register of its own and has no passive form`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(.archive(items: [item(1)], on: true), by: phone, observed: 1, at: 500)
    #expect(inbox.isArchived(item(1)))
    #expect(!inbox.isRead(item(1)))
    #expect(!inbox.isSeen(item(1)))
    #expect(
        inbox.act(.archive(items: [item(1)], on: false), by: tablet, observed: 1, at: 400).outcome.code == .superseded)
    #expect(inbox.act(.archive(items: [item(1)], on: false), by: tablet, observed: 1, at: 600).outcome == .applied)
    #expect(!inbox.isArchived(item(1)))
}
