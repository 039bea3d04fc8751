import PealModel

/// One item of a user's list, and acts on one, on all, or on those of a category or a topic.
extension InboxSurface {
    var itemRoutes: [HTTPRoute] {
        let one = "/notifications/{id}"
        return [
            HTTPRoute(.get, one) { show($0, $1) },
            HTTPRoute(.delete, one) { act($0, $1) { .delete(items: [$0]) } },
            HTTPRoute(.post, one + "/read") { act($0, $1) { .read(items: [$0], on: true, passive: false) } },
            HTTPRoute(.post, one + "/unread") { act($0, $1) { .read(items: [$0], on: false, passive: false) } },
            HTTPRoute(.post, one + "/seen") { act($0, $1) { .seen(items: [$0]) } },
            HTTPRoute(.post, one + "/archive") { act($0, $1) { .archive(items: [$0], on: true) } },
            HTTPRoute(.delete, one + "/archive") { act($0, $1) { .archive(items: [$0], on: false) } },
            HTTPRoute(.post, "/notifications/read") { actOnAll($0, $1, .read) },
            HTTPRoute(.post, "/notifications/seen") { actOnAll($0, $1, .seen) },
        ]
    }

    static let noSuchNotification = HTTPFailure(
        status: 404, code: "not_found", message: "There is no such notification in this user's inbox.")

    /// The answer to a request of somebody who is no user of the project.
    static let noSuchUser = HTTPFailure(
        status: 404, code: "no_user_with_provided_email", message: "There is no such user in this project.")

    private static func item(_ request: HTTPRequest) throws(HTTPFailure) -> ItemID {
        guard let id = ItemID(request.parameter("id")) else { throw noSuchNotification }
        return id
    }

    private func show(_ request: HTTPRequest, _ respond: HTTPResponder) {
        do throws(HTTPFailure) {
            let (project, identity) = try user(request)
            let id = try Self.item(request)
            let now = core.clock()
            core.read(as: .inbox, respond) { (reader) throws(HubStoreError) in
                guard let user = try reader.user(identity, in: project.key) else {
                    return HTTPSurface.inbox.response(to: Self.noSuchUser)
                }
                guard let item = try reader.item(id, of: user.inbox, now: now) else {
                    return HTTPSurface.inbox.response(to: Self.noSuchNotification)
                }
                return .json(200, Self.shown(item, user))
            }
        } catch {
            respond.send(HTTPSurface.inbox.response(to: error))
        }
    }

