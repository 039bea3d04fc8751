import PealModel
import PealWebSocket

/// Webhook calls: taken from the durable queue, made on the sender's threads, settled in the queue.
extension Hub {
    /// Takes what is due, where the sender has room.
    func callWebhooks() {
        guard let sender, !takingWebhooks, webhooksOut < WebhookSender.lanes else { return }
        takingWebhooks = true
        let now = clock()
        let room = WebhookSender.lanes - webhooksOut
        committer?.submit(
            { (store) throws(HubStoreError) in
                Committed(value: (try store.takeWebhooks(limit: room, now: now), try store.nextWebhook()))
            },
            completion: { result in
                self.assumeIsolated { hub in
                    hub.takingWebhooks = false
                    switch result {
                    case .success(let (calls, next)):
                        for call in calls { hub.make(call, sender) }
                        hub.webhookDue = next
                    case .failure(let error): hub.log("webhooks were not read: \(error)")
                    }
                }
            })
    }

    private func make(_ call: WebhookCall, _ sender: WebhookSender) {
        webhooksOut += 1
        let now = clock()
        let secret = projects?.secret(of: call.project, at: now)
        let done: @Sendable (WebhookSender.Outcome) -> Void = { outcome in
            self.service.post { self.assumeIsolated { $0.made(call, outcome) } }
        }
        if let secret { sender.send(call, secret: secret, done: done) } else { done(.failed("its project is closed")) }
    }

    private func made(_ call: WebhookCall, _ outcome: WebhookSender.Outcome) {
        webhooksOut -= 1
        var retryAt: Milliseconds?
        if case .failed(let why) = outcome {
            if call.failures < WebhookCall.retries.count, sender?.takes(call.url) ?? false {
                retryAt = clock() + WebhookCall.retries[call.failures]
            } else {
                log("a webhook \(call.event) was given up: \(why)")
            }
        }
        let time = retryAt
        committer?.submit(
            { (store) throws(HubStoreError) in
                try store.webhook(call, retryAt: time)
                return Committed(value: ())
            },
            completion: { _ in self.assumeIsolated { $0.callWebhooks() } })
    }

    /// Looks whether a call is due.
    func tickWebhooks(now: Milliseconds) {
        if let webhookDue, webhookDue <= now { callWebhooks() }
    }
}
