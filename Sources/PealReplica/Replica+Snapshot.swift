public import PealModel
internal import PealSQLite

/// Snapshots: staged beside the base, swapped in with the cursor in one transaction (docs/sync.md section 6).
extension Replica {
    /// Where the snapshot that is being loaded wants to go on; a request for a new one where none is. Blocking.
    public func snapshotRequest() throws(ReplicaError) -> SnapshotRequest {
        try read { () throws(SQLiteError) in
            guard let stage = try Stage.load(connection) else { return SnapshotRequest() }
            return SnapshotRequest(id: stage.id, after: stage.after, at: stage.newestAt, chain: stage.newestChain)
        }
    }

    /// Stages a page of the live session; a page of another snapshot starts over. Blocking.
    ///
    /// Where it is the last one and nothing has happened since the newest page, the snapshot takes the place of the base at
    /// once; else the batch that passes that page does it (``apply(_:)``). Until then the app sees the old base; where that is
    /// empty it sees the pages as they come, marked as partial (``DeliveredPage/isPartial``).
    public func stage(_ page: Page) throws(ReplicaError) -> Staged {
        try setLoading(!page.last)
        return try write(page.last ? .full : .normal) { () throws(SQLiteError) in
            var state = try loadState()
            var stage = try Stage.load(connection)
            // Only a first page carries the rest; its id, a position, may be one that another log has used.
            if stage?.id != page.id || page.rest != nil {
                try abandon(stage, &state)
                stage = Stage(
                    id: page.id, firstAt: page.at, newestAt: page.at, newestChain: page.chain, after: page.after,
                    isComplete: false, rows: 0, epoch: session.epoch ?? state.cursor.epoch ?? 0, logPosition: page.at,
                    logChain: page.chain, hasInterests: page.rest?.interests != nil, isPartial: try canBePartial(state))
                // The base is empty, whatever its kept sum says.
                if stage?.isPartial == true { state.sum = 0 }
                if let rest = page.rest { try stage?.add(rest, connection) }
            }
            guard var stage else { preconditionFailure("a stage was made above") }
            for row in try stage.add(page, connection) { try keepUndecodable(row) }
            if page.at >= stage.newestAt {
                stage.newestAt = page.at
                stage.newestChain = page.chain
            }
            stage.after = page.after
            stage.isComplete = stage.isComplete || page.last
            try stage.save(connection)
            if stage.isPartial { try show(page, of: stage, &state) }
            guard stage.isReady else {
                return Staged(
                    position: stage.logPosition, rows: stage.rows, last: page.last, settledThrough: state.settledN,
                    swap: nil, divergence: nil)
            }
            let swap = try swapIn(stage, &state)
            return Staged(
                position: state.cursor.position, rows: stage.rows, last: page.last, settledThrough: state.settledN,
                swap: swap.report, divergence: page.at == state.cursor.position ? try compare(page.sum, &state) : nil)
        }
    }

    /// Pages of the write-ahead log while a snapshot is loaded: 64 MiB, what its file keeps at most.
    private static let loadingCheckpoint = 16_384

    /// Checkpoints wait for the disk: there are few of them while much is written.
    func setLoading(_ loads: Bool) throws(ReplicaError) {
        guard loads != isLoading, !isReadOnly else { return }
        do throws(SQLiteError) {
            try connection.setCheckpoint(pages: loads ? Self.loadingCheckpoint : Connection.Options().checkpointPages)
        } catch {
            throw ReplicaError(error)
        }
        isLoading = loads
    }

    /// Whether pages may go to the base as they come: it is that of the beginning, and nothing else is to be compared with them.
    private func canBePartial(_ state: ReplicaState) throws(SQLiteError) -> Bool {
        guard state.cursor.position == 0, !state.ahead, !state.divergence.repair else { return false }
        return try connection.int("SELECT EXISTS (SELECT 1 FROM item) OR EXISTS (SELECT 1 FROM mark)") == 0
    }

