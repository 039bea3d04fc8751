import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A TCP proxy on loopback that can fall silent: sockets stay open and nothing goes through any more, as after a sleep or behind a
/// dead router. Connections that come later go through.
final class Wire: Sendable {
    let port: UInt16
    private let listener: Int32
    private let target = Mutex<UInt16>(0)
    private let pairs = Mutex<[Pair]>([])
    private let isOver = Mutex(false)
    private let ended = DispatchSemaphore(value: 0)

    private struct Pair {
        var client: Int32
        var server: Int32
        var isSilent = false
    }

    init() throws {
        (listener, port) = try Loopback.listen()
    }

    /// Begins to forward to a port of loopback.
    func start(to port: Int) {
        target.withLock { $0 = UInt16(port) }
        Thread.detachNewThread { [self] in
            while !isOver.withLock({ $0 }) { turn() }
            for pair in pairs.withLock({ $0 }) {
                close(pair.client)
                close(pair.server)
            }
            close(listener)
            ended.signal()
        }
    }

    /// Nothing goes through the connections of now any more.
    func fallSilent() {
        pairs.withLock { pairs in for index in pairs.indices { pairs[index].isSilent = true } }
    }

    /// Connections that were made so far.
    var count: Int { pairs.withLock { $0.count } }

    func stop() {
        isOver.withLock { $0 = true }
        ended.wait()
    }

    private func turn() {
        let pairs = pairs.withLock { $0 }
        var polled = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
        for pair in pairs {
            // A negative descriptor is not looked at.
            polled.append(pollfd(fd: pair.isSilent ? -1 : pair.client, events: Int16(POLLIN), revents: 0))
            polled.append(pollfd(fd: pair.isSilent ? -1 : pair.server, events: Int16(POLLIN), revents: 0))
        }
        guard poll(&polled, nfds_t(polled.count), 5) > 0 else { return }
        if polled[0].revents != 0 { accept() }
        for (index, pair) in pairs.enumerated() {
            if polled[2 * index + 1].revents != 0 { forward(from: pair.client, to: pair.server, index) }
            if polled[2 * index + 2].revents != 0 { forward(from: pair.server, to: pair.client, index) }
        }
    }

    private func accept() {
        #if canImport(Glibc)
            let client = Glibc.accept(listener, nil, nil)
        #else
            let client = Darwin.accept(listener, nil, nil)
        #endif
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Loopback.address(target.withLock { $0 })
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else {
            close(client)
            close(server)
            return
        }
        pairs.withLock { $0.append(Pair(client: client, server: server)) }
    }

    private func forward(from: Int32, to: Int32, _ index: Int) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(from, &buffer, buffer.count, 0)
        guard count > 0 else {
            shutdown(to, Int32(SHUT_RDWR))
            pairs.withLock { $0[index].isSilent = true }
            return
        }
        var sent = 0
        while sent < count {
            let written = buffer[sent..<count].withUnsafeBytes {
                send(to, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if written <= 0 { return }
            sent += written
        }
    }
}
