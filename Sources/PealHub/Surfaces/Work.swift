import PealModel

/// What carrying out a request leaves: the answer, and what follows once it is durable.
struct Work: Sendable {
    /// The answer.
    var response: HTTPResponse
    /// Entries for connected devices.
    var appended: [Appended] = []
    /// A publish was frozen as a durable job.
    var isWide = false
    /// Publishes that it carried out.
    var publishes = 0
    /// Inboxes that are no more: their sessions end with 4201.
    var ended: [InboxKey] = []
    /// A replica that was revoked: its session ends with 4201.
    var revoked: (inbox: InboxKey, replica: ReplicaKey)?
    /// Something became due: a scheduled publish, items that were taken back.
    var isDue = false
    /// Webhook calls to queue, in the same transaction.
    var calls: [WebhookCall] = []
    /// Projects as they are now: sessions that they do not admit any more end with 4201.
    var projects: [Project] = []
}

/// A request that may come again: the caller's `Idempotency-Key`, as wide as whoever asks.
struct RepeatKey: Sendable {
    /// Characters of a key at most.
    static let limit = HubLimits.idempotencyKey

    /// The key in the store: of a project, of a caller, as a digest.
    let name: String
    /// Of the whole request; another one under the same key is refused.
    let digest: [UInt8]

    /// Nil for a request without the header, and for a method that is repeatable anyway.
    ///
    /// - Parameters:
    ///   - caller: whoever the key belongs to: two users of a project never meet.
    /// - Throws: ``HTTPFailure`` 400 for an empty or too long key.
    init?(_ request: HTTPRequest, caller: String) throws(HTTPFailure) {
        guard request.method == .post, let key = request.headers["Idempotency-Key"] else { return nil }
        guard (1...Self.limit).contains(key.unicodeScalars.count) else {
            throw .badRequest("bad_idempotency_key", "An Idempotency-Key has 1 to \(Self.limit) characters.")
        }
        name = Hexadecimal.encode(Self.hash([Array(caller.utf8), Array(key.utf8)]))
        digest = Self.hash([Array(request.method.rawValue.utf8), Array(request.target.raw.utf8), request.body])
    }

    /// The uid of the act that the request is: the same each time it comes, also after the answer has been forgotten.
    var uid: UInt64 { Self.uid(of: [name]) }

    /// The uid of an act that some texts name.
    static func uid(of texts: [String]) -> UInt64 {
        max(1, hash(texts.map { Array($0.utf8) }).prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }

    /// Each part with its length, so that no two lists of parts look alike.
    private static func hash(_ parts: [[UInt8]]) -> [UInt8] {
        var text: [UInt8] = []
        for part in parts {
            text += Array("\(part.count):".utf8)
            text += part
        }
        return SHA256.hash(text)
    }
}

extension HubCore {
    /// Carries a request out in a group commit, and answers once that is durable.
    ///
    /// A request with an `Idempotency-Key` is carried out once in 24 hours: what was answered the first time is answered again, and another
    /// request under its key is 409. Both are decided in the transaction that carries it out.
    ///
    /// - Parameters:
    ///   - surface: shapes what goes wrong.
    ///   - key: nil where the caller gave none.
    ///   - weight: how much of a transaction it is: inboxes or mutations.
    ///   - publish: what it is going to publish, where it is known.
    ///   - work: runs on the store's thread, in a savepoint of its own.
    func perform(
        _ project: Project, as surface: HTTPSurface, key: RepeatKey?, weight: Int = 1,
        expecting publish: PublishRequest? = nil, _ respond: HTTPResponder,
        _ work: @escaping @Sendable (any HubStore, Milliseconds) throws(HubStoreError) -> Work
    ) {
        perform(in: project.key, as: surface, key: key, weight: weight, expecting: publish, respond, work)
    }

