import PealModel
import PealWebSocket

/// An inbox's log as server-sent events, for somebody who looks on. A cursor like a session, on the hub's thread: what it holds is one batch.
final class LogFeed {
    /// Entries and bytes of a batch.
    static let batchEntries = 200
    static let batchBytes = 64 * 1_024
    /// Milliseconds after which a feed that has nothing to say says so: a client that is gone is noticed.
    static let heartbeat: Milliseconds = 15_000

    let inbox: InboxKey
    /// Whose back end looks on.
    let project: ProjectKey
    let stream: HTTPStream
    private let epoch: UInt64
    private var position: Position
    private var head: Position
    private var isFetching = false
    private var written: Milliseconds

    init(
        inbox: InboxKey, project: ProjectKey, stream: HTTPStream, epoch: UInt64, after position: Position,
        head: Position, now: Milliseconds
    ) {
        self.inbox = inbox
        self.project = project
        self.stream = stream
        self.epoch = epoch
        self.position = position
        self.head = head
        written = now
    }

    /// The log has grown.
    func headMoved(to head: Position, in hub: isolated Hub) {
        self.head = max(self.head, head)
        pump(in: hub)
    }

    /// Fetches the next batch, where the client has taken the last one.
    func pump(in hub: isolated Hub) {
        guard !isFetching, position < head, stream.isEmpty else { return }
        isFetching = true
        let id = ObjectIdentifier(self)
        hub.logReader?.entries(of: inbox, after: position, count: Self.batchEntries, bytes: Self.batchBytes) { result in
            hub.service.post {
                hub.assumeIsolated { hub in hub.feeds[id]?.fetched(result, in: hub) }
            }
        }
    }

    private func fetched(_ result: Result<[LogEntry], HubStoreError>, in hub: isolated Hub) {
        isFetching = false
        var text: [UInt8] = []
        switch result {
        case .success(let entries):
            for entry in entries {
                text += Array("id: \(Hex64.text(epoch)).\(entry.position)\nevent: entry\ndata: ".utf8)
                // An entry is JSON without line breaks.
                text += entry.content.array
                text += Array("\n\n".utf8)
                position = entry.position
            }
        case .failure(let error):
            // Trimmed below the cursor, or deleted: whoever wants to go on begins anew.
            text = Array("event: gap\ndata: {\"code\":\"\(error.code.rawValue)\"}\n\n".utf8)
            write(text, now: hub.clock())
            return stream.end()
        }
        if !text.isEmpty { write(text, now: hub.clock()) }
    }

    func write(_ text: [UInt8], now: Milliseconds) {
        written = now
        stream.write(text)
    }

    /// Says that it is there, where nothing was said for a while.
    func tick(now: Milliseconds) {
        guard now - written >= Self.heartbeat, stream.isEmpty else { return }
        write(Array(":\n\n".utf8), now: now)
    }
}

extension Hub {
    /// Feeds at a time.
    static let feedLimit = 100

    /// Takes a feed; false where there are too many.
    func add(_ feed: LogFeed) -> Bool {
        guard feeds.count < Self.feedLimit, !isDraining else { return false }
        feeds[ObjectIdentifier(feed)] = feed
        feedsByInbox[feed.inbox, default: []].append(feed)
        feed.write(Array("retry: 2000\n\n".utf8), now: clock())
        return true
    }

    /// Nobody takes a feed any more.
    func remove(_ feed: LogFeed) {
        feeds[ObjectIdentifier(feed)] = nil
        feedsByInbox[feed.inbox]?.removeAll { $0 === feed }
        if feedsByInbox[feed.inbox]?.isEmpty == true { feedsByInbox[feed.inbox] = nil }
    }

    /// Tells those who look on of what a transaction appended.
    func tellFeeds(_ appended: [Appended]) {
        guard !feedsByInbox.isEmpty else { return }
        for entry in appended {
            for feed in feedsByInbox[entry.inbox] ?? [] { feed.headMoved(to: entry.position, in: self) }
        }
    }

    func tickFeeds(now: Milliseconds) {
        for feed in feeds.values { feed.tick(now: now) }
    }

    /// Ends what looks on for projects that have changed: who still may goes on where it was, by `Last-Event-ID`.
    func endFeeds(of projects: Set<ProjectKey>) {
        for feed in feeds.values where projects.contains(feed.project) { feed.stream.end() }
    }

    /// Ends what looks on at inboxes that are no more; all of it where none is named.
    func endFeeds(of inboxes: [InboxKey]? = nil) {
        for feed in feeds.values where inboxes?.contains(feed.inbox) ?? true { feed.stream.end() }
    }
}
