import Foundation
import PealModel
import PealReplica

/// `--exec`: a program that is run for each item, without a shell. What a publisher wrote reaches it in its environment (`PEAL_TITLE`, …)
/// and as JSON on its standard input, never in its words.
struct ItemProgram {
    let path: String
    let words: [String]

    /// Finds the program, as a shell would.
    init(_ name: String, words: [String], environment: [String: String]) throws(CommandError) {
        let places =
            name.contains("/")
            ? [name] : (environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":").map { $0 + "/" + name }
        guard let found = places.first(where: { access($0, X_OK) == 0 && !isDirectory($0) }) else {
            if let there = places.first(where: { access($0, F_OK) == 0 && !isDirectory($0) }) {
                throw CommandError(
                    code: .usage, message: "--exec: '\(Output.safe(there))' may not be run.",
                    hint: "chmod +x \(Output.safe(there))")
            }
            throw CommandError(
                code: .usage, message: "--exec: '\(Output.safe(name))' is no program.",
                hint: "Its arguments stand after '--': peal tail --exec PROGRAM -- ARGUMENT…")
        }
        path = found
        self.words = words
    }

    /// Runs it and waits for its end; a cancelled task ends it, first by SIGTERM and two seconds later by SIGKILL.
    ///
    /// - Returns: why it failed; nil where it did not.
    func run(_ item: DeliveredItem) async throws -> String? {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = words
        process.environment = Self.environment(item)
        guard let input = Self.file(item.json + "\n") else { return "has no file for its input" }
        defer { try? input.close() }
        process.standardInput = input
        // A handler, and not SIG_IGN: a program that is run starts with the default again.
        signal(SIGPIPE) { _ in }
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in end.finish() }
        do {
            try process.run()
        } catch {
            return "cannot be run: \(error.localizedDescription)"
        }
        await withTaskCancellationHandler {
            // Not by the stream: that one ends with the task, and the program is to be gone before this returns.
            await Task.detached { for await _ in ends {} }.value
        } onCancel: {
            process.terminate()
            DispatchQueue.global().asyncAfter(deadline: .now() + 2) {
                if process.isRunning { kill(process.processIdentifier, SIGKILL) }
            }
        }
        try Task.checkCancellation()
        let status = process.terminationStatus
        switch process.terminationReason {
        case .exit: return status == 0 ? nil : "ended with \(status)"
        default: return "was ended by signal \(status)"
        }
    }

    private static func environment(_ item: DeliveredItem) -> [String: String] {
        var environment = ProcessInfo.processInfo.environment
        let body = item.content
        for field in ItemField.allCases {
            // One of an item before, or of an outer tail, is not this item's.
            let value = field.value(item, body)?.prefix { $0 != "\0" }
            environment["PEAL_" + field.rawValue.uppercased()] = value.map { String(cut($0)) }
        }
        return environment
    }

    /// The kernel takes 128 KiB a variable; standard input has all of it.
    private static func cut(_ text: Substring) -> Substring { text.utf8.count <= 65_536 ? text : text.prefix(16_384) }

    /// A file without a name, so that a program that does not read its input holds up nobody.
    private static func file(_ text: String) -> FileHandle? {
        var path = Array((NSTemporaryDirectory() + "/peal-item-XXXXXX").utf8CString)
        let descriptor = mkstemp(&path)
        guard descriptor >= 0 else { return nil }
        unlink(path)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try file.write(contentsOf: Data(text.utf8))
            try file.seek(toOffset: 0)
        } catch {
            return nil
        }
        return file
    }
}

private func isDirectory(_ path: String) -> Bool {
    var isDirectory: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory.boolValue
}
