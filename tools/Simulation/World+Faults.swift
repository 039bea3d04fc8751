import PealHub
import PealModel
import PealReplica

extension World {
    func performFault(_ step: Step) {
        switch step.kind {
        case .cut:
            guard let link = pick(links.filter { $0.isDeviceOpen && !$0.isCut }, step.a) else { return }
            note("link \(link.id) of device \(link.device) is cut")
            cut(link)
            // What was under way may still arrive, or not.
            if step.b & 1 == 0 { link.down = [] }
            if step.b & 2 == 0, !link.up.isEmpty { link.up.removeLast(1 + Int(step.b >> 2) % link.up.count) }
        case .notice: notice(step)
        case .replay: replay(step)
        case .cross: cross(step)
        case .crashDevice: if let device = pick(devices, step.a) { crash(device) }
        case .crashHub:
            if isHubUp {
                note("the hub crashes")
                crashHub()
            } else {
                note("the hub is back")
                isHubUp = true
            }
        case .failCommit: if isHubUp { hub.failCommit(1 + Int(step.a % 4)) }
        case .backupHub, .restoreHub, .backupDevice, .restoreDevice, .cloneDevice: restore(step)
        case .trim: if isHubUp { trim() }
        case .poison:
            guard let uid = ghost.someUnsent(step.a) else { return }
            poisoned[uid] = step.b & 1 == 0 ? 1 : 1_000_000
        case .reboot:
            guard let device = pick(devices, step.a) else { return }
            note("device \(device.id) reboots")
            device.clock.boot += 1
            device.clock.bootTime = now
            crash(device)
        case .jumpClock: pick(devices, step.a)?.clock.skew += Milliseconds(Int32(bitPattern: step.b)) * 30
        case .longPause: advance(86_400_000 * Milliseconds(1 + step.a % 3))
        case .busyHub: if isHubUp { hub.isBusy.toggle() }
        case .stall: stall(step)
        case .garble: garble(step)
        case .provider: pick(devices, step.a)?.tokens = TokenSource.allCases[Int(step.b) % TokenSource.allCases.count]
        case .damage:
            guard let device = pick(devices, step.a), device.store.damage(step.b) else { return }
            note("the file of device \(device.id) is damaged")
        default: break
        }
    }

    // MARK: Stalls

    func cut(_ link: Link) {
        link.isCut = true
        link.silent = link.silent ?? now
    }

    /// A connection that is open and does not work: one direction loses everything, or all of it trickles, or the process at the
    /// device's end does not run.
    private func stall(_ step: Step) {
        if step.b & 3 == 0, let device = pick(devices.filter { $0.isOnline || $0.isSuspended }, step.a) {
            if device.isSuspended { device.resume() } else { device.suspend() }
            return
        }
        guard let link = pick(links.filter { $0.isDeviceOpen && !$0.isCut && $0.silent == nil }, step.a) else { return }
        switch step.b & 3 {
        case 1:
            note("link \(link.id) of device \(link.device) loses what goes up")
            link.swallowsUp = true
            link.up = []
            link.silent = now
        case 2:
            note("link \(link.id) of device \(link.device) loses what goes down")
            link.swallowsDown = true
            link.down = []
            link.silent = now
        default:
            note("link \(link.id) of device \(link.device) trickles")
            link.isTrickling.toggle()
        }
    }

    /// A proxy loses a batch that another follows, or delivers it after that one.
    private func garble(_ step: Step) {
        var places: [(Link, Int)] = []
        for link in links where link.isDeviceOpen && !link.isCut {
            for place in link.down.indices.dropLast() {
                if case .batch = link.down[place], case .batch = link.down[place + 1] { places.append((link, place)) }
            }
        }
        guard let (link, place) = pick(places, step.a) else { return }
        note("a proxy \(step.b & 1 == 0 ? "loses" : "delays") \(brief(link.down[place])) on link \(link.id)")
        if step.b & 1 == 0 { link.down.remove(at: place) } else { link.down.swapAt(place, place + 1) }
    }

    /// The socket layer of each end gives a connection up on which its probes are not answered.
    func hangUp() {
        for link in links {
            guard let silent = link.silent, now - silent >= Self.hangUpDelay else { continue }
            if link.isHubOpen { hub.leave(link) }
            link.isCut = true
            let device = devices[link.device]
            if device.link === link, link.isDeviceOpen, !device.isSuspended { device.noticeCut() }
        }
    }

    /// Milliseconds without an answer (docs/sync.md section 6: ping 30 s).
    static let hangUpDelay: Milliseconds = 45_000

    // MARK: Connections

