import PealSQLite
import Synchronization
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Owns a connection, as the replica and the hub's store do.
private actor Owner {
    let executor: ConnectionExecutor
    let connection: Connection
    private(set) var count = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ executor: ConnectionExecutor) throws(SQLiteError) {
        self.executor = executor
        connection = try Connection(path: ":memory:")
    }

    func add() { count += 1 }

    func read() throws(SQLiteError) -> Int64 {
        executor.preconditionIsolated()
        return try connection.int("SELECT 7")
    }
}

/// Numbers and what is said about them, from any thread.
private final class Notes: Sendable {
    private let notes = Mutex<[Int]>([])
    func add(_ number: Int) { notes.withLock { $0.append(number) } }
    var all: [Int] { notes.withLock { $0 } }
}

/// Tells when it goes.
private final class Token: Sendable {
    private let end: @Sendable () -> Void
    init(_ end: @escaping @Sendable () -> Void) { self.end = end }
    deinit { end() }
}

private func enter(_ owner: Owner) { owner.assumeIsolated { _ in } }

@Suite struct ExecutorTests {
    private let notes = Notes()

    @Test func `an actor's calls run on the executor, one at a time`() async throws {
        let executor = ConnectionExecutor(name: "owner")
        let owner = try Owner(executor)
        #expect(try await owner.read() == 7)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { for _ in 0..<1_000 { await owner.add() } }
            }
        }
        #expect(await owner.count == 8_000)
        executor.stop()
    }

    @Test func `closures run in the order in which they came, all before the stop`() {
        let executor = ConnectionExecutor(name: "order")
        for number in 0..<10_000 {
            executor.post { [notes] in notes.add(number) }
        }
        executor.stop()
        #expect(notes.all == Array(0..<10_000))
    }

    #if os(Linux)
        @Test func `the thread carries the executor's name, as far as it fits`() {
            let executor = ConnectionExecutor(name: "a name that is too long")
            let name = Mutex("")
            executor.post {
                guard let file = fopen("/proc/thread-self/comm", "r") else { return }
                defer { fclose(file) }
                var bytes = [CChar](repeating: 0, count: 64)
                fgets(&bytes, 64, file)
                let text = bytes.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }
                name.withLock { $0 = String(decoding: text, as: UTF8.self) }
            }
            executor.stop()
            #expect(name.withLock { $0 } == "a name that is ")
        }
    #endif

    @Test func `a posted closure may enter the actor`() throws {
        let executor = ConnectionExecutor(name: "enter")
        let owner = try Owner(executor)
        executor.post { [notes] in
            let read = owner.assumeIsolated { owner in (try? owner.read()) ?? -1 }
            notes.add(Int(read))
        }
        executor.stop()
        #expect(notes.all == [7])
    }

    @Test func `entering the actor from elsewhere traps`() async {
        await #expect(processExitsWith: .failure) {
            enter(try Owner(ConnectionExecutor(name: "misuse")))
            preconditionDidNotTrap()
        }
    }

    @Test func `the trap says which executor it must be`() async throws {
        let result = try #require(
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                ConnectionExecutor(name: "replica").checkIsolated()
                preconditionDidNotTrap()
            })
        let text = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(text.contains("must run on the executor 'replica'"))
    }

    @Test func `an executor that waits for itself traps`() async {
        await #expect(processExitsWith: .failure) {
            let executor = ConnectionExecutor(name: "self")
            executor.post {
                executor.stop()
                preconditionDidNotTrap()
            }
            _ = waits { false }
            preconditionDidNotTrap()
        }
    }

    @Test func `timers run at their time, in order, unless cancelled`() {
        let executor = ConnectionExecutor(name: "timers")
        let clock = ContinuousClock()
        let begin = clock.now
        executor.post(afterMilliseconds: 60) { [notes] in notes.add(60) }
        let cancelled = executor.post(afterMilliseconds: 40) { [notes] in notes.add(40) }
        executor.post(afterMilliseconds: 20) { [notes] in notes.add(20) }
        executor.post(afterMilliseconds: -5) { [notes] in notes.add(0) }
        executor.post(afterMilliseconds: .max) { [notes] in notes.add(-1) }
        executor.cancel(cancelled)
        #expect(waits { notes.all.count == 3 })
        #expect(notes.all.last == 60)
        #expect(clock.now - begin >= .milliseconds(60))
        executor.stop()
        #expect(notes.all.sorted() == [0, 20, 60])
    }

    @Test func `a timer cancelled on the executor does not run, even when it is due`() {
        let executor = ConnectionExecutor(name: "due")
        let second = Mutex<UInt64>(0)
        executor.post { [notes] in
            executor.post(afterMilliseconds: 0) {
                notes.add(1)
                executor.cancel(second.withLock { $0 })
            }
            second.withLock { $0 = executor.post(afterMilliseconds: 1) { notes.add(2) } }
            executor.post(afterMilliseconds: 2) { notes.add(3) }
            // All three are due when the thread comes back.
            let clock = ContinuousClock()
            let until = clock.now + .milliseconds(5)
            while clock.now < until {}
        }
        #expect(waits { notes.all.contains(3) })
        #expect(notes.all == [1, 3])
        executor.stop()
    }

    @Test func `stopping drops timers, and may be repeated`() {
        let executor = ConnectionExecutor(name: "stop")
        let token = Token { [notes] in notes.add(1) }
        executor.post(afterMilliseconds: 60_000) { [notes, token] in
            notes.add(2)
            withExtendedLifetime(token) {}
        }
        executor.stop()
        executor.stop()
        executor.post(afterMilliseconds: 0) { [notes] in notes.add(3) }
        #expect(!notes.all.contains(2) && !notes.all.contains(3))
        withExtendedLifetime(token) {}
    }

    @Test func `a call that comes after the stop is answered`() async throws {
        let executor = ConnectionExecutor(name: "late")
        let owner = try Owner(executor)
        executor.stop()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { for _ in 0..<100 { await owner.add() } }
            }
        }
        #expect(await owner.count == 800)
        #expect(try await owner.read() == 7)
    }

    @Test func `an executor that nobody holds runs its queue and goes`() {
        var executor: ConnectionExecutor? = ConnectionExecutor(name: "gone")
        weak let gone = executor
        for number in 0..<100 { executor?.post { [notes] in notes.add(number) } }
        executor = nil
        #expect(gone == nil)
        #expect(waits { notes.all.count == 100 })
    }

    @Test func `the last reference may go on the executor's own thread`() {
        let isHeld = Mutex(true)
        do {
            let executor = ConnectionExecutor(name: "own")
            let token = Token { [notes] in notes.add(1) }
            executor.post { [executor, token] in
                _ = waits { !isHeld.withLock { $0 } }
                withExtendedLifetime((executor, token)) {}
            }
        }
        #expect(notes.all.isEmpty)
        isHeld.withLock { $0 = false }
        #expect(waits { notes.all == [1] })
    }
}
