-- A replica's file, version 1 (docs/sync.md). One file is one inbox on one device. Times are milliseconds since 1970 by the
-- hub's clock unless said otherwise; 64-bit ids are stored as signed integers of the same bits.

-- Who this is and how far it has come. One row.
CREATE TABLE replica (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    identity TEXT NOT NULL,                 -- what the app asked for, one JSON object
    project TEXT NOT NULL,
    inbox TEXT,                             -- bound at the first welcome
    replica TEXT NOT NULL,                  -- 32 hexadecimal digits
    secret TEXT,
    previous_replica TEXT,                  -- after a fork, until the new id has its own secret
    previous_secret TEXT,
    attempt INTEGER NOT NULL DEFAULT 0,
    nonce TEXT NOT NULL DEFAULT '',
    next_n INTEGER NOT NULL DEFAULT 1,
    settled_n INTEGER NOT NULL DEFAULT 0,   -- the highest own number that is settled
    epoch INTEGER,                          -- the cursor: these three change together
    position INTEGER NOT NULL DEFAULT 0,
    chain INTEGER NOT NULL DEFAULT 0,
    time INTEGER NOT NULL DEFAULT 0,        -- of the entry at position
    sum INTEGER NOT NULL DEFAULT 0,         -- the additive sum of the base at position (docs/sync.md section 8)
    sum_computed INTEGER NOT NULL DEFAULT 0,        -- when it was last computed from the rows, by this device's clock
    diverged INTEGER,                       -- when the hub's sum last differed, by this device's clock
    diverged_by INTEGER,                    -- the hub's less ours: what one cause keeps, whatever is folded afterwards
    repair INTEGER NOT NULL DEFAULT 0,      -- a snapshot is wanted for it and not swapped in yet
    clock_offset INTEGER,                   -- hub clock minus wall clock, at the last welcome
    synced INTEGER NOT NULL DEFAULT 0,      -- the highest hub time ever seen
    generation INTEGER NOT NULL DEFAULT 0,  -- grows with each change of the outbox
    pending_read INTEGER NOT NULL DEFAULT 0,        -- how far pending marks reach, a part of the overlay
    pending_seen INTEGER NOT NULL DEFAULT 0,
    pending_archive INTEGER NOT NULL DEFAULT 0,
    ahead INTEGER NOT NULL DEFAULT 0,       -- the hub went back in time and the snapshot is not swapped in yet
    ahead_last_n INTEGER NOT NULL DEFAULT 0,        -- what the hub knew of our numbers then
    -- For whoever looks into the file later, by this device's clock:
    went_back INTEGER,                      -- when the hub's going back was last mended by a snapshot
    went_back_lost INTEGER,                 -- how many items that took away
    forked INTEGER                          -- when this replica last took a new id
) STRICT;

-- Base: changed only by entries and snapshots, together with the cursor. Overlay (o_*): what pending acts make of it,
-- NULL where they make nothing of it; recomputable from the outbox. A deleted item has no row.
CREATE TABLE item (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    publish TEXT NOT NULL,
    time INTEGER NOT NULL,
    sent INTEGER NOT NULL,
    type TEXT NOT NULL,
    category TEXT,
    topic TEXT,
    interests TEXT,                         -- of a device's inbox: one JSON array of names; NULL for none
    expires INTEGER,
    silent INTEGER NOT NULL,
    version INTEGER NOT NULL,               -- effects of entries at or below it are in the row
    read INTEGER NOT NULL DEFAULT 0,        -- a register's value; its rank is 0 while nobody touched it
    read_rank INTEGER NOT NULL DEFAULT 0,
    seen INTEGER NOT NULL DEFAULT 0,
    archived INTEGER NOT NULL DEFAULT 0,
    archived_rank INTEGER NOT NULL DEFAULT 0,
    overlaid INTEGER NOT NULL DEFAULT 0,
    o_read INTEGER,
    o_seen INTEGER,
    o_archived INTEGER,
    o_deleted INTEGER,
    body TEXT NOT NULL                      -- the publisher's part, raw JSON; last, so that no other column lies behind it;
                                            -- empty, and the item silent, where the device has let it go
) STRICT;

