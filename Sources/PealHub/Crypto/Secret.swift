internal import CPealCrypto

/// Bytes nobody can guess.
package enum RandomBytes {
    /// Bytes of libcrypto's generator, which the system seeds. Any thread. A system without randomness stops the process:
    /// there is nothing safe to go on with.
    package static func make(_ count: Int) -> [UInt8] {
        precondition(count >= 0 && count <= 1 << 20, "A key has a sensible length")
        guard count > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            precondition(RAND_bytes(buffer.baseAddress, Int32(count)) == 1, "The system has no randomness")
            initialized = count
        }
    }
}

/// A secret that the hub makes: 256 random bits, written as 64 hexadecimal characters.
///
/// It is stored as its plain SHA-256. A slow hash (PBKDF2, scrypt) and a salt make guessing dear where people choose what is
/// hashed; among 2^256 equally likely secrets nobody guesses at any speed, two are never the same, and a slow hash would
/// only cost every request milliseconds. So this is right for secrets of this type and wrong for passwords.
package enum Secret {
    /// A new secret, to be shown once.
    package static func make() -> String {
        Hexadecimal.encode(RandomBytes.make(32))
    }

    /// What is stored of a secret: the 32 bytes of SHA-256 of its text.
    package static func stored(_ secret: String) -> [UInt8] {
        SHA256.hash(Array(secret.utf8))
    }

    /// Whether a text is the secret whose hash is stored, in constant time.
    package static func matches(_ candidate: String, stored hash: [UInt8]) -> Bool {
        ConstantTime.areEqual(stored(candidate), hash)
    }
}
