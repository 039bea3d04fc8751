import Foundation
import PealSQLite
import Synchronization
import Testing

@testable import PealHub

@Suite struct HubCommitTests {
    /// Answers, in the order in which they came.
    private final class Answers: Sendable {
        private let stored = Mutex<[String]>([])
        private let changed = DispatchSemaphore(value: 0)
        func add(_ answer: String) {
            stored.withLock { $0.append(answer) }
            changed.signal()
        }
        func wait(for count: Int) -> [String] {
            for _ in 0..<count where changed.wait(timeout: .now() + 10) == .timedOut { break }
            return stored.withLock { $0 }
        }
    }

    private static func makeProject(_ name: String, _ store: any HubStore) throws(HubStoreError) -> Committed<Void> {
        _ = try store.createProject(instance: name, apiKey: name, secret: name, requiresHMAC: false, now: 1)
        return Committed(value: ())
    }

    private func withCommitter(_ body: (Committer, ConnectionExecutor, Answers) -> Void) throws -> [String] {
        let path = NSTemporaryDirectory() + "peal-commit-" + UUID().uuidString + ".db"
        defer { for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) } }
        nonisolated(unsafe) let store = try SQLiteHubStore(path: path)
        let executor = ConnectionExecutor(name: "test-commit")
        let committer = Committer(store: store, executor: executor) { completions, _ in
            for completion in completions { completion() }
        }
        body(committer, executor, Answers())
        executor.stop()
        try store.begin()
        defer { store.rollback() }
        return try store.projects().map(\.instance)
    }

    /// Submits requests that share one transaction.
    private func submit(
        _ jobs: [(String, @Sendable (any HubStore) throws(HubStoreError) -> Committed<Void>)], to committer: Committer,
        on executor: ConnectionExecutor, _ answers: Answers
    ) {
        executor.post {
            for (name, job) in jobs {
                committer.submit(job) { result in
                    switch result {
                    case .success: answers.add("\(name) done")
                    case .failure(let error): answers.add("\(name) \(error.code.rawValue)")
                    }
                }
            }
        }
    }

    @Test func `a request that fails is undone alone`() throws {
        let projects = try withCommitter { committer, executor, answers in
            submit(
                [
                    ("a", { (store) throws(HubStoreError) in try Self.makeProject("a", store) }),
                    (
                        "b",
                        { (store) throws(HubStoreError) in
                            _ = try Self.makeProject("b", store)
                            throw HubStoreError(.invalid, "wrong")
                        }
                    ),
                    ("c", { (store) throws(HubStoreError) in try Self.makeProject("c", store) }),
                ], to: committer, on: executor, answers)
            #expect(answers.wait(for: 3) == ["a done", "b invalid", "c done"])
        }
        #expect(projects == ["a", "c"])
    }

    @Test func `a lost transaction fails every request in it, and none of them took effect`() throws {
        let projects = try withCommitter { committer, executor, answers in
            submit(
                [
                    ("a", { (store) throws(HubStoreError) in try Self.makeProject("a", store) }),
                    (
                        "b",
                        { (store) throws(HubStoreError) in
                            // What a full disk does.
                            store.rollback()
                            throw HubStoreError(.full, "the disk is full")
                        }
                    ),
                    ("c", { (store) throws(HubStoreError) in try Self.makeProject("c", store) }),
                ], to: committer, on: executor, answers)
            #expect(answers.wait(for: 3) == ["a full", "b full", "c full"])
            submit(
                [("d", { (store) throws(HubStoreError) in try Self.makeProject("d", store) })], to: committer,
                on: executor, answers)
            #expect(answers.wait(for: 1).last == "d done")
        }
        #expect(projects == ["d"])
    }

    @Test func `a committer that has stopped refuses, after what waited is done`() throws {
        let projects = try withCommitter { committer, executor, answers in
            submit(
                [("a", { (store) throws(HubStoreError) in try Self.makeProject("a", store) })], to: committer,
                on: executor, answers)
            #expect(answers.wait(for: 1) == ["a done"])
            committer.stop { answers.add("stopped") }
            #expect(answers.wait(for: 1).last == "stopped")
            committer.submit(
                { (store) throws(HubStoreError) in try Self.makeProject("z", store) },
                completion: { if case .failure(let error) = $0 { answers.add("z \(error.code.rawValue)") } })
            #expect(answers.wait(for: 1).last == "z busy")
        }
        #expect(projects == ["a"])
    }
}