-- What is shown above every mark; at or below one, queries decide with the mark table. The columns behind the position make
-- counts covering. (A generated column would read better, but an index on one never covers a query.)
CREATE INDEX item_unread ON item (position, expires, silent, archived, o_archived, o_deleted, read, o_read)
    WHERE coalesce(o_read, read) = 0;
CREATE INDEX item_unseen ON item (position, expires, silent, archived, o_archived, o_deleted, seen, o_seen)
    WHERE coalesce(o_seen, seen) = 0;
CREATE INDEX item_archived ON item (position) WHERE coalesce(o_archived, archived) = 1;
-- What time takes out of the counts; the columns behind it make that covering.
CREATE INDEX item_expires ON item (expires, position, category, silent, archived, o_archived, o_deleted, read, o_read, seen, o_seen)
    WHERE expires IS NOT NULL;
-- Single choices that can stand against a mark.
CREATE INDEX item_loose_unread ON item (position) WHERE ((read_rank > 0 AND read = 0) OR o_read IS 0);
CREATE INDEX item_loose_unarchived ON item (position) WHERE ((archived_rank > 0 AND archived = 0) OR o_archived IS 0);
CREATE INDEX item_overlaid ON item (position) WHERE overlaid = 1;
-- The columns behind the position make a category's counts covering.
CREATE INDEX item_category ON item (category, position, expires, silent, topic, archived, archived_rank, o_archived, o_deleted, read,
    read_rank, o_read, seen, o_seen) WHERE category IS NOT NULL;
CREATE INDEX item_topic ON item (topic, position) WHERE topic IS NOT NULL;
CREATE INDEX item_interests ON item (interests, position) WHERE interests IS NOT NULL;

