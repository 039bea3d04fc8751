internal import CPealWebSocket
internal import Synchronization

/// The part of a client that lives on the service's thread, and its queue.
// `outgoing` is locked; the rest is only used on the service's thread.
final class ClientCore: EventOwner, @unchecked Sendable {
    private struct Outgoing {
        var messages: [[UInt8]] = []
        /// Messages before this one are sent.
        var first = 0
        var bytes = 0
        var open = false
    }

    private let service: WebSocketService
    private let outgoing = Mutex(Outgoing())
    private weak var handler: (any WebSocketClientHandler)?
    private var connection: OpaquePointer?
    private var attempt = 0
    private var lookingUp = false
    private var events: [WebSocketEvent] = []
    /// How to go on with the next address where this one does not answer.
    private var alternative: (() -> Void)?

    init(service: WebSocketService, handler: any WebSocketClientHandler) {
        self.service = service
        self.handler = handler
    }

    // MARK: Connecting

    func connect(
        to target: WebSocketTarget, through proxy: WebSocketTarget?, _ configuration: WebSocketClientConfiguration
    ) {
        drop()
        let number = attempt
        let dialled = proxy ?? target
        if let address = dialled.literal {
            connect([address], target, proxy, configuration)
            return
        }
        lookingUp = true
        AddressLookup.addresses(of: dialled.host) { addresses in
            self.service.post {
                guard self.attempt == number else { return }
                self.lookingUp = false
                self.connect(addresses, target, proxy, configuration)
            }
        }
    }

    private func connect(
        _ addresses: [String], _ target: WebSocketTarget, _ proxy: WebSocketTarget?,
        _ configuration: WebSocketClientConfiguration
    ) {
        guard let handle = service.openHandle else {
            note(.closed(code: 1006, reason: "the service was stopped"))
            return
        }
        guard let address = addresses.first else {
            note(.closed(code: 1006, reason: "the name \((proxy ?? target).host) has no address"))
            return
        }
        let others = Array(addresses.dropFirst())
        alternative = others.isEmpty ? nil : { self.connect(others, target, proxy, configuration) }
        connection = dial(handle, address, target, proxy, configuration)
        if connection == nil { note(.closed(code: 1006, reason: "out of memory")) } else { service.keep(self) }
    }

    private func dial(
        _ handle: OpaquePointer, _ address: String, _ target: WebSocketTarget, _ proxy: WebSocketTarget?,
        _ configuration: WebSocketClientConfiguration
    ) -> OpaquePointer? {
        let proxyAddress = proxy.map { $0.proxyAddress(address) }
        let numbers = (
            size: configuration.maximumMessageBytes, ping: Int32(configuration.pingSeconds),
            hangup: Int32(configuration.hangupSeconds), connect: Int32(configuration.connectTimeoutSeconds)
        )
        let strings = [
            proxy == nil ? address : target.host, target.hostHeader, target.path, configuration.subprotocol,
            configuration.authorityPath, proxyAddress,
        ]
        return withCStrings(strings) { strings in
            var options = pws_client_options()
            options.address = strings[0]
            options.host = strings[1]
            options.path = strings[2]
            options.subprotocol = strings[3]
            options.authority = strings[4]
            options.proxy = strings[5]
            options.port = Int32(target.port)
            options.maximum_message = numbers.size
            options.ping_seconds = numbers.ping
            options.hangup_seconds = numbers.hangup
            options.connect_seconds = numbers.connect
            options.tls = target.isSecure
            options.verify = configuration.verifiesCertificate
            return pws_connect(handle, &options, pointer)
        }
    }

    /// Lets go of what is open or under way; it tells nothing any more.
    func drop() {
        attempt += 1
        lookingUp = false
        alternative = nil
        events.removeAll()
        let old = connection
        ended()
        if let old, service.openHandle != nil { pws_release(old) }
    }

    private func ended() {
        connection = nil
        outgoing.withLock { $0 = Outgoing() }
        service.letGo(self)
    }

    // MARK: Calls

    /// Callable from anywhere.
    func send(_ bytes: [UInt8]) -> Bool {
        let (queued, first) = outgoing.withLock { outgoing in
            let waiting = outgoing.messages.count - outgoing.first
            guard outgoing.open, waiting < WebSocketClient.maximumQueuedMessages,
                outgoing.bytes + bytes.count <= WebSocketClient.maximumQueuedBytes
            else { return (false, false) }
            outgoing.messages.append(bytes)
            outgoing.bytes += bytes.count
            return (true, waiting == 0)
        }
        if first {
            service.post { if let connection = self.connection { pws_want_write(connection) } }
        }
        return queued
    }

    /// Takes no more messages. Callable from anywhere.
    func refuseMessages() {
        outgoing.withLock { $0.open = false }
    }

    func close(code: UInt16, reason: String) {
        alternative = nil
        if let connection {
            pws_close(connection, code, reason)
        } else if lookingUp {
            drop()
            note(.closed(code: code, reason: reason))
        }
    }

    func setReading(_ on: Bool) {
        if let connection { pws_read(connection, on) }
    }

    // MARK: Events

    private func note(_ event: WebSocketEvent) {
        events.append(event)
        if events.count == 1 { service.deliverAfterTurn(self) }
    }

    /// Hands over what a turn brought.
    func deliver() {
        let batch = events
        events.removeAll(keepingCapacity: true)
        if !batch.isEmpty { handler?.received(batch) }
    }

    override func take(
        _ event: pws_event, of connection: OpaquePointer, code: UInt16, bytes: UnsafeRawBufferPointer
    ) -> Bool {
        switch event {
        case PWS_OPENED:
            alternative = nil
            outgoing.withLock { $0.open = true }
            note(.opened)
        case PWS_MESSAGE: note(.message(Array(bytes)))
        case PWS_WRITABLE: return writable(connection)
        case PWS_CLOSED:
            ended()
            if let next = alternative {
                alternative = nil
                next()
            } else {
                note(.closed(code: code, reason: String(decoding: bytes, as: UTF8.self)))
            }
        default: break
        }
        return false
    }

    private func writable(_ connection: OpaquePointer) -> Bool {
        let message: [UInt8]? = outgoing.withLock { outgoing in
            guard outgoing.first < outgoing.messages.count else { return nil }
            let message = outgoing.messages[outgoing.first]
            outgoing.messages[outgoing.first] = []
            outgoing.first += 1
            outgoing.bytes -= message.count
            if outgoing.first == outgoing.messages.count || outgoing.first == WebSocketClient.maximumQueuedMessages {
                outgoing.messages.removeFirst(outgoing.first)
                outgoing.first = 0
            }
            return message
        }
        guard let message else { return false }
        service.scratch.clear()
        service.scratch.append(message)
        return service.scratch.write(to: connection)
    }
}
