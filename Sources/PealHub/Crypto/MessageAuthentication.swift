internal import CPealCrypto

/// HMAC-SHA-256 (RFC 2104) of a single message.
package enum HMACSHA256 {
    /// The 32 bytes of the code. Any thread; an empty key is allowed and is its caller's mistake.
    package static func code(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        hmac(EVP_sha256(), 32, message, key)
    }

    /// Whether a code belongs to a message, compared in constant time; false for a code of another length.
    package static func isValid(_ code: [UInt8], for message: [UInt8], key: [UInt8]) -> Bool {
        ConstantTime.areEqual(self.code(message, key: key), code)
    }
}

/// HMAC-SHA-1, only because the signature of a Beams webhook is one; still sound as a keyed code, but for nothing new.
package enum HMACSHA1 {
    /// The 20 bytes of the code. Any thread.
    package static func code(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        hmac(EVP_sha1(), 20, message, key)
    }
}

private func hmac(_ algorithm: OpaquePointer?, _ size: Int, _ message: [UInt8], _ key: [UInt8]) -> [UInt8] {
    // A null key would mean "the key of last time"; an empty array has no address to give.
    let keyBytes = key.isEmpty ? [0] : key
    return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
        var written: UInt32 = 0
        let code = HMAC(
            algorithm, keyBytes, Int32(key.count), message, message.count, buffer.baseAddress, &written)
        precondition(code != nil && Int(written) == size, "libcrypto failed to compute an HMAC")
        count = size
    }
}

/// Comparison that takes as long for a first byte that differs as for a last one.
package enum ConstantTime {
    /// Whether two secrets are the same. The length is not hidden, the content is. Any thread.
    package static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
    }

    /// Whether two secret texts have the same UTF-8.
    package static func areEqual(_ left: String, _ right: String) -> Bool {
        areEqual(Array(left.utf8), Array(right.utf8))
    }
}
