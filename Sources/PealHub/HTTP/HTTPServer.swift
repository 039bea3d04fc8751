internal import CPealHTTP
internal import Synchronization
#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// An HTTP/1.1 server: one listener, one thread, any number of waiting answers.
///
/// The thread reads requests, calls the handler and writes answers; it never waits for a client or for an answer. The
/// object may be used from any thread. It must be stopped, or released, on another thread than its own: not in a handler.
package final class HTTPServer: Sendable {
    /// The daemons of a server. A new certificate is a new daemon on the same socket: the library keeps one for its life.
    private struct Daemons {
        /// The one that listens; nil once stopped.
        var current: HTTPDaemon?
        /// Those that serve what they had accepted, until it is closed.
        var retired: [HTTPDaemon] = []
    }

    /// The port the server listens on.
    package let boundPort: UInt16
    private let core: HTTPServerCore
    private let daemons: Mutex<Daemons>

    /// Starts to listen and to serve.
    ///
    /// Blocks for reading the TLS files and looking up the host, if it is a name.
    /// Throws `unknownHost`, `unreadableFile`, `cannotListen`.
    package init(configuration: HTTPServerConfiguration, handler: any HTTPHandler) throws(HTTPServerError) {
        let core = HTTPServerCore(configuration: configuration, handler: handler)
        let pair = try configuration.tls.map { tls throws(HTTPServerError) in
            try HTTPCertificate(
                certificate: HTTPServerText.read(tls.certificatePath), key: HTTPServerText.read(tls.keyPath))
        }
        let daemon = try core.listen(pair)
        self.core = core
        boundPort = peal_http_bound_port(daemon.pointer)
        daemons = Mutex(Daemons(current: daemon))
    }

    deinit { stop() }

    /// Open connections at this moment; 0 once stopped.
    package var connections: Int {
        daemons.withLock { daemons in
            (daemons.retired + [daemons.current].compactMap { $0 }).reduce(0) {
                $0 + Int(peal_http_connections($1.pointer))
            }
        }
    }

    /// Closes the connections that take too long for what they do: sending a head or a body, or reading an answer. To be called now
    /// and then; any thread.
    ///
    /// - Parameter now: the moment by which their time is over.
    package func cutOverdue(at now: ContinuousClock.Instant = .now) { core.connections.cutOverdue(at: now) }

    /// Whether a certificate and its key can be used, without a change. Blocks for some milliseconds.
    /// Throws `cannotListen`.
    package static func check(certificate: [UInt8], key: [UInt8]) throws(HTTPServerError) {
        var configuration = HTTPServerConfiguration()
        configuration.log = { _ in }
        let core = HTTPServerCore(configuration: configuration, handler: HTTPRouter([]))
        let pair = HTTPCertificate(certificate: certificate, key: key)
        guard let daemon = core.start(pair, address: nil, listening: -2) else {
            throw HTTPServerError(
                code: .cannotListen, message: "TLS refuses the certificate or the key, or they do not belong together")
        }
        MHD_stop_daemon(daemon.pointer)
    }

    /// Gives connections from now on another certificate with its chain and key (PEM texts). Those that are open keep theirs and
    /// are served on; none is dropped. Blocks for some milliseconds; not on the server's thread. Nothing where it is stopped.
    /// Throws `cannotListen`: the old pair stays.
    package func renew(certificate: [UInt8], key: [UInt8]) throws(HTTPServerError) {
        try Self.check(certificate: certificate, key: key)
        let renewed = daemons.withLock { daemons in
            guard let old = daemons.current else { return true }
            let pair = HTTPCertificate(certificate: certificate, key: key)
            let listening = dup(peal_http_listening(old.pointer))
            guard listening >= 0, let new = core.start(pair, address: nil, listening: listening) else { return false }
            daemons.current = new
            old.retire()
            daemons.retired.append(old)
            Self.stopIdle(&daemons)
            return true
        }
        guard renewed else { throw HTTPServerError(code: .cannotListen, message: "out of memory or descriptors") }
    }

    /// Ends the daemons that serve nobody any more.
    private static func stopIdle(_ daemons: inout Daemons) {
        for daemon in daemons.retired where peal_http_connections(daemon.pointer) == 0 { daemon.stop() }
        daemons.retired.removeAll { $0.isStopped }
    }

    /// Stops listening, lets the requests in flight be answered, closes all connections and joins the thread.
    ///
    /// Blocks, at most for the grace period and about a second. Requests that have no answer after the grace period
    /// get 503, as do requests that arrive meanwhile on open connections; answers that come still later are dropped.
    /// Calling it again waits for the first call and does nothing.
    package func stop(grace: Duration = .seconds(5)) {
        daemons.withLock { daemons in
            guard let current = daemons.current else { return }
            current.retire()
            current.refuseConnections()
            core.inFlight.close()
            for exchange in core.inFlight.exchanges { exchange.endStream() }
            waitUntilIdle(grace)
            for exchange in core.inFlight.exchanges { exchange.endStream() }
            for exchange in core.inFlight.exchanges { exchange.abandon() }
            waitUntilIdle(.seconds(1))
            for daemon in daemons.retired + [current] { daemon.stop() }
            daemons = Daemons()
        }
    }

    private func waitUntilIdle(_ limit: Duration) {
        let deadline = ContinuousClock.now + limit
        while !core.inFlight.isEmpty, ContinuousClock.now < deadline { usleep(1000) }
    }
}

