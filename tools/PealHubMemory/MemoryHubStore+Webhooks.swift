package import PealHub
package import PealModel

extension MemoryHubStore {
    package func enqueue(_ calls: [WebhookCall], now: Milliseconds) throws(HubStoreError) {
        for call in calls {
            guard state.webhooks.count(where: { $0.call.project == call.project }) < WebhookCall.waiting else {
                continue
            }
            var call = call
            call.id = (state.webhooks.map(\.call.id).max() ?? 0) + 1
            state.webhooks.append(WebhookRow(call: call, due: now))
        }
    }

    package func takeWebhooks(limit: Int, now: Milliseconds) throws(HubStoreError) -> [WebhookCall] {
        let due = state.webhooks.indices.filter { state.webhooks[$0].due <= now }
            .sorted { (state.webhooks[$0].due, $0) < (state.webhooks[$1].due, $1) }.prefix(limit)
        for index in due { state.webhooks[index].due = now + WebhookCall.lease }
        return due.map { state.webhooks[$0].call }.sorted { $0.id < $1.id }
    }

    package func webhook(_ call: WebhookCall, retryAt time: Milliseconds?) throws(HubStoreError) {
        guard let index = state.webhooks.firstIndex(where: { $0.call.id == call.id }) else { return }
        guard let time else {
            state.webhooks.remove(at: index)
            return
        }
        state.webhooks[index].call.failures += 1
        state.webhooks[index].due = time
    }

    package func nextWebhook() throws(HubStoreError) -> Milliseconds? { state.webhooks.map(\.due).min() }
}

/// A webhook call that waits.
struct WebhookRow: Sendable {
    var call: WebhookCall
    var due: Milliseconds
}
