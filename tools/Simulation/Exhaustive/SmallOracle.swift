import PealModel

/// The rules of docs/sync.md section 5 once more, for one item and as plainly as they can be said: what the hub decides is held
/// against it. It knows who had seen what from the explorer, not from a mutation.
struct SmallOracle: Hashable {
    /// An act as it was made.
    struct Made: Hashable {
        var device: Int
        var operation: SmallWorld.Act
        /// The last position that the person had seen.
        var seen: Position
        var time: Milliseconds
    }

    struct Register: Hashable {
        var value: Bool
        var passive: Bool
        var since: Position
        var rank: Position
        var time: Milliseconds
        var device: Int
    }

    var read: Register?
    var archived: Register?
    var isSeen = false
    var isDeleted = false
    /// The newest mark that covers the item; 0 for none.
    var readMark: Position = 0
    var archiveMark: Position = 0

    var isRead: Bool { Self.effective(read, readMark) }
    var isArchived: Bool { Self.effective(archived, archiveMark) }

    private static func effective(_ register: Register?, _ mark: Position) -> Bool {
        guard let register, register.rank >= mark else { return mark > 0 }
        return register.value
    }

    /// An act is decided at a position, with the time that the hub gives it.
    mutating func take(_ made: Made, at position: Position, time: Milliseconds) {
        guard !isDeleted else {
            if case .readAll = made.operation { readMark = position }
            if case .archiveAll = made.operation { archiveMark = position }
            return
        }
        switch made.operation {
        case .read: Self.set(&read, true, readMark, made, position, time)
        case .unread: Self.set(&read, false, readMark, made, position, time)
        case .show: Self.set(&read, true, readMark, made, position, time, passive: true)
        case .archive: Self.set(&archived, true, archiveMark, made, position, time)
        case .unarchive: Self.set(&archived, false, archiveMark, made, position, time)
        case .delete: isDeleted = true
        case .see: isSeen = true
        case .readAll:
            Self.mark(&read, &readMark, made, position)
            isSeen = true
        case .archiveAll: Self.mark(&archived, &archiveMark, made, position)
        }
        // Who reads has seen, also where another choice stands.
        switch made.operation {
        case .read, .show: isSeen = true
        default: break
        }
    }

    private static func set(
        _ register: inout Register?, _ value: Bool, _ mark: Position, _ made: Made, _ position: Position,
        _ time: Milliseconds, passive: Bool = false
    ) {
        if passive, effective(register, mark) == value { return }
        if let current = register, current.since > made.seen, current.device != made.device {
            if passive != current.passive {
                if passive { return }
            } else if time <= current.time {
                return
            }
        }
        register = Register(
            value: value, passive: passive, since: position, rank: position, time: time, device: made.device)
    }

    private static func mark(_ register: inout Register?, _ mark: inout Position, _ made: Made, _ position: Position) {
        if let current = register, !current.value, current.since > made.seen, current.device != made.device,
            !effective(register, mark)
        {
            register?.rank = position
        }
        mark = position
    }

    /// What differs from the hub's state; nil where nothing does.
    func difference(from state: InboxState, _ id: ItemID) -> String? {
        guard let item = state.items[id] else { return "the item is no more" }
        if item.deleted != isDeleted { return "deleted is \(item.deleted)" }
        guard !isDeleted else { return nil }
        if state.marks.isRead(item) != isRead { return "read is \(!isRead)" }
        if state.marks.isArchived(item) != isArchived { return "archived is \(!isArchived)" }
        if state.marks.isSeen(item) != isSeen { return "seen is \(!isSeen)" }
        return nil
    }
}
