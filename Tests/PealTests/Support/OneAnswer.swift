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
        let (listener, port) = try Loopback.listen()
        self.port = port
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
