import PealModel
import PealWebSocket

/// Projects that change while devices are connected.
extension Hub {
    /// Looks whether another process has changed a project, or a replaced key or secret has ended.
    func lookAtProjects(_ now: Milliseconds) {
        let start = lookedAtProjects ?? now
        lookedAtProjects = now
        let changes = projectChanges
        logReader?.read(
            { (reader) throws(HubStoreError) in try reader.tenants() },
            completion: { result in
                self.service.post {
                    self.assumeIsolated { hub in
                        switch result {
                        case .success where hub.projectChanges != changes: break
                        case .success(let found):
                            let changed = hub.projects?.replace(
                                found.projects, operatorHash: found.operatorHash, from: start, to: now)
                            hub.recheck(changed ?? [])
                        case .failure(let error): hub.log("the projects were not read: \(error)")
                        }
                    }
                }
            })
    }

    /// Takes projects that were just changed, and ends at once the sessions that they do not admit any more (4201).
    func changed(_ some: [Project]) {
        projectChanges += 1
        tellNodes(NodeNotice(isOfProjects: true))
        for project in some { projects?.put(project) }
        recheck(Set(some.map(\.key)))
    }

    private func recheck(_ keys: Set<ProjectKey>) {
        guard !keys.isEmpty else { return }
        endFeeds(of: keys)
        let now = clock()
        for connection in connections.values {
            guard let hello = connection.hello, let key = connection.project, keys.contains(key) else { continue }
            let project = projects?.find(hello.project, at: now)
            if let reason = Admitter.objection(to: hello, project, now: now) {
                perform(connection.session.denied(.revoked, reason), connection)
            }
        }
    }
}