    /// Sum and overlay follow what a page has added to the base.
    private func show(_ page: Page, of stage: Stage, _ state: inout ReplicaState) throws(SQLiteError) {
        state.sum &+= stage.sum
        change.everything = true
        // The first page brings the marks; any can bring an item that an act waits for.
        let ids = try hasPending() ? page.rows.map(\.id) : []
        try refreshOverlay(&state, touched: page.rest != nil, newIDs: ids)
        try state.saveProgress(connection)
    }

    /// Drops what was staged; a partial base goes with it.
    func abandon(_ stage: Stage?, _ state: inout ReplicaState) throws(SQLiteError) {
        try Stage.clear(connection)
        guard stage?.isPartial == true else { return }
        try WordIndex(connection).drop()
        try connection.execute("DELETE FROM item; DELETE FROM register; DELETE FROM mark; DELETE FROM tally")
        state.sum = 0
        change.everything = true
        try refreshOverlay(&state, touched: true, newIDs: [])
        try state.saveProgress(connection)
    }

    private func keepUndecodable(_ row: SnapshotRow) throws(SQLiteError) {
        let keep = try connection.prepare("INSERT OR REPLACE INTO raw (position, bytes, reason) VALUES (?1, ?2, ?3)")
        keep.bind(1, row.state.position)
        keep.bind(2, row.body)
        keep.bind(3, "a row of a snapshot whose body cannot be decoded")
        try keep.run()
    }

    /// Puts the stage in the place of the base, folds the staged log over it, moves the cursor, settles, recomputes the
    /// overlay; all in the open transaction.
    func swapIn(
        _ stage: Stage, _ state: inout ReplicaState
    ) throws(SQLiteError) -> (report: SwapReport, quarantined: [Position], foreign: Bool) {
        var report = SwapReport(
            before: stage.isPartial ? 0 : try connection.int("SELECT count(*) FROM item"), after: 0, ahead: state.ahead,
            common: nil, reoffered: session.reoffers, unexplained: [], unexplainedCount: 0)
        if state.ahead {
            report.lost = try connection.int(
                "SELECT count(*) FROM item WHERE NOT EXISTS (SELECT 1 FROM stage_item s WHERE s.position = item.position AND s.id = item.id)"
            )
            try goBack(&state, &report)
            report.offered = try connection.int("SELECT count(*) FROM outbox WHERE state < 3")
            try connection.execute(
                "UPDATE replica SET went_back = \(options.clock.wall()), went_back_lost = \(report.lost)")
        } else {
            try Differences(connection, cursor: state.cursor.position, newest: stage.newestAt).find(&report)
        }
        if !stage.isPartial { try merge() }
        try mergeRest(stage)
        // A partial base was added up row by row.
        if stage.isPartial { state.sum &+= try BaseSum.rest(connection).sum }
        var fold = Fold(connection, state)
        let log = try connection.prepare("SELECT position, bytes FROM stage_log ORDER BY position")
        while try log.step() {
            let bytes = log.blob(1)
            try fold.entries([bytes[...]], first: log.int64(0))
        }
        log.reset()
        state.cursor = Cursor(epoch: stage.epoch, position: stage.logPosition, chain: stage.logChain)
        state.time = max(
            try connection.int("SELECT time FROM item ORDER BY position DESC LIMIT 1"), fold.found.time)
        state.ahead = false
        // The pages' rows are as of different positions: only the whole has a sum.
        if !stage.isPartial { fold.sum = try BaseSum(connection).sum }
        state.divergence.computed = options.clock.wall()
        state.divergence.repair = false
        try state.divergence.save(connection)
        session.awaitsSnapshot = false
        try Stage.clear(connection)
        // Own acts that the staged log decided settle as in any batch.
        let foreign = try finish(fold, &state, everything: true)
        change.interests = true
        change.preferences = true
        report.after = try connection.int("SELECT count(*) FROM item")
        return (report, fold.found.quarantined, foreign)
    }

