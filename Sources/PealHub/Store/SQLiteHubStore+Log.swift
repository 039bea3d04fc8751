import PealModel
import PealSQLite

/// Where a log stands in the running transaction.
struct LogTail {
    let inbox: InboxKey
    var head: Position
    var chain: UInt64
    /// The additive sum of the inbox's state (docs/sync.md section 8).
    var sum: UInt64

    init(inbox: InboxKey, head: Position, chain: UInt64, sum: UInt64) {
        self.inbox = inbox
        self.head = head
        self.chain = chain
        self.sum = sum
    }

    init(_ inbox: InboxRow) {
        self.init(inbox: inbox.key, head: inbox.head, chain: inbox.chain, sum: inbox.sum)
    }
}

/// The statements that append to logs.
final class LogQueries {
    let begin: Query
    let commit: Query
    let savepoint: Query
    let release: Query
    let undo: Query
    let watermark: Query
    let setWatermark: Query
    let recover: Query
    let insertEntry: Query
    let insertLog: Query
    let moveHead: Query

    init(_ database: StoreDatabase) throws(HubStoreError) {
        begin = try database.query("BEGIN IMMEDIATE")
        commit = try database.query("COMMIT")
        savepoint = try database.query("SAVEPOINT request")
        release = try database.query("RELEASE request")
        undo = try database.query("ROLLBACK TO request")
        watermark = try database.query(
            "SELECT indexed_seq, (SELECT max(seq) FROM entry) FROM meta WHERE id = 1")
        setWatermark = try database.query("UPDATE meta SET indexed_seq = ?1 WHERE id = 1")
        recover = try database.query(
            """
            INSERT OR IGNORE INTO log (inbox, position, seq, publish)
            SELECT inbox, position, seq, publish FROM entry WHERE seq > ?1 ORDER BY inbox, position
            """)
        insertEntry = try database.query(
            """
            INSERT INTO entry (seq, inbox, position, publish, salt, time, chain, bytes)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            """)
        insertLog = try database.query("INSERT INTO log (inbox, position, seq, publish) VALUES (?1, ?2, ?3, ?4)")
        moveHead = try database.query("UPDATE inbox SET head = ?2, chain = ?3, sum = ?4 WHERE id = ?1")
    }
}

extension SQLiteHubStore {
    /// Appends an entry and moves the tail; what the entry changes and ``moveHead(_:)`` follow. Its seq is `nextSeq`, which an
    /// item's id must hold.
    ///
    /// - Parameter isDeferred: leaves the row of `log` for later; for appends to many inboxes at once.
    func enter(
        _ bytes: [UInt8], to tail: inout LogTail, publish: Int64 = 0, salt: UInt64 = 0, time: Milliseconds,
        isDeferred: Bool = false
    ) throws(HubStoreError) {
        let seq = nextSeq
        let position = tail.head + 1
        let chain = hasher.link(after: tail.chain, entry: bytes[...])
        try logQueries.insertEntry.run(seq, tail.inbox.row, position, publish, salt, time, chain, bytes)
        if isDeferred {
            staged.append((tail.inbox, DeferredIndex.Row(position: position, seq: seq, publish: publish)))
        } else {
            try logQueries.insertLog.run(tail.inbox.row, position, seq, publish)
        }
        nextSeq = seq + 1
        tail.head = position
        tail.chain = chain
    }

    /// Writes where a log stands: head, chain and sum together.
    func moveHead(_ tail: LogTail) throws(HubStoreError) {
        try logQueries.moveHead.run(tail.inbox.row, tail.head, tail.chain, tail.sum)
    }

    // MARK: Deferred index

    /// Reads where the log of logs stands. A deletion can have taken the last entries; their numbers are not used again.
    func readWatermark() throws(HubStoreError) {
        try logQueries.watermark.forEach { row in
            indexedSeq = row.int64(0)
            nextSeq = max(indexedSeq, row.int64(1)) + 1
            return true
        }
    }

    /// Writes the rows of `log` that wait, sorted, so that those of an inbox share its pages.
    func settle() throws(HubStoreError) {
        for (inbox, row) in deferred.sorted() {
            try logQueries.insertLog.run(inbox.row, row.position, row.seq, row.publish)
        }
        for (inbox, row) in staged {
            try logQueries.insertLog.run(inbox.row, row.position, row.seq, row.publish)
        }
        staged.removeAll(keepingCapacity: true)
        try logQueries.setWatermark.run(nextSeq - 1)
        indexedSeq = nextSeq - 1
        hasSettled = true
    }

    /// Indexes every entry above the watermark that `log` lacks: what was deferred when the last process ended.
    func recoverIndex() throws(HubStoreError) {
        try readWatermark()
        guard nextSeq - 1 > indexedSeq else { return }
        try logQueries.begin.run()
        do {
            try readWatermark()
            try logQueries.recover.run(indexedSeq)
            try logQueries.setWatermark.run(nextSeq - 1)
            try logQueries.commit.run()
        } catch {
            rollback()
            throw error
        }
        indexedSeq = nextSeq - 1
    }
}
