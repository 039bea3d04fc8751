import Foundation
import PealModel
import PealReplica
import Testing

@testable import PealHub

/// A hub's real store and sessions, and devices with real files and sessions, on one thread in virtual time. Nothing happens but
/// what a test asks for; frames are bytes that a test can hold, drop, repeat or change.
final class Script {
    let directory: String
    private(set) var now: Milliseconds = 1_700_000_000_000
    private(set) var store: SQLiteHubStore
    private(set) var reader: any HubReader
    let project: Project
    let retention: Retention
    private(set) var links: [ScriptLink] = []
    private(set) var devices: [ScriptDevice] = []
    /// Nobody listens while it is down.
    var isUp = true
    /// So many of the next group commits fail, and nothing of them happened.
    var failingCommits = 0
    /// So many entries at most go into a batch.
    var batchEntries = 100
    var pageRows = Limits.pageRows
    /// Called with each frame that the hub writes; what it gives goes out in its place.
    var tamper: (DownFrame) -> DownFrame = { $0 }
    /// Acts over which the hub's process ends, each time.
    var fatal: Set<UInt64> = []
    /// How often it has ended.
    private(set) var crashes = 0
    /// Called with each frame that comes to the hub.
    var onFrame: ([UInt8]) -> Void = { _ in }
    /// Hellos that came.
    private(set) var hellos: [Hello] = []
    private var sessions: [UInt64: ScriptLink] = [:]
    private var published = 0
    private var copies = 0

    init(requiresHMAC: Bool = false, retention: Retention = Retention()) throws {
        directory = NSTemporaryDirectory() + "/peal-script-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        self.retention = retention
        store = try SQLiteHubStore(path: directory + "/hub.db", retention: retention)
        try store.begin()
        project = try store.createProject(
            instance: "1f0c0000-0000-4000-8000-000000000001", apiKey: "key", secret: String(repeating: "ab", count: 32),
            requiresHMAC: requiresHMAC, now: now)
        try store.commit()
        reader = try store.makeReader()
    }

    deinit {
        for device in devices { device.letGo() }
        reader.close()
        try? store.close()
        try? FileManager.default.removeItem(atPath: directory)
    }

    // MARK: Time and delivery

    /// A new installation.
    func device(_ name: String, user: String = "mary", token: (() -> String?)? = nil) throws -> ScriptDevice {
        let device = try ScriptDevice(
            script: self, path: directory + "/\(name).peal", identity: .user(externalID: user, email: nil),
            seed: UInt64(devices.count + 1), token: token)
        devices.append(device)
        return device
    }

    /// Another installation on a copy of a file.
    func device(_ name: String, onCopy copy: String, of device: ScriptDevice) throws -> ScriptDevice {
        let other = try ScriptDevice(
            script: self, path: copy, identity: device.identity, seed: UInt64(devices.count + 1), token: nil)
        devices.append(other)
        return other
    }

    /// Delivers everything until nothing moves; timers do not run.
    func run() {
        var steps = 0
        while step() {
            steps += 1
            if steps > 20_000 {
                Issue.record("the world does not come to rest")
                return
            }
        }
    }

    /// One round over all links; whether anything moved.
    private func step() -> Bool {
        var moved = false
        for link in links {
            if link.isOpen, !link.up.isEmpty {
                receive(link.up.removeFirst(), link)
                moved = true
            }
            if link.isOpen, write(link) { moved = true }
            if !link.isHeld, link.deliver() { moved = true }
        }
        links.removeAll { !$0.isOpen && $0.device.link !== $0 }
        return moved
    }

    /// Lets time pass: timers run when they are due, the hub looks at its clock every five seconds.
    func pass(_ duration: Milliseconds) {
        let end = now + duration
        run()
        while true {
            let due = devices.compactMap(\.nextDue).min() ?? .max
            let tick = (now / 5_000 + 1) * 5_000
            let next = min(max(due, now), links.contains { $0.isOpen } ? tick : .max)
            guard next <= end else { break }
            now = next
            if next == tick { for link in links where link.isOpen { perform(link.session.tick(now: now), link) } }
            for device in devices { device.fire() }
            run()
        }
        now = end
    }

    /// Every device is suspended for so long: their timers stand still.
    func suspend(_ duration: Milliseconds) {
        now += duration
        for device in devices { device.suspended(duration) }
    }

    // MARK: The hub's sessions

    func open(_ device: ScriptDevice) -> ScriptLink? {
        guard isUp else { return nil }
        let link = ScriptLink(device)
        links.append(link)
        return link
    }

