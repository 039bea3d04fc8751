internal import CPealCrypto
import PealModel

/// The chain of a log: at each position the first 8 bytes, big-endian, of SHA-256(previous chain ‖ entry bytes)
/// (SYNC.md section 2); 0 at position 0.
enum LogChain {
    /// The chain after an entry.
    static func next(_ previous: UInt64, _ entry: [UInt8]) -> UInt64 {
        let count = 8 + entry.count
        return withUnsafeTemporaryAllocation(byteCount: count + 32, alignment: 8) { buffer in
            buffer.storeBytes(of: previous.bigEndian, as: UInt64.self)
            entry.withUnsafeBytes {
                buffer.baseAddress!.advanced(by: 8).copyMemory(from: $0.baseAddress!, byteCount: $0.count)
            }
            let bytes = buffer.bindMemory(to: UInt8.self)
            let digest = bytes.baseAddress! + count
            _ = CPealCrypto.SHA256(bytes.baseAddress!, count, digest)
            return UInt64(bigEndian: UnsafeRawPointer(digest).loadUnaligned(as: UInt64.self))
        }
    }
}

/// The secret of a replica: a keyed digest of its inbox and its id, so that it needs no row and outlives a restored backup.
enum ReplicaSecret {
    /// The secret, 64 hexadecimal digits.
    static func text(seed: [UInt8], inbox: String, replica: ReplicaID) -> String {
        let message = Array("replica \(inbox) \(replica)".utf8)
        var digest = [UInt8](repeating: 0, count: 32)
        var count: UInt32 = 0
        HMAC(EVP_sha256(), seed, Int32(seed.count), message, message.count, &digest, &count)
        var text = ""
        for offset in stride(from: 0, to: 32, by: 8) {
            text += Hex64.text(digest[offset..<(offset + 8)].reduce(0) { $0 << 8 | UInt64($1) })
        }
        return text
    }

    /// Whether a text is the secret; takes as long wherever they differ.
    static func matches(_ text: String?, seed: [UInt8], inbox: String, replica: ReplicaID) -> Bool {
        guard let text else { return false }
        let wanted = Array(Self.text(seed: seed, inbox: inbox, replica: replica).utf8)
        let given = Array(text.utf8)
        guard given.count == wanted.count else { return false }
        return CRYPTO_memcmp(given, wanted, wanted.count) == 0
    }
}