-- How many items each 1,024 positions hold that are listed where no mark covers them, expired ones included, and how many of these
-- are unread and unseen, of all and of each category; overlay included. Marks and time are up to the queries. New rows are added by who inserts them, many at once
-- (a trigger cost a third of folding); whatever else happens to a row, the triggers follow.
CREATE TABLE tally (
    category TEXT NOT NULL,                 -- empty for all items, whatever their category
    block INTEGER NOT NULL,                 -- position >> 10
    listed INTEGER NOT NULL,
    unread INTEGER NOT NULL,
    unseen INTEGER NOT NULL,
    PRIMARY KEY (category, block)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER item_tally_delete AFTER DELETE ON item
WHEN old.silent = 0 AND old.o_deleted IS NULL AND coalesce(old.o_archived, old.archived) = 0
BEGIN
    INSERT INTO tally (category, block, listed, unread, unseen)
    SELECT c, old.position >> 10, -1, -(coalesce(old.o_read, old.read) = 0), -(coalesce(old.o_seen, old.seen) = 0)
    FROM (SELECT '' AS c UNION ALL SELECT old.category WHERE old.category <> '') WHERE true
    ON CONFLICT (category, block) DO UPDATE SET listed = listed - 1, unread = unread + excluded.unread,
        unseen = unseen + excluded.unseen;
END;

CREATE TRIGGER item_tally_update AFTER UPDATE OF position, category, silent, read, seen, archived, o_read, o_seen, o_archived, o_deleted
ON item
BEGIN
    INSERT INTO tally (category, block, listed, unread, unseen)
    SELECT c, old.position >> 10, -1, -(coalesce(old.o_read, old.read) = 0), -(coalesce(old.o_seen, old.seen) = 0)
    FROM (SELECT '' AS c UNION ALL SELECT old.category WHERE old.category <> '')
    WHERE old.silent = 0 AND old.o_deleted IS NULL AND coalesce(old.o_archived, old.archived) = 0
    ON CONFLICT (category, block) DO UPDATE SET listed = listed - 1, unread = unread + excluded.unread,
        unseen = unseen + excluded.unseen;
    INSERT INTO tally (category, block, listed, unread, unseen)
    SELECT c, new.position >> 10, 1, coalesce(new.o_read, new.read) = 0, coalesce(new.o_seen, new.seen) = 0
    FROM (SELECT '' AS c UNION ALL SELECT new.category WHERE new.category <> '')
    WHERE new.silent = 0 AND new.o_deleted IS NULL AND coalesce(new.o_archived, new.archived) = 0
    ON CONFLICT (category, block) DO UPDATE SET listed = listed + 1, unread = unread + excluded.unread,
        unseen = unseen + excluded.unseen;
END;

-- What a later act on a single item is judged against; only for touched items. Value and rank are in the item.
CREATE TABLE register (
    position INTEGER NOT NULL,
    field INTEGER NOT NULL,                 -- 0 read, 1 archived
    passive INTEGER NOT NULL,
    since INTEGER NOT NULL,
    itime INTEGER NOT NULL,
    author TEXT NOT NULL,
    uid INTEGER NOT NULL,
    PRIMARY KEY (position, field)
) STRICT, WITHOUT ROWID;

-- The frontier of each kind of mark.
CREATE TABLE mark (
    kind TEXT NOT NULL,                     -- read, seen, archive
    up_to INTEGER NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (kind, up_to)
) STRICT, WITHOUT ROWID;

-- The device's interests: base and overlay.
CREATE TABLE interest (
    name TEXT PRIMARY KEY,
    base INTEGER NOT NULL,
    overlay INTEGER
) STRICT, WITHOUT ROWID;

-- What the user chose for a category and a channel: base (`cell` has what later acts are judged against, one JSON object) and
-- overlay; NULL where there is none of either. Names are compared byte by byte.
CREATE TABLE preference (
    category TEXT NOT NULL,
    channel TEXT NOT NULL,
    value INTEGER,
    cell TEXT,
    overlay INTEGER,
    PRIMARY KEY (category, channel)
) STRICT, WITHOUT ROWID;

-- The project's categories and channels, one JSON object; at most one row.
CREATE TABLE catalogue (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    body TEXT NOT NULL
) STRICT;

-- What happened to an item, of each kind the first. Pending ones are in the outbox only.
CREATE TABLE fact (
    position INTEGER NOT NULL,
    event TEXT NOT NULL,
    time INTEGER NOT NULL,
    data TEXT,                              -- raw JSON
    PRIMARY KEY (position, event)
) STRICT, WITHOUT ROWID;

-- Acts that are not settled, in the order in which they were made, and dead letters.
CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    uid INTEGER NOT NULL UNIQUE,
    n INTEGER UNIQUE,                       -- given at the first send
    state INTEGER NOT NULL,                 -- 0 held, 1 queued, 2 sent, 3 dead
    name TEXT NOT NULL,                     -- of the operation
    op TEXT NOT NULL,                       -- one JSON object
    observed INTEGER NOT NULL,
    observed_time INTEGER NOT NULL,
    boot TEXT NOT NULL,                     -- which boot the act happened in
    boot_time INTEGER NOT NULL,             -- milliseconds since that boot
    wall INTEGER NOT NULL,                  -- this device's clock
    hold_until INTEGER,                     -- this device's clock
    retry_at INTEGER,                       -- this device's clock
    attempts INTEGER NOT NULL DEFAULT 0,    -- cuts while it was the first in flight
    void TEXT,                              -- why its number is only voided
    quiet INTEGER NOT NULL DEFAULT 0,       -- offered again after a fork: the base has it already
    outcome TEXT                            -- of a dead one, one JSON object
) STRICT;

CREATE INDEX outbox_state ON outbox (state);