    /// Only rows that differ are written: most of an inbox survives most snapshots.
    private func merge() throws(SQLiteError) {
        // Anything may come between what it holds, and other items at their positions.
        try WordIndex(connection).drop()
        try connection.execute(
            """
            DELETE FROM item WHERE NOT EXISTS
                (SELECT 1 FROM stage_item s WHERE s.position = item.position AND s.id = item.id);
            UPDATE item SET version = s.version, read = s.read, read_rank = s.read_rank, seen = s.seen,
                archived = s.archived, archived_rank = s.archived_rank
            FROM stage_item s WHERE s.position = item.position AND (s.read <> item.read OR s.read_rank <> item.read_rank
                OR s.seen <> item.seen OR s.archived <> item.archived OR s.archived_rank <> item.archived_rank);
            UPDATE item SET silent = s.silent, body = s.body FROM stage_item s WHERE s.position = item.position AND item.body = '';
            INSERT INTO item (position, id, publish, time, sent, type, category, topic, interests, expires, silent, version,
                read, read_rank, seen, archived, archived_rank, body)
            SELECT position, id, publish, time, sent, type, category, topic, interests, expires, silent, version, read,
                read_rank, seen, archived, archived_rank, body
            FROM stage_item s WHERE NOT EXISTS (SELECT 1 FROM item i WHERE i.position = s.position) ORDER BY position;
            DELETE FROM register;
            INSERT INTO register SELECT * FROM stage_register;
            DELETE FROM mark;
            INSERT OR REPLACE INTO mark (kind, up_to, version) SELECT kind, up_to, version FROM stage_mark
            """)
        try connection.execute(Tally.rebuild)
    }

    /// What an inbox holds beside items.
    private func mergeRest(_ stage: Stage) throws(SQLiteError) {
        try connection.execute(RestTables.merge)
        if stage.hasInterests {
            try connection.execute(
                """
                UPDATE interest SET base = 0;
                INSERT INTO interest (name, base) SELECT name, 1 FROM stage_interest WHERE true
                    ON CONFLICT (name) DO UPDATE SET base = 1;
                DELETE FROM interest WHERE base = 0 AND overlay IS NULL
                """)
        } else if !isDevice {
            // A user's inbox has none; a row that is there all the same is damage.
            try connection.execute("DELETE FROM interest")
        }
    }

    // MARK: The hub went back in time

    /// Offers again what the hub lost, as of what both still have in common; or drops it, where the hub's operator says so. Acts that
    /// were never settled are sent either way.
    private func goBack(_ state: inout ReplicaState, _ report: inout SwapReport) throws(SQLiteError) {
        let common = try connection.int(
            "SELECT max(i.position) FROM item i JOIN stage_item s ON s.position = i.position AND s.id = i.id")
        let time = try connection.int("SELECT time FROM item WHERE position = \(common)")
        let lastN = session.offersAll ? 0 : state.aheadLastN
        try mendJournal()
        report.lostActs = try connection.int("SELECT count(*) FROM journal WHERE \(Self.lost(above: lastN))")
        if session.reoffers {
            try offerJournal(above: lastN, quiet: false)
        } else {
            try connection.execute("DELETE FROM journal WHERE \(Self.lost(above: lastN))")
        }
        try connection.execute(
            """
            UPDATE outbox SET state = 3, outcome = '{"code":"void"}'
                WHERE void IS NOT NULL AND n > \(lastN) AND state < 3;
            UPDATE outbox SET n = NULL, state = CASE state WHEN 2 THEN 1 ELSE state END WHERE n > \(lastN);
            UPDATE journal SET n = NULL WHERE n > \(lastN);
            UPDATE outbox SET observed_time = min(observed_time, \(time)), observed = \(common) WHERE observed > \(common);
            UPDATE journal SET observed_time = min(observed_time, \(time)), observed = \(common) WHERE observed > \(common)
            """)
        try clampMarks(to: common)
        state.nextN = state.aheadLastN + 1
        state.settledN = min(state.settledN, state.aheadLastN)
        state.generation += 1
        change.outbox = true
        report.common = common
    }
}
