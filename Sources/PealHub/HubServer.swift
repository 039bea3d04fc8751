package import PealModel
import PealSQLite
import PealWebSocket
internal import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// How a hub runs.
public struct HubConfiguration: Sendable {
    /// The SQLite file; made where it is not there, with mode 0600.
    public var databasePath: String
    /// The address of both listeners.
    public var host = "127.0.0.1"
    /// The port of the publishing and admin side (HTTP); 0 for any.
    public var httpPort: UInt16 = 8_080
    /// The port of the device side (WebSocket); 0 for any.
    public var webSocketPort = 8_081
    /// The device side's public URL, where a proxy stands in front; nil to tell it from each request.
    public var publicWebSocketURL: String?
    /// A PEM file for both listeners; nil for no TLS.
    public var certificatePath: String?
    /// A PEM file.
    public var keyPath: String?
    /// Whether the project that the first start makes wants users to prove who they are.
    public var requiresHMAC = false
    /// Whether devices offer the acts again that a hub restored from a backup has lost; false for the state of the backup
    /// (docs/sync.md section 7).
    public var reoffersLostActs = true
    /// How long the logs are kept.
    package var retention = Retention()
    /// One JSON object whose member `categories` becomes the first project's catalogue (docs/sync.md section 3), where it
    /// differs from what the project has; nil to leave that.
    public var catalogue: [UInt8]?
    /// Hosts that webhooks may call, as `hooks.example.org`, with a port or without; none by default. An address that is not public is only called where
    /// that very address is listed.
    public var webhookHosts: [String] = []
    /// Takes a line for the operator; called on any thread. Never holds a secret or a body.
    public var log: @Sendable (String) -> Void = { _ in }

    /// A configuration with the defaults.
    public init(databasePath: String) { self.databasePath = databasePath }
}

/// Why a hub does not start.
public struct HubError: Error, Sendable, CustomStringConvertible {
    /// A sentence that says what to look at.
    public let message: String
    /// The sentence.
    public var description: String { message }
}

/// A tenant, as the operator gets to see it once.
public struct HubProject: Sendable {
    /// The instance id.
    public let instance: String
    /// The public key.
    public let apiKey: String
    /// The secret.
    public let secret: String
    /// Whether this start made it.
    public let isNew: Bool
    /// The token of the operator's routes (`/v1/projects`), where this start made one: only its hash is kept.
    public let operatorToken: String?
}

/// A running hub: store, sessions and both listeners (ARCHITECTURE.md). Usable from any thread; also in an app's own tests.
public final class HubServer: Sendable {
    /// The first project.
    public let project: HubProject
    /// The port of the publishing and admin side.
    public let httpPort: UInt16
    /// The port of the device side.
    public let webSocketPort: Int

    private let service: WebSocketService
    let core: HubCore
    private let http: HTTPServer
    private let writerThread: ConnectionExecutor

    /// Opens the store and listens. Blocks until both listeners take connections.
    ///
    /// - Throws: ``HubError``: the file cannot be opened, is none of a hub's or is newer; the catalogue is not one; a port is
    ///   taken. Nothing stays open.
    public init(_ configuration: HubConfiguration) throws(HubError) {
        let clock: @Sendable () -> Milliseconds = { Self.now() }
        let opened = try Self.open(configuration, now: clock())
        project = opened.project
        let service = try Self.guarded("the device side") { try WebSocketService(name: "peal-hub") }
        let hub = Hub(
            service: service, reoffersLostActs: configuration.reoffersLostActs, clock: clock, log: configuration.log)
        nonisolated(unsafe) let store = opened.store
        let writer = ConnectionExecutor(name: "peal-commit")
        let committer = Committer(store: store, executor: writer) { completions, appended in
            service.post {
                for completion in completions { completion() }
                hub.assumeIsolated { $0.committed(appended) }
            }
        }
        let logs = LogReader(reader: opened.reader, executor: ConnectionExecutor(name: "peal-read"))
        let sender = WebhookSender(WebhookPolicy(configuration.webhookHosts))
        let core = HubCore(
            committer: committer, reader: logs, hub: hub, projects: opened.projects, sender: sender, clock: clock,
            log: configuration.log)
        service.start()
        service.post {
            hub.assumeIsolated {
                $0.attach(committer: committer, logReader: logs, projects: core.projects, sender: sender)
            }
        }
        do throws(HubError) {
            let server = try Self.listen(configuration, service: service, hub: hub)
            service.post { hub.assumeIsolated { $0.start(server) } }
            http = try Self.guarded("the publishing side") {
                try Self.listen(configuration, core: core, webSocketPort: server.boundPort)
            }
            webSocketPort = server.boundPort
        } catch {
            Self.end(core, service: service, writer: writer)
            throw error
        }
        httpPort = http.boundPort
        self.service = service
        self.core = core
        writerThread = writer
    }

    /// What a hub has of its file.
    private struct Opened {
        var store: SQLiteHubStore
        var reader: any HubReader
        var project: HubProject
        var projects: Projects
    }

    private static func open(_ configuration: HubConfiguration, now: Milliseconds) throws(HubError) -> Opened {
        try guarded("the store \(configuration.databasePath)") { () throws(HubStoreError) in
            let store = try SQLiteHubStore(path: configuration.databasePath, retention: configuration.retention)
            let project = try firstProject(store, requiresHMAC: configuration.requiresHMAC, now: now)
            let (projects, operatorHash) = try tenants(store)
            if let bytes = configuration.catalogue { try setCatalogue(bytes, store, of: project, now: now) }
            return Opened(
                store: store, reader: try store.makeReader(), project: project,
                projects: Projects(projects, operatorHash: operatorHash))
        }
    }

