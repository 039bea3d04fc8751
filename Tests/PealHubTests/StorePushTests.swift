import PealModel
import Testing

@testable import PealHub

@Suite struct StorePushTests {
    @Test(arguments: StoreKind.all)
    func `a resend is answered with the outcome of the first time and appends nothing`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let anna = try hub.join("anna", replica: 1)
        let item = try hub.item(for: "anna")
        let first = hub.mutation(1, .read(items: [item], on: true, passive: false), observed: 1)
        let second = hub.mutation(2, .read(items: [item], on: true, passive: false), observed: 1)
        _ = try hub.push([first, second], anna)
        let again = try hub.push([first, second], anna)
        #expect(again.appended == [])
        #expect(
            again.settled == [
                Settled(n: 1, uid: first.uid, outcome: .applied), Settled(n: 2, uid: second.uid, outcome: .noop),
            ])
        #expect(try hub.entries(anna.inbox).count == 3)
    }

    @Test(arguments: StoreKind.all)
    func `a resent void gets the outcome of what it stands for`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let anna = try hub.join("anna", replica: 1)
        let item = try hub.item(for: "anna")
        let act = hub.mutation(1, .delete(items: [item]), observed: 1)
        _ = try hub.push([act], anna)
        let again = try hub.push([hub.mutation(1, .void(reason: "unreadable"), uid: act.uid)], anna)
        #expect(again.settled == [Settled(n: 1, uid: act.uid, outcome: .applied)])
    }

    @Test(arguments: StoreKind.all)
    func `a taken number with another uid means a copy, and what came before it stands`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let anna = try hub.join("anna", replica: 1)
        let first = hub.mutation(1, .mark(.read, upTo: 0))
        _ = try hub.push([first, hub.mutation(2, .mark(.read, upTo: 0))], anna)
        let result = try hub.push([first, hub.mutation(2, .mark(.seen, upTo: 0))], anna)
        #expect(result.stop == .forked)
        #expect(result.settled.map(\.n) == [1])
        #expect(result.appended == [])
    }

    @Test(arguments: StoreKind.all)
    func `a number that is skipped stops the push`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let anna = try hub.join("anna", replica: 1)
        let result = try hub.push(
            [hub.mutation(1, .mark(.read, upTo: 0)), hub.mutation(3, .mark(.read, upTo: 0))], anna)
        #expect(result.appended.count == 1)
        #expect(result.stop == .gap(expected: 2))
    }

    @Test(arguments: StoreKind.all)
    func `a uid that another replica has sent is a duplicate, and its author learns of it by an entry`(
        _ kind: StoreKind
    ) throws {
        let hub = try StoreFixture(kind)
        let anna = try hub.join("anna", replica: 1)
        let other = try hub.join("anna", replica: 2)
        let item = try hub.item(for: "anna")
        _ = try hub.push([hub.mutation(1, .delete(items: [item]), observed: 1, uid: 99)], anna)
        let result = try hub.push([hub.mutation(1, .delete(items: [item]), observed: 1, uid: 99)], other)
        guard case .act(let act) = try Entry(try #require(result.appended.first).bytes[...]).kind else {
            throw Unexpected("no act")
        }
        #expect(act.outcome == .duplicate)
        #expect(act.effect == .none)
        #expect(act.n == 1)
    }

    @Test(arguments: StoreKind.all)
    func `a push of a session that was replaced processes nothing`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let old = try hub.join("anna", replica: 1)
        let new = try hub.admitted(
            hub.hello(
                .user(externalID: "anna", email: nil), replica: ReplicaID(high: 0, low: 1), attempt: 2,
                nonce: old.welcome.nonce))
        #expect(new.replaced == old.welcome.session)
        let result = try hub.push([hub.mutation(1, .mark(.read, upTo: 0))], old)
        #expect(result == PushResult(stop: .fenced))
        #expect(try hub.entries(old.inbox).isEmpty)
        let isLive = try hub.commit { (store) throws(HubStoreError) in
            try store.firstFrame(old.replica, session: old.welcome.session, now: hub.now)
        }
        #expect(!isLive)
        #expect(try hub.push([hub.mutation(1, .mark(.read, upTo: 0))], new).appended.count == 1)
    }

    @Test(arguments: StoreKind.all)
    func `an act through HTTP is replayed by its uid, and one that changes nothing appends nothing`(
        _ kind: StoreKind
    ) throws {
        let hub = try StoreFixture(kind)
        let item = try hub.item(for: "anna")
        let inbox = try #require(try hub.reader.user(UserIdentity(externalID: "anna"), in: hub.project.key)).inbox
        func read(_ uid: UInt64) throws -> ActResult {
            try hub.commit { (store) throws(HubStoreError) in
                try store.act(
                    .read(items: [item], on: true, passive: false), uid: uid, observed: nil, in: inbox, now: hub.now)
            }
        }
        #expect(try read(1).appended?.position == 2)
        #expect(try read(1) == ActResult(outcome: .applied))
        let ghost = try hub.commit { (store) throws(HubStoreError) in
            try store.act(
                .seen(items: [item]), uid: 2, observed: nil, in: inbox, now: hub.now)
        }
        #expect(ghost == ActResult(outcome: .noop))
        #expect(try hub.entries(inbox).count == 2)
    }
}

