import Peal
import PealModel
import PealReplica
import Synchronization

/// One inbox of the viewer: carries out what its tab wants, one thing after the other, and tells what happens.
final class ViewerInbox: Sendable {
    /// Items of one act.
    private static let batch = Limits.itemsPerMutation

    private let tab: Int
    private let mailbox: ViewerMailbox
    private let wanted: AsyncStream<ViewerCommand>.Continuation
    private let line: Line
    private let worker: Task<Void, Never>

    /// - Parameters:
    ///   - isConnecting: whether a connection is wanted.
    ///   - open: opens the inbox.
    init(
        tab: Int, mailbox: ViewerMailbox, isConnecting: Bool, open: @escaping @Sendable () async throws -> Inbox
    ) {
        self.tab = tab
        self.mailbox = mailbox
        let (commands, wanted) = AsyncStream.makeStream(of: ViewerCommand.self)
        self.wanted = wanted
        let line = Line()
        self.line = line
        worker = Task {
            let opening = Opening(tab: tab, mailbox: mailbox, wanted: wanted, line: line)
            guard let inbox = await opening.run(commands, open) else { return }
            await Worker(tab: tab, mailbox: mailbox, inbox: inbox, line: line).run(commands, isConnecting: isConnecting)
        }
    }

    func carryOut(_ command: ViewerCommand) {
        line.enter()
        wanted.yield(command)
    }

    /// Does what was asked before, sends what can be sent in a moment, and closes the inbox.
    func end() async {
        line.end()
        wanted.finish()
        await worker.value
    }

    /// Who waits while words are being taken into the index.
    private final class Line: Sendable {
        private let state = Mutex((waiting: 0, hasEnded: false))

        func enter() { state.withLock { $0.waiting += 1 } }

        func leave() { state.withLock { $0.waiting -= 1 } }

        func end() { state.withLock { $0.hasEnded = true } }

        /// Whether somebody else's turn has come.
        var isWanted: Bool { state.withLock { $0.waiting > 0 || $0.hasEnded } }

        var hasEnded: Bool { state.withLock { $0.hasEnded } }
    }

    /// What runs until the inbox is open: it is tried when somebody asks for it, and by itself, less and less often.
    private struct Opening: Sendable {
        let tab: Int
        let mailbox: ViewerMailbox
        let wanted: AsyncStream<ViewerCommand>.Continuation
        let line: Line

        /// - Returns: nil where nobody wants it any more.
        func run(_ commands: AsyncStream<ViewerCommand>, _ open: @Sendable () async throws -> Inbox) async -> Inbox? {
            var seconds = 1
            while !line.hasEnded {
                do {
                    let inbox = try await open()
                    // Screens of a list need few pages of the file.
                    try await inbox.limitCache(kibibytes: 1_536)
                    if seconds > 1 { mailbox.put(.opened(tab: tab)) }
                    return inbox
                } catch {
                    let problem = ViewerProblem(message: explain(error).description)
                    mailbox.put(.notOpened(tab: tab, problem, seconds: seconds))
                    await wait(commands, problem, seconds)
                    seconds = min(2 * seconds, 30)
                }
            }
            return nil
        }

        private func wait(_ commands: AsyncStream<ViewerCommand>, _ problem: ViewerProblem, _ seconds: Int) async {
            let timer = Task {
                try await Task.sleep(for: .seconds(seconds))
                line.enter()
                wanted.yield(.reopen(tab: tab))
            }
            defer { timer.cancel() }
            for await command in commands {
                line.leave()
                switch command {
                case .load(_, let load):
                    mailbox.put(.loaded(tab: tab, generation: load.generation, .failure(problem)))
                case .reopen: return
                default: break
                }
            }
        }
    }

    /// What runs while the inbox is open.
    private struct Worker: Sendable {
        /// Words are taken in for so long before what has been found is shown, and where nothing has been.
        private static let fill = (some: Duration.milliseconds(250), none: Duration.milliseconds(50))

        let tab: Int
        let mailbox: ViewerMailbox
        let inbox: Inbox
        let line: Line

