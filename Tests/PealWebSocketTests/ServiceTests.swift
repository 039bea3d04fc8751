import PealWebSocket
import Synchronization
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// An actor that lives on a service's thread.
private actor Resident {
    nonisolated let service: WebSocketService
    nonisolated var unownedExecutor: UnownedSerialExecutor { service.asUnownedSerialExecutor() }
    private(set) var visits = 0

    init(_ service: WebSocketService) { self.service = service }

    func visit() { visits += 1 }
}

@Suite(.timeLimit(.minutes(4)))
struct ServiceTests {
    @Test func `an actor lives on the thread and is entered from it without a hop`() async throws {
        let service = try WebSocketService()
        service.start()
        defer { service.stop() }
        let resident = Resident(service)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { await resident.visit() } }
        }
        let entered = await withCheckedContinuation { continuation in
            service.post {
                service.checkIsolated()
                continuation.resume(returning: resident.assumeIsolated { $0.visits })
            }
        }
        #expect(entered == 100)
        #expect(service.isIsolatingCurrentContext() == false)
    }

    @Test func `an actor of a stopped service still answers, so nobody hangs`() async throws {
        let service = try WebSocketService()
        service.start()
        let resident = Resident(service)
        await resident.visit()
        service.stop()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { await resident.visit() } }
        }
        #expect(await resident.visits == 101)
        #expect(!service.post {})
    }

    @Test func `an actor of a service that never ran answers once it is stopped`() async throws {
        let service = try WebSocketService()
        let resident = Resident(service)
        async let visit: Void = resident.visit()
        service.stop()
        await visit
        #expect(await resident.visits == 1)
    }

    @Test func `closures run in their order, and those that a closure posts after it`() async throws {
        let service = try WebSocketService()
        service.start()
        defer { service.stop() }
        let journal = Journal<Int>()
        for index in 0..<1_000 {
            service.post {
                journal.note(index)
                if index == 0 { service.post { journal.note(-1) } }
            }
        }
        #expect(await journal.wait { $0.count == 1_001 })
        #expect(journal.all.filter { $0 >= 0 } == Array(0..<1_000))
    }

    @Test func `a closure that posts itself again does not starve the sockets`() async throws {
        let server = try EchoServer()
        defer { server.service.stop() }
        @Sendable func again() { server.service.post { again() } }
        again()
        let client = try RecordingClient()
        defer { client.service.stop() }
        try client.connect(server.url)
        #expect(await client.journal.wait { $0 == [.opened] })
    }

    @Test func `timers come in the order of their time, not before it`() async throws {
        let service = try WebSocketService()
        service.start()
        defer { service.stop() }
        let journal = Journal<Int>()
        let start = ContinuousClock.now
        for delay in [60, 20, 40, 0] as [Int64] {
            service.post(afterMilliseconds: delay) {
                journal.note(ContinuousClock.now - start >= .milliseconds(delay) ? Int(delay) : -1)
            }
        }
        #expect(await journal.wait { $0.count == 4 })
        #expect(journal.all == [0, 20, 40, 60])
    }

    @Test func `a timer that a closure sets on the thread comes without a wake from outside`() async throws {
        let service = try WebSocketService()
        service.start()
        defer { service.stop() }
        let journal = Journal<Int>()
        @Sendable func tick(_ left: Int) {
            journal.note(left)
            if left > 0 { service.post(afterMilliseconds: 5) { tick(left - 1) } }
        }
        service.post { tick(20) }
        #expect(await journal.wait { $0.last == 0 })
    }

    @Test func `stopping twice, from two threads, and while others post is harmless`() async throws {
        let service = try WebSocketService()
        service.start()
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<20 {
                group.addTask {
                    for _ in 0..<200 {
                        service.post {}
                        service.post(afterMilliseconds: 1) {}
                    }
                    if index % 10 == 9 { service.stop() }
                }
            }
        }
        service.stop()
        service.start()
        #expect(!service.post {})
    }

    @Test func `a server that is stopped tells each connection once and takes no more; its service frees the port`()
        async throws
    {
        let server = try EchoServer()
        defer { server.service.stop() }
        let client = try RecordingClient()
        defer { client.service.stop() }
        try client.connect(server.url)
        #expect(await client.journal.wait { $0 == [.opened] })
        server.server.stop()
        server.server.stop()
        #expect(server.journal.all.last == "closed 1006 the server was stopped")
        #expect(await client.journal.wait { $0.count == 2 })
        try client.connect(server.url)
        #expect(await client.journal.wait { $0.count == 3 })
        #expect(client.closes.count == 2)
        #expect(server.journal.all.count == 2)
        let port = server.server.boundPort
        server.service.stop()
        let again = try EchoServer { $0.port = port }
        again.service.stop()
    }

    @Test func `a handler that holds its server is let go when the service stops`() throws {
        weak var gone: EchoServer?
        weak var service: WebSocketService?
        do {
            let server = try EchoServer()
            gone = server
            service = server.service
            server.service.stop()
        }
        #expect(gone == nil)
        #expect(service == nil)
    }

    @Test func `a client that nobody holds any more leaves`() async throws {
        let server = try EchoServer()
        defer { server.service.stop() }
        let service = try WebSocketService()
        service.start()
        defer { service.stop() }
        weak var gone: WebSocketClient?
        do {
            let client = try RecordingClient(service: service)
            try client.connect(server.url)
            #expect(await client.journal.wait { $0 == [.opened] })
            gone = client.client
        }
        #expect(await server.journal.wait { $0.contains { $0.hasPrefix("closed 1006") } })
        #expect(gone == nil)
    }

    @Test func `connecting anew drops the old connection without an event`() async throws {
        let server = try EchoServer()
        defer { server.service.stop() }
        let client = try RecordingClient()
        defer { client.service.stop() }
        for round in 1...5 {
            try client.connect(server.url)
            #expect(await client.journal.wait { $0.count == round })
        }
        #expect(client.journal.all == Array(repeating: .opened, count: 5))
        #expect(await server.journal.wait { $0.filter { $0.hasPrefix("closed") }.count == 4 })
        client.client.disconnect()
        #expect(await server.journal.wait { $0.filter { $0.hasPrefix("closed") }.count == 5 })
        #expect(client.closes.isEmpty)
    }

    @Test func `a name without an address is a close with a sentence`() async throws {
        let client = try RecordingClient()
        defer { client.service.stop() }
        try client.connect("ws://name.invalid/")
        #expect(await client.journal.wait { !$0.isEmpty })
        #expect(client.journal.all == [.closed(code: 1006, reason: "the name name.invalid has no address")])
    }

    @Test func `a client of a stopped service is told`() async throws {
        let client = try RecordingClient()
        client.service.stop()
        try client.connect("ws://127.0.0.1:1/")
        #expect(!client.client.send([0x61]))
        client.client.close(code: 4000, reason: "")
    }

    @Test(arguments: [
        "http://a/", "ws:/a", "ws://", "ws://a:0/", "ws://a:65536/", "ws://a:+1/", "ws://user@a/", "ws://a b/",
        "ws://a/ b",
        "ws://a/#b", "ws://[a]/", "ws://é/", "ws://a/é", "ws://[::1/", "ws://a\r\nX: y/", "ws://a/\r\nX: y",
    ])
    func `what is no WebSocket URL is an error`(url: String) throws {
        let client = try RecordingClient()
        defer { client.service.stop() }
        #expect(throws: WebSocketError.self) { try client.connect(url) }
    }

    @Test func `a server listens on every interface, and on IPv6`() async throws {
        for (host, address) in [(nil, "127.0.0.1"), ("::1", "[::1]")] as [(String?, String)] {
            guard let server = try? EchoServer({ $0.host = host }) else {
                // A machine without IPv6.
                #expect(host == "::1")
                continue
            }
            defer { server.service.stop() }
            let client = try RecordingClient()
            defer { client.service.stop() }
            try client.connect("ws://\(address):\(server.server.boundPort)/")
            #expect(await client.journal.wait { $0 == [.opened] }, "\(client.journal.all)")
            #expect(server.journal.all == ["opened from \(host ?? address)"])
        }
    }

    @Test func `the limit of open files can be raised`() {
        let limit = WebSocketService.raiseFileLimit()
        #expect(limit > 0)
        #expect(WebSocketService.raiseFileLimit() == limit)
    }

    @Test func `work on another thread traps with a sentence`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let service = try WebSocketService(name: "somewhere")
            service.start()
            service.checkIsolated()
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("this must run on the thread of the socket service 'somewhere'"))
    }

    @Test func `a broken pipe does not kill the process`() async {
        await #expect(processExitsWith: .success) {
            let service = try WebSocketService()
            var ends: [Int32] = [0, 0]
            pipe(&ends)
            close(ends[0])
            precondition(write(ends[1], "a", 1) == -1 && errno == EPIPE)
            service.stop()
        }
    }
}
