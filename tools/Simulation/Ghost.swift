import PealHub
import PealModel
import PealReplica

/// The checker: it sees everything at once, keeps what really happened, and holds both ends to the invariants of
/// docs/sync.md section 9. Its knowledge of who had seen what comes from the world, never from a frame.
final class Ghost {
    /// An act of a person, or of the API.
    struct Person {
        var uid: UInt64
        var operation: Operation
        /// What was on the screen: a position, and the chain there, so that another timeline is told apart.
        var seen: Position
        var chain: UInt64
        var time: Milliseconds
        var device: Int?
        var author: Author
        var isUndone = false
        /// It was offered again to a hub that went back, as of what its replica could tell that both have in common.
        var isLowered = false
        /// Its only copy may be gone: the disk was rolled back.
        var mayBeLost = false
    }

    /// One entry as it was committed.
    struct Line {
        var entry: Entry
        var chain: UInt64
        var time: Milliseconds
    }

    /// One register as the checker knows it.
    struct Choice {
        var value: Bool
        var passive: Bool
        var since: Position
        var author: Author
        var uid: UInt64
    }

    struct Inbox {
        var lines: [Line] = []
        /// The fold through each position; the first is of position 0.
        var states: [InboxState]
        var numbers: Set<String> = []
        var effects: Set<UInt64> = []
        var publishes: Set<String> = []
        var reads: [ItemID: Choice] = [:]
        var archives: [ItemID: Choice] = [:]
        /// Every opt-out of each cell.
        var offs: [PreferenceKey: [Choice]] = [:]
    }

    unowned let world: World
    var inboxes: [Int64: Inbox] = [:]
    var persons: [UInt64: Person] = [:]
    private var order: [UInt64] = []
    private var inboxOfDevice: [Int: Int64] = [:]
    /// Matched inboxes of each publish that was answered, unless a restore lost it.
    private var matched: [(name: String, count: Int)] = []
    /// The chain before each chain, of lost timelines too.
    private var parents: [UInt64: UInt64] = [:]

    init(world: World) { self.world = world }

    // MARK: What happens

    func acted(_ uid: UInt64, _ operation: Operation, _ view: ViewPosition, _ device: SimDevice) {
        let cursor = device.store.cursor
        persons[uid] = Person(
            uid: uid, operation: operation, seen: view.position,
            chain: ancestor(of: cursor, at: view.position), time: world.now,
            device: device.id,
            author: .replica(device.store.replicaID))
        order.append(uid)
    }

    func actedByAPI(_ uid: UInt64, _ operation: Operation, _ inbox: Int64) {
        persons[uid] = Person(
            uid: uid, operation: operation, seen: .max, chain: 0, time: world.now, device: nil,
            author: .api,
            mayBeLost: true)
        order.append(uid)
    }

    /// The replica has found that the hub went back: it tells by its items what both have in common, and keeps less of what was seen
    /// than there is, where the log above the newest item is the same.
    func lowered(_ device: SimDevice) {
        let acts = ((try? device.store.waiting()) ?? []) + ((try? device.store.settled()) ?? [])
        for uid in acts { persons[uid]?.isLowered = true }
    }

    func undone(_ uid: UInt64) { persons[uid]?.isUndone = true }

    func retried(_ uid: UInt64, as new: UInt64, _ device: SimDevice) {
        guard var person = persons[uid] else { return }
        persons[uid]?.isUndone = true
        person.uid = new
        person.author = .replica(device.store.replicaID)
        persons[new] = person
        order.append(new)
    }

    /// What the device did after its backup may be gone; that it was there before does not help what it forgot.
    func restored(_ device: SimDevice) {
        for uid in order where persons[uid]?.device == device.id { persons[uid]?.mayBeLost = true }
    }

    func cloned(_ device: SimDevice, as clone: SimDevice) { inboxOfDevice[clone.id] = inboxOfDevice[device.id] }

    func published(_ name: String, _ count: Int) { matched.append((name, count)) }

    /// What the hub holds now, to be kept with its backup.
    struct Memory {
        var inboxes: [Int64: Inbox]
        var matched: [(name: String, count: Int)]
        var description: String {
            inboxes.sorted { $0.key < $1.key }.map { "inbox \($0.key) at \($0.value.lines.count)" }
                .joined(separator: ", ")
        }
    }

    var memory: Memory { Memory(inboxes: inboxes, matched: matched) }

