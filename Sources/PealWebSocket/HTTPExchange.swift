internal import CPealWebSocket

/// A request under way. Lives on the service's thread.
// Only used there, but for what `init` sets.
final class HTTPExchange: EventOwner, @unchecked Sendable {
    typealias Answer = Result<HTTPClientAnswer, WebSocketError>

    private let service: WebSocketService
    private let request: HTTPClientRequest
    private let lines: String
    private let proxy: WebSocketTarget?
    private let onBytes: (@Sendable ([UInt8]) -> Void)?
    private let continuation: AsyncStream<Answer>.Continuation
    private var connection: OpaquePointer?
    private var addresses: ArraySlice<String> = []
    private var answer: HTTPClientAnswer?
    private var isOver = false
    /// Something was handed over, which no other try may repeat.
    private var hasBegun = false

    init(
        service: WebSocketService, _ request: HTTPClientRequest, _ lines: String, through proxy: WebSocketTarget?,
        _ onBytes: (@Sendable ([UInt8]) -> Void)?, _ continuation: AsyncStream<Answer>.Continuation
    ) {
        self.service = service
        self.request = request
        self.lines = lines
        self.proxy = proxy
        self.onBytes = onBytes
        self.continuation = continuation
    }

    func begin(_ target: WebSocketTarget) {
        let dialled = proxy ?? target
        if let address = dialled.literal {
            addresses = [address]
            next(target)
            return
        }
        AddressLookup.addresses(of: dialled.host) { found in
            self.service.post {
                self.addresses = found[...]
                self.next(target)
            }
        }
    }

    private func next(_ target: WebSocketTarget) {
        guard !isOver else { return }
        guard let handle = service.openHandle else { return fail("the service was stopped") }
        guard let address = addresses.popFirst() else {
            return fail("the name \((proxy ?? target).host) has no address")
        }
        retarget = { self.next(target) }
        connection = dial(handle, address, target)
        if connection == nil { fail("out of memory") } else { service.keep(self) }
    }

    /// How to go on with the next address.
    private var retarget: (() -> Void)?

    private func dial(_ handle: OpaquePointer, _ address: String, _ target: WebSocketTarget) -> OpaquePointer? {
        let strings = [
            proxy == nil ? address : target.host, target.hostHeader, target.path, request.authorityPath, request.method,
            lines, proxy?.proxyAddress(address),
        ]
        let (seconds, size) = (Int32(request.timeoutSeconds), request.maximumAnswerBytes)
        let body = request.body ?? []
        return body.withUnsafeBufferPointer { body in
            withCStrings(strings) { strings in
                var options = pws_client_options()
                options.address = strings[0]
                options.host = strings[1]
                options.path = strings[2]
                options.authority = strings[3]
                options.method = strings[4]
                options.headers = strings[5]
                options.proxy = strings[6]
                options.streams = onBytes != nil
                options.port = Int32(target.port)
                options.maximum_message = size
                options.connect_seconds = seconds
                options.tls = target.isSecure
                options.verify = true
                options.body = body.baseAddress
                options.body_count = body.count
                return pws_connect(handle, &options, pointer)
            }
        }
    }

    private func fail(_ reason: String) { end(.failure(WebSocketError(.lost, reason))) }

    private func end(_ answer: Answer) {
        guard !isOver else { return }
        isOver = true
        retarget = nil
        continuation.yield(answer)
        continuation.finish()
    }

    /// Lets go of what is under way.
    func drop() {
        isOver = true
        retarget = nil
        guard let old = connection else { return }
        connection = nil
        service.letGo(self)
        if service.openHandle != nil { pws_release(old) }
    }

    override func take(
        _ event: pws_event, of connection: OpaquePointer, code: UInt16, bytes: UnsafeRawBufferPointer
    ) -> Bool {
        switch event {
        case PWS_MESSAGE:
            if code == 0 {
                hasBegun = true
                onBytes?(Array(bytes))
            } else {
                let seconds = Int(pws_retry_after(connection))
                var whole = HTTPClientAnswer(
                    status: Int(code), body: Array(bytes), retryAfterSeconds: seconds < 0 ? nil : seconds)
                let (date, end) = (pws_date(connection), pws_certificate_end(connection))
                if date > 0 { whole.date = date }
                if end > 0 {
                    let name = String(cString: pws_certificate_name(connection))
                    whole.certificate = ServerCertificate(name: name.isEmpty ? nil : name, end: end)
                }
                answer = whole
            }
        case PWS_CLOSED:
            self.connection = nil
            service.letGo(self)
            if let answer {
                end(.success(answer))
            } else if onBytes != nil, code == 200 {
                end(.success(HTTPClientAnswer(status: 200, body: [])))
            } else if !hasBegun, !addresses.isEmpty, let retarget {
                retarget()
            } else {
                fail(String(decoding: bytes, as: UTF8.self))
            }
        default: break
        }
        return false
    }

    override func serviceEnded() { fail("the service was stopped") }
}
