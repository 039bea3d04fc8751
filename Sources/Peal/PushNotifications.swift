internal import Foundation
internal import PealModel
internal import PealReplica
internal import PealSQLite
internal import Synchronization

/// This device's notifications by interests, and those of the user who is signed in on it.
///
/// Call ``start(instanceId:)`` first, at each launch. Everything after it works offline: what is asked is kept in a file, survives the end of the
/// program however it comes, and is sent when there is a hub. Calls are synchronous and block for one commit to that file; no call but those that
/// say so waits for the network. Any thread may call, the main one too, and from within a callback as well.
public final class PushNotifications: Sendable {
    /// The one of an app with one instance.
    public static let shared = PushNotifications()

    private struct Defaults {
        var hub: String?
        var directory: String?
        var authorityPath: String?
        var proxy: HubProxy?
    }

    private static let defaults = Mutex(Defaults())

    /// The hub's URL, `http://host[:port]` or `https://…`, that ``start(instanceId:)`` takes. Any thread.
    public static var hub: String? {
        get { defaults.withLock { $0.hub } }
        set { defaults.withLock { $0.hub = newValue } }
    }

    /// The folder that ``start(instanceId:)`` takes; nil, as it is at first, for `peal` in the user's data directory. Any thread.
    public static var directory: String? {
        get { defaults.withLock { $0.directory } }
        set { defaults.withLock { $0.directory = newValue } }
    }

    /// A PEM file of certificate authorities in place of the system's, for starts from now on of objects that were given none; nil, as it is at first,
    /// for the system's. Any thread.
    public static var authorityPath: String? {
        get { defaults.withLock { $0.authorityPath } }
        set { defaults.withLock { $0.authorityPath = newValue } }
    }

    /// An HTTP proxy before the hub, for starts from now on of objects that were given none; nil, as it is at first, for none. Any thread.
    public static var proxy: HubProxy? {
        get { defaults.withLock { $0.proxy } }
        set { defaults.withLock { $0.proxy = newValue } }
    }

    /// What is there between a start and a stop.
    struct Started {
        var instance: String
        var folder: String
        var hub: HubAddress
        var record: DeviceRecord
        var inbox: Inbox
        /// The inbox of the user who is signed in.
        var user: Inbox?
        /// One object has the folder.
        var lease: Lease
    }

    /// What callbacks need, and answers that must not wait.
    struct Shown {
        /// The file of the device that is in use.
        var file: String?
        var interests: [String] = []
        var interestsDelegate: WeakObserver<any InterestsChangedDelegate>?
        var remoteDelegate: WeakObserver<any RemoteNotificationsDelegate>?
        var provider: (any TokenProvider)?
        /// Refusals of the device since it was live.
        var refusals = 0
        /// When a device was last made in the place of one that the hub had forgotten.
        var renewed: ContinuousClock.Instant?
        /// The act whose answer a caller of `setUserId` waits for.
        var awaited: UInt64?
        var isBinding = false
        /// The user's notifications of before this device became theirs have come.
        var isCaughtUp = false
        /// A token that came before the start.
        var early: String?
        var failure: PealError?
    }

    // A thread of an inbox never takes `life`, because whoever has it may wait for that thread. `shown` is held for a moment only.
    let life = Mutex<Started?>(nil)
    let shown = Mutex(Shown())
    let told = Told(ClientStatus(state: .offline))
    let callbacks: CallbackContext
    let registrar: any PushTokenSource
    let tokenTimeout: Duration
    private let authorityPath: String?
    private let proxy: HubProxy?
    let log: @Sendable (String) -> Void

    /// Seconds that a call waits for a hub that is there.
    static let patience = Duration.seconds(10)
    /// From one device that is made in the place of a forgotten one to the next, in milliseconds.
    static let renewal: Milliseconds = 60_000

    /// A client of its own, for an app with several instances. Two objects cannot have one instance in one folder.
    ///
    /// - Parameters:
    ///   - callbacks: where completions and delegates are called; by default the main queue.
    ///   - registrar: gives this device's push token; by default what the system has.
    ///   - tokenTimeout: how long a token provider may take.
    ///   - authorityPath: a PEM file of certificate authorities in place of the system's; nil for what the type has.
    ///   - proxy: an HTTP proxy before the hub; nil for what the type has.
    ///   - log: takes a line for whoever debugs, on any thread; never holds a secret, a token or a body.
    public init(
        callbacks: CallbackContext = .main, registrar: (any PushTokenSource)? = nil,
        tokenTimeout: Duration = .seconds(60), authorityPath: String? = nil, proxy: HubProxy? = nil,
        log: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.callbacks = callbacks
        self.registrar = registrar ?? SystemTokenSource()
        self.tokenTimeout = tokenTimeout
        self.authorityPath = authorityPath
        self.proxy = proxy
        self.log = log
    }

