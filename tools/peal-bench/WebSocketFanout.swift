import Foundation
import PealWebSocket

/// The WebSocket layer alone: what a delivery costs the server's thread, and what an idle connection costs in memory. The
/// clients are in another process.
enum WebSocketFanout {
    private static let subprotocol = "bench.v1"
    private static let rounds = 7

    /// A reader is a place in the sequence of messages; all get the same bytes.
    // Only used on the service's thread, `server` after it was set before the first connection.
    final class Server: WebSocketServerHandler, @unchecked Sendable {
        let service: WebSocketService
        private(set) var server: WebSocketServer!
        private var sent: [ConnectionID: Int] = [:]
        private var head = 0
        private var delivered = 0
        private let message = [UInt8](repeating: UInt8(ascii: "m"), count: 200)

        init() throws {
            service = try WebSocketService(name: "bench-server")
            service.start()
            server = try WebSocketServer(
                service: service, configuration: WebSocketServerConfiguration(subprotocol: subprotocol), handler: self)
        }

        func opened(_ id: ConnectionID, peer: String) { sent[id] = head }
        func received(_ id: ConnectionID, _ message: UnsafeRawBufferPointer) {}
        func closed(_ id: ConnectionID, code: UInt16, reason: String) { sent[id] = nil }

        func nextMessage(_ id: ConnectionID, into buffer: inout MessageBuffer) -> Bool {
            guard let index = sent.index(forKey: id), sent.values[index] < head else { return false }
            sent.values[index] += 1
            delivered += 1
            buffer.append(message)
            return true
        }

        /// Gives every reader so many messages.
        func broadcast(_ count: Int) {
            service.post {
                self.head += count
                for id in self.sent.keys { self.server.requestWrite(id) }
            }
        }

        /// Connections, deliveries, and the CPU time of the thread in microseconds.
        func state() async -> (connections: Int, delivered: Int, cpu: Double) {
            await withCheckedContinuation { continuation in
                service.post {
                    continuation.resume(
                        returning: (self.sent.count, self.delivered, WebSocketService.threadCPUMicroseconds()))
                }
            }
        }
    }

    /// `websocket-fanout [connections]`: microseconds of the server's thread a delivery of 200 bytes.
    static func run(_ words: [String]) async throws {
        let connections = Int(words.first ?? "") ?? 1_000
        for messages in [1, 50] {
            WebSocketService.raiseFileLimit()
            let server = try Server()
            let child = try await connect(connections, to: server)
            var cost = Samples()
            for round in 0...rounds {
                let before = await server.state()
                try child.send("expect \(connections * messages)")
                server.broadcast(messages)
                guard child.line() == "got" else { throw Failure("the client ended") }
                let after = await server.state()
                let value = (after.cpu - before.cpu) / Double(after.delivered - before.delivered)
                if round > 0 { cost.values.append(value) }
            }
            child.stop()
            server.service.stop()
            print("\(connections) connections, \(messages) messages of 200 B at once: \(cost.text) µs a delivery")
        }
    }

    /// `websocket-memory [connections]`: bytes of process memory an idle connection.
    static func memory(_ words: [String]) async throws {
        let connections = Int(words.first ?? "") ?? 5_000
        WebSocketService.raiseFileLimit()
        let server = try Server()
        // The first connections bring what all of them share.
        let warm = try await connect(1, to: server)
        let before = residentBytes()
        let child = try await connect(connections, to: server)
        let after = residentBytes()
        print(
            String(
                format: "%d idle connections: %.1f kB of process memory each", connections,
                (after - before) / Double(connections) / 1_000))
        child.stop()
        warm.stop()
        server.service.stop()
    }

    private static func connect(_ connections: Int, to server: Server) async throws -> Child {
        let child = try Child(["websocket-client", "\(server.server.boundPort)", "\(connections)"])
        guard child.line() == "ready" else { throw Failure("the client did not get ready") }
        return child
    }

    /// One of the clients: counts.
    // Only used on the service's thread.
    final class Client: WebSocketClientHandler, @unchecked Sendable {
        nonisolated(unsafe) static var opened = 0
        nonisolated(unsafe) static var received = 0
        private var client: WebSocketClient?

        init(_ service: WebSocketService, port: Int) throws {
            let client = WebSocketClient(service: service, handler: self)
            self.client = client
            try client.connect(.init(url: "ws://127.0.0.1:\(port)/", subprotocol: WebSocketFanout.subprotocol))
        }

        func received(_ events: [WebSocketEvent]) {
            for event in events {
                switch event {
                case .opened: Self.opened += 1
                case .message: Self.received += 1
                case .closed: Self.opened -= 1
                }
            }
        }

        static func counts(_ service: WebSocketService) async -> (opened: Int, received: Int) {
            await withCheckedContinuation { continuation in
                service.post { continuation.resume(returning: (opened, received)) }
            }
        }
    }

    /// `websocket-client PORT CONNECTIONS`: the other process.
    static func client(_ words: [String]) async throws {
        WebSocketService.raiseFileLimit()
        let (port, count) = (Int(words[0])!, Int(words[1])!)
        let service = try WebSocketService(name: "bench-client")
        service.start()
        var clients: [Client] = []
        for index in 0..<count {
            // The listener's queue of unaccepted connections is not what is measured.
            while await Client.counts(service).opened + 100 < index { try await Task.sleep(for: .milliseconds(1)) }
            clients.append(try Client(service, port: port))
        }
        while await Client.counts(service).opened < count { try await Task.sleep(for: .milliseconds(5)) }
        print("ready")
        var expected = 0
        while let line = readLine() {
            expected += Int(line.split(separator: " ")[1])!
            while await Client.counts(service).received < expected { try await Task.sleep(for: .milliseconds(1)) }
            print("got")
        }
        service.stop()
        withExtendedLifetime(clients) {}
    }
}
