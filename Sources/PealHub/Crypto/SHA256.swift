internal import CPealCrypto

/// SHA-256 through libcrypto, hashing many inputs with one context.
///
/// Making and freeing a context for each input costs more than hashing a log entry, so whoever hashes often keeps a
/// hasher. Not thread-safe, hence not copyable: one owner at a time. Never blocks, never fails for any input.
package struct SHA256Hasher: ~Copyable {
    private let context: OpaquePointer
    // Room for a digest, so that a hash allocates nothing.
    private let digest: UnsafeMutablePointer<UInt8>

    /// A hasher with nothing in it.
    package init() {
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, SHA256.algorithm, nil) == 1 else {
            preconditionFailure("libcrypto has no SHA-256")
        }
        self.context = context
        digest = .allocate(capacity: SHA256.size)
    }

    deinit {
        EVP_MD_CTX_free(context)
        digest.deallocate()
    }

    /// Adds bytes to the input.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        let done = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
        precondition(done == 1, "libcrypto failed to hash")
    }

    /// Adds bytes to the input.
    package mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { update($0) }
    }

    /// The 32 bytes of the digest; the hasher is empty again.
    package mutating func finish() -> [UInt8] {
        finishInPlace()
        return Array(UnsafeBufferPointer(start: digest, count: SHA256.size))
    }

    /// The link after `previous` in a hash chain: the first 8 bytes of SHA-256(previous ‖ entry), as a big-endian number,
    /// `previous` being hashed as its 8 big-endian bytes too. Allocates nothing. Input given to `update` before counts.
    package mutating func link(after previous: UInt64, entry: UnsafeRawBufferPointer) -> UInt64 {
        withUnsafeBytes(of: previous.bigEndian) { update($0) }
        update(entry)
        finishInPlace()
        return UInt64(bigEndian: UnsafeRawPointer(digest).loadUnaligned(as: UInt64.self))
    }

    /// The link after `previous` for an entry in an array or a slice of one.
    package mutating func link(after previous: UInt64, entry: ArraySlice<UInt8>) -> UInt64 {
        entry.withUnsafeBytes { link(after: previous, entry: $0) }
    }

    private mutating func finishInPlace() {
        // A null algorithm: start again with the one in use, which skips looking it up.
        let done = EVP_DigestFinal_ex(context, digest, nil) == 1 && EVP_DigestInit_ex(context, nil, nil) == 1
        precondition(done, "libcrypto failed to hash")
    }
}

/// SHA-256 of a single input.
package enum SHA256 {
    /// Bytes in a digest.
    package static let size = 32

    /// The algorithm, looked up once: libcrypto would do it again for every context.
    // Immutable, and libcrypto shares it between threads by a reference count.
    nonisolated(unsafe) static let algorithm: OpaquePointer? = EVP_MD_fetch(nil, "SHA256", nil)

    /// The 32 bytes of the digest. Any thread; makes a context, so use `SHA256Hasher` for many inputs.
    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var hasher = SHA256Hasher()
        hasher.update(bytes)
        return hasher.finish()
    }
}