    deinit {
        for inbox in life.withLock({ [$0?.inbox, $0?.user] }) {
            guard let inbox else { continue }
            // Later, because this may be within a call on that very thread.
            inbox.executor.post { inbox.assumeIsolated { $0.close() } }
        }
        told.finish()
    }

    // MARK: Start

    /// Starts with ``hub`` and ``directory``, as ``start(hub:instanceId:directory:)``. A start that fails is told by ``status``, and by each call
    /// that comes after it.
    ///
    /// - Parameter instanceId: the instance's id.
    public func start(instanceId: String) {
        do throws(PealError) {
            guard let hub = Self.hub else {
                throw PealError(.badURL, "PushNotifications.hub is not set; set it to the hub's URL before the start")
            }
            try start(hub: hub, instanceId: instanceId, directory: Self.directory)
        } catch {
            log("the start failed: \(error)")
            shown.withLock { $0.failure = error }
            told.tell(ClientStatus(state: .stopped, lastError: error.message))
        }
    }

    /// Starts: opens this device's files, or makes a device, and connects. Stays so until ``stop(completion:)``; once more is once. What an
    /// earlier run had stopped and could not tell the hub is told now. Blocking for a moment; nothing waits for the network.
    ///
    /// - Parameters:
    ///   - hub: `http://host[:port]` or `https://…` of the hub's publishing side.
    ///   - instanceId: the instance's id.
    ///   - directory: a folder of the app's; by default `peal` in the user's data directory (`$XDG_DATA_HOME`, else `~/.local/share`).
    /// - Throws: ``PealError``: `badURL`, `invalid` for an empty id or where it runs for another instance, `inUse`, `file`.
    public func start(hub: String, instanceId: String, directory: String? = nil) throws(PealError) {
        let address = try HubAddress(hub, proxy: proxy ?? Self.proxy)
        guard !instanceId.isEmpty else { throw PealError(.invalid, "an instance id is not empty") }
        let folder = (directory ?? PealClient.defaultDirectory) + "/push-" + PealClient.fileName(instanceId)
        try life.withLock { (started: inout Started?) throws(PealError) in
            if let started {
                guard started.instance == instanceId else {
                    throw PealError(.invalid, "this object was started for another instance; stop it, or make another")
                }
                return
            }
            started = try begin(folder, address, instanceId)
        }
    }

    /// Ends the session and lets the files go, as the end of the program does: nothing is forgotten, and a start goes on from there. Blocking for
    /// a moment.
    public func close() {
        life.withLock { started in
            guard let now = started else { return }
            for inbox in [now.inbox, now.user] { try? inbox?.blocking { (inbox) in inbox.close() } }
            shown.withLock { shown in
                shown.file = nil
                shown.provider = nil
                shown.isCaughtUp = false
            }
            started = nil
            told.tell(ClientStatus(state: .offline))
        }
    }

