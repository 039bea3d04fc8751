import CPealTerminal
import Foundation

/// The full-screen viewer at work: one thread that waits for keys, signals and events, gives them to the model, and draws.
final class Viewer {
    /// Why it ended.
    enum End {
        case quit
        case signal
        /// The terminal cannot show it.
        case noTerminal
    }

    /// Milliseconds between two pictures of what happens by itself; keys are shown at once.
    private static let pace: Int64 = 16

    private var model: ViewerModel
    private let mailbox: ViewerMailbox
    private let inboxes: [ViewerInbox]
    private let signals: [Int32]
    private var end: End?
    private var isStale = true
    private var drawn: Int64 = 0
    /// Until then the first picture waits for the first window, so that "Loading" does not flash.
    private let patience = Viewer.clock() + 150
    /// Tabs whose lists changed since the last picture.
    private var changed: Set<Int> = []

    private init(_ model: ViewerModel, _ mailbox: ViewerMailbox, _ inboxes: [ViewerInbox], _ signals: [Int32]) {
        self.model = model
        self.mailbox = mailbox
        self.inboxes = inboxes
        self.signals = signals
    }

    /// Runs it on a thread of its own until somebody quits.
    static func run(
        _ model: ViewerModel, _ mailbox: ViewerMailbox, _ inboxes: [ViewerInbox], hasColours: Bool
    ) async -> End {
        await withCheckedContinuation { continuation in
            let thread = Thread {
                var ends: [Int32] = [0, 0]
                guard pipe(&ends) == 0 else { return continuation.resume(returning: .noTerminal) }
                for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
                let end = Viewer(model, mailbox, inboxes, ends).run(hasColours)
                continuation.resume(returning: end)
            }
            thread.name = "peal-viewer"
            thread.start()
        }
    }

    private func run(_ hasColours: Bool) -> End {
        defer { for end in signals { close(end) } }
        guard var terminal = Terminal(hasColours: hasColours) else { return .noTerminal }
        cpt_tell_signals(signals[1])
        defer { cpt_forget_signals() }
        let size = terminal.size
        model.now = Self.now()
        model.layout = ViewerLayout(rows: size.rows, columns: size.columns)
        carryOut(model.begin(), &terminal)
        while end == nil {
            wait(&terminal)
            if isStale, !isPatient, end == nil { draw(&terminal) }
        }
        return end ?? .quit
    }

    // MARK: One turn

    private func wait(_ terminal: inout Terminal) {
        var descriptors = [0, mailbox.reading, signals[0]].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        var timeout: Int64 = -1
        if isPatient { timeout = max(1, patience - Self.clock()) }
        if !changed.isEmpty { timeout = max(0, drawn + Self.pace - Self.clock()) }
        let ready = poll(&descriptors, nfds_t(descriptors.count), Int32(timeout))
        if ready < 0, errno != EINTR { end = .signal }
        model.now = Self.now()
        if descriptors[2].revents != 0 { takeSignals(&terminal) }
        if descriptors[1].revents != 0 { for event in mailbox.take() { take(event, &terminal) } }
        // Once for what a burst changes within a moment.
        if !changed.isEmpty, Self.clock() - drawn >= Self.pace {
            for tab in changed.sorted() { handle(.changed(tab: tab), &terminal) }
            changed = []
        }
        if descriptors[0].revents & Int16(POLLIN) != 0 {
            while end == nil, let event = terminal.input() { handle(event, &terminal) }
        } else if descriptors[0].revents != 0 {
            // The terminal is gone.
            end = .signal
        }
    }

    private func take(_ event: ViewerEvent, _ terminal: inout Terminal) {
        if case .changed(let tab) = event {
            changed.insert(tab)
        } else {
            handle(event, &terminal)
        }
    }

    private func handle(_ event: ViewerEvent, _ terminal: inout Terminal) {
        isStale = true
        carryOut(model.handle(event), &terminal)
    }

    private func carryOut(_ commands: [ViewerCommand], _ terminal: inout Terminal) {
        for command in commands {
            switch command {
            case .load(let tab, _), .act(let tab, _, _, _, _), .markAll(let tab, _, _, _), .undo(let tab, _, _),
                .categories(let tab), .reopen(let tab):
                inboxes[tab].carryOut(command)
            case .redraw: terminal.redraw()
            case .suspend: suspend(&terminal)
            case .quit: end = .quit
            }
        }
    }

    private var isPatient: Bool {
        drawn == 0 && !model.tab.isFilled && model.tab.problem == nil && Self.clock() < patience
    }

    private func draw(_ terminal: inout Terminal) {
        terminal.show(model.screen)
        isStale = false
        drawn = Self.clock()
    }

    // MARK: Signals

    private func takeSignals(_ terminal: inout Terminal) {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(signals[0], &bytes, bytes.count)
        guard count > 0 else { return }
        for number in bytes[..<count].map(Int32.init) {
            switch number {
            case SIGWINCH: resize(&terminal)
            case SIGTSTP: suspend(&terminal)
            case SIGCONT:
                terminal.resume()
                resize(&terminal)
            default: end = .signal
            }
        }
    }

    private func suspend(_ terminal: inout Terminal) {
        terminal.suspend()
        resize(&terminal)
    }

    private func resize(_ terminal: inout Terminal) {
        let size = terminal.size
        terminal.redraw()
        handle(.resized(rows: size.rows, columns: size.columns), &terminal)
    }

    // MARK: Clocks

    /// Milliseconds of a clock that nobody sets.
    private static func clock() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Milliseconds since 1970.
    private static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
