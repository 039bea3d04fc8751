import CPealBench
import Foundation
import PealHub
import PealModel
import PealReplica
import PealWebSocket

/// What an entry costs a device and a delivery costs a hub in calls of malloc, statements and bytes: counted, not timed, so that a busy
/// machine says the same. Held to `tools/budgets.json`.
enum BudgetBench {
    private struct Counted {
        var allocations = allocation_count()
        var allocated = allocation_bytes()
        var statements = statement_count()

        /// What came since, for each of so many.
        func since(_ number: Int) -> [String: Double] {
            let now = Counted()
            let each = { (value: Int64) in (Double(value) / Double(number) * 1_000).rounded() / 1_000 }
            return [
                "allocations": each(now.allocations - allocations), "heap_bytes": each(now.allocated - allocated),
                "statements": each(now.statements - statements),
            ]
        }
    }

    /// Argument: the file of budgets, an object for each case; every value that is measured has its limit there.
    static func run(_ words: [String]) throws {
        guard let file = words.first else { throw Failure("the file of budgets is missing") }
        let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
        guard let budgets = try JSONSerialization.jsonObject(with: bytes) as? [String: [String: Double]] else {
            throw Failure("\(file) is no object of objects of numbers")
        }
        statement_count_start()
        allocation_count_start()
        var measured = ["entry applied": try fold()]
        for (mode, name) in [("user", "one inbox"), ("device", "device inboxes")] {
            for (publishes, how) in [(1, "alone"), (50, "of a burst")] {
                measured["delivery, \(name), \(how)"] = try fanout(mode, publishes)
            }
        }
        var exceeded = 0
        for name in Set(measured.keys).union(budgets.keys).sorted() {
            for value in Set((measured[name] ?? [:]).keys).union((budgets[name] ?? [:]).keys).sorted() {
                let (found, limit) = (measured[name]?[value], budgets[name]?[value])
                let isGood = if let found, let limit { found <= limit } else { false }
                exceeded += isGood ? 0 : 1
                tell(
                    "\(isGood ? "within" : "EXCEEDED") \(name): \(value) \(found.map { "\($0)" } ?? "not measured") of \(limit.map { "\($0)" } ?? "no budget")",
                    [
                        ("bench", "budget"), ("case", name), ("value", value), ("measured", found ?? -1),
                        ("budget", limit ?? -1), ("within", isGood),
                    ])
            }
        }
        guard exceeded == 0 else {
            throw Failure("\(exceeded) budgets do not hold; a change that is worth it edits \(file) and says why")
        }
    }

    /// Each of 20,000 entries, in batches of 500, after as many that warm.
    private static func fold() throws -> [String: Double] {
        let path = "/tmp/peal-budget.\(getpid())"
        defer { remove(path) }
        let count = 20_000
        let frames = Source(count: 2 * count, rows: false).frames(of: 500)
        remove(path)
        let replica = try openReplica(path)
        func apply(_ some: ArraySlice<[UInt8]>) throws {
            for frame in some {
                guard case .batch(let batch) = try DownFrame(frame[...]) else { fatalError("a batch was made above") }
                _ = try replica.apply(batch)
            }
        }
        try apply(frames[..<(frames.count / 2)])
        let before = Counted()
        try apply(frames[(frames.count / 2)...])
        var found = before.since(count)
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
        found["wire_bytes"] = (Double(frames.joined().count) / Double(2 * count)).rounded()
        // The file holds what checkpoints brought into it: nearly all.
        found["file_bytes"] = (Double(size) / Double(2 * count)).rounded()
        return found
    }

    /// Each delivery of a hub in this process to 200 sessions in another.
    private static func fanout(_ mode: String, _ publishes: Int) throws -> [String: Double] {
        WebSocketService.raiseFileLimit()
        let (hub, directory) = try makeHub()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let child = try Child([
            "fanout-client", mode, "200", String(hub.webSocketPort), String(hub.httpPort), hub.project.instance,
            hub.project.apiKey, hub.project.secret,
        ])
        guard child.line() == "ready" else { throw Failure("the client did not get ready") }
        var deliveries = 0
        var bytes = 0.0
        var before = Counted()
        for round in 0..<11 {
            // The first warms.
            if round == 1 { (deliveries, bytes, before) = (0, 0, Counted()) }
            try child.send("publish \(publishes)")
            let counts = child.line().split(separator: " ").compactMap { Double($0) }
            guard counts.count == 3 else { throw Failure("the client ended") }
            deliveries += Int(counts[0])
            bytes += counts[2]
        }
        var found = before.since(deliveries)
        found["wire_bytes"] = (bytes / Double(deliveries)).rounded()
        child.stop()
        hub.stop()
        return found
    }
}
