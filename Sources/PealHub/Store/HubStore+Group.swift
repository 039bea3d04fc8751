#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// How often a group commit is run again where another node of the hub got in the way (``HubStoreError/Code/again``), and how long each time
/// is waited.
enum GroupAttempts {
    /// Of a group of several requests; then each is tried alone: one alone locks in the order of the keys, and waits for its locks.
    static let together = 3
    /// Of one request.
    static let alone = 12

    /// Waits before the next attempt: a random part of 2 ms, 4 ms, … 64 ms. Blocking.
    static func pause(after attempt: Int) {
        usleep(UInt32.random(in: 0...2_000 << UInt32(min(attempt - 1, 5))))
    }
}

extension HubStore {
    /// Runs a body as one durable transaction, again where another node of the hub got in the way: it must be able to run twice. Blocking.
    ///
    /// - Throws: what the body throws, and ``HubStoreError`` of the transaction; nothing of it took effect then, but see
    ///   ``HubStoreError/Code/unavailable``.
    package func group<R>(
        attempts: Int? = nil, _ body: () throws(HubStoreError) -> R
    ) throws(HubStoreError) -> R {
        var attempt = 1
        while true {
            do throws(HubStoreError) {
                try begin()
                let result = try body()
                try commit()
                return result
            } catch {
                rollback()
                guard error.code == .again, attempt < attempts ?? GroupAttempts.alone else { throw error }
            }
            GroupAttempts.pause(after: attempt)
            attempt += 1
        }
    }
}