    /// As ``perform(_:as:key:weight:_:_:)``, in the name of a project or, where it is nil, of the operator.
    func perform(
        in project: ProjectKey?, as surface: HTTPSurface, key: RepeatKey?, weight: Int = 1,
        expecting publish: PublishRequest? = nil, _ respond: HTTPResponder,
        _ work: @escaping @Sendable (any HubStore, Milliseconds) throws(HubStoreError) -> Work
    ) {
        let project = project ?? ProjectKey(row: 0)
        let now = clock()
        let hub = hub
        committer.submit(
            weight: weight, expecting: publish,
            { (store) throws(HubStoreError) in
                if let key, let known = try Self.known(key, project, surface, now, store) {
                    return Committed(value: known)
                }
                let done = try work(store, now)
                if !done.calls.isEmpty { try store.enqueue(done.calls, now: now) }
                if let key, done.response.status < 500 {
                    try store.remember(
                        key.name, digest: key.digest, status: done.response.status, body: done.response.body,
                        in: project, now: now)
                }
                return Committed(value: done, appended: done.appended)
            },
            completion: { result in
                switch result {
                case .success(let done):
                    metrics.publishes.add(done.publishes)
                    if done.isWide { hub.assumeIsolated { $0.fanOut() } }
                    if !done.projects.isEmpty { hub.assumeIsolated { $0.changed(done.projects) } }
                    if !done.calls.isEmpty { hub.assumeIsolated { $0.callWebhooks() } }
                    if done.isDue { hub.assumeIsolated { $0.goOn() } }
                    if !done.ended.isEmpty { hub.assumeIsolated { $0.revoke(done.ended) } }
                    if let gone = done.revoked {
                        hub.assumeIsolated { $0.revoke(gone.replica, of: gone.inbox) }
                    }
                    respond.send(done.response)
                case .failure(let error): respond.send(surface.response(to: failure(error)))
                }
            })
    }

    /// Publishes, for who has the project's secret; as ``perform(_:as:key:weight:_:_:)``.
    ///
    /// - Parameters:
    ///   - calls: the webhook calls that tell of it; likewise.
    ///   - answer: what is answered; runs in the publish's transaction, after it.
    func publish(
        _ publish: PublishRequest, _ request: HTTPRequest, of project: Project, as surface: HTTPSurface,
        _ respond: HTTPResponder,
        calls: @escaping @Sendable (any HubStore, Milliseconds) throws(HubStoreError) -> [WebhookCall] = { _, _ in [] },
        answer: @escaping @Sendable (any HubStore, PublishResult, Milliseconds) throws(HubStoreError) -> HTTPResponse
    ) throws(HTTPFailure) {
        perform(
            project, as: surface, key: try RepeatKey(request, caller: "admin"),
            weight: max(1, publish.recipients.count), expecting: publish, respond
        ) { (store, now) throws(HubStoreError) in
            let result = try store.publish(publish, now: now)
            return Work(
                response: try answer(store, result, now), appended: result.appended, isWide: result.isWide,
                publishes: 1, calls: try calls(store, now))
        }
    }

    /// What is answered to a request that came before; nil for a new one.
    private static func known(
        _ key: RepeatKey, _ project: ProjectKey, _ surface: HTTPSurface, _ now: Milliseconds, _ store: any HubStore
    ) throws(HubStoreError) -> Work? {
        switch try store.replay(key.name, digest: key.digest, in: project, now: now) {
        case .new: return nil
        case .answered(let status, let body):
            return Work(response: body.isEmpty ? .empty(status) : .json(status, body))
        case .different:
            return Work(
                response: surface.response(
                    to: HTTPFailure(
                        status: 409, code: "idempotency_key_reused",
                        message: "This Idempotency-Key was used for another request within 24 hours.")))
        }
    }

    /// Answers with what a read finds, or in the surface's shape with what went wrong.
    func read(
        as surface: HTTPSurface, _ respond: HTTPResponder,
        _ body: @escaping @Sendable (any HubReader) throws(HubStoreError) -> HTTPResponse
    ) {
        reader.read(body) { result in
            switch result {
            case .success(let response): respond.send(response)
            case .failure(let error): respond.send(surface.response(to: failure(error)))
            }
        }
    }
}
