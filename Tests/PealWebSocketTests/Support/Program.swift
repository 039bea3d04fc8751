import Foundation
import Testing

/// A program that a test runs: its lines go to a journal, and it ends with the object.
final class Program: Sendable {
    /// What it printed, line by line.
    let lines = Journal<String>()
    private let process: Process
    private let input = Pipe()

    init(_ executable: String, _ arguments: [String], in directory: String? = nil, quiet: Bool = false) throws {
        process = Process()
        process.executableURL = URL(fileURLWithPath: executable)
        process.arguments = arguments
        if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
        let output = Pipe()
        process.standardOutput = output
        process.standardInput = input
        if quiet { process.standardError = FileHandle.nullDevice }
        try process.run()
        let lines = lines
        Thread.detachNewThread {
            // Not `availableData`, which traps where a signal interrupts it.
            let descriptor = output.fileHandleForReading.fileDescriptor
            var rest: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 4_096)
            while true {
                let count = read(descriptor, &chunk, chunk.count)
                if count < 0, errno == EINTR { continue }
                if count <= 0 { break }
                rest += chunk[..<count]
                while let end = rest.firstIndex(of: 0x0A) {
                    lines.note(String(decoding: rest[..<end], as: UTF8.self))
                    rest.removeFirst(end + 1)
                }
            }
            lines.note(Self.end)
        }
    }

    deinit { if process.isRunning { process.terminate() } }

    /// The line that the journal has at the end of the output.
    static let end = "-- end --"

    /// Gives it a line to read.
    func write(_ line: String) throws { try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

    /// Waits for a line; false after the deadline, or when the program has ended without it.
    func says(_ line: String) async -> Bool { await says { $0 == line } }

    func says(_ condition: (String) -> Bool) async -> Bool {
        _ = await lines.wait(seconds: 30) { $0.contains(where: condition) || $0.contains(Self.end) }
        return lines.all.contains(where: condition)
    }

    /// What it printed until its end.
    func allLines() async -> [String] {
        #expect(await lines.wait(seconds: 30) { $0.contains(Self.end) }, "it did not end: \(lines.all)")
        return lines.all.filter { $0 != Self.end }
    }

    /// Runs a program to its end.
    static func run(_ executable: String, _ arguments: [String], in directory: String) async throws {
        let program = try Program(executable, arguments, in: directory, quiet: true)
        _ = await program.allLines()
        program.process.waitUntilExit()
        try #require(program.process.terminationStatus == 0, "\(executable) \(arguments.joined(separator: " "))")
    }
}

/// The foreign client and server: Python with PyPI's websockets.
enum Foreign {
    private static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("peers").path

    private static func python() throws -> String {
        let root = URL(fileURLWithPath: folder)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let path =
            ProcessInfo.processInfo.environment["PEAL_PYTHON"] ?? root.appendingPathComponent(".venv/bin/python").path
        try #require(
            FileManager.default.isExecutableFile(atPath: path),
            "the foreign peers need Python with websockets: run tools/python-env, or set PEAL_PYTHON")
        return path
    }

    /// A client that plays a scene with a server.
    static func client(_ scene: String, _ url: String, authority: String? = nil) throws -> Program {
        try Program(python(), ["\(folder)/client.py", scene, url] + (authority.map { [$0] } ?? []))
    }

    /// A server, and the port that it listens on.
    static func server(_ arguments: String...) async throws -> (program: Program, port: Int) {
        let program = try Program(python(), ["\(folder)/server.py"] + arguments)
        #expect(await program.lines.wait(seconds: 30) { !$0.isEmpty })
        let port = try #require(program.lines.all.first.flatMap { Int($0) }, "the foreign server did not start")
        return (program, port)
    }
}
