import PealHub
import PealModel
import PealReplica

extension World {
    /// Lets one thing happen.
    func perform(_ step: Step) {
        switch step.kind {
        case .up:
            let ready = links.filter { $0.isHubOpen && !$0.up.isEmpty }
            guard isHubUp, let link = pick(ready, step.a) else { return }
            note("hub receives \(brief(link.up[0])) of device \(link.device) on link \(link.id)")
            hub.receive(link)
        case .down:
            let ready = devices.filter { $0.link.map { !$0.down.isEmpty || $0.closing != nil } ?? false }
            guard let device = pick(ready, step.a) else { return }
            if let frame = device.link?.down.first {
                note("device \(device.id) receives \(brief(frame))")
            } else {
                note(
                    "device \(device.id) learns that link \(device.link?.id ?? -1) was closed: \(device.link?.closing?.reason ?? "")"
                )
            }
            _ = device.receive()
        case .write:
            guard isHubUp, let link = pick(hub.openLinks.filter { $0.session.hasOutput && $0.down.count < 4 }, step.a)
            else { return }
            _ = hub.write(link)
        case .commit:
            guard isHubUp, hub.hasJobs else { return }
            hub.commit(1 + Int(step.a % 6))
        case .look: if let device = pick(devices, step.a) { look(device) }
        case .act: if let device = pick(devices, step.a) { act(device, step.b) }
        case .publish: if isHubUp { publish(step) }
        case .advance: advance([10, 100, 500, 1_000, 5_000, 12_000, 31_000][Int(step.a % 7)])
        case .apiAct: if isHubUp { apiAct(step) }
        case .online: pick(devices.filter { !$0.isOnline }, step.a)?.goOnline()
        case .offline: pick(devices.filter { $0.isOnline && step.b % 3 == 0 }, step.a)?.goOffline()
        case .undo, .deadLetter: secondThoughts(step)
        case .otherProcess: if let device = pick(devices, step.a) { otherProcess(device, step.b) }
        case .remove: if isHubUp { remove(step) }
        default: performFault(step)
        }
        if step.a & 15 == 0, isHubUp { hub.keepUp() }
        sweep()
    }

    private func performFault(_ step: Step) {
        switch step.kind {
        case .cut:
            guard let link = pick(links.filter { $0.isDeviceOpen && !$0.isCut }, step.a) else { return }
            note("link \(link.id) of device \(link.device) is cut")
            link.isCut = true
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
        default: break
        }
    }

    // MARK: People

    func look(_ device: SimDevice) {
        do throws(ReplicaError) {
            device.sight = try device.store.sight()
        } catch {
            fail("device \(device.id) cannot be looked at: \(error)")
        }
    }

    private func act(_ device: SimDevice, _ bits: UInt32, tells: Bool = true) {
        if device.sight == nil { look(device) }
        guard let sight = device.sight else { return }
        guard let operation = operation(sight, device.identity, bits) else { return }
        // Most acts are sent at once; some can be taken back for a while.
        let hold: Milliseconds = bits >> 28 == 0 ? 5_000 : 0
        do throws(ReplicaError) {
            let uid = try device.store.enqueue(operation, observed: sight.view, hold: hold)
            note(
                "device \(device.id) \(operation) seen \(sight.view.position) uid \(Hex64.text(uid))\(hold > 0 ? " held" : "")"
            )
            ghost.acted(uid, operation, sight.view, device)
            if tells { device.drive { $0.outboxChanged() } }
        } catch {
            fail("device \(device.id): an act was refused: \(error)")
        }
    }

    private func operation(_ sight: Sight, _ identity: InboxIdentity, _ bits: UInt32) -> Operation? {
        if case .device = identity, bits % 3 != 0 {
            let names = ["sun", "moon", "rain"]
            if bits % 7 == 0 { return .interests(replace: Array(names.prefix(Int(bits >> 8) % 3))) }
            return .interest(name: names[Int(bits >> 8) % 3], on: bits & 0x10 == 0 || bits & 0x20 == 0)
        }
        let item = pick(sight.items.suffix(4), bits >> 8)
        let other = pick(sight.items, bits >> 12)
        if bits % 9 == 0, case .user = identity {
            let category = bits & 0x1000 == 0 ? "news" : "bills"
            let channel = ["email", "push", "in_app"][Int(bits >> 14) % 3]
            return .preference(category: category, channel: channel, enabled: bits & 0x2000 == 0)
        }
        if bits % 31 == 0 {
            return item.map { .track(item: $0, event: bits & 0x1000 == 0 ? "opened" : "clicked", data: nil) }
        }
        switch bits % 16 {
        case 0, 1, 2, 3:
            guard let item else { return nil }
            return .read(items: [item], on: !sight.read.contains(item) || bits & 0x40_0000 == 0, passive: false)
        case 4, 5: return item.map { .read(items: [$0], on: true, passive: true) }
        case 6:
            guard let item, let other else { return nil }
            return .read(items: item == other ? [item] : [item, other], on: bits & 0x10_0000 == 0, passive: false)
        case 7: return item.map { .seen(items: [$0]) }
        case 8, 9, 10: return item.map { .archive(items: [$0], on: !sight.archived.contains($0)) }
        case 11: return bits & 0x3000 == 0 ? other.map { .delete(items: [$0]) } : nil
        case 12, 13: return .mark(.read, upTo: sight.view.position)
        case 14: return .mark(.archive, upTo: sight.view.position)
        default: return .mark(.seen, upTo: sight.view.position)
        }
    }

