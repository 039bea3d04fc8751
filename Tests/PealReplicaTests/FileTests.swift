import Glibc
import PealModel
import PealSQLite
import Synchronization
import Testing

@testable import PealReplica

@Suite struct Files {
    @Test func `a new file is for its owner only`() throws {
        let folder = Folder()
        let replica = try folder.open()
        try replica.connect(TestHub())
        for suffix in ["", "-wal", "-shm"] {
            var status = stat()
            #expect(stat(folder.file() + suffix, &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600, "\(suffix)")
        }
    }

    @Test func `who reads a file while it is made finds none, and never one without an identity`() throws {
        let folder = Folder()
        let path = folder.file()
        let found = Mutex<[String]>([])
        var options = ReplicaOptions()
        options.random = {
            // In the middle of making it: the replica's id is drawn.
            do throws(ReplicaError) {
                let view = try ReplicaReader(path: path).view()
                found.withLock { $0.append("a view of \(view.position)") }
            } catch {
                found.withLock { $0.append("\(error.code)") }
            }
            return 1
        }
        _ = try Replica(path: path, identity: alice, project: "project", options: options)
        #expect(found.withLock { $0 } == Array(repeating: "\(ReplicaError.Code.notAReplica)", count: 2))
        #expect(try ReplicaReader(path: path).view().position == 0)
    }

    @Test func `a file that has lost its own row is damaged, and gets no new identity`() throws {
        let folder = Folder()
        _ = try folder.open()
        do {
            let other = try Connection(path: folder.file())
            try other.execute("DELETE FROM replica")
        }
        let error = #expect(throws: ReplicaError.self) { try folder.open() }
        #expect(error?.code == .corrupt)
    }

    @Test func `what is no database is refused and left alone`() throws {
        let folder = Folder()
        let content = String(repeating: "this is a diary, not a database. ", count: 100)
        let file = fopen(folder.file(), "wb")!
        fputs(content, file)
        fclose(file)
        let error = #expect(throws: ReplicaError.self) { try folder.open() }
        #expect(error?.code == .notAReplica)
        var status = stat()
        stat(folder.file(), &status)
        #expect(status.st_size == content.utf8.count)
    }

    @Test func `a database of another application is refused and left alone`() throws {
        let folder = Folder()
        do {
            let other = try Connection(path: folder.file())
            try other.execute("PRAGMA journal_mode = DELETE; PRAGMA application_id = 42; CREATE TABLE diary (day)")
        }
        let error = #expect(throws: ReplicaError.self) { try folder.open() }
        #expect(error?.code == .notAReplica)
        let reader = #expect(throws: ReplicaError.self) { try ReplicaReader(path: folder.file()) }
        #expect(reader?.code == .notAReplica)
        var status = stat()
        #expect(stat(folder.file() + "-wal", &status) != 0, "its journal mode is its own")
    }

