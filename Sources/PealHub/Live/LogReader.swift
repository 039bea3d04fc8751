import PealModel
import PealSQLite

/// Reads logs and snapshots on a thread and a connection of its own, so that a publish never waits for a reader.
final class LogReader: @unchecked Sendable {
    // `reader` is only used on `executor`.
    /// Nil once stopped.
    private var reader: (any HubReader)?
    private let executor: ConnectionExecutor

    init(reader: any HubReader, executor: ConnectionExecutor) {
        self.reader = reader
        self.executor = executor
    }

    /// Runs a read; the answer comes on the reader's thread.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any HubReader) throws(HubStoreError) -> Value,
        completion: @escaping @Sendable (Result<Value, HubStoreError>) -> Void
    ) {
        executor.post { [self] in
            guard let reader else { return completion(.failure(HubStoreError(.busy, "the hub is stopping"))) }
            do throws(HubStoreError) {
                completion(.success(try body(reader)))
            } catch {
                completion(.failure(error))
            }
        }
    }

    /// Entries after a position.
    func entries(
        of inbox: InboxKey, after position: Position, count: Int, bytes: Int,
        completion: @escaping @Sendable (Result<[LogEntry], HubStoreError>) -> Void
    ) {
        read(
            { (reader) throws(HubStoreError) in
                try reader.entries(of: inbox, after: position, maxCount: count, maxBytes: bytes)
            }, completion: completion)
    }

    /// The next page of a snapshot. Its id is the `at` of its first page; a request that names a log which has changed since,
    /// or is gone, starts over (docs/sync.md section 6).
    func page(
        of inbox: InboxKey, _ request: SnapshotRequest,
        completion: @escaping @Sendable (Result<Page, HubStoreError>) -> Void
    ) {
        read(
            { (reader) throws(HubStoreError) in
                try reader.page(of: inbox, request, maxRows: Limits.pageRows, maxBytes: Hub.frameBytes)
            }, completion: completion)
    }

    /// Closes the connection after what waits. Blocks.
    func stop() {
        executor.post { [self] in
            reader?.close()
            reader = nil
        }
        executor.stop()
    }
}