-- Settled acts, kept for 30 days: what is offered again when a hub or this device was restored.
CREATE TABLE journal (
    seq INTEGER PRIMARY KEY,
    uid INTEGER NOT NULL,
    n INTEGER,
    name TEXT NOT NULL,
    op TEXT NOT NULL,
    observed INTEGER NOT NULL,
    observed_time INTEGER NOT NULL,
    boot TEXT NOT NULL,
    boot_time INTEGER NOT NULL,
    wall INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    position INTEGER,                       -- of the entry that settled it, where known
    settled INTEGER NOT NULL                -- the hub's clock, as far as this device knew it
) STRICT;
CREATE INDEX journal_uid ON journal (uid);
CREATE INDEX journal_n ON journal (n);
CREATE INDEX journal_settled ON journal (settled);

-- A snapshot that is being loaded. One row, and its parts. Where the base was empty its items, registers and marks go there at once
-- (`partial`), and are shown as partial; then stage_item, stage_register and stage_mark stay empty.
CREATE TABLE stage (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id INTEGER NOT NULL,
    first_at INTEGER NOT NULL,
    newest_at INTEGER NOT NULL,
    newest_chain INTEGER NOT NULL,
    after INTEGER NOT NULL,
    complete INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    log_position INTEGER NOT NULL,          -- how far the log since first_at has been staged
    log_chain INTEGER NOT NULL,
    interests INTEGER NOT NULL,             -- whether the snapshot says anything about interests
    partial INTEGER NOT NULL
) STRICT;
CREATE TABLE stage_item (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL,
    publish TEXT NOT NULL,
    time INTEGER NOT NULL,
    sent INTEGER NOT NULL,
    type TEXT NOT NULL,
    category TEXT,
    topic TEXT,
    interests TEXT,
    expires INTEGER,
    silent INTEGER NOT NULL,
    body TEXT NOT NULL,
    version INTEGER NOT NULL,
    read INTEGER NOT NULL,
    read_rank INTEGER NOT NULL,
    seen INTEGER NOT NULL,
    archived INTEGER NOT NULL,
    archived_rank INTEGER NOT NULL
) STRICT;
CREATE TABLE stage_register (
    position INTEGER NOT NULL,
    field INTEGER NOT NULL,
    passive INTEGER NOT NULL,
    since INTEGER NOT NULL,
    itime INTEGER NOT NULL,
    author TEXT NOT NULL,
    uid INTEGER NOT NULL,
    PRIMARY KEY (position, field)
) STRICT, WITHOUT ROWID;
CREATE TABLE stage_mark (kind TEXT NOT NULL, up_to INTEGER NOT NULL, version INTEGER NOT NULL) STRICT;
CREATE TABLE stage_interest (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE stage_preference (
    category TEXT NOT NULL,
    channel TEXT NOT NULL,
    value INTEGER NOT NULL,
    cell TEXT NOT NULL,
    PRIMARY KEY (category, channel)
) STRICT, WITHOUT ROWID;
CREATE TABLE stage_catalogue (body TEXT NOT NULL) STRICT;
CREATE TABLE stage_fact (
    position INTEGER NOT NULL,
    event TEXT NOT NULL,
    time INTEGER NOT NULL,
    data TEXT,
    PRIMARY KEY (position, event)
) STRICT, WITHOUT ROWID;
CREATE TABLE stage_log (position INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;

-- Entries that this version cannot fold: of an unknown kind (reason NULL), or not decodable.
CREATE TABLE raw (
    position INTEGER PRIMARY KEY,
    bytes BLOB NOT NULL,
    reason TEXT
) STRICT;

-- The last 20 sessions, by this device's clock.
CREATE TABLE session (
    attempt INTEGER PRIMARY KEY,
    started INTEGER NOT NULL,
    welcomed INTEGER,
    mode TEXT,
    ended INTEGER,
    code INTEGER,
    reason TEXT
) STRICT;

-- Beside these, a file in which somebody has searched holds `words_N` (FTS5 over titles and contents, a table for 65,536 positions) and
-- `word_index` (how far they go): derived from the items, filled when somebody searches, and free to be dropped (Sources/PealReplica/WordIndex.swift).
