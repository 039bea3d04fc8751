import Foundation
import Peal
import PealModel
import Synchronization

/// `peal publish --file`.
extension PublishCommand {
    static let fileOptions: [Option] = [
        Option(
            name: "file", short: "f", value: "PATH", help: "publish each line of a file; '-' is standard input",
            kind: .file,
            isConfigurable: false),
        Option(
            name: "key-prefix", value: "TEXT",
            help: "with a file: the key of line N is TEXT and N, in place of the content's",
            isConfigurable: false),
        Option(
            name: "resume", value: "PROGRESS", help: "with a file: keep in this one what is done, and go on after it",
            kind: .file, isConfigurable: false),
        Option(name: "keep-going", short: "k", value: nil, help: "with a file: go on after a line that is refused"),
        Option(name: "rate", value: "N", help: "with a file: publishes a second at most"),
        Option(name: "concurrency", short: "j", value: "N", help: "with a file: requests at a time, 1 to 256 (16)"),
        Option(
            name: "retry-for", value: "SECONDS", help: "with a file: give up where the hub takes nothing so long (60)"),
    ]

    /// Options of one publish, which a file has in its lines.
    private static let single = ["interest", "user", "title", "body", "category", "topic", "type", "url"]

    static func runFile(_ path: String, _ arguments: Arguments) async throws -> ExitCode {
        if let other = single.first(where: arguments.has) {
            if !arguments.has("file") {
                throw CommandError(
                    code: .usage,
                    message:
                        "'\(Output.safe(path))' stands for a file of publishes, which --\(other) does not go with.",
                    hint: "Options say what one notification holds: --title TEXT, --body TEXT.")
            }
            throw CommandError.usage("--file and --\(other) exclude each other: each line says to whom and what.")
        }
        var settings = PublishRun.Settings()
        settings.prefix = arguments.value("key-prefix")
        settings.keepsGoing = arguments.has("keep-going")
        settings.isJSON = arguments.has("json")
        if arguments.has("rate") { settings.rate = try arguments.int("rate", in: 1...1_000_000, default: 1) }
        settings.patience = .seconds(try arguments.int("retry-for", in: 0...86_400, default: 60))
        let concurrency = try arguments.int("concurrency", in: 1...256, default: 16)
        let credentials = try HubOptions.backEnd(arguments)
        let api = try HubOptions.api(arguments, credentials)
        let input = try PublishInput(path: path)
        let target = "\(api.hub.url.absoluteString) \(arguments.value("key") ?? arguments.value("instance") ?? "")"
        let progress = try arguments.value("resume").map { (path) throws(CommandError) in
            try PublishProgress(path: path, target: target)
        }
        let screen = Screen(isQuiet: arguments.has("quiet"))
        let run = PublishRun(settings, input, progress) { screen.tell($0, isError: $1) }
        let begin = ContinuousClock.now
        let interruption = await Signals.interruption()
        let stopper = Task.detached {
            var count = 0
            for await _ in interruption {
                count += 1
                if count > 1 { _exit(ExitCode.interrupted.rawValue) }
                await run.stop()
            }
        }
        let watcher = Task.detached {
            while !Task.isCancelled {
                await run.save()
                screen.show(await run.state, seconds: begin.duration(to: .now) / .seconds(1))
                try? await Task.sleep(for: .milliseconds(100))
            }
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<concurrency { group.addTask { await PublishWorker(run: run, api: api).work() } }
        }
        watcher.cancel()
        await watcher.value
        await run.save()
        stopper.cancel()
        return try end(await run.state, seconds: begin.duration(to: .now) / .seconds(1), arguments, screen)
    }

    /// The summary, and how to go on.
    private static func end(
        _ state: PublishRun.State, seconds: Double, _ arguments: Arguments, _ screen: Screen
    ) throws -> ExitCode {
        screen.clear()
        var parts = ["published \(state.published) \(state.word)\(state.published == 1 ? "" : "s")"]
        if state.failed > 0 { parts.append("\(state.failed) failed") }
        if state.before > 0 { parts.append("\(state.before) done before") }
        let rate = seconds > 0 ? Int((Double(state.published) / seconds).rounded()) : 0
        let text = parts.joined(separator: ", ") + " in \(Int((seconds * 1_000).rounded())) ms, \(rate)/s"
        if arguments.has("json") { Output.remark(text) } else { Output.line(text) }
        if state.isStopped || state.fatal != nil || (state.failed > 0 && !arguments.has("keep-going")) {
            let how =
                arguments.has("resume")
                ? "Go on by the same command: it begins where this ended."
                : "Go on by the same command within 24 hours: what is published is not published again. With --resume FILE it also begins where it ended."
            Output.remark(how)
        }
        if let fatal = state.fatal { throw fatal }
        if state.isStopped { return .interrupted }
        return state.failed > 0 ? .failure : .success
    }

    /// The progress, and the lines between.
    private final class Screen: Sendable {
        private let bar: Mutex<ProgressBar>

        init(isQuiet: Bool) { bar = Mutex(ProgressBar(isQuiet: isQuiet)) }

        func tell(_ text: String, isError: Bool) {
            bar.withLock { bar in
                bar.clear()
                if isError { Output.note(text) } else { Output.line(text) }
            }
        }

        func show(_ state: PublishRun.State, seconds: Double) {
            let done = state.published + state.failed
            bar.withLock { bar in
                bar.show(
                    ProgressBar.Value(
                        share: state.share, count: done + state.before, word: state.word, failed: state.failed,
                        seconds: seconds, fresh: done, waits: state.waits))
            }
        }

        func clear() { bar.withLock { $0.clear() } }
    }
}
