import PealHub
import PealModel
import PealReplica
import Testing

/// What follows each close code of docs/sync.md section 6, on a real file with an act that waits and a hub that has something new.
@Suite struct CloseCodeConsequences {
    /// A live device whose hub closes it; an act is queued, and an item published, before it comes back.
    private func closed(by code: UInt16, script: Script) throws -> ScriptDevice {
        try script.publish("item 1")
        let device = try script.device("phone") { script.token(of: "mary", seconds: 86_400 * 30) }
        device.connect()
        script.pass(31_000)
        #expect(device.isLive)
        script.close(try #require(device.link), CloseCode(rawValue: code))
        script.run()
        #expect(!device.isLive)
        try device.act(.mark(.read, upTo: 1))
        try script.publish("item 2")
        return device
    }

    @Test(arguments: [
        4000, 4003, 4004, 4005, 4008, 4029, 4099, 4101, 4102, 4103, 4104, 4105, 4106, 4199, 1000, 1006, 4999,
    ])
    func `after each of these a device comes back by itself, and what waited arrives`(_ code: UInt16) throws {
        let script = try Script()
        let device = try closed(by: code, script: script)
        if code == 4105 {
            script.pass(59_000)
            #expect(!device.isLive, "a newer session lives: it waits a minute")
            script.pass(2_000)
        } else {
            script.pass(3_000)
        }
        #expect(device.isLive, "within three seconds of a healthy session")
        script.run()
        #expect(try device.replica.outbox().isEmpty)
        #expect(try device.replica.counts() == Counts(total: 2, unread: 1, unseen: 1))
        #expect(try device.difference() == nil)
        #expect(device.forks == (code == 4103 ? 1 : 0), "only a fork is a fork")
        #expect(device.connections == 2)
    }

    @Test(arguments: [4200, 4201, 4202, 4203, 4204, 4299])
    func `after each of these a device stays away until somebody changes something, and keeps what waited`(
        _ code: UInt16
    ) throws {
        let script = try Script()
        let device = try closed(by: code, script: script)
        #expect(device.statuses.last == .stopped(CloseCode(rawValue: code), ""))
        device.drive { $0.networkChanged() }
        script.pass(86_400_000)
        #expect(device.connections == 1)
        #expect(try device.replica.outbox().map(\.state) == [.queued])
        // The app starts it again.
        device.connect()
        script.pass(1_000)
        #expect(device.isLive)
        #expect(try device.replica.outbox().isEmpty)
        #expect(try device.difference() == nil)
    }

    @Test func `a fresh token is fetched after 4101, and shown`() throws {
        let script = try Script(requiresHMAC: true)
        try script.publish("item 1")
        var made = 0
        let device = try script.device("phone") {
            made += 1
            return script.token(of: "mary", seconds: Double(1_000 * made))
        }
        device.connect()
        script.close(try #require(device.link), .newToken)
        script.pass(3_000)
        #expect(device.isLive && made == 2)
        #expect(Set(script.hellos.compactMap(\.proof.token)).count == 2)
    }

    @Test func `after 4104 pushes are smaller until they pass, and all arrive in their order`() throws {
        let script = try Script()
        let items = (0..<500).map { ItemID(high: 1, low: UInt64($0)) }
        try script.publish("item 1")
        let device = try script.device("phone")
        device.connect()
        device.disconnect()
        let uids = try (0..<6).map { _ in try device.replica.enqueue(.seen(items: items)) }
        device.connectHeld()
        let link = try #require(device.link)
        link.deliver()
        #expect(link.up.contains { $0.count > 32 * 1_024 })
        // A proxy between the two takes less than the contract says.
        script.close(link, .frameTooLarge)
        link.isHeld = false
        script.run()
        device.drive { $0.networkChanged() }
        var largest = 0
        script.onFrame = { largest = max(largest, $0.count) }
        script.pass(5_000)
        #expect(try device.replica.outbox().isEmpty)
        #expect(largest <= 32 * 1_024, "\(largest) bytes")
        let acts = try script.log().compactMap { entry -> UInt64? in
            guard case .act(let act) = entry.kind else { return nil }
            return act.uid
        }
        #expect(acts == uids)
    }
}
