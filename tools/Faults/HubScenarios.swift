import PealHub
import PealModel

/// What a hub's file goes through.
extension Scenario {
    /// Every scenario of a hub's store.
    package static func hub() throws -> [Scenario] { try [hubOpen(), hubRequests(), hubWide(), hubUpkeep()] }

    /// A file that is not there yet, up to its first publish.
    package static func hubOpen() throws -> Scenario {
        try hub("hub: a new file", prepare: { _ in }) { script in
            try script.commit("create project", createProject)
            try script.commit("publish") { (store) throws(HubStoreError) in try publish(store, "first", to: ["anna"]) }
        }
    }

    /// Group commits of what devices and publishers ask for.
    package static func hubRequests() throws -> Scenario {
        try hub("hub: group commits", prepare: { try filled($0, devices: 3) }) { script in
            let now = HubSubject.now
            let anna = InboxIdentity.user(externalID: "anna", email: nil)
            let replica = ReplicaID(high: 0, low: 5_000)
            try script.commit("hello") { (store) throws(HubStoreError) in
                _ = try store.admit(hello(anna, replica), project: ProjectKey(row: 1), now: now)
            }
            let (key, session) = try standing(script, anna, replica)
            try script.commit("first frame") { (store) throws(HubStoreError) in
                _ = try store.firstFrame(key, session: session, now: now)
            }
            try script.commit("three publishes") { (store) throws(HubStoreError) in
                for name in ["one", "two", "three"] { try publish(store, name, to: ["anna", "bert"]) }
            }
            try script.commit("push") { (store) throws(HubStoreError) in
                let operations: [Operation] = [
                    .mark(.read, upTo: 4), .preference(category: "a", channel: "email", enabled: false),
                    .mark(.archive, upTo: 1), .mark(.seen, upTo: 9),
                ]
                let mutations = operations.enumerated().map { index, operation in
                    Mutation(
                        n: Int64(index + 1), uid: UInt64(index + 70), observed: 9, observedTime: 0, moment: .age(0),
                        operation: operation)
                }
                let result = try store.push(mutations, from: key, session: session, now: now)
                guard result.stop == nil else { throw HubStoreError(.invalid, "the push stopped") }
            }
            try script.commit("durable cursors") { (store) throws(HubStoreError) in
                try store.acknowledge([(key, 5)], now: now + 1)
            }
            try script.commit("answer") { (store) throws(HubStoreError) in
                try store.remember(
                    "key", digest: [1, 2, 3], status: 201, body: [UInt8](repeating: 7, count: 6_000),
                    in: ProjectKey(row: 1), now: now)
            }
            try script.commit("catalogue") { (store) throws(HubStoreError) in
                let channel = Catalogue.Channel(slug: "email", label: "E-mail", enabled: true)
                _ = try store.setCatalogue(
                    [Catalogue.Category(slug: "a", label: "A", channels: [channel])], in: ProjectKey(row: 1), now: now)
                let user = try store.user(UserIdentity(externalID: "anna"), in: ProjectKey(row: 1))
                if let user { _ = try store.bringCatalogue(to: [user.inbox], now: now) }
            }
        }
    }

    /// Publishes to so many that their index is deferred, acts on what waits, and a job in chunks.
    package static func hubWide() throws -> Scenario {
        try hub("hub: wide fan-outs", prepare: { try filled($0, devices: 70) }) { script in
            let now = HubSubject.now
            try script.commit("wide publish") { (store) throws(HubStoreError) in
                try publish(store, "wide", interests: ["wide"])
            }
            try script.commit("wide and narrow") { (store) throws(HubStoreError) in
                try publish(store, "narrow", interests: ["narrow"])
                try publish(store, "wide again", interests: ["wide"])
            }
            try script.commit("act on what waits") { (store) throws(HubStoreError) in
                _ = try store.act(
                    .interest(name: "late", on: true), uid: 9, observed: nil, in: InboxKey(row: 7), now: now)
            }
            try script.call("job") { subject in
                subject.store.wideFrom = 10
                defer { subject.store.wideFrom = 100 }
                try subject.commit { (store) throws(HubStoreError) in try publish(store, "job", interests: ["wide"]) }
            }
            try script.commit("chunk") { (store) throws(HubStoreError) in _ = try store.fanOut(limit: 64, now: now) }
            try script.commit("last chunk") { (store) throws(HubStoreError) in _ = try store.fanOut(limit: 64, now: now)
            }
        }
    }