/// The note that a mutation may end the hub (docs/sync.md section 8).
@Suite struct StoreSuspectTests {
    private func suspect(_ hub: StoreFixture, _ mutation: Mutation, _ admitted: Admitted) throws -> PushResult? {
        try hub.commit { (store) throws(HubStoreError) in
            try store.suspect(
                mutation, from: admitted.replica, session: admitted.welcome.session, now: hub.now)
        }
    }

    @Test(arguments: StoreKind.all)
    func `a suspect that ends nothing is processed, and its note is gone`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let anna = try hub.join("anna", replica: 1)
        let first = hub.mutation(1, .mark(.read, upTo: 0))
        #expect(try suspect(hub, first, anna) == nil)
        // Cut and sent again: this run goes on, so it ended nothing.
        #expect(try suspect(hub, first, anna) == nil)
        #expect(try hub.push([first], anna).appended.count == 1)
        #expect(try suspect(hub, first, anna)?.settled.map(\.n) == [1])
        #expect(try suspect(hub, hub.mutation(3, .mark(.read, upTo: 0)), anna)?.stop == .gap(expected: 2))
    }

    @Test func `a note that a crash left is answered with poison, once, and the queue goes on`() throws {
        let hub = try StoreFixture()
        let anna = try hub.join("anna", replica: 1)
        let first = hub.mutation(1, .mark(.read, upTo: 0))
        #expect(try suspect(hub, first, anna) == nil)
        let later = try hub.crashed()
        let result = try #require(try suspect(later, first, anna))
        #expect(result.stop == nil && result.appended.count == 1)
        guard case .act(let act) = try Entry(result.appended[0].bytes[...]).kind else { throw Unexpected("no act") }
        #expect(act.outcome.code == .poison && act.outcome.isDead && act.n == 1)
        #expect(try later.push([first], anna).settled.map(\.outcome.code) == [.poison])
        #expect(try later.push([hub.mutation(2, .mark(.read, upTo: 0))], anna).appended.count == 1)
        // The next suspect is noted anew.
        #expect(try suspect(later, hub.mutation(3, .mark(.read, upTo: 0)), anna) == nil)
    }

    @Test(arguments: StoreKind.all)
    func `a note of a session that is over, or of one that was fenced, poisons nothing`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let anna = try hub.join("anna", replica: 1)
        let first = hub.mutation(1, .mark(.read, upTo: 0))
        #expect(try suspect(hub, first, anna) == nil)
        let again = try hub.admitted(
            hub.hello(
                .user(externalID: "anna", email: nil), replica: ReplicaID(high: 0, low: 1), attempt: 2,
                nonce: anna.welcome.nonce))
        #expect(try suspect(hub, first, anna)?.stop == .fenced)
        guard kind.name == StoreKind.sqlite.name else { return }
        let later = try hub.crashed()
        #expect(try suspect(later, first, again) == nil)
    }

    @Test func `a hub that ends in order leaves no note`() throws {
        let hub = try StoreFixture()
        let anna = try hub.join("anna", replica: 1)
        let first = hub.mutation(1, .mark(.read, upTo: 0))
        #expect(try suspect(hub, first, anna) == nil)
        try hub.store.close()
        #expect(try suspect(try hub.crashed(), first, anna) == nil)
    }

    @Test func `an exception over a suspect is counted, and is no crash`() throws {
        let hub = try StoreFixture()
        let anna = try hub.join("anna", replica: 1)
        let store = try #require(hub.store as? SQLiteHubStore)
        let first = hub.mutation(1, .mark(.read, upTo: 0))
        #expect(try suspect(hub, first, anna) == nil)
        store.fault = { (_) throws(HubStoreError) in throw HubStoreError(.failed, "a test's own") }
        #expect(try hub.push([first], anna).stop == .failed(n: 1))
        #expect(try suspect(try hub.crashed(), first, anna) == nil)
    }
}

