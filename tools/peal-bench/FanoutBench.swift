import Foundation
import PealHub
import PealWebSocket

/// Server CPU per delivery: a whole hub in this process, durable first; 1,000 loopback connections and the publisher in
/// another. Arguments: connections, `user` or `device`, publishes at once, rounds. (a) one inbox with 1,000 sessions; (b) one interest of 1,000 devices, each its own durable log.
enum FanoutBench {
    static func run(_ words: [String]) async throws {
        let connections = Int(words.first ?? "") ?? 1_000
        for mode in words.count > 1 ? [words[1]] : ["user", "device"] {
            for publishes in words.count > 2 ? [Int(words[2]) ?? 1] : [1, 50] {
                try measure(mode, connections, publishes, rounds: words.count > 3 ? Int(words[3]) ?? 7 : 7)
            }
        }
    }

    private static func measure(_ mode: String, _ connections: Int, _ publishes: Int, rounds: Int) throws {
        WebSocketService.raiseFileLimit()
        let (hub, directory) = try makeHub()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let child = try Child([
            "fanout-client", mode, String(connections), String(hub.webSocketPort), String(hub.httpPort),
            hub.project.instance, hub.project.apiKey, hub.project.secret,
        ])
        guard child.line() == "ready" else { throw Failure("the client did not get ready") }
        var cost = Samples()
        var wall = Samples()
        var frames = Samples()
        var threads: [String: Samples] = [:]
        // One round more, which warms caches and is not counted.
        for round in 0...rounds {
            let cpu = processCPU()
            let byThread = threadCPU()
            let begin = Date()
            try child.send("publish \(publishes)")
            let answer = child.line()
            guard answer.hasPrefix("done ") else { throw Failure("the client said '\(answer)'") }
            let counts = answer.split(separator: " ").compactMap { Double($0) }
            let deliveries = counts[0]
            if round > 0 {
                for (name, time) in threadCPU() {
                    threads[name, default: Samples()].values.append((time - (byThread[name] ?? 0)) / deliveries)
                }
                frames.values.append(counts[1] / deliveries)
                cost.values.append((processCPU() - cpu) / deliveries)
                wall.values.append(deliveries / -begin.timeIntervalSinceNow)
            }
        }
        child.stop()
        hub.stop()
        let name =
            mode == "user"
            ? "(a) one inbox, \(connections) sessions" : "(b) one interest, \(connections) device inboxes"
        print(
            "\(name), \(publishes) publishes at once: server CPU \(cost.text) µs a delivery; \(Int(wall.percentile(0.5))) deliveries/s"
        )
        let parts = threads.map { (name: $0.key, cost: $0.value.percentile(0.5)) }.filter { $0.cost >= 0.05 }
        let shares = parts.sorted { $0.cost > $1.cost }.map { String(format: "%@ %.2f", $0.name, $0.cost) }
        print("    by thread: \(shares.joined(separator: ", ")); \(frames.text) frames a delivery")
    }

    /// Time in which a hub with so many live sessions stops in order. Arguments: connections, `user` or `device`.
    static func stop(_ words: [String]) async throws {
        WebSocketService.raiseFileLimit()
        let connections = Int(words.first ?? "") ?? 1_000
        let (hub, directory) = try makeHub()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let child = try Child([
            "fanout-client", words.count > 1 ? words[1] : "device", String(connections), String(hub.webSocketPort),
            String(hub.httpPort), hub.project.instance, hub.project.apiKey, hub.project.secret,
        ])
        guard child.line() == "ready" else { throw Failure("the client did not get ready") }
        let begin = Date()
        hub.stop()
        print(
            String(format: "a hub with %d sessions stops in %.0f ms", connections, -begin.timeIntervalSinceNow * 1_000))
        child.stop()
    }

    /// Process memory per idle session.
    static func memory(_ words: [String]) async throws {
        WebSocketService.raiseFileLimit()
        let connections = Int(words.first ?? "") ?? 5_000
        let (hub, directory) = try makeHub()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let before = residentBytes()
        let child = try Child([
            "fanout-client", "device", String(connections), String(hub.webSocketPort), String(hub.httpPort),
            hub.project.instance, hub.project.apiKey, hub.project.secret,
        ])
        guard child.line() == "ready" else { throw Failure("the client did not get ready") }
        let after = residentBytes()
        print(
            String(
                format: "%d idle sessions: %.1f kB of process memory each (%.1f MB before, %.1f MB after)",
                connections, (after - before) / Double(connections) / 1_000, before / 1e6, after / 1e6))
        child.stop()
        hub.stop()
    }
}

struct Failure: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
