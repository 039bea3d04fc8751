import Foundation
import PealModel
import PealWebSocket
import Testing

@testable import PealHub

/// What NeighbourRouteTests shows of the routes, of the frames: each kind that a device sends, with a neighbour's proofs and the victim's ids, is
/// answered as one with ids that name nothing.
///
/// One thing differs, and is meant: a replica's own id, 128 random bits that only its inbox's log shows, belongs to one inbox for good, and a
/// hello with one that is another's is refused (4204).
@Suite struct NeighbourFrameTests {
    /// What the victim has, or what names nothing.
    private struct Names {
        var user: String
        var item: ItemID
        var cursor: Cursor
        var device: String
        var secret: String
        var token: String
    }

    private final class Hood {
        let hub: TestHub
        let real: Names
        let fake: Names
        let victim: TestDevice
        let victimHead: Position

        init() throws {
            hub = try TestHub(requiresHMAC: true)
            try hub.publish("hers", users: ["mary"])
            let expires = Int64(Date().timeIntervalSince1970) + 900
            let project = hub.project
            let token = { (user: String) in
                Proofs.token(user, instance: project.instance, secret: project.secret, expires: expires)
            }
            victim = try TestDevice(hub)
            let welcome = try victim.welcome(hub.hello("mary", hmac: Proofs.hmac("mary", hub.project.secret)))
            let entries = try victim.entries(through: welcome.head)
            guard case .item(let item, _, _)? = entries.first?.kind else { throw RawHTTPError(what: "no item") }
            victimHead = welcome.head
            let device = try TestDevice(hub)
            var hello = hub.hello("mary")
            hello.inbox = .device(id: nil)
            let hers = try device.welcome(hello)
            real = Names(
                user: "mary", item: item, cursor: Cursor(epoch: welcome.epoch, position: 1, chain: 5),
                device: hers.inbox, secret: String(repeating: "0", count: 64), token: token("mary"))
            fake = Names(
                user: "nobody", item: ItemID(time: 1_700_000_000_000, counter: 1, random: 7),
                cursor: Cursor(epoch: 12_345, position: 1, chain: 5), device: String(repeating: "ab", count: 16),
                secret: String(repeating: "0", count: 64), token: token("nobody"))
        }

        /// A neighbour's session, and what it gets for a frame: each frame or close with what is random left out.
        func answer(_ frames: [UpFrame]) throws -> [String] {
            let tom = try TestDevice(hub)
            let welcome = try tom.welcome(
                hub.hello("tom", hmac: Proofs.hmac("tom", hub.project.secret)))
            if welcome.head > 0 { _ = try tom.entries(through: welcome.head) }
            return try answer(frames, on: tom)
        }

        func answer(_ frames: [UpFrame], on device: TestDevice) throws -> [String] {
            for frame in frames { device.send(frame) }
            // The store answers later than the session, and a session that has no welcome yet takes no ping.
            let isAnswered = frames.contains { ![.pong, .bye, .got(to: 0)].contains($0) }
            if !isAnswered { device.offer(.ping) }
            var seen: [String] = []
            var isPonged = false
            while !isPonged {
                switch try device.next() {
                case .message(let bytes):
                    let frame = try DownFrame(bytes[...])
                    if frame == .pong {
                        isPonged = true
                    } else {
                        if isAnswered, seen.isEmpty { device.offer(.ping) }
                        seen.append(try told(frame))
                    }
                case .closed(let code, let reason):
                    return seen + ["closed \(code) \(reason)"]
                case let event: seen.append("\(event)")
                }
            }
            return seen
        }

        private func told(_ frame: DownFrame) throws -> String {
            switch frame {
            case .batch(let batch):
                return try batch.entries.map { entry in
                    guard case .act(let act) = try Entry(entry).kind else { return "entry" }
                    return "act \(act.outcome) \(act.results.map(\.outcome)) \(act.effect == .none)"
                }.joined(separator: ",")
            case .welcome(let welcome): return "welcome \(welcome.mode) \(welcome.head)"
            case .page(let page): return "page \(page.rows.count) \(page.last) \(page.rest == nil)"
            default: return "\(frame)"
            }
        }
    }

    private func push(_ operation: PealModel.Operation, _ n: Int64 = 1, observed: Position = 0) -> UpFrame {
        .push([
            Mutation(
                n: n, uid: .random(in: 1 ... .max), observed: observed, observedTime: 0, moment: .age(0),
                operation: operation)
        ])
    }

