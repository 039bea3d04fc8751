import Foundation
import PealModel

/// `peal tail` of a whole inbox to a pipe.
enum TailBench {
    static func run(_ words: [String]) throws {
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
