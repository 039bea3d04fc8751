import PealModel

/// A device of the interests surface: its token, its user, its interests. The device is an inbox; what changes its interests is an act in
/// its log, so that its replica folds it like any other.
extension InterestsSurface {
    var deviceRoutes: [HTTPRoute] {
        let all = "/device_api/v1/instances/{instance}/devices/{platform}"
        let one = all + "/{device}"
        return [
            HTTPRoute(.post, all) { register($0, $1) },
            HTTPRoute(.get, one) { show($0, $1) },
            HTTPRoute(.delete, one) { remove($0, $1) },
            HTTPRoute(.put, one + "/metadata") { setMetadata($0, $1) },
            HTTPRoute(.put, one + "/token") { setToken($0, $1) },
            HTTPRoute(.put, one + "/user") { setUser($0, $1) },
            HTTPRoute(.get, one + "/interests") { interests($0, $1) },
            HTTPRoute(.put, one + "/interests") { setInterests($0, $1) },
            HTTPRoute(.post, one + "/interests/{interest}") { setInterest($0, $1, on: true) },
            HTTPRoute(.delete, one + "/interests/{interest}") { setInterest($0, $1, on: false) },
        ]
    }

    static let noSuchDevice = HTTPFailure(
        status: 404, code: "not_found", message: "There is no such device in this instance.")

    /// Bytes of what an SDK says about its device.
    private static let metadataLimit = 4 * 1024

    // MARK: What a request names

    private static func platform(_ request: HTTPRequest) throws(HTTPFailure) -> String {
        let platform = request.parameter("platform")
        guard Limits.platforms.contains(platform) else { throw HTTPFailure.notFound }
        return platform
    }

    /// Carries out work on the device that a request names; 404 where it is not there.
    private func withDevice(
        _ request: HTTPRequest, _ respond: HTTPResponder,
        _ work: @escaping @Sendable (any HubStore, DeviceRecord, Milliseconds) throws(HubStoreError) -> Work
    ) throws(HTTPFailure) {
        let project = try instance(request)
        let platform = try Self.platform(request)
        let id = request.parameter("device")
        core.perform(project, as: .interests, key: nil, respond) { (store, now) throws(HubStoreError) in
            guard let device = try store.device(id, in: project.key), device.platform == platform else {
                return Work(response: HTTPSurface.interests.response(to: Self.noSuchDevice))
            }
            return try work(store, device, now)
        }
    }

    /// Answers a failure of what a request says before the store is asked.
    private func answering(_ respond: HTTPResponder, _ body: () throws(HTTPFailure) -> Void) {
        do throws(HTTPFailure) {
            try body()
        } catch {
            respond.send(HTTPSurface.interests.response(to: error))
        }
    }

    // MARK: Registration

    private func register(_ request: HTTPRequest, _ respond: HTTPResponder) {
        answering(respond) { () throws(HTTPFailure) in
            let project = try instance(request)
            let platform = try Self.platform(request)
            let body = try JSONBody(request, as: .interests)
            let token = try Self.token(body)
            let metadata = try body.raw("metadata", Self.metadataLimit)
            core.perform(project, as: .interests, key: nil, respond) { (store, now) throws(HubStoreError) in
                let device = try store.registerDevice(
                    platform: platform, token: token, metadata: metadata, in: project.key, now: now
                ).device
                let names = try store.interests(
                    of: device.inbox, after: nil, limit: Limits.interestsPerDevice)
                var writer = JSONWriter()
                writer.beginObject()
                writer.member("id", device.id)
                writer.key("initialInterestSet")
                Self.write(names, to: &writer)
                writer.endObject()
                return Work(response: .json(200, writer.bytes))
            }
        }
    }

    /// A push token: text, or the subscription object of a browser, which is kept as its text.
    private static func token(_ body: JSONBody) throws(HTTPFailure) -> String {
        if let object = try? body.raw("token", Limits.token) { return String(decoding: object, as: UTF8.self) }
        guard let token = try body.string("token", Limits.token), !token.isEmpty else {
            throw JSONBody.invalid("'token' is missing.")
        }
        return token
    }

    private func show(_ request: HTTPRequest, _ respond: HTTPResponder) {
        answering(respond) { () throws(HTTPFailure) in
            try withDevice(request, respond) { (_, device, _) in
                var writer = JSONWriter()
                writer.beginObject()
                writer.member("id", device.id)
                if let user = device.userID { writer.member("userId", user) }
                writer.key("metadata")
                writer.raw((device.metadata ?? Array("{}".utf8))[...])
                writer.endObject()
                return Work(response: .json(200, writer.bytes))
            }
        }
    }

    /// 200 always, as the SDKs want it: a device that is not there is gone as well.
    private func remove(_ request: HTTPRequest, _ respond: HTTPResponder) {
        answering(respond) { () throws(HTTPFailure) in
            let project = try instance(request)
            let platform = try Self.platform(request)
            let id = request.parameter("device")
            core.perform(project, as: .interests, key: nil, respond) { (store, now) throws(HubStoreError) in
                guard let device = try store.device(id, in: project.key), device.platform == platform else {
                    return Work(response: .empty(200))
                }
                try store.deleteDevice(device.inbox)
                return Work(response: .empty(200), ended: [device.inbox])
            }
        }
    }

