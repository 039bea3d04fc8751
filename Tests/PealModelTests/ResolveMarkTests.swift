import PealModel
import Testing

private func effect(_ act: Act) -> (upTo: Position, except: [ItemID])? {
    guard case .mark(_, let upTo, let except) = act.effect else { return nil }
    return (upTo, except)
}

@Test func `a mark reaches no item above what its user had seen, whenever it arrives`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.publish(item(2))
    let act = inbox.act(.mark(.read, upTo: 99), by: phone, observed: 1)
    #expect(act.effect == .mark(.read, upTo: 1, except: []))
    #expect(inbox.isRead(item(1)))
    #expect(!inbox.isRead(item(2)))
}

@Test func `a mark's own limit holds below what its user had seen`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.publish(item(2))
    #expect(inbox.act(.mark(.read, upTo: 1), by: phone).effect == .mark(.read, upTo: 1, except: []))
    #expect(!inbox.isRead(item(2)))
}

@Test func `a mark by somebody who had seen nothing is a noop`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    for (upTo, observed) in [(1, 0), (0, 1), (-5, 1), (1, -5)] as [(Position, Position)] {
        let act = inbox.act(.mark(.read, upTo: upTo), by: phone, observed: observed)
        #expect(act.outcome == .noop)
        #expect(act.effect == .none)
    }
}

@Test func `a mark spares the opposite single choice that its user had not seen, and no other`() {
    var inbox = Inbox()
    for number in 1...4 { inbox.publish(item(UInt64(number))) }
    inbox.act(read(item(1), on: false), by: tablet)  // 5: seen by the mark's user
    inbox.act(read(item(2), on: false), by: tablet)  // 6: not seen
    inbox.act(read(item(3), on: false), by: phone)  // 7: not seen, but the user's own
    let act = inbox.act(.mark(.read, upTo: 4), by: phone, observed: 5)
    #expect(act.effect == .mark(.read, upTo: 4, except: [item(2)]))
    #expect([1, 2, 3, 4].map { inbox.isRead(item($0)) } == [true, false, true, true])
}

@Test func `a spared choice keeps the position of its act and rises in rank`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(read(item(1), on: false), by: tablet)
    inbox.act(.mark(.read, upTo: 1), by: phone, observed: 1)
    #expect(inbox.state.items[item(1)]?.read?.since == 2)
    #expect(inbox.state.items[item(1)]?.read?.rank == 3)
    // A mark whose user had seen the choice overrides it, although the choice has outlived one that had not.
    #expect(inbox.act(.mark(.read, upTo: 1), by: laptop, observed: 2).effect == .mark(.read, upTo: 1, except: []))
    #expect(inbox.isRead(item(1)))
}

@Test func `a mark does not take back another mark that had seen the choice`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(read(item(1), on: false), by: phone)
    inbox.act(.mark(.read, upTo: 1), by: phone)
    #expect(inbox.isRead(item(1)))
    // The tablet had seen neither. The phone's unread no longer stands, so there is nothing to spare.
    let act = inbox.act(.mark(.read, upTo: 1), by: tablet, observed: 1)
    #expect(act.effect == .mark(.read, upTo: 1, except: []))
    #expect(inbox.isRead(item(1)))
}

@Test func `read-all raises seen-all, and the other marks leave read alone`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(.mark(.archive, upTo: 1), by: phone)
    #expect(inbox.isArchived(item(1)))
    #expect(!inbox.isSeen(item(1)))
    inbox.act(.mark(.seen, upTo: 1), by: phone)
    #expect(inbox.isSeen(item(1)))
    #expect(!inbox.isRead(item(1)))
    let second = inbox.publish(item(2))
    inbox.act(.mark(.read, upTo: second), by: phone)
    #expect(inbox.isSeen(item(2)))
    #expect(inbox.isRead(item(2)))
    #expect(!inbox.isArchived(item(2)))
}

@Test func `seen-all has no exceptions, and archive-all spares an unseen unarchive`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(read(item(1), on: false), by: tablet)
    inbox.act(.archive(items: [item(1)], on: false), by: tablet)
    #expect(inbox.act(.mark(.seen, upTo: 1), by: phone, observed: 1).effect == .mark(.seen, upTo: 1, except: []))
    #expect(
        inbox.act(.mark(.archive, upTo: 1), by: phone, observed: 1).effect
            == .mark(.archive, upTo: 1, except: [item(1)]))
    #expect(!inbox.isArchived(item(1)))
}

@Test func `a deleted item is no exception`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(read(item(1), on: false), by: tablet)
    inbox.act(.delete(items: [item(1)]), by: tablet)
    #expect(inbox.act(.mark(.read, upTo: 1), by: phone, observed: 1).effect == .mark(.read, upTo: 1, except: []))
}

@Test func `the exceptions are sorted, so that one log has one encoding`() {
    var inbox = Inbox()
    for number in 1...9 { inbox.publish(item(UInt64(number))) }
    for number in [5, 2, 8, 1] as [UInt64] { inbox.act(read(item(number), on: false), by: tablet) }
    #expect(effect(inbox.act(.mark(.read, upTo: 9), by: phone, observed: 9))?.except == [1, 2, 5, 8].map(item))
}

@Test func `registers are judged against registers only, so an unread that had not seen a mark stands above it`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(.mark(.read, upTo: 1), by: phone, at: 900)
    #expect(inbox.act(read(item(1), on: false), by: tablet, observed: 1, at: 100).outcome == .applied)
    #expect(!inbox.isRead(item(1)))
}

@Test func `reading what a mark has read is a noop that rewrites the register`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(.mark(.read, upTo: 1), by: phone)
    #expect(inbox.act(read(item(1)), by: tablet).outcome == .noop)
    #expect(inbox.state.items[item(1)]?.read?.since == 3)
    #expect(inbox.act(shown(item(1)), by: laptop).effect == .none)
}
