import PealModel
import Testing

private let key = PreferenceKey(category: "billing", channel: "email")

private func choose(_ enabled: Bool, _ channel: String = "email") -> PealModel.Operation {
    .preference(category: "billing", channel: channel, enabled: enabled)
}

private func catalogue(enabled: Bool = true, required: Bool = false) -> Entry.Kind {
    .catalogue(
        Catalogue(
            version: 1,
            categories: [
                Catalogue.Category(
                    slug: "billing", label: "Billing",
                    channels: [
                        Catalogue.Channel(slug: "email", label: "E-mail", enabled: enabled, required: required)
                    ])
            ]))
}

@Test func `of a concurrent on and off the off wins, in either order and whatever the clocks say`() {
    for first in [true, false] {
        for (early, late) in [(100, 900), (900, 100)] as [(Milliseconds, Milliseconds)] {
            var inbox = Inbox()
            inbox.publish(item(1))
            inbox.act(choose(first), by: phone, observed: 1, at: early)
            let act = inbox.act(choose(!first), by: tablet, observed: 1, at: late)
            #expect(inbox.state.cells[key]?.register.value == false)
            #expect(act.outcome == (first ? .applied : Outcome(.superseded, author: phone, position: 2)))
        }
    }
}

@Test func `an on that had seen the off is accepted, and so is one's own`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(choose(false), by: phone)
    #expect(inbox.act(choose(true), by: tablet, observed: 2, at: 1).outcome == .applied)
    #expect(inbox.state.cells[key]?.register.value == true)
    inbox.act(choose(false, "sms"), by: tablet)
    #expect(inbox.act(choose(true, "sms"), by: tablet, observed: 1, at: 1).outcome == .applied)
}

@Test func `one's own off does not hide the off of somebody else that came before it`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(choose(false), by: phone)
    inbox.act(choose(false), by: tablet, observed: 1)
    let act = inbox.act(choose(true), by: tablet, observed: 1)
    #expect(act.outcome == Outcome(.superseded, author: phone, position: 2))
    #expect(act.effect == .none)
    #expect(inbox.state.cells[key]?.otherOff?.author == phone)
    #expect(inbox.act(choose(true), by: tablet, observed: 2).outcome == .applied)
}

@Test func `an on that had not seen an off is kept out even where somebody who had seen it switched on`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(choose(false), by: phone)
    inbox.act(choose(true), by: laptop)
    let act = inbox.act(choose(true), by: tablet, observed: 1, at: inbox.now + 9_000)
    #expect(act.outcome == .noop)
    #expect(act.effect == .none)
    #expect(inbox.state.cells[key]?.register.author == laptop)
}

@Test func `off on off renews the cell, with the later intent`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(choose(false), by: phone, observed: 1, at: 900)
    let act = inbox.act(choose(false), by: tablet, observed: 1, at: 100)
    #expect(act.outcome == .noop)
    let cell = inbox.state.cells[key]
    #expect(cell?.register.since == 3)
    #expect(cell?.register.itime == 900)
    #expect(cell?.otherOff == OptOut(since: 2, author: phone, uid: 0x1001))
    // The renewal counts: an on that had seen the first off only is kept out.
    #expect(
        inbox.act(choose(true), by: laptop, observed: 2).outcome == Outcome(.superseded, author: tablet, position: 3))
}

@Test func `of two concurrent ons the later intent stays, and the cell is rewritten by an accepted one`() {
    var inbox = Inbox()
    inbox.publish(item(1))
    inbox.act(choose(true), by: phone, observed: 1, at: 500)
    #expect(inbox.act(choose(true), by: tablet, observed: 1, at: 400).effect == .none)
    #expect(inbox.act(choose(true), by: tablet, observed: 1, at: 600).effect == .preference(key, enabled: true))
    #expect(inbox.state.cells[key]?.register.author == tablet)
    #expect(inbox.act(choose(true), by: laptop).outcome == .noop)
    #expect(inbox.state.cells[key]?.register.since == 5)
}

@Test func `a required channel cannot be switched off, and a choice to have it on is kept`() {
    var inbox = Inbox()
    inbox.append(catalogue(required: true))
    let denied = inbox.act(choose(false), by: phone).outcome
    #expect(denied.code == .denied)
    #expect(denied.reason?.isEmpty == false)
    #expect(inbox.act(choose(true), by: phone).outcome == .noop)
    #expect(inbox.state.cells[key]?.register.value == true)
    // Another channel of the category, and the same once it is no longer required.
    #expect(inbox.act(choose(false, "sms"), by: phone).outcome == .applied)
    inbox.append(catalogue())
    #expect(inbox.act(choose(false), by: phone).outcome == .applied)
}

@Test func `a choice that is the default already is a noop that is kept`() {
    var inbox = Inbox()
    inbox.append(catalogue(enabled: false))
    #expect(inbox.act(choose(false), by: phone).outcome == .noop)
    #expect(inbox.state.cells[key]?.off?.author == phone)
    #expect(inbox.act(choose(true), by: phone).outcome == .applied)
}

@Test func `a cell of an unknown category is kept`() {
    var inbox = Inbox()
    inbox.append(catalogue())
    #expect(inbox.act(.preference(category: "gone", channel: "push", enabled: false), by: phone).outcome == .applied)
    let all = Preference.all(inbox.state.cells.mapValues(\.register.value), inbox.state.currentCatalogue)
    #expect(all.map(\.key.category) == ["billing", "gone"])
    #expect(all.map(\.enabled) == [true, false])
    #expect(all.map(\.chosen) == [false, true])
}

