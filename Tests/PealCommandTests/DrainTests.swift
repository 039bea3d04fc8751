import Foundation
import PealModel
import PealSQLite
import Testing

/// `peal hub` as a process, stopped by signals.
@Suite struct DrainTests {
    /// A publish that waits for the store, whose lock another process holds.
    private struct Held {
        let hub: HubProcess
        let lock: Connection
        let client: RawHTTPClient

        init() throws {
            hub = try HubProcess(options: ["--log-level", "info"])
            lock = try Connection(path: hub.directory.path + "/hub.sqlite")
            try lock.execute("BEGIN IMMEDIATE")
            client = try RawHTTPClient(port: UInt16(URL(string: hub.http)?.port ?? 0))
            let body = #"{"users":["mary"],"apns":{"aps":{"alert":"In flight"}}}"#
            try client.send(
                "POST /publish_api/v1/instances/\(hub.instance)/publishes/users HTTP/1.1\r\nHost: a\r\n"
                    + "Authorization: Bearer \(hub.secret)\r\nContent-Type: application/json\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
            // One connection is served after the other on one thread: this answer comes after the publish was taken.
            let other = try RawHTTPClient(port: UInt16(URL(string: hub.http)?.port ?? 0))
            guard try other.request("GET", "/healthz").status == 200 else { throw Failure(message: "no health") }
        }

        func wait(for text: String) throws {
            let deadline = ContinuousClock.now + .seconds(10)
            while !hub.errors.contains(text) {
                guard ContinuousClock.now < deadline else {
                    throw Failure(message: "never said '\(text)': \(hub.errors)")
                }
                sched_yield()
            }
        }
    }

    @Test func `a request in flight is answered and durable after SIGTERM, and the exit code is 0`() throws {
        let held = try Held()
        kill(held.hub.process.processIdentifier, SIGTERM)
        try held.wait(for: "stopping")
        try held.lock.execute("ROLLBACK")
        #expect(try held.client.response().status == 200)
        held.hub.process.waitUntilExit()
        #expect(held.hub.process.terminationStatus == 0, "\(held.hub.errors)")
        #expect(held.hub.errors.contains("notice: stopped ms="))
        let copy = try Connection(path: held.hub.directory.path + "/hub.sqlite")
        #expect(try copy.int("SELECT count(*) FROM publish") == 1)
    }

    @Test func `a second signal ends the hub at once`() throws {
        let held = try Held()
        let begin = ContinuousClock.now
        kill(held.hub.process.processIdentifier, SIGTERM)
        try held.wait(for: "stopping")
        kill(held.hub.process.processIdentifier, SIGINT)
        held.hub.process.waitUntilExit()
        #expect(held.hub.process.terminationStatus == 130)
        #expect(begin.duration(to: .now) < .seconds(3) && held.hub.errors.contains("ended at once"))
        try held.lock.execute("ROLLBACK")
        // What was not answered may be gone; the file is whole.
        try held.hub.start()
        #expect(held.hub.stop() == 0)
    }

    @Test func `nothing that the command logs of requests holds a secret`() throws {
        let hub = try HubProcess(options: ["--log-level", "debug", "--log-format", "json"])
        let published = try Peal.run("publish", "--user", "mary", "--title", "Hidden title", environment: hub.publisher)
        #expect(published.status == 0, "\(published.errors)")
        #expect(hub.stop() == 0)
        let lines = hub.errors.split(separator: "\n")
        for line in lines { _ = try JSON(Array(line.utf8)[...]) }
        #expect(lines.contains { $0.contains("\"route\":\"/v1/publishes") })
        for word in [hub.secret, hub.key, "Hidden title"] { #expect(!hub.errors.contains(word)) }
    }

    @Test(arguments: [["--log-level", "loud"], ["--log-format", "xml"]])
    func `a level or a format that is none is refused with those that are`(words: [String]) throws {
        let run = try Peal.run(["hub", "--directory", "/nonexistent/x"] + words)
        #expect(run.status == 2 && run.errors.contains("takes one of"), "\(run.errors)")
    }
}
