import Foundation
import PealModel
import Testing

@testable import Peal
@testable import PealCommand
@testable import PealReplica

/// A viewer without a terminal: keys and events go in, commands are carried out on lists in memory, and the screen comes out.
struct ViewerScript {
    var model: ViewerModel
    var lists: [ViewerList]
    /// Commands are kept instead of being carried out.
    var isHeld = false
    private(set) var held: [ViewerCommand] = []
    /// What was asked of the shell: quit, suspend, redraw.
    private(set) var asked: [ViewerCommand] = []
    /// How many windows were read.
    private(set) var loads = 0

    /// 30 November 2026, 14:00 UTC.
    static let now: Milliseconds = 1_796_047_200_000

    init(
        rows: Int = 24, columns: Int = 80, names: [String] = ["Mary"], items: Int = 3,
        query: DeliveredQuery = DeliveredQuery(), isOffline: Bool = false
    ) {
        setenv("TZ", "UTC", 1)
        model = ViewerModel(rows: rows, columns: columns, names: names, query: query, isOffline: isOffline)
        model.now = Self.now
        lists = names.map { _ in ViewerList(items) }
        run(model.begin())
        for index in names.indices { send(.status(tab: index, InboxStatus(state: .live))) }
    }

    mutating func send(_ event: ViewerEvent) { run(model.handle(event)) }

    mutating func press(_ keys: ViewerKey...) { for key in keys { send(.key(key)) } }

    /// Characters, one after the other.
    mutating func type(_ text: String) { for character in text { send(.key(.character(character))) } }

    mutating func run(_ commands: [ViewerCommand]) {
        var waiting = commands
        while !waiting.isEmpty {
            let command = waiting.removeFirst()
            if isHeld {
                held.append(command)
            } else {
                for event in carryOut(command) { waiting += model.handle(event) }
            }
        }
    }

    /// What was kept is carried out: each command's events come when it is done.
    mutating func release() {
        isHeld = false
        let commands = held
        held = []
        run(commands)
    }

    /// The first one that was kept, alone.
    mutating func releaseOne() {
        let command = held.removeFirst()
        for event in carryOut(command) { run(model.handle(event)) }
    }

    private mutating func carryOut(_ command: ViewerCommand) -> [ViewerEvent] {
        switch command {
        case .load(let tab, let load):
            loads += 1
            return [.loaded(tab: tab, generation: load.generation, .success(lists[tab].window(load)))]
        case .act(let tab, let number, let operation, _, let hold):
            lists[tab].perform(operation, number, isHeld: hold > 0)
            return [.acted(tab: tab, number: number, .success(true)), .changed(tab: tab)]
        case .markAll(let tab, let number, let query, _):
            lists[tab].markAll(query)
            return [.acted(tab: tab, number: number, .success(true)), .changed(tab: tab)]
        case .undo(let tab, let number, let instead):
            let isDone = lists[tab].undo(number, instead)
            return [.acted(tab: tab, number: number, .success(isDone)), .changed(tab: tab)]
        case .categories(let tab): return [.categories(tab: tab, ["billing", "news"])]
        case .redraw, .suspend, .quit, .reopen:
            asked.append(command)
            return []
        }
    }

    var screen: String { model.screen.text }
    var lines: [String] { screen.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) }
    /// The title of what is selected.
    var selected: String? { model.tab.selectedRow?.title }
}

/// An inbox in memory.
struct ViewerList {
    /// Newest first.
    var items: [DeliveredItem]
    private var before: [Int: [DeliveredItem]] = [:]

    init(_ count: Int) { items = (1...max(1, count)).reversed().prefix(count).map { Self.item($0) } }

    static func item(
        _ number: Int, title: String? = nil, content: String? = nil, category: String? = nil, type: String = "message",
        url: String? = nil
    ) -> DeliveredItem {
        let time = ViewerScript.now - 3_600_000
        let body = ItemBody(
            title: title ?? "Item \(number)", content: content ?? "Text of \(number)", type: type, category: category,
            actionURL: url, sent: time)
        return DeliveredItem(
            id: ItemID(time: 1_700_000_000_000, counter: UInt64(number), random: 1), number: Position(number),
            publish: "p\(number)", time: time, sent: time, type: type, category: category, topic: nil, expires: nil,
            silent: false, read: false, seen: false, archived: false, body: body.bytes[...])
    }

    mutating func add(_ item: DeliveredItem) { items.insert(item, at: 0) }

    private func listed(_ query: DeliveredQuery) -> [DeliveredItem] {
        items.filter { item in
            (query.read ?? item.read) == item.read && (query.seen ?? item.seen) == item.seen
                && (query.archived ?? item.archived) == item.archived
                && (query.categories ?? [item.category ?? ""]).contains(item.category ?? "")
                && (query.text.map { item.content.title?.lowercased().contains($0.lowercased()) ?? false } ?? true)
        }
    }

    func window(_ load: ViewerLoad) -> ViewerWindow {
        let all = listed(load.query)
        var range: Range<Int>
        switch load.place {
        case .newest: range = 0..<min(all.count, 2 * load.reach)
        case .oldest: range = max(0, all.count - 2 * load.reach)..<all.count
        case .around(let number):
            let middle = all.firstIndex { $0.number <= number } ?? all.count
            range = max(0, middle - load.reach)..<min(all.count, middle + load.reach)
        }
        let kept = items.filter { !$0.archived }
        let counts = Counts(
            total: Int64(kept.count), unread: Int64(kept.count { !$0.read }), unseen: Int64(kept.count { !$0.seen }))
        return ViewerWindow(
            rows: all[range].map { ViewerRow($0) }, hasNewer: range.lowerBound > 0,
            hasOlder: range.upperBound < all.count,
            counts: counts, view: ViewPosition(position: items.first?.number ?? 0, time: ViewerScript.now))
    }

    mutating func perform(_ operation: PealModel.Operation, _ number: Int, isHeld: Bool) {
        before = isHeld ? [number: items] : [:]
        switch operation {
        case .read(let ids, let on, _):
            change(ids) {
                $0.read = on; $0.seen = true
            }
        case .seen(let ids): change(ids) { $0.seen = true }
        case .archive(let ids, let on): change(ids) { $0.archived = on }
        case .delete(let ids): items.removeAll { ids.contains($0.id) }
        case .mark(.read, let position): change(items.filter { $0.number <= position }.map(\.id)) { $0.read = true }
        default: Issue.record("the viewer does no such thing: \(operation.name)")
        }
    }

    mutating func markAll(_ query: DeliveredQuery) { change(listed(query).map(\.id)) { $0.read = true } }

    mutating func undo(_ number: Int, _ instead: PealModel.Operation?) -> Bool {
        if let items = before.removeValue(forKey: number) {
            self.items = items
            return true
        }
        guard let instead else { return false }
        perform(instead, 0, isHeld: false)
        return true
    }

    private mutating func change(_ ids: [ItemID], _ body: (inout DeliveredItem) -> Void) {
        let ids = Set(ids)
        for index in items.indices where ids.contains(items[index].id) { body(&items[index]) }
    }
}