    private static func listen(
        _ configuration: HubConfiguration, service: WebSocketService, hub: Hub
    ) throws(HubError) -> WebSocketServer {
        var sockets = WebSocketServerConfiguration(subprotocol: wireSubprotocol)
        sockets.host = configuration.host
        sockets.port = configuration.webSocketPort
        sockets.maximumMessageBytes = Limits.frameUp
        sockets.pingSeconds = Int(Limits.heartbeatSeconds)
        sockets.hangupSeconds = Int(Limits.heartbeatSeconds) * 3 / 2
        sockets.certificatePath = configuration.certificatePath
        sockets.keyPath = configuration.keyPath
        return try guarded("the device side") {
            try WebSocketServer(service: service, configuration: sockets, handler: HubListener(hub))
        }
    }

    private static func listen(
        _ configuration: HubConfiguration, core: HubCore, webSocketPort: Int
    ) throws(HTTPServerError) -> HTTPServer {
        var http = HTTPServerConfiguration()
        http.host = configuration.host
        http.port = configuration.httpPort
        http.log = configuration.log
        if let certificate = configuration.certificatePath, let key = configuration.keyPath {
            http.tls = HTTPServerConfiguration.TLS(certificatePath: certificate, keyPath: key)
        }
        let operations = OperationsSurface(
            core: core, webSocketPort: webSocketPort, publicWebSocketURL: configuration.publicWebSocketURL,
            usesTLS: configuration.certificatePath != nil)
        return try HTTPServer(configuration: http, handler: HTTPRouter(routes(core, operations)))
    }

    /// Every route that this hub serves; each stands in schema/rest/openapi.yaml.
    var routes: [HTTPRoute] {
        Self.routes(
            core,
            OperationsSurface(core: core, webSocketPort: webSocketPort, publicWebSocketURL: nil, usesTLS: false))
    }

    static func routes(_ core: HubCore, _ operations: OperationsSurface) -> [HTTPRoute] {
        InterestsSurface(core: core).routes + InboxSurface(core: core).routes + NativeSurface(core: core).routes
            + operations.routes
    }

    private static func guarded<R, E: Error>(_ part: String, _ body: () throws(E) -> R) throws(HubError) -> R {
        do {
            return try body()
        } catch {
            throw HubError(message: "\(part) cannot be opened: \(error)")
        }
    }

    static func tenants(_ store: any HubStore) throws(HubStoreError) -> ([Project], operatorHash: [UInt8]?) {
        try store.begin()
        defer { store.rollback() }
        return (try store.projects(), try store.operatorHash())
    }

    private static func firstProject(
        _ store: any HubStore, requiresHMAC: Bool, now: Milliseconds
    ) throws(HubStoreError) -> HubProject {
        try store.begin()
        defer { store.rollback() }
        let operatorToken = try store.operatorHash() == nil ? Secret.make() : nil
        if let operatorToken { try store.setOperatorHash(Secret.stored(operatorToken)) }
        let known = try store.projects().first
        let project =
            if let known { known } else {
                try store.createProject(
                    instance: Project.makeInstance(), apiKey: Project.makeKey(), secret: Secret.make(),
                    requiresHMAC: requiresHMAC, now: now)
            }
        try store.commit()
        return HubProject(
            instance: project.instance, apiKey: project.apiKey, secret: project.secret, isNew: known == nil,
            operatorToken: operatorToken)
    }

    private static func setCatalogue(
        _ bytes: [UInt8], _ store: any HubStore, of project: HubProject, now: Milliseconds
    ) throws(HubStoreError) {
        let categories: [Catalogue.Category]
        do throws(JSONError) {
            categories = try Catalogue.categories(JSONObject(bytes[...]))
        } catch {
            throw HubStoreError(.invalid, "the catalogue cannot be read: \(error.reason)", underlying: error)
        }
        try store.begin()
        defer { store.rollback() }
        guard let key = try store.project(project.instance)?.key else { return }
        _ = try store.setCatalogue(categories, in: key, now: now)
        try store.commit()
    }

    static func now() -> Milliseconds {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Milliseconds(time.tv_sec) * 1_000 + Milliseconds(time.tv_nsec) / 1_000_000
    }

    /// Tells the devices to come back later, finishes what was begun, and closes the store. Blocks, for some seconds at most;
    /// call once.
    public func stop() {
        http.stop(grace: .seconds(3))
        let done = DispatchLatch()
        service.post {
            self.core.hub.assumeIsolated { $0.drain() }
            self.core.committer.stop { done.open() }
        }
        done.wait()
        Self.end(core, service: service, writer: writerThread)
    }

    /// Closes the sockets, then the file, and ends the threads.
    static func end(_ core: HubCore, service: WebSocketService, writer: ConnectionExecutor) {
        service.post { core.hub.assumeIsolated { $0.detach() } }
        service.stop()
        core.reader.stop()
        core.committer.close()
        writer.stop()
        core.sender.stop()
    }
}

/// Opens once; threads wait for it.
final class DispatchLatch: @unchecked Sendable {
    // The semaphore is the synchronisation.
    private let semaphore: UnsafeMutablePointer<sem_t>

    init() {
        semaphore = .allocate(capacity: 1)
        semaphore.initialize(to: sem_t())
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func open() { sem_post(semaphore) }

    func wait() { while sem_wait(semaphore) != 0 {} }
}