/// One daemon of the library: a thread, its connections, and its certificate.
// `@unchecked`: libmicrohttpd allows its daemon functions on any thread; the rest is used behind the server's lock.
final class HTTPDaemon: @unchecked Sendable {
    let pointer: OpaquePointer
    /// The library keeps pointers into it.
    private let pair: HTTPCertificate?
    /// The listening socket, once the daemon does not listen any more; closed only when the thread is gone, so that nobody else
    /// gets the descriptor's number.
    private var listener: Int32 = -1
    private(set) var isStopped = false

    init(_ pointer: OpaquePointer, _ pair: HTTPCertificate?) {
        self.pointer = pointer
        self.pair = pair
    }

    /// Takes no new connections; those that are open are served on.
    func retire() {
        let listener = MHD_quiesce_daemon(pointer)
        if listener >= 0 { self.listener = listener }
    }

    /// Nobody is let in by the socket any more, by whichever daemon: it is the same one.
    func refuseConnections() {
        if listener >= 0 { shutdown(listener, Int32(SHUT_RDWR)) }
    }

    /// Closes its connections and ends its thread.
    func stop() {
        MHD_stop_daemon(pointer)
        if listener >= 0 { close(listener) }
        isStopped = true
    }
}

/// A certificate with its chain and its key, as PEM texts.
final class HTTPCertificate: Sendable {
    let certificate: HTTPServerText
    let key: HTTPServerText

    init(certificate: [UInt8], key: [UInt8]) {
        self.certificate = HTTPServerText(certificate)
        self.key = HTTPServerText(key)
    }
}

/// What the library's callbacks need; lives as long as the server.
final class HTTPServerCore: Sendable {
    let configuration: HTTPServerConfiguration
    let handler: any HTTPHandler
    let inFlight = HTTPInFlight()
    let connections = HTTPConnections()

    init(configuration: HTTPServerConfiguration, handler: any HTTPHandler) {
        self.configuration = configuration
        self.handler = handler
    }

    /// Starts a daemon on the configured address.
    func listen(_ pair: HTTPCertificate?) throws(HTTPServerError) -> HTTPDaemon {
        var hints = addrinfo()
        hints.ai_flags = AI_PASSIVE
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(configuration.host, String(configuration.port), &hints, &found)
        guard status == 0, let address = found?.pointee.ai_addr else {
            throw HTTPServerError(
                code: .unknownHost, message: "\(configuration.host): \(String(cString: gai_strerror(status)))")
        }
        defer { freeaddrinfo(found) }
        errno = 0
        guard let daemon = start(pair, address: address, listening: -1) else {
            let reason = errno == 0 ? "refused" : String(cString: strerror(errno))
            throw HTTPServerError(
                code: .cannotListen, message: "\(configuration.host) port \(configuration.port): \(reason)")
        }
        return daemon
    }

