import PealModel
import Testing

/// One item, two authors and every sequence of up to three acts: each with every view that its author can have had and
/// with intent times in every order.
private struct SmallScope {
    /// An accepted act on the item, for the causal order.
    struct Accepted {
        var position: Position
        var observed: Position
        var author: Author
        var value: Bool
    }

    let operations: [PealModel.Operation] = [
        read(item(1)), read(item(1), on: false), shown(item(1)), .mark(.read, upTo: 1), .seen(items: [item(1)]),
        .delete(items: [item(1)]),
    ]
    var checked = 0

    mutating func explore(_ inbox: Inbox, _ accepted: [Accepted], acts: Int) {
        if acts == 0 { return }
        for author in [phone, tablet] {
            for operation in operations {
                for observed in 1...inbox.head {
                    for wall in [100, 200, 300] as [Milliseconds] {
                        var next = inbox
                        let act = next.act(operation, by: author, observed: observed, at: wall)
                        var all = accepted
                        if let value = accepts(act) {
                            all.append(Accepted(position: next.head, observed: observed, author: author, value: value))
                        }
                        check(inbox, next, all)
                        explore(next, all, acts: acts - 1)
                    }
                }
            }
        }
    }

    /// The value that an act gave the item's `read`; nil where it gave none.
    private func accepts(_ act: Act) -> Bool? {
        switch act.effect {
        case .read(_, let on, _, _, _): on
        case .mark(_, _, let except): except.isEmpty ? true : nil
        default: nil
        }
    }

    private mutating func check(_ before: Inbox, _ after: Inbox, _ accepted: [Accepted]) {
        checked += 1
        var acts: String { "\(after.log.dropFirst().map(\.kind))" }
        let (old, new) = (before.state.items[item(1)]!, after.state.items[item(1)]!)
        if old.deleted, !new.deleted { Issue.record("deleted came back: \(acts)") }
        if before.isSeen(item(1)), !after.isSeen(item(1)) { Issue.record("seen was taken back: \(acts)") }
        if after.isRead(item(1)), !after.isSeen(item(1)) { Issue.record("read and not seen: \(acts)") }
        guard !new.deleted else { return }
        let newest = newest(accepted)
        let value = after.isRead(item(1))
        if newest.isEmpty ? value : !newest.contains(where: { $0.value == value }) {
            Issue.record("read is \(value), causally older than \(newest): \(acts)")
        }
    }

    /// The accepted acts that no other accepted act had seen, directly or through others.
    private func newest(_ accepted: [Accepted]) -> [Accepted] {
        var older = Set<Position>()
        for later in accepted.reversed() {
            for act in accepted where act.position < later.position {
                if act.position <= later.observed || act.author == later.author { older.insert(act.position) }
            }
        }
        return accepted.filter { !older.contains($0.position) }
    }
}

@Test func `no sequence of three acts of two authors leaves a value that is causally older than another`() {
    var scope = SmallScope()
    var inbox = Inbox()
    inbox.publish(item(1))
    scope.explore(inbox, [], acts: 3)
    #expect(scope.checked == 36 + 36 * 72 + 36 * 72 * 108)
}
