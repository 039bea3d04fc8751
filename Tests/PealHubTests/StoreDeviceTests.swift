import PealModel
import Testing

@testable import PealHub

@Suite struct StoreDeviceTests {
    private func outcomes(_ result: PushResult) throws -> [Outcome.Code] {
        try result.appended.map {
            guard case .act(let act) = try Entry($0.bytes[...]).kind else { throw Unexpected("no act") }
            return act.outcome.code
        }
    }

    private func device(_ hub: StoreFixture, _ admitted: Admitted) throws -> DeviceRecord? {
        try hub.commit { (store) throws(HubStoreError) in
            try store.device(admitted.welcome.inbox, in: hub.project.key)
        }
    }

    private func hmac(_ id: String, _ hub: StoreFixture) -> String {
        Base64.standard.encode(HMACSHA256.code(Array(id.utf8), key: Array(hub.project.secret.utf8)))
    }

    private func token(_ claims: String, _ hub: StoreFixture) -> String {
        let signed =
            Base64.url.encode(Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8)) + "." + Base64.url.encode(Array(claims.utf8))
        return signed + "."
            + Base64.url.encode(HMACSHA256.code(Array(signed.utf8), key: Array(hub.project.secret.utf8)))
    }

    @Test(arguments: StoreKind.all)
    func `a token is set in the order of arrival, and moves to the device that named it last`(_ kind: StoreKind) throws
    {
        let hub = try StoreFixture(kind)
        let phone = try hub.joinDevice(replica: 1)
        let other = try hub.joinDevice(replica: 2)
        let result = try hub.push(
            [
                hub.mutation(1, .token("one", platform: "fcm")), hub.mutation(2, .token("two")),
                hub.mutation(3, .token("x", platform: "smoke")),
            ], phone)
        #expect(try outcomes(result) == [.applied, .applied, .invalid])
        #expect(try device(hub, phone)?.platform == "fcm")
        #expect(try device(hub, phone)?.token == "two")
        _ = try hub.push([hub.mutation(1, .token("two", platform: "fcm"))], other)
        #expect(try device(hub, phone)?.token == nil)
        #expect(try device(hub, other)?.token == "two")
        _ = try hub.push([hub.mutation(2, .token(""))], other)
        #expect(try device(hub, other)?.token == nil)
        _ = try hub.push([hub.mutation(4, .token("t"))], phone)
        let fresh = try hub.joinDevice(replica: 3)
        _ = try hub.push([hub.mutation(1, .token("t"))], fresh)
        #expect(try device(hub, fresh)?.platform == "apns")
        #expect(try device(hub, phone)?.token == "t")
    }

    @Test(arguments: StoreKind.all)
    func `a user is bound only with a proof, and freed without one`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let phone = try hub.joinDevice(replica: 1)
        let seconds = hub.now / 1_000
        let good = #"{"iss":"\#(hub.project.instance)","sub":"anna","exp":\#(seconds + 60)}"#
        let proofs: [String?] = [
            nil, "", "AAAA", hmac("bob", hub), token(good, hub) + "x",
            token(#"{"iss":"\#(hub.project.instance)","sub":"bob","exp":\#(seconds + 60)}"#, hub),
            token(#"{"iss":"\#(hub.project.instance)","sub":"anna","exp":\#(seconds)}"#, hub),
            token(#"{"iss":"elsewhere","sub":"anna","exp":\#(seconds + 60)}"#, hub),
        ]
        let mutations = proofs.enumerated().map { hub.mutation(Int64($0) + 1, .user(id: "anna", proof: $1)) }
        #expect(try outcomes(hub.push(mutations, phone)).allSatisfy { $0 == .denied })
        #expect(try device(hub, phone)?.user == nil)
        var n = Int64(proofs.count)
        func push(_ id: String?, _ proof: String?) throws -> [Outcome.Code] {
            n += 1
            return try outcomes(hub.push([hub.mutation(n, .user(id: id, proof: proof))], phone))
        }
        #expect(try push("anna", hmac("anna", hub)) == [.applied])
        #expect(try device(hub, phone)?.userID == "anna")
        #expect(try push(nil, nil) == [.applied])
        #expect(try device(hub, phone)?.user == nil)
        #expect(try push("anna", token(good, hub)) == [.applied])
        #expect(try device(hub, phone)?.userID == "anna")
        #expect(try push("bob", hmac("bob", hub)) == [.applied])
        #expect(try device(hub, phone)?.userID == "bob")
    }

    @Test(arguments: StoreKind.all)
    func `a user has room for a hundred devices`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let proof = hmac("anna", hub)
        for number in 1...UInt64(Limits.devicesPerUser) {
            let device = try hub.joinDevice(replica: number)
            let bind = hub.mutation(1, .user(id: "anna", proof: proof))
            #expect(try outcomes(hub.push([bind], device)) == [.applied])
        }
        let more = try hub.joinDevice(replica: 1_000)
        #expect(try outcomes(hub.push([hub.mutation(1, .user(id: "anna", proof: proof))], more)) == [.tooLarge])
        #expect(try device(hub, more)?.user == nil)
    }

    @Test(arguments: StoreKind.all)
    func `a device that ends is deleted, and what came after it in the push is nobody's`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let phone = try hub.joinDevice(replica: 1)
        let first = hub.mutation(1, .interest(name: "news", on: true))
        let end = hub.mutation(2, .end)
        let result = try hub.push([first, end, hub.mutation(3, .token("t"))], phone)
        #expect(result.stop == .ended)
        // Their entries go with the log: without its outcome here the first act would wait for ever.
        #expect(
            result.settled == [
                Settled(n: 1, uid: first.uid, outcome: .applied), Settled(n: 2, uid: end.uid, outcome: .applied),
            ])
        #expect(try outcomes(result) == [.applied, .applied])
        #expect(try device(hub, phone) == nil)
        #expect(result.appended.map(\.sum) == [InboxSum.interest("news"), 0])
        #expect(try hub.publish("late", interests: ["news"]).matched == 0)
        #expect(try hub.push([hub.mutation(3, .token("t"))], phone).stop == .fenced)
        let again = try hub.admit(
            hub.hello(
                .device(id: phone.welcome.inbox), replica: ReplicaID(high: 0, low: 1), attempt: 2,
                nonce: phone.welcome.nonce, proof: Proof(secret: phone.welcome.secret)))
        #expect(again == .refused(.revoked))
    }

    @Test(arguments: StoreKind.all)
    func `in a user's inbox a device's acts are unknown`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let anna = try hub.join("anna", replica: 1)
        let result = try hub.push(
            [
                hub.mutation(1, .token("t")), hub.mutation(2, .user(id: "anna", proof: hmac("anna", hub))),
                hub.mutation(3, .user(id: nil, proof: nil)), hub.mutation(4, .end),
            ], anna)
        #expect(result.stop == nil)
        #expect(try outcomes(result).allSatisfy { $0 == .unknownOp })
    }
}
