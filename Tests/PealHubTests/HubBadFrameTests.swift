import PealModel
import PealWebSocket
import Testing

@testable import PealHub

@Suite struct HubBadFrameTests {
    /// The hub still welcomes, delivers and answers.
    private func expectAlive(_ hub: TestHub, location: SourceLocation = #_sourceLocation) throws {
        let device = try TestDevice(hub)
        _ = try device.welcome(hub.hello("witness"))
        try hub.publish("still here", users: ["witness"])
        #expect(try device.entries(through: 1).count == 1, sourceLocation: location)
        #expect(hub.log.lines.isEmpty, "\(hub.log.lines)", sourceLocation: location)
    }

    @Test(arguments: [
        "", "nonsense", "{", "[]", "null", "1", #"{"type":"hello"}x"#, #"{"a":1}"#, #"{"type":7}"#,
        #"{"type":"dance"}"#, #"{"type":"welcome"}"#, #"{"type":"hello"}"#, #"{"type":"hello","v":"1"}"#,
        #"{"type":"got"}"#, #"{"type":"got","to":9007199254740992}"#, #"{"type":"push","mutations":{}}"#,
    ])
    func `what is no frame closes 4203`(text: String) throws {
        let hub = try TestHub()
        let first = try TestDevice(hub)
        first.send(text)
        #expect(try first.closeCode() == 4203)
        let live = try TestDevice(hub)
        _ = try live.welcome(hub.hello("mary"))
        live.send(text)
        #expect(try live.closeCode() == 4203)
        try expectAlive(hub)
    }

    @Test func `a frame before the hello closes 4203`() throws {
        let hub = try TestHub()
        for frame in [UpFrame.got(to: 0), .push([]), .snapshot(SnapshotRequest()), .ping, .pong, .token("x"), .bye] {
            let device = try TestDevice(hub)
            device.send(frame)
            #expect(try device.closeCode() == 4203, "\(frame)")
        }
        try expectAlive(hub)
    }

    @Test func `a second hello closes 4203, before the welcome and after it`() throws {
        let hub = try TestHub()
        let early = try TestDevice(hub)
        let hello = hub.hello("mary")
        early.send(.hello(hello))
        early.send(.hello(hello))
        #expect(try early.closeCode() == 4203)
        let late = try TestDevice(hub)
        _ = try late.welcome(hub.hello("mary"))
        late.send(.hello(hub.hello("mary")))
        #expect(try late.closeCode() == 4203)
        try expectAlive(hub)
    }

