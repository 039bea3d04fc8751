import Foundation
import PealModel
import PealWebSocket
import Testing

@testable import PealHub

/// What a session may have in flight, unread and unacknowledged.
@Suite struct HubLimitsSessionTests {
    /// Has the hub look at the clock.
    private func tick(_ hub: TestHub, at now: Milliseconds) { hub.onHub { $0.ticked(now: now) } }

    /// Acts that change nothing, with the numbers of a range.
    private func acts(_ numbers: ClosedRange<Int64>) -> UpFrame {
        .push(numbers.map { mutation($0, .mark(.read, upTo: 0)) })
    }

    private func mutation(_ n: Int64, _ operation: PealModel.Operation) -> Mutation {
        Mutation(
            n: n, uid: UInt64.random(in: 1 ... .max), observed: 0, observedTime: 0, moment: .age(0),
            operation: operation)
    }

    /// The outcome of an act.
    private func outcome(of operation: PealModel.Operation, _ n: Int64, _ device: TestDevice) throws -> Outcome {
        device.send(.push([mutation(n, operation)]))
        guard case .act(let act) = try device.entries(through: Position(n))[0].kind else {
            throw RawHTTPError(what: "no act")
        }
        return act.outcome
    }

    /// Publishes items of about 15 KiB.
    private func fill(_ hub: TestHub, _ user: String, _ count: Int) throws {
        let client = try hub.client()
        let content = String(repeating: "x", count: 15_000)
        let body = #"{"notification":{"title":"t","content":"\#(content)","recipients":[{"external_id":"\#(user)"}]}}"#
        for _ in 0..<count { #expect(try client.post("/notifications", body, headers: hub.admin).status == 201) }
    }

    /// The frames that a device gets without acknowledging any, by their sizes, and how far they reach.
    private func unacknowledged(
        _ device: TestDevice, of hub: TestHub
    ) throws -> (frames: [Int], reached: Position) {
        var frames: [Int] = []
        var reached: Position = 0
        var quiet = 0
        // A round in which the log was not being read, and nothing came before the answer to a probe; a frame that was read
        // is written after that answer.
        while quiet < 3 {
            hub.logsAreRead()
            device.send(.ping)
            quiet += 1
            probe: while true {
                guard case .message(let bytes) = try device.next() else { throw RawHTTPError(what: "no frame") }
                switch try DownFrame(bytes[...]) {
                case .batch(let batch):
                    frames.append(bytes.count)
                    reached = batch.to
                    quiet = 0
                case .pong: break probe
                case let frame: throw RawHTTPError(what: "another frame: \(frame)")
                }
            }
        }
        return (frames, reached)
    }

    // MARK: Pushes

    @Test(arguments: [(Limits.mutationsPerPush, true), (Limits.mutationsPerPush + 1, false)])
    func `a push holds 100 mutations and not one more`(count: Int, isTaken: Bool) throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        _ = try device.welcome(hub.hello("mary"))
        device.send(acts(1...Int64(count)))
        if isTaken {
            #expect(try device.entries(through: Position(count)).count == count)
        } else {
            #expect(try device.closeCode() == CloseCode.protocolError.rawValue)
        }
    }