    /// Starts a daemon; nil where the library refused. The callbacks get this object unretained: the server keeps it until the
    /// daemon is stopped.
    ///
    /// - Parameter listening: a socket, -1 to listen on the address, -2 not to listen.
    func start(_ pair: HTTPCertificate?, address: UnsafeMutablePointer<sockaddr>?, listening: Int32) -> HTTPDaemon? {
        var options = peal_http_options()
        options.address = UnsafePointer(address)
        options.listening = listening
        options.connection_limit = UInt32(clamping: configuration.maximumConnections)
        options.connection_limit_per_address = UInt32(clamping: configuration.maximumConnectionsPerAddress)
        options.idle_seconds = UInt32(clamping: configuration.idleSeconds)
        // The library keeps its own records of the fields and writes the answer's headers into the same memory.
        options.connection_memory = 2 * configuration.maximumHeaderBytes + 16 * 1024
        options.certificate_pem = pair?.certificate.pointer
        options.key_pem = pair?.key.pointer
        options.context = Unmanaged.passUnretained(self).toOpaque()
        options.target = targetRead
        options.access = accessed
        options.completed = completed
        options.connection = connectionChanged
        return peal_http_start(&options).map { HTTPDaemon($0, pair) }
    }
}

/// The system's `read`, which a method of that name would hide.
private func readBytes(_ file: Int32, _ start: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(file, start, count)
}

/// A text in memory that does not move, ended by a NUL.
// `@unchecked`: written in the initialiser only.
final class HTTPServerText: @unchecked Sendable {
    let pointer: UnsafePointer<CChar>
    private let buffer: UnsafeMutableBufferPointer<CChar>

    init(_ bytes: [UInt8]) {
        buffer = .allocate(capacity: bytes.count + 1)
        buffer.initialize(repeating: 0)
        for (index, byte) in bytes.enumerated() { buffer[index] = CChar(bitPattern: byte) }
        pointer = UnsafePointer(buffer.baseAddress!)
    }

    deinit {
        // It may have been a key.
        buffer.update(repeating: 0)
        buffer.deallocate()
    }

    /// A file of at most 1 MiB.
    static func read(_ path: String) throws(HTTPServerError) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            throw HTTPServerError(code: .unreadableFile, message: "\(path): \(String(cString: strerror(errno)))")
        }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        var count = 0
        while count < bytes.count {
            let got = bytes[count...].withUnsafeMutableBytes { readBytes(file, $0.baseAddress, $0.count) }
            if got <= 0 { break }
            count += got
        }
        guard count > 0 else { throw HTTPServerError(code: .unreadableFile, message: "\(path): nothing to read") }
        return Array(bytes[..<count])
    }
}

// MARK: The library's callbacks, all on the server's thread

private func targetRead(
    _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>?, _ connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
    guard let context, let connection else { return nil }
    let core = Unmanaged<HTTPServerCore>.fromOpaque(context).takeUnretainedValue()
    let exchange = HTTPExchange(core: core, connection: connection, target: target)
    if let target { hideQuery(UnsafeMutablePointer(mutating: target)) }
    return Unmanaged.passRetained(exchange).toOpaque()
}

// The parameters are the library's.
// swift-format-ignore
private func accessed(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ url: UnsafePointer<CChar>?,
    _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ piece: UnsafePointer<CChar>?,
    _ pieceSize: UnsafeMutablePointer<Int>?, _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let request = request?.pointee, let method, let pieceSize else { return .NO }
    let exchange = Unmanaged<HTTPExchange>.fromOpaque(request).takeUnretainedValue()
    let bytes = UnsafeRawBufferPointer(start: piece, count: piece == nil ? 0 : pieceSize.pointee)
    let result = exchange.step(method: String(cString: method), version: version, piece: bytes)
    pieceSize.pointee = 0
    return result
}

private func connectionChanged(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ change: MHD_ConnectionNotificationCode
) {
    guard let context, let connection else { return }
    let core = Unmanaged<HTTPServerCore>.fromOpaque(context).takeUnretainedValue()
    if change.rawValue == 0 {  // MHD_CONNECTION_NOTIFY_STARTED
        core.connections.opened(
            connection, socket: peal_http_socket(connection), seconds: core.configuration.headSeconds)
    } else {
        core.connections.closed(connection)
    }
}

private func completed(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ why: MHD_RequestTerminationCode
) {
    guard let pointer = request?.pointee else { return }
    request?.pointee = nil
    let exchange = Unmanaged<HTTPExchange>.fromOpaque(pointer).takeRetainedValue()
    exchange.over()
}

/// Ends the target after its `?` in the library's buffer, once the exchange has its copy. The library would store every
/// query item in the connection's small memory, and 0.9.75 leaves the connection hanging when there are too many. It looks
/// for the items only after this callback, and the buffer is its own writable memory.
private func hideQuery(_ target: UnsafeMutablePointer<CChar>) {
    guard let question = strchr(target, Int32(UInt8(ascii: "?"))) else { return }
    if question[1] != 0 { question[1] = 0 }
}