    @Test func `a frame over 64 KiB closes 4104, one below is taken`() throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        _ = try device.welcome(hub.hello("mary"))
        device.send(#"{"type":"ping"}"# + String(repeating: " ", count: Limits.frameUp - 15))
        #expect(try device.frame() == .pong)
        device.send(#"{"type":"ping"}"# + String(repeating: " ", count: Limits.frameUp - 14))
        #expect(try device.closeCode() == 4104)
        let fresh = try TestDevice(hub)
        fresh.send(String(repeating: "x", count: 500_000))
        #expect(try fresh.closeCode() == 4104)
        try expectAlive(hub)
    }

    @Test func `a hello of another version closes 4200`() throws {
        let hub = try TestHub()
        for version in [0, 2, -1, JSONObject.largestInt] {
            let device = try TestDevice(hub)
            var hello = hub.hello("mary")
            hello.version = version
            device.send(.hello(hello))
            #expect(try device.closeCode() == 4200)
        }
        try expectAlive(hub)
    }

    @Test func `an unknown project closes 4204, the instance id and the key are known`() throws {
        let hub = try TestHub()
        for name in ["", "x", hub.project.secret] {
            let device = try TestDevice(hub)
            var hello = hub.hello("mary")
            hello.project = name
            device.send(.hello(hello))
            #expect(try device.closeCode() == 4204)
        }
        var hello = hub.hello("mary")
        hello.project = hub.project.instance
        #expect(try TestDevice(hub).welcome(hello).head == 0)
        try expectAlive(hub)
    }

    @Test func `a user without an identity, or with one that is too long, closes 4204`() throws {
        let hub = try TestHub()
        let long = String(repeating: "u", count: 256)
        for inbox in [
            InboxIdentity.user(externalID: nil, email: nil), .user(externalID: "", email: nil),
            .user(externalID: nil, email: ""), .user(externalID: long, email: nil), .user(externalID: nil, email: long),
        ] {
            let device = try TestDevice(hub)
            var hello = hub.hello("")
            hello.inbox = inbox
            device.send(.hello(hello))
            #expect(try device.closeCode() == 4204, "\(inbox)")
        }
        try expectAlive(hub)
    }

    @Test func `a missing or wrong HMAC closes 4201 where one is required, a wrong one everywhere`() throws {
        let strict = try TestHub(requiresHMAC: true)
        for hmac in [nil, "", "x", strict.hmac("tom")] {
            let device = try TestDevice(strict)
            device.send(.hello(strict.hello("mary", hmac: hmac)))
            #expect(try device.closeCode() == 4201)
        }
        #expect(try TestDevice(strict).welcome(strict.hello("mary", hmac: strict.hmac("mary"))).head == 0)
        let open = try TestHub()
        let device = try TestDevice(open)
        device.send(.hello(open.hello("mary", hmac: "x")))
        #expect(try device.closeCode() == 4201)
        try expectAlive(open)
    }

    @Test func `a replica of one user does not open another's inbox`() throws {
        let hub = try TestHub()
        let replica = ReplicaID(high: 1, low: 2)
        _ = try TestDevice(hub).welcome(hub.hello("mary", replica: replica))
        let device = try TestDevice(hub)
        device.send(.hello(hub.hello("tom", replica: replica, attempt: 2)))
        #expect(try device.closeCode() == 4204)
        try expectAlive(hub)
    }

    @Test func `a newer session of a replica closes the older one with 4105`() throws {
        let hub = try TestHub()
        var hello = hub.hello("mary")
        let old = try TestDevice(hub)
        let welcome = try old.welcome(hello)
        hello.attempt = 2
        hello.nonce = welcome.nonce
        let new = try TestDevice(hub)
        _ = try new.welcome(hello)
        #expect(try old.closeCode() == 4105)
        try hub.publish("T", users: ["mary"])
        #expect(try new.entries(through: 1).count == 1)
        try expectAlive(hub)
    }

    @Test func `an attempt that is not higher is told the last, and the socket may try again`() throws {
        let hub = try TestHub()
        var hello = hub.hello("mary", attempt: 5)
        let first = try TestDevice(hub)
        let welcome = try first.welcome(hello)
        hello.nonce = welcome.nonce
        let second = try TestDevice(hub)
        for attempt in [Int64(5), 1] {
            hello.attempt = attempt
            second.send(.hello(hello))
            guard case .error(let code, let retry, _, let last) = try second.frame() else {
                throw RawHTTPError(what: "no error")
            }
            #expect(code == "attempt" && retry && last == 5)
        }
        // The late hello has evicted nobody.
        first.send(.ping)
        #expect(try first.frame() == .pong)
        hello.attempt = 6
        #expect(try second.welcome(hello).attempt == 6)
        #expect(try first.closeCode() == 4105)
        try expectAlive(hub)
    }

    @Test func `hello after hello that is refused ends with 4029`() throws {
        let hub = try TestHub()
        var hello = hub.hello("mary", attempt: 5)
        let first = try TestDevice(hub)
        hello.nonce = try first.welcome(hello).nonce
        hello.attempt = 1
        let second = try TestDevice(hub)
        for _ in 0..<3 {
            second.send(.hello(hello))
            guard case .error = try second.frame() else { throw RawHTTPError(what: "no error") }
        }
        second.send(.hello(hello))
        #expect(try second.closeCode() == 4029)
        try expectAlive(hub)
    }

    @Test func `credit above what was sent closes 4203`() throws {
        let hub = try TestHub()
        for to in [Position(2), .max] {
            let device = try TestDevice(hub)
            _ = try device.welcome(hub.hello("mary\(to)"))
            try hub.publish("T", users: ["mary\(to)"])
            _ = try device.entries(through: 1)
            device.send(.got(to: to))
            #expect(try device.closeCode() == 4203)
        }
        try expectAlive(hub)
    }

    @Test func `credit that goes back, or is negative, changes nothing`() throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        _ = try device.welcome(hub.hello("mary"))
        try hub.publish("T", users: ["mary"])
        _ = try device.entries(through: 1)
        for to in [Position(0), -5, -JSONObject.largestInt] { device.send(.got(to: to)) }
        device.send(.ping)
        #expect(try device.frame() == .pong)
        try expectAlive(hub)
    }

