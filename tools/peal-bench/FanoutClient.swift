import Foundation
import Peal
import PealModel
import PealWebSocket
import Synchronization

/// The other end of the fan-out bench: many raw sessions, and the publisher.
enum FanoutClient {
    /// One session: hello, an interest, and credit for what comes.
    final class Session: WebSocketClientHandler, @unchecked Sendable {
        // Only used on the service's thread.
        private let shared: Shared
        private let device: Bool
        private var client: WebSocketClient?
        private var position: Position = 0
        private var acknowledged: Position = 0

        init(_ shared: Shared, device: Bool) {
            self.shared = shared
            self.device = device
        }

        func connect(_ service: WebSocketService, port: Int) throws {
            let client = WebSocketClient(service: service, handler: self)
            self.client = client
            try client.connect(
                WebSocketClientConfiguration(url: "ws://127.0.0.1:\(port)/", subprotocol: wireSubprotocol))
        }

        private func send(_ frame: UpFrame) { _ = client?.send(frame.bytes) }

        func received(_ events: [WebSocketEvent]) {
            for event in events {
                switch event {
                case .opened:
                    send(
                        .hello(
                            Hello(
                                project: shared.key,
                                inbox: device ? .device(id: nil) : .user(externalID: "fan", email: nil),
                                replica: ReplicaID(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max)),
                                proof: Proof(), attempt: 1, nonce: "", cursor: .start)))
                case .message(let bytes): received(bytes)
                case .closed(let code, let reason):
                    // Standard output is a pipe whose other end reads nothing while the hub stops: thousands of lines would fill it for good.
                    if code != CloseCode.draining.rawValue, code != 1006 {
                        FileHandle.standardError.write(Data("closed \(code) \(reason)\n".utf8))
                    }
                }
            }
        }

        private func received(_ bytes: [UInt8]) {
            switch try? DownFrame(bytes[...]) {
            case .welcome(let welcome)?:
                position = welcome.head
                guard device else {
                    shared.ready()
                    send(.got(to: 0))
                    return
                }
                send(
                    .push([
                        Mutation(
                            n: 1, uid: .random(in: 0 ... .max), observed: 0, observedTime: 0, moment: .age(0),
                            operation: .interest(name: "fan", on: true))
                    ]))
            case .batch(let batch)?:
                let isFirst = position == 0 && device
                position = batch.to
                if isFirst { shared.ready() } else { shared.delivered(batch.entries.count, bytes.count) }
                if position - acknowledged >= Int64(Limits.windowEntries / 2) { acknowledge() }
            default: break
            }
        }

        func acknowledge() {
            guard position > acknowledged else { return }
            acknowledged = position
            send(.got(to: position))
        }
    }

    final class Shared: Sendable {
        let key: String
        private let counts = Mutex((ready: 0, delivered: 0, frames: 0, bytes: 0))

        init(key: String) { self.key = key }

        func ready() { counts.withLock { $0.ready += 1 } }
        func delivered(_ count: Int, _ bytes: Int) {
            counts.withLock {
                $0.delivered += count
                $0.frames += 1
                $0.bytes += bytes
            }
        }
        var all: (ready: Int, delivered: Int, frames: Int, bytes: Int) { counts.withLock { $0 } }
    }

    static func run(_ words: [String]) async throws {
        WebSocketService.raiseFileLimit()
        let (mode, count, port, http) = (words[0], Int(words[1])!, Int(words[2])!, words[3])
        let (instance, key, secret) = (words[4], words[5], words[6])
        let shared = Shared(key: key)
        let service = try WebSocketService(name: "bench-client")
        service.start()
        var sessions: [Session] = []
        for index in 0..<count {
            let session = Session(shared, device: mode == "device")
            try session.connect(service, port: port)
            sessions.append(session)
            // The listener's queue of unaccepted connections is not what is measured.
            while shared.all.ready + 200 < index { try await Task.sleep(for: .milliseconds(1)) }
        }
        while shared.all.ready < count { try await Task.sleep(for: .milliseconds(5)) }
        print("ready")
        let api = HubAPI(
            hub: try HubAddress("http://127.0.0.1:\(http)"),
            credentials: .project(instance: instance, key: "", secret: secret))
        var expected = 0
        while let line = readLine() {
            let publishes = Int(line.split(separator: " ")[1])!
            expected += publishes * count
            let before = shared.all
            let target: HubAPI.Target = mode == "device" ? .interests(["fan"]) : .users(["fan"])
            let aps = JSON.object([("aps", .object([("alert", .string(text))]))])
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<publishes {
                    group.addTask {
                        _ = try await api.publish(platforms: .object([("apns", aps)]), to: target)
                    }
                }
                try await group.waitForAll()
            }
            while shared.all.delivered < expected { try await Task.sleep(for: .milliseconds(1)) }
            // The credit of the round belongs to its cost.
            let all = sessions
            service.post { for session in all { session.acknowledge() } }
            try await Task.sleep(for: .milliseconds(100))
            let now = shared.all
            print("done \(publishes * count) \(now.frames - before.frames) \(now.bytes - before.bytes)")
        }
        service.stop()
    }

    /// Makes an item entry of about 200 bytes of content.
    private static let text = String(repeating: "two hundred bytes of news ", count: 2)
}
