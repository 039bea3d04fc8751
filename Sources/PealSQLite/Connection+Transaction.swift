internal import CPealSQLite

extension Connection {
    /// Runs `body` in a transaction, undone where it throws. Blocking; traps where it is nested.
    ///
    /// - Throws: ``SQLiteError`` of begin or commit through `failure`, or what `body` throws. `busy`: the lock did not come in
    ///   time, nothing ran. `aborted`: SQLite had undone the transaction (a full disk), and `body` went on after its error.
    public func transaction<R, E: Error>(
        _ kind: TransactionKind, failure: (SQLiteError) -> E, _ body: () throws(E) -> R
    ) throws(E) -> R {
        do throws(SQLiteError) {
            try undoLeftOver()
        } catch {
            throw failure(error)
        }
        precondition(!isInTransaction, "a transaction within a transaction: use savepoint")
        do throws(SQLiteError) {
            try kind == .immediate ? runControl("BEGIN IMMEDIATE") : runControl("BEGIN DEFERRED")
        } catch {
            throw failure(error)
        }
        let result: R
        do throws(E) {
            result = try body()
        } catch {
            rollback()
            throw error
        }
        do throws(SQLiteError) {
            try finish("COMMIT")
        } catch {
            rollback()
            throw failure(error)
        }
        return result
    }

    /// Runs `body` in a transaction, undone where it throws. Blocking; not nested.
    ///
    /// - Throws: ``SQLiteError``.
    public func transaction<R>(
        _ kind: TransactionKind = .immediate, _ body: () throws(SQLiteError) -> R
    ) throws(SQLiteError) -> R {
        try transaction(kind, failure: { $0 }, body)
    }

    /// Undoes an open transaction; harmless where there is none.
    public func rollback() {
        // Where the undoing fails too, SQLite completes it when the file is next opened.
        if isInTransaction { try? runControl(Self.rollbackSQL) }
        // A change of the schema makes SQLite prepare the statement again, and for that memory can be missing.
        owesRollback = isInTransaction
    }

    /// Undoes a transaction whose ``rollback()`` failed for want of memory; nothing where there is none. Whoever begins a
    /// transaction without ``transaction(_:_:)`` calls it before.
    ///
    /// - Throws: ``SQLiteError``: `noMemory` where it cannot be undone now either.
    public func undoLeftOver() throws(SQLiteError) {
        guard owesRollback else { return }
        rollback()
        guard !owesRollback else {
            throw SQLiteError(.noMemory, "an earlier transaction cannot be undone for want of memory")
        }
    }

    private static let rollbackSQL: StaticString = "ROLLBACK"
    private static let undoSQL: StaticString = "ROLLBACK TO s"
    private static let releaseSQL: StaticString = "RELEASE s"

    /// Prepares what undoes a transaction: where memory has run out it is too late, and the transaction would stay open.
    func prepareUndoing() throws(SQLiteError) {
        for sql in [Self.rollbackSQL, Self.undoSQL, Self.releaseSQL] {
            try statement(sql) { (_) throws(SQLiteError) in }
        }
    }

    /// Runs `body` in a savepoint of its own, undone where it throws. Savepoints nest. Blocking.
    ///
    /// - Throws: ``SQLiteError`` through `failure`, or what `body` throws.
    public func savepoint<R, E: Error>(
        failure: (SQLiteError) -> E, _ body: () throws(E) -> R
    ) throws(E) -> R {
        do throws(SQLiteError) {
            try runControl("SAVEPOINT s")
        } catch {
            throw failure(error)
        }
        let result: R
        do throws(E) {
            result = try body()
        } catch {
            undoSavepoint()
            throw error
        }
        do throws(SQLiteError) {
            try finish(Self.releaseSQL)
        } catch {
            undoSavepoint()
            throw failure(error)
        }
        return result
    }

    /// Runs `body` in a savepoint of its own, undone where it throws. Savepoints nest. Blocking.
    ///
    /// - Throws: ``SQLiteError``.
    public func savepoint<R>(_ body: () throws(SQLiteError) -> R) throws(SQLiteError) -> R {
        try savepoint(failure: { $0 }, body)
    }

    private func undoSavepoint() {
        // A full disk or a broken file has ended the whole transaction already.
        guard isInTransaction else { return }
        try? runControl(Self.undoSQL)
        try? runControl(Self.releaseSQL)
    }

    private func finish(_ sql: StaticString) throws(SQLiteError) {
        guard isInTransaction else { throw SQLiteError(.aborted, "SQLite undid the transaction before its end") }
        try runControl(sql)
    }

    private func runControl(_ sql: StaticString) throws(SQLiteError) {
        try statement(sql) { (control) throws(SQLiteError) in try control.run() }
    }
}
