internal import Foundation
public import PealModel
public import PealReplica

/// The hub's HTTP side, for apps and servers that publish or want no replica. Each call is one request.
public struct HubAPI: Sendable {
    /// The hub.
    public let hub: HubAddress

    /// Calls to a hub.
    public init(hub: HubAddress) { self.hub = hub }

    /// Publishes to interests (`interests`) or users (`users`) of an instance.
    ///
    /// - Parameters:
    ///   - instance: the project's instance id.
    ///   - secret: the project's secret.
    ///   - target: `interests` or `users`.
    ///   - names: the interests, or the users' external ids.
    ///   - payload: the platform objects, such as `{"apns": …}`.
    /// - Returns: the publish id.
    /// - Throws: ``PealError``: `unreachable`, `refused`.
    public func publish(
        instance: String, secret: String, target: String, names: [String], payload: [(key: String, value: JSON)]
    ) async throws(PealError) -> String {
        let body = JSON.object([(key: target, value: .array(names.map(JSON.string)))] + payload)
        let (status, answer) = try await hub.request(
            "POST", ["publish_api", "v1", "instances", instance, "publishes", target],
            headers: ["Authorization": "Bearer \(secret)"], body: body.bytes, seconds: 30)
        guard status == 200, let id = (try? JSON(answer[...]))?["publishId"]?.stringValue else {
            throw Self.refusal(status, answer)
        }
        return id
    }

    /// A user's list, as the hub has it.
    ///
    /// - Parameters:
    ///   - headers: who asks, as the inbox surface wants it.
    ///   - query: `per_page`, `page`, `read`, … as the inbox surface has them.
    /// - Returns: the answer's JSON object.
    /// - Throws: ``PealError``: `unreachable`, `refused`.
    public func notifications(
        headers: [String: String], query: [(String, String)] = []
    ) async throws(PealError) -> JSON {
        let (status, answer) = try await hub.request(
            "GET", ["notifications"], query: query, headers: headers, body: nil, seconds: 30)
        guard status == 200, let list = try? JSON(answer[...]) else { throw Self.refusal(status, answer) }
        return list
    }

    /// Where an inbox stands, for ``PealReplica/ReplicaReader/verify(hub:items:)``.
    ///
    /// - Parameters:
    ///   - headers: who asks, as the inbox surface wants it.
    ///   - inbox: the inbox's id, which needs the project's secret; nil for that of the user in `headers`.
    ///   - position: where the file stands.
    /// - Throws: ``PealError``: `unreachable`, `refused`, `notAHub` for an answer that cannot be read.
    public func standing(
        headers: [String: String], inbox: String?, position: Position
    ) async throws(PealError) -> HubStanding {
        let query = [("position", String(position))] + (inbox.map { [("inbox", $0)] } ?? [])
        let (status, answer) = try await hub.request(
            "GET", ["standing"], query: query, headers: headers, body: nil, seconds: 30)
        guard status == 200 else { throw Self.refusal(status, answer) }
        let body = try? JSON(answer[...])
        func hex(_ key: String) -> UInt64? { body?[key]?.stringValue.flatMap { Hex64.parse($0) } }
        func int(_ key: String) -> Int64? { body?[key]?.intValue }
        guard let inbox = body?["inbox"]?.stringValue, let epoch = hex("epoch"), let head = int("position"),
            let chain = hex("chain"), let sum = hex("sum"), let total = int("total"), let unread = int("unread_count"),
            let unseen = int("unseen_count"), let time = int("time")
        else { throw PealError(.notAHub, "the hub's answer to GET /standing cannot be read") }
        return HubStanding(
            inbox: inbox, epoch: epoch, position: head, chain: chain, sum: sum, chainAsked: hex("chain_asked"),
            counts: Counts(total: total, unread: unread, unseen: unseen), time: time)
    }

    /// A user's items as a hub lists them, archived ones too, for ``PealReplica/ReplicaReader/verify(hub:items:)``: a hundred a request.
    ///
    /// - Parameters:
    ///   - headers: who asks, as the inbox surface wants it.
    ///   - most: the newest so many, of what is archived and of what is not.
    /// - Returns: nil where the inbox moved on meanwhile, so that the pages are not of one moment.
    /// - Throws: ``PealError``: `unreachable`, `refused`, `notAHub` for an answer that cannot be read.
    public func items(headers: [String: String], most: Int = 10_000) async throws(PealError) -> HubItems? {
        var found = HubItems(position: 0, items: [], above: 0)
        var isFirst = true
        for archived in ["false", "true"] {
            var after: String?
            var count = 0
            repeat {
                let query = [("per_page", "100"), ("archived", archived)] + (after.map { [("after", $0)] } ?? [])
                let page = try await notifications(headers: headers, query: query)
                guard let position = page["position"]?.intValue, let rows = page["notifications"]?.arrayValue else {
                    throw PealError(.notAHub, "the hub's answer to GET /notifications cannot be read")
                }
                if !isFirst, position != found.position { return nil }
                (found.position, isFirst) = (position, false)
                for row in rows {
                    guard let number = row["number"]?.intValue else { continue }
                    func has(_ key: String) -> Bool { row[key]?.intValue != nil }
                    found.items.append(
                        HubItems.Item(
                            number: number, read: has("read_at"), seen: has("seen_at"), archived: has("archived_at")))
                }
                count += rows.count
                after = rows.isEmpty ? nil : page["after"]?.stringValue
                if after != nil, count >= most {
                    found.above = max(found.above, rows.last?["number"]?.intValue.map { $0 - 1 } ?? 0)
                    after = nil
                }
            } while after != nil
        }
        let above = found.above
        found.items.removeAll { $0.number <= above }
        return found
    }

    private static func refusal(_ status: Int, _ answer: [UInt8]) -> PealError {
        let body = try? JSON(answer[...])
        let message =
            body?["description"]?.stringValue ?? body?["errors"]?.arrayValue?.first?["message"]?.stringValue
            ?? "no reason was given"
        return PealError(.refused, "the hub refused (\(status)): \(message)", status: status)
    }
}
