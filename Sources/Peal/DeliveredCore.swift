internal import Foundation
internal import PealModel
internal import PealReplica
internal import Synchronization

/// All inboxes of a client as one list. Nothing is kept of it: each page is merged from a page of each inbox.
final class DeliveredCore: Sendable {
    /// An inbox that takes part.
    struct Source {
        /// Of its file's name; what a cursor calls it.
        let name: UInt64
        let core: UserCore
        /// The device's own inbox; the others are users'.
        var isDevice: Bool { core.identity.isDevice }
    }

    let connected: ConnectedUsers
    let device: DeviceSource
    /// How often a live list looks what somebody else has written into the device's file.
    private static let watchInterval = Duration.milliseconds(200)

    init(_ connected: ConnectedUsers, _ device: DeviceSource) {
        self.connected = connected
        self.device = device
    }

    /// Those that are there now, in an order that stays.
    func sources() -> [Source] {
        var paths = connected.byPath.mapValues(\.core)
        if let core = device.core { paths[device.path] = core }
        return paths.sorted { $0.key < $1.key }.map { Source(name: Self.name($0.key), core: $0.value) }
    }

    private static func name(_ path: String) -> UInt64 {
        PealClient.checksum(String(path[(path.lastIndex(of: "/") ?? path.startIndex)...]))
    }

    /// The inbox of a notification.
    func core(of identity: InboxIdentity, path: String) throws(PealError) -> UserCore {
        let core = if case .device = identity { device.core } else { connected.user(path)?.core }
        guard let core else { throw UserCore.disconnected }
        return core
    }

    // MARK: Pages

    /// What one inbox has for a page.
    private struct Part {
        let name: UInt64
        var notifications: ArraySlice<DeliveredNotification>
        let hasMore: Bool
        let isPartial: Bool
        /// The number of the last one that was on a page, this one or one before.
        var place: Position?
    }

    func page(
        _ query: NotificationQuery, after cursor: NotificationCursor?, limit: Int
    ) async throws(PealError) -> NotificationPage {
        guard (1...1_000).contains(limit) else { throw PealError(.invalid, "a page has 1 to 1,000 notifications") }
        var parts: [Part] = []
        let sources = sources()
        for source in sources {
            // Interests choose among what came to the device: of a user's copy nothing is listed then.
            let others = source.isDevice && query.interests == nil ? sources.filter { !$0.isDevice } : []
            if let part = try await part(source, query.delivered, cursor, limit, without: others) { parts.append(part) }
        }
        var list: [DeliveredNotification] = []
        while list.count < limit {
            // Of two at one time the first inbox's; within an inbox its own order.
            var newest: Int?
            for (index, part) in parts.enumerated() {
                guard let first = part.notifications.first else { continue }
                guard let best = newest.flatMap({ parts[$0].notifications.first }),
                    best.notificationDeliveryDate >= first.notificationDeliveryDate
                else {
                    newest = index
                    continue
                }
            }
            guard let newest, let next = parts[newest].notifications.popFirst() else { break }
            parts[newest].place = Position(next.number)
            list.append(next)
        }
        var end: NotificationCursor?
        if let last = list.last, parts.contains(where: { $0.hasMore || !$0.notifications.isEmpty }) {
            let places = parts.compactMap { part in part.place.map { (part.name, $0) } }
            // Of users who are away for now the place is kept.
            let known = (cursor?.places ?? [:]).merging(places) { _, new in new }
            end = NotificationCursor(time: last.deliveryTime, places: known)
        }
        return NotificationPage(notifications: list, next: end, isPartial: parts.contains(where: \.isPartial))
    }

    /// Nil for an inbox that ended meanwhile.
    ///
    /// - Parameter others: inboxes whose copies of a publish are listed in the place of this one's.
    private func part(
        _ source: Source, _ query: DeliveredQuery, _ cursor: NotificationCursor?, _ limit: Int, without others: [Source]
    ) async throws(PealError) -> Part? {
        let place = cursor?.places[source.name]
        var bounded = query
        // An inbox of which nothing was on a page yet begins where the page ended.
        if let cursor, place == nil { bounded.until = min(query.until ?? .max, cursor.time + 1) }
        let wanted = bounded
        do throws(PealError) {
            let identity = source.core.identity
            var list: [DeliveredNotification] = []
            var next = place.map { PageCursor(before: $0) }
            while true {
                let after = next
                let page = try await source.core.call { (inbox) throws(PealError) in
                    try inbox.page(wanted, after: after, limit: limit)
                }
                let found = page.items.map { DeliveredNotification($0, in: identity) }
                let copied = try await copied(found, in: others)
                list += found.filter { !copied.contains($0.publish) }
                next = page.next
                guard list.count < limit, next != nil else {
                    return Part(
                        name: source.name, notifications: list[...], hasMore: next != nil, isPartial: page.isPartial,
                        place: place)
                }
            }
        } catch  where error.code == .disconnected {
            return nil
        }
    }

