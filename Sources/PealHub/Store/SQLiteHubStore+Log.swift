package import PealModel

/// Where a log stands in the running transaction.
package struct LogTail {
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
    let recoverHeads: Query
    let insertEntry: Query
    let insertItems: BulkInsert
    let insertTemplate: Query
    let insertLog: Query
    let insertLogs: BulkInsert
    let moveHead: Query
    let settleHead: Query

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
        recoverHeads = try database.query(
            """
            SELECT e.inbox, e.position, e.chain, b.sum, e.time, e.seq, e.salt
            FROM entry e CROSS JOIN inbox b ON b.id = e.inbox
            WHERE e.seq > ?1 AND e.position > b.head ORDER BY e.seq
            """)
        insertEntry = try database.query(
            """
            INSERT INTO entry (seq, inbox, position, publish, salt, time, chain, bytes)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            """)
        insertItems = try BulkInsert(
            database, into: "entry", ["seq", "inbox", "position", "publish", "salt", "time", "chain", "template"])
        insertTemplate = try database.query("INSERT INTO template (seq, bytes) VALUES (?1, ?2)")
        insertLog = try database.query("INSERT INTO log (inbox, position, seq, publish) VALUES (?1, ?2, ?3, ?4)")
        insertLogs = try BulkInsert(database, into: "log", ["inbox", "position", "seq", "publish"])
        moveHead = try database.query("UPDATE inbox SET head = ?2, chain = ?3, sum = ?4 WHERE id = ?1")
        settleHead = try database.query("UPDATE inbox SET head = ?2, chain = ?3, sum = ?4 WHERE id = ?1 AND head < ?2")
    }
}

/// Where the logs stand whose rows of `inbox` are behind, as the running transaction has it. The store's own.
final class LogHeads {
    var behind: [InboxKey: LogHead] = [:]
}

/// The way from a position to its chain, on either connection.
final class ChainQueries {
    private let logRow: Query
    private let entryChain: Query

    init(_ database: StoreDatabase) throws(HubStoreError) {
        logRow = try database.query("SELECT seq FROM log WHERE inbox = ?1 AND position = ?2")
        entryChain = try database.query("SELECT chain FROM entry WHERE seq = ?1")
    }

    /// The chain at a position; `deferred` has what `log` lacks.
    func chain(
        of inbox: InboxRow, at position: Position, deferred: [DeferredIndex.Row]
    ) throws(HubStoreError) -> UInt64? {
        if position == 0 { return 0 }
        if position == inbox.head { return inbox.chain }
        guard position > 0, position < inbox.head else { return nil }
        var seq = deferred.first { $0.position == position }?.seq
        if seq == nil { seq = try logRow.first(inbox.key.row, position) { $0.int64(0) } }
        guard let seq else { return nil }
        return try entryChain.first(seq) { $0.bits(0) }
    }
}

extension SQLiteHubStore {
    package func enter(_ bytes: [UInt8], to tail: inout LogTail, time: Milliseconds) throws(HubStoreError) {
        try enter(bytes, to: &tail, publish: 0, salt: 0, time: time)
    }

    package func chain(of inbox: InboxRow, at position: Position) throws(HubStoreError) -> UInt64? {
        try chainQueries.chain(of: inbox, at: position, deferred: deferred.rows(of: inbox.key))
    }

    package func emptyEntry(of item: StoredItem, in inbox: InboxKey) throws(HubStoreError) {
        try trimQueries.emptyEntry.run(item.seq)
    }

    package func end(_ inbox: InboxKey) throws(HubStoreError) { try userQueries.endInbox.run(inbox.row) }

    package func setCatalogue(_ version: Int64, in inbox: InboxKey) throws(HubStoreError) {
        try userQueries.moveCatalogue.run(inbox.row, version)
    }

    package func prepare(_ mutations: [Mutation], in view: StoreInboxView) {}

    /// Appends an entry and moves the tail; what the entry changes and ``moveHead(_:)`` follow. Its seq is `nextSeq`, which an
    /// item's id must hold.
    func enter(
        _ bytes: [UInt8], to tail: inout LogTail, publish: Int64, salt: UInt64, time: Milliseconds
    ) throws(HubStoreError) {
        let seq = nextSeq
        let position = tail.head + 1
        let chain = hasher.link(after: tail.chain, entry: bytes[...])
        try logQueries.insertEntry.run(seq, tail.inbox.row, position, publish, salt, time, chain, bytes)
        try logQueries.insertLog.run(tail.inbox.row, position, seq, publish)
        nextSeq = seq + 1
        tail.head = position
        tail.chain = chain
    }

