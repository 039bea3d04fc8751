package import PealModel

/// What every hub's store holds alike, whatever it is built on.
package enum HubStoreLimits {
    /// Settled outcomes in a welcome; what lies above comes when it is resent. 600 keep the frame under half its limit.
    package static let settled = 600
    /// Exceptions of one mutation that make it `poison` (docs/sync.md section 8).
    package static let poisonFrom: Int64 = 3
    /// Matching inboxes above which a publish becomes a durable job: one commit stays under 20 ms.
    package static let wideFrom = 2_000
    /// How long an answer is replayed: a day.
    package static let answerAge: Milliseconds = 86_400_000
    /// What a row of a snapshot page takes beside its body, at most: two registers, id, publish and punctuation.
    package static let rowOverhead = 640
}

extension Act {
    /// What settles a mutation that made the hub fail too often.
    package static func poison(_ mutation: Mutation, by author: Author, now: Milliseconds) -> Act {
        Act(
            author: author, n: mutation.n, uid: mutation.uid, itime: now,
            outcome: Outcome(.poison, reason: "The hub failed three times over what was done."))
    }
}
