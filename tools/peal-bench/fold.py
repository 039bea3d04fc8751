"""What Python's sqlite3 takes for the rows of the `fold` bench: DATABASE SCHEMA FRAMES. Prints CPU seconds with and without decoding."""

import json
import os
import sqlite3
import sys
import time

INSERT = ("INSERT INTO item (position, id, publish, time, sent, type, category, topic, expires, silent, version, body) "
          "VALUES (?, ?, ?, ?, ?, 'message', ?, NULL, NULL, 0, ?, ?) ON CONFLICT DO NOTHING")


def rows_of(text):
    frame = json.loads(text)
    position = frame["from"]
    rows = []
    for entry in frame["entries"]:
        position += 1
        body = entry["body"]
        rows.append((position, bytes.fromhex(entry["id"].replace("-", "")), entry["publish"], entry["time"], body["sent"],
                     body.get("category"), position, json.dumps(body, separators=(",", ":"), ensure_ascii=False)))
    return rows


def measure(database, schema, frames, decode):
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(database + suffix):
            os.remove(database + suffix)
    connection = sqlite3.connect(database, isolation_level=None)
    connection.executescript("PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                             "PRAGMA wal_autocheckpoint = 1000;" + schema)
    connection.execute("INSERT INTO replica (one, identity, project, replica) VALUES (1, '', '', '')")
    ready = None if decode else [rows_of(frame) for frame in frames]
    begin = time.process_time()
    for index, frame in enumerate(frames):
        rows = rows_of(frame) if decode else ready[index]
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(INSERT, rows)
        connection.execute("UPDATE replica SET position = ?, chain = ?, time = ?", (rows[-1][0], rows[-1][0], rows[-1][3]))
        connection.execute("COMMIT")
    seconds = time.process_time() - begin
    connection.close()
    return seconds


with open(sys.argv[2]) as file:
    schema = file.read()
with open(sys.argv[3], "rb") as file:
    frames = file.read().split(b"\n")
print(measure(sys.argv[1], schema, frames, True), measure(sys.argv[1], schema, frames, False))
