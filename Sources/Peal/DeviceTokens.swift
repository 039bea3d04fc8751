internal import Foundation
internal import PealModel
internal import Synchronization

/// Keeps the hub's push tokens of the users of a client as they should be: a durable wish, what the hub may have, and one worker that brings the two
/// together whenever something changed or the hub can be reached again.
final class DeviceTokens: Sendable {
    /// What proves a user who is connected.
    struct Credentials: Sendable {
        let externalId: String?
        let email: String?
        var hmac: String?
        let freshToken: (@Sendable () async -> String?)?
    }

    private struct Memory {
        var people: [String: Credentials] = [:]
        var hasEnded = false
        var failures = 0
        /// A later try that is due.
        var retry: Task<Void, Never>?
    }

    private let file: StateFile
    private let hub: HubAddress
    private let apiKey: String
    private let authorityPath: String?
    private let log: @Sendable (String) -> Void
    private let memory = Mutex(Memory())
    private let ticks: AsyncStream<Void>.Continuation
    /// Seconds that a later try is put off at most.
    private static let longestDelay = 300.0

    init(
        directory: String, hub: HubAddress, apiKey: String, authorityPath: String?,
        log: @escaping @Sendable (String) -> Void
    ) {
        file = StateFile(path: directory + "/device-token.json")
        self.hub = hub
        self.apiKey = apiKey
        self.authorityPath = authorityPath
        self.log = log
        let (stream, ticks) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.ticks = ticks
        Task { [weak self] in for await _ in stream { await self?.pass() } }
        // What an earlier launch left to do.
        ticks.yield()
    }

    deinit { end() }

    /// The client is gone: nobody is connected by it, and a pass that is under way ends with its request. The next client does the rest.
    func end() {
        ticks.finish()
        memory.withLock { memory in
            memory.hasEnded = true
            memory.people = [:]
            memory.retry?.cancel()
        }
    }

    // MARK: What changes

    /// Keeps a token for all users, durably.
    func set(_ token: DeviceTokenState.Token) throws(PealError) {
        try update { $0.token = token }
        ticks.yield()
    }

    /// A user is connected, or has another proof.
    func connected(_ name: String, _ credentials: Credentials) {
        memory.withLock { $0.people[name] = credentials }
        wake()
    }

    func renew(_ name: String, hmac: String?) {
        memory.withLock { $0.people[name]?.hmac = hmac }
        wake()
    }

    /// A user was disconnected: durable when it returns.
    func disconnected(_ name: String) {
        let credentials = memory.withLock { $0.people.removeValue(forKey: name) }
        guard file.isThere else { return }
        do throws(PealError) {
            try update { state in
                state.people[name]?.isWanted = false
                if let hmac = credentials?.hmac { state.people[name]?.hmac = hmac }
                if state.people[name]?.sent.isEmpty == true { state.people[name] = nil }
            }
        } catch {
            log("the push token of a user who was disconnected may stay: \(error)")
        }
        wake()
    }

    /// The hub can be reached.
    func hubIsThere() {
        if memory.withLock({ $0.retry != nil }) { wake() }
    }

    private func wake() {
        memory.withLock { $0.failures = 0 }
        ticks.yield()
    }

    // MARK: The worker

    /// How a step went.
    private enum Outcome {
        case done
        /// It did not get through.
        case later
        /// Not before this user has another proof.
        case unproven
    }

    private func pass() async {
        guard file.isThere else { return }
        memory.withLock { memory in
            memory.retry?.cancel()
            memory.retry = nil
        }
        var isDone = true
        do throws(PealError) {
            let state = try update { state in
                guard state.token != nil else { return }
                // Looked at within the file's lock, or a user who is being disconnected would be wanted again.
                for (name, credentials) in memory.withLock({ $0.people }) {
                    var person = state.people[name] ?? DeviceTokenState.Person()
                    (person.externalId, person.email) = (credentials.externalId, credentials.email)
                    (person.isWanted, person.hmac) = (true, nil)
                    state.people[name] = person
                }
            }
            for name in state.people.keys.sorted() where try await !settle(name) { isDone = false }
        } catch {
            log("push tokens wait: \(error)")
            isDone = false
        }
        guard !isDone else { return memory.withLock { $0.failures = 0 } }
        memory.withLock { memory in
            let longest = min(
                Self.longestDelay, Double(sign: .plus, exponent: min(memory.failures, 10), significand: 1))
            memory.failures += 1
            // Full jitter, as the session has it (docs/sync.md section 6).
            memory.retry = Task { [ticks] in
                guard (try? await Task.sleep(for: .seconds(Double.random(in: 0...longest)))) != nil else { return }
                ticks.yield()
            }
        }
    }

