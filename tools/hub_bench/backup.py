"""A copy of a large hub file while the hub serves: `peal hub backup` beside publishes one after the other and a live session, and as its
peers SQLite's VACUUM INTO and .backup, and cp, of the same file. The copies are opened and looked through, and everything is taken away
again. SQLite's .backup begins anew whenever somebody writes, so it is measured while nobody publishes, too."""

import asyncio
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time

import websockets

from common import HERE, Report, arguments, database, note, numbers, percentile, send, serving, wrk

PAUSE = 0.005


class Live:
    """A device that is live, on a thread of its own: notes when each title comes."""

    def __init__(self, values):
        self.values, self.arrived, self.ready = values, {}, threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self.run()), daemon=True)
        self.failure = None
        self.thread.start()
        if not self.ready.wait(30):
            sys.exit("the live session was not let in: %s" % self.failure)

    async def run(self):
        hello = {"type": "hello", "v": 1, "project": self.values["key"], "inbox": {"kind": "user", "externalId": "live"},
                 "replica": os.urandom(16).hex(), "proof": {}, "attempt": 1, "nonce": "",
                 "cursor": {"position": 0, "chain": "0" * 16}, "outbox": {"low": 0, "high": 0},
                 "window": {"entries": 4096, "bytes": 1048576}}
        try:
            async with websockets.connect(self.values["websocket"], subprotocols=["peal.v1.json"], proxy=None) as socket:
                await socket.send(json.dumps(hello))
                async for message in socket:
                    frame = json.loads(message)
                    if frame["type"] == "welcome":
                        self.ready.set()
                    if frame["type"] == "batch":
                        for entry in frame["entries"]:
                            title = json.dumps(entry).partition("at-")[2][:9]
                            self.arrived.setdefault(title, time.monotonic())
                        await socket.send(json.dumps({"type": "got", "to": frame["to"]}))
        except Exception as failure:  # noqa: B902 - told where its items are missed
            self.failure = failure


class Publisher:
    """Publishes one after the other, on a thread of its own, and notes each."""

    def __init__(self, values):
        self.values, self.answers, self.begun, self.stopped = values, [], {}, threading.Event()
        self.goes = threading.Event()
        self.goes.set()
        self.failure = None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            number = 0
            while not self.stopped.is_set():
                self.goes.wait()
                name, begin = "%09d" % number, time.monotonic()
                self.begun[name] = begin
                send(self.values, ["live"], content="at-" + name)
                self.answers.append((begin, time.monotonic() - begin))
                number += 1
                time.sleep(PAUSE)
        except BaseException as failure:  # noqa: B036 - told by stop
            self.failure = failure

    def stop(self):
        self.stopped.set()
        self.thread.join()
        if self.failure:
            raise self.failure


def grow(values, folder, size):
    """Publishes large items until the file has its size."""
    while True:
        now = numbers(values)["peal_database_bytes"]
        note("the file has %.0f MB of %.0f" % (now / 1e6, size / 1e6))
        if now >= size:
            return
        seconds = 1 if size - now < 60e6 else 4
        wrk(values, HERE + "/publish.lua", 16, seconds, PEAL_USERS=1_000, PEAL_RECIPIENTS=1, PEAL_CONTENT=12_000)


def told(publisher, live, since, until):
    """Waits in ms within a time: until publishes were answered, and until they were at the live session."""
    answers = [wait * 1e3 for begin, wait in publisher.answers if since <= begin < until]
    arrived = [(live.arrived[name] - begin) * 1e3 for name, begin in list(publisher.begun.items())
               if since <= begin < until and name in live.arrived]
    return answers, arrived


def look(path):
    """Opens a copy and looks through it; the rows of its log."""
    connection = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    try:
        problem = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if problem != "ok":
            sys.exit("the copy is damaged: %s" % problem)
        return connection.execute("SELECT count(*) FROM entry").fetchone()[0]
    finally:
        connection.close()


def remove(path):
    for suffix in ("", "-wal", "-shm", "-journal"):
        if os.path.exists(path + suffix):
            os.remove(path + suffix)