    func receive(_ bytes: [UInt8], _ link: ScriptLink) {
        onFrame(bytes)
        do throws(FrameError) {
            perform(link.session.received(try UpFrame(bytes[...]), now: now), link)
        } catch {
            perform(link.session.received(error), link)
        }
    }

    private func perform(_ actions: [HubSession.Action], _ link: ScriptLink) {
        for action in actions {
            switch action {
            case .admit(let hello): admit(hello, link)
            case .firstFrame: withSession(link) { try self.store.firstFrame($0, session: $1, now: self.now) }
            case .commit(let mutations): push(mutations, link)
            case .commitSuspect(let mutation): suspect(mutation, link)
            case .acknowledge(let to):
                withSession(link) { replica, _ in try self.store.acknowledge([(replica, to)], now: self.now) }
            case .loadPage(let request): page(request, link)
            case .checkToken, .write, .bye: break
            case .close(let code, let reason): close(link, code, reason)
            }
        }
    }

    private func withSession<R>(_ link: ScriptLink, _ body: (ReplicaKey, UInt64) throws -> R) {
        guard let replica = link.replica, let session = link.session.session else { return }
        _ = try? commit { _ in try body(replica, session) }
    }

    /// Runs a body in a group commit of its own.
    @discardableResult
    func commit<R>(_ body: (SQLiteHubStore) throws -> R) throws -> R {
        if failingCommits > 0 {
            failingCommits -= 1
            throw HubStoreError(.io, "a planned failure")
        }
        try store.begin()
        do {
            let result = try body(store)
            try store.commit()
            return result
        } catch {
            store.rollback()
            throw error
        }
    }

    private func admit(_ hello: Hello, _ link: ScriptLink) {
        hellos.append(hello)
        guard let answer = try? commit({ try Admitter.admit(hello, store: $0, now: now) }) else {
            return perform(link.session.denied(.tryAgain, "the hub cannot take sessions now"), link)
        }
        switch answer {
        case .admitted(let admitted, let expires):
            if let old = admitted.replaced.flatMap({ sessions[$0] }), old !== link, old.isOpen {
                perform(old.session.denied(.replaced, "a newer session of this replica"), old)
            }
            if admitted.welcome.mode != .forked {
                (link.inbox, link.replica) = (admitted.inbox, admitted.replica)
                sessions[admitted.welcome.session] = link
            }
            link.modes.append(admitted.welcome.mode)
            perform(
                link.session.admitted(admitted.welcome, at: hello.cursor.position, now: now, expires: expires), link)
        case .attemptTooLow(let last): perform(link.session.refused(last: last), link)
        case .denied(let code, let reason): perform(link.session.denied(code, reason), link)
        }
    }

    private func push(_ mutations: [Mutation], _ link: ScriptLink) {
        guard let replica = link.replica, let session = link.session.session else { return }
        if mutations.contains(where: { fatal.contains($0.uid) }) { return endOver() }
        let result = Result { try commit { try $0.push(mutations, from: replica, session: session, now: now) } }
        answered(result, link)
    }

    private func suspect(_ mutation: Mutation, _ link: ScriptLink) {
        guard let replica = link.replica, let session = link.session.session else { return }
        let noted = Result { try commit { try $0.suspect(mutation, from: replica, session: session, now: now) } }
        switch noted {
        case .success(nil): push([mutation], link)
        case .success(let answer?): answered(.success(answer), link)
        case .failure(let error): answered(.failure(error), link)
        }
    }

    private func answered(_ result: Result<PushResult, any Error>, _ link: ScriptLink) {
        let result = result.mapError { $0 as? HubStoreError ?? HubStoreError(.failed, "\($0)") }
        perform(link.session.answered(result), link)
        if case .success(let pushed) = result { moved(pushed.appended) }
    }

    func moved(_ appended: [Appended]) {
        for entry in appended {
            for link in links where link.isOpen && link.inbox == entry.inbox {
                perform(link.session.headMoved(to: entry.position), link)
            }
        }
    }

    private func page(_ request: SnapshotRequest, _ link: ScriptLink) {
        guard let inbox = link.inbox else { return }
        link.pages += 1
        let page = try? reader.page(of: inbox, request, maxRows: pageRows, maxBytes: Limits.frameDown)
        guard let page else { return perform(link.session.denied(.tryAgain, "the log cannot be read now"), link) }
        perform(link.session.loaded(page), link)
    }

