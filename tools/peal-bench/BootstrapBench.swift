import CPealBench
import Foundation
import Peal
import PealModel
import PealReplica

/// A new device that gets a whole inbox by snapshot, over loopback from a hub in a process of its own.
enum BootstrapBench {
    static func run(_ words: [String]) async throws {
        for size in words.isEmpty ? [100_000, 1_000_000] : words.compactMap(Int.init) {
            let directory = try makeDirectory()
            defer { try? FileManager.default.removeItem(atPath: directory) }
            try HubFile.make(in: directory, items: size, kept: 100)
            var first = Samples()
            var whole = Samples()
            var device = Samples()
            var hub = Samples()
            var longest = Samples()
            for _ in 0..<(size > 200_000 ? 3 : 5) {
                let round = try await measure(size, directory)
                first.values.append(round.first * 1_000)
                whole.values.append(round.whole)
                device.values.append(round.device)
                hub.values.append(round.hub)
                longest.values.append(round.longest * 1_000)
            }
            print(
                "bootstrap of \(size): first page shown after \(first.text) ms; whole and durable after \(whole.text) s; CPU device \(device.text) s, hub \(hub.text) s; longest wait of a reader \(longest.text) ms; load \(load())"
            )
        }
    }

    private struct Round {
        var first = 0.0
        var whole = 0.0
        var device = 0.0
        var hub = 0.0
        var longest = 0.0
    }

    private static func measure(_ size: Int, _ directory: String) async throws -> Round {
        let child = try Child(["hub", directory])
        defer { child.stop() }
        let values = child.line().split(separator: " ").map(String.init)
        guard values.count == 4 else { throw Failure("the hub did not start") }
        let files = try makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: files) }
        let client = try PealClient(hub: "http://127.0.0.1:\(values[0])", apiKey: values[2], directory: files)
        let inbox = try await client.user(externalID: "bench")
        var round = Round()
        let hubBefore = try used(child)
        let before = processCPU()
        let begin = wallNow()
        await inbox.connect()
        while true {
            let asked = wallNow()
            let page = try await inbox.page(DeliveredQuery(), limit: 50)
            let counts = try await inbox.counts()
            round.longest = max(round.longest, wallNow() - asked)
            if round.first == 0, page.items.count == 50 { round.first = wallNow() - begin }
            if counts.total == Int64(size), await inbox.isSettled { break }
            // Looking often would be a good part of what is measured.
            try await Task.sleep(for: .milliseconds(round.first == 0 ? 2 : 50))
        }
        round.whole = wallNow() - begin
        round.device = (processCPU() - before) / 1e6
        round.hub = (try used(child) - hubBefore) / 1e6
        await inbox.close()
        return round
    }

    private static func used(_ child: Child) throws -> Double {
        try child.send("used")
        return Double(child.line().split(separator: " ").first ?? "") ?? 0
    }
}