    /// The hub is what it was at a backup: journals must bring later acts back, later publishes are gone.
    func restored(to memory: Memory) {
        inboxes = memory.inboxes
        matched = memory.matched
        // An inbox that the hub has never heard of: its key will be given to another.
        for (device, inbox) in inboxOfDevice where inboxes[inbox] == nil { inboxOfDevice[device] = nil }
    }

    private func isDevice(_ inbox: Int64) -> Bool {
        inboxOfDevice.contains { device, key in
            guard key == inbox, case .device = world.devices[device].identity else { return false }
            return true
        }
    }

    func admitted(_ welcome: Welcome, _ hello: Hello, _ link: Link) {
        guard let key = try? world.hub.reader.inbox(welcome.inbox, in: world.project.key)?.row else { return }
        inboxOfDevice[link.device] = key
        if inboxes[key] == nil {
            var isDevice = false
            if case .device = hello.inbox { isDevice = true }
            inboxes[key] = Inbox(states: [InboxState(device: isDevice)])
        }
        guard welcome.mode == .forked else { return }
        if !world.devices[link.device].mayFork, !world.hubWasRestored {
            world.fail("device \(link.device) was told to fork without a restore or a clone")
        }
        // Where a restored hub forgot its inbox and has its id in another one, the replica must fork whatever it presents.
        if case .device(let id?) = hello.inbox, id != welcome.inbox { return }
        if hello.cursor.epoch != nil, chain(key, at: hello.cursor.position) != hello.cursor.chain {
            world.fail("device \(link.device) was told to fork although its cursor proves that the hub went back")
        }
    }

    // MARK: The log

    func appended(_ entry: Appended) {
        let key = entry.inbox.row
        let decoded: Entry
        do throws(JSONError) {
            decoded = try Entry(entry.bytes[...])
        } catch {
            return world.fail("the hub wrote what cannot be read: \(error)")
        }
        if inboxes[key] == nil { inboxes[key] = Inbox(states: [InboxState(device: self.isDevice(key))]) }
        let head = Position(inboxes[key]?.lines.count ?? 0)
        guard entry.position == head + 1 else {
            return world.fail("inbox \(key): position \(entry.position) follows \(head)")
        }
        world.note("inbox \(key) \(entry.position): \(brief(decoded))")
        let line = Line(entry: decoded, chain: entry.chain, time: world.now)
        if case .act(let act) = decoded.kind {
            judge(act, key, at: entry.position)
            // A token that is over is no reason to deny an act: the hub asks for a fresh one.
            if act.outcome.code == .denied {
                if case .preference? = persons[act.uid]?.operation {} else { world.fail("an act was denied: \(act)") }
            }
        }
        take(line, key)
        // In memory it is the model's own sum.
        if world.schedule.shape.isSQLite, entry.sum != inboxes[key]?.states.last?.sum {
            world.fail("inbox \(key) \(entry.position): the sum that the store keeps is not that of the state")
        }
        checkAfter(decoded, key)
    }

    private func take(_ line: Line, _ key: Int64) {
        guard var inbox = inboxes.removeValue(forKey: key) else { return }
        let position = Position(inbox.lines.count) + 1
        parents[line.chain] = inbox.lines.last?.chain ?? 0
        inbox.lines.append(line)
        var state = inbox.states[inbox.states.count - 1]
        state.fold(line.entry)
        inbox.states.append(state)
        switch line.entry.kind {
        case .item(_, let publish, _):
            if !inbox.publishes.insert(publish).inserted { world.fail("inbox \(key) holds \(publish) twice") }
        case .act(let act):
            if let n = act.n, !inbox.numbers.insert("\(act.author) \(n)").inserted {
                world.fail("inbox \(key) processed number \(n) of \(act.author) twice")
            }
            if act.effect != .none, !inbox.effects.insert(act.uid).inserted {
                world.fail("inbox \(key): act \(Hex64.text(act.uid)) took effect twice")
            }
            note(act, position, &inbox)
        default: break
        }
        inboxes[key] = inbox
    }

    private func note(_ act: Act, _ position: Position, _ inbox: inout Inbox) {
        switch act.effect {
        case .read(let ids, let on, let passive, _, _):
            for id in ids {
                inbox.reads[id] = Choice(
                    value: on, passive: passive, since: position, author: act.author, uid: act.uid)
            }
        case .archive(let ids, let on):
            for id in ids {
                inbox.archives[id] = Choice(
                    value: on, passive: false, since: position, author: act.author, uid: act.uid)
            }
        case .preference(let key, false):
            inbox.offs[key, default: []].append(
                Choice(value: false, passive: false, since: position, author: act.author, uid: act.uid))
        default: break
        }
    }

