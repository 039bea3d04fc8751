internal import CPealHTTP
internal import Synchronization

/// One request and its answer, from the request line to the last byte sent.
///
/// Made when the request line is complete, owned by libmicrohttpd's connection, released when the library reports
/// the request as completed, which it does exactly once for every request line it has shown.
///
/// Everything but `reply` belongs to the server's thread. `reply` is the meeting point with the thread that answers.
// `@unchecked`: the variables are touched by the server's thread only; what another thread may touch (`answer`, `reply`,
// the connection pointer inside `reply`'s lock while the connection is suspended, hence alive) is behind the lock.
final class HTTPExchange: @unchecked Sendable {
    /// How far reading has come.
    private enum Phase {
        /// The header fields have not been looked at.
        case new
        /// The body is being collected.
        case reading(HTTPRequestHead, limit: Int)
        /// The rest of the body is being dropped; this will be the answer.
        case refusing(HTTPFailure)
        /// The handler has the request.
        case handed
    }

    /// The state of the answer.
    private enum Reply {
        /// The handler owes it and runs on the server's thread.
        case awaited
        /// The handler owes it and the connection is suspended.
        case suspended
        /// It is there.
        case ready(HTTPResponse)
        /// The request is over; whatever comes is dropped.
        case over
    }

    private let core: HTTPServerCore
    private let connection: OpaquePointer
    private let target: [UInt8]
    private let targetEnd: UnsafePointer<CChar>?
    private var phase = Phase.new
    private var body: [UInt8] = []
    private var received = 0
    private let began = ContinuousClock.now
    private var deadline = ContinuousClock.now
    private var head: HTTPRequestHead?
    private var requestID = ""
    private let reply = Mutex(Reply.awaited)
    /// The body of the answer, where it goes on.
    private var stream: HTTPStream?

    /// - Parameter target: the raw target inside the library's buffer, which stays there until the request is over.
    init(core: HTTPServerCore, connection: OpaquePointer, target: UnsafePointer<CChar>?) {
        self.core = core
        self.connection = connection
        let bytes = UnsafeBufferPointer(start: target, count: target.map { strlen($0) } ?? 0)
        self.target = bytes.map { UInt8(bitPattern: $0) }
        targetEnd = target.map { $0 + bytes.count }
    }

    // MARK: The server's thread

    /// Takes one call of the library: first the headers, then pieces of the body, then the end of the body, and once
    /// more after the connection was resumed. `version` lies in the same buffer as the target.
    func step(
        method: String, version: UnsafePointer<CChar>?, piece: UnsafeRawBufferPointer
    ) -> MHD_Result {
        switch phase {
        case .new:
            return begin(method: method, version: version)
        case .reading, .refusing:
            return piece.isEmpty ? bodyEnded() : take(piece)
        case .handed:
            let response = reply.withLock { reply -> HTTPResponse? in
                if case .ready(let response) = reply { response } else { nil }
            }
            guard let response else { preconditionFailure("A suspended connection runs only when it has its answer") }
            return queue(response)
        }
    }

    /// The library is done with the request, whether or not it was answered.
    func over() {
        reply.withLock { $0 = .over }
        stream?.close()
        core.connections.wait(connection, seconds: core.configuration.idleSeconds)
        core.inFlight.leave(self)
    }

    private func begin(method: String, version: UnsafePointer<CChar>?) -> MHD_Result {
        deadline = .now + .seconds(core.configuration.bodySeconds)
        core.connections.wait(connection, seconds: core.configuration.bodySeconds)
        let fields = HTTPFieldReader.read(connection)
        requestID = HTTPRequestID.of(fields.headers)
        // The version has always eight bytes; with it go two spaces and the line's end.
        guard method.utf8.count + target.count + 12 + fields.bytes <= core.configuration.maximumHeaderBytes,
            fields.count <= core.configuration.maximumHeaderFields
        else { return refuseAndClose(.headersTooLarge) }
        // A NUL in the request line would silently cut the target: then the version is not where the target ends.
        guard let version, targetEnd.map({ $0 + 1 == version }) ?? false else {
            return refuseAndClose(.badRequest("bad_request_line", "The request line is malformed."))
        }
        let framing: HTTPFraming
        let head: HTTPRequestHead
        do throws(HTTPFailure) {
            framing = try HTTPFraming(fields.headers)
            guard fields.areText else {
                throw .badRequest("invalid_utf8", "A header field is not valid UTF-8.")
            }
        } catch {
            return refuseAndClose(error)
        }
        do throws(HTTPTarget.Refusal) {
            head = HTTPRequestHead(
                method: HTTPMethod(rawValue: method), target: try HTTPTarget(target), headers: fields.headers,
                peer: HTTPFieldReader.peer(connection))
        } catch {
            return refuse(.badRequest(error.code.rawValue, error.description), framing)
        }
        self.head = head
        let cap = core.configuration.maximumBodyBytes
        let limit = min(core.handler.bodyLimit(for: head) ?? cap, cap)
        if case .length(let length) = framing.body, length > limit {
            return refuse(.bodyTooLarge(limit: limit), framing)
        }
        if case .length(let length) = framing.body { body.reserveCapacity(Int(length)) }
        phase = .reading(head, limit: limit)
        return .YES
    }

    /// Answers a failure once the body has been read and dropped, so that the connection stays usable; at once, and
    /// closing it, if the body is too long for that or the client waits for permission to send it.
    private func refuse(_ failure: HTTPFailure, _ framing: HTTPFraming) -> MHD_Result {
        if case .length(let length) = framing.body, length > 0,
            framing.expectsContinue || length > core.configuration.maximumDrainedBytes
        {
            return refuseAndClose(failure)
        }
        phase = .refusing(failure)
        return .YES
    }

