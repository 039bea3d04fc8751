import PealModel

/// A JSON object of a request, read member by member: what is wrong is said with the member's name and the limit.
struct JSONBody {
    private let members: JSON

    /// The body of a request.
    ///
    /// - Parameter surface: on the interests surface a body that is no object is 400, elsewhere it is one without members.
    /// - Throws: ``HTTPFailure``: 400 where it is no JSON.
    init(_ request: HTTPRequest, as surface: HTTPSurface = .inbox) throws(HTTPFailure) {
        do throws(JSONError) {
            members = try JSON(request.body[...])
        } catch {
            throw .badRequest("bad_json", "The body is not JSON: \(error.reason) at byte \(error.offset).")
        }
        guard surface != .interests || members.objectValue != nil else {
            throw .badRequest("bad_json", "The body is not a JSON object.")
        }
    }

    private init(_ members: JSON) { self.members = members }

    /// 422.
    static func invalid(_ message: String) -> HTTPFailure {
        HTTPFailure(status: 422, code: "unprocessable_entity", message: message)
    }

    /// Whether there is such a member that is not null.
    func has(_ key: String) -> Bool { value(key) != nil }

    private func value(_ key: String) -> JSON? {
        let value = members[key]
        return value == .null ? nil : value
    }

    /// A member that must be there.
    func required<Value>(_ key: String, _ value: Value?) throws(HTTPFailure) -> Value {
        guard let value else { throw Self.invalid("'\(key)' is missing.") }
        return value
    }

    /// An object that must be there.
    func object(_ key: String) throws(HTTPFailure) -> JSONBody {
        guard let value = value(key), value.objectValue != nil else {
            throw Self.invalid("'\(key)' must be an object.")
        }
        return JSONBody(value)
    }

    /// An array of objects; nil where there is none.
    func objects(_ key: String) throws(HTTPFailure) -> [JSONBody]? {
        guard let value = value(key) else { return nil }
        guard let elements = value.arrayValue, elements.allSatisfy({ $0.objectValue != nil }) else {
            throw Self.invalid("'\(key)' must be an array of objects.")
        }
        return elements.map { JSONBody($0) }
    }

    /// Strings of at most so many characters; nil where there are none.
    func strings(_ key: String, _ most: Int) throws(HTTPFailure) -> [String]? {
        guard let value = value(key) else { return nil }
        guard let elements = value.arrayValue else { throw Self.invalid("'\(key)' must be an array of strings.") }
        var strings: [String] = []
        for element in elements {
            guard let text = element.stringValue else { throw Self.invalid("'\(key)' must be an array of strings.") }
            guard text.unicodeScalars.count <= most else {
                throw Self.invalid("'\(key)' has a string of more than \(most) characters.")
            }
            strings.append(text)
        }
        return strings
    }

    /// A string of at most so many characters; nil where there is none.
    func string(_ key: String, _ most: Int) throws(HTTPFailure) -> String? {
        guard let value = value(key) else { return nil }
        guard let text = value.stringValue else { throw Self.invalid("'\(key)' must be a string.") }
        let count = text.unicodeScalars.count
        guard count <= most else {
            throw Self.invalid("'\(key)' has \(count) characters; at most \(most) are allowed.")
        }
        return text
    }

    /// A boolean; nil where there is none.
    func bool(_ key: String) throws(HTTPFailure) -> Bool? {
        guard let value = value(key) else { return nil }
        guard case .bool(let flag) = value else { throw Self.invalid("'\(key)' must be true or false.") }
        return flag
    }

    /// A whole number within a range; nil where there is none.
    func int(_ key: String, _ range: ClosedRange<Int64>) throws(HTTPFailure) -> Int64? {
        guard let value = value(key) else { return nil }
        guard let number = value.intValue ?? Self.whole(value), range.contains(number) else {
            throw Self.invalid("'\(key)' must be a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    /// A number that is written with a fraction of zero or an exponent, which JSON Schema takes for an integer, too.
    private static func whole(_ value: JSON) -> Int64? {
        guard case .number(let text) = value else { return nil }
        return Double(text).flatMap { Int64(exactly: $0) }
    }

    /// The bytes of an object that is kept as it is, at most so many; nil where there is none.
    func raw(_ key: String, _ most: Int) throws(HTTPFailure) -> [UInt8]? {
        guard let value = value(key) else { return nil }
        guard value.objectValue != nil else { throw Self.invalid("'\(key)' must be an object.") }
        let bytes = value.bytes
        guard bytes.count <= most else {
            throw Self.invalid("'\(key)' has \(bytes.count) bytes; at most \(most) are allowed.")
        }
        return bytes
    }
}