    /// Writes where a log stands: head, chain and sum together.
    package func moveHead(_ tail: LogTail) throws(HubStoreError) {
        try logQueries.moveHead.run(tail.inbox.row, tail.head, tail.chain, tail.sum)
    }

    /// Appends an item to many inboxes at once. What all of them share is written once; their rows of `log` and of `inbox` are
    /// left for later.
    func appendWide(
        _ template: ItemTemplate, to tails: [LogTail], publish: Int64, time: Milliseconds
    ) throws(HubStoreError) -> [Appended] {
        let templateSeq = nextSeq
        try logQueries.insertTemplate.run(templateSeq, template.bytes)
        var salts = SplitMix(state: random.next())
        var scratch = template.bytes
        var appended: [Appended] = []
        appended.reserveCapacity(tails.count)
        var rows: [Int64] = []
        rows.reserveCapacity(8 * tails.count)
        staged.reserveCapacity(staged.count + tails.count)
        for tail in tails {
            let seq = nextSeq
            let id = ItemID(time: time, counter: UInt64(seq), random: salts.next())
            scratch.withUnsafeMutableBytes { EntryBytes.write(id, to: $0, at: template.idOffset) }
            let position = tail.head + 1
            let row = DeferredIndex.Row(
                position: position, seq: seq, publish: publish,
                chain: hasher.link(after: tail.chain, entry: scratch[...]),
                sum: tail.sum &+ InboxSum.item(id, at: position))
            rows.append(seq)
            rows.append(tail.inbox.row)
            rows.append(position)
            rows.append(publish)
            rows.append(Int64(id.salt))
            rows.append(time)
            rows.append(Int64(bitPattern: row.chain))
            rows.append(templateSeq)
            staged.append((tail.inbox, row))
            heads.behind[tail.inbox] = row.head
            nextSeq = seq + 1
            appended.append(
                Appended(
                    inbox: tail.inbox, position: position, chain: row.chain, sum: row.sum,
                    content: template.entry(id), time: time))
        }
        try logQueries.insertItems.run(rows)
        return appended
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

    /// Where the logs stand after something was undone.
    func restoreHeads() {
        heads.behind = hasSettled ? [:] : deferred.heads()
        for (inbox, row) in staged { heads.behind[inbox] = row.head }
    }

    /// Writes the rows of `log` and of `inbox` that wait, sorted, so that neighbours share pages.
    func settle() throws(HubStoreError) {
        var rows: [Int64] = []
        rows.reserveCapacity(4 * (deferred.count + staged.count))
        for (inbox, row) in deferred.sorted() + staged {
            rows.append(inbox.row)
            rows.append(row.position)
            rows.append(row.seq)
            rows.append(row.publish)
        }
        try logQueries.insertLogs.run(rows)
        for inbox in heads.behind.keys.sorted() {
            guard let head = heads.behind[inbox] else { continue }
            try logQueries.settleHead.run(inbox.row, head.position, head.chain, head.sum)
        }
        try logQueries.setWatermark.run(nextSeq - 1)
        // Nothing throws from here on: what is forgotten here must not be wanted by an undoing.
        heads.behind.removeAll(keepingCapacity: true)
        staged.removeAll(keepingCapacity: true)
        indexedSeq = nextSeq - 1
        hasSettled = true
    }

    /// Indexes every entry above the watermark that `log` lacks, and moves the inboxes' rows on: what was deferred when the last
    /// process ended.
    func recoverIndex() throws(HubStoreError) {
        try readWatermark()
        guard nextSeq - 1 > indexedSeq else { return }
        try logQueries.begin.run()
        do {
            try readWatermark()
            try logQueries.recover.run(indexedSeq)
            try recoverHeads()
            try logQueries.setWatermark.run(nextSeq - 1)
            try logQueries.commit.run()
        } catch {
            rollback()
            throw error
        }
        indexedSeq = nextSeq - 1
    }

    /// Only items wait: whatever else is appended moves the row of its inbox. So each adds its own hash to the sum.
    private func recoverHeads() throws(HubStoreError) {
        var found: [InboxKey: LogHead] = [:]
        try logQueries.recoverHeads.forEach(indexedSeq) { row in
            let inbox = InboxKey(row: row.int64(0))
            let position = row.int64(1)
            let id = ItemID(time: row.int64(4), counter: UInt64(row.int64(5)), random: row.bits(6))
            let sum = found[inbox]?.sum ?? row.bits(3)
            found[inbox] = LogHead(
                position: position, chain: row.bits(2), sum: sum &+ InboxSum.item(id, at: position))
            return true
        }
        for (inbox, head) in found.sorted(by: { $0.key < $1.key }) {
            try logQueries.settleHead.run(inbox.row, head.position, head.chain, head.sum)
        }
    }
}
