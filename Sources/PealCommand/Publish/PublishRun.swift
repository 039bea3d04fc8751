import Peal
import PealHub
import PealModel

/// What became of a line.
enum PublishOutcome: Sendable {
    case published(HubAPI.Publish)
    /// It cannot be published: what is wrong with it.
    case bad(String, code: String?)
    /// An earlier run did it.
    case before
    /// The run ended first.
    case left
}

/// One run over an input: several requests at a time, results in the order of the input.
actor PublishRun {
    /// One request.
    struct Job: Sendable {
        var ordinal: Int
        var line: PublishInput.Line
        var digest: String
        var body: JSON
        var key: String
        /// Not before.
        var start: ContinuousClock.Instant
    }

    enum Turn {
        case job(Job)
        case wait
        case end
    }

    struct Settings: Sendable {
        var prefix: String?
        /// Publishes a second; nil for as many as go.
        var rate: Int?
        var keepsGoing = false
        /// How long the hub may take nothing.
        var patience = Duration.seconds(60)
        var isJSON = false
    }

    /// How far it is.
    struct State: Sendable {
        var word = "line"
        var published = 0
        var failed = 0
        var before = 0
        /// Of the input; nil for a stream.
        var share: Double?
        /// Waits for a hub that takes nothing, and why.
        var waits: String?
        var isStopped = false
        var fatal: CommandError?
    }

    /// Results that wait for one before them, at most.
    private static let window = 4_096
    /// Waits between tries, where the hub names none: from, up to.
    private static let delays = (first: Duration.milliseconds(250), last: Duration.seconds(15))

    private let settings: Settings
    private var input: PublishInput
    private var progress: PublishProgress?
    private(set) var state = State()
    private var given = 0
    private var told = 0
    private var pending: [Int: (PublishInput.Line, String, String, PublishOutcome)] = [:]
    private var slot = ContinuousClock.now
    private var pause = ContinuousClock.now
    private var lastAnswer = ContinuousClock.now
    private var isOver = false
    /// Tells of a line; results first.
    private let tell: @Sendable (String, _ isError: Bool) -> Void

    init(
        _ settings: Settings, _ input: PublishInput, _ progress: PublishProgress?,
        tell: @escaping @Sendable (String, _ isError: Bool) -> Void
    ) {
        self.settings = settings
        self.input = input
        self.progress = progress
        self.tell = tell
    }

    /// No line is begun any more; what is under way is finished.
    func stop() {
        state.isStopped = true
        isOver = true
    }

    private func fail(_ error: CommandError) {
        if state.fatal == nil { state.fatal = error }
        isOver = true
    }

    // MARK: Work

    /// What a worker does next.
    func next() -> Turn {
        while true {
            if isOver { return .end }
            guard given - told < Self.window else { return .wait }
            do throws(CommandError) {
                switch try input.next() {
                case .wait: return .wait
                case .end:
                    isOver = true
                    return .end
                case .line(let line):
                    if let job = try begin(line) { return .job(job) }
                }
            } catch {
                fail(error)
            }
        }
    }

    private func begin(_ line: PublishInput.Line) throws(CommandError) -> Job? {
        let ordinal = given
        given += 1
        let digest =
            switch line.content {
            case .bad(_, let digest), .publish(_, _, let digest): digest
            }
        if let progress, try progress.isDone(line.number, digest: digest) {
            end(ordinal, line, digest, "", .before)
            return nil
        }
        switch line.content {
        case .bad(let why, _): end(ordinal, line, digest, "", .bad(why, code: nil))
        case .publish(let body, let given, _):
            let key =
                given ?? settings.prefix.map { "\($0)\(line.number)" } ?? Self.key(digest: digest, number: line.number)
            guard key.unicodeScalars.count <= 255 else {
                end(ordinal, line, digest, key, .bad("its key has more than 255 characters", code: nil))
                return nil
            }
            let now = ContinuousClock.now
            if let rate = settings.rate {
                slot = max(slot, now)
                defer { slot += .nanoseconds(1_000_000_000 / rate) }
                return Job(ordinal: ordinal, line: line, digest: digest, body: body, key: key, start: slot)
            }
            return Job(ordinal: ordinal, line: line, digest: digest, body: body, key: key, start: now)
        }
        return nil
    }

    /// The same for the same content at the same place.
    static func key(digest: String, number: Int) -> String { "peal-\(digest)-\(number)" }

    /// Until when nothing is sent.
    func resting() -> ContinuousClock.Instant? {
        if pause <= .now { return nil }
        return pause
    }

    /// Whether a line that was not sent is to be left.
    var leaves: Bool { state.isStopped || state.fatal != nil }

    /// The hub took nothing; false where it is to be given up.
    func rest(after error: PealError, tries: Int) -> Bool {
        if leaves { return false }
        guard lastAnswer.duration(to: .now) < settings.patience else {
            let code: ExitCode = error.code == .refused ? .refused : .offline
            fail(CommandError(code: code, message: error.message))
            return false
        }
        var delay = min(Self.delays.last, Self.delays.first * (1 << min(tries, 10)))
        if let seconds = error.retryAfter { delay = .seconds(max(1, min(seconds, 600))) }
        pause = max(pause, .now + delay)
        state.waits = error.message
        return true
    }

    /// The hub answered.
    func answered() {
        lastAnswer = .now
        state.waits = nil
    }

    /// The credentials are refused: every other line would be too.
    func refused(_ error: PealError) {
        fail(CommandError(code: .refused, message: error.message, hint: "Check --key and --secret."))
    }

    // MARK: Results

    func finish(_ job: Job, _ outcome: PublishOutcome) {
        end(job.ordinal, job.line, job.digest, job.key, outcome)
    }

    private func end(
        _ ordinal: Int, _ line: PublishInput.Line, _ digest: String, _ key: String, _ outcome: PublishOutcome
    ) {
        pending[ordinal] = (line, digest, key, outcome)
        while let (line, digest, key, outcome) = pending[told] {
            // What was left is begun again by the next run, and so is all behind it.
            if case .left = outcome { return }
            pending[told] = nil
            told += 1
            count(line, digest, key, outcome)
        }
    }

    private func count(_ line: PublishInput.Line, _ digest: String, _ key: String, _ outcome: PublishOutcome) {
        state.word = input.word
        state.share = input.size.map { $0 == 0 ? 1 : min(1, Double(input.taken) / Double($0)) }
        switch outcome {
        case .published(let publish):
            state.published += 1
            progress?.note(line.number, digest: digest, isPublished: true)
            if settings.isJSON { tell(Self.json(line, key, publish), false) }
        case .bad(let why, let code):
            state.failed += 1
            progress?.note(line.number, digest: digest, isPublished: false)
            if settings.isJSON { tell(Self.json(line, key, why, code), false) }
            tell("\(input.word) \(line.number): \(Output.safe(why))", true)
            if !settings.keepsGoing {
                isOver = true
            }
        case .before:
            state.before += 1
        case .left: break
        }
    }

    private static func text(_ members: [(key: String, value: JSON)]) -> String {
        String(decoding: JSON.object(members).bytes, as: UTF8.self)
    }

    private static func json(_ line: PublishInput.Line, _ key: String, _ publish: HubAPI.Publish) -> String {
        text([
            ("line", .number("\(line.number)")), ("key", .string(key)), ("id", .string(publish.id)),
            ("status", .string(publish.status)), ("matched", .number("\(publish.matched)")),
        ])
    }

    private static func json(_ line: PublishInput.Line, _ key: String, _ why: String, _ code: String?) -> String {
        var members: [(key: String, value: JSON)] = [("line", .number("\(line.number)"))]
        if !key.isEmpty { members.append(("key", .string(key))) }
        members.append(("error", .string(why)))
        if let code { members.append(("code", .string(code))) }
        return text(members)
    }

    /// Writes the file of `--resume`.
    func save() {
        do throws(CommandError) {
            try progress?.write()
        } catch {
            fail(error)
        }
    }
}