    private func secondThoughts(_ step: Step) {
        guard let device = pick(devices, step.a) else { return }
        do throws(ReplicaError) {
            if step.kind == .undo, let uid = ghost.someHeld(device, step.b), try device.store.undo(uid) {
                note("device \(device.id) takes \(Hex64.text(uid)) back")
                ghost.undone(uid)
            }
            if step.kind == .deadLetter, let uid = pick(try device.store.dead(), step.b) {
                if step.b & 1 == 0, let new = try device.store.retry(uid) {
                    note("device \(device.id) tries \(Hex64.text(uid)) again as \(Hex64.text(new))")
                    ghost.retried(uid, as: new, device)
                    device.drive { $0.outboxChanged() }
                } else if try device.store.discard(uid) {
                    ghost.undone(uid)
                }
            }
        } catch {
            fail("device \(device.id): \(error)")
        }
    }

    /// Another process of the device, without the lease: it looks, acts, and pokes the owner. Or the owner has died, and it takes over.
    private func otherProcess(_ device: SimDevice, _ bits: UInt32) {
        do throws(ReplicaError) {
            if bits & 7 == 0 {
                note("device \(device.id): another process takes over")
                return device.restart()
            }
            let owner = device.store
            let other = try owner.another()
            device.store = other
            look(device)
            act(device, bits >> 3, tells: false)
            device.store = owner
            device.sight = nil
            device.drive { $0.outboxChanged() }
            guard planted(.secondProcessSends), devices.count < 6 else { return }
            let second = SimDevice(
                id: devices.count, identity: device.identity, world: self, store: other, clock: device.clock)
            devices.append(second)
            ghost.cloned(device, as: second)
            second.goOnline()
        } catch {
            fail("device \(device.id): another process cannot open it: \(error)")
        }
    }

    // MARK: Publishers

    private func publish(_ step: Step) {
        if step.b % 40 == 0 { return setCatalogue(step) }
        publishCount += 1
        let name = "publish-\(publishCount)"
        let body = ItemBody(title: "Item \(publishCount)", sent: hubNow)
        var request = PublishRequest(project: project.key, name: name, body: body)
        if schedule.shape.interestDevices > 0, step.a & 1 == 0 {
            request.interests = [["sun"], ["moon", "rain"], ["sun", "rain"]][Int(step.a >> 4) % 3]
        } else {
            let user = Int(step.a >> 4) % schedule.shape.users
            request.recipients = [.init(identity: UserIdentity(externalID: "user-\(user)"))]
        }
        let wanted = request
        let time = hubNow
        hub.enqueue { (store) throws(HubStoreError) in
            let result = try store.publish(wanted, now: time)
            return (result, result.appended)
        } _: { [ghost] (result: Result<PublishResult, HubStoreError>) in
            if case .success(let published) = result { ghost?.published(name, published.matched) }
        }
    }

    private func setCatalogue(_ step: Step) {
        let channels = ["email", "push", "in_app"].prefix(Int(step.a >> 2) % 4).map {
            Catalogue.Channel(slug: $0, label: $0, enabled: true, required: $0 == "in_app")
        }
        let categories = [Catalogue.Category(slug: "news", label: "News", channels: channels)]
        let time = hubNow
        let project = project.key
        hub.enqueue { (store) throws(HubStoreError) in
            _ = try store.setCatalogue(categories, in: project, now: time)
            return (true, [])
        } _: { (_: Result<Bool, HubStoreError>) in
        }
    }

    private func apiAct(_ step: Step) {
        guard let inbox = ghost.someInbox(step.a), let item = ghost.someItem(inbox, step.b) else { return }
        let operation: Operation =
            switch step.b % 5 {
            case 0: .read(items: [item], on: true, passive: false)
            case 1: .read(items: [item], on: false, passive: false)
            case 2: .archive(items: [item], on: step.b & 0x100 == 0)
            case 3: .mark(.read, upTo: .max)
            default: step.b & 0x300 == 0 ? .delete(items: [item]) : .seen(items: [item])
            }
        let uid = random.next()
        let time = hubNow
        ghost.actedByAPI(uid, operation, inbox)
        note("api \(operation) uid \(Hex64.text(uid))")
        hub.enqueue { (store) throws(HubStoreError) in
            let result = try store.act(operation, uid: uid, observed: nil, in: InboxKey(row: inbox), now: time)
            return (true, [result.catalogue, result.appended].compactMap(\.self))
        } _: { (_: Result<Bool, HubStoreError>) in
        }
    }

    private func remove(_ step: Step) {
        guard let inbox = ghost.someInbox(step.a), let item = ghost.someItem(inbox, step.b) else { return }
        let time = hubNow
        hub.enqueue { (store) throws(HubStoreError) in
            let appended = try store.remove([item], why: "retract", from: InboxKey(row: inbox), now: time)
            return (true, appended.map { [$0] } ?? [])
        } _: { (_: Result<Bool, HubStoreError>) in
        }
    }

    // MARK: Connections

    /// One end of a cut connection learns of it, or a healthy one's device finds its network changed.
    private func notice(_ step: Step) {
        let cut = links.filter(\.isCut)
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
        pick(devices.filter(\.isOnline), step.a)?.drive { $0.networkChanged() }
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
            let device = devices.first(where: { $0.id == grave.device }), device.link != nil
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
        for link in links where link.isHubOpen { link.isCut = true }
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
