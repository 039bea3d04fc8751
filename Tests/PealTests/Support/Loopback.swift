import Foundation

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Sockets of peers that are not ours, on 127.0.0.1.
enum Loopback {
    static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return address
    }

    /// A socket that listens on a port that was free.
    static func listen() throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = address(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                #if canImport(Glibc)
                    let isListening = bind(descriptor, $0, size) == 0 && Glibc.listen(descriptor, 16) == 0
                #else
                    let isListening = bind(descriptor, $0, size) == 0 && Darwin.listen(descriptor, 16) == 0
                #endif
                return isListening && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard isBound else { throw ScriptError("no port on loopback is free") }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }
}