def run(command, seconds=600.0):
    """Runs it, and kills it where the bench ends meanwhile; whether it came to its end within so many seconds."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    if code != 0:
        sys.exit("%s ended with %d" % (command[0], code))
    return True


def main():
    words = arguments("backup", size=(1_000_000_000, "bytes of the hub's file"), seconds=(10, "before and after the copy"))
    report = Report(words)
    with serving(words) as (folder, values):
        free = shutil.disk_usage(folder).free
        # The file, a copy, and what is made of that copy.
        if free < 3.5 * words.size:
            sys.exit("the disk has %.1f GB free; this needs %.1f" % (free / 1e9, 3.5 * words.size / 1e9))
        grow(values, folder, words.size)
        send(values, ["live"], content="first")
        copy, path = folder + "/copy.sqlite", database(folder)
        live, publisher = Live(values), Publisher(values)
        quiet(report, words, publisher, live, "before any copy")
        ours = [words.peal, "hub", "backup", copy, "--directory", os.path.dirname(path), "--json"]
        dot = ["sqlite3", path, ".timeout 1000", ".backup '%s'" % copy]
        took = one(report, words, values, publisher, live, "peal hub backup", ours, copy, path, 600)
        restore(words, copy, folder)
        quiet(report, words, publisher, live, "after it")
        for name, command, limit, busy in (
                # It does not wait for the disk by itself.
                ("sqlite3 VACUUM INTO, then sync",
                 ["sh", "-c", 'sqlite3 "$1" "VACUUM INTO \'$2\'" && sync "$2"', "sh", path, copy], 600, True),
                ("sqlite3 .backup", dot, 3 * took, True), ("sqlite3 .backup while nobody publishes", dot, 600, False),
                # Of a file in use that is no copy; here it says how fast the disk is.
                ("cp, then sync", ["sh", "-c", 'cp "$1" "$2" && sync "$2"', "sh", path, copy], 600, True)):
            (publisher.goes.set if busy else publisher.goes.clear)()
            one(report, words, values, publisher, live, name, command, copy, path, limit)
            publisher.goes.set()
            remove(copy)
            quiet(report, words, publisher, live, "after " + name)
        publisher.stop()
        deadline = time.monotonic() + 10
        while len(publisher.begun) > len([name for name in list(live.arrived) if name in publisher.begun]):
            if time.monotonic() > deadline:
                sys.exit("the live session missed items: %s" % live.failure)
            time.sleep(0.05)
        note("the live session got all of %d items" % len(publisher.begun))


def one(report, words, values, publisher, live, name, command, copy, path, limit):
    """Makes a copy, looks through it, and tells what it took; the seconds."""
    size, log = os.path.getsize(path), numbers(values)["peal_database_wal_bytes"]
    note(name)
    begin = time.monotonic()
    ended = run(command, limit)
    end = time.monotonic()
    time.sleep(0.5)
    waits = told(publisher, live, begin, end)
    line = "%s of %.0f MB: %.2f s, %.0f MB/s" % (name, size / 1e6, end - begin, size / 1e6 / (end - begin))
    if not ended:
        line = "%s of %.0f MB: had not ended after %.2f s" % (name, size / 1e6, end - begin)
    line += "; write-ahead log %.0f MB before, %.0f MB after" % (log / 1e6, numbers(values)["peal_database_wal_bytes"] / 1e6)
    rows = look(copy) if ended and not name.startswith("cp") else None
    say(report, line + ("; the copy is whole, %d entries" % rows if rows else ""), waits, how=name, size=size, ended=ended,
        seconds=end - begin, mb_per_s=size / 1e6 / (end - begin) if ended else None, entries=rows)
    return end - begin


def restore(words, copy, folder):
    """The product takes its own copy back."""
    run([words.peal, "hub", "restore", copy, "--directory", folder + "/restored"])
    shutil.rmtree(folder + "/restored")
    remove(copy)


def quiet(report, words, publisher, live, name):
    begin = time.monotonic()
    time.sleep(words.seconds)
    say(report, name, told(publisher, live, begin, time.monotonic() - 0.5), how=name)


def say(report, line, waits, **more):
    figures = [percentile(some, part) for some in waits for part in (0.5, 0.99, 1)]
    report.tell("%s: %d publishes, answered p50 %.2f, p99 %.2f, longest %.1f ms; at the live session p50 %.2f, p99 %.2f, longest %.1f ms" % (
        line, len(waits[0]), *figures), publishes=len(waits[0]), **dict(zip(
            ("answered_p50_ms", "answered_p99_ms", "answered_max_ms", "live_p50_ms", "live_p99_ms", "live_max_ms"), figures)), **more)


try:
    main()
except KeyboardInterrupt:
    sys.exit(130)
