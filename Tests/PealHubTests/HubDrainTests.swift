import Foundation
import Glibc
import PealModel
import Testing

@testable import PealHub

/// A hub that stops lets nobody down (docs/sync.md section 6, drain).
@Suite struct HubDrainTests {
    @Test func `every session is told when to come back, and the hub does not wait for its time limit`() throws {
        let hub = try TestHub()
        let devices = try (0..<20).map { _ in try TestDevice(hub) }
        for (index, device) in devices.enumerated() { _ = try device.welcome(hub.hello("user-\(index)")) }
        let begin = ContinuousClock.now
        hub.server.stop()
        #expect(begin.duration(to: .now) < .seconds(HubServer.socketSeconds))
        for device in devices {
            #expect(try device.frame() == .drain(low: 500, high: 500 + 2_500 + 20))
            #expect(try device.closeCode() == CloseCode.draining.rawValue)
        }
    }

    @Test func `a device that reads nothing does not hold the hub up for longer than it may`() throws {
        let hub = try TestHub()
        let silent = try RawSocket(hub)
        let begin = ContinuousClock.now
        hub.server.stop()
        #expect(begin.duration(to: .now) < .seconds(HubServer.stopSeconds))
        withExtendedLifetime(silent) {}
    }

    @Test func `a push in flight is durable when the hub has stopped`() throws {
        let hub = try TestHub()
        let hello = hub.hello("mary")
        let device = try TestDevice(hub)
        let welcome = try device.welcome(hello)
        try hub.publish("One", users: ["mary"])
        _ = try device.entries(through: welcome.head + 1)
        device.send(
            .push([
                Mutation(
                    n: 1, uid: 7, observed: welcome.head + 1, observedTime: 0, moment: .age(0),
                    operation: .mark(.read, upTo: welcome.head + 1))
            ]))
        // The batch with the outcome may come before or after the hub has stopped, or never: the act is there.
        _ = try device.frame()
        try hub.restart()
        let list = try hub.client().get("/notifications?read=true", headers: hub.user("mary"))
        #expect(list.json["total"]?.intValue == 1, "\(list.text)")
    }
}
