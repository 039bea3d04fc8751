"""Publishes a second, durable, of a hub of the release build over HTTP: to one recipient, to 100, and to an interest of many devices.
Beside each, SQLite alone with the same rows and as many of them to a commit; of rounds, the median."""

import itertools
import sys
import tempfile
import time

from common import (HERE, Raw, Report, arguments, ask, in_threads, item_bytes, must, note, numbers, percentile, send, serving, used,
                    wrk)

USERS = 1_000
CONTENT = 100
INTEREST = "news"
ROUNDS = 3


def change(values, body):
    """Runs a body; what the hub counted meanwhile, and its CPU seconds."""
    before, cpu = numbers(values), used(values)
    result = body()
    after = numbers(values)
    return result, {name: after[name] - before.get(name, 0) for name in after}, used(values) - cpu


def to_users(words, report, recipients):
    """One hub; one connection alone, and more that share commits."""
    with serving(words) as (folder, values):
        send(values, ["u%d" % number for number in range(USERS)])
        for connections in (1, 16, 64):
            def run(seconds):
                return wrk(values, HERE + "/publish.lua", connections, seconds, PEAL_USERS=USERS, PEAL_RECIPIENTS=recipients,
                           PEAL_CONTENT=CONTENT)
            note("%d recipients, %d connections: %d s, and SQLite alone in turn" % (recipients, connections, words.seconds))
            run(1)
            parts, rates, publishes, commits, cpu = [], [], 0, 0, 0.0
            # In turn, so that a disk which is slow for some seconds is so for both.
            for _ in range(ROUNDS):
                found, counts, seconds = change(values, lambda: run(words.seconds / ROUNDS))
                each = counts["peal_publishes_total"] / counts["peal_commits_total"]
                with tempfile.TemporaryDirectory(dir=folder) as place:
                    raw = Raw(place, USERS, item_bytes(folder, recipients >= 64))
                    rates.append(raw.rate(max(1, words.seconds / ROUNDS / 2), recipients, each))
                    raw.close()
                parts.append(found)
                publishes += counts["peal_publishes_total"]
                commits += counts["peal_commits_total"]
                cpu += seconds
            rate, alone, p50, p99 = (percentile(some, 0.5) for some in (
                [part["rate"] for part in parts], rates, [part["p50"] for part in parts], [part["p99"] for part in parts]))
            report.tell(
                "%d recipient%s, %d connection%s: %.0f publishes/s, p50 %.2f ms, p99 %.2f ms; %.1f publishes a commit, CPU of the hub "
                "%.0f µs a publish; SQLite alone %.0f/s, ratio %.2f" % (
                    recipients, "" if recipients == 1 else "s", connections, "" if connections == 1 else "s", rate, p50, p99,
                    publishes / commits, cpu / publishes * 1e6, alone, rate / alone),
                case="recipients", recipients=recipients, connections=connections, publishes=publishes, commits=commits,
                publishes_per_s=rate, p50_ms=p50, p99_ms=p99, cpu_us=cpu / publishes * 1e6, raw_per_s=alone, ratio=rate / alone,
                rounds=[part["rate"] for part in parts], raw_rounds=rates)


def register(values, count):
    """Devices with the interest, each through the device's own routes."""
    base = "/device_api/v1/instances/%s/devices/web" % values["instance"]

    def one(number):
        device = must(ask(values, "POST", base, {"token": "token-%d" % number}))["id"]
        must(ask(values, "POST", "%s/%s/interests/%s" % (base, device, INTEREST)))
        if number % 1_000 == 999:
            note("%d devices of %d" % (number + 1, count))
    in_threads(8, one, range(count))


def to_interest(words, report):
    """Publishes to an interest, one after the other and many at once, until every device's entry is durable."""
    with serving(words) as (folder, values):
        register(values, words.devices)
        path = "/publish_api/v1/instances/%s/publishes/interests" % values["instance"]
        total = itertools.count(1)

        def publish(_=None):
            begin = time.monotonic()
            must(ask(values, "POST", path, {"interests": [INTEREST], "web": {"notification": {
                "title": "News %d" % next(total), "body": "x" * CONTENT}}}, {"Authorization": "Bearer " + values["secret"]}))
            return time.monotonic() - begin

        def through(target, begin):
            while True:
                now = numbers(values)
                if now["peal_entries_appended_total"] >= target and now["peal_fanout_jobs"] == 0:
                    return time.monotonic() - begin
                if time.monotonic() - begin > 600:
                    sys.exit("not every device got its entry in ten minutes")
                time.sleep(0.002)

        def measure(name, count, body):
            def run():
                target = numbers(values)["peal_entries_appended_total"] + count * words.devices
                return body(target)
            note("an interest of %d devices, %d publishes %s, and SQLite alone" % (words.devices, count, name))
            begin = time.monotonic()
            (answers, ends), counts, cpu = change(values, run)
            seconds = time.monotonic() - begin
            commits = counts["peal_commits_total"]
            with tempfile.TemporaryDirectory(dir=folder) as place:
                raw = Raw(place, words.devices, item_bytes(folder, True))
                begin = time.monotonic()
                each = max(1, round(count * words.devices / commits))
                for _ in range(count):
                    for first in range(0, words.devices, each):
                        raw.connection.execute("BEGIN IMMEDIATE")
                        raw.publish(words.devices, (first, min(first + each, words.devices)))
                        raw.connection.execute("COMMIT")
                alone = time.monotonic() - begin
                raw.close()
            answers, ends = [value * 1e3 for value in answers], [value * 1e3 for value in ends]
            values_of = dict(
                answered_p50_ms=percentile(answers, 0.5), answered_p99_ms=percentile(answers, 0.99),
                durable_p50_ms=percentile(ends, 0.5), durable_p99_ms=percentile(ends, 0.99))
            report.tell(
                "an interest of %d devices, %d publishes %s: %.1f publishes/s, %.0f entries/s; answered p50 %.1f ms, p99 %.1f ms; every "
                "entry durable after p50 %.0f ms, p99 %.0f ms; %.1f commits a publish, CPU of the hub %.1f µs an entry; SQLite alone "
                "%.1f publishes/s, ratio %.2f" % (
                    words.devices, count, name, count / seconds, count * words.devices / seconds, *values_of.values(),
                    commits / count, cpu / count / words.devices * 1e6, count / alone, alone / seconds),
                case="interest", devices=words.devices, publishes=count, how=name, publishes_per_s=count / seconds, commits=commits,
                cpu_us_entry=cpu / count / words.devices * 1e6, raw_per_s=count / alone, ratio=alone / seconds, **values_of)

        def in_turn(target):
            answers, ends = [], []
            for number in range(words.publishes):
                begin = time.monotonic()
                answers.append(publish())
                ends.append(through(target - (words.publishes - 1 - number) * words.devices, begin))
            return answers, ends

        def at_once(target):
            answers, begin = [], time.monotonic()
            in_threads(16, lambda _: answers.append(publish()), range(words.publishes))
            return answers, [through(target, begin)]

        publish()
        through(words.devices, time.monotonic())
        measure("one after the other", words.publishes, in_turn)
        measure("at once", words.publishes, at_once)


def main():
    words = arguments("publish", seconds=(12, "of each case"), devices=(10_000, "of the interest"),
                      publishes=(50, "to the interest, in turn and at once"))
    report = Report(words)
    to_users(words, report, 1)
    to_users(words, report, 100)
    to_interest(words, report)


try:
    main()
except KeyboardInterrupt:
    sys.exit(130)
