import PealHub
import PealHubMemory
import PealModel
import PealReplica

/// The hub's end of a small world, and what is held against it.
extension SmallScope {
    func carryOut(
        _ actions: [HubSession.Action], _ device: Int, _ socket: WritableKeyPath<SmallWorld.End, SmallWorld.Socket>,
        _ world: inout SmallWorld
    ) throws {
        for action in actions {
            switch action {
            case .admit(let hello): try admit(hello, device, socket, &world)
            case .firstFrame:
                guard let replica = world.ends[device][keyPath: socket].replica,
                    let session = world.ends[device][keyPath: socket].session.session
                else { break }
                let isCurrent = try commit(&world) { (hub) throws(HubStoreError) in
                    try hub.firstFrame(replica, session: session, now: clock.now)
                }
                if isCurrent { world.ends[device].proven = world.ends[device].issued }
            case .commit(let mutations):
                guard let replica = world.ends[device][keyPath: socket].replica,
                    let session = world.ends[device][keyPath: socket].session.session
                else { break }
                let result = try commit(&world) { (hub) throws(HubStoreError) in
                    try hub.push(mutations, from: replica, session: session, now: clock.now)
                }
                try take(result.appended, &world)
                try carryOut(
                    world.ends[device][keyPath: socket].session.answered(.success(result)), device, socket, &world)
            case .close(let code, let reason):
                if socket == \.socket { throw Failure(description: "the hub closes: \(code.rawValue) \(reason)") }
                world.ends[device].late?.up = []
            case .write, .acknowledge, .bye: break
            case .commitSuspect, .checkToken, .loadPage: throw Failure(description: "the hub is to \(action)")
            }
        }
    }

    private func admit(
        _ hello: Hello, _ device: Int, _ socket: WritableKeyPath<SmallWorld.End, SmallWorld.Socket>,
        _ world: inout SmallWorld
    ) throws {
        clock.random = SimRandom(seed: UInt64(10_000 + device * 100) + UInt64(hello.attempt))
        let result = try commit(&world) { (hub) throws(HubStoreError) in
            try hub.admit(hello, project: project, now: clock.now)
        }
        switch result {
        case .admitted(let admitted):
            guard admitted.welcome.mode == .resume else {
                throw Failure(description: "device \(device) is \(admitted.welcome.mode)")
            }
            if hello.nonce == world.ends[device].issued { world.ends[device].proven = hello.nonce }
            world.ends[device].issued = admitted.welcome.nonce
            if socket == \.socket, let late = world.ends[device].late, late.replica != nil {
                // It is told that it was replaced.
                world.ends[device].late = nil
            }
            world.ends[device][keyPath: socket].replica = admitted.replica
            let actions = world.ends[device][keyPath: socket].session.admitted(
                admitted.welcome, at: hello.cursor.position, now: 0)
            try carryOut(actions, device, socket, &world)
        case .attemptTooLow(let last):
            let actions = world.ends[device][keyPath: socket].session.refused(last: last)
            try carryOut(actions, device, socket, &world)
        case .refused(let why): throw Failure(description: "device \(device) was refused: \(why)")
        }
    }

    private func commit<Value>(
        _ world: inout SmallWorld, _ body: (MemoryHubStore) throws(HubStoreError) -> Value
    ) throws -> Value {
        hub.restore(world.hub)
        try hub.begin()
        let value = try body(hub)
        try hub.commit()
        world.hub = hub.snapshot()
        return value
    }

    /// What was appended is held against the rules, and told to both sessions.
    func take(_ appended: [Appended], _ world: inout SmallWorld) throws {
        for entry in appended {
            guard entry.position == Position(world.states.count) else {
                throw Failure(description: "the log has a hole")
            }
            let decoded = try Entry(entry.bytes[...])
            var state = world.states[world.states.count - 1]
            state.fold(decoded)
            world.states.append(state)
            world.chain = entry.chain
            guard case .act(let act) = decoded.kind else { continue }
            guard let made = world.made[act.uid], act.author == .replica(world.ends[made.device].file.replica) else {
                throw Failure(description: "an act that nobody made")
            }
            guard world.decided.insert(act.uid).inserted else { throw Failure(description: "an act took place twice") }
            guard act.itime >= made.time, act.itime <= clock.now else {
                throw Failure(description: "an act of \(made.time) is placed at \(act.itime)")
            }
            world.oracle.take(made, at: entry.position, time: act.itime)
            if let difference = world.oracle.difference(from: state, item) {
                throw Failure(description: "\(difference), the rules say otherwise: \(act)")
            }
        }
        guard let head = appended.last?.position else { return }
        for device in world.ends.indices {
            _ = world.ends[device].socket.session.headMoved(to: head)
            _ = world.ends[device].late?.session.headMoved(to: head)
        }
    }

    // MARK: Checks

    /// Every act is in one place, leaves the outbox with its entry, and base is the fold of the log.
    func check(_ before: SmallWorld, _ world: SmallWorld) throws {
        for (device, end) in world.ends.enumerated() {
            let position = end.file.cursor.position
            guard position >= before.ends[device].file.cursor.position else {
                throw Failure(description: "a cursor went back")
            }
            let waiting = end.file.outbox.map(\.uid)
            let settled = end.file.journal.map(\.uid)
            let mine = world.made.filter { $0.value.device == device }.map(\.key)
            guard (waiting + settled).sorted() == mine.sorted() else {
                throw Failure(description: "device \(device) has lost an act, or has it twice")
            }
            guard settled.allSatisfy(world.decided.contains) else {
                throw Failure(description: "an act has left the outbox that the hub has not decided")
            }
            guard !end.file.outbox.contains(where: { $0.state == .dead }) else {
                throw Failure(description: "device \(device) has a dead letter")
            }
            if position > before.ends[device].file.cursor.position {
                let replica = open(world, device)
                if let difference = try replica.difference(from: world.states[Int(position)]) {
                    throw Failure(description: "device \(device) at \(position): \(difference)")
                }
            }
        }
    }

    /// Nothing is under way: both have converged.
    func checkQuiet(_ world: SmallWorld) throws {
        for (device, end) in world.ends.enumerated() {
            guard Int(end.file.cursor.position) == world.states.count - 1, end.file.outbox.isEmpty,
                end.driver.session.isSettled
            else {
                throw Failure(
                    description: "device \(device) stays behind after: "
                        + world.moves.map(\.description).joined(separator: "; "))
            }
        }
        guard world.decided.count == world.made.count else { throw Failure(description: "an act never arrived") }
    }
}
