import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// An HTTP proxy on loopback that knows CONNECT to other ports of loopback, and may want a user name and a password.
final class TunnelProxy: Sendable {
    let port: UInt16
    private let credentials: String?
    private let heard = Mutex<[String]>([])
    private let listener: Int32

    /// - Parameter credentials: `user:password`; nil for none.
    init(credentials: String? = nil) throws {
        self.credentials = credentials
        (listener, port) = try Loopback.listen()
        let descriptor = listener
        Thread.detachNewThread { [weak self] in
            while true {
                let client = accept(descriptor, nil, nil)
                guard client >= 0, let self else { return }
                Thread.detachNewThread { self.serve(client) }
            }
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    /// Whom tunnels were asked for, in order; `-` where the credentials were wrong.
    var asked: [String] { heard.withLock(\.self) }

    private func serve(_ client: Int32) {
        var head = ""
        var byte: UInt8 = 0
        while !head.hasSuffix("\r\n\r\n") {
            guard recv(client, &byte, 1, 0) == 1, head.utf8.count < 8_192 else { return _ = close(client) }
            head.unicodeScalars.append(UnicodeScalar(byte))
        }
        let target = head.split(separator: " ").dropFirst().first.map(String.init) ?? ""
        let wanted = credentials.map { "basic " + Data($0.utf8).base64EncodedString().lowercased() }
        guard wanted.map({ head.lowercased().contains("proxy-authorization: \($0)\r\n") }) ?? true else {
            heard.withLock { $0.append("-") }
            say("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", client)
            return _ = close(client)
        }
        heard.withLock { $0.append(target) }
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Loopback.address(UInt16(target.split(separator: ":").last ?? "") ?? 0)
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else {
            say("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", client)
            close(client)
            return _ = close(server)
        }
        say("HTTP/1.1 200 Connection established\r\n\r\n", client)
        let back = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            Self.pump(server, client)
            back.signal()
        }
        Self.pump(client, server)
        back.wait()
        close(client)
        close(server)
    }

    private func say(_ text: String, _ client: Int32) {
        _ = text.withCString { send(client, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
    }

    private static func pump(_ from: Int32, _ to: Int32) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(from, &buffer, buffer.count, 0)
            guard count > 0, send(to, buffer, count, Int32(MSG_NOSIGNAL)) == count else { break }
        }
        shutdown(to, Int32(SHUT_RDWR))
        shutdown(from, Int32(SHUT_RDWR))
    }
}
