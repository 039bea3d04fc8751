import PealModel
import PealWebSocket

/// How a socket becomes a session.
extension Hub {
    func admit(_ hello: Hello, _ connection: HubConnection) {
        let id = connection.id
        let now = clock()
        committer?.submit(
            { (store) throws(HubStoreError) in
                let answer = try Admitter.admit(hello, store: store, now: now)
                guard case .admitted(let admitted, _) = answer else { return Committed(value: answer) }
                return Committed(value: answer, appended: [admitted.appended].compactMap { $0 })
            },
            completion: { result in
                self.assumeIsolated { hub in
                    guard let connection = hub.connections[id] else { return }
                    hub.admitted(result, hello, connection)
                }
            })
    }

    private func admitted(
        _ result: Result<Admitter.Answer, HubStoreError>, _ hello: Hello, _ connection: HubConnection
    ) {
        switch result {
        case .success(.admitted(let admitted, let expires)):
            if let old = admitted.replaced.flatMap({ sessions[$0] }), let other = connections[old], old != connection.id
            {
                leave(other)
                perform(other.session.denied(.replaced, "a newer session of this replica"), other)
            } else if admitted.replaced != nil {
                tellNodes(NodeNotice(inboxes: [admitted.inbox]))
            }
            if admitted.welcome.mode != .forked { join(admitted, connection) }
            if admitted.welcome.mode == .ahead { metrics.ahead.add() }
            if admitted.welcome.mode == .forked { metrics.forked.add() }
            connection.hello = hello
            connection.project = projects?.find(hello.project, at: clock())?.key
            var welcome = admitted.welcome
            welcome.reoffer = reoffersLostActs || welcome.mode != .ahead
            for line in restores.note(hello, admitted, now: clock()) { log(line) }
            perform(
                connection.session.admitted(
                    welcome, at: hello.cursor.position, now: clock(), expires: expires), connection)
            tellMovedSoon()
        case .success(.attemptTooLow(let last)): perform(connection.session.refused(last: last), connection)
        case .success(.denied(let code, let reason)): perform(connection.session.denied(code, reason), connection)
        case .failure(let error):
            log("a hello was not taken: \(error)")
            perform(connection.session.denied(.tryAgain, "the hub cannot take sessions now"), connection)
        }
    }

    private func join(_ admitted: Admitted, _ connection: HubConnection) {
        connection.inbox = admitted.inbox
        connection.replica = admitted.replica
        connection.joined = admitted.welcome.session
        metrics.sessions.add()
        connection.resumes = admitted.welcome.mode == .resume
        sessions[admitted.welcome.session] = connection.id
        connection.joinedAfter = looks
        let live = inboxes[admitted.inbox] ?? LiveInbox(head: admitted.welcome.head, sum: admitted.sum)
        inboxes[admitted.inbox] = live
        // Another hub may have appended what the welcome counts.
        if live.advance(to: admitted.welcome.head, sum: admitted.sum) { move(live) }
        live.connections[connection.id] = connection
        connection.live = live
    }
}