/// One of the requests at a time.
struct PublishWorker: Sendable {
    let run: PublishRun
    let api: HubAPI

    /// Works until nothing is left.
    func work() async {
        while true {
            switch await run.next() {
            case .end: return
            case .wait: try? await Task.sleep(for: .milliseconds(20))
            case .job(let job):
                if job.start > .now { try? await Task.sleep(until: job.start, clock: .continuous) }
                await run.finish(job, await publish(job))
            }
        }
    }

    private func publish(_ job: PublishRun.Job) async -> PublishOutcome {
        var tries = 0
        while true {
            while let end = await run.resting() {
                if await run.leaves { return .left }
                try? await Task.sleep(until: min(end, .now + .milliseconds(100)), clock: .continuous)
            }
            if await run.leaves { return .left }
            do throws(PealError) {
                let made = try await api.once(job.key).publish(body: job.body)
                await run.answered()
                return .published(made)
            } catch {
                switch (error.code, error.status ?? 0) {
                case (.refused, 401), (.refused, 403):
                    await run.refused(error)
                    return .left
                case (.refused, 429), (.refused, 500...599), (.unreachable, _), (.notAHub, _):
                    guard await run.rest(after: error, tries: tries) else { return .left }
                    tries += 1
                case (.refused, _):
                    await run.answered()
                    return .bad(error.message, code: error.hubCode)
                default: return .bad(error.message, code: error.code.rawValue)
                }
            }
        }
    }
}
