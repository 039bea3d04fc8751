import PealHub
import PealModel
import Synchronization

/// Reads what is committed in a ``MemoryHubStore``; each call sees one moment.
final class MemoryHubReader: HubReader {
    /// What a row of a page takes beside its body, at most, as in the other store.
    private static let rowOverhead = HubStoreLimits.rowOverhead
    private let committed: MemoryHubStore.Committed

    init(_ committed: MemoryHubStore.Committed) { self.committed = committed }

    private var state: MemoryHubStore.State { committed.state.withLock { $0 } }

    func log(of inbox: InboxKey) throws(HubStoreError) -> Admission.Log {
        let inbox = try state.box(inbox).value
        return Admission.Log(epoch: inbox.epoch, head: inbox.head, floor: inbox.floor)
    }

    func pendingPublishes() throws(HubStoreError) -> Int { state.publishes.count { $0.value.pending != nil } }

    func sum(of inbox: InboxKey) throws(HubStoreError) -> InboxAtHead {
        let inbox = try state.box(inbox).value
        return InboxAtHead(epoch: inbox.epoch, head: inbox.head, chain: inbox.chain, sum: inbox.sum)
    }

    func chain(of inbox: InboxKey, at position: Position) throws(HubStoreError) -> UInt64? {
        try state.box(inbox).value.chain(at: position)
    }

    func entries(
        of inbox: InboxKey, after position: Position, maxCount: Int, maxBytes: Int
    ) throws(HubStoreError) -> [LogEntry] {
        let inbox = try state.box(inbox).value
        guard position >= inbox.floor || planted(.trimmingOvertakes) else {
            throw HubStoreError(.belowFloor, "the log is trimmed up to \(inbox.floor)")
        }
        var entries: [LogEntry] = []
        var bytes = 0
        var next = position + 1
        while next <= inbox.head {
            let row = inbox.log[Int(next) - 1]
            if row.bytes == nil, planted(.trimmingOvertakes) {
                next += 1
                continue
            }
            guard let entry = row.bytes else { throw HubStoreError(.corrupt, "the log has a gap") }
            guard entries.isEmpty || (entries.count < maxCount && bytes + entry.count <= maxBytes) else { break }
            entries.append(LogEntry(position: next, chain: row.chain, content: EntryBytes(entry)))
            bytes += entry.count
            next += 1
        }
        return entries
    }

    /// The items that are not deleted, newest first, below a position.
    private func walk(
        _ inbox: MemoryInbox, below position: Position, _ body: (MemoryInbox.LogRow, ItemState) -> Bool
    ) -> Bool {
        var next = min(position - 1, inbox.head)
        while next > 0 {
            let row = inbox.log[Int(next) - 1]
            if row.publish > 0, let item = inbox.state.items[row.item], !item.deleted {
                guard body(row, item) else { return false }
            }
            next -= 1
        }
        return true
    }

    func snapshotPage(
        of inbox: InboxKey, id: UInt64?, below: Position?, maxRows: Int, maxBytes: Int
    ) throws(HubStoreError) -> Page {
        let state = state
        let inbox = try state.box(inbox).value
        var page = Page(
            id: id ?? UInt64(inbox.head), at: inbox.head, chain: inbox.chain, rows: [], after: below ?? inbox.head + 1,
            last: false)
        if below == nil {
            page.rest = Page.Rest(
                marks: inbox.state.marks,
                interests: inbox.state.interests().map { Array($0.sorted().prefix(Limits.interestsPerDevice + 1)) },
                preferences: inbox.state.cells, catalogue: inbox.state.currentCatalogue)
        }
        var bytes = page.rest?.size ?? 0
        page.last = walk(inbox, below: below ?? .max) { row, item in
            let body = inbox.state.bodies[row.item] ?? []
            let facts = (inbox.state.facts[row.item] ?? []).sorted { $0.event < $1.event }
            let size = facts.reduce(body.count + Self.rowOverhead) { $0 + 80 + ($1.data?.count ?? 0) }
            guard page.rows.isEmpty || (page.rows.count < maxRows && bytes + size <= maxBytes) else { return false }
            bytes += size
            page.rows.append(
                SnapshotRow(
                    id: row.item, publish: state.publishes[Int(row.publish) - 1].value.name, time: row.time, body: body,
                    state: item, facts: facts))
            page.after = item.position
            return true
        }
        if page.last {
            page.after = 0
            page.sum = inbox.sum
        }
        return page
    }

