"""The full-screen viewer on a replica of many items: `peal inbox --offline` of the release build on a terminal of this program's own. Measured are
the time from the start of the process to the first whole screen, from a key to the last byte of what it changes, and the memory."""

import argparse
import fcntl
import json
import os
import pty
import re
import select
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import termios
import time

QUIET = 0.012


def median(values):
    return sorted(values)[len(values) // 2]


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))]


def load():
    return " ".join("%.1f" % value for value in os.getloadavg())


class Viewer:
    """A viewer's process and its terminal."""

    def __init__(self, peal, directory, rows, columns):
        self.begun = time.monotonic()
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.environ["TERM"] = "xterm-256color"
            os.execv(peal, [peal, "inbox", "--user", "bench", "--key", "bench", "--directory", directory, "--offline"])
        self.seen = b""

    def read(self, seconds):
        """What comes within a time; nothing where nothing does."""
        if not select.select([self.terminal], [], [], seconds)[0]:
            return b""
        return os.read(self.terminal, 1 << 20)

    def until(self, patterns, seconds):
        """Seconds from the start until all of the patterns were seen; None where they were not."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.seen += self.read(end - time.monotonic())
            if all(re.search(pattern, self.seen) for pattern in patterns):
                return time.monotonic() - self.begun
        return None

    def settle(self):
        while self.read(0.1):
            pass

    def press(self, keys):
        """Seconds from some keys to the last byte of what they change, and how many bytes that is."""
        begun = time.monotonic()
        os.write(self.terminal, keys)
        last, count = None, 0
        while True:
            some = self.read(0.5 if last is None else QUIET)
            if not some:
                return (None if last is None else last - begun), count
            last, count = time.monotonic(), count + len(some)

    def memory(self, word):
        with open("/proc/%d/status" % self.pid) as file:
            return int(re.search(word + r":\s+(\d+)", file.read())[1]) / 1_000

    def end(self):
        """Quits it; its exit status."""
        os.write(self.terminal, b"q")
        try:
            while self.read(2):
                pass
        except OSError:
            pass
        status = os.waitpid(self.pid, 0)[1]
        os.close(self.terminal)
        return os.waitstatus_to_exitcode(status)


def main():
    parser = argparse.ArgumentParser(prog="tools/bench viewer", description=__doc__)
    parser.add_argument("peal", help=argparse.SUPPRESS)
    parser.add_argument("bench", help=argparse.SUPPRESS)
    parser.add_argument("--items", type=int, default=1_000_000, help="items of the inbox (1000000)")
    parser.add_argument("--starts", type=int, default=30, help="how often it is started (30)")
    parser.add_argument("--keys", type=int, default=200, help="keys of each kind (200)")
    parser.add_argument("--directory", help="where the replica is made, and taken away again (the system's place for such)")
    parser.add_argument("--json", action="store_true", help="an object a line")
    words = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    def tell(text, **values):
        print(json.dumps({**values, "load": load()}) if words.json else text + "; load " + load(), flush=True)

    with tempfile.TemporaryDirectory(prefix="peal-bench-", dir=words.directory) as folder:
        print("a replica of %d items in %s" % (words.items, folder), file=sys.stderr, flush=True)
        subprocess.run([words.bench, "fill", folder + "/id-bench.peal", str(words.items)], check=True)
        size = "{:,}".format(words.items).encode()
        wanted = [b"Order %d has" % words.items, b"unread of " + size, b"quit"]
        for rows, columns in ((24, 80), (50, 200)):
            starts = []
            for _ in range(words.starts):
                viewer = Viewer(words.peal, folder, rows, columns)
                starts.append(viewer.until(wanted, 20))
                assert starts[-1] is not None, "no first screen: %r" % viewer.seen[-2_000:]
                assert viewer.end() == 0
            tell("%dx%d, start to first screen of %d items: median %.0f ms, p90 %.0f, quickest %.0f, slowest %.0f (%d starts)" % (
                columns, rows, words.items, median(starts) * 1e3, percentile(starts, 0.9) * 1e3, min(starts) * 1e3,
                max(starts) * 1e3, len(starts)), case="start", columns=columns, median_ms=median(starts) * 1e3,
                p90_ms=percentile(starts, 0.9) * 1e3)
            measure_keys(words, folder, rows, columns, wanted, tell)
        measure_search(words, folder, tell)
        base = []
        for _ in range(words.starts):
            begun = time.monotonic()
            subprocess.run([words.peal, "--version"], stdout=subprocess.DEVNULL, check=True)
            base.append(time.monotonic() - begun)
        tell("for comparison, `peal --version`: median %.0f ms, quickest %.0f" % (median(base) * 1e3, min(base) * 1e3),
             case="version", median_ms=median(base) * 1e3)


def measure_keys(words, folder, rows, columns, wanted, tell):
    viewer = Viewer(words.peal, folder, rows, columns)
    assert viewer.until(wanted, 20) is not None
    viewer.settle()
    begun = viewer.memory("VmRSS")
    for name, keys in (("down", b"j"), ("page down", b" "), ("up, from the oldest", b"k"), ("ends", b"Gg"), ("mark read, unread", b"ru")):
        times = []
        size = 0
        if name.startswith("up"):
            viewer.press(b"G")
            viewer.settle()
        for number in range(words.keys):
            key = keys[number % len(keys):number % len(keys) + 1]
            took, count = viewer.press(key)
            assert took is not None, "the key %r changed nothing" % key
            times.append(took)
            size += count
        tell("%dx%d, %s: key to screen median %.1f ms, p99 %.1f, slowest %.1f; %d bytes a key (%d keys)" % (
            columns, rows, name, median(times) * 1e3, percentile(times, 0.99) * 1e3, max(times) * 1e3, size // len(times),
            len(times)), case="key", keys=name, columns=columns, median_ms=median(times) * 1e3,
            p99_ms=percentile(times, 0.99) * 1e3)
    tell("%dx%d, memory: %.1f MB at the first screen, %.1f after the keys, %.1f at most; of it no file %.1f" % (
        columns, rows, begun, viewer.memory("VmRSS"), viewer.memory("VmHWM"), viewer.memory("RssAnon")), case="memory",
        columns=columns, first_mb=begun, after_mb=viewer.memory("VmRSS"), peak_mb=viewer.memory("VmHWM"))
    assert viewer.end() == 0


def measure_search(words, folder, tell):
    """The first search of the inbox, which fills the index of words, and later ones; on the screen that takes the most memory."""
    viewer = Viewer(words.peal, folder, 50, 200)
    assert viewer.until([b"Order %d has" % words.items, b"quit"], 20) is not None
    viewer.settle()
    viewer.press(b"/shipped")
    begun = time.monotonic()
    os.write(viewer.terminal, b"\r")
    seen, first = b"", None
    # The heading says what is searched, then rows come; the status says that it goes on.
    while first is None:
        seen += viewer.read(1)
        if re.search(b"\xe2\x80\x9cshipped\xe2\x80\x9d", seen) and b"Order %d has" % words.items in seen.split(b"Searching")[-1]:
            first = time.monotonic() - begun
        assert time.monotonic() - begun < 60
    index = sqlite3.connect("file:%s/id-bench.peal?mode=ro" % folder, uri=True)
    while time.monotonic() - begun < 300:
        viewer.read(0.05)
        if index.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'word_index'").fetchone()[0] and index.execute(
                "SELECT min(low) = (SELECT min(position) FROM item) FROM word_index").fetchone()[0]:
            break
    filled = time.monotonic() - begun
    index.close()
    viewer.settle()
    tell("200x50, the first search of %d items: its newest after %.0f ms, all of it after %.1f s; memory %.1f MB, %.1f at most" % (
        words.items, first * 1e3, filled, viewer.memory("VmRSS"), viewer.memory("VmHWM")), case="first search",
        first_ms=first * 1e3, filled_s=filled, peak_mb=viewer.memory("VmHWM"))
    for text in (b"order 77", b"ord", b"some know", b"zzz"):
        times = []
        for _ in range(5):
            viewer.press(b"\x1b")
            viewer.settle()
            viewer.press(b"/" + text)
            viewer.settle()
            begun = time.monotonic()
            os.write(viewer.terminal, b"\r")
            last = begun
            while viewer.read(0.3):
                last = time.monotonic()
            times.append(last - begun)
        tell("200x50, search for '%s': key to screen median %.1f ms, slowest %.1f; memory %.1f MB at most" % (
            text.decode(), median(times) * 1e3, max(times) * 1e3, viewer.memory("VmHWM")), case="search", search=text.decode(),
            median_ms=median(times) * 1e3, peak_mb=viewer.memory("VmHWM"))
    viewer.press(b"\x1b")
    assert viewer.end() == 0


try:
    main()
except KeyboardInterrupt:
    sys.exit(130)
