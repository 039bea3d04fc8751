internal import CPealHTTP
#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Copies what libmicrohttpd knows of a request into values.
enum HTTPFieldReader {
    /// The header fields, their size on the wire with one space after each colon, how many they are, and whether all of them are valid
    /// UTF-8.
    struct Fields {
        var headers = HTTPHeaders()
        var bytes = 0
        var count = 0
        var areText = true
    }

    /// Reads all header fields. On the server's thread.
    static func read(_ connection: OpaquePointer) -> Fields {
        var fields = Fields()
        withUnsafeMutablePointer(to: &fields) { fields in
            _ = MHD_get_connection_values_n(
                connection, .HEADER_KIND,
                { context, _, name, nameSize, value, valueSize in
                    guard let fields = context?.assumingMemoryBound(to: Fields.self) else { return .NO }
                    fields.pointee.add(
                        UnsafeRawBufferPointer(start: name, count: nameSize),
                        UnsafeRawBufferPointer(start: value, count: valueSize))
                    return .YES
                }, fields)
        }
        return fields
    }

    /// The other end of a connection. On the server's thread.
    static func peer(_ connection: OpaquePointer) -> HTTPPeer {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
            let port = peal_http_peer(connection, text.baseAddress, text.count)
            return HTTPPeer(address: text.baseAddress.map { String(cString: $0) } ?? "", port: port)
        }
    }
}

extension HTTPFieldReader.Fields {
    fileprivate mutating func add(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        bytes += name.count + value.count + 4
        count += 1
        guard let name = String(validating: name, as: UTF8.self),
            let value = String(validating: value, as: UTF8.self)
        else {
            areText = false
            return
        }
        // The library leaves white space at the end of a value.
        headers.add(name, String(value.reversed().drop { $0 == " " || $0 == "\t" }.reversed()))
    }
}