    private func setMetadata(_ request: HTTPRequest, _ respond: HTTPResponder) {
        answering(respond) { () throws(HTTPFailure) in
            _ = try JSONBody(request, as: .interests)
            guard request.body.count <= Self.metadataLimit else {
                throw JSONBody.invalid(
                    "The metadata has \(request.body.count) bytes; at most \(Self.metadataLimit) are allowed.")
            }
            try withDevice(request, respond) { (store, device, _) throws(HubStoreError) in
                var device = device
                device.metadata = request.body
                try store.updateDevice(device)
                return Work(response: .empty(200))
            }
        }
    }

    /// Id, interests and user stay. A token that another device has moves to this one.
    private func setToken(_ request: HTTPRequest, _ respond: HTTPResponder) {
        answering(respond) { () throws(HTTPFailure) in
            let token = try Self.token(JSONBody(request, as: .interests))
            try withDevice(request, respond) { (store, device, now) throws(HubStoreError) in
                let result = try store.act(
                    .token(token, platform: device.platform), uid: .random(in: 1 ... .max), observed: nil,
                    in: device.inbox,
                    now: now)
                return Work(response: .empty(200), appended: result.entries)
            }
        }
    }

    // MARK: User

    private func setUser(_ request: HTTPRequest, _ respond: HTTPResponder) {
        answering(respond) { () throws(HTTPFailure) in
            let project = try instance(request)
            let token = try bearer(request)
            let proven: UserProof.Proven
            do throws(UserToken.Refusal) {
                proven = try UserProof.token(token, in: project, now: core.clock())
            } catch {
                throw HTTPFailure(status: 401, code: "unauthorized", message: error.message)
            }
            let user = proven.subject
            guard (1...Limits.interest).contains(user.unicodeScalars.count) else {
                throw JSONBody.invalid("A user id has 1 to \(Limits.interest) characters.")
            }
            try withDevice(request, respond) { (store, device, now) throws(HubStoreError) in
                if let known = device.userID {
                    guard !known.utf8.elementsEqual(user.utf8) else { return Work(response: .empty(200)) }
                    return Work(
                        response: HTTPSurface.interests.response(
                            to: HTTPFailure(
                                status: 400, code: "other_user",
                                message: "The device belongs to another user. Delete it, or clear its state, first.")))
                }
                let result = try store.act(
                    .user(id: user, proof: token), uid: .random(in: 1 ... .max), observed: nil, in: device.inbox,
                    now: now)
                guard !result.outcome.isDead else {
                    throw HubStoreError(.invalid, result.outcome.reason ?? "the user cannot be set")
                }
                return Work(response: .empty(200), appended: result.entries)
            }
        }
    }

    // MARK: Interests

    private func interests(_ request: HTTPRequest, _ respond: HTTPResponder) {
        answering(respond) { () throws(HTTPFailure) in
            let limit = try Self.limit(request)
            let after = request.query["cursor"].flatMap { $0.isEmpty ? nil : $0 }
            try withDevice(request, respond) { (store, device, _) throws(HubStoreError) in
                // One more than is wanted shows whether there is a next page.
                let names = try store.interests(of: device.inbox, after: after, limit: limit + 1)
                let page = Array(names.prefix(limit))
                var writer = JSONWriter()
                writer.beginObject()
                writer.key("interests")
                Self.write(page, to: &writer)
                writer.key("responseMetadata")
                writer.beginObject()
                if names.count > limit, let last = page.last { writer.member("nextCursor", last) }
                writer.endObject()
                writer.endObject()
                return Work(response: .json(200, writer.bytes))
            }
        }
    }

    private static func limit(_ request: HTTPRequest) throws(HTTPFailure) -> Int {
        guard let text = request.query["limit"] else { return 100 }
        guard let limit = Int(text), (1...100).contains(limit) else {
            throw JSONBody.invalid("'limit' is a whole number from 1 to 100.")
        }
        return limit
    }

    private func setInterests(_ request: HTTPRequest, _ respond: HTTPResponder) {
        answering(respond) { () throws(HTTPFailure) in
            let body = try JSONBody(request, as: .interests)
            let names = try body.required("interests", body.strings("interests", .max))
            guard names.count <= Limits.interestsPerDevice else {
                throw JSONBody.invalid(
                    "'interests' has \(names.count) elements; at most \(Limits.interestsPerDevice) are allowed.")
            }
            for name in names { try Self.check(name) }
            try change(request, respond, .interests(replace: Array(Set(names)).sorted()))
        }
    }

    private func setInterest(_ request: HTTPRequest, _ respond: HTTPResponder, on: Bool) {
        answering(respond) { () throws(HTTPFailure) in
            let name = request.parameter("interest")
            try Self.check(name)
            try change(request, respond, .interest(name: name, on: on))
        }
    }

    private static func check(_ name: String) throws(HTTPFailure) {
        guard Limits.isInterest(name) else {
            throw JSONBody.invalid("An interest is 1 to \(Limits.interest) of a-z A-Z 0-9 _ - = @ , . ;")
        }
    }

    private func change(
        _ request: HTTPRequest, _ respond: HTTPResponder, _ operation: PealModel.Operation
    ) throws(HTTPFailure) {
        try withDevice(request, respond) { (store, device, now) throws(HubStoreError) in
            let result = try store.act(
                operation, uid: .random(in: 1 ... .max), observed: nil, in: device.inbox, now: now)
            guard !result.outcome.isDead else {
                throw HubStoreError(.invalid, result.outcome.reason ?? "the interests cannot be set")
            }
            return Work(response: .empty(200), appended: result.entries)
        }
    }

    private static func write(_ names: [String], to writer: inout JSONWriter) {
        writer.beginArray()
        for name in names { writer.string(name) }
        writer.endArray()
    }
}
