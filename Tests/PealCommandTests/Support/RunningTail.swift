import Foundation

/// `peal tail` as a process, and what it has said so far.
final class RunningTail {
    let process: Process
    private let directory: Directory

    /// Starts it; what it says goes to files, or to handles.
    init(
        _ words: [String], hub: HubProcess, environment: [String: String] = [:], output: FileHandle? = nil,
        errors: FileHandle? = nil
    ) throws {
        directory = try Directory()
        process = Peal.process(["tail"] + words, environment: hub.environment.merging(environment) { $1 })
        for name in ["output", "errors"] {
            _ = FileManager.default.createFile(atPath: directory.path + "/" + name, contents: nil)
        }
        func file(_ name: String) throws -> FileHandle {
            try FileHandle(forWritingTo: URL(fileURLWithPath: directory.path + "/" + name))
        }
        process.standardOutput = try output ?? file("output")
        process.standardError = try errors ?? file("errors")
        process.standardInput = FileHandle.nullDevice
        try process.run()
    }

    deinit { if process.isRunning { process.terminate() } }

    private func read(_ name: String) -> String {
        (try? String(contentsOfFile: directory.path + "/" + name, encoding: .utf8)) ?? ""
    }

    var output: String { read("output") }
    var errors: String { read("errors") }

    func waitUntilLive() throws { try wait { errors.contains("live\n") } }

    func wait(seconds: Double = 60, _ condition: () -> Bool) throws {
        let deadline = Date(timeIntervalSinceNow: seconds)
        while !condition() {
            guard Date() < deadline else { throw Failure(message: "in vain: \(errors)") }
            usleep(5_000)
        }
    }

    /// Waits for its end, after a signal where one is given; the exit status.
    func end(by signal: Int32? = nil) -> Int32 {
        if let signal { kill(process.processIdentifier, signal) }
        process.waitUntilExit()
        return process.terminationStatus
    }
}
