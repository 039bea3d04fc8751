import PealModel
import Testing

@testable import PealHub

/// The table of docs/sync.md section 7, row by row, and who may have which inbox.
@Suite struct StoreAdmissionTests {
    private let anna = InboxIdentity.user(externalID: "anna", email: nil)
    private let one = ReplicaID(high: 0, low: 1)

    private func cursor(_ hub: StoreFixture, _ admitted: Admitted, at position: Position) throws -> Cursor {
        Cursor(
            epoch: admitted.welcome.epoch, position: position,
            chain: try hub.reader.chain(of: admitted.inbox, at: position) ?? 0)
    }

    @Test(arguments: StoreKind.all)
    func `first contact registers and gives secret, nonce and session`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let welcome = try hub.admitted(hub.hello(anna, replica: one, attempt: 7)).welcome
        #expect(welcome.mode == .resume)
        #expect(welcome.attempt == 7)
        #expect(welcome.secret?.count == 64)
        #expect(welcome.nonce.count == 32)
        #expect(welcome.inbox.count == 32)
        #expect(welcome.session != 0)
        #expect(welcome.head == 0 && welcome.lastN == 0 && welcome.lastUID == nil)
        #expect(try hub.reader.inbox(welcome.inbox, in: hub.project.key) != nil)
    }

    @Test(arguments: StoreKind.all)
    func `both nonces are good until the first frame, and then only the new one`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let first = try hub.join("anna", replica: 1)
        let at = try cursor(hub, first, at: 0)
        func mode(_ attempt: Int64, _ nonce: String) throws -> Admitted {
            try hub.admitted(hub.hello(anna, replica: one, attempt: attempt, nonce: nonce, cursor: at))
        }
        let second = try mode(2, first.welcome.nonce)
        #expect(second.welcome.mode == .resume)
        #expect(second.welcome.secret == nil)
        // The second welcome is lost: the former nonce comes again.
        let third = try mode(3, first.welcome.nonce)
        #expect(third.welcome.mode == .resume)
        try hub.proven(third)
        #expect(try mode(4, first.welcome.nonce).welcome.mode == .forked)
        #expect(try mode(5, second.welcome.nonce).welcome.mode == .forked)
        #expect(try mode(6, third.welcome.nonce).welcome.mode == .resume)
    }

    @Test(arguments: StoreKind.all)
    func `a hello that presents the issued nonce proves it, so that two lost welcomes make no fork`(
        _ kind: StoreKind
    ) throws {
        let hub = try StoreFixture(kind)
        let first = try hub.join("anna", replica: 1)
        let at = try cursor(hub, first, at: 0)
        func mode(_ attempt: Int64, _ nonce: String) throws -> Admitted {
            try hub.admitted(hub.hello(anna, replica: one, attempt: attempt, nonce: nonce, cursor: at))
        }
        // The second welcome is kept, but its session dies before a frame; the third and the fourth are lost.
        let second = try mode(2, first.welcome.nonce)
        #expect(try mode(3, second.welcome.nonce).welcome.mode == .resume)
        #expect(try mode(4, second.welcome.nonce).welcome.mode == .resume)
        #expect(try mode(5, first.welcome.nonce).welcome.mode == .forked)
    }

    @Test(arguments: StoreKind.all)
    func `an attempt that is not higher is refused with the last one, and changes nothing`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let first = try hub.admitted(hub.hello(anna, replica: one, attempt: 5))
        for attempt in [Int64(5), 4, -1] {
            #expect(try hub.admit(hub.hello(anna, replica: one, attempt: attempt)) == .attemptTooLow(last: 5))
        }
        try hub.proven(first)
    }

    @Test(arguments: StoreKind.all)
    func `a cursor above the head, of another chain or another epoch means that the hub went back`(
        _ kind: StoreKind
    ) throws {
        let hub = try StoreFixture(kind)
        let first = try hub.join("anna", replica: 1)
        for _ in 0..<3 { _ = try hub.item(for: "anna") }
        let good = try cursor(hub, first, at: 2)
        var attempt: Int64 = 1
        func mode(_ cursor: Cursor, nonce: String = "lost with the backup") throws -> Admission.Mode {
            attempt += 1
            let hello = hub.hello(anna, replica: one, attempt: attempt, nonce: nonce, cursor: cursor)
            return try hub.admitted(hello).welcome.mode
        }
        #expect(try mode(Cursor(epoch: good.epoch, position: 4, chain: good.chain)) == .ahead)
        #expect(try mode(Cursor(epoch: good.epoch, position: 2, chain: good.chain ^ 1)) == .ahead)
        #expect(try mode(Cursor(epoch: good.epoch! ^ 1, position: 2, chain: good.chain)) == .ahead)
        // A right cursor with a wrong nonce is the replica's own going back.
        #expect(try mode(good) == .forked)
        #expect(try mode(good, nonce: first.welcome.nonce) == .resume)
    }

    @Test(arguments: StoreKind.all)
    func `a fork changes nothing but the attempt`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let first = try hub.join("anna", replica: 1)
        let at = try cursor(hub, first, at: 0)
        let fork = try hub.admitted(hub.hello(anna, replica: one, attempt: 2, nonce: "old", cursor: at))
        #expect(fork.welcome.mode == .forked)
        #expect(fork.replaced == nil)
        #expect(try hub.admit(hub.hello(anna, replica: one, attempt: 2, nonce: "old")) == .attemptTooLow(last: 2))
        #expect(try hub.push([hub.mutation(1, .mark(.read, upTo: 0))], first).appended.count == 1)
    }

    @Test(arguments: StoreKind.all)
    func `a replica restored to before its first contact is a copy`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        _ = try hub.join("anna", replica: 1)
        #expect(try hub.admitted(hub.hello(anna, replica: one, attempt: 2)).welcome.mode == .forked)
    }

    @Test(arguments: StoreKind.all)
    func `a stranger with a nonce was known to the hub before it went back in time`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let stranger = ReplicaID(high: 0, low: 2)
        #expect(try hub.admitted(hub.hello(anna, replica: stranger, nonce: "held")).welcome.mode == .ahead)
    }

    @Test func `a cursor below the floor gets a snapshot`() throws {
        let hub = try StoreFixture()
        let first = try hub.join("anna", replica: 1)
        for _ in 0..<4 { _ = try hub.item(for: "anna") }
        let below = try cursor(hub, first, at: 1)
        let at = try cursor(hub, first, at: 3)
        try hub.commit { (store) throws(HubStoreError) in
            try (store as? SQLiteHubStore)?.database.execute("UPDATE inbox SET floor = 3")
        }
        func mode(_ attempt: Int64, _ cursor: Cursor) throws -> Admission.Mode {
            let hello = hub.hello(anna, replica: one, attempt: attempt, nonce: first.welcome.nonce, cursor: cursor)
            return try hub.admitted(hello).welcome.mode
        }
        #expect(try mode(2, below) == .snapshot)
        #expect(try mode(3, at) == .resume)
        let fresh = try hub.admitted(hub.hello(anna, replica: ReplicaID(high: 0, low: 9)))
        #expect(fresh.welcome.mode == .snapshot)
        #expect(throws: HubStoreError.self) { try hub.entries(first.inbox, after: 2) }
    }

    @Test(arguments: StoreKind.all)
    func `the welcome settles what was sent and processed`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let first = try hub.join("anna", replica: 1)
        let sent = (1...4).map { hub.mutation($0, .mark(.read, upTo: 0)) }
        _ = try hub.push(Array(sent[..<3]), first)
        let welcome = try hub.admitted(
            hub.hello(
                anna, replica: one, attempt: 2, nonce: first.welcome.nonce, cursor: try cursor(hub, first, at: 0),
                outbox: 2...4)
        ).welcome
        #expect(welcome.lastN == 3)
        #expect(welcome.lastUID == sent[2].uid)
        #expect(welcome.settled.map(\.n) == [2, 3])
        #expect(welcome.settled.map(\.uid) == [sent[1].uid, sent[2].uid])
    }

    // MARK: Who may have which inbox

    @Test(arguments: StoreKind.all)
    func `a replica has one inbox for good`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        _ = try hub.join("anna", replica: 1)
        _ = try hub.join("berta", replica: 2)
        let berta = InboxIdentity.user(externalID: "berta", email: nil)
        #expect(try hub.admit(hub.hello(berta, replica: one, attempt: 2)) == .refused(.otherInbox))
        let nobody = InboxIdentity.user(externalID: "nobody", email: nil)
        #expect(try hub.admit(hub.hello(nobody, replica: one, attempt: 2)) == .refused(.otherInbox))
        #expect(try hub.reader.user(UserIdentity(externalID: "nobody"), in: hub.project.key) == nil)
    }

    @Test(arguments: StoreKind.all)
    func `an email beside an external id tells nothing, and binds nothing`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        _ = try hub.commit { (store) throws(HubStoreError) in
            try store.upsertUser(
                UserIdentity(externalID: "berta", email: "B@example.com"), profile: UserProfile(), in: hub.project.key,
                now: hub.now)
        }
        let stolen = InboxIdentity.user(externalID: "mallory", email: "b@example.com")
        let thief = try hub.admitted(hub.hello(stolen, replica: ReplicaID(high: 0, low: 9)))
        let berta = try hub.reader.user(UserIdentity(externalID: "berta"), in: hub.project.key)
        #expect(thief.inbox != berta?.inbox && berta?.identity.email == "b@example.com")
        let claimed = InboxIdentity.user(externalID: "mallory", email: "free@example.com")
        _ = try hub.admitted(hub.hello(claimed, replica: one))
        #expect(try hub.reader.user(UserIdentity(email: "free@example.com"), in: hub.project.key) == nil)
        let empty = InboxIdentity.user(externalID: nil, email: nil)
        #expect(try hub.admit(hub.hello(empty, replica: ReplicaID(high: 0, low: 2))) == .refused(.conflict))
    }

    @Test(arguments: StoreKind.all)
    func `a device's inbox opens with the secret of one of its replicas only`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let first = try hub.joinDevice(replica: 1)
        let id = first.welcome.inbox
        let at = try cursor(hub, first, at: 0)
        let secret = try #require(first.welcome.secret)
        func admit(_ replica: ReplicaID, _ attempt: Int64, _ nonce: String, _ proof: Proof) throws -> AdmissionResult {
            try hub.admit(
                hub.hello(.device(id: id), replica: replica, attempt: attempt, nonce: nonce, cursor: at, proof: proof))
        }
        let two = ReplicaID(high: 0, low: 2)
        #expect(try admit(one, 2, first.welcome.nonce, Proof()) == .refused(.unauthorized))
        #expect(
            try admit(one, 2, first.welcome.nonce, Proof(secret: String(secret.reversed()))) == .refused(.unauthorized))
        #expect(try admit(two, 1, "", Proof(secret: secret)) == .refused(.unauthorized))
        guard case .admitted(let same) = try admit(one, 2, first.welcome.nonce, Proof(secret: secret)) else {
            throw Unexpected("the right secret was refused")
        }
        #expect(same.welcome.mode == .resume)
        guard case .admitted(let forked) = try admit(two, 1, "", Proof(secret: secret, replica: one)) else {
            throw Unexpected("the new identity after a fork was refused")
        }
        #expect(forked.inbox == first.inbox)
        #expect(forked.welcome.secret != nil && forked.welcome.secret != secret)
    }

    @Test(arguments: StoreKind.all)
    func `a lost first welcome of a device leads to the same inbox and the same secret`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let lost = try hub.admitted(hub.hello(.device(id: nil), replica: one))
        let again = try hub.admitted(hub.hello(.device(id: nil), replica: one, attempt: 2))
        #expect(again.inbox == lost.inbox)
        #expect(again.welcome.secret == lost.welcome.secret)
        try hub.proven(again)
        let restored = try hub.admitted(hub.hello(.device(id: nil), replica: one, attempt: 3))
        #expect(restored.welcome.mode == .forked)
    }

    @Test func `a device that a restored hub has lost is made again for the right secret, and is ahead`() throws {
        let hub = try StoreFixture()
        let before = try hub.crashed()
        let device = try hub.joinDevice(replica: 1)
        let at = try cursor(hub, device, at: 0)
        func hello(_ secret: String?) -> Hello {
            hub.hello(
                .device(id: device.welcome.inbox), replica: one, attempt: 2, nonce: device.welcome.nonce, cursor: at,
                proof: Proof(secret: secret))
        }
        #expect(try before.admit(hello("guess")) == .refused(.unauthorized))
        let again = try before.admitted(hello(device.welcome.secret))
        #expect(again.welcome.mode == .ahead)
        #expect(again.welcome.inbox == device.welcome.inbox)
        #expect(again.welcome.epoch != device.welcome.epoch)
    }

    @Test func `a restored hub that gave a replica's id another inbox lets it fork, also where its own inbox is back`()
        throws
    {
        let hub = try StoreFixture()
        let before = try hub.crashed()
        let device = try hub.joinDevice(replica: 1)
        let at = try cursor(hub, device, at: 0)
        // After the restore a copy from before the first contact comes first, then one that forked and still has the inbox.
        _ = try before.joinDevice(replica: 1)
        let two = ReplicaID(high: 0, low: 2)
        let forked = try before.admitted(
            before.hello(
                .device(id: device.welcome.inbox), replica: two, cursor: at,
                proof: Proof(secret: device.welcome.secret, replica: one)))
        #expect(forked.welcome.inbox == device.welcome.inbox)
        func hello(_ secret: String?) -> Hello {
            before.hello(
                .device(id: device.welcome.inbox), replica: one, attempt: 2, nonce: device.welcome.nonce, cursor: at,
                proof: Proof(secret: secret))
        }
        #expect(try before.admit(hello("guess")) == .refused(.otherInbox))
        #expect(try before.admitted(hello(device.welcome.secret)).welcome.mode == .forked)
    }

    @Test(arguments: StoreKind.all)
    func `the replicas of a deleted user and its devices are turned away for good`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let user = try hub.join("anna", replica: 1)
        let device = try hub.joinDevice(replica: 2)
        let ended = try hub.commit { (store) throws(HubStoreError) -> [InboxKey] in
            var record = try store.device(device.welcome.inbox, in: hub.project.key)!
            let owner = try store.user(UserIdentity(externalID: "anna"), in: hub.project.key)!
            record.user = owner.key
            try store.updateDevice(record)
            return try store.deleteUser(owner.key)
        }
        #expect(Set(ended) == [user.inbox, device.inbox])
        #expect(try hub.push([hub.mutation(1, .mark(.read, upTo: 0))], user).stop == .fenced)
        #expect(try hub.admit(hub.hello(anna, replica: one, attempt: 2)) == .refused(.revoked))
        let back = hub.hello(
            .device(id: device.welcome.inbox), replica: ReplicaID(high: 0, low: 2), attempt: 2,
            proof: Proof(secret: device.welcome.secret))
        #expect(try hub.admit(back) == .refused(.revoked))
        #expect(try hub.admitted(hub.hello(anna, replica: ReplicaID(high: 0, low: 3))).inbox != user.inbox)
    }
}
