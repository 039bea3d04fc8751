import PealModel
import PealReplica

/// What a store shows at one moment.
struct StoreContents: Sendable {
    /// Newest first.
    var items: [DeliveredNotification] = []
    var counts = Counts()
    var hasNextPage = false
    /// What a person who looks at it has seen; nil before the first page.
    var view: ViewPosition?
}

/// How a store comes from one state to the next: `deleted` are indexes of the old list, `inserted` and `changed` of the new one.
struct StoreUpdate: Sendable {
    var contents: StoreContents
    var deleted: [Int] = []
    var inserted: [Int] = []
    var changed: [Int] = []
    /// The list was read anew from its beginning, and no indexes are told.
    var isReload = false
}

/// The part of a query's list that a store has loaded: the newest ones, down to a position. It lives on its inbox's thread and reads
/// one committed state at a time; its memory is that of the pages that were asked for.
final class StoreWindow {
    /// Notifications of a page.
    static let pageSize = 50
    /// Positions of a change above which the window is read anew.
    private static let singleLimit = 256
    /// New ones that a window takes in when it is read anew.
    private static let growth = 1_000

    private let query: DeliveredQuery
    private let identity: InboxIdentity
    private(set) var contents = StoreContents()
    /// The counts have followed each step since they were last walked.
    private var countsAreKnown = false
    /// Everything of the query at this position or above is in the window; 0 where that is all there is.
    private var reach = Position.max

    init(_ query: DeliveredQuery, _ identity: InboxIdentity) {
        self.query = query
        self.identity = identity
    }

    /// The first page, whatever was loaded before.
    func reload(_ replica: Replica) throws(ReplicaError) -> StoreUpdate {
        _ = try changing(replica) { () throws(ReplicaError) in
            contents.items = []
            reach = .max
            countsAreKnown = false
            try load(replica, upTo: Self.pageSize)
        }
        return StoreUpdate(contents: contents, isReload: true)
    }

    /// The next page; nothing is inserted where there is none.
    func more(_ replica: Replica) throws(ReplicaError) -> StoreUpdate {
        let before = try changing(replica) { () throws(ReplicaError) in
            try load(replica, upTo: contents.items.count + Self.pageSize)
        }
        return StoreUpdate(contents: contents, inserted: Array(before.items.count..<contents.items.count))
    }

    /// What a commit makes of it; nil where nothing that is shown is different.
    func apply(_ change: Change, _ replica: Replica) throws(ReplicaError) -> StoreUpdate? {
        guard change.items else { return nil }
        let before = try changing(replica) { () throws(ReplicaError) in
            let touched = Set(change.inserted + change.changed + change.deleted)
            if change.everything || touched.count > Self.singleLimit {
                try readAnew(replica)
            } else {
                let new = Set(change.inserted)
                for position in touched { try look(at: position, isNew: new.contains(position), replica) }
            }
            // A first page is never shown with less than there is.
            try load(replica, upTo: Self.pageSize)
        }
        return difference(before)
    }

    /// Changes the window by one state of the file, or not at all; returns what it was.
    private func changing(
        _ replica: Replica, _ body: () throws(ReplicaError) -> Void
    ) throws(ReplicaError) -> StoreContents {
        let before = (contents, reach)
        do throws(ReplicaError) {
            try replica.consistently { () throws(ReplicaError) in
                countsAreKnown = true
                try body()
                try measure(replica)
            }
        } catch {
            (contents, reach) = before
            throw error
        }
        return before.0
    }

    // MARK: Parts

    /// Loads more below the window, so that it holds so many where there are.
    private func load(_ replica: Replica, upTo total: Int) throws(ReplicaError) {
        let wanted = total - contents.items.count
        guard reach > 0, wanted > 0 else { return }
        let after = reach == .max ? nil : PageCursor(before: reach)
        let page = try replica.page(query, after: after, limit: wanted)
        contents.items += page.items.map { DeliveredNotification($0, in: identity) }
        if let last = page.items.last { reach = last.number }
        if page.next == nil, !page.isPartial { reach = 0 }
    }

