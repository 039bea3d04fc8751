import Foundation
import Peal
import PealModel
import PealReplica
import Synchronization

/// Publish to durable on a connected device: one at a time, and at 20 a second with 100 devices. The hub is a process of its
/// own; the devices are whole inboxes on real files.
enum LatencyBench {
    private final class Arrivals: Sendable {
        private let times = Mutex<[Int: Double]>([:])
        func note(_ number: Int, _ time: Double) { times.withLock { if $0[number] == nil { $0[number] = time } } }
        func time(_ number: Int) -> Double? { times.withLock { $0[number] } }
        var count: Int { times.withLock { $0.count } }
    }

    static func run(_ words: [String]) async throws {
        let hub = try Child(["hub"])
        let values = hub.line().split(separator: " ").map(String.init)
        guard values.count == 4 else { throw Failure("the hub did not start") }
        let directory = "/tmp/peal-bench-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let client = try PealClient(hub: "http://127.0.0.1:\(values[0])", apiKey: values[2], directory: directory)
        let api = HubAPI(
            hub: client.hub, credentials: .project(instance: values[1], key: values[2], secret: values[3]))
        func publish(_ number: Int, _ users: [String]) async throws {
            let aps = JSON.object([("aps", .object([("alert", .string("news \(number)"))]))])
            _ = try await api.publish(platforms: .object([("apns", aps)]), to: .users(users))
        }
        try await one(client, publish)
        try await many(client, publish)
        hub.stop()
    }

    private static func one(
        _ client: PealClient, _ publish: (Int, [String]) async throws -> Void
    ) async throws {
        let inbox = try await client.user(externalID: "one")
        let arrivals = Arrivals()
        await watch(inbox, arrivals, first: 1)
        var answer = Samples()
        var applied = Samples()
        for number in 1...1_000 {
            let begin = now()
            try await publish(number, ["one"])
            answer.values.append((now() - begin) * 1_000)
            while arrivals.time(number) == nil { await Task.yield() }
            applied.values.append(((arrivals.time(number) ?? 0) - begin) * 1_000)
        }
        report("one at a time, 1,000 publishes", answer, applied)
        await inbox.close()
    }

    private static func many(
        _ client: PealClient, _ publish: (Int, [String]) async throws -> Void
    ) async throws {
        var inboxes: [Inbox] = []
        var arrivals: [Arrivals] = []
        for index in 0..<100 {
            let inbox = try await client.user(externalID: "user-\(index)")
            let arrival = Arrivals()
            await watch(inbox, arrival, first: 1)
            inboxes.append(inbox)
            arrivals.append(arrival)
        }
        let users = (0..<100).map { "user-\($0)" }
        var answer = Samples()
        var begins: [Double] = []
        for number in 1...200 {
            let begin = now()
            begins.append(begin)
            try await publish(number, users)
            answer.values.append((now() - begin) * 1_000)
            let left = 0.05 - (now() - begin)
            if left > 0 { try await Task.sleep(for: .seconds(left)) }
        }
        while !arrivals.allSatisfy({ $0.count >= 200 }) { try await Task.sleep(for: .milliseconds(5)) }
        var applied = Samples()
        for (index, begin) in begins.enumerated() {
            for arrival in arrivals { applied.values.append(((arrival.time(index + 1) ?? 0) - begin) * 1_000) }
        }
        report("20/s to 100 devices, 200 publishes, 20,000 deliveries", answer, applied)
        for inbox in inboxes { await inbox.close() }
    }

    private static func watch(_ inbox: Inbox, _ arrivals: Arrivals, first: Int) async {
        let changes = inbox.changes
        Task {
            for await change in changes {
                let time = now()
                for position in change.inserted { arrivals.note(Int(position), time) }
            }
        }
        await inbox.connect()
        while !(await inbox.isSettled) { await Task.yield() }
    }

    private static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func report(_ name: String, _ answer: Samples, _ applied: Samples) {
        print(
            String(
                format:
                    "%@: answered p50 %.2f ms, p99 %.2f ms; applied durably p50 %.2f ms, p99 %.2f ms (both from the first byte of the request)",
                name, answer.percentile(0.5), answer.percentile(0.99), applied.percentile(0.5), applied.percentile(0.99)
            ))
    }
}
