package import PealModel

extension SQLHubStore {
    package func setCatalogue(
        _ categories: [Catalogue.Category], in project: ProjectKey, now: Milliseconds
    ) throws(HubStoreError) -> Catalogue {
        let current = try rest.catalogue(of: project, after: 0)
        if let current, current.categories == categories { return current }
        let next = Catalogue(version: (current?.version ?? 0) + 1, categories: categories)
        if let problem = next.problem { throw HubStoreError(.invalid, "the catalogue is not taken: \(problem)") }
        try userQueries.insertCatalogue.run(project.row, next.version, now, next.bytes)
        return next
    }

    package func catalogue(of project: ProjectKey) throws(HubStoreError) -> Catalogue? {
        try rest.catalogue(of: project, after: 0)
    }

    package func bringCatalogue(to keys: [InboxKey], now: Milliseconds) throws(HubStoreError) -> [Appended] {
        var appended: [Appended] = []
        for key in keys.sorted() {
            var inbox = try inboxes.inbox(key)
            var tail = LogTail(inbox)
            if let entry = try bringCatalogue(to: &inbox, &tail, now: now) { appended.append(entry) }
        }
        return appended
    }

    /// Appends the project's newest catalogue where the log of a user's inbox lacks it.
    func bringCatalogue(
        to inbox: inout InboxRow, _ tail: inout LogTail, now: Milliseconds
    ) throws(HubStoreError) -> Appended? {
        guard inbox.kind == .user,
            let newest = try rest.catalogue(of: inbox.project, after: inbox.catalogue)
        else { return nil }
        let bytes = Entry(time: now, kind: .catalogue(newest)).bytes
        try enter(bytes, to: &tail, time: now)
        try moveHead(tail)
        try setCatalogue(newest.version, in: inbox.key)
        inbox.catalogue = newest.version
        inbox.head = tail.head
        inbox.chain = tail.chain
        return Appended(tail, content: EntryBytes(bytes), time: now)
    }
}