    /// Brings one user to where nothing is to be done; false where it has to be tried later.
    private func settle(_ name: String) async throws(PealError) -> Bool {
        while true {
            let (hasEnded, credentials) = memory.withLock { ($0.hasEnded, $0.people[name]) }
            guard !hasEnded else { return true }
            // Another process's user is its affair.
            let next = try update { state -> (DeviceTokenState.Step, DeviceTokenState.Person)? in
                guard let person = state.people[name], credentials != nil || !person.isWanted,
                    let step = state.step(for: name)
                else { return nil }
                if case .add(let token) = step { state.set(.sent, of: token, for: name) }
                return (step, person)
            }.result
            guard let (step, person) = next else { return true }
            let outcome: Outcome
            switch step {
            case .add(let token): outcome = try await add(token, name, person, credentials)
            case .remove(let token): outcome = try await remove(token, name, person, credentials)
            }
            switch outcome {
            case .done: continue
            case .later: return false
            case .unproven: return true
            }
        }
    }

    private func add(
        _ token: DeviceTokenState.Token, _ name: String, _ person: DeviceTokenState.Person, _ credentials: Credentials?
    ) async throws(PealError) -> Outcome {
        let body = JSON.object([
            (
                "push_subscription",
                .object([("device_token", .string(token.value)), ("platform", .string(token.platform))])
            )
        ])
        let status = await request("POST", ["push_subscriptions"], person, credentials, body.bytes)
        switch status {
        case 200..<300:
            try update { $0.set(.confirmed, of: token, for: name) }
            return .done
        case 401, 403: return .unproven
        case 400, 404, 409, 410, 413, 422:
            log("the hub does not take the push token (\(status))")
            try update { $0.set(.refused, of: token, for: name) }
            return .done
        default: return .later
        }
    }

    private func remove(
        _ token: DeviceTokenState.Token, _ name: String, _ person: DeviceTokenState.Person, _ credentials: Credentials?
    ) async throws(PealError) -> Outcome {
        let isRefused = person.sent.contains { $0.token == token && $0.stage == .refused }
        let status =
            isRefused ? 404 : await request("DELETE", ["push_subscriptions", token.value], person, credentials, nil)
        switch status {
        // Not there any more is what was wanted; a request that the hub calls wrong today it calls wrong tomorrow.
        case 200..<300, 400, 404, 410, 422:
            try update { $0.set(nil, of: token, for: name) }
            return .done
        case 401, 403: return .unproven
        default: return .later
        }
    }

    /// The answer's status; 0 where there is none.
    private func request(
        _ method: String, _ path: [String], _ person: DeviceTokenState.Person, _ credentials: Credentials?,
        _ body: [UInt8]?
    ) async -> Int {
        var headers = ["X-MAGICBELL-API-KEY": apiKey]
        // The hub finds a user by the external id where there is one.
        if let id = person.externalId {
            headers["X-MAGICBELL-USER-EXTERNAL-ID"] = id
        } else if let email = person.email {
            headers["X-MAGICBELL-USER-EMAIL"] = email
        }
        if let hmac = credentials?.hmac ?? person.hmac {
            headers["X-MAGICBELL-USER-HMAC"] = hmac
        } else if let fresh = credentials?.freshToken {
            guard let token = await fresh() else { return 0 }
            headers["Authorization"] = "Bearer " + token
        }
        let answer = try? await hub.request(
            method, path, headers: headers, body: body, seconds: 20, authorityPath: authorityPath)
        return answer?.status ?? 0
    }

    // MARK: The file

    /// Changes what is kept, durably.
    @discardableResult
    private func update(_ body: (inout DeviceTokenState) -> Void) throws(PealError) -> DeviceTokenState {
        try update { state -> Void in body(&state) }.state
    }

    private func update<R>(
        _ body: (inout DeviceTokenState) -> R
    ) throws(PealError) -> (state: DeviceTokenState, result: R) {
        try file.locked { () throws(PealError) in
            // What cannot be read is begun anew: the hub takes a token that it has, and the system gives it again.
            let before = try file.read().flatMap { try? JSONDecoder().decode(DeviceTokenState.self, from: $0) }
            var state = before ?? DeviceTokenState()
            let result = body(&state)
            if state != before ?? DeviceTokenState() {
                guard let data = try? JSONEncoder().encode(state) else {
                    throw PealError(.file, "the push token cannot be encoded")
                }
                try file.write(data)
            }
            return (state, result)
        }
    }
}