    @Test func `a mutation names 500 items, and one that names 501 is settled as too large`() throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        _ = try device.welcome(hub.hello("mary"))
        let items = (0..<Limits.itemsPerMutation + 1).map { ItemID(high: UInt64($0 + 1), low: 7) }
        #expect(try !outcome(of: .seen(items: Array(items.dropLast())), 1, device).isDead)
        #expect(try outcome(of: .seen(items: items), 2, device).code == .tooLarge)
    }

    @Test func `a second push in flight is told to wait, and others are answered`() throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        let other = try TestDevice(hub)
        _ = try device.welcome(hub.hello("mary"))
        _ = try other.welcome(hub.hello("tom"))
        let store = BlockedStore(hub)
        device.send(acts(1...1))
        device.send(acts(2...2))
        #expect(try device.frame() == .busy(retryAfter: 100))
        other.send(.ping)
        #expect(try other.frame() == .pong)
        store.release()
        #expect(try device.entries(through: 1).count == 1)
        device.send(acts(2...2))
        #expect(try device.entries(through: 2).count == 1)
    }

    @Test func `10_000 requests wait for the store, and one more is 503 or told to wait`() throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        _ = try device.welcome(hub.hello("mary"))
        let store = BlockedStore(hub)
        let committer = hub.server.core.committer
        while committer.waitingCount < HubLimits.waiting - 1 { store.add() }
        let client = try hub.client()
        let body = #"{"users":["mary"],"apns":{"aps":{"alert":"t"}}}"#
        // The last place.
        let last = try hub.client()
        try last.send(
            "POST \(hub.publishPath("users")) HTTP/1.1\r\nHost: a\r\n\(hub.bearer)Content-Length: \(body.utf8.count)\r\n\r\n"
                + body)
        while committer.waitingCount < HubLimits.waiting { sched_yield() }
        let refused = try client.post(hub.publishPath("users"), body, headers: hub.bearer)
        #expect(refused.status == 503 && refused["Retry-After"] == "1")
        device.send(acts(1...1))
        #expect(try device.frame() == .busy(retryAfter: 1_000))
        // What needs no place is answered.
        #expect(try client.get("/notifications", headers: hub.user("mary")).status == 200)
        store.release()
        #expect(try last.response().status == 200)
        #expect(store.answered() == store.added)
        device.send(acts(1...1))
        #expect(try device.entries(through: 2).count == 2)
    }

    // MARK: Credit

    @Test func `4_096 entries are sent without an acknowledgement, and the rest after one`() throws {
        let hub = try TestHub()
        let (device, other) = (try TestDevice(hub), try TestDevice(hub))
        _ = try device.welcome(hub.hello("mary"))
        _ = try other.welcome(hub.hello("mary"))
        for push in 0..<41 {
            let first = Int64(push * Limits.mutationsPerPush)
            other.send(acts(first + 1...first + Int64(Limits.mutationsPerPush)))
            _ = try other.entries(through: Position(first) + Position(Limits.mutationsPerPush))
        }
        #expect(try unacknowledged(device, of: hub).reached == Position(Limits.windowEntries))
        device.send(.got(to: Position(Limits.windowEntries)))
        #expect(try device.entries(through: 4_100).count == 4)
    }

    @Test func `1 MiB is sent without an acknowledgement, in frames of 256 KiB, then 4008 after a minute`() throws {
        let hub = try TestHub()
        try fill(hub, "mary", 80)
        let device = try TestDevice(hub)
        _ = try device.welcome(hub.hello("mary"))
        let (frames, reached) = try unacknowledged(device, of: hub)
        let entry = 15_300
        #expect(frames.allSatisfy { $0 <= Limits.frameDown }, "\(frames)")
        #expect(frames[0] > Limits.frameDown - Limits.windowEntries - entry, "the frame is filled")
        let sum = frames.reduce(0, +)
        #expect(sum <= Limits.windowBytes && sum > Limits.windowBytes - Limits.windowEntries - entry, "\(frames)")
        #expect(reached < 80)
        let core = hub.server.core
        let begin = core.clock()
        tick(hub, at: begin + HubSession.creditPatience - 10_000)
        #expect(try device.frame() == .ping)
        device.send(.pong)
        device.send(.ping)
        #expect(try device.frame() == .pong)
        tick(hub, at: core.clock() + HubSession.creditPatience)
        #expect(try device.closeCode() == CloseCode.noCredit.rawValue)
    }

    @Test func `what does not fit into a small window goes alone`() throws {
        let hub = try TestHub()
        try fill(hub, "mary", 3)
        let device = try TestDevice(hub)
        var hello = hub.hello("mary")
        hello.windowBytes = 16_000
        _ = try device.welcome(hello)
        for position in 1...3 {
            #expect(try unacknowledged(device, of: hub).reached == Position(position))
            device.send(.got(to: Position(position)))
        }
    }

    // MARK: Readers

    @Test func `16 answers wait for a device that does not read, the next one closes 4029, and others are served`()
        throws
    {
        let hub = try TestHub()
        try fill(hub, "mary", 20)
        let device = try RawSocket(hub)
        try device.send(.hello(hub.hello("mary")))
        _ = try device.frame()
        let id = try #require(hub.onHub { $0.connections.keys.first })
        var pages = 0
        while hub.onHub({ $0.connections[id]?.session.session != nil }) {
            hub.onHub { $0.received(id, Array(UpFrame.snapshot(SnapshotRequest()).bytes)) }
            // The page is read after whatever is read now, and told after that.
            hub.logsAreRead()
            pages += 1
            try #require(pages < 500)
        }
        let other = try TestDevice(hub)
        _ = try other.welcome(hub.hello("tom"))
        let (code, messages) = try device.close()
        #expect(code == CloseCode.rate.rawValue)
        let sent = messages.count { String(decoding: $0.prefix(14), as: UTF8.self) == #"{"type":"page""# }
        #expect(pages == sent + HubSession.readyLimit + 1)
        try hub.publish("One", users: ["tom"])
        #expect(try other.entries(through: 1).count == 1)
    }

    @Test func `who takes nothing at all is cut, and others are served meanwhile`() throws {
        let hub = try TestHub()
        let device = try RawSocket(hub)
        try device.send(.hello(hub.hello("mary")))
        _ = try device.frame()
        try fill(hub, "mary", 80)
        let core = hub.server.core
        let other = try TestDevice(hub)
        _ = try other.welcome(hub.hello("tom"))
        tick(hub, at: core.clock() + 15_000)
        tick(hub, at: core.clock() + 31_000)
        try until("the silent one is dropped") { hub.onHub { $0.connections.count } == 1 }
        other.send(.ping)
        #expect(try other.frame() == .pong)
        withExtendedLifetime(device) {}
    }

    // MARK: What a user and a device have

    @Test func `a user chooses 256 preferences by HTTP, and one more is 403`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        _ = try client.post("/users", #"{"user":{"external_id":"mary"}}"#, headers: hub.admin)
        func choose(_ names: Range<Int>) throws -> Int {
            let channels = names.map { #"{"slug":"c\#($0)","enabled":false}"# }.joined(separator: ",")
            let body = #"{"notification_preferences":{"categories":[{"slug":"a","channels":[\#(channels)]}]}}"#
            return try client.request(
                "PUT", "/notification_preferences", headers: hub.user("mary"), body: Array(body.utf8)
            ).status
        }
        #expect(try choose(0..<Limits.preferenceCells + 1) == 422)
        #expect(try choose(0..<Limits.preferenceCells) == 200)
        #expect(try choose(Limits.preferenceCells..<Limits.preferenceCells + 1) == 403)
        #expect(try choose(0..<1) == 200)
    }

    @Test func `a user chooses 256 preferences by pushes, and one more is settled as too large`() throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        _ = try device.welcome(hub.hello("mary"))
        func choice(_ n: Int) -> PealModel.Operation { .preference(category: "a", channel: "c\(n)", enabled: false) }
        for first in stride(from: 1, to: Limits.preferenceCells, by: 64) {
            device.send(.push((first..<first + 64).map { mutation(Int64($0), choice($0)) }))
            for entry in try device.entries(through: Position(first + 63)) {
                if case .act(let act) = entry.kind { #expect(act.outcome == .applied) }
            }
        }
        #expect(try outcome(of: choice(257), 257, device).code == .tooLarge)
        #expect(try outcome(of: choice(1), 258, device).isDead == false)
    }

    @Test func `a device has 5_000 interests by pushes, and one more is settled as too large`() throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        var hello = hub.hello("")
        hello.inbox = .device(id: nil)
        _ = try device.welcome(hello)
        let names = (0...Limits.interestsPerDevice).map { "i\($0)" }
        #expect(try outcome(of: .interests(replace: names), 1, device).code == .tooLarge)
        #expect(try outcome(of: .interests(replace: Array(names.dropLast())), 2, device) == .applied)
        #expect(try outcome(of: .interest(name: "one-more", on: true), 3, device).code == .tooLarge)
        #expect(try outcome(of: .interest(name: "i0", on: true), 4, device).isDead == false)
    }

    @Test func `an external id of 255 characters is let in, one of 256 is closed 4204`() throws {
        let hub = try TestHub()
        let name = String(repeating: "é", count: Limits.identity)
        _ = try TestDevice(hub).welcome(hub.hello(name))
        let device = try TestDevice(hub)
        device.send(.hello(hub.hello(name + "é")))
        #expect(try device.closeCode() == CloseCode.unknown.rawValue)
    }
}

/// Keeps a hub's store busy until it is released.
private final class BlockedStore {
    private let latch = DispatchSemaphore(value: 0)
    private let done = Count()
    private let hub: TestHub
    private(set) var added = 0
    private var isReleased = false

    init(_ hub: TestHub) {
        self.hub = hub
        let latch = latch
        let began = DispatchSemaphore(value: 0)
        hub.server.core.committer.submit(
            { (_) throws(HubStoreError) in
                began.signal()
                latch.wait()
                return Committed(value: ())
            }, completion: { _ in })
        began.wait()
    }

    deinit { release() }

    /// Has one more request wait.
    func add() {
        added += 1
        let done = done
        hub.server.core.committer.submit(
            { (_) throws(HubStoreError) in Committed(value: ()) },
            completion: { if case .success = $0 { done.add(1) } })
    }

    /// Lets the store go on.
    func release() {
        guard !isReleased else { return }
        isReleased = true
        latch.signal()
    }

    /// How many were answered, once all are or time is over.
    func answered() -> Int {
        let deadline = ContinuousClock.now + .seconds(10)
        while done.value < added, ContinuousClock.now < deadline { sched_yield() }
        return done.value
    }
}
