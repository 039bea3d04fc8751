import PealHub
import PealModel

extension MemoryHubReader {
    func publish(_ name: String, of project: ProjectKey) throws(HubStoreError) -> PublishRecord? {
        let state = state
        if let number = state.publishByName[name] {
            let row = state.publishes[number - 1].value
            guard row.project == project else { return nil }
            return PublishRecord(
                name: name, status: row.retracted != nil ? .retracted : row.pending == nil ? .published : .publishing,
                time: row.time, matched: row.matched, expires: row.expires)
        }
        return state.scheduled.first { $0.request.name == name && $0.request.project == project }.map { row in
            PublishRecord(
                name: name, status: row.status, time: row.time, matched: 0, expires: row.request.body.expires)
        }
    }

    func deliveries(
        of publish: String, in project: ProjectKey, after number: Int64, limit: Int, now: Milliseconds
    ) throws(HubStoreError) -> DeliveryPage {
        let state = state
        var page = DeliveryPage(deliveries: [], next: nil)
        guard let index = state.publishByName[publish] else { return page }
        let row = state.publishes[index - 1].value
        guard row.project == project, row.lastSeq > 0 else { return page }
        var last = max(number, row.firstSeq - 1)
        var looks = 0
        let end = min(row.lastSeq, Int64(state.entries.count))
        while last < end, page.deliveries.count < limit, looks < DeliveryPage.looks {
            last += 1
            guard let place = state.entries[Int(last) - 1] else { continue }
            looks += 1
            guard place.publish == Int64(index) else { continue }
            page.deliveries.append(try delivery(of: place, publish: index, state, now: now))
        }
        if last < row.lastSeq, page.deliveries.count == limit || looks == DeliveryPage.looks { page.next = last }
        return page
    }

    private func delivery(
        of place: EntryPlace, publish: Int, _ state: MemoryHubStore.State, now: Milliseconds
    ) throws(HubStoreError) -> Delivery {
        let user = state.users.lazy.compactMap { $0 }.first { $0.inbox == place.inbox }
        let reached = state.replicas.filter { $0.inbox == place.inbox }.map(\.got).max() ?? 0
        let reported = state.deliveries[DeliveryName(publish: publish, inbox: place.inbox)]
        var delivery = Delivery(
            inbox: state[place.inbox].id, user: user?.identity, item: place.item, number: place.position,
            isDelivered: reported != nil || reached >= place.position, reported: reported)
        if let listed = try item(place.item, of: place.inbox, now: now) {
            delivery.seenAt = listed.seenAt
            delivery.readAt = listed.readAt
            delivery.archivedAt = listed.archivedAt
            delivery.isGone = false
            delivery.facts = try facts(of: place.item, in: place.inbox)
        }
        return delivery
    }

    func user(inboxID: String, in project: ProjectKey) throws(HubStoreError) -> UserRecord? {
        let state = state
        guard let inbox = state.inbox(public: inboxID, in: project) else { return nil }
        return state.users.lazy.compactMap { $0 }.first { $0.inbox == inbox }
    }

    func replicas(of inbox: InboxKey) throws(HubStoreError) -> [ReplicaRecord] {
        state.replicas.filter { $0.inbox == inbox && !$0.isRevoked }.map { row in
            ReplicaRecord(id: row.id, got: row.got, lastN: row.lastN, seenAt: row.seenAt)
        }
    }

    func devices(of user: UserKey) throws(HubStoreError) -> [DeviceRecord] {
        let state = state
        return state.devices.values.filter { $0.user == user }.sorted { $0.inbox < $1.inbox }.map { device in
            var device = device
            device.userID = state.users[Int(user.row) - 1]?.identity.externalID
            return device
        }
    }

    func subscriptions(of user: UserKey) throws(HubStoreError) -> [PushSubscription] { state.subscriptions(of: user) }

    func deadLetters(
        of inbox: InboxKey, before place: DeadLetter.Place?, limit: Int
    ) throws(HubStoreError) -> [DeadLetter] {
        let acts = try state.box(inbox).value.acts
        var dead: [DeadLetter] = []
        for index in 0..<acts.count where acts[index].outcome.isDead {
            let row = acts[index]
            dead.append(
                DeadLetter(
                    place: DeadLetter.Place(time: row.time, uid: row.uid), author: row.author, n: row.n,
                    outcome: row.outcome))
        }
        func isBefore(_ left: DeadLetter.Place, _ right: DeadLetter.Place) -> Bool {
            (left.time, Int64(bitPattern: left.uid)) < (right.time, Int64(bitPattern: right.uid))
        }
        let below = dead.filter { letter in place.map { isBefore(letter.place, $0) } ?? true }
        return Array(below.sorted { isBefore($1.place, $0.place) }.prefix(limit))
    }
}
