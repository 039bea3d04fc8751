import PealModel

/// The hub's end, brought to a state in one line.
enum HubBench {
    static let replica = ReplicaID(high: 0xA, low: 1)

    static func hello(
        version: Int64 = wireVersion, attempt: Int64 = 1, entries: Int64 = 100, bytes: Int64 = 10_000
    ) -> Hello {
        Hello(
            version: version, project: "key", inbox: .user(externalID: "u", email: nil), replica: replica,
            proof: Proof(hmac: "h"), attempt: attempt, nonce: "", cursor: .start, windowEntries: entries,
            windowBytes: bytes)
    }

    static func welcome(_ mode: Admission.Mode = .resume, head: Position = 0, attempt: Int64 = 1) -> Welcome {
        Welcome(
            session: 5, mode: mode, epoch: 7, inbox: "i", head: head, attempt: attempt, nonce: "n1", time: 1_000)
    }

    /// A session that is live, its welcome written.
    static func live(
        _ mode: Admission.Mode = .resume, at cursor: Position = 0, head: Position = 0, entries: Int64 = 100,
        bytes: Int64 = 10_000, now: Milliseconds = 0
    ) -> HubSession {
        var hub = HubSession()
        _ = hub.received(.hello(hello(entries: entries, bytes: bytes)), now: now)
        _ = hub.admitted(welcome(mode, head: head), at: cursor, now: now)
        _ = hub.nextOutput()
        return hub
    }

    static func page(_ id: UInt64, at: Position, last: Bool) -> Page {
        Page(id: id, at: at, chain: 1, rows: [], after: 0, last: last)
    }

    static func mutation(_ n: Int64) -> Mutation {
        Mutation(
            n: n, uid: UInt64(n), observed: 0, observedTime: 0, moment: .age(0), operation: .seen(items: [item(1)]))
    }
}
