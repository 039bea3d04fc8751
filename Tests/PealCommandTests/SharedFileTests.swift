import Foundation
import Testing

/// Several processes of one file, as they are.
@Suite(.timeLimit(.minutes(3)))
struct SharedFileTests {
    private func act(_ hub: HubProcess, _ device: Directory, seed: Int, pause: Int = 10) throws -> Load {
        try Load([
            "act", "--hub", hub.http, "--key", hub.key, "--user", "Mary", "--directory", device.path, "--seed",
            String(seed), "--pause", String(pause),
        ])
    }

    /// Publishes many, quickly: one process, one connection.
    private func publish(_ hub: HubProcess, _ count: Int) throws {
        let script = """
            import http.client, json, sys
            host, path, secret, count = sys.argv[1:]
            connection = http.client.HTTPConnection(host)
            for number in range(int(count)):
                body = {"users": ["Mary"], "web": {"notification": {"title": "item %d" % number, "body": "x" * 200}}}
                connection.request("POST", path, json.dumps(body), {
                    "Content-Type": "application/json", "Authorization": "Bearer " + secret})
                assert connection.getresponse().read()
            """
        let python = Process()
        python.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        python.arguments = [
            "python3", "-c", script, String(hub.http.dropFirst("http://".count)),
            "/publish_api/v1/instances/\(hub.instance)/publishes/users", hub.secret, String(count),
        ]
        try python.run()
        python.waitUntilExit()
        try #require(python.terminationStatus == 0)
    }

    private func inbox(_ hub: HubProcess, _ device: Directory) throws -> [String] {
        let listed = try Peal.run(
            ["inbox", "--user", "Mary", "--json", "--all", "--limit", "1000", "--directory", device.path],
            environment: hub.environment)
        #expect(listed.status == 0, "\(listed.errors)")
        return listed.lines
    }

    @Test func `the process with the session is killed, and the other one takes over and sends what waits`() throws {
        let hub = try HubProcess()
        let device = try Directory()
        try publish(hub, 10)
        var owner = try act(hub, device, seed: 1)
        try #require(owner.wait("status") { $0.text("state") == "live" } != nil)
        var acts = 0
        for round in 1...3 {
            let second = try act(hub, device, seed: 1 + round)
            try #require(second.wait("status") { $0.text("state") == "elsewhere" } != nil)
            try #require(second.wait("act") != nil)
            let death = owner.kill()
            acts += owner.lines("act").count
            let taken = try #require(second.wait("status") { $0.text("state") == "connecting" })
            let live = try #require(second.wait("status") { $0.text("state") == "live" })
            // It looks every 200 ms; the rest is the machine's load.
            #expect(taken.number("t") - death < 5_000_000 && live.number("t") - death < 10_000_000)
            owner = second
        }
        try owner.say("quiet")
        try #require(owner.wait("quiet") { $0.number("outbox") == 0 && $0.number("settled") == 1 } != nil)
        acts += owner.lines("act").count
        #expect(owner.lines("quiet").allSatisfy { $0.number("dead") == 0 } && owner.lines("error").isEmpty)
        // Nobody else has the file open when it dies: the next one finds all of it.
        _ = owner.kill()
        let file = device.path + "/id-%4dary.peal"
        let inspected = try Peal.run("inspect", "verify", "--json", "--hub", hub.http, file)
        #expect(inspected.status == 0, "\(inspected)")
        let found = try JSONSerialization.jsonObject(with: Data(Peal.run("inspect", "--json", file).output.utf8))
        let journal = try #require((found as? [String: Any])?["journal"] as? Int)
        // Each death may have cut off the answer of one act that was durable.
        #expect((acts...acts + 4).contains(journal), "\(acts) acts were answered, \(journal) are settled")
        let other = try Directory()
        let items = try inbox(hub, other)
        #expect(try inbox(hub, device) == items && !items.isEmpty)
    }

    @Test func `viewers read a file while another process folds thousands of entries, and none fails or waits`() throws
    {
        let hub = try HubProcess()
        let device = try Directory()
        try publish(hub, 1_200)
        let file = device.path + "/id-%4dary.peal"
        let viewers = try (1...2).map { try Load(["view", "--file", file, "--seed", String($0), "--pause", "2"]) }
        let owner = try act(hub, device, seed: 1, pause: 5)
        try #require(owner.wait("read") { $0.number("at") >= 1_200 } != nil)
        try publish(hub, 400)
        try #require(owner.wait("read") { $0.number("at") >= 1_600 } != nil)
        for viewer in viewers {
            try #require(viewer.wait("read") { $0.number("at") >= 1_600 } != nil)
            #expect(try viewer.end() == 0)
            #expect(viewer.lines("error").isEmpty, "\(viewer.lines("error").map { $0.text("text") })")
            let told = viewer.lines("viewer")
            #expect(told.reduce(0) { $0 + $1.number("reads") } > 20)
            // SQLite gives up after 5 s of a locked file; a busy machine takes its part of this.
            #expect(told.allSatisfy { $0.number("longest") < 2_000_000 })
            let positions = viewer.lines("read").map { $0.number("at") }
            #expect(positions == positions.sorted(), "a view went back")
        }
        #expect(try owner.end() == 0)
        #expect(owner.lines("error").isEmpty)
    }
}
