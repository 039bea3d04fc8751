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
    /// A PostgreSQL database instead of the file: a libpq address, secrets included (docs/postgresql.md). It is never logged.
    public var store: String?
    /// Where the hub listens for others on the same database, where `store` is a pooler that hands out connections by the transaction; nil
    /// for the same address (docs/nodes.md).
    public var storeListen: String?
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
    /// What clients may use up.
    public var limits = HubLimits()
    /// Takes a line for the operator; called on any thread. Never holds a secret or a body.
    public var log: @Sendable (HubLogRecord) -> Void = { _ in }
    /// What is less important than this is not made.
    public var logLevel = HubLogLevel.notice

    /// A configuration with the defaults.
    public init(databasePath: String) { self.databasePath = databasePath }

    /// The pair of both listeners.
    var tls: HTTPServerConfiguration.TLS? {
        guard let certificatePath, let keyPath else { return nil }
        return HTTPServerConfiguration.TLS(certificatePath: certificatePath, keyPath: keyPath)
    }

    /// Takes a sentence about something that is wrong.
    var warn: @Sendable (String) -> Void {
        { [log, logLevel] message in if logLevel >= .warning { log(HubLogRecord(.warning, message)) } }
    }
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
    private let sockets: WebSocketServer
    private let isStopped = Atomic(false)
    private let tls: HTTPServerConfiguration.TLS?
    private let http: HTTPServer
    private let writerThread: ConnectionExecutor
    private let nodes: (any HubNodes)?
    private let lock: HubLock?

    /// Opens the store and listens. Blocks until both listeners take connections.
    ///
    /// - Throws: ``HubError``: the file cannot be opened, is none of a hub's or is newer; another hub runs on it; the catalogue is not one;
    ///   a port is taken. Nothing stays open.
    public init(_ configuration: HubConfiguration) throws(HubError) {
        let clock: @Sendable () -> Milliseconds = { Self.now() }
        let lock = try configuration.store == nil ? HubLock(of: configuration.databasePath) : nil
        self.lock = lock
        let opened = try Self.open(configuration, now: clock())
        project = opened.project
        let service = try Self.guarded("the device side") { try WebSocketService(name: "peal-hub") }
        let hub = Hub(
            service: service, reoffersLostActs: configuration.reoffersLostActs, limits: configuration.limits,
            clock: clock, log: configuration.warn)
        nonisolated(unsafe) let store = opened.store
        let writer = ConnectionExecutor(name: "peal-commit")
        let committer = Committer(store: store, executor: writer, metrics: hub.metrics) { completions, appended in
            service.post {
                for completion in completions { completion() }
                hub.assumeIsolated { $0.committed(appended) }
            }
        }
        let logs = LogReader(reader: opened.reader, executor: ConnectionExecutor(name: "peal-read"))
        let sender = WebhookSender(WebhookPolicy(configuration.webhookHosts))
        let core = HubCore(
            committer: committer, reader: logs, hub: hub, projects: opened.projects, sender: sender, clock: clock,
            log: configuration.warn)
        service.start()
        service.post {
            hub.assumeIsolated {
                $0.attach(committer: committer, logReader: logs, projects: core.projects, sender: sender)
            }
        }
        let nodes = opened.nodes
        do throws(HubError) {
            let server = try Self.listen(configuration, service: service, hub: hub)
            if let nodes { service.post { hub.assumeIsolated { $0.attach(nodes: nodes) } } }
            service.post { hub.assumeIsolated { $0.start(server) } }
            http = try Self.guarded("the publishing side") {
                try Self.listen(configuration, core: core, webSocketPort: server.boundPort)
            }
            webSocketPort = server.boundPort
            sockets = server
        } catch {
            Self.end(core, service: service, writer: writer, nodes: nodes)
            throw HubError(
                message: error.message, project: opened.project.isNew ? opened.project : nil, isOfListener: true)
        }
        if configuration.requiresHMAC, !project.requiresHMAC {
            configuration.warn(
                "project \(project.instance) was made without require-hmac and believes users who prove nothing; PUT /v1/projects/{instance} changes that"
            )
        }
        httpPort = http.boundPort
        tls = configuration.tls
        Self.watch(http, service)
        self.service = service
        self.core = core
        writerThread = writer
        self.nodes = nodes
    }

    /// What a hub has of its file.
    private struct Opened {
        var store: any HubStore
        var reader: any HubReader
        var project: HubProject
        var projects: Projects
        var nodes: (any HubNodes)?
    }

    private static func open(_ configuration: HubConfiguration, now: Milliseconds) throws(HubError) -> Opened {
        try guarded("the store \(storeName(configuration))") { () throws(HubStoreError) in
            // Before a project is made, whose secret a start that fails would not show.
            let categories = try configuration.catalogue.map(categories)
            let store = try openStore(configuration)
            let project = try firstProject(store, requiresHMAC: configuration.requiresHMAC, now: now)
            let (projects, operatorHash) = try tenants(store)
            if let categories { try setCatalogue(categories, store, of: project, now: now) }
            return Opened(
                store: store, reader: try store.makeReader(), project: project,
                projects: Projects(projects, operatorHash: operatorHash), nodes: try otherNodes(configuration))
        }
    }

    private static func listen(
        _ configuration: HubConfiguration, service: WebSocketService, hub: Hub
    ) throws(HubError) -> WebSocketServer {
        let sockets = socketConfiguration(configuration)
        return try guarded("the device side") {
            try WebSocketServer(service: service, configuration: sockets, handler: HubListener(hub))
        }
    }

    /// How the device side listens.
    static func socketConfiguration(_ configuration: HubConfiguration) -> WebSocketServerConfiguration {
        var sockets = WebSocketServerConfiguration(subprotocol: wireSubprotocol)
        sockets.host = configuration.host
        sockets.port = configuration.webSocketPort
        sockets.maximumMessageBytes = Limits.frameUp
        sockets.pingSeconds = Int(Limits.heartbeatSeconds)
        sockets.hangupSeconds = HubLimits.silenceSeconds
        sockets.maximumHandshakes = configuration.limits.handshakes
        sockets.handshakeSeconds = configuration.limits.handshakeSeconds
        sockets.maximumConnections = configuration.limits.sockets
        sockets.certificatePath = configuration.certificatePath
        sockets.keyPath = configuration.keyPath
        return sockets
    }

    private static func listen(
        _ configuration: HubConfiguration, core: HubCore, webSocketPort: Int
    ) throws(HTTPServerError) -> HTTPServer {
        var http = HTTPServerConfiguration()
        http.host = configuration.host
        http.port = configuration.httpPort
        http.log = configuration.warn
        let limits = configuration.limits
        http.maximumConnections = limits.connections
        http.maximumConnectionsPerAddress = limits.connectionsPerAddress
        http.headSeconds = limits.headSeconds
        http.idleSeconds = limits.idleSeconds
        http.bodySeconds = limits.bodySeconds
        http.answerSeconds = limits.answerSeconds
        http.tls = configuration.tls
        let operations = OperationsSurface(
            core: core, webSocketPort: webSocketPort, publicWebSocketURL: configuration.publicWebSocketURL,
            usesTLS: configuration.certificatePath != nil,
            databasePath: configuration.store == nil ? configuration.databasePath : nil)
        let router = HTTPRouter(routes(core, operations))
        http.answered = answered(core.metrics, configuration, router)
        return try HTTPServer(configuration: http, handler: RateLimit(limits, router: router, core: core))
    }

    /// Looks each second for connections that take too long, until the service is stopped.
    private static func watch(_ http: HTTPServer, _ service: WebSocketService) {
        service.post(afterMilliseconds: 1_000) {
            http.cutOverdue()
            watch(http, service)
        }
    }

    /// Counts each answer, and logs it where that is wanted.
    private static func answered(
        _ metrics: Metrics, _ configuration: HubConfiguration, _ router: HTTPRouter
    ) -> @Sendable (HTTPAnswered) -> Void {
        { answered in
            metrics.answered(Metrics.Family(target: answered.target), status: answered.status)
            guard configuration.logLevel >= .info || answered.status == 500 else { return }
            configuration.log(HubLogRecord(answered, pattern: answered.head.flatMap(router.pattern)))
        }
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
        try store.group { () throws(HubStoreError) in
            let operatorToken = try store.operatorHash() == nil ? Secret.make() : nil
            if let operatorToken { try store.setOperatorHash(Secret.stored(operatorToken)) }
            let known = try store.projects().first
            let project =
                if let known { known } else {
                    try store.createProject(
                        instance: Project.makeInstance(), apiKey: Project.makeKey(), secret: Secret.make(),
                        requiresHMAC: requiresHMAC, now: now)
                }
            return HubProject(
                instance: project.instance, apiKey: project.apiKey, secret: project.secret, isNew: known == nil,
                operatorToken: operatorToken, requiresHMAC: project.requiresHMAC)
        }
    }

    private static func categories(_ bytes: [UInt8]) throws(HubStoreError) -> [Catalogue.Category] {
        do throws(JSONError) {
            return try Catalogue.categories(JSONObject(bytes[...]))
        } catch {
            throw HubStoreError(.invalid, "the catalogue cannot be read: \(error.reason)", underlying: error)
        }
    }

    private static func setCatalogue(
        _ categories: [Catalogue.Category], _ store: any HubStore, of project: HubProject, now: Milliseconds
    ) throws(HubStoreError) {
        try store.group { () throws(HubStoreError) in
            guard let key = try store.project(project.instance)?.key else { return }
            _ = try store.setCatalogue(categories, in: key, now: now)
        }
    }

    /// Seconds that ``stop()`` takes at most: devices and requests are given their time at once, then the store is closed.
    public static let stopSeconds = 10
    /// Seconds in which the devices' sockets must have taken their last frames.
    static let socketSeconds = 6
    /// Seconds in which requests in flight are answered; then they get 503.
    static let answerSeconds = 5

    static func now() -> Milliseconds {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Milliseconds(time.tv_sec) * 1_000 + Milliseconds(time.tv_nsec) / 1_000_000
    }

    /// Whether the listeners speak TLS.
    public var usesTLS: Bool { tls != nil }

    /// Reads certificate and key again, for handshakes from now on; connections that are open keep theirs, and none is dropped.
    /// Blocks for some milliseconds. Nothing without TLS.
    ///
    /// - Throws: ``HubError``: a file cannot be read, or the pair cannot be used. The old pair stays in use on both listeners.
    public func renewCertificate() throws(HubError) {
        guard let tls else { return }
        do {
            let certificate = try HTTPServerText.read(tls.certificatePath)
            let key = try HTTPServerText.read(tls.keyPath)
            // Before anything is changed, both have to take it.
            try HTTPServer.check(certificate: certificate, key: key)
            try sockets.renew(certificate: certificate, key: key)
            try http.renew(certificate: certificate, key: key)
        } catch {
            throw HubError(message: "certificate and key cannot be taken: \(error)")
        }
    }

    /// Tells the devices to come back later, answers what was asked, makes durable what was accepted, and closes the store. Blocks,
    /// for ``stopSeconds`` at most where the disk does what it is asked. Calling it again does
    /// nothing.
    public func stop() {
        guard !isStopped.exchange(true, ordering: .relaxed) else { return }
        let socketsGone = DispatchLatch()
        let limit = Int64(Self.socketSeconds * 1_000)
        service.post { self.core.hub.assumeIsolated { $0.drain(within: limit) { socketsGone.open() } } }
        // Meanwhile: the answers to what HTTP has asked need the store, and so do the devices' pushes.
        http.stop(grace: .seconds(Self.answerSeconds))
        socketsGone.wait()
        let done = DispatchLatch()
        core.committer.stop { done.open() }
        done.wait()
        Self.end(core, service: service, writer: writerThread, nodes: nodes)
        lock?.release()
    }

    /// Closes the sockets, then the file, and ends the threads.
    static func end(
        _ core: HubCore, service: WebSocketService, writer: ConnectionExecutor, nodes: (any HubNodes)? = nil
    ) {
        service.post { core.hub.assumeIsolated { $0.detach() } }
        service.stop()
        core.reader.stop()
        nodes?.stop()
        core.committer.close()
        writer.stop()
        core.sender.stop()
    }
}
