import Foundation
import Synchronization

/// `peal-load` (tools/peal-load) as a process: a device that acts, or a viewer, and the lines that it has said.
final class Load: Sendable {
    private struct State {
        var rest = Data()
        var lines: [[String: Any]] = []
    }

    private let process: Process
    private let input = Pipe()
    private let output = Pipe()
    private let state: Mutex<State>

    init(_ words: [String]) throws {
        process = Process()
        state = Mutex(State())
        process.executableURL = Peal.binary.deletingLastPathComponent().appendingPathComponent("peal-load")
        process.arguments = words
        process.standardInput = input
        process.standardOutput = output
        output.fileHandleForReading.readabilityHandler = { [weak self] handle in self?.take(handle.availableData) }
        try process.run()
    }

    deinit { if process.isRunning { process.terminate() } }

    private func take(_ data: Data) {
        if data.isEmpty { output.fileHandleForReading.readabilityHandler = nil }
        state.withLock { state in
            state.rest += data
            while let end = state.rest.firstIndex(of: 0x0A) {
                let line = try? JSONSerialization.jsonObject(with: state.rest[..<end]) as? [String: Any]
                state.rest = Data(state.rest[(end + 1)...])
                if let line { state.lines.append(line) }
            }
        }
    }

    /// What it has said of a kind.
    func lines(_ kind: String) -> [Line] {
        state.withLock { $0.lines.filter { $0["k"] as? String == kind }.map(Line.init) }
    }

    /// Waits for a line; nil after the deadline.
    func wait(_ kind: String, seconds: Double = 30, _ condition: (Line) -> Bool = { _ in true }) -> Line? {
        let deadline = Date(timeIntervalSinceNow: seconds)
        while Date() < deadline {
            if let line = lines(kind).first(where: condition) { return line }
            usleep(2_000)
        }
        return nil
    }

    func say(_ word: String) throws { try input.fileHandleForWriting.write(contentsOf: Data((word + "\n").utf8)) }

    /// SIGKILL; the moment, in microseconds since 1970.
    func kill() -> Int64 {
        let moment = Int64(Date().timeIntervalSince1970 * 1e6)
        Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        return moment
    }

    /// The end of its input; the exit status.
    func end() throws -> Int32 {
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// One line.
    struct Line: Sendable {
        private let numbers: [String: Int64]
        private let texts: [String: String]

        init(_ object: [String: Any]) {
            numbers = object.compactMapValues { ($0 as? NSNumber)?.int64Value }
            texts = object.compactMapValues { $0 as? String }
        }

        func number(_ key: String) -> Int64 { numbers[key] ?? -1 }
        func text(_ key: String) -> String { texts[key] ?? "" }
    }
}