    @Test(arguments: [Int64(2), 0, -1, .max, .min])
    func `a push out of order closes 4203`(n: Int64) throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        _ = try device.welcome(hub.hello("mary"))
        device.send(.push([mutation(n: n)]))
        #expect(try device.closeCode() == 4203)
        try expectAlive(hub)
    }

    private func mutation(n: Int64, operation: PealModel.Operation = .seen(items: [])) -> Mutation {
        Mutation(
            n: n, uid: UInt64.random(in: 1 ... .max), observed: 0, observedTime: 0, moment: .age(0),
            operation: operation)
    }

    @Test func `a mutation that makes no sense is settled as a dead letter, and the session goes on`() throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        _ = try device.welcome(hub.hello("mary"))
        let frames = [
            #"{"op":"dance"}"#, #"{"op":"read","items":["x"],"on":true}"#, #"{"op":"read"}"#,
            #"{"op":"interest","name":"¢","on":true}"#, #"{"op":"mark","kind":"read","upTo":99}"#,
        ]
        for (index, operation) in frames.enumerated() {
            let mutation =
                #"{"n":\#(index + 1),"uid":"000000000000000\#(index + 1)","observed":0,"observedTime":0,"age":0,"op":\#(operation)}"#
            device.send(#"{"type":"push","mutations":[\#(mutation)]}"#)
            guard case .act(let act) = try device.entries(through: Position(index + 1))[0].kind else {
                throw RawHTTPError(what: "no act")
            }
            if index < 4 { #expect(act.outcome.isDead, "\(operation): \(act.outcome)") }
        }
        try expectAlive(hub)
    }

    @Test func `numbers at the edge of their range stop nobody`() throws {
        let hub = try TestHub()
        let id = "00000000-0000-7000-8000-000000000000"
        for members in [
            #""observed":9007199254740991,"observedTime":9007199254740991,"age":0"#,
            #""observed":-9007199254740991,"observedTime":-9007199254740991,"age":-9007199254740991"#,
            #""observed":0,"observedTime":0,"age":9007199254740991"#,
            #""observed":0,"observedTime":0,"wall":-9007199254740991"#,
            #""observed":0,"observedTime":9007199254740991,"wall":9007199254740991"#,
        ] {
            for operation in [
                #"{"op":"seen","items":["\#(id)"]}"#, #"{"op":"mark","kind":"read","upTo":9007199254740991}"#,
            ] {
                let device = try TestDevice(hub)
                _ = try device.welcome(hub.hello("mary"))
                device.send(
                    #"{"type":"push","mutations":[{"n":1,"uid":"00000000000000ff",\#(members),"op":\#(operation)}]}"#)
                _ = try device.next()
            }
        }
        for text in [
            #""cursor":{"position":9007199254740991}"#, #""window":{"entries":-9007199254740991,"bytes":0}"#,
            #""outbox":{"low":0,"high":9007199254740991}"#, #""attempt":9007199254740991"#,
        ] {
            let device = try TestDevice(hub)
            let attempt = text.contains("attempt") ? "" : #","attempt":1"#
            device.send(
                #"{"type":"hello","v":1,"project":"\#(hub.project.apiKey)","inbox":{"kind":"user","externalId":"e"},"replica":"\#(ReplicaID(high: .random(in: 1 ... .max), low: 1))"\#(attempt),\#(text)}"#
            )
            _ = try device.next()
            device.send(
                #"{"type":"snapshot","id":"ffffffffffffffff","after":-9007199254740991,"at":9007199254740991,"chain":"0000000000000000"}"#
            )
            _ = try device.next()
        }
        try expectAlive(hub)
    }
}
