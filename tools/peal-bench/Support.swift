import Foundation
import PealHub

/// Median and spread of some samples.
struct Samples {
    var values: [Double] = []

    func percentile(_ part: Double) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return 0 }
        return sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))]
    }

    /// `median (least–most)`.
    var text: String { String(format: "%.2f (%.2f–%.2f)", percentile(0.5), values.min() ?? 0, values.max() ?? 0) }
}

/// Whether results are JSON, an object a line.
let wantsJSON = CommandLine.arguments.contains("--json")

/// A result: a sentence, or its values as JSON; with the machine's load.
func tell(_ text: String, _ values: [(String, Any)]) {
    guard wantsJSON else { return print("\(text); load \(load())") }
    var object: [String: Any] = ["load": load()]
    for (name, value) in values { object[name] = value }
    let bytes = (try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys])) ?? Data()
    print(String(decoding: bytes, as: UTF8.self))
}

/// Progress, on standard error.
func note(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

/// The ratios of two series that were measured in turn.
func ratios(_ some: Samples, _ others: Samples) -> Samples {
    Samples(values: zip(some.values, others.values).map { $0 / $1 })
}

/// Seconds of a clock that only runs forwards.
func wallNow() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// The machine's load averages, which every figure is to be read beside.
func load() -> String {
    let text = (try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8)) ?? "?"
    return text.split(separator: " ").prefix(3).joined(separator: " ")
}

/// CPU time of this process, all threads, in microseconds.
func processCPU() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
}

/// CPU time of this process by the names of its threads, in microseconds (Linux).
func threadCPU() -> [String: Double] {
    var times: [String: Double] = [:]
    let tasks = "/proc/self/task"
    for task in (try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? [] {
        guard let name = try? String(contentsOfFile: "\(tasks)/\(task)/comm", encoding: .utf8),
            let schedule = try? String(contentsOfFile: "\(tasks)/\(task)/schedstat", encoding: .utf8),
            let nanoseconds = schedule.split(separator: " ").first.flatMap({ Double($0) })
        else { continue }
        times[name.trimmingCharacters(in: .whitespacesAndNewlines), default: 0] += nanoseconds / 1e3
    }
    return times
}

/// Resident bytes of this process.
func residentBytes() -> Double {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0
    return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
}

/// A fresh directory for a bench's files.
func makeDirectory() throws -> String {
    let directory = "/tmp/peal-bench-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    return directory
}

/// A hub on a fresh file or on one that is there, ports of the system's choice.
func makeHub(in directory: String? = nil) throws -> (hub: HubServer, directory: String) {
    let directory = try directory ?? makeDirectory()
    var configuration = HubConfiguration(databasePath: directory + "/hub.sqlite")
    configuration.httpPort = 0
    configuration.webSocketPort = 0
    configuration.log = { note("hub: \($0)") }
    return (try HubServer(configuration), directory)
}

/// This binary again, talking by lines.
final class Child {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var buffer = Data()

    init(_ arguments: [String]) throws {
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    func send(_ line: String) throws { try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

    /// The next line; empty at the end.
    func line() -> String {
        while true {
            if let end = buffer.firstIndex(of: 0x0A) {
                let line = String(decoding: buffer[..<end], as: UTF8.self)
                buffer = Data(buffer[(end + 1)...])
                return line
            }
            let piece = output.fileHandleForReading.availableData
            if piece.isEmpty { return "" }
            buffer += piece
        }
    }

    func stop() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
