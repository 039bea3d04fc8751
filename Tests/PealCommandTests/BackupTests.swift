import Foundation
import PealSQLite
import Testing

/// `peal hub backup` and `peal hub restore`.
@Suite struct BackupTests {
    private func publish(_ hub: HubProcess, _ title: String) throws {
        let run = try Peal.run("publish", "--user", "mary", "--title", title, environment: hub.publisher)
        guard run.status == 0 else { throw Failure(message: run.errors) }
    }

    private func count(_ path: String) throws -> Int64 {
        try Connection(path: path).int("SELECT count(*) FROM publish")
    }

    @Test func `a backup of a running hub is whole, and restoring it brings its state back`() throws {
        let hub = try HubProcess()
        try publish(hub, "One")
        let copy = hub.directory.path + "/copy.sqlite"
        let made = try Peal.run("hub", "backup", copy, "--directory", hub.directory.path)
        #expect(made.status == 0 && made.output.contains(copy), "\(made.errors)")
        let mode = try FileManager.default.attributesOfItem(atPath: copy)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        try publish(hub, "Two")
        #expect(try count(copy) == 1)
        // A file that is there is not replaced.
        let again = try Peal.run("hub", "backup", copy, "--directory", hub.directory.path)
        #expect(again.status == 1 && again.errors.contains("is there already"))
        // Not while a hub runs.
        let refused = try Peal.run("hub", "restore", copy, "--directory", hub.directory.path)
        #expect(refused.status == 1 && refused.errors.contains("stop it first"), "\(refused.errors)")
        #expect(hub.stop() == 0)
        let restored = try Peal.run("hub", "restore", copy, "--directory", hub.directory.path, "--json")
        #expect(restored.status == 0, "\(restored.errors)")
        let file = hub.directory.path + "/hub.sqlite"
        #expect(restored.output.contains("\"kept\":\"\(file).before-restore\""), "\(restored.output)")
        #expect(try count(file) == 1 && count(file + ".before-restore") == 2)
        try hub.start()
        try publish(hub, "Three")
        #expect(hub.stop() == 0)
        #expect(try count(file) == 2)
    }

    @Test func `what is no backup is refused, and the hub's file stays`() throws {
        let hub = try HubProcess()
        #expect(hub.stop() == 0)
        let directory = try Directory()
        let other = directory.path + "/other.sqlite"
        try Connection(path: other).execute("CREATE TABLE t (a); PRAGMA application_id = 7")
        let noise = directory.path + "/noise"
        try String(repeating: "no database ", count: 1_000).write(toFile: noise, atomically: true, encoding: .utf8)
        for path in [other, noise, directory.path + "/missing"] {
            let run = try Peal.run("hub", "restore", path, "--directory", hub.directory.path)
            #expect(run.status == 1 && run.errors.contains("was not restored"), "\(path): \(run.errors)")
            #expect(run.errors.contains(path), "\(run.errors)")
        }
        try hub.start()
        #expect(hub.stop() == 0)
    }

    @Test func `a backup of nothing says so, and leaves nothing`() throws {
        let directory = try Directory()
        let run = try Peal.run("hub", "backup", directory.path + "/copy", "--directory", directory.path + "/none")
        #expect(run.status == 1 && !run.errors.isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
    }

    @Test func `Ctrl-C stops a backup and leaves nothing`() throws {
        let hub = try HubProcess()
        #expect(hub.stop() == 0)
        // Large enough to take some time.
        let file = try Connection(path: hub.directory.path + "/hub.sqlite")
        try file.execute(
            """
            CREATE TABLE ballast (a BLOB);
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
            INSERT INTO ballast SELECT zeroblob(1000000) FROM n
            """)
        let target = try Directory()
        let backup = Peal.process(["hub", "backup", target.path + "/copy", "--directory", hub.directory.path, "--json"])
        backup.standardOutput = FileHandle.nullDevice
        let errors = Pipe()
        backup.standardError = errors
        try backup.run()
        let deadline = ContinuousClock.now + .seconds(20)
        while !FileManager.default.fileExists(atPath: target.path + "/copy.partial"), backup.isRunning {
            guard ContinuousClock.now < deadline else { throw Failure(message: "it never began") }
            sched_yield()
        }
        kill(backup.processIdentifier, SIGINT)
        backup.waitUntilExit()
        // It may have been through already.
        if backup.terminationStatus != 0 {
            #expect(backup.terminationStatus == 130)
            #expect(try FileManager.default.contentsOfDirectory(atPath: target.path).isEmpty)
        }
    }
}
