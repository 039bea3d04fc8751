"""What the measures of a hub over HTTP share: a hub of its own on a real disk, wrk, what the hub says of itself, and the peer."""

import argparse
import contextlib
import http.client
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(HERE) + "/conformance")

from hub import hub as started  # noqa: E402

SCHEMA = os.path.dirname(os.path.dirname(HERE)) + "/schema/hub-sqlite/v1.sql"


def arguments(what, **sizes):
    """The command line: PEAL, an option for each size with its default, --directory and --json."""
    parser = argparse.ArgumentParser(prog="tools/bench " + what, description=sys.modules["__main__"].__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peal", help=argparse.SUPPRESS)
    for name, (value, text) in sizes.items():
        parser.add_argument("--" + name, type=type(value), default=value, help="%s (%s)" % (text, value))
    parser.add_argument("--directory", help="where the hub's file is made, and taken away again (the system's place for such)")
    parser.add_argument("--json", action="store_true", help="an object a line")
    words = parser.parse_args()
    # Ended from outside it tidies up as after Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return words


def note(text):
    """Progress, on standard error."""
    print(text, file=sys.stderr, flush=True)


class Report:
    """Prints results: sentences, or JSON lines."""

    def __init__(self, words):
        self.json = words.json

    def tell(self, text, **values):
        print(json.dumps({**values, "load": load()}) if self.json else text + "; load " + load(), flush=True)


def load():
    """The machine's load averages, which every figure is to be read beside."""
    return " ".join("%.1f" % value for value in os.getloadavg())


def file_system(path):
    """The type of the file system that holds a path."""
    best = ("", "?")
    with open("/proc/mounts") as file:
        for line in file:
            point, kind = line.split()[1:3]
            inside = path == point or path.startswith(point.rstrip("/") + "/")
            if inside and len(point) >= len(best[0]):
                best = (point, kind)
    return best[1]


@contextlib.contextmanager
def serving(words, *flags):
    """A hub on a fresh file of a real disk, without a limit of requests; gives its folder and what it printed."""
    with tempfile.TemporaryDirectory(prefix="peal-bench-", dir=words.directory) as folder:
        kind = file_system(os.path.realpath(folder))
        note("a hub in %s (%s); each commit is durable (WAL, synchronous=FULL)" % (folder, kind))
        if kind in ("tmpfs", "ramfs"):
            note("that is no disk, so nothing is durable and the figures say nothing: name one with --directory")
        with started(words.peal, folder + "/hub", "--requests-per-project", "0", *flags) as values:
            yield folder, values


def database(folder):
    """Where the hub's file lies."""
    return folder + "/hub/hub/hub.sqlite"


def numbers(values):
    """What /metrics says, by name, of all that has no labels."""
    text = ask(values, "GET", "/metrics")[1].decode()
    return {name: float(value) for name, value in re.findall(r"^(\w+) (\S+)$", text, re.MULTILINE)}


def requests(values):
    """Answered requests by family and class of status, of /metrics."""
    text = ask(values, "GET", "/metrics")[1].decode()
    found = re.findall(r'^peal_http_requests_total\{family="(\w+)",status="(\w+)"\} (\d+)$', text, re.MULTILINE)
    return {(family, status): int(count) for family, status, count in found}


def used(values):
    """Seconds of CPU of the hub's process."""
    with open("/proc/%d/stat" % values["pid"]) as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(values):
    """Megabytes of the hub's process: resident, the part of it that is no file, and the most that was ever resident."""
    with open("/proc/%d/status" % values["pid"]) as file:
        text = file.read()
    return {name: int(re.search(word + r":\s+(\d+)", text)[1]) / 1_000
            for name, word in (("resident", "VmRSS"), ("anonymous", "RssAnon"), ("peak", "VmHWM"))}


_connections = threading.local()


def ask(values, method, path, body=None, headers=None):
    """One request over the thread's own connection: status and body."""
    place = urllib.parse.urlsplit(values["http"])
    connection = getattr(_connections, place.netloc, None)
    if connection is None:
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=60)
        setattr(_connections, place.netloc, connection)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), {**(headers or {}), **(
            {} if body is None else {"Content-Type": "application/json"})})
        answer = connection.getresponse()
        return answer.status, answer.read()
    except Exception:
        connection.close()
        delattr(_connections, place.netloc)
        raise


def must(status_and_body, *good):
    """The body as JSON; the bench is over where the status is another."""
    status, body = status_and_body
    if status not in (good or (200, 201)):
        sys.exit("the hub answered %d: %s" % (status, body[:200].decode(errors="replace")))
    return json.loads(body) if body else None


def inbox_headers(values, user=None):
    """Headers of the inbox surface, as the back end."""
    headers = {"X-MAGICBELL-API-KEY": values["key"], "X-MAGICBELL-API-SECRET": values["secret"]}
    return {**headers, "X-MAGICBELL-USER-EXTERNAL-ID": user} if user else headers


def send(values, users, **item):
    """POST /notifications."""
    return must(ask(values, "POST", "/notifications", {"notification": {
        "title": "Order", **item, "recipients": [{"external_id": user} for user in users]}}, inbox_headers(values)))


