package import PealHub
package import PealModel

extension MemoryHubStore {
    package func item(
        ofPublish name: String, of project: ProjectKey, in inbox: InboxKey
    ) throws(HubStoreError) -> ItemID? {
        guard let number = publish(name, of: project), try !state.box(inbox).value.kind.isDeleted else { return nil }
        let row = state.publishes[number - 1].value
        guard row.firstSeq > 0 else { return nil }
        for seq in row.firstSeq...min(row.lastSeq, Int64(state.entries.count)) {
            guard let place = state.entries[Int(seq) - 1], place.inbox == inbox, place.publish == Int64(number) else {
                continue
            }
            return place.item
        }
        return nil
    }

    package func reportDelivery(
        ofPublish name: String, of project: ProjectKey, in inbox: InboxKey, now: Milliseconds
    ) throws(HubStoreError) -> Bool {
        guard try item(ofPublish: name, of: project, in: inbox) != nil, let number = publish(name, of: project)
        else { return false }
        let key = DeliveryName(publish: number, inbox: inbox)
        guard state.deliveries[key] == nil else { return false }
        state.deliveries[key] = now
        return true
    }

    /// The row of a publish of a project.
    func publish(_ name: String, of project: ProjectKey) -> Int? {
        state.publishByName[name].flatMap { state.publishes[$0 - 1].value.project == project ? $0 : nil }
    }
}

/// An item by its publish's row and its inbox.
struct DeliveryName: Hashable, Sendable {
    var publish: Int
    var inbox: InboxKey
}