    private func look(at position: Position, isNew: Bool, _ replica: Replica) throws(ReplicaError) {
        guard position >= reach || isNew else {
            // What it was is not known, so neither is what it takes from the counts.
            countsAreKnown = false
            return
        }
        let found = try replica.item(number: position, matching: query).map { DeliveredNotification($0, in: identity) }
        let index = contents.items.partitioningIndex { $0.number <= Int(position) }
        let isThere = index < contents.items.count && contents.items[index].number == Int(position)
        if isThere { count(contents.items[index], -1) }
        if let found { count(found, 1) }
        guard position >= reach else { return }
        switch (found, isThere) {
        case (let found?, true): contents.items[index] = found
        case (let found?, false): contents.items.insert(found, at: index)
        case (nil, true): contents.items.remove(at: index)
        case (nil, false): break
        }
    }

    private func count(_ notification: DeliveredNotification, _ step: Int64) {
        contents.counts.total += step
        if !notification.isRead { contents.counts.unread += step }
        if !notification.isSeen { contents.counts.unseen += step }
    }

    /// Everything at or above the reach again.
    private func readAnew(_ replica: Replica) throws(ReplicaError) {
        countsAreKnown = false
        guard reach < .max else { return }
        var items: [DeliveredNotification] = []
        // What is loaded stays loaded under what a reconnect brings; without a bound, a window that reached the end would grow with the
        // inbox, and the oldest are a page away again.
        var left = contents.items.isEmpty ? Self.pageSize : contents.items.count + Self.growth
        var after: PageCursor?
        while left > 0 {
            let page = try replica.page(query, after: after, limit: min(left, 1_000))
            let kept = page.items.prefix { $0.number >= reach }
            items += kept.map { DeliveredNotification($0, in: identity) }
            left -= kept.count
            guard kept.count == page.items.count, let next = page.next else {
                contents.items = items
                return
            }
            after = next
        }
        reach = Position(items.last?.number ?? 0)
        contents.items = items
    }

    /// Counts, the view, and whether there is more.
    private func measure(_ replica: Replica) throws(ReplicaError) {
        // Of the whole inbox they cost nothing; of a category or topic they cost a walk over it, unless each step of the change is known.
        let isWalk = query.categories != nil || query.topics != nil || query.archived != false
        if !isWalk || !countsAreKnown || contents.view == nil || contents.counts.isPartial {
            contents.counts = try replica.counts(query)
        }
        contents.view = try replica.view()
        guard reach > 0 else {
            contents.hasNextPage = false
            return
        }
        let below = try replica.page(query, after: reach == .max ? nil : PageCursor(before: reach), limit: 1)
        contents.hasNextPage = !below.items.isEmpty || below.isPartial
        if !contents.hasNextPage { reach = 0 }
    }

    /// Both lists fall by number, so one walk finds what came, went and changed.
    private func difference(_ before: StoreContents) -> StoreUpdate? {
        var update = StoreUpdate(contents: contents)
        let (old, new) = (before.items, contents.items)
        var (i, j) = (0, 0)
        while i < old.count || j < new.count {
            if j == new.count || (i < old.count && old[i].number > new[j].number) {
                update.deleted.append(i)
                i += 1
            } else if i == old.count || new[j].number > old[i].number {
                update.inserted.append(j)
                j += 1
            } else {
                if old[i] != new[j] { update.changed.append(j) }
                i += 1
                j += 1
            }
        }
        let isSame =
            update.deleted.isEmpty && update.inserted.isEmpty && update.changed.isEmpty
            && before.counts == contents.counts && before.hasNextPage == contents.hasNextPage
        // The view moves with every entry; who acts wants the newest one that they were shown.
        return isSame && before.view == contents.view ? nil : update
    }
}

extension Array {
    /// The first index whose element satisfies the predicate, where all after it do too.
    fileprivate func partitioningIndex(_ predicate: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if predicate(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
