import Foundation

/// What a finished command left behind.
struct Finished {
    var status: Int32
    var output: String
    var errors: String

    var lines: [String] { output.split(separator: "\n").map(String.init) }
}

/// The built binary, as a person would run it.
enum Peal {
    /// `peal` beside the test bundle.
    static let binary: URL = {
        // The test runner's own path is the bundle's.
        var directory = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        for _ in 0..<4 {
            let candidate = directory.appendingPathComponent("peal")
            if FileManager.default.isExecutableFile(atPath: candidate.path) { return candidate }
            directory.deleteLastPathComponent()
        }
        fatalError("the binary 'peal' is not built; run `swift build` first")
    }()

    static func process(_ arguments: [String], environment: [String: String] = [:]) -> Process {
        let process = Process()
        process.executableURL = binary
        process.arguments = arguments
        // Nothing of the machine's own settings.
        process.environment = ["HOME": "/nonexistent", "TZ": "UTC", "PATH": "/usr/bin:/bin"]
            .merging(environment) { $1 }
        return process
    }

    /// Runs to the end.
    static func run(_ arguments: String..., environment: [String: String] = [:]) throws -> Finished {
        try run(arguments, environment: environment)
    }

    static func run(_ arguments: [String], environment: [String: String] = [:]) throws -> Finished {
        try finish(process(arguments, environment: environment))
    }

    /// Runs a process to its end, with text as its standard input, or nothing.
    static func finish(_ process: Process, input: String? = nil) throws -> Finished {
        let output = Pipe()
        let errors = Pipe()
        process.standardOutput = output
        process.standardError = errors
        let feed = input.map { _ in Pipe() }
        process.standardInput = feed ?? FileHandle.nullDevice
        try process.run()
        if let input, let feed {
            // What it does not read is of no interest.
            signal(SIGPIPE, SIG_IGN)
            try? feed.fileHandleForWriting.write(contentsOf: Data(input.utf8))
            try? feed.fileHandleForWriting.close()
        }
        let text = output.fileHandleForReading.readDataToEndOfFile()
        let problems = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Finished(
            status: process.terminationStatus, output: String(decoding: text, as: UTF8.self),
            errors: String(decoding: problems, as: UTF8.self))
    }
}

/// A directory of its own for a test, gone with it.
final class Directory {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "/peal-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// `peal hub` as a process of its own.
final class HubProcess {
    let directory: Directory
    private(set) var process: Process
    private(set) var http = ""
    private(set) var key = ""
    private(set) var secret = ""
    private(set) var instance = ""
    private let port: Int
    private let socketPort: Int
    var webSocketPort: Int { socketPort }
    private let options: [String]

    init(options: [String] = []) throws {
        self.options = options
        directory = try Directory()
        port = try freePort()
        socketPort = try freePort()
        process = Process()
        try start()
    }

    deinit { if process.isRunning { process.terminate() } }

    func start() throws {
        process = Peal.process(
            [
                "hub", "--directory", directory.path, "--http-port", String(port), "--websocket-port",
                String(socketPort), "--json",
            ] + options)
        let output = Pipe()
        process.standardOutput = output
        let path = directory.path + "/errors.log"
        if !FileManager.default.fileExists(atPath: path) {
            _ = FileManager.default.createFile(atPath: path, contents: nil)
        }
        let errors = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try errors.seekToEnd()
        process.standardError = errors
        process.standardInput = FileHandle.nullDevice
        try process.run()
        // The first line comes when both listeners take connections.
        var line = Data()
        while !line.contains(0x0A) {
            let piece = output.fileHandleForReading.availableData
            if piece.isEmpty { throw Failure(message: "the hub ended before it listened") }
            line += piece
        }
        let object = try JSONSerialization.jsonObject(with: line) as? [String: Any] ?? [:]
        http = object["http"] as? String ?? ""
        instance = object["instance"] as? String ?? ""
        if let made = object["key"] as? String { key = made }
        if let made = object["secret"] as? String { secret = made }
    }

    /// What it said on standard error, all starts together.
    var errors: String { (try? String(contentsOfFile: directory.path + "/errors.log", encoding: .utf8)) ?? "" }

    /// Ends it by a signal and waits; the exit status.
    @discardableResult
    func stop(signal: Int32 = SIGTERM) -> Int32 {
        kill(process.processIdentifier, signal)
        process.waitUntilExit()
        return process.terminationStatus
    }

    var environment: [String: String] { ["PEAL_HUB": http, "PEAL_KEY": key] }
    var publisher: [String: String] { ["PEAL_HUB": http, "PEAL_INSTANCE": instance, "PEAL_SECRET": secret] }
}

struct Failure: Error { var message: String }

/// A port that nobody listens on just now.
func freePort() throws -> Int {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
    }
    guard bound == 0 else { throw Failure(message: "no port is free") }
    var length = size
    _ = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    return Int(UInt16(bigEndian: address.sin_port))
}
