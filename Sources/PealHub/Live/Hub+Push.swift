import PealModel
import PealWebSocket

/// What a session asks of the store.
extension Hub {
    func firstFrame(_ connection: HubConnection) {
        guard let replica = connection.replica, let session = connection.session.session else { return }
        let now = clock()
        committer?.submit(
            { (store) throws(HubStoreError) in
                Committed(value: try store.firstFrame(replica, session: session, now: now))
            },
            completion: { _ in })
    }

    func push(_ mutations: [Mutation], _ connection: HubConnection) {
        guard let replica = connection.replica, let session = connection.session.session else { return }
        push(mutations, from: replica, session: session, connection.id)
    }

    private func push(
        _ mutations: [Mutation], from replica: ReplicaKey, session: UInt64, _ id: ConnectionID
    ) {
        let now = clock()
        committer?.submit(
            weight: mutations.count,
            { (store) throws(HubStoreError) in
                let result = try store.push(mutations, from: replica, session: session, now: now)
                return Committed(value: result, appended: result.appended)
            },
            completion: { result in
                self.assumeIsolated { $0.pushed(result, id) }
            })
    }

    private func pushed(_ result: Result<PushResult, HubStoreError>, _ id: ConnectionID) {
        if case .success(let pushed) = result { metrics.settled(pushed.outcomes) }
        guard let connection = connections[id] else { return }
        if case .failure(let error) = result { log("a push was not taken: \(error)") }
        perform(connection.session.answered(result), connection)
        if case .success(let pushed) = result, pushed.stop == .ended, let inbox = connection.inbox { revoke([inbox]) }
    }

    /// The note is durable before the mutation is processed: if this process ends over it, the next one knows.
    func pushSuspect(_ mutation: Mutation, _ connection: HubConnection) {
        guard let replica = connection.replica, let session = connection.session.session else { return }
        let id = connection.id
        let now = clock()
        committer?.submit(
            { (store) throws(HubStoreError) in
                let result = try store.suspect(mutation, from: replica, session: session, now: now)
                return Committed(value: result, appended: result?.appended ?? [])
            },
            completion: { result in
                self.assumeIsolated { hub in
                    switch result {
                    // Also where the socket has gone meanwhile: a note that nothing follows would look like a crash's.
                    case .success(nil): hub.push([mutation], from: replica, session: session, id)
                    case .success(let answer?): hub.pushed(.success(answer), id)
                    case .failure(let error): hub.pushed(.failure(error), id)
                    }
                }
            })
    }

    func checkToken(_ token: String, _ connection: HubConnection) {
        guard let hello = connection.hello else { return }
        let id = connection.id
        let now = clock()
        committer?.submit(
            { (store) throws(HubStoreError) in
                Committed(value: try Admitter.renew(token, hello, store: store, now: now))
            },
            completion: { result in
                self.assumeIsolated { hub in
                    guard let connection = hub.connections[id] else { return }
                    switch result {
                    case .success(.renewed(let expires)):
                        connection.hello?.proof.token = token
                        hub.perform(connection.session.renewed(expires: expires), connection)
                    case .success(.denied(let code, let reason)):
                        hub.perform(connection.session.denied(code, reason), connection)
                    case .failure(let error):
                        hub.log("a token was not checked: \(error)")
                        hub.perform(connection.session.notRenewed(), connection)
                    }
                }
            })
    }
}
