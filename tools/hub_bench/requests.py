"""Memory of a hub of the release build while it answers many requests: those of tools/load (publishes, lists, marks), 64 connections of wrk.
Exit 1 where a request fails with 5xx, or, of a million requests and more, where the memory still
grows by more than a quarter in the second half."""

import sys
import time

from common import HERE, Report, arguments, memory, note, numbers, requests, serving, wrk

MIXED = HERE[:HERE.rindex("/")] + "/conformance/mixed.lua"


def main():
    words = arguments("requests", requests=(1_000_000, "in all"), users=(1_000, "whose lists are asked for"),
                      connections=(64, "of wrk"), slice=(5, "seconds between looks"))
    report = Report(words)
    with serving(words) as (folder, values):
        begin, before, told = time.monotonic(), answered(values), []
        marks = [words.requests // 10, words.requests // 2, words.requests]
        tell(report, values, told, 0, begin)
        for mark in marks:
            while answered(values) - before < mark:
                wrk(values, MIXED, words.connections, words.slice, lax=True, PEAL_USERS=words.users)
                done = answered(values) - before
                found = memory(values)
                note("%d requests, %.0f s: %.0f MB resident, %.0f MB of it no file, write-ahead log %.0f MB" % (
                    done, time.monotonic() - begin, found["resident"], found["anonymous"],
                    numbers(values)["peal_database_wal_bytes"] / 1e6))
            tell(report, values, told, answered(values) - before, begin)
        grown = told[-1]["anonymous"] / told[-2]["anonymous"]
        # Below, the caches of SQLite (64 MiB of the writer, 16 of the reader) are still filling.
        if words.requests >= 1_000_000 and grown > 1.25:
            sys.exit("memory is not bounded: the second half of the requests took it to %.2f times as much" % grown)


def answered(values):
    """Requests that the hub has answered, without those that ask for its numbers."""
    counts = requests(values)
    failed = sum(count for (family, status), count in counts.items() if status == "5xx" and family != "operations")
    if failed:
        sys.exit("%d requests were answered with 5xx" % failed)
    return sum(count for (family, _), count in counts.items() if family != "operations")


def tell(report, values, told, done, begin):
    found = memory(values)
    told.append(found)
    report.tell("after %d requests and %.0f s: %.0f MB resident, %.0f MB of it no file; at most %.0f MB; the file %.0f MB" % (
        done, time.monotonic() - begin, found["resident"], found["anonymous"], found["peak"],
        numbers(values)["peal_database_bytes"] / 1e6), requests=done, seconds=time.monotonic() - begin, **found)


try:
    main()
except KeyboardInterrupt:
    sys.exit(130)
