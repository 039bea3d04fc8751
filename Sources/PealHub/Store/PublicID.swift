import PealModel

/// 128 random bits that name an inbox or a nonce outside the hub: 32 hexadecimal digits, stored as 16 bytes.
package enum PublicID {
    static func random(_ source: inout any RandomNumberGenerator) -> [UInt8] {
        bytes(high: source.next(), low: source.next())
    }

    /// The 16 bytes of two halves.
    package static func bytes(high: UInt64, low: UInt64) -> [UInt8] {
        [high, low].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> UInt64(56 - 8 * $0)) } }
    }

    /// The id of a user's inbox: a keyed digest of who it is, so that a hub that was restored to before the user makes the same one
    /// again and the user's replicas stay bound to it (docs/sync.md section 7).
    package static func user(_ identity: UserIdentity, seed: [UInt8]) -> [UInt8] {
        let name = identity.externalID.map { "external \($0)" } ?? "email \(identity.email ?? "")"
        return Array(HMACSHA256.code(Array("inbox \(name)".utf8), key: seed).prefix(16))
    }

    package static func text(_ bytes: [UInt8]) -> String {
        let halves = bytes.indices.contains(15) ? [bytes[0..<8], bytes[8..<16]] : []
        return halves.map { Hex64.text($0.reduce(0) { $0 << 8 | UInt64($1) }) }.joined()
    }

    /// The bytes of 32 digits in either case; nil for any other text.
    static func bytes(_ text: String) -> [UInt8]? {
        ReplicaID(text).map { bytes(high: $0.high, low: $0.low) }
    }
}

extension ReplicaID {
    /// The 16 stored bytes.
    var bytes: [UInt8] { PublicID.bytes(high: high, low: low) }
}

extension Author {
    /// The stored form: a replica's 16 bytes, or nothing for HTTP.
    var bytes: [UInt8] {
        switch self {
        case .api: []
        case .replica(let id): id.bytes
        }
    }

    /// The author of a stored form.
    init(stored bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 16 else {
            self = .api
            return
        }
        self = .replica(
            ReplicaID(
                high: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
                low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))))
    }
}

extension Outcome {
    /// The stored form.
    var text: String {
        var writer = JSONWriter(capacity: 64)
        write(to: &writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// The outcome of a stored form.
    init(stored text: String) throws(HubStoreError) {
        do throws(JSONError) {
            self = try Outcome(JSONObject(Array(text.utf8)[...]))
        } catch {
            throw HubStoreError(.failed, "a stored outcome cannot be read: \(error.reason)", underlying: error)
        }
    }
}