    private func refuseAndClose(_ failure: HTTPFailure) -> MHD_Result {
        phase = .refusing(failure)
        return queue(rendered(failure), closing: true)
    }

    private func take(_ piece: UnsafeRawBufferPointer) -> MHD_Result {
        received += piece.count
        guard received <= max(core.configuration.maximumDrainedBytes, core.configuration.maximumBodyBytes),
            ContinuousClock.now < deadline
        else { return .NO }
        if case .reading(_, let limit) = phase {
            if received > limit {
                body = []
                phase = .refusing(.bodyTooLarge(limit: limit))
            } else {
                body.append(contentsOf: piece)
            }
        }
        return .YES
    }

    private func bodyEnded() -> MHD_Result {
        switch phase {
        case .refusing(let failure):
            return queue(rendered(failure))
        case .reading(let head, _):
            phase = .handed
            core.connections.wait(connection, seconds: nil)
            guard core.inFlight.enter(self) else { return queue(rendered(.stopping), closing: true) }
            let request = HTTPRequest(head: head, body: body)
            body = []
            return hand(request)
        case .new, .handed:
            preconditionFailure("The end of a body comes after its headers and once")
        }
    }

    private func hand(_ request: HTTPRequest) -> MHD_Result {
        let place = "\(request.method.rawValue), \(request.segments.count) segments"
        core.handler.handle(
            request,
            respond: HTTPResponder { [self] response in
                if response == nil {
                    core.configuration.log("HTTP: a handler gave no answer (\(place))")
                }
                answer(response ?? rendered(.internalError))
            })
        let response = reply.withLock { reply -> HTTPResponse? in
            if case .ready(let response) = reply { return response }
            // Inside the lock, so that an answer from another thread finds the connection suspended or not at all.
            MHD_suspend_connection(connection)
            reply = .suspended
            return nil
        }
        return response.map { queue($0) } ?? .YES
    }

    private func rendered(_ failure: HTTPFailure) -> HTTPResponse {
        core.handler.response(to: failure, target: String(decoding: target, as: UTF8.self))
    }

    private func queue(_ response: HTTPResponse, closing: Bool = false) -> MHD_Result {
        let raw =
            response.stream.map { create(from: $0) }
            ?? response.body.withUnsafeBytes { body in
                MHD_create_response_from_buffer(
                    body.count, UnsafeMutableRawPointer(mutating: body.baseAddress), .RESPMEM_MUST_COPY)
            }
        guard let raw else { return .NO }
        defer { MHD_destroy_response(raw) }
        if let type = response.contentType { add("Content-Type", type, to: raw) }
        for field in response.headers.fields { add(field.name, field.value, to: raw) }
        if closing { add("Connection", "close", to: raw) }
        add("X-Request-Id", requestID, to: raw)
        core.connections.wait(connection, seconds: core.configuration.answerSeconds)
        let result = MHD_queue_response(connection, UInt32(response.status), raw)
        core.configuration.answered(
            HTTPAnswered(
                requestID: requestID, target: String(decoding: target, as: UTF8.self), head: head,
                status: response.status, bytes: response.body.count, duration: began.duration(to: .now),
                peer: head?.peer.address ?? HTTPFieldReader.peer(connection).address))
        return result
    }

    /// The library's form of a body that goes on. It keeps the stream until the response is destroyed.
    private func create(from stream: HTTPStream) -> OpaquePointer? {
        self.stream = stream
        let kept = Unmanaged.passRetained(HTTPStreamTake(stream: stream, connection: connection, core: core))
        let raw = MHD_create_response_from_callback(
            .max, 32 * 1024,
            { context, _, buffer, count in
                guard let context, let buffer else { return -1 }
                let take = Unmanaged<HTTPStreamTake>.fromOpaque(context).takeUnretainedValue()
                return take.take(into: UnsafeMutableRawBufferPointer(start: buffer, count: count))
            }, kept.toOpaque(),
            { context in
                if let context { Unmanaged<HTTPStreamTake>.fromOpaque(context).release() }
            })
        if raw == nil { kept.release() }
        return raw
    }

    private func add(_ name: String, _ value: String, to response: OpaquePointer) {
        if value.utf8.contains(0) || MHD_add_response_header(response, name, value) == .NO {
            core.configuration.log("HTTP: a response header was left out, it cannot be sent as it is (\(name))")
        }
    }

    // MARK: Any thread

    /// Takes the answer and lets the connection go on. The first one counts.
    func answer(_ response: HTTPResponse) {
        reply.withLock { reply in
            switch reply {
            case .awaited:
                reply = .ready(response)
            case .suspended:
                reply = .ready(response)
                // Inside the lock: whoever later finds `.ready` knows that the connection is no longer suspended.
                MHD_resume_connection(connection)
            case .ready, .over:
                break
            }
        }
    }

    /// Ends a body that goes on.
    func endStream() {
        if case .ready(let response) = reply.withLock({ $0 }) { response.stream?.end() }
    }

    /// Answers 503 in place of the handler, whose own answer will be dropped.
    func abandon() {
        answer(rendered(.stopping))
    }
}

/// A stream and where it goes.
// `@unchecked`: made and used on the server's thread.
private final class HTTPStreamTake: @unchecked Sendable {
    private let stream: HTTPStream
    private let connection: OpaquePointer
    private let core: HTTPServerCore

    init(stream: HTTPStream, connection: OpaquePointer, core: HTTPServerCore) {
        self.stream = stream
        self.connection = connection
        self.core = core
    }

    /// The client has the time of an answer for what is handed on; while nothing waits it is the writer's turn.
    func take(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        core.connections.wait(connection, seconds: nil)
        let count = stream.take(into: buffer, connection)
        if count != 0 { core.connections.wait(connection, seconds: core.configuration.answerSeconds) }
        return count
    }
}
