import Foundation

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A server on loopback that gives its one connection the same bytes, whatever is asked.
final class OneAnswer: Sendable {
    let port: UInt16

    init(_ answer: String) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 1) == 0 && getsockname(listener, $0, &size) == 0
            }
        }
        guard isBound else { throw ScriptError("no port for a server") }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread {
            let client = accept(listener, nil, nil)
            var buffer = [UInt8](repeating: 0, count: 4_096)
            _ = recv(client, &buffer, buffer.count, 0)
            _ = answer.withCString { send(client, $0, strlen($0), 0) }
            shutdown(client, Int32(SHUT_WR))
            _ = recv(client, &buffer, buffer.count, 0)
            close(client)
            close(listener)
        }
    }
}
