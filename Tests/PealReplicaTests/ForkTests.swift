import PealModel
import PealSQLite
import Testing

@testable import PealReplica

@Suite struct Forks {
    private func started() throws -> (Folder, Replica, TestHub) {
        let folder = Folder()
        var hub = TestHub()
        for _ in 0..<4 { hub.publish() }
        let replica = try folder.open()
        let hello = try replica.hello(proof: Proof())
        _ = try replica.welcomed(hub.welcome(hello, secret: "first secret"))
        try replica.pull(hub)
        return (folder, replica, hub)
    }

    @Test func `attempts rise, also over a refusal, and survive`() throws {
        let (folder, replica, hub) = try started()
        #expect(try replica.hello(proof: Proof()).attempt == 2)
        try replica.attemptRefused(last: 40)
        #expect(try replica.hello(proof: Proof()).attempt == 41)
        let again = try folder.open()
        let hello = try again.hello(proof: Proof(hmac: "h"))
        #expect(hello.attempt == 42)
        #expect(hello.nonce == "nonce")
        #expect(hello.proof == Proof(hmac: "h", secret: "first secret"))
        #expect(hello.cursor == Cursor(epoch: 7, position: 4, chain: hub.chains[4]))
    }

    @Test func `the inbox binds at the first welcome`() throws {
        let (folder, replica, hub) = try started()
        var welcome = hub.welcome(try replica.hello(proof: Proof()), nonce: "stolen")
        welcome.inbox = "another"
        let error = #expect(throws: ReplicaError.self) { try replica.welcomed(welcome) }
        #expect(error?.code == .otherInbox)
        #expect(try replica.inboxID() == "inbox")
        #expect(try replica.hello(proof: Proof()).nonce == "nonce", "it changed nothing")
        _ = folder
    }

    @Test func `a restored file is found out by its numbers, and its acts arrive once under a new id`() throws {
        var (folder, replica, hub) = try started()
        let old = try replica.replicaID()
        try replica.enqueue(.read(items: [hub.items[0]], on: true, passive: false))
        folder.copy("replica", to: "backup")
        try replica.push(to: &hub)
        try replica.enqueue(.archive(items: [hub.items[1]], on: true))
        try replica.push(to: &hub)
        #expect(hub.lastN[old] == 2)

        let restored = try folder.open("backup", seed: 5)
        let other = try restored.enqueue(.seen(items: [hub.items[2]]))
        let check = try restored.connect(hub)
        #expect(check.fork == .numberAhead)
        try restored.fork()
        #expect(try restored.replicaID() != old)
        #expect(try restored.outbox().count == 2)
        let hello = try restored.hello(proof: Proof())
        #expect(hello.attempt == 3)
        #expect(hello.nonce == "")
        #expect(hello.proof.replica == old)
        #expect(hello.proof.secret == "first secret")
        #expect(hello.cursor.position == 4)
        _ = try restored.welcomed(hub.welcome(hello, secret: "second secret"))
        #expect(try restored.hello(proof: Proof()).proof == Proof(secret: "second secret"))
        try restored.connect(hub)
        try restored.push(to: &hub)
        try restored.pull(hub)
        #expect(try restored.outbox().isEmpty)
        #expect(hub.outcomes[other]?.outcome == .applied)
        let reference = Reference(state: hub.state, hub: hub, now: hub.synced)
        #expect(try reference.difference(to: restored) == nil)
    }

    @Test func `another act under the hub's last number is a fork`() throws {
        var (folder, replica, hub) = try started()
        let uid = try replica.enqueue(.seen(items: hub.items))
        try replica.push(to: &hub)
        let hello = try replica.hello(proof: Proof())
        #expect(try replica.welcomed(hub.welcome(hello, lastUID: uid)).fork == nil)
        let again = try replica.hello(proof: Proof())
        #expect(try replica.welcomed(hub.welcome(again, lastUID: uid ^ 1)).fork == .foreignAct)
        let judged = try replica.hello(proof: Proof())
        #expect(try replica.welcomed(hub.welcome(judged, mode: .forked)).fork == .mode)
        _ = folder
    }

    @Test func `a hub that went back in time makes no fork`() throws {
        var (folder, replica, hub) = try started()
        let old = hub
        let uid = try replica.enqueue(.seen(items: hub.items))
        try replica.push(to: &hub)
        let hello = try replica.hello(proof: Proof())
        #expect(try replica.welcomed(old.welcome(hello, mode: .ahead, lastUID: uid ^ 1)).fork == nil)
        _ = folder
    }

    @Test func `an entry with this id and a foreign act is a fork`() throws {
        var (folder, replica, hub) = try started()
        let id = try replica.replicaID()
        hub.append(.act(Act(author: .replica(id), n: 1, uid: 77, itime: 0, outcome: .applied)))
        let applied = try replica.pull(hub)
        #expect(applied.verdict == .foreign)
        #expect(applied.position == 5, "the entry is the truth all the same")

        let second = try folder.open("second")
        try second.connect(hub)
        try second.pull(hub)
        try second.enqueue(.seen(items: hub.items))
        _ = try second.nextPush()
        let other = try second.replicaID()
        hub.append(.act(Act(author: .replica(other), n: 1, uid: 78, itime: 0, outcome: .applied)))
        #expect(try second.pull(hub).verdict == .foreign)
    }

    @Test func `acts that the base has already do not show again after a fork`() throws {
        var (folder, replica, hub) = try started()
        try replica.enqueue(.read(items: [hub.items[0]], on: true, passive: false))
        try replica.push(to: &hub)
        try replica.pull(hub)
        hub.other(.read(items: [hub.items[0]], on: false, passive: false))
        try replica.pull(hub)
        #expect(try replica.item(hub.items[0])?.read == false)
        try replica.fork(to: ReplicaID(high: 3, low: 3))
        #expect(try replica.outbox().count == 1)
        #expect(try replica.item(hub.items[0])?.read == false)
        try replica.connect(hub)
        try replica.push(to: &hub)
        try replica.pull(hub)
        #expect(try replica.item(hub.items[0])?.read == false)
        #expect(try replica.outbox().isEmpty)
        _ = folder
    }

    @Test func `the last 20 sessions are on record`() throws {
        let (folder, replica, hub) = try started()
        for _ in 0..<25 {
            try replica.connect(hub)
            try replica.sessionEnded(code: .draining, reason: "the hub is draining")
        }
        let sessions = try replica.inspect().sessions
        #expect(sessions.count == 20)
        #expect(sessions[0].attempt == 26)
        #expect(sessions[0].code == 4003)
        #expect(sessions[0].mode == "resume")
        _ = folder
    }
}
