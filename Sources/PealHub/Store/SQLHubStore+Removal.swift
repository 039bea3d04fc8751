package import PealModel

extension SQLHubStore {
    package func remove(
        _ items: [ItemID], why: String, from inbox: InboxKey, now: Milliseconds
    ) throws(HubStoreError) -> Appended? {
        precondition(why == "retract" || why == "expired", "the log knows two reasons")
        let row = try inboxes.inbox(inbox)
        guard row.kind != .deleted else { return nil }
        let view = try StoreInboxView(row, in: self)
        var known = Set<ItemID>()
        var there: [ItemID] = []
        for id in items where known.insert(id).inserted {
            if let item = try view.stored(id), !item.state.deleted { there.append(id) }
        }
        guard !there.isEmpty else { return nil }
        let bytes = Entry(time: now, kind: .removed(items: there, why: why)).bytes
        try enter(bytes, to: &view.tail, time: now)
        try delete(there, in: view)
        try moveHead(view.tail)
        return Appended(view.tail, content: EntryBytes(bytes), time: now)
    }
}
