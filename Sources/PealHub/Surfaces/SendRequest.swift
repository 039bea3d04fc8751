import PealModel

/// The body of `POST /notifications`, checked member by member.
struct SendRequest {
    private let item: ItemBody
    private let recipients: [PublishRequest.Recipient]

    /// - Throws: ``HTTPFailure``: 400 for a body that is no JSON, 422 that names the member and the limit.
    init(_ request: HTTPRequest, now: Milliseconds) throws(HTTPFailure) {
        let body: JSON
        do throws(JSONError) {
            body = try JSON(request.body[...])
        } catch {
            throw .badRequest("bad_json", "The body is not JSON: \(error.reason) at byte \(error.offset).")
        }
        guard let notification = body["notification"], notification.objectValue != nil else {
            throw InboxSurface.invalid("'notification' must be an object.")
        }
        item = try Self.item(notification, now: now)
        recipients = try Self.recipients(notification)
    }

    /// The publish that is asked for.
    func publish(_ project: ProjectKey) -> PublishRequest {
        PublishRequest(project: project, name: HubCore.publishName(), body: item, recipients: recipients)
    }

    private static func string(_ object: JSON, _ key: String, _ most: Int) throws(HTTPFailure) -> String? {
        switch object[key] {
        case nil, .null?: return nil
        case .string(let text)?:
            guard text.unicodeScalars.count <= most else {
                throw InboxSurface.invalid(
                    "'\(key)' has \(text.unicodeScalars.count) characters; at most \(most) are allowed.")
            }
            return text
        default: throw InboxSurface.invalid("'\(key)' must be a string.")
        }
    }

    private static func object(_ parent: JSON, _ key: String) throws(HTTPFailure) -> [UInt8]? {
        switch parent[key] {
        case nil, .null?: return nil
        case let value? where value.objectValue != nil:
            let bytes = value.bytes
            guard bytes.count <= Limits.attributes else {
                throw InboxSurface.invalid(
                    "'\(key)' has \(bytes.count) bytes; at most \(Limits.attributes) are allowed.")
            }
            return bytes
        default: throw InboxSurface.invalid("'\(key)' must be an object.")
        }
    }

    private static func item(_ notification: JSON, now: Milliseconds) throws(HTTPFailure) -> ItemBody {
        guard let title = try string(notification, "title", Limits.title), !title.isEmpty else {
            throw InboxSurface.invalid("'title' is missing.")
        }
        let item = ItemBody(
            title: title, content: try string(notification, "content", Limits.item),
            type: try string(notification, "type", Limits.category) ?? "message",
            category: try string(notification, "category", Limits.category),
            topic: try string(notification, "topic", Limits.category),
            actionURL: try string(notification, "action_url", Limits.url),
            attributes: try object(notification, "custom_attributes")?[...], sent: now)
        let bytes = item.bytes.count
        guard bytes <= Limits.item else {
            throw InboxSurface.invalid(
                "The notification has \(bytes) bytes as an item; at most \(Limits.item) can be delivered.")
        }
        return item
    }

    private static func recipients(_ notification: JSON) throws(HTTPFailure) -> [PublishRequest.Recipient] {
        guard let values = notification["recipients"]?.arrayValue else {
            throw InboxSurface.invalid("'recipients' must be an array.")
        }
        guard (1...Limits.usersPerPublish).contains(values.count) else {
            throw InboxSurface.invalid(
                "'recipients' has \(values.count) elements; 1 to \(Limits.usersPerPublish) are allowed.")
        }
        var recipients: [PublishRequest.Recipient] = []
        for value in values {
            let externalID = try string(value, "external_id", Limits.identity)
            let email = try string(value, "email", Limits.identity)
            guard externalID?.isEmpty == false || email?.isEmpty == false else {
                throw InboxSurface.invalid("A recipient in 'recipients' needs 'email' or 'external_id'.")
            }
            recipients.append(
                PublishRequest.Recipient(
                    identity: UserIdentity(
                        externalID: externalID?.isEmpty == true ? nil : externalID,
                        email: email?.isEmpty == true ? nil : email),
                    profile: UserProfile(
                        firstName: try string(value, "first_name", 50), lastName: try string(value, "last_name", 50),
                        attributes: try object(value, "custom_attributes"))))
        }
        return recipients
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
                throw InboxSurface.invalid("'after' is not a cursor that a list gave.")
            }
            start = .below(position)
        }
        return ListQuery(
            read: try bool("read"), seen: try bool("seen"), archived: try bool("archived"),
            categories: list(["categories", "category"]), topics: list(["topics", "topic"]),
            perPage: try int("per_page", 1...100) ?? 15, start: start, now: now)
    }

    private func int(_ name: String, _ range: ClosedRange<Int>) throws(HTTPFailure) -> Int? {
        guard let text = query.values(name).last else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw InboxSurface.invalid("'\(name)' is a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    private func bool(_ name: String) throws(HTTPFailure) -> Bool? {
        switch query.values(name).last {
        case nil, "": return nil
        case "true", "1": return true
        case "false", "0": return false
        default: throw InboxSurface.invalid("'\(name)' is true or false.")
        }
    }

    /// Arrays and comma lists, under either name.
    private func list(_ names: [String]) -> [String]? {
        let values = names.flatMap { query.values($0) }.joined(separator: ",").split(separator: ",").map { String($0) }
        return values.isEmpty ? nil : values
    }
}