        func run(_ commands: AsyncStream<ViewerCommand>, isConnecting: Bool) async {
            let changes = inbox.changes
            let notices = inbox.notices
            await withTaskGroup(of: Void.self) { group in
                group.addTask { for await _ in changes { mailbox.put(.changed(tab: tab)) } }
                group.addTask { for await notice in notices { mailbox.put(.notice(tab: tab, notice.message)) } }
                group.addTask {
                    for await status in await inbox.statuses { mailbox.put(.status(tab: tab, status)) }
                }
                var uids: [Int: UInt64] = [:]
                var isFirst = true
                for await command in commands {
                    line.leave()
                    await carryOut(command, &uids)
                    // The first window is of what is there already.
                    if isFirst, isConnecting { await inbox.connect() }
                    isFirst = false
                }
                await leave()
                group.cancelAll()
            }
        }

        private func carryOut(_ command: ViewerCommand, _ uids: inout [Int: UInt64]) async {
            switch command {
            case .load(_, let load):
                let read = await result { try await window(load) }
                mailbox.put(.loaded(tab: tab, generation: load.generation, read))
                if case .success(let window) = read, window.isSearching {
                    await fill(load, hasFound: !window.rows.isEmpty)
                }
            case .act(_, let number, let operation, let observed, let hold):
                let uid = await result { try await inbox.perform(operation, observed: observed, hold: hold) }
                if case .success(let uid) = uid, hold > 0 { uids[number] = uid }
                mailbox.put(.acted(tab: tab, number: number, uid.map { _ in true }))
            case .markAll(_, let number, let query, let observed):
                let done = await result { try await markAll(query, observed) }
                mailbox.put(.acted(tab: tab, number: number, done.map { true }))
            case .undo(_, let number, let instead):
                let uid = uids.removeValue(forKey: number)
                let isDone = await result { try await undo(uid, instead) }
                mailbox.put(.acted(tab: tab, number: number, isDone))
            case .categories:
                mailbox.put(.categories(tab: tab, (try? await inbox.categories()) ?? []))
            // It is open.
            case .reopen, .redraw, .suspend, .quit: break
            }
        }

        private func result<R>(_ body: () async throws -> R) async -> Result<R, ViewerProblem> {
            do {
                return .success(try await body())
            } catch {
                return .failure(ViewerProblem(message: explain(error).message))
            }
        }

        private func window(_ load: ViewerLoad) async throws -> ViewerWindow {
            let window = try await inbox.window(load.query, load.place, reach: load.reach)
            return ViewerWindow(
                rows: window.items.map { ViewerRow($0) }, hasNewer: window.hasNewer, hasOlder: window.hasOlder,
                isPartial: window.isPartial, isSearching: window.isSearching, counts: window.counts, view: window.view,
                waiting: window.waiting, dead: window.dead)
        }

        /// Takes words in for a while, bit by bit, so that what the hub sends and what the person does get their turn. Then the list is another one.
        private func fill(_ load: ViewerLoad, hasFound: Bool) async {
            let deadline = ContinuousClock.now + (hasFound ? Self.fill.some : Self.fill.none)
            do {
                // Who waits comes first, because another process's write can hold this up for seconds.
                while !line.isWanted, ContinuousClock.now < deadline {
                    if try await inbox.fillWords() { break }
                }
            } catch  where error.file == .busy {
                // Another process writes; what is found meanwhile is shown.
            } catch {
                let problem = ViewerProblem(message: explain(error).message)
                return mailbox.put(.loaded(tab: tab, generation: load.generation, .failure(problem)))
            }
            mailbox.put(.changed(tab: tab))
        }

        /// Whether the act is taken back, or another one does the opposite.
        private func undo(_ uid: UInt64?, _ instead: PealModel.Operation?) async throws -> Bool {
            if let uid, try await inbox.undo(uid) { return true }
            guard let instead else { return false }
            try await inbox.perform(instead)
            return true
        }

        /// What a query lists is marked read, but not what came after the person looked.
        private func markAll(_ query: DeliveredQuery, _ observed: ViewPosition?) async throws {
            var unread = query
            guard query.read != true else { return }
            unread.read = false
            var after = observed.map { PageCursor(before: $0.position + 1) }
            repeat {
                let page = try await inbox.page(unread, after: after, limit: ViewerInbox.batch)
                guard !page.items.isEmpty else { return }
                try await inbox.perform(
                    .read(items: page.items.map(\.id), on: true, passive: false), observed: observed)
                after = page.next
            } while after != nil
        }

        /// What was done goes out, where that takes no more than a second.
        private func leave() async {
            try? await inbox.releaseHeld()
            let deadline = ContinuousClock.now + .seconds(1)
            while await inbox.status.state == .live, await !inbox.isSettled, ContinuousClock.now < deadline {
                try? await Task.sleep(for: .milliseconds(5))
            }
            await inbox.close()
        }
    }
}