def in_threads(count, work, jobs):
    """Runs work(job) for each job on so many threads; the first failure ends it."""
    jobs, failures, lock = iter(jobs), [], threading.Lock()

    def run():
        while not failures:
            with lock:
                job = next(jobs, None)
            if job is None:
                return
            try:
                work(job)
            except BaseException as failure:  # noqa: B036 - told below
                failures.append(failure)
    threads = [threading.Thread(target=run, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def wrk(values, script, connections, seconds, path="", headers=None, lax=False, **environment):
    """wrk, closed loop (each connection asks again when it is answered): requests, per second, p50 and p99 in ms, errors."""
    command = ["wrk", "-t", "1", "-c", str(connections), "-d", "%ds" % max(1, round(seconds)), "--timeout", "30s", "-s", script]
    for name, value in (headers or {}).items():
        command += ["-H", "%s: %s" % (name, value)]
    process = subprocess.Popen(
        [*command, values["http"] + path], stdout=subprocess.PIPE, text=True, env={
            **os.environ, "PEAL_REPORT": HERE + "/report.lua", "PEAL_KEY": values["key"], "PEAL_SECRET": values["secret"],
            "PEAL_INSTANCE": values["instance"], **{name: str(value) for name, value in environment.items()}})
    try:
        told = process.communicate()[0]
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    if process.returncode != 0:
        sys.exit("wrk ended with %d" % process.returncode)
    found = json.loads(told.strip().splitlines()[-1])
    # Lists of users who have nothing yet are 404 in the mixed load; who wants that counts 5xx by /metrics.
    if found["errors"] and not lax:
        sys.exit("%d of %d requests failed" % (found["errors"], found["requests"]))
    found["rate"] = found["requests"] / found["seconds"]
    return found


def percentile(samples, part):
    """Of a list of numbers."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] if ordered else 0


class Raw:
    """SQLite without a hub: the rows that publishes leave behind, in the hub's own tables, with as many to a commit, in the same folder."""

    def __init__(self, folder, inboxes, size):
        self.path, self.inboxes, self.body = folder + "/raw.sqlite", inboxes, os.urandom(size)
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        self.connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -65536;"
                                      "PRAGMA wal_autocheckpoint = 8000;")
        with open(SCHEMA) as file:
            self.connection.executescript(file.read())
        self.connection.execute("BEGIN")
        self.connection.executemany("INSERT INTO inbox (id, project, public, kind, epoch) VALUES (?, 1, ?, 0, 1)",
                                    ((number + 1, os.urandom(16)) for number in range(inboxes)))
        self.connection.execute("COMMIT")
        self.seq = self.publishes = 0

    def publish(self, recipients, chunk=None):
        """One publish's rows in the open transaction; of the wide ones, bytes stand once. `chunk`: only so many inboxes."""
        if chunk is None or chunk[0] == 0:
            self.publishes += 1
            self.connection.execute(
                "INSERT INTO publish (name, project, time, silent, first_seq, last_seq, matched) VALUES (?, 1, 1, 0, ?, ?, ?)",
                (os.urandom(18).hex(), self.seq + 1, self.seq + recipients, recipients))
        first, end = chunk or (0, recipients)
        wide, template = recipients >= 64, self.seq + 1
        if wide:
            self.connection.execute("INSERT INTO template (seq, bytes) VALUES (?, ?)", (template, self.body))
        places = [(self.seq + 1 + index, (self.publishes * (1 if wide else 7) + first + index) % self.inboxes + 1)
                  for index in range(end - first)]
        self.connection.executemany(
            "INSERT INTO entry (seq, inbox, position, publish, salt, time, chain, bytes, template) VALUES (?, ?, ?, ?, 1, 1, 1, ?, ?)",
            ((seq, inbox, seq, self.publishes, None if wide else self.body, template if wide else None) for seq, inbox in places))
        self.connection.executemany("INSERT INTO log (inbox, position, seq, publish) VALUES (?, ?, ?, ?)",
                                    ((inbox, seq, seq, self.publishes) for seq, inbox in places))
        self.connection.executemany("UPDATE inbox SET head = ?, chain = ?, sum = ? WHERE id = ?",
                                    ((seq, seq, seq, inbox) for seq, inbox in places))
        self.seq += len(places)

    def rate(self, seconds, recipients, per_commit):
        """Publishes a second over so many seconds, with so many (a fraction, too) to a commit."""
        begin, owed = time.monotonic(), 0.0
        while time.monotonic() - begin < seconds:
            owed += max(1.0, per_commit)
            self.connection.execute("BEGIN IMMEDIATE")
            while owed >= 1:
                self.publish(recipients)
                owed -= 1
            self.connection.execute("COMMIT")
        return self.publishes / (time.monotonic() - begin)

    def close(self):
        self.connection.close()
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.path + suffix)


def item_bytes(folder, wide):
    """Bytes of the newest item, as the hub's file has them."""
    connection = sqlite3.connect("file:%s?mode=ro" % database(folder), uri=True)
    try:
        table = "template" if wide else "entry"
        return connection.execute(
            "SELECT length(bytes) FROM %s WHERE bytes IS NOT NULL ORDER BY seq DESC LIMIT 1" % table).fetchone()[0]
    finally:
        connection.close()
