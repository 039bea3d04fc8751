import PealModel

/// What webhooks are told of the interests surface, in the shape that Beams has.
extension InterestsSurface {
    /// The addresses that are told of a publish: the project's, and the one that the publish names. One that the operator does not list is passed over.
    func webhooks(_ body: JSON, of project: Project) throws(HTTPFailure) -> [String] {
        var urls = project.webhooks
        if let own = body["webhookUrl"], own != .null {
            guard let url = own.stringValue else {
                throw HTTPFailure(
                    status: 422, code: "unprocessable_entity", message: "'webhookUrl' must be a string.")
            }
            if !urls.contains(url) { urls.append(url) }
        }
        return urls.filter { core.sender.takes($0) }
    }

    /// The calls that tell of a publish to users: who has a device, and who has none. Runs in the publish's transaction.
    static func attempt(
        _ publish: PublishRequest, of project: Project, _ urls: [String], _ store: any HubStore, _ now: Milliseconds
    ) throws(HubStoreError) -> [WebhookCall] {
        var reached: [String] = []
        var alone: [String] = []
        for recipient in publish.recipients {
            guard let id = recipient.identity.externalID else { continue }
            let user = try store.user(recipient.identity, in: project.key)
            let hasDevice = try user.map { (user) throws(HubStoreError) in
                guard try store.devices(of: user.key).isEmpty else { return true }
                return try !store.subscriptions(of: user.key).isEmpty
            }
            if hasDevice ?? false { reached.append(id) } else { alone.append(id) }
        }
        return calls("v1.PublishToUsersAttempt", of: project, urls, now) { writer in
            writer.member("instance_id", project.instance)
            writer.member("publish_id", publish.name)
            for (key, names) in [
                ("users_delivered_to_gateway", reached), ("users_no_devices", alone), ("users_gateway_failed", []),
            ] as [(StaticString, [String])] {
                writer.key(key)
                writer.beginArray()
                for name in names { writer.string(name) }
                writer.endArray()
            }
        }
    }

    /// The calls that tell of a report, where it is of an item of the user's.
    func webhooks(
        _ report: Report, user: String, in inbox: InboxKey?, of project: Project, _ store: any HubStore,
        _ now: Milliseconds
    ) throws(HubStoreError) -> [WebhookCall] {
        let urls = project.webhooks.filter { core.sender.takes($0) }
        guard let inbox, !urls.isEmpty, try store.item(ofPublish: report.publish, of: project.key, in: inbox) != nil
        else { return [] }
        let event =
            report.event == .open ? "v1.UserNotificationOpen" : "v1.UserNotificationAcknowledgement"
        return Self.calls(event, of: project, urls, now) { writer in
            writer.member("instance_id", project.instance)
            writer.member("publish_id", report.publish)
            writer.member("user_id", user)
            writer.member("device_id", report.device)
        }
    }

    private static func calls(
        _ event: String, of project: Project, _ urls: [String], _ now: Milliseconds,
        _ payload: (inout JSONWriter) -> Void
    ) -> [WebhookCall] {
        let body = WebhookCall.body(event, payload, now: now)
        return urls.map { WebhookCall(project: project.key, url: $0, event: event, body: body) }
    }
}