    func catalogue(of project: ProjectKey) throws(HubStoreError) -> Catalogue? {
        state.projects.first { $0.project.key == project }?.catalogue
    }

    func preferences(of inbox: InboxKey) throws(HubStoreError) -> [Preference] {
        let state = state
        let inbox = try state.box(inbox).value
        return Preference.all(
            inbox.state.cells.mapValues(\.register.value),
            inbox.kind == .user ? state.projects[Int(inbox.project.row) - 1].catalogue : nil)
    }

    func facts(of item: ItemID, in inbox: InboxKey) throws(HubStoreError) -> [Fact] {
        (try state.box(inbox).value.state.facts[item] ?? []).sorted { $0.event < $1.event }
    }

    func list(_ query: ListQuery, of inbox: InboxKey) throws(HubStoreError) -> ListPage {
        precondition((1...100).contains(query.perPage), "a page has 1 to 100 items")
        let state = state
        let inbox = try state.box(inbox).value
        var page = ListPage(items: [], total: 0, unread: 0, unseen: 0, next: nil, head: inbox.head)
        var chosen: [MemoryInbox.LogRow] = []
        _ = walk(inbox, below: .max) { row, item in
            guard query.takes(item, state.publishes[Int(row.publish) - 1].value, inbox.state.marks) else { return true }
            page.total += 1
            if !inbox.state.marks.isRead(item) { page.unread += 1 }
            if !inbox.state.marks.isSeen(item) { page.unseen += 1 }
            switch query.start {
            case .page(let number): guard (page.total - 1) / query.perPage >= number - 1 else { return true }
            case .below(let position): guard item.position < position else { return true }
            }
            if chosen.count < query.perPage {
                chosen.append(row)
            } else {
                page.next = chosen.last.flatMap { inbox.state.items[$0.item]?.position }
            }
            return true
        }
        for row in chosen {
            if let item = try listed(row, inbox, state) { page.items.append(item) }
        }
        return page
    }

    func item(_ id: ItemID, of inbox: InboxKey, now: Milliseconds) throws(HubStoreError) -> ListedItem? {
        let state = state
        let inbox = try state.box(inbox).value
        guard let item = inbox.state.items[id], !item.deleted,
            let listed = try listed(inbox.log[Int(item.position) - 1], inbox, state)
        else { return nil }
        if let expires = listed.body.expires, expires <= now { return nil }
        return listed
    }

    private func listed(
        _ row: MemoryInbox.LogRow, _ inbox: MemoryInbox, _ state: MemoryHubStore.State
    ) throws(HubStoreError) -> ListedItem? {
        guard let item = inbox.state.items[row.item], let bytes = inbox.state.bodies[row.item] else { return nil }
        let body: ItemBody
        do throws(JSONError) {
            body = try ItemBody(JSONObject(bytes))
        } catch {
            throw HubStoreError(.corrupt, "an item's body cannot be read: \(error.reason)", underlying: error)
        }
        return ListedItem(
            id: row.item, position: item.position, publish: state.publishes[Int(row.publish) - 1].value.name,
            time: row.time, body: body, readAt: inbox.readAt(item, row.item), seenAt: inbox.seenAt(item, row.item),
            archivedAt: inbox.archivedAt(item, row.item))
    }

    func inbox(_ id: String, in project: ProjectKey) throws(HubStoreError) -> InboxKey? {
        let state = state
        guard let key = state.inbox(public: id, in: project), !state[key].kind.isDeleted else { return nil }
        return key
    }

    func project(_ name: String) throws(HubStoreError) -> Project? { state.project(name) }

    func tenants() throws(HubStoreError) -> (projects: [Project], operatorHash: [UInt8]?) {
        let state = state
        return (state.projects.map(\.project), state.operatorHash)
    }

    func user(_ identity: UserIdentity, in project: ProjectKey) throws(HubStoreError) -> UserRecord? {
        try state.user(identity, in: project)
    }

    func close() {}
}

extension ListQuery {
    fileprivate func takes(_ item: ItemState, _ publish: PublishRow, _ marks: Marks) -> Bool {
        if publish.silent { return false }
        if let expires = publish.expires, expires <= now { return false }
        if let read, marks.isRead(item) != read { return false }
        if let seen, marks.isSeen(item) != seen { return false }
        if let archived, marks.isArchived(item) != archived { return false }
        if let categories, !(publish.category.map(categories.contains) ?? false) { return false }
        if let topics, !(publish.topic.map(topics.contains) ?? false) { return false }
        return true
    }
}
