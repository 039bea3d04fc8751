/// The additive sum of an inbox's state, by which a replica and the hub find out that they differ (docs/sync.md section 8).
///
/// The sum is the wrapping sum of the hashes of all **canonical rows**, so it depends on no order, and a store that changes a
/// row subtracts the hash of the old one and adds that of the new one. A field that is absent has no row, so a column that
/// a later version adds changes the sum of nothing that does not use it. A deleted item has no row at all: a replica keeps
/// nothing of it.
///
/// | row | words after the kind |
/// |---|---|
/// | an item that is there | position, the two halves of its id |
/// | its `seen` flag, where raised | position |
/// | its `read` or `archived` register, where there is one | position, flags, since, rank, itime, uid, the author's two halves |
/// | a mark of a frontier | kind, upTo, version |
/// | an interest of a device | FNV-1a of its UTF-8, its length |
/// | a preference cell | category, channel (each as an interest), flags, since, itime, uid, author; the same without itime of both opt-outs |
/// | a fact about an item | position, event (as an interest), time |
///
/// Every kind of row is a function here, and ``InboxState/sum`` adds all of them: a new kind joins in both places, then in the
/// stores of the hub and of the replica. What an item shows (its body) and what a fact carries never change and no rule reads them;
/// they are left out. So is the catalogue: a replica has it whole from one entry or page, and the hub judges by its own.
///
/// It tells mistakes from agreement and is no defence against anybody who wants it to agree.
public enum InboxSum {
    /// What a row is of. The raw value is hashed first: never change one.
    private enum Kind: UInt64 {
        case item = 1
        case seen = 2
        case read = 3
        case archived = 4
        case mark = 5
        case interest = 6
        case preference = 7
        case fact = 8
    }

    // MARK: Rows

    /// An item that is there and that nobody has touched.
    public static func item(_ id: ItemID, at position: Position) -> UInt64 {
        var hash = RowHash(Kind.item.rawValue)
        hash.add(position)
        hash.add(id.high)
        hash.add(id.low)
        return hash.value
    }

    /// The raised `seen` flag of an item.
    public static func seen(at position: Position) -> UInt64 {
        var hash = RowHash(Kind.seen.rawValue)
        hash.add(position)
        return hash.value
    }

    /// The `read` register of an item; 0 for none.
    public static func read(_ register: Register?, at position: Position) -> UInt64 {
        register.map { self.register($0, .read, position) } ?? 0
    }

    /// The `archived` register of an item; 0 for none.
    public static func archived(_ register: Register?, at position: Position) -> UInt64 {
        register.map { self.register($0, .archived, position) } ?? 0
    }

    private static func register(_ register: Register, _ kind: Kind, _ position: Position) -> UInt64 {
        var hash = RowHash(kind.rawValue)
        hash.add(position)
        var flags: UInt64 = (register.value ? 1 : 0) | (register.passive ? 2 : 0)
        var author: (high: UInt64, low: UInt64) = (0, 0)
        if case .replica(let id) = register.author {
            flags |= 4
            author = (id.high, id.low)
        }
        hash.add(flags)
        hash.add(register.since)
        hash.add(register.rank)
        hash.add(register.itime)
        hash.add(register.uid)
        hash.add(author.high)
        hash.add(author.low)
        return hash.value
    }

    /// One mark of a frontier.
    public static func mark(_ kind: MarkKind, _ mark: Mark) -> UInt64 {
        var hash = RowHash(Kind.mark.rawValue)
        switch kind {
        case .read: hash.add(1 as UInt64)
        case .seen: hash.add(2 as UInt64)
        case .archive: hash.add(3 as UInt64)
        }
        hash.add(mark.upTo)
        hash.add(mark.version)
        return hash.value
    }

    /// One interest of a device.
    public static func interest(_ name: String) -> UInt64 {
        var hash = RowHash(Kind.interest.rawValue)
        hash.add(name)
        return hash.value
    }

    /// What a user chose for a category and a channel.
    public static func preference(_ key: PreferenceKey, _ cell: PreferenceCell) -> UInt64 {
        var hash = RowHash(Kind.preference.rawValue)
        hash.add(key.category)
        hash.add(key.channel)
        let register = cell.register
        hash.add(register.value ? 1 : 0 as UInt64)
        hash.add(register.since)
        hash.add(register.itime)
        hash.add(register.uid)
        hash.add(register.author)
        for off in [cell.off, cell.otherOff] {
            hash.add(off == nil ? 0 : 1 as UInt64)
            guard let off else { continue }
            hash.add(off.since)
            hash.add(off.uid)
            hash.add(off.author)
        }
        return hash.value
    }

    /// A fact about the item at a position.
    public static func fact(_ fact: Fact, at position: Position) -> UInt64 {
        var hash = RowHash(Kind.fact.rawValue)
        hash.add(position)
        hash.add(fact.event)
        hash.add(fact.time)
        return hash.value
    }

    // MARK: Together

    /// Everything of one item; 0 for a deleted one.
    public static func of(_ id: ItemID, _ state: ItemState) -> UInt64 {
        guard !state.deleted else { return 0 }
        let position = state.position
        return item(id, at: position) &+ (state.seen ? seen(at: position) : 0)
            &+ read(state.read, at: position) &+ archived(state.archived, at: position)
    }

    /// Every mark of every frontier.
    public static func of(_ marks: Marks) -> UInt64 {
        var sum: UInt64 = 0
        for kind in MarkKind.allCases {
            for mark in marks[kind].marks { sum &+= self.mark(kind, mark) }
        }
        return sum
    }

    /// All interests.
    public static func of(_ interests: some Sequence<String>) -> UInt64 {
        interests.reduce(0) { $0 &+ interest($1) }
    }
}

extension InboxState {
    /// The additive sum over every canonical row (docs/sync.md section 8), computed anew.
    public var sum: UInt64 {
        var sum = InboxSum.of(marks)
        for (id, state) in items { sum &+= InboxSum.of(id, state) }
        if let names = interests() { sum &+= InboxSum.of(names) }
        for (key, cell) in cells { sum &+= InboxSum.preference(key, cell) }
        for (id, all) in facts {
            guard let position = items[id]?.position else { continue }
            for fact in all { sum &+= InboxSum.fact(fact, at: position) }
        }
        return sum
    }
}

/// The hash of one canonical row: each word is folded in by an xor and the finaliser of SplitMix64, which spreads one changed
/// bit over all 64.
struct RowHash {
    private(set) var value: UInt64 = 0x9E37_79B9_7F4A_7C15

    /// A row of a kind.
    init(_ kind: UInt64) { add(kind) }

    /// Folds a word in.
    @inline(__always)
    mutating func add(_ word: UInt64) {
        var mixed = value ^ word
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        // Not the bare finaliser: it maps 0 to 0.
        value = (mixed ^ mixed >> 31) &+ 0x9E37_79B9_7F4A_7C15
    }

    /// Folds a signed word in.
    @inline(__always)
    mutating func add(_ word: Int64) { add(UInt64(bitPattern: word)) }

    /// Folds an author in: whether it is a replica, and which.
    mutating func add(_ author: Author) {
        guard case .replica(let id) = author else { return add(0 as UInt64) }
        add(1 as UInt64)
        add(id.high)
        add(id.low)
    }

    /// Folds a text in: FNV-1a of its UTF-8, and its length.
    mutating func add(_ text: String) {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        var count: UInt64 = 0
        for byte in text.utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
            count += 1
        }
        add(hash)
        add(count)
    }
}