    /// Those publishes of notifications that other inboxes have, too.
    private func copied(
        _ notifications: [DeliveredNotification], in others: [Source]
    ) async throws(PealError) -> Set<String> {
        var publishes: Set<String> = []
        guard !notifications.isEmpty else { return publishes }
        for other in others {
            do throws(PealError) {
                publishes.formUnion(
                    try await other.core.call { (inbox) throws(PealError) in
                        var found: [String] = []
                        for one in notifications where try inbox.copy(of: one) != nil { found.append(one.publish) }
                        return found
                    })
            } catch  where error.code == .disconnected {
                continue
            }
        }
        return publishes
    }

    /// Reads the copies of a notification: a user's is the device's too, and the other way about (docs/sync.md section 8).
    func readCopies(of notification: DeliveredNotification) async throws(PealError) {
        for source in sources() where source.isDevice != notification.inbox.isDevice {
            do throws(PealError) {
                try await source.core.call { (inbox) throws(PealError) in
                    guard let copy = try inbox.copy(of: notification), !copy.read else { return }
                    try inbox.perform(.read(items: [copy.id], on: true, passive: false))
                }
            } catch  where error.code == .disconnected {
                continue
            }
        }
    }

    /// Every page.
    func all(_ query: NotificationQuery) async throws(PealError) -> [DeliveredNotification] {
        var list: [DeliveredNotification] = []
        var cursor: NotificationCursor?
        repeat {
            let page = try await page(query, after: cursor, limit: 1_000)
            list += page.notifications
            cursor = page.next
        } while cursor != nil
        return list
    }

    // MARK: Live

    /// The first page, now and whenever it is different.
    func live(_ query: NotificationQuery, limit: Int) -> AsyncStream<NotificationPage> {
        let (stream, pages) = AsyncStream.makeStream(of: NotificationPage.self, bufferingPolicy: .bufferingNewest(1))
        let task = Task {
            var last: NotificationPage?
            for await _ in changes() {
                guard let page = try? await page(query, after: nil, limit: limit), page != last else { continue }
                last = page
                pages.yield(page)
            }
            pages.finish()
        }
        pages.onTermination = { _ in task.cancel() }
        return stream
    }

    /// Now, and whenever any item of any inbox may be different, or inboxes come and go. Ends with its reader.
    func changes() -> AsyncStream<Void> {
        let (ticks, tick) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (members, member) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let membership = connected.membership.stream()
        let task = Task { [self] in
            async let users: Void = { for await _ in membership { member.yield() } }()
            async let device: Void = {
                var last = await self.device.version()
                while (try? await Task.sleep(for: Self.watchInterval)) != nil {
                    let version = await self.device.version()
                    if version != last { member.yield() }
                    last = version
                }
            }()
            var watchers: [ObjectIdentifier: Task<Void, Never>] = [:]
            member.yield()
            for await _ in members {
                let cores = Dictionary(uniqueKeysWithValues: sources().map { (ObjectIdentifier($0.core), $0.core) })
                for (id, watcher) in watchers where cores[id] == nil {
                    watcher.cancel()
                    watchers[id] = nil
                }
                for (id, core) in cores where watchers[id] == nil { watchers[id] = Self.watch(core, tick) }
                tick.yield()
            }
            for watcher in watchers.values { watcher.cancel() }
            _ = await (users, device)
        }
        tick.onTermination = { _ in task.cancel() }
        return ticks
    }

    private static func watch(_ core: UserCore, _ tick: AsyncStream<Void>.Continuation) -> Task<Void, Never> {
        Task {
            guard let inbox = try? await core.call({ (inbox) in inbox }) else { return }
            let changes = inbox.changes
            // What came before this was watched.
            tick.yield()
            for await change in changes where change.items || change.everything { tick.yield() }
        }
    }
}

extension Inbox {
    /// This inbox's item of the publish of another inbox's notification.
    fileprivate func copy(of notification: DeliveredNotification) throws(PealError) -> DeliveredItem? {
        try reading { () throws(ReplicaError) in
            try replica.copy(
                ofPublish: notification.publish, sent: notification.sentDate.milliseconds,
                delivered: notification.deliveryTime)
        }
    }
}

extension InboxIdentity {
    fileprivate var isDevice: Bool { if case .device = self { true } else { false } }
}

extension DeliveredNotification {
    /// The hub's time of the delivery, as it was.
    fileprivate var deliveryTime: Milliseconds { notificationDeliveryDate.milliseconds }
}

extension Date {
    fileprivate var milliseconds: Milliseconds { Milliseconds((timeIntervalSince1970 * 1_000).rounded()) }
}
