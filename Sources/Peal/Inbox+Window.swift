package import PealModel
package import PealReplica

/// A part of an inbox's list around a place, and what stands around it on a screen.
package struct InboxWindow: Sendable {
    /// Where a window lies.
    package enum Place: Sendable, Equatable {
        /// From the newest on.
        case newest
        /// Up to the oldest.
        case oldest
        /// Around a number, whether or not it is there.
        case around(Position)
    }

    /// Newest first.
    package var items: [DeliveredItem]
    /// Whether there are newer ones than these.
    package var hasNewer: Bool
    /// Whether there are older ones, as far as is known: while a first snapshot is being loaded the end is none.
    package var hasOlder: Bool
    /// A first snapshot is being loaded.
    package var isPartial: Bool
    /// Of the whole inbox.
    package var counts: Counts
    /// What somebody who looks at this has seen: pass it with an act.
    package var view: ViewPosition
    /// Acts that are not settled.
    package var waiting: Int
    /// Acts that the hub refused.
    package var dead: Int
    /// Not every item could be found by a search yet: the newest ones could.
    package var isSearching = false
}

extension Inbox {
    /// A window on a query's list, of one state of the file. Its cost is that of its own items, whatever the size of the inbox. Where the query
    /// searches for text, it finds what ``fillWords()`` has taken in.
    ///
    /// - Parameters:
    ///   - place: where.
    ///   - reach: items on each side, 1 to 500.
    /// - Throws: ``PealError``: `file`.
    package func window(
        _ query: DeliveredQuery, _ place: InboxWindow.Place, reach: Int
    ) throws(PealError) -> InboxWindow {
        let replica = replica
        func read() throws(ReplicaError) -> InboxWindow {
            var newer: (items: [DeliveredItem], hasMore: Bool) = ([], false)
            var items: [DeliveredItem] = []
            var hasOlder = false
            var isPartial = false
            if place == .oldest {
                newer = try replica.page(query, above: 0, limit: 2 * reach)
            } else {
                var after: PageCursor?
                if case .around(let number) = place {
                    newer = try replica.page(query, above: number, limit: reach)
                    after = PageCursor(before: number + 1)
                }
                let page = try replica.page(query, after: after, limit: place == .newest ? 2 * reach : reach)
                items = page.items
                hasOlder = page.next != nil
                isPartial = page.isPartial
            }
            let depth = try replica.outboxDepth()
            return InboxWindow(
                items: newer.items + items, hasNewer: newer.hasMore, hasOlder: hasOlder, isPartial: isPartial,
                counts: try replica.counts(), view: try replica.view(), waiting: depth.waiting, dead: depth.dead)
        }
        return try reading { () throws(ReplicaError) in
            guard query.text != nil else { return try replica.consistently(read) }
            var (window, isComplete) = try replica.consistentlyIndexed(read)
            window.isSearching = !isComplete
            return window
        }
    }

    /// Takes some more items into the index of words, the newest first, some hundredths of a second long.
    ///
    /// - Returns: whether a search finds every item now.
    /// - Throws: ``PealError``: `file`.
    package func fillWords() throws(PealError) -> Bool {
        try reading { () throws(ReplicaError) in try replica.fillWords() }
    }

    /// Slugs of the project's categories, as the hub lists them; none where it has sent none.
    ///
    /// - Throws: ``PealError``: `file`.
    package func categories() throws(PealError) -> [String] {
        try reading { () throws(ReplicaError) in try replica.catalogue()?.categories.map(\.slug) ?? [] }
    }

    /// Bounds what the file's connection keeps in memory of it.
    ///
    /// - Throws: ``PealError``: `file`.
    package func limitCache(kibibytes: Int) throws(PealError) {
        try reading { () throws(ReplicaError) in try replica.limitCache(kibibytes: kibibytes) }
    }

    /// Lets a held act go: it is sent as any other.
    ///
    /// - Throws: ``PealError``: `file`.
    package func releaseHeld() throws(PealError) {
        try reading { () throws(ReplicaError) in try replica.release() }
        outboxChanged()
    }
}
