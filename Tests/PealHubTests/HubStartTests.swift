import Foundation
import PealModel
import PealSQLite
import Testing

@testable import PealHub

@Suite struct HubStartTests {
    /// Starts a hub that must not start, and gives the sentence that it says.
    private func refusal(_ change: (inout HubConfiguration) -> Void) -> String {
        var configuration = HubConfiguration(databasePath: "")
        configuration.httpPort = 0
        configuration.webSocketPort = 0
        change(&configuration)
        do throws(HubError) {
            let server = try HubServer(configuration)
            server.stop()
            return "it started"
        } catch {
            return error.description
        }
    }

    private func withDirectory(_ body: (String) throws -> Void) throws {
        let directory = NSTemporaryDirectory() + "peal-start-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try body(directory)
    }

    @Test func `a hub that is stopped and started again has everything`() throws {
        let hub = try TestHub()
        let project = hub.project
        #expect(project.isNew)
        try hub.publish("One", users: ["mary"])
        let first = try hub.client().get("/notifications", headers: hub.user("mary")).json["notifications"]
        try hub.restart()
        #expect(!hub.project.isNew)
        #expect(hub.project.instance == project.instance)
        #expect(hub.project.apiKey == project.apiKey)
        #expect(hub.project.secret == project.secret)
        #expect(try hub.client().get("/notifications", headers: hub.user("mary")).json["notifications"] == first)
        try hub.publish("Two", users: ["mary"])
        #expect(try hub.client().get("/notifications", headers: hub.user("mary")).json["total"]?.intValue == 2)
    }

    @Test func `the file, and what lies beside it, is readable for its owner only`() throws {
        let hub = try TestHub()
        try hub.publish("One", users: ["mary"])
        for name in try FileManager.default.contentsOfDirectory(atPath: hub.directory) {
            let attributes = try FileManager.default.attributesOfItem(atPath: hub.directory + "/" + name)
            #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
        }
    }

    @Test func `a new project has an instance id, a key and a secret of 64 hexadecimal digits`() throws {
        let project = try TestHub().project
        #expect(UUID(uuidString: project.instance) != nil)
        #expect(project.secret.count == 64 && project.secret.allSatisfy { $0.isHexDigit })
        #expect(!project.apiKey.isEmpty && project.apiKey != project.secret)
    }

    @Test func `a file that is no database is refused with a sentence`() throws {
        try withDirectory { directory in
            let path = directory + "/hub.db"
            try String(repeating: "not a database\n", count: 500).write(
                toFile: path, atomically: false, encoding: .utf8)
            let message = refusal { $0.databasePath = path }
            #expect(message.contains("cannot be opened") && message.contains("not a database"), "\(message)")
        }
    }

    @Test func `another application's database is refused and stays as it is`() throws {
        try withDirectory { directory in
            let path = directory + "/other.db"
            do {
                let other = try Connection(path: path)
                try other.execute("CREATE TABLE t (a); PRAGMA application_id = 1346715756; PRAGMA user_version = 1")
            }
            let message = refusal { $0.databasePath = path }
            #expect(message.contains(path) && message.contains("another application"), "\(message)")
            let tables = try Connection(path: path).int("SELECT count(*) FROM sqlite_schema")
            #expect(tables == 1)
        }
    }

    @Test func `a newer hub's file is refused with both versions`() throws {
        try withDirectory { directory in
            let path = directory + "/hub.db"
            #expect(refusal { $0.databasePath = path } == "it started")
            try Connection(path: path).execute("PRAGMA user_version = 99")
            let message = refusal { $0.databasePath = path }
            #expect(
                message.contains(path) && message.contains("version 99") && message.contains("up to 1"), "\(message)")
        }
    }

    @Test func `a folder that is not there is refused with its path`() throws {
        try withDirectory { directory in
            let message = refusal { $0.databasePath = directory + "/missing/hub.db" }
            #expect(
                message.contains("cannot be opened") && message.contains(directory + "/missing/hub.db"), "\(message)")
        }
    }

    @Test func `a taken port is refused with its number, and what was opened is closed again`() throws {
        let running = try TestHub()
        try withDirectory { directory in
            let path = directory + "/hub.db"
            let free = try freePort()
            let http = refusal {
                $0.databasePath = path
                $0.httpPort = running.server.httpPort
                $0.webSocketPort = free
            }
            #expect(http.contains("publishing side") && http.contains("\(running.server.httpPort)"), "\(http)")
            let device = refusal {
                $0.databasePath = path
                $0.webSocketPort = running.server.webSocketPort
            }
            #expect(device.contains("device side") && device.contains("\(running.server.webSocketPort)"), "\(device)")
            // The last reference goes with a thread that is ending.
            let deadline = ContinuousClock.now + .seconds(10)
            var open = try openFiles(under: directory)
            while !open.isEmpty, ContinuousClock.now < deadline {
                sched_yield()
                open = try openFiles(under: directory)
            }
            #expect(open.isEmpty, "\(open)")
            let again = refusal {
                $0.databasePath = path
                $0.webSocketPort = free
            }
            #expect(again == "it started")
        }
        #expect(try running.client().get("/healthz").status == 200)
    }

    @Test func `a hub that was stopped holds no file open`() throws {
        let hub = try TestHub()
        try hub.publish("One", users: ["mary"])
        let device = try TestDevice(hub)
        _ = try device.welcome(hub.hello("mary"))
        let stopped = hub.server
        try hub.restart()
        try hub.restart()
        let open = try openFiles(under: hub.directory)
        // The running one: the writer's file and log, the reader's file and log, and the shared index.
        #expect(open.count <= 6, "\(open)")
        withExtendedLifetime(stopped) {}
    }

    /// A port that nobody listens on.
    private func freePort() throws -> Int {
        let hub = try TestHub()
        return hub.server.webSocketPort
    }

    /// The files below a folder that this process holds open.
    private func openFiles(under directory: String) throws -> [String] {
        let list = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return list.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0) }
            .filter { $0.hasPrefix(directory) }
    }
}
