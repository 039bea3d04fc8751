import PealModel

/// What devices report: that a notification arrived, and that it was opened.
extension InterestsSurface {
    /// Bytes of a report.
    private static let reportBody = 10 * 1024

    var reportRoutes: [HTTPRoute] {
        [
            HTTPRoute(
                .post, "/reporting_api/v2/instances/{instance}/events", bodyLimit: Self.reportBody
            ) { report($0, $1) }
        ]
    }

    /// One report.
    private struct Report: Sendable {
        /// What happened.
        enum Event: String {
            case delivery
            case open
        }

        var event: Event
        var publish: String
        var device: String
        var user: String?

        init(_ request: HTTPRequest) throws(HTTPFailure) {
            let body = try JSONBody(request, as: .interests)
            let word = try body.required("event", body.string("event", 20))
            guard let event = Event(rawValue: word.lowercased()) else {
                throw JSONBody.invalid("'event' is Delivery or Open.")
            }
            self.event = event
            publish = try Self.name("publishId", body)
            device = try Self.name("deviceId", body)
            user = try body.string("userId", Limits.identity)
            _ = try body.int("timestampSecs", 0...1 << 53)
            for flag in ["appInBackground", "hasDisplayableContent", "hasData"] { _ = try body.bool(flag) }
        }

        private static func name(_ key: String, _ body: JSONBody) throws(HTTPFailure) -> String {
            let name = try body.required(key, body.string(key, Limits.identity))
            guard !name.isEmpty else { throw JSONBody.invalid("'\(key)' is empty.") }
            return name
        }
    }

    /// 200 whether the item is known or not, so that a report tells nobody what there is. A device speaks for its own inbox and for its user's:
    /// the user in the report can only be that one.
    private func report(_ request: HTTPRequest, _ respond: HTTPResponder) {
        do throws(HTTPFailure) {
            let project = try instance(request)
            let report = try Report(request)
            core.perform(project, as: .interests, key: nil, respond) { (store, now) throws(HubStoreError) in
                var work = Work(response: .empty(200))
                guard let device = try store.device(report.device, in: project.key) else { return work }
                let user = try device.userID.flatMap { (id) throws(HubStoreError) in
                    try store.user(UserIdentity(externalID: id), in: project.key)
                }
                if let named = report.user, !named.isEmpty, named != device.userID { return work }
                for inbox in [device.inbox, user?.inbox].compactMap({ $0 }) {
                    work.appended += try Self.note(report, in: inbox, of: project.key, store, now)
                }
                return work
            }
        } catch {
            respond.send(HTTPSurface.interests.response(to: error))
        }
    }

    private static func note(
        _ report: Report, in inbox: InboxKey, of project: ProjectKey, _ store: any HubStore, _ now: Milliseconds
    ) throws(HubStoreError) -> [Appended] {
        guard let item = try store.item(ofPublish: report.publish, of: project, in: inbox) else { return [] }
        // What was opened has arrived.
        _ = try store.reportDelivery(ofPublish: report.publish, of: project, in: inbox, now: now)
        guard report.event == .open else { return [] }
        let uid = RepeatKey.uid(of: ["report", report.device, report.publish])
        return try store.act(
            .track(item: item, event: "opened", data: nil), uid: uid, observed: nil, in: inbox, now: now
        ).entries
    }
}