    /// What leaves: expired and retracted items, devices, old answers, trimmed logs; what waited is settled in between.
    package static func hubUpkeep() throws -> Scenario {
        try hub("hub: upkeep", prepare: { try filled($0, devices: 66) }) { script in
            let now = HubSubject.now
            try script.commit("publishes") { (store) throws(HubStoreError) in
                for index in 0..<7 {
                    try publish(store, "p\(index)", interests: ["wide"], expires: index == 3 ? now + 5 : nil)
                }
            }
            try script.commit("device deleted") { (store) throws(HubStoreError) in
                try store.deleteDevice(InboxKey(row: 3))
            }
            // A group commit each; in the second one the rows that wait are written first.
            for round in 1...2 {
                try script.call("upkeep \(round)", isWhole: false) { subject in
                    let later = now + 1_000 * Milliseconds(round)
                    var goesOn = true
                    while goesOn {
                        goesOn = try subject.commit { (store) throws(HubStoreError) in
                            try store.upkeep(limit: 40, now: later)
                        }
                    }
                }
            }
            try script.commit("expire") { (store) throws(HubStoreError) in
                _ = try store.expire(limit: 500, now: now + 10)
            }
        }
    }

    // MARK: Parts

    @Sendable private static func createProject(_ store: SQLiteHubStore) throws(HubStoreError) {
        _ = try store.createProject(
            instance: "1f0c0000-0000-4000-8000-000000000001", apiKey: "key", secret: String(repeating: "ab", count: 32),
            requiresHMAC: false, now: HubSubject.now)
    }

    private static func publish(
        _ store: SQLiteHubStore, _ name: String, to users: [String] = [], interests: [String] = [],
        expires: Milliseconds? = nil
    ) throws(HubStoreError) {
        let body = ItemBody(
            title: name, content: String(repeating: "c", count: 900), sent: HubSubject.now, expires: expires)
        _ = try store.publish(
            PublishRequest(
                project: ProjectKey(row: 1), name: name, body: body, interests: interests,
                recipients: users.map { PublishRequest.Recipient(identity: UserIdentity(externalID: $0)) }),
            now: HubSubject.now)
    }

    private static func hello(_ inbox: InboxIdentity, _ replica: ReplicaID) -> Hello {
        Hello(project: "key", inbox: inbox, replica: replica, proof: Proof(), attempt: 1, nonce: "", cursor: .start)
    }

    /// The key and the session of a replica that the pilot has just admitted, by a copy: a second hello would change them.
    private static func standing(
        _ script: HubScript, _ inbox: InboxIdentity, _ replica: ReplicaID
    ) throws -> (ReplicaKey, UInt64) {
        let rows = try script.pilot.rows("SELECT id, session FROM replica WHERE hex(public) LIKE '%1388' LIMIT 1")
        guard let row = rows.first else { throw Misconceived("no replica was admitted") }
        return (ReplicaKey(row: row.0), UInt64(bitPattern: row.1))
    }

    /// A project, and devices with two interests.
    @Sendable private static func filled(_ folder: String, devices: Int) throws {
        let subject = try HubSubject(folder, nil)
        subject.seed(900)
        try subject.commit(createProject)
        for index in 1...devices {
            let inbox = try subject.commit { (store) throws(HubStoreError) -> InboxKey in
                let result = try store.admit(
                    hello(.device(id: nil), ReplicaID(high: 0, low: UInt64(index))), project: ProjectKey(row: 1),
                    now: HubSubject.now)
                guard case .admitted(let admitted) = result else { throw HubStoreError(.invalid, "no device") }
                return admitted.inbox
            }
            try subject.commit { (store) throws(HubStoreError) in
                for name in ["wide"] + (index.isMultiple(of: 9) ? ["narrow"] : []) {
                    _ = try store.act(
                        .interest(name: name, on: true), uid: UInt64(index * 10 + name.utf8.count), observed: nil,
                        in: inbox,
                        now: HubSubject.now)
                }
            }
        }
        try subject.store.close()
    }

    private static func hub(
        _ name: String, prepare: @escaping @Sendable (String) throws -> Void,
        script write: (inout HubScript) throws -> Void
    ) throws -> Scenario {
        let folder = try Folder.make()
        defer { Folder.remove(folder) }
        try prepare(folder)
        var script = try HubScript(folder)
        try write(&script)
        return Scenario(
            name: name, prepare: prepare, open: { try HubSubject($0, $1) }, objection: HubSubject.objection,
            steps: script.steps)
    }
}
