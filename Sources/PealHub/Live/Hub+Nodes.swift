import PealModel
import PealWebSocket

/// Several hubs on one store (docs/nodes.md): what the others append, end and admit reaches this one's devices.
extension Hub {
    /// Milliseconds between looks at the store where no notice came.
    static let lookPeriod: Milliseconds = 1_500

    /// Connects the others; after ``attach(committer:logReader:projects:sender:)``.
    func attach(nodes: any HubNodes) {
        self.nodes = nodes
        nodes.start { notice in
            self.service.post { self.assumeIsolated { $0.heard(notice) } }
        }
        scheduleLook()
    }

    private func scheduleLook() {
        service.post(afterMilliseconds: Self.lookPeriod) {
            self.assumeIsolated { hub in
                guard hub.nodes != nil else { return }
                hub.heard(NodeNotice(isOfAll: true))
                hub.scheduleLook()
            }
        }
    }

    /// Tells the others what a transaction here has changed.
    func tellNodes(_ notice: NodeNotice) {
        guard let nodes, !notice.isEmpty else { return }
        nodes.tell(notice)
    }

    /// Looks at what may be different, after a look that is under way.
    private func heard(_ notice: NodeNotice) {
        unlooked.merge(notice)
        look()
    }

    private func look() {
        guard let nodes, !isLooking, !unlooked.isEmpty else { return }
        let notice = unlooked
        unlooked = NodeNotice()
        if notice.isOfProjects {
            lookAtProjects(clock())
            // Only logs that lack it get one.
            bringCatalogue()
        }
        let watched = Set(inboxes.keys).union(feedsByInbox.keys)
        let keys = notice.isOfAll ? watched : watched.intersection(notice.inboxes)
        guard !keys.isEmpty else { return }
        looks += 1
        isLooking = true
        let number = looks
        let replicas = keys.flatMap { key in inboxes[key]?.connections.values.compactMap(\.replica) ?? [] }
        nodes.look(keys.sorted(), replicas) { result in
            self.service.post {
                self.assumeIsolated { hub in
                    hub.isLooking = false
                    switch result {
                    case .success(let standing): hub.looked(standing, at: keys, number)
                    case .failure(let error): hub.log("the store was not looked at: \(error)")
                    }
                    hub.look()
                }
            }
        }
    }

    /// Takes what a look has found. Who joined after it began is not judged by it.
    private func looked(_ standing: Standing, at keys: Set<InboxKey>, _ number: Int) {
        var gone: [InboxKey] = []
        for key in keys {
            guard let found = standing.inboxes[key], !found.isDeleted else {
                gone.append(key)
                continue
            }
            for feed in feedsByInbox[key] ?? [] { feed.headMoved(to: found.head, in: self) }
            guard let live = inboxes[key] else { continue }
            if live.advance(to: found.head, sum: found.sum) { move(live) }
            for connection in live.connections.values where connection.joinedAfter < number {
                guard let replica = connection.replica, let joined = connection.joined,
                    standing.replicas[replica]?.session != joined
                else { continue }
                judge(connection, standing.replicas[replica])
            }
        }
        tellMovedSoon()
        let old = gone.filter { key in inboxes[key]?.connections.values.allSatisfy { $0.joinedAfter < number } ?? true }
        if !old.isEmpty { revokeHere(old) }
    }

    /// The store names another session of a replica, or none.
    private func judge(_ connection: HubConnection, _ replica: Standing.Replica?) {
        if replica?.isRevoked ?? true {
            perform(connection.session.denied(.revoked, "this device was signed out"), connection)
        } else {
            leave(connection)
            perform(connection.session.denied(.replaced, "a newer session of this replica"), connection)
        }
    }
}
