import Foundation

/// A program on a real terminal: tmux with a server of its own, which ends with this.
final class Tmux {
    private let directory: Directory
    private let server = Process()
    private var socket: String { directory.path + "/tmux" }

    /// Runs a shell on a terminal of a size.
    init(columns: Int, rows: Int, environment: [String: String] = [:]) throws {
        directory = try Directory()
        // No daemon: a process that `Process` starts counts as running until nobody has its descriptors any more.
        prepare(server, ["-D"])
        server.standardOutput = FileHandle.nullDevice
        try server.run()
        let deadline = Date(timeIntervalSinceNow: 20)
        while !FileManager.default.fileExists(atPath: socket), Date() < deadline { usleep(5_000) }
        let variables = environment.merging(["TZ": "UTC", "HOME": directory.path, "PS1": "$ "]) { $1 }
        try tmux(
            ["new-session", "-d", "-x", "\(columns)", "-y", "\(rows)"]
                + ["env", "-u", "NO_COLOR"] + variables.map { "\($0)=\($1)" } + ["sh"])
        try tmux(["set-option", "-g", "status", "off"])
    }

    deinit {
        _ = try? tmux(["kill-server"])
        // With a program in front the server may stay: without it, the terminal is gone, and so is what runs on it.
        if server.isRunning { kill(server.processIdentifier, SIGKILL) }
    }

    private func prepare(_ process: Process, _ words: [String]) {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["tmux", "-u", "-f", "/dev/null", "-S", socket] + words
        var environment = ProcessInfo.processInfo.environment
        environment["TMUX"] = nil
        environment["LC_ALL"] = "C.UTF-8"
        process.environment = environment
        process.standardInput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
    }

    @discardableResult
    private func tmux(_ words: [String]) throws -> String {
        let process = Process()
        prepare(process, ["-N"] + words)
        // A file, not a pipe: the server keeps what it got from a client.
        let path = directory.path + "/output"
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try process.run()
        process.waitUntilExit()
        let text = String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
        guard process.terminationStatus == 0 else { throw Failure(message: "tmux \(words) failed") }
        return text
    }

    /// Presses keys, as tmux names them.
    func press(_ keys: String...) throws { try tmux(["send-keys"] + keys) }

    /// Types text as it is.
    func type(_ text: String) throws { try tmux(["send-keys", "-l", "--", text]) }

    /// Pastes text, as a terminal does on which somebody presses the keys for that.
    func paste(_ text: String) throws {
        let path = directory.path + "/pasted"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try tmux(["load-buffer", path])
        try tmux(["paste-buffer", "-p", "-r"])
    }

    /// Types a command for the shell, and Enter.
    func command(_ words: [String]) throws {
        try type(words.map { "'" + $0.replacing("'", with: "'\\''") + "'" }.joined(separator: " "))
        try press("Enter")
    }

    func resize(columns: Int, rows: Int) throws { try tmux(["resize-window", "-x", "\(columns)", "-y", "\(rows)"]) }

    /// What stands on the screen.
    func screen(withLooks: Bool = false) throws -> String {
        try tmux(["capture-pane", "-p"] + (withLooks ? ["-e"] : []))
    }

    /// The rows of the screen.
    func rows() throws -> [String] {
        try screen().split(separator: "\n", omittingEmptySubsequences: false).map(String.init).dropLast()
    }

    /// Waits until the screen is as wanted; what it is at the end.
    @discardableResult
    func wait(
        _ what: String = "", seconds: Double = 20, withLooks: Bool = false, until condition: (String) -> Bool
    ) async throws -> String {
        let deadline = Date(timeIntervalSinceNow: seconds)
        while true {
            let screen = try screen(withLooks: withLooks)
            if condition(screen) { return screen }
            guard Date() < deadline else { throw Failure(message: "waited for \(what) in vain:\n\(screen)") }
            // Not a thread of those that other tests run on.
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Waits for text.
    @discardableResult
    func wait(for text: String, seconds: Double = 20) async throws -> String {
        try await wait("'\(text)'", seconds: seconds) { $0.contains(text) }
    }
}
