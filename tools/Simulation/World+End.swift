import PealHub
import PealModel
import PealReplica

extension World {
    // MARK: Calm

    /// Nothing happens for a while but what is due: what was begun comes to its end, so that the next faults meet a world with a past.
    /// Who is offline stays so, and what makes the hub fail makes it fail.
    func calm() {
        note("a calm while")
        for _ in 0..<30 {
            drain()
            let isOver = devices.allSatisfy { device in
                !device.isOnline || device.isStopped || device.isSuspended
                    || device.driver.session.isSettled && ((try? device.store.waiting().isEmpty) ?? true)
            }
            guard violation == nil, !isOver else { return }
            advance(max(20, min(nextDue - now, 5_000)))
        }
    }

    // MARK: The end

    /// The faults stop: in bounded time every cursor reaches the head and every outbox empties.
    func heal() {
        note("the faults stop")
        isHubUp = true
        hub.isBusy = false
        for (uid, left) in poisoned where left < 10 { poisoned[uid] = 0 }
        for device in devices {
            device.tokens = .good
            device.resume()
        }
        for link in links {
            link.isTrickling = false
            (link.nextUp, link.nextDown) = (0, 0)
        }
        if !schedule.shape.waitsForTimeouts { noticeAll() }
        for device in devices {
            device.goOnline()
            device.signIn()
        }
        settleDown()
        findDamage()
    }

    /// Both ends of what does not work learn of it at once; where they do not, they must find out by themselves.
    private func noticeAll() {
        for link in links where link.silent != nil {
            if link.isHubOpen { hub.leave(link) }
            link.down = []
            if link.isDeviceOpen { devices.first { $0.link === link }?.noticeCut() }
        }
    }

    private func settleDown() {
        var rounds = 0
        while violation == nil {
            rounds += 1
            drain()
            // A token that a person's app got before the faults stopped can still be refused.
            for device in devices { device.signIn() }
            if isQuiet { return }
            guard rounds < 1_500 else { return fail(complaint) }
            advance(max(20, min(nextDue - now, rounds < 1_200 ? 500 : 5_000)))
        }
    }

    /// Damage that no snapshot has repaired by chance is found within a day, by rows that are summed or by the hub's next sum.
    private func findDamage() {
        guard devices.contains(where: \.store.isDamaged) else { return }
        advance(90_000_000)
        settleDown()
        for inbox in ghost.inboxes.keys.sorted() {
            let uid = random.next()
            let time = hubNow
            ghost.actedByAPI(uid, .mark(.seen, upTo: .max), inbox)
            hub.enqueue { (store) throws(HubStoreError) in
                let result = try store.act(
                    .mark(.seen, upTo: .max), uid: uid, observed: nil, in: InboxKey(row: inbox), now: time)
                return (true, [result.catalogue, result.appended].compactMap(\.self))
            } _: { (_: Result<Bool, HubStoreError>) in
            }
        }
        settleDown()
        isDamageOver = true
        for device in devices where device.store.isDamaged { ghost.check(device) }
    }

    /// When something happens next by itself.
    private var nextDue: Milliseconds {
        var due = now + 5_000
        for device in devices {
            for time in device.timers.values { due = min(due, time) }
            if let link = device.link, link.isTrickling { due = min(due, now + Link.trickle) }
            if let wake = device.wake { due = min(due, wake) }
            for fetch in device.fetches { due = min(due, fetch.due) }
        }
        return due
    }

    private func drain() {
        var turns = 0
        var isBusy = true
        while isBusy, violation == nil, turns < 5_000 {
            turns += 1
            isBusy = false
            sweep()
            for link in links where link.isHubOpen && !link.up.isEmpty && link.nextUp <= now {
                note("hub receives \(brief(link.up[0])) of device \(link.device) on link \(link.id)")
                hub.receive(link)
                isBusy = true
            }
            for link in links where !link.isDeviceOpen && link.isHubOpen && link.up.isEmpty { hub.leave(link) }
            if hub.hasJobs { hub.commit(50) }
            for link in hub.openLinks where hub.write(link) { isBusy = true }
            for device in devices {
                if let frame = device.link?.down.first { note("device \(device.id) receives \(brief(frame))") }
                if device.receive() { isBusy = true }
            }
            if !isBusy {
                hub.keepUp()
                isBusy = hub.commit(50) || hub.hasJobs
            }
        }
        if turns >= 5_000 { fail("frames go on and on") }
    }

    private var isQuiet: Bool {
        devices.allSatisfy { device in
            device.driver.session.isSettled && ((try? device.store.waiting().isEmpty) ?? false)
                && ghost.isAtHead(device)
        } && !ghost.hasPending
    }

    private var complaint: String {
        let late = devices.filter {
            !$0.driver.session.isSettled || !ghost.isAtHead($0) || ((try? !$0.store.waiting().isEmpty) ?? true)
        }
        let words = late.map { device in
            "device \(device.id) at \(device.store.cursor.position) of \(ghost.head(of: device) ?? -1), "
                + "\((try? device.store.waiting().count) ?? -1) acts wait, forks \(device.forks), resets \(device.resets), "
                + "live \(device.driver.session.isLive)"
        }
        return "the faults have stopped and yet: "
            + (words.isEmpty ? "publishes are pending" : words.joined(separator: "; "))
    }

    // MARK: Words

    func brief(_ frame: UpFrame) -> String {
        switch frame {
        case .hello(let hello):
            "hello(attempt \(hello.attempt), at \(hello.cursor.position), nonce \(hello.nonce.prefix(4)))"
        case .push(let mutations): "push(\(mutations.map { "\($0.n):\(Hex64.text($0.uid))" }.joined(separator: " ")))"
        case .got(let to): "got(\(to))"
        case .snapshot(let request): "snapshot(\(request.id.map(String.init) ?? "new"), after \(request.after ?? 0))"
        default: "\(frame)"
        }
    }

    func brief(_ frame: DownFrame) -> String {
        switch frame {
        case .welcome(let welcome): "welcome(\(welcome.mode), head \(welcome.head), lastN \(welcome.lastN))"
        case .batch(let batch): "batch(\(batch.from), \(batch.to)]"
        case .page(let page):
            "page(id \(page.id), at \(page.at), \(page.rows.count) rows, after \(page.after), last \(page.last))"
        case .settled(let settled, let at):
            "settled(at \(at): \(settled.map { "\($0.n) \($0.outcome.code.rawValue)" }))"
        default: "\(frame)"
        }
    }
}