@Test func `what is shown is the choice, else the default, and required is on`() {
    let channels = [
        Catalogue.Channel(slug: "a", label: "A", enabled: false), Catalogue.Channel(slug: "b", label: "B"),
        Catalogue.Channel(slug: "c", label: "C", required: true), Catalogue.Channel(slug: "d", label: "D"),
    ]
    let catalogue = Catalogue(
        version: 1, categories: [Catalogue.Category(slug: "x", label: "X", channels: channels)])
    let choices = ["b": false, "c": false, "e": true].map { (PreferenceKey(category: "x", channel: $0), $1) }
    let all = Preference.all(Dictionary(uniqueKeysWithValues: choices), catalogue)
    #expect(all.map(\.key.channel) == ["a", "b", "c", "d", "e"])
    #expect(all.map(\.enabled) == [false, false, true, true, true])
    #expect(all.map(\.required) == [false, false, true, false, false])
    #expect(
        all.last
            == Preference(
                key: PreferenceKey(category: "x", channel: "e"), categoryLabel: "X", enabled: true, chosen: true))
}

@Test func `a name that is none is invalid, and more cells than a user may have are too large`() {
    var inbox = Inbox()
    for name in ["", "a\nb", String(repeating: "ä", count: 51)] {
        for operation: PealModel.Operation in [
            .preference(category: name, channel: "push", enabled: true),
            .preference(category: "a", channel: name, enabled: true),
        ] {
            #expect(inbox.act(operation, by: phone).outcome.code == .invalid)
        }
    }
    for number in 0..<Limits.preferenceCells {
        inbox.act(.preference(category: "c\(number)", channel: "push", enabled: false), by: phone)
    }
    #expect(inbox.act(choose(false), by: phone).outcome.code == .tooLarge)
    #expect(inbox.act(.preference(category: "c7", channel: "push", enabled: true), by: phone).outcome == .applied)
}

@Test func `names are compared by their bytes, not by how they look`() {
    var inbox = Inbox()
    inbox.act(.preference(category: "caf\u{E9}", channel: "push", enabled: false), by: phone)
    inbox.act(.preference(category: "cafe\u{301}", channel: "push", enabled: true), by: phone)
    #expect(inbox.state.cells.count == 2)
}

@Test func `a catalogue that says something twice, or is too large, has a problem`() {
    func catalogue(_ slugs: [String], _ channels: [String]) -> Catalogue {
        Catalogue(
            version: 1,
            categories: slugs.map {
                Catalogue.Category(
                    slug: $0, label: $0, channels: channels.map { Catalogue.Channel(slug: $0, label: $0) })
            })
    }
    #expect(catalogue(["a", "b"], ["x", "y"]).problem == nil)
    #expect(catalogue(["a", "a"], ["x"]).problem != nil)
    #expect(catalogue(["a"], ["x", "x"]).problem != nil)
    #expect(catalogue([""], []).problem != nil)
    #expect(catalogue(["a"], ["\u{7}"]).problem != nil)
    #expect(catalogue((0..<200).map { "category-\($0)" }, ["x", "y"]).problem != nil)
}

/// One cell, two authors and every sequence of up to three acts, each with every view and with intent times in every order.
private struct CellScope {
    struct Accepted {
        var position: Position
        var observed: Position
        var author: Author
        var value: Bool
    }

    var checked = 0

    mutating func explore(_ inbox: Inbox, _ accepted: [Accepted], acts: Int) {
        if acts == 0 { return }
        for author in [phone, tablet] {
            for enabled in [true, false] {
                for observed in 1...inbox.head {
                    for wall in [100, 200, 300] as [Milliseconds] {
                        var next = inbox
                        let act = next.act(choose(enabled), by: author, observed: observed, at: wall)
                        var all = accepted
                        if act.effect != .none {
                            all.append(
                                Accepted(position: next.head, observed: observed, author: author, value: enabled))
                        }
                        check(act, observed, accepted, all, next)
                        explore(next, all, acts: acts - 1)
                    }
                }
            }
        }
    }

    private mutating func check(
        _ act: Act, _ observed: Position, _ before: [Accepted], _ after: [Accepted], _ inbox: Inbox
    ) {
        checked += 1
        var acts: String { "\(inbox.log.dropFirst().map(\.kind))" }
        if case .preference(_, true) = act.effect {
            let unseen = before.filter { !$0.value && $0.author != act.author && $0.position > observed }
            if !unseen.isEmpty { Issue.record("\(unseen) was undone unseen: \(acts)") }
        }
        let newest = after.filter { act in
            !after.contains {
                $0.position > act.position && (act.position <= $0.observed || act.author == $0.author)
            }
        }
        let value = inbox.state.cells[key]?.register.value
        // Off wins among those that had not seen each other.
        if value != newest.allSatisfy(\.value) {
            Issue.record("the cell is \(value as Any), not of \(newest): \(acts)")
        }
    }
}

@Test func `no sequence of three acts of two authors undoes an opt-out that its author had not seen`() {
    var scope = CellScope()
    var inbox = Inbox()
    inbox.publish(item(1))
    scope.explore(inbox, [], acts: 3)
    #expect(scope.checked == 12 + 12 * 24 + 12 * 24 * 36)
}