    private static func shown(_ item: ListedItem, _ user: UserRecord) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("notification")
        write(item, user, to: &writer)
        writer.endObject()
        return writer.bytes
    }

    // MARK: Acts

    /// An act on one item: 204, or 404 where the item is not there or deleted.
    private func act(
        _ request: HTTPRequest, _ respond: HTTPResponder,
        _ operation: @escaping @Sendable (ItemID) -> PealModel.Operation
    ) {
        do throws(HTTPFailure) {
            let (project, identity) = try user(request)
            let id = try Self.item(request)
            let observed = try Self.observed(request)
            let key = try RepeatKey(request, caller: Self.caller(identity))
            let uid = key?.uid ?? .random(in: 1 ... .max)
            core.perform(project, as: .inbox, key: key, respond) { (store, now) throws(HubStoreError) in
                guard let user = try store.user(identity, in: project.key) else {
                    return Work(response: HTTPSurface.inbox.response(to: Self.noSuchUser))
                }
                let result = try store.act(operation(id), uid: uid, observed: observed, in: user.inbox, now: now)
                guard result.outcome.code != .gone else {
                    return Work(response: HTTPSurface.inbox.response(to: Self.noSuchNotification))
                }
                return Work(response: .empty(204), appended: result.entries)
            }
        } catch {
            respond.send(HTTPSurface.inbox.response(to: error))
        }
    }

    /// Read-all and seen-all: a mark up to the head, or up to `position`; with `category` or `topic` an act on each item of theirs.
    private func actOnAll(_ request: HTTPRequest, _ respond: HTTPResponder, _ kind: MarkKind) {
        do throws(HTTPFailure) {
            let (project, identity) = try user(request)
            let observed = try Self.observed(request)
            let key = try RepeatKey(request, caller: Self.caller(identity))
            var filter = ListParameters(request.query).filter
            if kind == .read { filter.read = false } else { filter.seen = false }
            guard filter.categories != nil || filter.topics != nil else {
                let uid = key?.uid ?? .random(in: 1 ... .max)
                return core.perform(project, as: .inbox, key: key, respond) { (store, now) throws(HubStoreError) in
                    guard let user = try store.user(identity, in: project.key) else {
                        return Work(response: HTTPSurface.inbox.response(to: Self.noSuchUser))
                    }
                    let mark = PealModel.Operation.mark(kind, upTo: observed ?? .max)
                    let result = try store.act(mark, uid: uid, observed: observed, in: user.inbox, now: now)
                    return Work(response: .empty(204), appended: result.entries)
                }
            }
            actOnSome(
                SomeOf(project: project, identity: identity, kind: kind, observed: observed, key: key), filter, respond)
        } catch {
            respond.send(HTTPSurface.inbox.response(to: error))
        }
    }

    private struct SomeOf {
        var project: Project
        var identity: UserIdentity
        var kind: MarkKind
        var observed: Position?
        var key: RepeatKey?
    }

    /// Finds the items on the reader's thread, and acts on them as of the list that it read.
    private func actOnSome(_ some: SomeOf, _ filter: ListQuery, _ respond: HTTPResponder) {
        let limit = Limits.itemsPerMutation
        var query = filter
        query.now = core.clock()
        let first = query
        core.reader.read(
            { (reader) throws(HubStoreError) -> (items: [ItemID], head: Position)? in
                guard let user = try reader.user(some.identity, in: some.project.key) else { return nil }
                return try Self.everything(first, of: user.inbox, reader)
            },
            completion: { result in
                switch result {
                case .failure(let error): respond.send(HTTPSurface.inbox.response(to: core.failure(error)))
                case .success(nil): respond.send(HTTPSurface.inbox.response(to: Self.noSuchUser))
                case .success(let found?):
                    let chunks = stride(from: 0, to: found.items.count, by: limit).map {
                        Array(found.items[$0..<min($0 + limit, found.items.count)])
                    }
                    core.perform(
                        some.project, as: .inbox, key: some.key, weight: max(1, chunks.count), respond
                    ) { (store, now) throws(HubStoreError) in
                        try Self.act(on: chunks, some, observed: some.observed ?? found.head, store, now)
                    }
                }
            })
    }

    private static func everything(
        _ query: ListQuery, of inbox: InboxKey, _ reader: any HubReader
    ) throws(HubStoreError) -> (items: [ItemID], head: Position) {
        var query = query
        query.perPage = 100
        query.start = .page(1)
        var items: [ItemID] = []
        var head: Position?
        while true {
            let page = try reader.list(query, of: inbox)
            items += page.items.map(\.id)
            head = head ?? page.head
            guard let next = page.next else { return (items, head ?? 0) }
            query.start = .below(next)
        }
    }

    private static func act(
        on chunks: [[ItemID]], _ some: SomeOf, observed: Position, _ store: any HubStore, _ now: Milliseconds
    ) throws(HubStoreError) -> Work {
        guard let user = try store.user(some.identity, in: some.project.key) else {
            return Work(response: HTTPSurface.inbox.response(to: noSuchUser))
        }
        var work = Work(response: .empty(204))
        for (index, items) in chunks.enumerated() {
            let operation: PealModel.Operation =
                some.kind == .read ? .read(items: items, on: true, passive: false) : .seen(items: items)
            let uid = some.key.map { $0.uid &+ UInt64(index) } ?? .random(in: 1 ... .max)
            work.appended += try store.act(operation, uid: uid, observed: observed, in: user.inbox, now: now).entries
        }
        return work
    }

    // MARK: Parameters

    /// What a list had come to when the person acted; nil for the head.
    private static func observed(_ request: HTTPRequest) throws(HTTPFailure) -> Position? {
        guard let text = request.query["position"] else { return nil }
        guard let position = Position(text), position >= 0 else {
            throw invalid("'position' is a whole number from 0.")
        }
        return position
    }

    /// Whose idempotency keys these are.
    static func caller(_ identity: UserIdentity) -> String {
        identity.externalID.map { "id \($0)" } ?? "email \(identity.email?.lowercased() ?? "")"
    }
}