    @Test func `a file belongs to one identity and one project`() throws {
        let folder = Folder()
        let id = try folder.open().replicaID()
        #expect(try folder.open().replicaID() == id)
        let bob = #expect(throws: ReplicaError.self) {
            try folder.open(identity: .user(externalID: "bob", email: nil))
        }
        #expect(bob?.code == .otherIdentity)
        // An email that looks like an external id is another identity.
        let email = #expect(throws: ReplicaError.self) {
            try folder.open(identity: .user(externalID: nil, email: "alice"))
        }
        #expect(email?.code == .otherIdentity)
        try folder.open().connect(TestHub())
        func other(_ former: [String] = []) throws -> Replica {
            try Replica(path: folder.file(), identity: alice, project: "another", formerProjects: former)
        }
        let project = #expect(throws: ReplicaError.self) { try other() }
        #expect(project?.code == .otherIdentity)
        #expect(throws: ReplicaError.self) { try other(["a third"]) }
        // Its key was replaced: it is the same file, and of the new one from now on.
        #expect(try other(["a third", "project"]).replicaID() == id)
        #expect(try other().hello(proof: Proof()).project == "another")
        #expect(throws: ReplicaError.self) { try folder.open() }
    }

    @Test func `a file that no hub has welcomed is of no project, unless it holds an act`() throws {
        let folder = Folder()
        _ = try folder.open()
        func other() throws -> Replica { try Replica(path: folder.file(), identity: alice, project: "another") }
        try other().enqueue(.preference(category: "a", channel: "email", enabled: false))
        let error = #expect(throws: ReplicaError.self) { try folder.open() }
        #expect(error?.code == .otherIdentity)
        #expect(try other().outbox().count == 1)
    }

    @Test func `a device's file knows its id after the first welcome`() throws {
        let folder = Folder()
        let hub = TestHub(device: true)
        let replica = try folder.open(identity: .device(id: nil))
        #expect(try replica.hello(proof: Proof()).inbox == .device(id: nil))
        try replica.connect(hub)
        #expect(try replica.hello(proof: Proof()).inbox == .device(id: "inbox"))
        _ = try folder.open(identity: .device(id: "inbox"))
        let error = #expect(throws: ReplicaError.self) { try folder.open(identity: .device(id: "else")) }
        #expect(error?.code == .otherIdentity)
    }

    @Test func `a file of a newer version is read, not written, and its outbox survives`() throws {
        let folder = Folder()
        var hub = TestHub()
        hub.publish()
        let uid: UInt64
        do {
            let replica = try folder.open()
            try replica.connect(hub)
            try replica.pull(hub)
            uid = try replica.enqueue(.read(items: hub.items, on: true, passive: false))
            try replica.connection.execute("PRAGMA user_version = 2; CREATE TABLE future (x)")
        }
        let replica = try folder.open()
        #expect(replica.isReadOnly)
        #expect(try replica.list().map(\.read) == [true])
        #expect(try replica.outbox().map(\.id) == [uid])
        let error = #expect(throws: ReplicaError.self) { try replica.enqueue(.mark(.read, upTo: 1)) }
        #expect(error?.code == .newerVersion)
        #expect(throws: ReplicaError.self) { try replica.hello(proof: Proof()) }
        #expect(try ReplicaReader(path: folder.file()).counts().total == 1)
    }

    @Test func `a folder that is not there is an error, not a trap`() {
        let replica = #expect(throws: ReplicaError.self) {
            try Replica(path: "/nowhere/replica", identity: alice, project: "p")
        }
        #expect(replica?.code == .cantOpen)
        let reader = #expect(throws: ReplicaError.self) { try ReplicaReader(path: "/nowhere/replica") }
        #expect(reader?.code == .cantOpen)
        let lease = #expect(throws: ReplicaError.self) { try Lease.take(path: "/nowhere/replica") }
        #expect(lease?.code == .cantOpen)
        Poke.poke(path: "/nowhere/replica")
    }

    @Test func `a damaged file is an error, not a trap`() throws {
        let folder = Folder()
        var hub = TestHub()
        for _ in 0..<200 { hub.publish(content: String(repeating: "x", count: 300)) }
        do {
            let replica = try folder.open()
            try replica.connect(hub)
            try replica.pull(hub)
            try replica.connection.checkpoint(.truncate)
        }
        let file = fopen(folder.file(), "r+b")!
        fseek(file, 8_192, SEEK_SET)
        for _ in 0..<20_000 { fputc(0xAA, file) }
        fclose(file)
        var codes: [ReplicaError.Code] = []
        do {
            let replica = try folder.open()
            do throws(ReplicaError) { _ = try replica.page(DeliveredQuery(), limit: 1_000) } catch {
                codes.append(error.code)
            }
            do throws(ReplicaError) { _ = try replica.counts() } catch { codes.append(error.code) }
        } catch {
            codes.append((error as? ReplicaError)?.code ?? .database)
        }
        #expect(codes.contains(.corrupt))
    }

    @Test func `another process that keeps the lock makes a call fail, not hang`() throws {
        let folder = Folder()
        let replica = try folder.open()
        try replica.connection.execute("PRAGMA busy_timeout = 50")
        let other = try Connection(path: folder.file())
        try other.execute("BEGIN IMMEDIATE")
        let error = #expect(throws: ReplicaError.self) { try replica.enqueue(.mark(.read, upTo: 0)) }
        #expect(error?.code == .busy)
        try other.execute("ROLLBACK")
        try replica.enqueue(.mark(.read, upTo: 0))
    }
}