    @Test func `acts on the victim's item are acts on nothing`() throws {
        let hood = try Hood()
        let operations: [(ItemID) -> PealModel.Operation] = [
            { .read(items: [$0], on: true, passive: false) }, { .read(items: [$0], on: false, passive: false) },
            { .seen(items: [$0]) }, { .archive(items: [$0], on: true) }, { .delete(items: [$0]) },
            { .track(item: $0, event: "opened", data: nil) }, { _ in .mark(.read, upTo: 100) },
        ]
        for operation in operations {
            let real = try hood.answer([push(operation(hood.real.item))])
            #expect(try real == hood.answer([push(operation(hood.fake.item))]), "\(operation(hood.fake.item))")
        }
        let suspect = { (item: ItemID) in
            UpFrame.suspect(
                Mutation(
                    n: 1, uid: .random(in: 1 ... .max), observed: 0, observedTime: 0, moment: .age(0),
                    operation: .delete(items: [item])))
        }
        #expect(try hood.answer([suspect(hood.real.item)]) == hood.answer([suspect(hood.fake.item)]))
        let list = try hood.hub.client().get(
            "/standing",
            headers: hood.hub.user("mary")
                + "X-MAGICBELL-USER-HMAC: \(Proofs.hmac("mary", hood.hub.project.secret))\r\n")
        #expect(list.json["position"]?.intValue == hood.victimHead && list.json["unread_count"]?.intValue == 1)
        hood.victim.send(.ping)
        #expect(try hood.victim.frame() == .pong)
    }

    @Test func `a hello opens nobody else's inbox, and does not tell whether there is one`() throws {
        let hood = try Hood()
        let hub = hood.hub
        let tom = Proofs.hmac("tom", hub.project.secret)
        let expires = Int64(Date().timeIntervalSince1970) + 900
        let token = Proofs.token("tom", instance: hub.project.instance, secret: hub.project.secret, expires: expires)
        func hellos(_ names: Names) -> [Hello] {
            var byCode = hub.hello(names.user, hmac: tom)
            var byToken = hub.hello(names.user)
            byToken.proof = Proof(token: token)
            var claimed = hub.hello("tom", hmac: tom)
            claimed.inbox = .user(externalID: "tom", email: "\(names.user)@example.org")
            var device = hub.hello("x")
            device.inbox = .device(id: names.device)
            device.proof = Proof(secret: names.secret)
            var cursor = hub.hello("tom", hmac: tom)
            cursor.cursor = names.cursor
            byCode.outbox = 1...5
            return [byCode, byToken, claimed, device, cursor]
        }
        _ = try hub.client().post(
            "/users", #"{"user":{"external_id":"mary","email":"mary@example.org"}}"#, headers: hub.admin)
        for (real, fake) in zip(hellos(hood.real), hellos(hood.fake)) {
            let answers = try [real, fake].map { try hood.answer([.hello($0)], on: TestDevice(hub)) }
            #expect(answers[0] == answers[1], "\(real.inbox)")
        }
    }

    @Test func `a deleted device is as one that never was`() throws {
        let hood = try Hood()
        func hello(_ id: String) -> Hello {
            var hello = hood.hub.hello("x")
            hello.inbox = .device(id: id)
            hello.proof = Proof(secret: "guess")
            return hello
        }
        let core = hood.hub.server.core
        let done = DispatchSemaphore(value: 0)
        let id = hood.real.device
        let project = try #require(core.project(hood.hub.project.instance)).key
        core.committer.submit(
            { (store) throws(HubStoreError) in
                if let device = try store.device(id, in: project) { try store.deleteDevice(device.inbox) }
                return Committed(value: ())
            }, completion: { _ in done.signal() })
        #expect(done.wait(timeout: .now() + 10) == .success)
        let answers = try [id, hood.fake.device].map { try hood.answer([.hello(hello($0))], on: TestDevice(hood.hub)) }
        #expect(answers[0] == answers[1])
    }

    @Test func `every other frame knows its own inbox only`() throws {
        let hood = try Hood()
        let frames: [(Names) -> [UpFrame]] = [
            { [.snapshot(SnapshotRequest(id: 1, after: 2, at: 1, chain: $0.cursor.chain))] },
            { _ in [.snapshot(SnapshotRequest())] }, { _ in [.got(to: 0)] }, { _ in [.pong] },
            { [.token($0.token)] }, { _ in [.bye] },
        ]
        for frame in frames {
            let real = try hood.answer(frame(hood.real))
            #expect(try real == hood.answer(frame(hood.fake)), "\(frame(hood.fake))")
        }
        #expect(try hood.answer([.token(hood.real.token)]).last?.hasPrefix("closed 4201") == true)
    }

    @Test func `a device binds to no user whose proof it lacks`() throws {
        let hood = try Hood()
        let tom = Proofs.hmac("tom", hood.hub.project.secret)
        func answer(_ names: Names) throws -> [String] {
            let device = try TestDevice(hood.hub)
            var hello = hood.hub.hello("x")
            hello.inbox = .device(id: nil)
            _ = try device.welcome(hello)
            return try hood.answer([push(.user(id: names.user, proof: tom))], on: device)
        }
        let real = try answer(hood.real)
        #expect(try real == answer(hood.fake))
    }
}
