#!/usr/bin/env python3
"""Whether the checks of a kill loop can fail: takes what `tools/kill-loop … --keep DIR` left behind, spoils it, and lets the checks look.

usage: tools/kill_loop/tamper.py DIR [TIMES]

Each line of the result is one way of spoiling, and in how many of the times it was found. Reads that a concurrent act of another
device leaves open are not judged (docs/kills.md), so that a spoiled one of these is not found.
"""
import json
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True

from kill_loop.check import Replica, identity  # noqa: E402
from kill_loop.history import History  # noqa: E402
from kill_loop.log import Log  # noqa: E402
from kill_loop.world import Failure  # noqa: E402
import sqlite3  # noqa: E402


def flip(history, chance, flag):
    line = chance.choice([line for line in history.reads if line["items"]])
    index = chance.randrange(len(line["items"]) // 2) * 2 + 1
    line["items"][index] ^= flag


def omit(history, chance):
    line = chance.choice([line for line in history.reads if len(line["items"]) > 2])
    index = chance.randrange(len(line["items"]) // 2 - 1) * 2
    del line["items"][index:index + 2]


def back(history, chance):
    line = chance.choice([line for line in history.reads if line["at"] > 50])
    line["at"] -= chance.randint(1, 40)


def ahead(history, chance):
    line = chance.choice(history.reads)
    line["at"] = min(line["at"] + chance.randint(1, 40), history.log.head)


def miscount(history, chance):
    line = chance.choice(history.counts)
    line[chance.choice(["total", "unread", "unseen"])] += chance.choice([-1, 1])


def ignore_act(history, chance):
    """As if a process had not been shown its own act."""
    line = chance.choice([line for line in history.reads if line["items"]])
    numbers = line["items"][::2]
    acts = [act for act in history.acts if act.acked and act.acked < line["t0"] and act.position > line["at"]
            and act.kind in ("read", "archive") and act.items & set(numbers)]
    if not acts:
        return ignore_act(history, chance)
    act = acts[-1]
    number = chance.choice(sorted(act.items & set(numbers)))
    bit = 1 if act.kind == "read" else 4
    index = numbers.index(number) * 2 + 1
    line["items"][index] = line["items"][index] & ~bit | (0 if act.op["on"] else bit)


WAYS = [("a read flag of one item of one read", lambda h, c: flip(h, c, 1)),
        ("a seen flag", lambda h, c: flip(h, c, 2)), ("an archived flag", lambda h, c: flip(h, c, 4)),
        ("an own pending act that is not shown", ignore_act), ("an item left out of one read", omit),
        ("one read of an earlier position", back), ("one read of a later position", ahead), ("a count off by one", miscount)]


def main():
    directory, times = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20
    chance = random.Random(1)
    database = sqlite3.connect("file:%s/hub/hub.sqlite?mode=ro" % directory, uri=True)
    inboxes = dict(database.execute("SELECT lower(hex(public)), id FROM inbox"))
    with open(directory + "/run.json") as file:
        rows = json.load(file)["replicas"]
    for title, spoil in WAYS:
        found = 0
        for _ in range(times):
            replica = Replica(directory, chance.choice(rows))
            inbox, author, journal, _ = identity(replica)
            history = History(replica, Log(database, inboxes[inbox], inbox), author, journal)
            spoil(history, chance)
            try:
                history.check()
            except Failure:
                found += 1
        print("%3d of %d  %s" % (found, times, title), flush=True)


main()
