import Glibc
import Testing

@testable import PealHub

@Suite struct HTTPStopTests {
    @Test func `stopping answers what is pending with 503 and drops the late answer`() throws {
        let server = try HTTPTestServer()
        let client = try server.client()
        try client.send("GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
        let responder = try server.held.next()
        server.server.stop(grace: .zero)
        #expect(try client.response().status == 503)
        #expect(client.isClosed())
        responder.send(.text(200, "too late"))
        #expect(throws: RawHTTPError.self) { try server.client() }
        server.server.stop()
        #expect(server.server.connections == 0)
    }

    @Test func `stopping waits for an answer that comes in time`() throws {
        let server = try HTTPTestServer()
        let client = try server.client()
        try client.send("GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
        let responder = try server.held.next()
        let stopping = OtherThread { [server = server.server] in server.stop(grace: .seconds(30)) }
        // The listener closes first: when that is seen, the server is stopping.
        let deadline = ContinuousClock.now + .seconds(10)
        while (try? server.client()) != nil, ContinuousClock.now < deadline { sched_yield() }
        responder.send(.text(200, "in time"))
        #expect(try client.response().text == "in time")
        try stopping.wait()
    }

    @Test func `stopping under load neither crashes nor hangs`() throws {
        for round in 0..<20 {
            let server = try HTTPTestServer()
            let port = server.server.boundPort
            let held = server.held
            let served = Count()
            let loads = (0..<3).map { number in
                OtherThread {
                    let client = try RawHTTPClient(port: port)
                    while true {
                        let response = try client.request("GET", number == 0 ? "/held" : "/users/a")
                        served.add(1)
                        if response.status != 200 { break }
                    }
                }
            }
            let answering = OtherThread {
                while true { try held.next(within: .milliseconds(200)).send(.text(200, "x")) }
            }
            while served.value < 10 * (1 + round % 3) { sched_yield() }
            server.server.stop(grace: .milliseconds(round % 4))
            // Each load ends with a 503 or a closed connection.
            for load in loads { try? load.wait() }
            try? answering.wait()
        }
    }

    @Test func `a server that is released stops`() throws {
        let port: UInt16
        do {
            let server = try HTTPTestServer()
            port = server.server.boundPort
            #expect(try server.client().request("GET", "/users/a").text == "a")
        }
        #expect(throws: RawHTTPError.self) { try RawHTTPClient(port: port) }
    }
}
