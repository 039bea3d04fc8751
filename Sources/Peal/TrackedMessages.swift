internal import Foundation
internal import PealModel
internal import PealReplica
internal import Synchronization

/// What happened to notifications of which only the number is known, because a push carries no more. It is kept until the notification is here: a push
/// is often opened before this device has heard of the item from the hub.
final class TrackedMessages: Sendable {
    private struct Tracked: Codable, Equatable {
        var number: Int
        var event: String
        /// When, in milliseconds since 1970 by this device's clock.
        var time: Int64
    }

    private let file: StateFile
    private let delivered: DeliveredCore
    private let log: @Sendable (String) -> Void
    private let worker = Mutex<Task<Void, Never>?>(nil)
    /// The newest of what waits are kept,
    private static let maximum = 1_000
    /// and for 72 hours.
    private static let maximumAge: Int64 = 72 * 3_600_000
    /// By how much this device's clock may be behind the hub's.
    private static let clockSkew: Int64 = 600_000

    init(directory: String, _ delivered: DeliveredCore, log: @escaping @Sendable (String) -> Void) {
        file = StateFile(path: directory + "/tracked.json")
        self.delivered = delivered
        self.log = log
    }

    deinit { worker.withLock { $0?.cancel() } }

    /// Keeps it, durably, and records it as soon as it can.
    func track(_ event: String, _ number: Int) {
        do throws(PealError) {
            try update { tracked in
                guard !tracked.contains(where: { $0.number == number && $0.event == event }) else { return }
                tracked.append(Tracked(number: number, event: event, time: Self.now))
            }
        } catch {
            log("that a notification was \(event) is not kept: \(error)")
        }
        resume()
    }

    /// Goes on with what waits, from the beginning.
    func resume() {
        guard file.isThere else { return }
        worker.withLock { worker in
            worker?.cancel()
            worker = Task { [weak self, delivered] in
                for await _ in delivered.changes() {
                    guard let self, await !isDone() else { return }
                }
            }
        }
    }

    /// Records what can be recorded; whether nothing is left, and the worker ends.
    private func isDone() async -> Bool {
        let waiting = (try? update { _ in }) ?? []
        for tracked in waiting where await record(tracked) {
            _ = try? update { $0.removeAll { $0 == tracked } }
        }
        return worker.withLock { worker in
            // Another worker has begun where this one is cancelled.
            guard !Task.isCancelled else { return true }
            guard (try? update { _ in })?.isEmpty ?? true else { return false }
            worker = nil
            return true
        }
    }

    /// A number is one inbox's. Where several have an item of it, it is the newest that had been delivered by then.
    private func record(_ tracked: Tracked) async -> Bool {
        var newest: (item: DeliveredItem, core: UserCore)?
        for source in delivered.sources() {
            let item = try? await source.core.call { (inbox) throws(PealError) in
                try inbox.item(number: Position(tracked.number))
            }
            guard let item = item ?? nil, item.time <= tracked.time + Self.clockSkew else { continue }
            if newest.map({ $0.item.time < item.time }) ?? true { newest = (item, source.core) }
        }
        guard let (item, core) = newest else { return false }
        do throws(PealError) {
            let notification = DeliveredNotification(item, in: core.identity)
            try await core.call { (inbox) throws(PealError) in _ = try inbox.record(tracked.event, of: notification) }
            return true
        } catch {
            return error.code == .gone
        }
    }

    private static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

    /// Changes what waits, durably; what is too old goes. Nothing that waits is no file.
    @discardableResult
    private func update(_ body: (inout [Tracked]) -> Void) throws(PealError) -> [Tracked] {
        try file.locked { () throws(PealError) in
            let data = try file.read()
            let before = data.flatMap { try? JSONDecoder().decode([Tracked].self, from: $0) } ?? []
            var tracked = before.filter { abs(Self.now - $0.time) <= Self.maximumAge }
            body(&tracked)
            tracked = tracked.suffix(Self.maximum)
            if tracked.isEmpty {
                if data != nil { file.remove() }
            } else if tracked != before {
                guard let data = try? JSONEncoder().encode(tracked) else {
                    throw PealError(.file, "what happened to notifications cannot be encoded")
                }
                try file.write(data)
            }
            return tracked
        }
    }
}

extension PealClient {
    /// Records that a notification was opened, by its ``DeliveredNotification/number``, as a push carries it: durably, now where the notification is
    /// on this device, else when it comes, within 72 hours. Where several inboxes have one of that number, it is the one that was delivered last.
    /// Not blocking for the network.
    public func trackMessage(id: Int) { track("opened", id) }

    func track(_ event: String, _ id: Int) { tracked.track(event, id) }
}
