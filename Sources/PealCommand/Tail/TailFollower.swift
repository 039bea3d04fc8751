import Peal
import PealModel
import PealReplica

/// Shows the items of an inbox upwards, each once, whenever something was committed.
struct TailFollower: Sendable {
    let inbox: Inbox
    let settings: TailSettings
    /// From before anything was read, so that no commit is missed.
    let changes: AsyncStream<Change>
    /// Items between two looks at everything else: what a cancelled tail still shows.
    private static let batch = 256

    func run() async throws -> ExitCode? {
        var shown = Shown(settings)
        try await begin(&shown)
        guard !settings.isOffline else {
            if try await inbox.counts().isPartial {
                Output.remark("This is only a part: the inbox is being loaded, and older ones are to come.")
            }
            return try await show(&shown) ?? .success
        }
        let start = shown
        return try await TailCommand.first(
            { try await follow(start) }, { try await tellConnection(live: true) })
    }

    private func follow(_ start: Shown) async throws -> ExitCode? {
        var shown = start
        if let code = try await show(&shown) { return code }
        for await change in changes where change.items {
            if let code = try await show(&shown) { return code }
        }
        return .success
    }

    // MARK: Where it begins

    private func begin(_ shown: inout Shown) async throws {
        guard case .now(let last) = settings.start else {
            shown.wentBack = try await inbox.items(settings.query, above: .max, limit: 1).wentBack
            return
        }
        if !settings.isOffline { try await waitWhereNew() }
        shown.wentBack = try await inbox.items(settings.query, above: .max, limit: 1).wentBack
        let page = try await inbox.page(settings.query, limit: max(200, last))
        shown.begin(
            at: page.view.position, after: page.items.dropFirst(last).reversed(), isAll: page.next == nil)
        if try await print(Array(page.items.prefix(last).reversed())[...], &shown) != nil { shown.isDone = true }
    }

    /// What a new device loads first is no news: it waits for the end of that.
    private func waitWhereNew() async throws {
        let found = try await inbox.inspect()
        guard found.inbox == nil || found.counts.isPartial else { return }
        _ = try await TailCommand.first(
            { try await tellConnection(live: false) },
            {
                while true {
                    let isThere = await inbox.status.state == .elsewhere ? true : await inbox.isSettled
                    if isThere, try await !inbox.counts().isPartial { return .success }
                    try await Task.sleep(for: .milliseconds(5))
                }
            })
    }

    // MARK: Items

    /// Shows what lies above the last position.
    private func show(_ shown: inout Shown) async throws -> ExitCode? {
        if shown.isDone { return .success }
        while true {
            let run = try await inbox.items(settings.query, above: shown.position, limit: Self.batch)
            if run.wentBack != shown.wentBack {
                shown.wentBack = run.wentBack
                try await shown.rewind(inbox)
                continue
            }
            // Newest first; the swap at its end is a change of everything.
            if run.isPartial, !settings.isOffline { return nil }
            let code = try await print(run.items[...], &shown)
            if let code { return code }
            shown.reach(run.upTo)
            if run.upTo >= run.head { return nil }
            try Task.checkCancellation()
        }
    }

    private func print(_ items: ArraySlice<DeliveredItem>, _ shown: inout Shown) async throws -> ExitCode? {
        do {
            for item in items where shown.isNew(item) {
                if let line = settings.line { shown.output.line(line(item)) }
                if settings.program != nil || settings.notifies { try await hand(item, &shown.output) }
                shown.took(item)
                if shown.left == 0 { break }
            }
            try await shown.output.flush()
        } catch is ClosedPipe {
            return .success
        }
        return shown.left == 0 ? .success : nil
    }

    /// To the desktop and to the program.
    private func hand(_ item: DeliveredItem, _ output: inout PipeWriter) async throws {
        try await output.flush()
        if settings.notifies { await SystemPresenter(appName: "peal").present(inbox.notification(item)) }
        guard let program = settings.program, let problem = try await program.run(item) else { return }
        let text = "\(Output.safe(program.path)) \(problem), at item \(item.number)"
        if settings.stopsAtFailure { throw CommandError(code: .failure, message: text) }
        Output.note("peal: \(text)")
    }

    // MARK: The connection

    /// Says on standard error how the connection goes.
    private func tellConnection(live: Bool) async throws -> ExitCode? {
        var said = InboxStatus.State.connecting
        for await status in await inbox.statuses {
            switch status.state {
            case .stopped:
                throw CommandError(
                    code: .refused, message: "The hub refused: \(status.message ?? "no reason was given").",
                    hint: "Check --key, --user and --hmac.")
            case .offline:
                guard let delay = status.retryAfter, said != .offline || settings.tellsTries else { continue }
                let when = settings.tellsTries ? " in \(max(1, (delay + 500) / 1_000)) s" : ""
                tell("offline\(status.message.map { " (\($0))" } ?? ""); trying again\(when)")
            case .live where live && said != .live: tell("live")
            case .elsewhere where said != .elsewhere: tell("another process has the connection; following what it gets")
            default: continue
            }
            said = status.state
        }
        return nil
    }

    private func tell(_ text: String) { if !settings.isQuiet { Output.aside(Output.safe(text)) } }
}

/// How far a tail has come.
private struct Shown {
    /// What lies above is to be shown.
    var position: Position = 0
    /// How many are to be shown yet; nil for any number.
    var left: Int?
    var isDone = false
    /// When the hub went back in time, as far as this has followed.
    var wentBack: Milliseconds?
    var output = PipeWriter()
    /// The last items shown, or there before, oldest first, for a hub that goes back in time.
    private var recent: [(position: Position, id: ItemID)] = []
    /// What lies above and is not in `recent` is new, even where positions begin anew.
    private var floor: Position = 0
    /// While it goes over a part again: what was shown of it, and where that part ends.
    private var again: (ids: Set<ItemID>, upTo: Position)?
    private static let kept = 4_096

    init(_ settings: TailSettings) {
        left = settings.count
        if case .after(let start) = settings.start { (position, floor) = (start, start) }
    }

    /// Begins above a position; of what is there already some is known, or all.
    mutating func begin(at position: Position, after known: some Sequence<DeliveredItem>, isAll: Bool) {
        self.position = position
        recent = known.map { ($0.number, $0.id) }
        floor = isAll ? 0 : recent.first?.position ?? position
    }

    func isNew(_ item: DeliveredItem) -> Bool { again?.ids.contains(item.id) != true }

    mutating func took(_ item: DeliveredItem) {
        left = left.map { $0 - 1 }
        recent.append((item.number, item.id))
        if recent.count >= 2 * Self.kept {
            recent.removeFirst(Self.kept)
            floor = recent[0].position
        }
        reach(item.number)
    }

    mutating func reach(_ position: Position) {
        self.position = max(self.position, position)
        if let again, self.position >= again.upTo { self.again = nil }
    }

    /// After the hub went back in time (docs/sync.md section 7): above the last item that is still what it was stand other items, which
    /// are to be shown, and those that were shown before stay so.
    mutating func rewind(_ inbox: Inbox) async throws {
        again = (Set(recent.map(\.id)), position)
        var anchor = floor
        for (position, id) in recent.reversed() where try await inbox.item(number: position)?.id == id {
            anchor = position
            break
        }
        position = min(position, anchor)
    }
}
