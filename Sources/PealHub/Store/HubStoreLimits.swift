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
    /// How long a broadcast can be looked up: 90 days.
    package static let broadcastAge: Milliseconds = 90 * 86_400_000
}

extension Act {
    /// What settles a mutation that made the hub fail too often.
    package static func poison(
        _ mutation: Mutation, by author: Author, now: Milliseconds,
        reason: String = "The hub failed three times over what was done."
    ) -> Act {
        Act(
            author: author, n: mutation.n, uid: mutation.uid, itime: now, outcome: Outcome(.poison, reason: reason))
    }

    /// What settles a mutation whose note a crash left.
    package static func fatal(_ mutation: Mutation, by author: Author, now: Milliseconds) -> Act {
        poison(mutation, by: author, now: now, reason: "The hub ended while it worked on what was done.")
    }
}

extension SnapshotRow {
    /// How many bytes it takes of its page, rather too many than too few: a page is filled by it.
    package var wireSize: Int {
        let registers = (state.read == nil ? 0 : 170) + (state.archived == nil ? 0 : 170)
        // Names, punctuation, an id and two numbers are 129; a publish's name is the hub's own, without escapes.
        let size = 132 + publish.utf8.count + registers + body.count
        return facts.reduce(size) { $0 + 80 + ($1.data?.count ?? 0) }
    }
}

extension Page.Rest {
    /// About how many bytes it takes of its page, rather too many than too few.
    package var size: Int {
        let names = (interests ?? []).reduce(0) { $0 + $1.utf8.count + 3 }
        let cells = preferences.keys.reduce(0) { $0 + 2 * ($1.category.utf8.count + $1.channel.utf8.count) + 360 }
        let frontiers = MarkKind.allCases.reduce(0) { $0 + 80 * marks[$1].marks.count }
        return names + cells + frontiers + (catalogue?.bytes.count ?? 0)
    }
}
