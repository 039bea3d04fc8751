import PealHub
import PealModel
import PealReplica

extension World {
    /// Lets one thing happen.
    func perform(_ step: Step) {
        switch step.kind {
        case .up:
            let ready = links.filter { $0.isHubOpen && !$0.up.isEmpty && $0.nextUp <= now }
            guard isHubUp, let link = pick(ready, step.a) else { return }
            note("hub receives \(brief(link.up[0])) of device \(link.device) on link \(link.id)")
            hub.receive(link)
        case .down:
            let ready = devices.filter { device in
                device.link.map { (!$0.down.isEmpty || $0.closing != nil) && $0.nextDown <= now } ?? false
            }
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
        case .online:
            guard let device = pick(devices.filter { !$0.isOnline || $0.isStopped }, step.a) else { return }
            if device.isStopped { device.signIn() } else { device.goOnline() }
        case .offline: pick(devices.filter { $0.isOnline && step.b % 3 == 0 }, step.a)?.goOffline()
        case .undo, .deadLetter: secondThoughts(step)
        case .otherProcess: if let device = pick(devices, step.a) { otherProcess(device, step.b) }
        case .remove: if isHubUp { remove(step) }
        case .calm: if isHubUp, !hub.isBusy { calm() }
        case .token:
            guard let device = pick(devices.filter { !$0.fetches.isEmpty && !$0.isSuspended }, step.a) else { return }
            device.answerFetch(at: Int(step.b) % device.fetches.count)
        default: performFault(step)
        }
        if step.a & 15 == 0, isHubUp { hub.keepUp() }
        sweep()
    }

    // MARK: People

    func look(_ device: SimDevice) {
        device.resume()
        do throws(ReplicaError) {
            device.sight = try device.store.sight()
        } catch {
            fail("device \(device.id) cannot be looked at: \(error)")
        }
    }

    private func act(_ device: SimDevice, _ bits: UInt32, tells: Bool = true) {
        device.resume()
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
            device.resume()
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
}
