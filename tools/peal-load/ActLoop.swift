import Foundation
import Peal
import PealModel
import PealReplica

/// Looks at a page, acts on it, and says both; then again after a pause.
struct ActLoop {
    private static let limit = 30
    private let options: Options
    private let control: Control

    init(_ options: Options, _ control: Control) {
        self.options = options
        self.control = control
    }

    func run() async throws {
        let client = try PealClient(
            hub: options.hub, apiKey: options.key, logLevel: .debug, directory: options.directory,
            log: { Lines.write("log", ["t": now()], ["text": $0]) })
        let inbox =
            if let user = options.user { try await client.user(externalID: user) } else { try await client.device() }
        await inbox.connect()
        let statuses = Task { await tell(inbox) }
        defer { statuses.cancel() }
        var random = SplitMix64(seed: options.seed)
        if let name = options.interest, try await !inbox.interests().contains(name) {
            try await act(inbox, .interest(name: name, on: true), observed: inbox.view())
        }
        while !control.isQuiet {
            let page = try await look(inbox, &random)
            if let operation = choose(page, &random) {
                try await act(inbox, operation, observed: page.view)
            }
            if Int.random(in: 0..<4, using: &random) == 0 { try await count(inbox) }
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...2 * options.pause, using: &random)))
        }
        while true {
            _ = try await look(inbox, &random)
            try await count(inbox)
            let view = try await inbox.view()
            let outbox = try await inbox.outbox()
            let settled = await inbox.isSettled
            let dead = outbox.count { $0.state == .dead }
            Lines.write(
                "quiet",
                [
                    "t": now(), "at": view.position, "outbox": Int64(outbox.count - dead), "dead": Int64(dead),
                    "settled": settled ? 1 : 0,
                ])
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    private func tell(_ inbox: Inbox) async {
        for await status in await inbox.statuses {
            Lines.write("status", ["t": now()], ["state": "\(status.state)", "message": status.message ?? ""])
        }
    }

    // MARK: Reads

    private func look(_ inbox: Inbox, _ random: inout SplitMix64) async throws -> DeliveredPage {
        var after: PageCursor?
        let head = try await inbox.view().position
        if head > 1, Int.random(in: 0..<3, using: &random) == 0 {
            after = PageCursor(before: Position.random(in: 2...head, using: &random))
        }
        let start = now()
        let page = try await inbox.page(DeliveredQuery(archived: nil), after: after, limit: Self.limit)
        let end = now()
        let asked: Lines.Numbers = [
            "t0": start, "t": end, "before": after?.before ?? 0, "limit": Int64(Self.limit),
        ]
        Lines.write("read", asked, page: page)
        return page
    }

    /// The counts, where nothing was folded meanwhile, so that they are of a known position.
    private func count(_ inbox: Inbox) async throws {
        let start = now()
        let before = try await inbox.view()
        let counts = try await inbox.counts()
        let after = try await inbox.view()
        let end = now()
        guard before == after else { return }
        Lines.write(
            "counts",
            [
                "t0": start, "t": end, "at": before.position, "total": counts.total, "unread": counts.unread,
                "unseen": counts.unseen,
            ])
    }

    // MARK: Acts

    private func act(_ inbox: Inbox, _ operation: PealModel.Operation, observed: ViewPosition) async throws {
        let start = now()
        let uid = try await inbox.perform(operation, observed: observed)
        Lines.write("act", ["t0": start, "t": now()], ["uid": Hex64.text(uid), "op": operation.name])
    }

    private func choose(_ page: DeliveredPage, _ random: inout SplitMix64) -> PealModel.Operation? {
        let draw = Int.random(in: 0..<1_000, using: &random)
        if draw < 40 { return rest(&random) }
        if draw < 50 { return .mark(draw < 45 ? .read : draw < 48 ? .seen : .archive, upTo: page.view.position) }
        let count = Int.random(in: 1...3, using: &random)
        let items = page.items.shuffled(using: &random).prefix(count).map(\.id)
        guard let first = items.first else { return nil }
        switch draw {
        case ..<90: return .track(item: first, event: draw < 70 ? "opened" : "clicked", data: nil)
        case ..<110: return .delete(items: [first])
        case ..<480: return .read(items: items, on: true, passive: false)
        case ..<700: return .read(items: items, on: false, passive: false)
        case ..<800: return .seen(items: items)
        case ..<900: return .archive(items: items, on: true)
        default: return .archive(items: items, on: false)
        }
    }

    /// What is not about an item: a preference of a user, an interest of a device.
    private func rest(_ random: inout SplitMix64) -> PealModel.Operation {
        let number = Int.random(in: 1...3, using: &random)
        let on = Bool.random(using: &random)
        return options.user == nil
            ? .interest(name: "loose-\(number)", on: on)
            : .preference(category: "category-\(number)", channel: "email", enabled: on)
    }
}
