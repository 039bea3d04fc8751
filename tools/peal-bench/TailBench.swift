import Foundation
import Peal
import PealModel

/// `peal tail` of a whole inbox, and of what is published meanwhile, to a pipe.
enum TailBench {
    static func run(_ words: [String]) async throws {
        let size = words.first.flatMap { Int($0) } ?? 200_000
        let directory = try makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        _ = try foldSeconds(directory + "/id-bench.peal", Source(count: size, rows: false).frames(of: 100))
        for (name, format) in [
            ("lines", []), ("--json", ["--json"]), ("--format '{number} {title}'", ["--format", "{number} {title}"]),
        ] {
            var rate = Samples()
            var bytes = 0
            for _ in 0..<5 {
                let begin = wallNow()
                bytes = try read(size, directory, format)
                rate.values.append(Double(size) / (wallNow() - begin) / 1_000)
            }
            print(
                "tail of \(size) items to a pipe, \(name): \(rate.text) thousand items/s, \(bytes / size) bytes each; load \(load())"
            )
        }
        try await live(words.count > 1 ? Int(words[1]) ?? 20_000 : 20_000)
    }

    /// Publishes on a running hub, many at a time, and the lines of a tail that is live.
    static func live(_ count: Int) async throws {
        let hub = try Child(["hub"])
        defer { hub.stop() }
        let values = hub.line().split(separator: " ").map(String.init)
        guard values.count == 4 else { throw Failure("the hub did not start") }
        let directory = try makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let address = "http://127.0.0.1:\(values[0])"
        let process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("peal")
        process.arguments = [
            "tail", "--hub", address, "--key", values[2], "--user", "bench", "--directory", directory, "--count",
            String(count),
        ]
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        var told = Data()
        while case let piece = errors.fileHandleForReading.availableData, !piece.isEmpty {
            told += piece
            if String(decoding: told, as: UTF8.self).contains("live\n") { break }
        }
        let reader = Thread {
            while !errors.fileHandleForReading.availableData.isEmpty {}
        }
        reader.start()
        let client = try PealClient(hub: address, apiKey: values[2], directory: directory)
        let api = HubAPI(
            hub: client.hub, credentials: .project(instance: values[1], key: values[2], secret: values[3]))
        let begin = wallNow()
        async let published = publish(count, api)
        var lines = 0
        while lines < count, case let piece = output.fileHandleForReading.availableData, !piece.isEmpty {
            lines += piece.count { $0 == 0x0A }
        }
        let end = wallNow()
        let answered = try await published
        process.waitUntilExit()
        guard process.terminationStatus == 0, lines == count else { throw Failure("\(lines) lines came") }
        print(
            "live: \(count) publishes to one user, 64 at a time: \(Int(Double(count) / (answered - begin)))/s answered, "
                + "\(Int(Double(count) / (end - begin))) lines/s; the last line \(Int((end - answered) * 1_000)) ms after the last answer; load \(load())"
        )
    }

    /// - Returns: when the last one was answered.
    private static func publish(_ count: Int, _ api: HubAPI) async throws -> Double {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<64 {
                group.addTask {
                    for number in stride(from: worker, to: count, by: 64) {
                        let aps = JSON.object([("aps", .object([("alert", .string("news \(number)"))]))])
                        _ = try await api.publish(platforms: .object([("apns", aps)]), to: .users(["bench"]))
                    }
                }
            }
            try await group.waitForAll()
        }
        return wallNow()
    }

    private static func read(_ size: Int, _ directory: String, _ format: [String]) throws -> Int {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("peal")
        process.arguments =
            ["tail", "--key", "bench", "--user", "bench", "--directory", directory, "--since", "all", "--offline"]
            + ["--count", String(size)] + format
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        var lines = 0
        var bytes = 0
        while case let piece = pipe.fileHandleForReading.availableData, !piece.isEmpty {
            bytes += piece.count
            lines += piece.count { $0 == 0x0A }
        }
        process.waitUntilExit()
        guard process.terminationStatus == 0, lines == size else { throw Failure("\(lines) lines came") }
        return bytes
    }
}
