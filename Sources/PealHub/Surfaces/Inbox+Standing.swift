import PealModel

/// What `peal inspect verify --hub` compares a replica's file with: where an inbox stands, and what it holds there, as numbers.
extension InboxSurface {
    /// Whose inbox is asked for: a user's, as for the list, or with the project's secret any, by its id.
    private enum Target {
        case user(UserIdentity)
        case inbox(String)
    }

    private struct Standing {
        var inbox: String
        var atHead: InboxAtHead
        var chainAsked: UInt64?
        var counts: ListPage
        var now: Milliseconds
    }

    func standing(_ request: HTTPRequest, _ respond: HTTPResponder) {
        do throws(HTTPFailure) {
            let id = request.query["inbox"]
            let (project, target): (Project, Target)
            if let id {
                (project, target) = (try admin(request), .inbox(id))
            } else {
                let (found, identity) = try user(request)
                (project, target) = (found, .user(identity))
            }
            let position = try Self.position(request)
            let now = core.clock()
            core.reader.read(
                { (reader) throws(HubStoreError) in
                    try Self.read(target, in: project, position, now: now, reader)
                },
                completion: { result in respond.send(answer(result)) })
        } catch {
            respond.send(HTTPSurface.inbox.response(to: error))
        }
    }

    private static func position(_ request: HTTPRequest) throws(HTTPFailure) -> Position? {
        guard let text = request.query["position"] else { return nil }
        guard let position = Position(text), position >= 0 else {
            throw invalid("'position' is a whole number from 0.")
        }
        return position
    }

    private static func read(
        _ target: Target, in project: Project, _ position: Position?, now: Milliseconds, _ reader: any HubReader
    ) throws(HubStoreError) -> Standing? {
        let found: (key: InboxKey, id: String)?
        switch target {
        case .user(let identity): found = try reader.user(identity, in: project.key).map { ($0.inbox, $0.inboxID) }
        case .inbox(let id): found = try reader.inbox(id, in: project.key).map { ($0, id) }
        }
        guard let found else { return nil }
        // Sum and counts are two reads; on a busy inbox the second can be of a later moment.
        for _ in 0..<10 {
            let atHead = try reader.sum(of: found.key)
            let counts = try reader.list(ListQuery(archived: false, perPage: 1, now: now), of: found.key)
            guard counts.head == atHead.head else { continue }
            return Standing(
                inbox: found.id, atHead: atHead,
                chainAsked: try position.flatMap { (position) throws(HubStoreError) in
                    try reader.chain(of: found.key, at: position)
                }, counts: counts, now: now)
        }
        throw HubStoreError(.busy, "the inbox does not stand still")
    }

    private func answer(_ result: Result<Standing?, HubStoreError>) -> HTTPResponse {
        switch result {
        case .success(let found?): return .json(200, Self.body(found))
        case .success(nil):
            return HTTPSurface.inbox.response(
                to: HTTPFailure(status: 404, code: "no_such_inbox", message: "There is no such inbox in this project."))
        case .failure(let error): return HTTPSurface.inbox.response(to: core.failure(error))
        }
    }

    private static func body(_ standing: Standing) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("inbox", standing.inbox)
        writer.member("epoch", Hex64.text(standing.atHead.epoch))
        writer.member("position", standing.atHead.head)
        writer.member("chain", Hex64.text(standing.atHead.chain))
        writer.member("sum", Hex64.text(standing.atHead.sum))
        writer.member("chain_asked", standing.chainAsked.map(Hex64.text))
        writer.member("total", Int64(standing.counts.total))
        writer.member("unread_count", Int64(standing.counts.unread))
        writer.member("unseen_count", Int64(standing.counts.unseen))
        writer.member("time", standing.now)
        writer.endObject()
        return writer.bytes
    }
}
