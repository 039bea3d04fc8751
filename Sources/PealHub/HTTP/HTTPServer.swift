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
    // `@unchecked`: libmicrohttpd allows its daemon functions on any thread; stopping happens once, behind the lock.
    private struct Daemon: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    /// The port the server listens on.
    package let boundPort: UInt16
    private let core: HTTPServerCore
    private let daemon: Mutex<Daemon?>

    /// Starts to listen and to serve.
    ///
    /// Blocks for reading the TLS files and looking up the host, if it is a name.
    /// Throws `unknownHost`, `unreadableFile`, `cannotListen`.
    package init(configuration: HTTPServerConfiguration, handler: any HTTPHandler) throws(HTTPServerError) {
        let core = try HTTPServerCore(configuration: configuration, handler: handler)
        let pointer = try core.start()
        self.core = core
        boundPort = peal_http_bound_port(pointer)
        daemon = Mutex(Daemon(pointer: pointer))
    }

    deinit { stop() }

    /// Open connections at this moment; 0 once stopped.
    package var connections: Int {
        daemon.withLock { $0.map { Int(peal_http_connections($0.pointer)) } ?? 0 }
    }

    /// Stops listening, lets the requests in flight be answered, closes all connections and joins the thread.
    ///
    /// Blocks, at most for the grace period and about a second. Requests that have no answer after the grace period
    /// get 503, as do requests that arrive meanwhile on open connections; answers that come still later are dropped.
    /// Calling it again waits for the first call and does nothing.
    package func stop(grace: Duration = .seconds(5)) {
        daemon.withLock { daemon in
            guard let pointer = daemon?.pointer else { return }
            // Shut down now but closed only when the thread is gone, so that nobody else gets the descriptor's number.
            let listener = MHD_quiesce_daemon(pointer)
            if listener >= 0 { shutdown(listener, Int32(SHUT_RDWR)) }
            core.inFlight.close()
            for exchange in core.inFlight.exchanges { exchange.endStream() }
            waitUntilIdle(grace)
            for exchange in core.inFlight.exchanges { exchange.endStream() }
            for exchange in core.inFlight.exchanges { exchange.abandon() }
            waitUntilIdle(.seconds(1))
            MHD_stop_daemon(pointer)
            if listener >= 0 { close(listener) }
            daemon = nil
        }
    }

    private func waitUntilIdle(_ limit: Duration) {
        let deadline = ContinuousClock.now + limit
        while !core.inFlight.isEmpty, ContinuousClock.now < deadline { usleep(1000) }
    }
}

/// What the library's callbacks need; lives as long as the server.
final class HTTPServerCore: Sendable {
    let configuration: HTTPServerConfiguration
    let handler: any HTTPHandler
    let inFlight = HTTPInFlight()
    /// PEM texts with a NUL at the end; the library keeps pointers to them.
    private let certificate: HTTPServerText?
    private let key: HTTPServerText?

    init(configuration: HTTPServerConfiguration, handler: any HTTPHandler) throws(HTTPServerError) {
        self.configuration = configuration
        self.handler = handler
        certificate = try configuration.tls.map { tls throws(HTTPServerError) in
            try HTTPServerText(contentsOf: tls.certificatePath)
        }
        key = try configuration.tls.map { tls throws(HTTPServerError) in try HTTPServerText(contentsOf: tls.keyPath) }
    }

    /// Starts the daemon. The callbacks get this object unretained: the server keeps it until the daemon is stopped.
    func start() throws(HTTPServerError) -> OpaquePointer {
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
        var options = peal_http_options()
        options.address = UnsafePointer(address)
        options.connection_limit = UInt32(clamping: configuration.maximumConnections)
        options.connection_limit_per_address = UInt32(clamping: configuration.maximumConnectionsPerAddress)
        options.idle_seconds = UInt32(clamping: configuration.idleSeconds)
        // The library keeps its own records of the fields and writes the answer's headers into the same memory.
        options.connection_memory = 2 * configuration.maximumHeaderBytes + 16 * 1024
        options.certificate_pem = certificate?.pointer
        options.key_pem = key?.pointer
        options.context = Unmanaged.passUnretained(self).toOpaque()
        options.target = targetRead
        options.access = accessed
        options.completed = completed
        errno = 0
        guard let daemon = peal_http_start(&options) else {
            let reason = errno == 0 ? "refused" : String(cString: strerror(errno))
            throw HTTPServerError(
                code: .cannotListen, message: "\(configuration.host) port \(configuration.port): \(reason)")
        }
        return daemon
    }
}

/// A file's text in memory that does not move.
// `@unchecked`: written in the initialiser only.
final class HTTPServerText: @unchecked Sendable {
    /// The text, ended by a NUL.
    let pointer: UnsafePointer<CChar>
    private let buffer: UnsafeMutableBufferPointer<CChar>

    /// Reads a file of at most 1 MiB.
    init(contentsOf path: String) throws(HTTPServerError) {
        let capacity = 1 << 20
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            throw HTTPServerError(code: .unreadableFile, message: "\(path): \(String(cString: strerror(errno)))")
        }
        defer { close(file) }
        buffer = .allocate(capacity: capacity + 1)
        buffer.initialize(repeating: 0)
        pointer = UnsafePointer(buffer.baseAddress!)
        var count = 0
        while count < capacity {
            let got = read(file, buffer.baseAddress! + count, capacity - count)
            if got <= 0 { break }
            count += got
        }
        guard count > 0 else { throw HTTPServerError(code: .unreadableFile, message: "\(path): nothing to read") }
    }

    deinit { buffer.deallocate() }
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