    private func brief(_ entry: Entry) -> String {
        switch entry.kind {
        case .item(_, let publish, _): "item of \(publish)"
        case .act(let act):
            "act \(act.author.description.prefix(8)) n \(act.n ?? 0) uid \(Hex64.text(act.uid)) \(act.outcome.code.rawValue) \(act.effect)"
        case .removed(let items, let why): "\(why) \(items)"
        case .catalogue(let catalogue): "catalogue \(catalogue.version)"
        case .unknown(let word): word
        }
    }

    // MARK: Where things are

    func chain(_ inbox: Int64, at position: Position) -> UInt64? {
        guard let lines = inboxes[inbox]?.lines, position >= 0, position <= lines.count else { return nil }
        return position == 0 ? 0 : lines[Int(position) - 1].chain
    }

    /// The chain at an earlier position of the timeline in which a cursor stands, a lost one or not.
    private func ancestor(of cursor: Cursor, at position: Position) -> UInt64 {
        var chain = cursor.chain
        var place = cursor.position
        while place > position {
            chain = parents[chain] ?? 0
            place -= 1
        }
        return chain
    }

    /// Through where a person's view and this timeline are the same.
    func common(_ person: Person, _ key: Int64) -> Position {
        var chain = person.chain
        var place = person.seen
        while place > 0, self.chain(key, at: place) != chain {
            chain = parents[chain] ?? 0
            place -= 1
        }
        return place
    }

    func head(of device: SimDevice) -> Position? {
        inboxOfDevice[device.id].flatMap { inboxes[$0] }.map { Position($0.lines.count) }
    }

    func isAtHead(_ device: SimDevice) -> Bool {
        guard let key = inboxOfDevice[device.id], let lines = inboxes[key]?.lines else { return false }
        let cursor = device.store.cursor
        return cursor.position == lines.count && cursor.chain == chain(key, at: cursor.position)
    }

    func inbox(of device: SimDevice) -> Inbox? { inboxOfDevice[device.id].flatMap { inboxes[$0] } }

    /// The fold of a device's whole log.
    func state(of device: SimDevice) -> InboxState? { inboxOfDevice[device.id].flatMap { inboxes[$0]?.states.last } }

    /// Publishes that were answered and are not whole yet.
    var hasPending: Bool {
        matched.contains { publish in
            inboxes.values.reduce(0) { $0 + ($1.publishes.contains(publish.name) ? 1 : 0) } != publish.count
        }
    }

    func someInbox(_ bits: UInt32) -> Int64? { world.pick(inboxes.keys.sorted(), bits) }

    func someItem(_ inbox: Int64, _ bits: UInt32) -> ItemID? {
        let items = inboxes[inbox]?.states.last?.items ?? [:]
        return world.pick(items.sorted { $0.value.position < $1.value.position }.suffix(4).map(\.key), bits >> 8)
    }

    /// An act that no log has yet, and that was not taken back.
    func someUnsent(_ bits: UInt32) -> UInt64? {
        let waiting = order.suffix(12).filter { uid in
            persons[uid]?.isUndone == false && !inboxes.values.contains { $0.effects.contains(uid) }
        }
        return world.pick(waiting, bits)
    }

    func someHeld(_ device: SimDevice, _ bits: UInt32) -> UInt64? {
        order.last { persons[$0]?.device == device.id }
    }

    // MARK: A replica against the log

    /// Base is the fold of the log through the cursor, wherever the cursor is of this timeline.
    func check(_ device: SimDevice) {
        let cursor = device.store.cursor
        guard let key = inboxOfDevice[device.id], let inbox = inboxes[key], cursor.position > 0,
            chain(key, at: cursor.position) == cursor.chain, !device.store.isDamaged || world.isDamageOver
        else { return }
        do throws(ReplicaError) {
            if let difference = try device.store.difference(from: inbox.states[Int(cursor.position)]) {
                world.fail("device \(device.id) at \(cursor.position): \(difference)")
            }
        } catch {
            world.fail("device \(device.id) cannot be read: \(error)")
        }
    }
}
