import Foundation
import PealModel
import PealWebSocket
import Testing

@testable import PealHub

/// Sockets and frames of devices, slow senders among them.
@Suite struct HubLimitsSocketTests {
    /// Has the hub look at the clock.
    private func tick(_ hub: TestHub, at now: Milliseconds) { hub.onHub { $0.ticked(now: now) } }

    /// When the newest socket was opened.
    private func lastOpened(_ hub: TestHub) -> Milliseconds {
        hub.onHub { $0.connections.values.map(\.opened).max() ?? 0 }
    }

    /// Everybody else is served: a new device says hello and gets what is published.
    private func expectServed(_ hub: TestHub, _ name: String = "witness") throws {
        let device = try TestDevice(hub)
        _ = try device.welcome(hub.hello(name))
        try hub.publish("One", users: [name])
        #expect(try device.entries(through: 1).count == 1)
    }

    // MARK: How many

    @Test func `a socket over the number gets 503 with Retry-After, and is let in when one goes`() throws {
        let hub = try TestHub { $0.limits.sockets = 2 }
        let first = try TestDevice(hub)
        _ = try first.welcome(hub.hello("mary"))
        var second: RawSocket? = try RawSocket(hub)
        let third = try hub.socketClient()
        try third.send(RawSocket.handshake)
        let refused = try third.response()
        #expect(refused.status == 503 && refused["Retry-After"] == "1")
        #expect(third.isClosed())
        try hub.publish("One", users: ["mary"])
        #expect(try first.entries(through: 1).count == 1)
        #expect(second != nil)
        second = nil
        try until("a free place is taken") { (try? RawSocket(hub)) != nil }
    }

    @Test func `a socket over the number of its address is closed 4029, and the next one is let in when one goes`()
        throws
    {
        let hub = try TestHub { $0.limits.socketsPerAddress = 2 }
        let first = try TestDevice(hub)
        _ = try first.welcome(hub.hello("mary"))
        do {
            let second = try TestDevice(hub)
            _ = try second.welcome(hub.hello("mary"))
            #expect(try TestDevice(hub).closeCode() == CloseCode.rate.rawValue)
            second.send(.bye)
            _ = try second.closeCode()
        }
        try until("let in again") {
            let third = try TestDevice(hub)
            third.offer(.hello(hub.hello("mary")))
            if case .message = try third.next() { return true }
            return false
        }
        try hub.publish("One", users: ["mary"])
        #expect(try first.entries(through: 1).count == 1)
    }

    // MARK: Slow handshakes

    /// Nothing, half a request, one without its last line's end (one character of Swift's), and what is none.
    static let starts = [
        "", String(RawSocket.handshake.prefix(40)), String(RawSocket.handshake.dropLast()), "\u{16}\u{3}",
    ]

    @Test(arguments: starts)
    func `who does not end its handshake is cut after its time, and others are served meanwhile`(
        start: String
    ) throws {
        let hub = try TestHub { $0.limits.handshakeSeconds = 1 }
        let begin = ContinuousClock.now
        let slow = try (0..<40).map { _ in try hub.socketClient() }
        for client in slow where !start.isEmpty { try client.send(start) }
        try expectServed(hub)
        for client in slow { #expect(client.isCut()) }
        if !start.hasPrefix("\u{16}") { #expect(begin.duration(to: .now) > .milliseconds(900)) }
        try expectServed(hub, "another")
    }

    @Test func `a handshake that trickles is cut after its time`() throws {
        let hub = try TestHub { $0.limits.handshakeSeconds = 1 }
        nonisolated(unsafe) let slow = try hub.socketClient()
        try slow.send("GET / HTTP/1.1\r\nHost: a\r\n")
        let trickling = OtherThread {
            while (try? slow.send("X: y\r\n")) != nil { usleep(20_000) }
        }
        #expect(slow.isClosed())
        try trickling.wait()
        try expectServed(hub)
    }

    @Test func `more handshakes than there may be close the oldest, and whoever connects is let in`() throws {
        let hub = try TestHub { $0.limits.handshakes = 5 }
        let slow = try (0..<5).map { _ in try hub.socketClient() }
        for client in slow { try client.send(String(RawSocket.handshake.dropLast())) }
        // One of the five may still be unknown to the hub, but none that came after it is known.
        try expectServed(hub)
        #expect(slow[0].isClosed())
        try slow[4].send("\r\n")
        #expect(try slow[4].response().status == 101)
    }

    @Test func `a handshake that ends within its time is taken, however slowly it comes`() throws {
        let hub = try TestHub()
        let slow = try hub.socketClient()
        for byte in RawSocket.handshake.utf8 { try slow.send([byte]) }
        #expect(try slow.response().status == 101)
    }

    @Test func `the socket layer has the hub's figures`() {
        let sockets = HubServer.socketConfiguration(HubConfiguration(databasePath: ""))
        #expect(sockets.handshakeSeconds == 10 && sockets.maximumHandshakes == 1_000)
        #expect(sockets.pingSeconds == 30 && sockets.hangupSeconds == 45)
        #expect(sockets.maximumMessageBytes == 65_536 && sockets.maximumConnections == 100_000)
    }

    // MARK: Hellos

    @Test func `a socket has ten seconds to say hello, and is closed 4203 after them`() throws {
        let hub = try TestHub()
        let live = try TestDevice(hub)
        _ = try live.welcome(hub.hello("mary"))
        let device = try TestDevice(hub)
        tick(hub, at: lastOpened(hub) + HubLimits.hello)
        _ = try device.welcome(hub.hello("mary"))
        let silent = try TestDevice(hub)
        tick(hub, at: lastOpened(hub) + HubLimits.hello + 1)
        #expect(try silent.closeCode() == CloseCode.protocolError.rawValue)
        for device in [live, device] {
            device.send(.ping)
            #expect(try device.frame() == .pong)
        }
    }

    // MARK: Frames

    @Test func `frames over the rate close 4029, and other sessions go on`() throws {
        let hub = try TestHub { $0.limits.framesPerSecond = 10 }
        let other = try TestDevice(hub)
        _ = try other.welcome(hub.hello("mary"))
        let device = try TestDevice(hub)
        _ = try device.welcome(hub.hello("mary"))
        // A hello and 49 frames are its burst.
        for _ in 0..<48 { device.send(.got(to: 0)) }
        device.send(.ping)
        #expect(try device.frame() == .pong)
        // The bucket fills up meanwhile; a hundred more are too many.
        for _ in 0..<100 { device.offer(.got(to: 0)) }
        #expect(try device.closeCode() == CloseCode.rate.rawValue)
        try hub.publish("One", users: ["mary"])
        #expect(try other.entries(through: 1).count == 1)
    }

    @Test func `a frame that trickles is taken when it ends, and holds up nobody`() throws {
        let hub = try TestHub()
        let slow = try RawSocket(hub)
        try slow.send(.hello(hub.hello("mary")))
        _ = try slow.frame()
        let ping = Array(UpFrame.ping.bytes)
        try slow.write([0x81, 0x80 | UInt8(ping.count), 0, 0, 0, 0] + ping.dropLast())
        try expectServed(hub)
        try slow.write([ping[ping.count - 1]])
        #expect(try slow.frame() == .pong)
    }
}