    private func write(_ link: ScriptLink) -> Bool {
        guard let output = link.session.nextOutput() else { return false }
        switch output {
        case .frame(let frame): link.down.append(tamper(frame).bytes)
        case .entries(let position, let count, let bytes):
            guard let inbox = link.inbox, let session = link.session.session else { return false }
            do throws(HubStoreError) {
                let entries = try reader.entries(
                    of: inbox, after: position, maxCount: min(count, batchEntries), maxBytes: bytes)
                guard let last = entries.last else { return false }
                let standing = try reader.sum(of: inbox)
                let batch = Batch(
                    session: session, from: position, to: last.position, chain: last.chain,
                    entries: entries.map { $0.bytes[...] }, sum: standing.head == last.position ? standing.sum : nil)
                link.down.append(tamper(.batch(batch)).bytes)
                link.session.sent(to: last.position, bytes: 100 * entries.count, now: now)
            } catch {
                perform(
                    error.code == .belowFloor
                        ? link.session.overtaken()
                        : link.session.denied(.tryAgain, "the log cannot be read now"), link)
            }
        }
        return true
    }

    private func close(_ link: ScriptLink, _ code: CloseCode, _ reason: String) {
        while case .frame(let frame)? = link.session.nextOutput() { link.down.append(tamper(frame).bytes) }
        link.closing = (code, reason)
        link.isOpen = false
    }

    /// Ends a link by the hub, as a process does that ends.
    func close(_ link: ScriptLink, _ code: CloseCode) { close(link, code, "") }

    // MARK: The hub's process and file

    /// The process ends; the sockets with it.
    func crash() {
        for link in links {
            link.isOpen = false
            if link.device.link === link { link.device.cut() }
        }
        links = []
        sessions = [:]
    }

    /// The process ends in the middle of its work, and another one starts on what is durable.
    private func endOver() {
        crashes += 1
        do {
            try restore(backup())
        } catch {
            Issue.record("the hub does not start again: \(error)")
        }
    }

    /// Copies the hub's file, as a backup of this moment.
    func backup() throws -> String { try copy(store.path) }

    /// Puts a backup in the place of the hub's file.
    func restore(_ backup: String) throws {
        crash()
        reader.close()
        try store.close()
        store = try SQLiteHubStore(path: copy(backup), retention: retention)
        reader = try store.makeReader()
    }

    /// Copies a database's files as they are.
    func copy(_ path: String) throws -> String {
        copies += 1
        let target = directory + "/copy-\(copies)"
        for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.copyItem(atPath: path + suffix, toPath: target + suffix)
        }
        return target
    }

    // MARK: Publishing

    /// Publishes a titled item to a user.
    @discardableResult
    func publish(_ title: String, to user: String = "mary") throws -> ItemID {
        published += 1
        let request = PublishRequest(
            project: project.key, name: "pubid-\(published)", body: ItemBody(title: title, sent: now),
            recipients: [PublishRequest.Recipient(identity: UserIdentity(externalID: user))])
        let result = try commit { try $0.publish(request, now: now) }
        moved(result.appended)
        guard let bytes = result.appended.first?.bytes, case .item(let id, _, _) = try Entry(bytes[...]).kind else {
            throw ScriptError("nothing was published")
        }
        return id
    }

    /// A user token as the app's server makes it.
    func token(of user: String, seconds: Double) -> String {
        let claims =
            #"{"iss":"\#(project.instance)","sub":"\#(user)","exp":\#(Double(now) / 1_000 + seconds)}"#
        let signed = [#"{"alg":"HS256"}"#, claims].map { Base64.url.encode(Array($0.utf8)) }.joined(separator: ".")
        return signed + "." + Base64.url.encode(HMACSHA256.code(Array(signed.utf8), key: Array(project.secret.utf8)))
    }

    /// The log of a user's inbox.
    func log(of user: String = "mary") throws -> [Entry] {
        try reader.entries(of: inbox(of: user), after: 0, maxCount: .max, maxBytes: .max).map {
            try Entry($0.bytes[...])
        }
    }

    /// Which creation of a user's log it is.
    func epoch(of user: String = "mary") throws -> UInt64 { try reader.log(of: inbox(of: user)).epoch }

    func inbox(of user: String = "mary") throws -> InboxKey {
        guard let record = try reader.user(UserIdentity(externalID: user), in: project.key) else {
            throw ScriptError("there is no user \(user)")
        }
        return record.inbox
    }

    /// What the hub lists of a user.
    func list(of user: String = "mary") throws -> ListPage {
        try reader.list(ListQuery(archived: false, perPage: 100, now: now), of: inbox(of: user))
    }
}
