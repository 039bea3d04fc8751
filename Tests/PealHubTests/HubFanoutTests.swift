import PealModel
import Testing

@testable import PealHub

@Suite struct HubFanoutTests {
    @Test func `a fan-out after a silence, or to few sessions, is not delayed`() {
        var pace = FanoutPace()
        #expect(pace.delay(of: 5_000, now: 1_000) == 0)
        pace.told(FanoutPace.sessions - 1, now: 1_000)
        #expect(pace.delay(of: 5_000, now: 1_001) == 0)
        pace.told(FanoutPace.sessions, now: 1_000)
        #expect(pace.delay(of: FanoutPace.sessions - 1, now: 1_000) == 0)
        #expect(pace.delay(of: 5_000, now: 1_000 + FanoutPace.maximum) == 0)
    }

    @Test func `soon after a fan-out the next waits, longer the more sessions there are, up to a limit`() {
        var pace = FanoutPace()
        pace.told(1_000, now: 1_000)
        #expect(pace.delay(of: 1_000, now: 1_000) == 8)
        #expect(pace.delay(of: 1_000, now: 1_007) == 1)
        #expect(pace.delay(of: 1_000, now: 1_008) == 0)
        #expect(pace.delay(of: 1_000_000, now: 1_010) == FanoutPace.maximum - 10)
    }

    @Test func `within a burst fan-outs keep a distance that doubles, and a silence makes it short again`() {
        var pace = FanoutPace()
        var now: Milliseconds = 1_000
        var delays: [Milliseconds] = []
        for _ in 0..<6 {
            pace.told(1_000, now: now)
            delays.append(pace.delay(of: 1_000, now: now))
            now += delays.last ?? 0
        }
        #expect(delays == [8, 16, 32, 50, 50, 50])
        pace.told(1_000, now: now + 2 * FanoutPace.maximum)
        #expect(pace.delay(of: 1_000, now: now + 2 * FanoutPace.maximum) == 8)
    }

    @Test func `publishes at a steady rate that leaves time between them are not delayed`() {
        var pace = FanoutPace()
        for index in 0..<20 {
            let now = 1_000 + 50 * Milliseconds(index)
            #expect(pace.delay(of: 1_000, now: now) == 0)
            pace.told(1_000, now: now)
        }
    }

    @Test func `a clock that is set back delays nothing`() {
        var pace = FanoutPace()
        pace.told(1_000, now: 1_000)
        #expect(pace.delay(of: 1_000, now: 999) == 0)
    }

    @Test func `each of many sessions gets every item of a burst, in order`() throws {
        let hub = try TestHub()
        let devices = try (0...FanoutPace.sessions).map { _ in
            let device = try TestDevice(hub)
            _ = try device.welcome(hub.hello("Mary"))
            device.send(.got(to: 0))
            return device
        }
        let client = try hub.client()
        let count = 12
        for _ in 0..<count {
            let answer = try client.post(hub.publishPath("users"), HubPublishTests.users, headers: hub.bearer)
            #expect(answer.status == 200)
        }
        for device in devices { #expect(try device.entries(through: Position(count)).count == count) }
    }

    @Test func `each of many devices gets every item of a burst, and a second session of one gets it from the log`()
        throws
    {
        let hub = try TestHub()
        let count = 12
        let devices = try (0..<SQLiteHubStore.deferredFrom).map { index in
            let device = try TestDevice(hub)
            let hello = Hello(
                project: hub.project.apiKey, inbox: .device(id: nil), replica: ReplicaID(high: 7, low: UInt64(index)),
                proof: Proof(), attempt: 1, nonce: "", cursor: .start)
            let welcome = try device.welcome(hello)
            device.send(
                .push([
                    Mutation(
                        n: 1, uid: UInt64(index), observed: 0, observedTime: 0, moment: .age(0),
                        operation: .interest(name: "apple", on: true))
                ]))
            _ = try device.entries(through: 1)
            return (device: device, welcome: welcome, replica: hello.replica)
        }
        let client = try hub.client()
        for _ in 0..<count {
            let answer = try client.post(hub.publishPath("interests"), HubPublishTests.interests, headers: hub.bearer)
            #expect(answer.status == 200)
        }
        for device in devices {
            let entries = try device.device.entries(through: Position(1 + count))
            #expect(entries.count == count)
        }
        // The hub has forgotten what its one session was given.
        let first = devices[5]
        let second = try TestDevice(hub)
        let welcome = try second.welcome(
            Hello(
                project: hub.project.apiKey, inbox: .device(id: first.welcome.inbox),
                replica: ReplicaID(high: 8, low: 1),
                proof: Proof(secret: first.welcome.secret, replica: first.replica), attempt: 1, nonce: "",
                cursor: .start))
        #expect(welcome.head == Position(1 + count))
        second.send(.got(to: 0))
        #expect(try second.entries(through: Position(1 + count)).count == 1 + count)
    }
}
