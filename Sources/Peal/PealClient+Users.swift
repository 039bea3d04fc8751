internal import PealModel
internal import PealReplica

/// The users of a client: any number at once, each with an inbox, a replica and a session of their own.
extension PealClient {
    /// Connects a user, and stays connected until they are disconnected. The same arguments give the same user. Not blocking: the replica is
    /// opened in the background, and everything works at once, offline too; ``User/statuses`` tells how it goes.
    ///
    /// - Parameters:
    ///   - email: the user's address; upper case does not matter.
    ///   - externalId: the app's own id of the user; at least one of the two is given. An email and an external id that look alike are two users.
    ///   - hmac: base64(HMAC-SHA256(secret, external id, else the lower-case email)) from your server, where the project wants it. One that comes
    ///     with a later call is taken over.
    ///   - freshToken: gets a user token of the external id from your server, in place of an HMAC: at the first connection, before one ends, and
    ///     after one has ended. Called on any thread; nil where there is none to be had. Of a user who is connected already it is not looked at.
    /// - Throws: ``PealError``: `invalid` without a name, or for one over its limit.
    @discardableResult
    public func connectUser(
        email: String? = nil, externalId: String? = nil, hmac: String? = nil,
        freshToken: (@Sendable () async -> String?)? = nil
    ) throws(PealError) -> User {
        let identity = try Self.identity(externalId, email)
        let path = path(of: identity)
        let proof = proof(hmac, identity)
        let (user, isNew) = connected.user(path) { closing in
            let core = UserCore(
                identity, context: callbacks,
                status: { [weak connected, weak tokens] status in
                    connected?.tell(status, of: path)
                    if status?.state == .live { tokens?.hubIsThere() }
                },
                open: { [configuration = configuration(identity, proof, freshToken)] () async throws(PealError) in
                    // The file of a user who is being disconnected is let go first.
                    await closing?.value
                    let inbox = try await Inbox(configuration)
                    await inbox.connect()
                    return inbox
                })
            guard case .user(let externalID, let email) = identity else { preconditionFailure("a user's identity") }
            return User(externalId: externalID, email: email, core: core) {
                [weak self] (user) async throws(PealError) in
                if let self { return try await end(erased: user) }
                // The client is gone, and what the user shares with nobody ends with it.
                _ = await user.core.end(force: true).value
                Replica.remove(path)
            }
        }
        if isNew {
            tokens.connected(
                Self.name(path),
                DeviceTokens.Credentials(
                    externalId: user.externalId, email: user.email, hmac: proof.hmac, freshToken: freshToken))
            tracked.resume()
        } else if hmac != nil {
            tokens.renew(Self.name(path), hmac: proof.hmac)
            user.core.run({ (inbox) in inbox.renew(proof) }) { _ in }
        }
        return user
    }

    /// Ends a user on this device: their stores show nothing any more and their session ends, at once. What was done and not sent
    /// yet stays in the replica, unless `force` is given, and goes out when the user is connected again.
    ///
    /// - Parameters:
    ///   - email: as it was connected.
    ///   - externalId: as it was connected.
    ///   - force: drops the acts that were not sent.
    ///   - eraseReplica: deletes the user's file. Where acts were not sent that needs `force` too, or nothing happens but `pending`.
    ///   - completion: gets how many acts were not sent, 0 where nobody was connected; called once, in the client's context, when the file is closed.
    public func disconnectUser(
        email: String? = nil, externalId: String? = nil, force: Bool = false, eraseReplica: Bool = false,
        completion: @escaping @Sendable (Result<Int, PealError>) -> Void = { _ in }
    ) {
        let path: String
        do throws(PealError) {
            path = self.path(of: try Self.identity(externalId, email))
        } catch {
            callbacks.run { completion(.failure(error)) }
            return
        }
        guard eraseReplica, !force, let user = connected.user(path) else {
            end(path, force: force, erase: eraseReplica, completion)
            return
        }
        user.core.run({ (inbox) throws(PealError) in try inbox.outboxDepth().waiting }) { [self] result in
            if case .success(let waiting) = result, waiting > 0 {
                let acts = waiting == 1 ? "1 act was" : "\(waiting) acts were"
                completion(
                    .failure(
                        PealError(.pending, "\(acts) not sent yet and would be lost; wait, or pass force to drop them"))
                )
            } else {
                end(path, force: false, erase: true, completion)
            }
        }
    }

    /// Ends a user on this device, as ``disconnectUser(email:externalId:force:eraseReplica:completion:)``. It has a name of its own because the
    /// compiler would take the form with a completion in a script's top level.
    ///
    /// - Returns: how many acts were not sent; 0 where the user was disconnected before.
    /// - Throws: ``PealError``: `pending`, `file`.
    @discardableResult
    public func disconnect(
        _ user: User, force: Bool = false, eraseReplica: Bool = false
    ) async throws(PealError) -> Int {
        try await withCheckedContinuation { continuation in
            disconnectUser(
                email: user.email, externalId: user.externalId, force: force, eraseReplica: eraseReplica
            ) { continuation.resume(returning: $0) }
        }.get()
    }

    private func end(erased user: User) async throws(PealError) {
        try await disconnect(user, force: true, eraseReplica: true)
    }

    private func end(
        _ path: String, force: Bool, erase: Bool, _ completion: @escaping @Sendable (Result<Int, PealError>) -> Void
    ) {
        let callbacks = callbacks
        let tokens = tokens
        connected.end(path) { user, before in
            // Where nobody is connected now, a token of an earlier launch goes.
            tokens.disconnected(Self.name(path))
            user?.store.end()
            let ended = user?.core.end(force: force)
            return Task {
                await before?.value
                let result = await ended?.value ?? .success(0)
                if erase { Replica.remove(path) }
                callbacks.run { completion(result) }
            }
        }
    }

    /// What a user's files are called by.
    private static func name(_ path: String) -> String {
        String(path[path.index(after: path.lastIndex(of: "/") ?? path.startIndex)...])
    }

    /// The users that are connected, in no order.
    public var users: [User] { connected.all }

    /// Where the connections stand together: the present status first, then each that differs.
    public var statuses: AsyncStream<ClientStatus> { connected.told.stream() }

    /// Where the connections stand together now. Not blocking.
    public var status: ClientStatus { connected.told.last }
}
