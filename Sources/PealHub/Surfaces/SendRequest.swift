import PealModel

/// The body of `POST /notifications`, checked member by member.
struct SendRequest {
    private let item: ItemBody
    private let recipients: [PublishRequest.Recipient]

    /// - Throws: ``HTTPFailure``: 400 for a body that is no JSON, 422 that names the member and the limit.
    init(_ request: HTTPRequest, under name: String = "notification", now: Milliseconds) throws(HTTPFailure) {
        let notification = try JSONBody(request).object(name)
        item = try Self.item(notification, now: now)
        recipients = try Self.recipients(notification)
    }

    /// The publish that is asked for.
    func publish(_ project: ProjectKey) -> PublishRequest {
        PublishRequest(project: project, name: HubCore.publishName(), body: item, recipients: recipients)
    }

    private static func item(_ notification: JSONBody, now: Milliseconds) throws(HTTPFailure) -> ItemBody {
        guard let title = try notification.string("title", Limits.title), !title.isEmpty else {
            throw JSONBody.invalid("'title' is missing.")
        }
        let item = ItemBody(
            title: title, content: try notification.string("content", Limits.item),
            type: try notification.string("type", Limits.category) ?? "message",
            category: try notification.string("category", Limits.category),
            topic: try notification.string("topic", Limits.category),
            actionURL: try notification.string("action_url", Limits.url),
            attributes: try notification.raw("custom_attributes", Limits.attributes)?[...], sent: now)
        let bytes = item.bytes.count
        guard bytes <= Limits.item else {
            throw JSONBody.invalid(
                "The notification has \(bytes) bytes as an item; at most \(Limits.item) can be delivered.")
        }
        return item
    }

    private static func recipients(_ notification: JSONBody) throws(HTTPFailure) -> [PublishRequest.Recipient] {
        guard let values = try notification.objects("recipients") else {
            throw JSONBody.invalid("'recipients' must be an array.")
        }
        guard (1...Limits.usersPerPublish).contains(values.count) else {
            throw JSONBody.invalid(
                "'recipients' has \(values.count) elements; 1 to \(Limits.usersPerPublish) are allowed.")
        }
        var recipients: [PublishRequest.Recipient] = []
        for value in values { recipients.append(try UserMembers(value, of: "A recipient in 'recipients'").recipient) }
        return recipients
    }
}

/// The members that say who a user is, in a recipient and in the users' own paths.
struct UserMembers {
    /// Who, and what is said about it.
    let recipient: PublishRequest.Recipient

    /// - Parameter subject: how the message begins where there is neither an email nor an external id.
    /// - Throws: ``HTTPFailure`` 422 that names the member and the limit.
    init(_ body: JSONBody, of subject: String, needsIdentity: Bool = true) throws(HTTPFailure) {
        func identity(_ key: String) throws(HTTPFailure) -> String? {
            try body.string(key, Limits.identity).flatMap { $0.isEmpty ? nil : $0 }
        }
        let who = UserIdentity(externalID: try identity("external_id"), email: try identity("email"))
        guard !needsIdentity || who.externalID != nil || who.email != nil else {
            throw JSONBody.invalid("\(subject) needs 'email' or 'external_id'.")
        }
        let phones = try body.strings("phone_numbers", Limits.personName)
        guard phones?.count ?? 0 <= Limits.phoneNumbers else {
            throw JSONBody.invalid("'phone_numbers' has more than \(Limits.phoneNumbers) elements.")
        }
        recipient = PublishRequest.Recipient(
            identity: who,
            profile: UserProfile(
                firstName: try body.string("first_name", Limits.personName),
                lastName: try body.string("last_name", Limits.personName),
                attributes: try body.raw("custom_attributes", Limits.attributes),
                phoneNumbers: phones.map { JSON.array($0.map(JSON.string)).bytes }))
    }
}

/// The query of `GET /notifications`.
struct ListParameters {
    private let query: HTTPQuery

    init(_ query: HTTPQuery) { self.query = query }

    /// - Throws: ``HTTPFailure`` 422 that names the parameter.
    func query(now: Milliseconds) throws(HTTPFailure) -> ListQuery {
        var start = ListQuery.Start.page(try int("page", 1...1_000_000) ?? 1)
        if let after = query.values("after").last {
            guard let position = Int64(after), position >= 0 else {
                throw JSONBody.invalid("'after' is not a cursor that a list gave.")
            }
            start = .below(position)
        }
        var found = filter
        found.read = try bool("read")
        found.seen = try bool("seen")
        found.archived = try bool("archived")
        found.perPage = try int("per_page", 1...100) ?? 15
        found.start = start
        found.now = now
        return found
    }

    /// Its categories and topics alone.
    var filter: ListQuery {
        ListQuery(categories: list(["categories", "category"]), topics: list(["topics", "topic"]), now: 0)
    }

    /// Number and size of a page.
    func page() throws(HTTPFailure) -> (number: Int, perPage: Int) {
        (try int("page", 1...1_000_000) ?? 1, try int("per_page", 1...100) ?? 15)
    }

    private func int(_ name: String, _ range: ClosedRange<Int>) throws(HTTPFailure) -> Int? {
        guard let text = query.values(name).last else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw JSONBody.invalid("'\(name)' is a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    private func bool(_ name: String) throws(HTTPFailure) -> Bool? {
        switch query.values(name).last {
        case nil, "": return nil
        case "true", "1": return true
        case "false", "0": return false
        default: throw JSONBody.invalid("'\(name)' is true or false.")
        }
    }

    /// Arrays and comma lists, under either name.
    private func list(_ names: [String]) -> [String]? {
        let values = names.flatMap { query.values($0) }.joined(separator: ",").split(separator: ",").map { String($0) }
        return values.isEmpty ? nil : values
    }
}
