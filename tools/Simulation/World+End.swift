import PealHub
import PealModel
import PealReplica

extension World {
    // MARK: The end

    /// The faults stop: in bounded time every cursor reaches the head and every outbox empties.
    func heal() {
        note("the faults stop")
        isHubUp = true
        hub.isBusy = false
        for (uid, left) in poisoned where left < 10 { poisoned[uid] = 0 }
        for link in links where link.isCut {
            if link.isHubOpen { hub.leave(link) }
            link.down = []
            if link.isDeviceOpen { devices.first { $0.link === link }?.noticeCut() }
        }
        for device in devices { device.goOnline() }
        var rounds = 0
        while violation == nil {
            rounds += 1
            drain()
            if isQuiet { return }
            guard rounds < 1_500 else { return fail(complaint) }
            advance(rounds < 1_200 ? 500 : 5_000)
        }
    }

    private func drain() {
        var turns = 0
        var isBusy = true
        while isBusy, violation == nil, turns < 5_000 {
            turns += 1
            isBusy = false
            sweep()
            for link in links where link.isHubOpen && !link.up.isEmpty {
                note("hub receives \(brief(link.up[0])) of device \(link.device) on link \(link.id)")
                hub.receive(link)
                isBusy = true
            }
            for link in links where !link.isDeviceOpen && link.isHubOpen && link.up.isEmpty { hub.leave(link) }
            hub.keepUp()
            hub.commit(50)
            for link in hub.openLinks where hub.write(link) { isBusy = true }
            for device in devices {
                if let frame = device.link?.down.first { note("device \(device.id) receives \(brief(frame))") }
                if device.receive() { isBusy = true }
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
