-- The hub's tables on SQLite, version 1. Read CONTRIBUTING.md before changing a released version.
-- Times are milliseconds since 1970. Ids that devices see are text or blobs of random bits; row ids never leave the hub.

CREATE TABLE meta (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    -- Every entry up to here is in `log`, and no inbox's row is behind it; later ones may not be yet (deferred index).
    indexed_seq INTEGER NOT NULL DEFAULT 0,
    -- SHA-256 of the operator's token, which is only ever compared; NULL before the first start.
    operator BLOB,
    -- Raised where somebody asks whether the hub can write; means nothing.
    probed INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO meta (id) VALUES (1);

CREATE TABLE project (
    id INTEGER PRIMARY KEY,
    instance TEXT NOT NULL UNIQUE,
    api_key TEXT NOT NULL UNIQUE,
    -- Readable: HMAC and user tokens are computed with it. The file is mode 0600.
    secret TEXT NOT NULL,
    -- What the last rotation replaced, with the time until which it is good all the same; NULL for nothing.
    old_api_key TEXT UNIQUE,
    old_api_key_until INTEGER,
    old_secret TEXT,
    old_secret_until INTEGER,
    -- 32 random bytes that never change: a replica's secret is computed from them, its id and its inbox, so it needs no row
    -- and outlives a restored backup.
    seed BLOB NOT NULL,
    -- The operator's word for it.
    name TEXT NOT NULL DEFAULT '',
    hmac_required INTEGER NOT NULL,
    created INTEGER NOT NULL,
    -- URLs that are told of the project's publishes, a JSON array.
    webhooks TEXT NOT NULL DEFAULT '[]',
    -- When it was closed: nothing opens it any more. NULL for one that is open.
    revoked INTEGER
) STRICT;

-- One log. A wide fan-out leaves head and chain for later: the entries above meta.indexed_seq know better.
CREATE TABLE inbox (
    id INTEGER PRIMARY KEY,
    project INTEGER NOT NULL,
    public BLOB NOT NULL UNIQUE,
    -- 0 a user's, 1 a device's, 2 deleted with its user or device (its rows are purged little by little), 3 deleted and
    -- purged: a tombstone that turns its replicas away
    kind INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    head INTEGER NOT NULL DEFAULT 0,
    chain INTEGER NOT NULL DEFAULT 0,
    -- The additive sum of the state at head (docs/sync.md section 8); 0 for an inbox that holds nothing.
    sum INTEGER NOT NULL DEFAULT 0,
    floor INTEGER NOT NULL DEFAULT 0,
    -- The version of the project's catalogue that the log holds; 0 for none, and always for a device's.
    catalogue INTEGER NOT NULL DEFAULT 0
) STRICT;
-- Names no column that an append moves: each append would maintain it.
CREATE INDEX inbox_purge ON inbox (id) WHERE kind = 2;

-- The durable truth, in order of arrival: a clustered (inbox, position) would dirty one page for each inbox of a fan-out.
-- An item's id is (time, seq, salt), so it leads here without an index of its own.
CREATE TABLE entry (
    seq INTEGER PRIMARY KEY,
    inbox INTEGER NOT NULL,
    position INTEGER NOT NULL,
    -- The publish of an item; 0 for other kinds.
    publish INTEGER NOT NULL,
    salt INTEGER NOT NULL,
    time INTEGER NOT NULL,
    chain INTEGER NOT NULL,
    -- NULL once trimmed, and for one of a wide fan-out, whose bytes are those of its template with its own id.
    bytes BLOB,
    template INTEGER
) STRICT;

-- What the items of a wide fan-out share: the encoded entry, with an id of zeros.
CREATE TABLE template (
    -- The seq of the first entry that is made of it.
    seq INTEGER PRIMARY KEY,
    bytes BLOB NOT NULL
) STRICT;

-- The way from (inbox, position) to the entry. Filled late for wide fan-outs (meta.indexed_seq).
CREATE TABLE log (
    inbox INTEGER NOT NULL,
    position INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    publish INTEGER NOT NULL,
    PRIMARY KEY (inbox, position)
) STRICT, WITHOUT ROWID;

-- The registers of an item; a row only once somebody has acted on it. A register is (value, passive, since, rank, itime, author,
-- uid); `at` is when the value became true.
CREATE TABLE state (
    inbox INTEGER NOT NULL,
    position INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    deleted INTEGER NOT NULL DEFAULT 0,
    seen INTEGER NOT NULL DEFAULT 0,
    seen_at INTEGER,
    read_value INTEGER, read_passive INTEGER, read_since INTEGER, read_rank INTEGER, read_itime INTEGER,
    read_author BLOB, read_uid INTEGER, read_at INTEGER,
    archived_value INTEGER, archived_passive INTEGER, archived_since INTEGER, archived_rank INTEGER,
    archived_itime INTEGER, archived_author BLOB, archived_uid INTEGER, archived_at INTEGER,
    PRIMARY KEY (inbox, position)
) STRICT, WITHOUT ROWID;
-- What a mark must spare: single choices that say the opposite.
CREATE INDEX state_unread ON state (inbox, read_since) WHERE read_value = 0;
CREATE INDEX state_unarchived ON state (inbox, archived_since) WHERE archived_value = 0;

-- What a user chose for a category and a channel: a register, the newest off, and the newest off of another author than that
-- one's. Names are compared byte by byte.
CREATE TABLE preference (
    inbox INTEGER NOT NULL,
    category TEXT NOT NULL,
    channel TEXT NOT NULL,
    value INTEGER NOT NULL,
    since INTEGER NOT NULL,
    itime INTEGER NOT NULL,
    author BLOB NOT NULL,
    uid INTEGER NOT NULL,
    off_since INTEGER, off_author BLOB, off_uid INTEGER,
    other_since INTEGER, other_author BLOB, other_uid INTEGER,
    PRIMARY KEY (inbox, category, channel)
) STRICT, WITHOUT ROWID;

-- What happened to an item on a device; of each kind the first.
CREATE TABLE fact (
    inbox INTEGER NOT NULL,
    position INTEGER NOT NULL,
    event TEXT NOT NULL,
    time INTEGER NOT NULL,
    data BLOB,
    PRIMARY KEY (inbox, position, event)
) STRICT, WITHOUT ROWID;

-- Deliveries that a platform's SDK reported for an inbox without a replica; else the replica's cursor tells.
CREATE TABLE delivery (
    inbox INTEGER NOT NULL,
    publish INTEGER NOT NULL,
    time INTEGER NOT NULL,
    PRIMARY KEY (inbox, publish)
) STRICT, WITHOUT ROWID;

-- Every version of a project's catalogue, one JSON object each: a log may hold an older one than the newest.
CREATE TABLE catalogue (
    project INTEGER NOT NULL,
    version INTEGER NOT NULL,
    time INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (project, version)
) STRICT, WITHOUT ROWID;

-- live = 1: the frontier. live = 0: dominated ones, kept for the time at which they made an item read, seen or archived.
CREATE TABLE mark (
    inbox INTEGER NOT NULL,
    kind TEXT NOT NULL,
    version INTEGER NOT NULL,
    up_to INTEGER NOT NULL,
    itime INTEGER NOT NULL,
    author BLOB NOT NULL,
    live INTEGER NOT NULL,
    PRIMARY KEY (inbox, kind, version)
) STRICT, WITHOUT ROWID;
CREATE INDEX mark_live ON mark (inbox) WHERE live = 1;

CREATE TABLE user (
    id INTEGER PRIMARY KEY,
    project INTEGER NOT NULL,
    inbox INTEGER NOT NULL UNIQUE,
    external_id TEXT,
    email TEXT,
    first_name TEXT,
    last_name TEXT,
    attributes BLOB,
    phone_numbers BLOB,
    created INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX user_external ON user (project, external_id) WHERE external_id IS NOT NULL;
CREATE UNIQUE INDEX user_email ON user (project, email) WHERE email IS NOT NULL;

-- A device's id is the public id of its inbox.
CREATE TABLE device (
    inbox INTEGER PRIMARY KEY,
    project INTEGER NOT NULL,
    user INTEGER,
    platform TEXT,
    token TEXT,
    metadata BLOB,
    created INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX device_token ON device (project, platform, token) WHERE token IS NOT NULL;
CREATE INDEX device_user ON device (user) WHERE user IS NOT NULL;

-- Push tokens that were registered for a user and not by a device with an inbox of its own. An app in which several users are
-- connected has its token with each of them.
CREATE TABLE subscription (
    -- Its name outside, so that none has it twice.
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user INTEGER NOT NULL,
    platform TEXT NOT NULL,
    token TEXT NOT NULL,
    created INTEGER NOT NULL,
    UNIQUE (user, platform, token)
) STRICT;

CREATE TABLE interest (
    project INTEGER NOT NULL,
    name TEXT NOT NULL,
    inbox INTEGER NOT NULL,
    PRIMARY KEY (project, name, inbox)
) STRICT, WITHOUT ROWID;
CREATE INDEX interest_inbox ON interest (inbox, name);

CREATE TABLE replica (
    id INTEGER PRIMARY KEY,
    public BLOB NOT NULL UNIQUE,
    inbox INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    nonce_current TEXT NOT NULL,
    nonce_issued TEXT NOT NULL,
    last_n INTEGER NOT NULL DEFAULT 0,
    last_uid INTEGER,
    -- The live session (fencing); NULL before the first.
    session INTEGER,
    -- How often the mutation last_n + 1 made the hub fail.
    failures INTEGER NOT NULL DEFAULT 0,
    -- Which run of the hub is about to process the mutation last_n + 1, which may end it; NULL for none.
    suspect INTEGER,
    -- The durable cursor.
    got INTEGER NOT NULL DEFAULT 0,
    created INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    -- When its user revoked it: no hello of it is taken any more. NULL for one that is good.
    revoked INTEGER
) STRICT;
CREATE INDEX replica_inbox ON replica (inbox);
CREATE INDEX replica_suspect ON replica (id) WHERE suspect IS NOT NULL;

-- Every processed act, kept 40 days. The author is a replica's 16 bytes, or empty for HTTP.
CREATE TABLE act (
    inbox INTEGER NOT NULL,
    uid INTEGER NOT NULL,
    author BLOB NOT NULL,
    -- The replica's number; 0 for HTTP.
    n INTEGER NOT NULL,
    position INTEGER NOT NULL,
    time INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    -- Whether the outcome is one that a person has to look at.
    dead INTEGER NOT NULL,
    PRIMARY KEY (inbox, uid, author, n)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX act_number ON act (inbox, author, n) WHERE n > 0;
CREATE INDEX act_time ON act (time);
CREATE INDEX act_dead ON act (inbox, time, uid) WHERE dead = 1;

CREATE TABLE publish (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    project INTEGER NOT NULL,
    time INTEGER NOT NULL,
    category TEXT,
    topic TEXT,
    silent INTEGER NOT NULL,
    expires INTEGER,
    -- The entries of the publish lie within; 0 and 0 before the first.
    first_seq INTEGER NOT NULL DEFAULT 0,
    last_seq INTEGER NOT NULL DEFAULT 0,
    matched INTEGER NOT NULL,
    -- The body of a wide publish that is not all appended; NULL otherwise.
    pending BLOB,
    -- Where `expired` has been appended up to; NULL once it is for all of it, or where nothing expires.
    expiring INTEGER,
    -- What a later publish of the same key replaces in each inbox; NULL for none.
    collapse TEXT,
    -- When it was taken back: `expires` is then, and what is appended is `retract`.
    retracted INTEGER
) STRICT;
CREATE INDEX publish_pending ON publish (id) WHERE pending IS NOT NULL;
CREATE INDEX publish_expiring ON publish (expires) WHERE expiring IS NOT NULL;

-- The newest item of a collapse key in an inbox.
CREATE TABLE collapse (
    inbox INTEGER NOT NULL,
    key TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (inbox, key)
) STRICT, WITHOUT ROWID;

-- Publishes that are to come. The row goes in the transaction that publishes.
CREATE TABLE scheduled (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    project INTEGER NOT NULL,
    deliver_at INTEGER NOT NULL,
    -- 0 waits, 1 was cancelled, 2 was refused when its time came; these two are forgotten after 90 days.
    state INTEGER NOT NULL DEFAULT 0,
    request BLOB NOT NULL
) STRICT;
CREATE INDEX scheduled_due ON scheduled (deliver_at) WHERE state = 0;
CREATE INDEX scheduled_over ON scheduled (deliver_at) WHERE state > 0;

-- Calls of webhooks that are to be made; the row goes when the other end has taken it, or after the last try.
CREATE TABLE webhook (
    id INTEGER PRIMARY KEY,
    project INTEGER NOT NULL,
    url TEXT NOT NULL,
    event TEXT NOT NULL,
    body BLOB NOT NULL,
    failures INTEGER NOT NULL DEFAULT 0,
    due INTEGER NOT NULL
) STRICT;
CREATE INDEX webhook_due ON webhook (due);
CREATE INDEX webhook_project ON webhook (project);

-- What was sent as a broadcast, as it was asked for; forgotten after 90 days.
CREATE TABLE broadcast (
    id INTEGER PRIMARY KEY,
    project INTEGER NOT NULL,
    name TEXT NOT NULL UNIQUE,
    time INTEGER NOT NULL,
    matched INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE INDEX broadcast_project ON broadcast (project);
CREATE INDEX broadcast_time ON broadcast (time);

-- The frozen targets of wide publishes; a row leaves in the transaction that appends its item.
CREATE TABLE target (
    publish INTEGER NOT NULL,
    inbox INTEGER NOT NULL,
    -- Which of the publish's interests the device had: a bit each, in their order, the first 64 in the low ones.
    matched_low INTEGER NOT NULL,
    matched_high INTEGER NOT NULL,
    PRIMARY KEY (publish, inbox)
) STRICT, WITHOUT ROWID;

CREATE TABLE answer (
    project INTEGER NOT NULL,
    key TEXT NOT NULL,
    digest BLOB NOT NULL,
    status INTEGER NOT NULL,
    body BLOB NOT NULL,
    time INTEGER NOT NULL,
    PRIMARY KEY (project, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX answer_time ON answer (time);
