/// A request target taken apart: the path's segments, each percent-decoded exactly once, and the query's items.
///
/// An id in a path must never turn into another one, so nothing is tidied: `.`, `..`, `;`, `&` and empty segments stay
/// as they are, `%2F` inside a segment becomes a slash *in* that segment, and a `+` in the path is a plus.
package struct HTTPTarget: Sendable, Equatable {
    /// Why a target is refused. The text never contains the target.
    package struct Refusal: Error, Equatable, CustomStringConvertible {
        /// One reason.
        package struct Code: RawRepresentable, Sendable, Hashable {
            /// The name of the reason, as a client sees it.
            package let rawValue: String
            /// A reason by name.
            package init(rawValue: String) { self.rawValue = rawValue }
            /// A `%` without two hexadecimal digits after it.
            package static let badEscape = Code(rawValue: "bad_escape")
            /// `%00`.
            package static let nul = Code(rawValue: "nul_in_target")
            /// Octets that are no UTF-8 once decoded.
            package static let invalidUTF8 = Code(rawValue: "invalid_utf8")
            /// A control character, a space or `#`.
            package static let illegalCharacter = Code(rawValue: "illegal_character")
            /// Neither a path nor an `http` URL.
            package static let notAPath = Code(rawValue: "not_a_path")
        }
        /// The reason.
        package let code: Code
        /// The reason as a sentence.
        package var description: String {
            switch code {
            case .badEscape: "The request target has a percent sign that is not followed by two hexadecimal digits."
            case .nul: "The request target contains an encoded NUL."
            case .invalidUTF8: "The request target is not valid UTF-8."
            case .illegalCharacter: "The request target contains a character that must be percent-encoded."
            default: "The request target is not an absolute path."
            }
        }
    }

    /// The target exactly as sent, without the scheme and host of an absolute URL.
    package let raw: String
    /// The decoded segments: `/a//b` is `a`, empty, `b`; `/` is one empty segment; `/a/` ends with an empty one.
    package let segments: [String]
    /// The decoded items of the query.
    package let query: HTTPQuery

    /// Takes a raw target apart. Throws when any part of it cannot be decoded.
    package init(_ target: [UInt8]) throws(Refusal) {
        let target = try Self.withoutOrigin(target)
        guard !target.contains(where: { $0 <= 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "#") }) else {
            throw Refusal(code: .illegalCharacter)
        }
        guard let raw = String(validating: target, as: UTF8.self) else { throw Refusal(code: .invalidUTF8) }
        self.raw = raw
        let pathEnd = target.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
        segments = try Self.decodedSegments(target[1..<max(1, pathEnd)], plusIsSpace: false)
        query = try HTTPQuery(target[min(pathEnd + 1, target.endIndex)...])
    }

    /// The segments with a raw `+` read as a space, as some SDKs write it in user ids. `%2B` stays a plus.
    package var segmentsWithPlusAsSpace: [String] {
        let bytes = Array(raw.utf8)
        let pathEnd = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.endIndex
        // The same octets were decoded when the value was made, so this cannot fail.
        return (try? Self.decodedSegments(bytes[1..<pathEnd], plusIsSpace: true)) ?? segments
    }

    /// `http://host/path` is allowed by the protocol and means `/path`.
    private static func withoutOrigin(_ target: [UInt8]) throws(Refusal) -> [UInt8] {
        if target.first == UInt8(ascii: "/") { return target }
        for scheme in ["http://", "https://"] where target.starts(with: scheme.utf8) {
            let rest = target.dropFirst(scheme.utf8.count)
            let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
            let path = Array(rest[end...])
            return path.first == UInt8(ascii: "/") ? path : [UInt8(ascii: "/")] + path
        }
        throw Refusal(code: .notAPath)
    }

    private static func decodedSegments(
        _ path: ArraySlice<UInt8>, plusIsSpace: Bool
    ) throws(Refusal) -> [String] {
        var segments: [String] = []
        for part in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            segments.append(try percentDecoded(part, plusIsSpace: plusIsSpace))
        }
        return segments
    }

    /// Decodes percent escapes once.
    static func percentDecoded(_ text: ArraySlice<UInt8>, plusIsSpace: Bool) throws(Refusal) -> String {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(text.count)
        var index = text.startIndex
        while index < text.endIndex {
            let byte = text[index]
            index += 1
            if byte == UInt8(ascii: "%") {
                guard index + 1 < text.endIndex, let high = Hexadecimal.digit(text[index]),
                    let low = Hexadecimal.digit(text[index + 1])
                else { throw Refusal(code: .badEscape) }
                guard high << 4 | low != 0 else { throw Refusal(code: .nul) }
                decoded.append(high << 4 | low)
                index += 2
            } else {
                decoded.append(byte == UInt8(ascii: "+") && plusIsSpace ? UInt8(ascii: " ") : byte)
            }
        }
        guard let text = String(validating: decoded, as: UTF8.self) else { throw Refusal(code: .invalidUTF8) }
        return text
    }
}
