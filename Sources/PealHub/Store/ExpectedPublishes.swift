#if PostgreSQL
    import PealModel

    /// What a group's publishes would ask one by one, asked at once: a round trip costs more than an answer.
    struct ExpectedPublishes {
        struct User: Hashable {
            var project: ProjectKey
            var id: String
        }

        /// The inboxes of users that are there; their rows are locked.
        var users: [User: InboxKey] = [:]
        /// Names of publishes that are not there.
        var newNames: Set<String> = []
    }

    extension PostgresHubStore {
        /// Two statements for all. The inboxes are locked in the order of their keys, over all publishes of the group.
        package func expect(_ publishes: [PublishRequest]) throws(HubStoreError) {
            guard publishes.count > 1 else { return }
            var wanted = Set<ExpectedPublishes.User>()
            for publish in publishes {
                for id in publish.recipients.compactMap(\.plainID) {
                    wanted.insert(.init(project: publish.project, id: id))
                }
            }
            let users = Array(wanted)
            try publishQueries.allRecipients.forEach(
                Integers(users.map(\.project.row)), Texts(users.map(\.id))
            ) { (found) throws(HubStoreError) in
                let row = try InboxRow(found, at: 2)
                if held[row.key] == nil { held.hold(row) }
                expected.users[.init(project: ProjectKey(row: found.int64(0)), id: found.text(1))] = row.key
                return true
            }
            expected.newNames = Set(publishes.map(\.name))
            try publishQueries.names.forEach(Texts(Array(expected.newNames))) { row in
                expected.newNames.remove(row.text(0))
                return true
            }
        }
    }
#endif