    /// One end of a cut connection learns of it, or a healthy one's device finds its network changed.
    private func notice(_ step: Step) {
        let cut = links.filter { $0.isCut && !devices[$0.device].isSuspended }
        if let link = pick(cut, step.a) {
            if step.b & 1 == 0, link.isDeviceOpen {
                note("device \(link.device) learns that link \(link.id) is cut")
                devices.first { $0.link === link }?.noticeCut()
                link.isDeviceOpen = false
            } else if link.isHubOpen {
                hub.leave(link)
            }
            return
        }
        // A zombie: the device has gone away, and the hub learns of it only now.
        if let zombie = pick(links.filter { !$0.isDeviceOpen && $0.isHubOpen && $0.up.isEmpty }, step.a) {
            hub.leave(zombie)
            return
        }
        pick(devices.filter { $0.isOnline && !$0.isSuspended }, step.a)?.drive { $0.networkChanged() }
    }

    /// A whole session's frames arrive once more, on a connection that nobody reads.
    private func replay(_ step: Step) {
        guard isHubUp, let grave = pick(graves, step.a) else { return }
        guard !grave.sent.isEmpty else { return }
        note("the frames of link \(grave.id) of device \(grave.device) come again")
        let link = Link(id: nextLink, device: grave.device, opened: hubNow)
        nextLink += 1
        link.isDeviceOpen = false
        link.up = Array(grave.sent.prefix(1 + Int(step.b) % grave.sent.count))
        links.append(link)
        hub.opened(link)
    }

    /// A batch or a welcome of a connection that is over arrives in the next one: they name their session, so it must not matter.
    private func cross(_ step: Step) {
        let late = graves.filter { !$0.down.isEmpty }
        guard let grave = pick(late, step.a), let frame = pick(grave.down, step.b),
            let device = devices.first(where: { $0.id == grave.device }), device.link != nil, !device.isSuspended
        else { return }
        switch frame {
        case .batch: break
        // A welcome is told by its attempt, which a disk that was rolled back counts again; there only the socket layer tells.
        case .welcome where !device.mayFork && !hubWasRestored: break
        default: return
        }
        note("device \(device.id) receives \(brief(frame)) of link \(grave.id), which is over")
        device.drive { $0.received(frame, bytes: 100) }
    }

    // MARK: Processes

    private func crash(_ device: SimDevice) {
        note("device \(device.id) crashes")
        device.restart()
    }

    func crashHub() {
        for link in links where link.isHubOpen { cut(link) }
        hub.crash()
        isHubUp = false
        do throws(HubStoreError) {
            try hub.replace(store: plant(hub.store.copy(seed: random.next())))
        } catch {
            fail("the hub does not start again: \(error)")
        }
    }

    private func restore(_ step: Step) {
        do {
            switch step.kind {
            case .backupHub:
                guard isHubUp, backups.count < 3 else { return }
                note("the hub is backed up")
                backups.append((try hub.store.copy(seed: random.next()), ghost.memory))
            case .restoreHub:
                guard let backup = pick(backups, step.a) else { return }
                note(
                    "the hub is restored to \(backup.memory.description)")
                if isHubUp { crashHub() }
                try hub.replace(store: plant(backup.store.copy(seed: random.next())))
                hubWasRestored = true
                ghost.restored(to: backup.memory)
            case .backupDevice:
                guard let device = pick(devices, step.a) else { return }
                device.backup = try device.store.copied()
            case .restoreDevice:
                guard let device = pick(devices, step.a), let backup = device.backup else { return }
                note("device \(device.id) is restored")
                allowForks(device)
                ghost.restored(device)
                device.restart(on: try backup.copied())
            case .cloneDevice:
                guard devices.count < 6, let device = pick(devices, step.a) else { return }
                note("device \(device.id) is cloned as \(devices.count)")
                let clone = SimDevice(
                    id: devices.count, identity: device.identity, world: self, store: try device.store.copied(),
                    clock: device.clock)
                devices.append(clone)
                allowForks(device)
                clone.mayFork = true
                ghost.cloned(device, as: clone)
                if step.b & 1 == 0 { clone.goOnline() }
            default: break
            }
        } catch {
            fail("a backup or restore failed: \(error)")
        }
    }

    /// Every copy that shares the device's past may find that it was copied.
    private func allowForks(_ device: SimDevice) { device.mayFork = true }

    private func trim() {
        do throws(HubStoreError) {
            try hub.store.begin()
            let more = try hub.store.upkeep(limit: 50, now: hubNow)
            try hub.store.commit()
            _ = more
        } catch {
            hub.store.rollback()
            fail("upkeep failed: \(error)")
        }
    }
}