    private func begin(_ folder: String, _ hub: HubAddress, _ instance: String) throws(PealError) -> Started {
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw PealError(.file, "the directory \(folder) cannot be made: \(error.localizedDescription)")
        }
        let lease: Lease?
        do throws(ReplicaError) {
            lease = try Lease.take(path: folder + "/device")
        } catch {
            throw PealError(error)
        }
        guard let lease else {
            throw PealError(.inUse, "another program, or another object of this one, has \(folder)")
        }
        let before = try DeviceRecord.load(folder)
        var record = before ?? DeviceRecord(hub: hub.url.absoluteString)
        record.hub = hub.url.absoluteString
        if record.file.isEmpty { record.file = Self.freshFile() }
        // Known before it is made, or it would look like one that was ended.
        if record != before { try record.save(folder) }
        let inbox = try Inbox.open(configuration(folder + "/" + record.file, .device(id: nil), instance, hub))
        if record.user == nil, let user = try inbox.blocking({ (inbox) throws(PealError) in try inbox.waitingUser() }) {
            // A crash came between the act and the record.
            record.user = user
            record.isBound = true
            try record.save(folder)
        }
        let started = Started(
            instance: instance, folder: folder, hub: hub, record: record, inbox: inbox, user: nil, lease: lease)
        Farewells.shared.resume(folder, except: record.file) { configuration($0, .device(id: nil), instance, hub) }
        if record.user == nil { removeUsers(folder) }
        let names = try inbox.blocking { (inbox) throws(PealError) in try inbox.interests() }
        let early = shown.withLock { shown in
            shown.file = record.file
            shown.interests = names
            shown.refusals = 0
            shown.failure = nil
            defer { shown.early = nil }
            return shown.early
        }
        attach(inbox, record.file)
        var result = started
        if let early { try register(early, &result) }
        return result
    }

    static func freshFile() -> String { "device-\(UUID().uuidString.lowercased()).peal" }

    func configuration(
        _ path: String, _ identity: InboxIdentity, _ instance: String, _ hub: HubAddress
    ) -> Inbox.Configuration {
        var configuration = Inbox.Configuration(
            path: path, identity: identity, proof: Proof(), project: instance, hub: hub)
        configuration.authorityPath = authorityPath ?? Self.authorityPath
        configuration.log = log
        return configuration
    }

    /// The device's inbox is followed, and connects.
    func attach(_ inbox: Inbox, _ file: String) {
        let follower = Inbox.Follower(
            change: { [weak self] inbox, change in self?.changed(inbox, file, change) },
            status: { [weak self] inbox, status in self?.moved(inbox, file, status) })
        let told = told
        try? inbox.blocking { (inbox) in
            inbox.follow(follower)
            inbox.watchHealth { told.tell($0) }
            inbox.connect()
        }
    }

    // MARK: What follows

    /// A commit of the device's inbox, on its thread.
    private func changed(_ inbox: isolated Inbox, _ file: String, _ change: Change) {
        if change.interests || change.everything, let names = try? inbox.interests() { show(names, of: file) }
        if !change.inserted.isEmpty { deliver(change.inserted, inbox) }
        if change.outbox { lookForRefusal(inbox, file) }
    }

    /// Tells the app where its interests are others than it was told last.
    func show(_ names: [String], of file: String) {
        shown.withLock { shown in
            guard shown.file == file, shown.interests != names else { return }
            shown.interests = names
            guard let delegate = shown.interestsDelegate else { return }
            // Only queued under the lock, so that the order is that of the changes.
            callbacks.run { delegate.observer?.interestsSetOnDeviceDidChange(interests: names) }
        }
    }

    /// A status of the device's inbox, on its thread.
    private func moved(_ inbox: isolated Inbox, _ file: String, _ status: InboxStatus) {
        switch status.state {
        case .live:
            shown.withLock { $0.refusals = 0 }
            bindAgain(file)
        case .stopped where status.code == CloseCode.revoked.rawValue:
            let delay: Milliseconds? = shown.withLock { shown in
                guard shown.file == file else { return nil }
                shown.refusals += 1
                // A session can end so for what is over at the next hello.
                guard shown.refusals > 1 else { return 0 }
                let age = shown.renewed.map { ContinuousClock.now - $0 }
                return age.map { max(0, Self.renewal - Milliseconds($0 / .milliseconds(1))) } ?? 0
            }
            guard let delay else { return }
            let isFirst = shown.withLock { $0.refusals == 1 }
            inbox.executor.post(afterMilliseconds: delay) { [weak self, weak inbox] in
                if isFirst {
                    inbox?.assumeIsolated { $0.tryAgain() }
                } else {
                    // Not on this thread, which it waits for.
                    Thread.detachNewThread { [weak self] in self?.makeAnew(file) }
                }
            }
        default: break
        }
    }

    // MARK: Status

    /// Where the device's connection stands: the present status first, then each that differs.
    public var statuses: AsyncStream<ClientStatus> { told.stream() }

    /// Where the device's connection stands now. Not blocking.
    public var status: ClientStatus { told.last }

    /// The inbox of this device, for what has no call of its own: its notifications, its log, its outbox; nil where it is not started. Another one
    /// after ``clearAllState(completion:)``.
    public var deviceInbox: Inbox? { life.withLock { $0?.inbox } }

    /// The inbox of the user who is signed in; nil before ``setUserId(_:tokenProvider:completion:)`` of this run.
    public var userInbox: Inbox? { life.withLock { $0?.user } }

    /// Why nothing can be asked now.
    var notStarted: PealError {
        shown.withLock { $0.failure }
            ?? PealError(.notStarted, "call start before anything else; after a stop, start again")
    }
}
