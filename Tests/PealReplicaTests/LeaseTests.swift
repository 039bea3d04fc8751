import Foundation
import Glibc
import PealModel
import Synchronization
import Testing

@testable import PealReplica

/// Another process: Python, because it knows flock and nothing of ours.
private final class Other {
    let pid: pid_t
    private let output: UnsafeMutablePointer<FILE>
    private var isOver = false

    init(_ script: String) {
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        posix_spawn_file_actions_addclose(&actions, ends[0])
        var arguments: [UnsafeMutablePointer<CChar>?] =
            (["/usr/bin/python3", "-c", script] as [String]).map { strdup($0) } + [nil]
        var pid: pid_t = 0
        let result = posix_spawn(&pid, "/usr/bin/python3", &actions, nil, &arguments, environ)
        precondition(result == 0, "python3 is not there")
        for argument in arguments { free(argument) }
        posix_spawn_file_actions_destroy(&actions)
        close(ends[1])
        self.pid = pid
        output = fdopen(ends[0], "r")
    }

    /// Waits for the next line.
    func line() -> String? {
        var buffer = [CChar](repeating: 0, count: 256)
        guard fgets(&buffer, 256, output) != nil else { return nil }
        return String(decoding: buffer.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func kill() {
        guard !isOver else { return }
        isOver = true
        Glibc.kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
        fclose(output)
    }

    func wait() -> Int32 {
        isOver = true
        var status: Int32 = 0
        waitpid(pid, &status, 0)
        fclose(output)
        return status
    }

    deinit { kill() }
}

@Suite struct Leases {
    @Test func `one process has the lease, and its death frees it`() throws {
        let folder = Folder()
        let path = folder.file()
        let other = Other(
            """
            import fcntl, os, sys, time
            f = open("\(path).lease", "w")
            fcntl.flock(f, fcntl.LOCK_EX)
            print("held", flush=True)
            time.sleep(600)
            """)
        #expect(other.line() == "held")
        #expect(try Lease.take(path: path) == nil)
        other.kill()
        let lease = try #require(try Lease.take(path: path))
        #expect(try Lease.take(path: path) == nil, "another object of the same process has no more right")
        lease.release()
        lease.release()
        #expect(try Lease.take(path: path) != nil)
    }

    @Test func `a lease that is released is free although a child still has its descriptor`() throws {
        let folder = Folder()
        let path = folder.file()
        let lease = try #require(try Lease.take(path: path))
        // As a child has it between its fork and the program that it becomes.
        let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        let held = names.filter {
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0)
            return target.map { URL(filePath: $0) == URL(filePath: path + ".lease").standardizedFileURL } ?? false
        }
        let copy = dup(try #require(held.first.flatMap { Int32($0) }))
        defer { close(copy) }
        lease.release()
        #expect(try Lease.take(path: path) != nil)
    }

    @Test func `another process cannot take a lease that is held here`() throws {
        let folder = Folder()
        let path = folder.file()
        let lease = try #require(try Lease.take(path: path))
        var status = stat()
        stat(path + ".lease", &status)
        #expect(status.st_mode & 0o777 == 0o600)
        let script = """
            import fcntl
            f = open("\(path).lease", "r+")
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                print("taken", flush=True)
            except BlockingIOError:
                print("refused", flush=True)
            """
        #expect(Other(script).line() == "refused")
        lease.release()
        #expect(Other(script).line() == "taken")
    }

    @Test func `a poke of another process wakes the owner, and without an owner it is nothing`() throws {
        let folder = Folder()
        let path = folder.file()
        Poke.poke(path: path)
        let counter = Counter()
        let poke = try Poke(path: path) { counter.add() }
        let other = Other(
            """
            import os
            f = os.open("\(path).poke", os.O_WRONLY | os.O_NONBLOCK)
            os.write(f, b"x")
            """)
        #expect(other.wait() == 0)
        #expect(counter.wait(for: 1))
        Poke.poke(path: path)
        #expect(counter.wait(for: 2))
        poke.stop()
        poke.stop()
        Poke.poke(path: path)
        let again = try Poke(path: path) { counter.add() }
        Poke.poke(path: path)
        #expect(counter.wait(for: 3))
        again.stop()
    }
}

/// Counts, and waits for a count with a deadline.
private final class Counter: Sendable {
    private let count = Mutex(0)
    func add() { count.withLock { $0 += 1 } }

    func wait(for wanted: Int) -> Bool {
        let deadline = time(nil) + 20
        while time(nil) < deadline {
            if count.withLock({ $0 >= wanted }) { return true }
            sched_yield()
        }
        return false
    }
}