/// What only a store with a fault in it shows.
@Suite struct StorePoisonTests {
    private func poisoned() throws -> (StoreFixture, SQLiteHubStore, Admitted) {
        let hub = try StoreFixture()
        let anna = try hub.join("anna", replica: 1)
        let store = try #require(hub.store as? SQLiteHubStore)
        store.fault = { (mutation) throws(HubStoreError) in
            if case .delete = mutation.operation { throw HubStoreError(.failed, "a test's own") }
        }
        return (hub, store, anna)
    }

    @Test func `the third exception of a mutation settles it as poison, and the queue goes on`() throws {
        let (hub, _, anna) = try poisoned()
        let item = try hub.item(for: "anna")
        let push = [
            hub.mutation(1, .mark(.read, upTo: 1), observed: 1), hub.mutation(2, .delete(items: [item]), observed: 1),
            hub.mutation(3, .mark(.seen, upTo: 1), observed: 1),
        ]
        let first = try hub.push(push, anna)
        #expect(first.appended.map(\.position) == [2])
        #expect(first.stop == .failed(n: 2))
        let second = try hub.push(push, anna)
        #expect(second.settled.map(\.n) == [1])
        #expect(second.stop == .failed(n: 2))
        let third = try hub.push(push, anna)
        #expect(third.stop == nil)
        #expect(third.appended.map(\.position) == [3, 4])
        guard case .act(let act) = try Entry(third.appended[0].bytes[...]).kind else { throw Unexpected("no act") }
        #expect(act.outcome.code == .poison && act.outcome.isDead && act.n == 2)
        #expect(try hub.reader.item(item, of: anna.inbox, now: hub.now) != nil)
    }

    @Test func `exceptions are counted across a crash, and forgotten when the number has moved on`() throws {
        let (hub, store, anna) = try poisoned()
        let item = try hub.item(for: "anna")
        let bad = hub.mutation(1, .delete(items: [item]), observed: 1)
        for _ in 0..<2 { _ = try hub.push([bad], anna) }
        let later = try hub.crashed()
        (later.store as? SQLiteHubStore)?.fault = store.fault
        #expect(try later.push([bad], anna).appended.count == 1)
        store.fault = nil
        #expect(try hub.push([bad], anna).stop == nil)
        store.fault = { (_) throws(HubStoreError) in throw HubStoreError(.failed, "a test's own") }
        #expect(try hub.push([hub.mutation(2, .mark(.read, upTo: 1))], anna).stop == .failed(n: 2))
    }

    @Test func `a full disk is no fault of the mutation`() throws {
        let (hub, store, anna) = try poisoned()
        store.fault = { (_) throws(HubStoreError) in throw HubStoreError(.full, "a test's own") }
        for _ in 0..<4 {
            #expect(throws: HubStoreError.self) { try hub.push([hub.mutation(1, .mark(.read, upTo: 0))], anna) }
        }
        store.fault = nil
        #expect(try hub.push([hub.mutation(1, .mark(.read, upTo: 0))], anna).appended.count == 1)
    }
}
