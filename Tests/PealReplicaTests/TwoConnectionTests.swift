import Glibc
import PealModel
import Synchronization
import Testing

@testable import PealReplica

@Suite struct TwoConnections {
    @Test func `a reader sees whole states while another thread folds`() throws {
        let folder = Folder()
        var hub = TestHub()
        for _ in 0..<2_000 { hub.publish() }
        try folder.open().connect(hub)
        let done = Atomic(false)
        let path = folder.file()
        let source = hub
        let failure = try withThread {
            do {
                let replica = try Replica(path: path, identity: alice, project: "project")
                _ = try replica.welcomed(source.welcome(try replica.hello(proof: Proof())))
                for from in stride(from: 0, to: 2_000, by: 20) {
                    _ = try replica.apply(source.batch(from: Position(from), to: Position(from + 20)))
                }
                done.store(true, ordering: .releasing)
                return nil
            } catch {
                done.store(true, ordering: .releasing)
                return "\(error)"
            }
        } while: {
            let reader = try ReplicaReader(path: path)
            var last = try reader.dataVersion()
            var states: Set<Position> = []
            while !done.load(ordering: .acquiring) {
                let version = try reader.dataVersion()
                if version == last { continue }
                last = version
                let page = try reader.page(DeliveredQuery(read: false), limit: 50)
                states.insert(page.view.position)
                #expect(page.view.position % 20 == 0)
                #expect(page.items.first?.number ?? 0 == page.view.position, "page and position are of one state")
                #expect(try reader.counts().total >= page.view.position)
            }
            #expect(try reader.page(DeliveredQuery(), limit: 1).items.first?.number == 2_000)
        }
        #expect(failure == nil)
    }

    @Test func `two writers of one file lose nothing`() throws {
        let folder = Folder()
        _ = try folder.open()
        let path = folder.file()
        let failure = try withThread {
            do {
                let replica = try Replica(path: path, identity: alice, project: "project")
                for _ in 0..<50 { try replica.enqueue(.mark(.read, upTo: 0)) }
                return nil
            } catch {
                return "\(error)"
            }
        } while: {
            let replica = try Replica(path: path, identity: alice, project: "project")
            for _ in 0..<50 { try replica.enqueue(.mark(.seen, upTo: 0)) }
        }
        #expect(failure == nil)
        #expect(try ReplicaReader(path: path).outbox().count == 100)
    }
}

/// Runs `work` on a thread of its own while `body` runs here, and waits for it.
private func withThread(
    _ work: @escaping @Sendable () -> String?, while body: () throws -> Void
) throws -> String? {
    final class Box: Sendable {
        let work: @Sendable () -> String?
        let result = Mutex<String?>(nil)
        init(_ work: @escaping @Sendable () -> String?) { self.work = work }
    }
    let box = Box(work)
    var thread = pthread_t()
    pthread_create(
        &thread, nil,
        { context in
            let box = Unmanaged<Box>.fromOpaque(context!).takeRetainedValue()
            let result = box.work()
            box.result.withLock { $0 = result }
            return nil
        }, Unmanaged.passRetained(box).toOpaque())
    defer { pthread_join(thread, nil) }
    try body()
    pthread_join(thread, nil)
    thread = pthread_self()
    return box.result.withLock { $0 }
}
