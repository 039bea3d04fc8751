"""Whether what the processes of one file were shown is what the hub's log and their own acts say: read-your-writes, monotonic
reads, and no read that is of no state at all."""
from bisect import bisect_left, bisect_right
from collections import Counter
from functools import cached_property

from kill_loop.log import State
from kill_loop.world import Failure, whole_lines

#: Microseconds by which a file's own time of an act, in milliseconds, may be before the line of it.
SLACK = 2_000


class Act:
    """An act of a file: from its journal, with the moment at which its process was answered, where it was."""

    def __init__(self, row, acked, log):
        uid, self.n, self.op, self.observed, wall = row
        self.uid = "%016x" % (uid & (1 << 64) - 1)
        self.begun = wall * 1000 - SLACK
        self.acked = acked.get(self.uid)
        self.position = log.acts.get(self.uid)
        self.items = {log.numbers[item] for item in self.op.get("items", ()) if item in log.numbers}
        self.kind = self.op["op"] if "op" in self.op else self.op["name"]

    def sets(self, number, field):
        """What it makes of a field of an item by itself; None for nothing."""
        if self.kind == "mark":
            kinds = {"read": ("read",), "seen": ("seen", "read"), "archived": ("archive",)}[field]
            return True if self.op["kind"] in kinds and number <= self.op["upTo"] else None
        if number not in self.items:
            return None
        if field == "seen":
            return True if self.kind == "seen" or self.kind == "read" and self.op["on"] else None
        if (field, self.kind) in (("read", "read"), ("archived", "archive")):
            return self.op["on"]
        return None


class Pending:
    """The acts that a read may show over the base: (act, whether it must show)."""

    def __init__(self, history, line, first, end):
        self.history, self.since, self.first, self.end = history, line["t0"], first, end

    def of(self, indices):
        acts = self.history.acts
        return [(acts[index], acts[index].acked is not None and acts[index].acked < self.since)
                for index in indices[bisect_left(indices, self.first):bisect_left(indices, self.end)]]

    def touching(self, number):
        indices = self.history.touching.get(number, ())
        return sorted(self.of(indices) + self.marks, key=lambda pair: pair[0].n) if self.marks else self.of(indices)

    @cached_property
    def marks(self):
        return self.of(self.history.marks)

    @cached_property
    def deletes(self):
        return self.of(self.history.deletes)

    def numbers(self):
        return {number for act in self.history.acts[self.first:self.end] for number in act.items}


class History:
    """All lines of all processes that used one file, and the acts of its journal."""

    def __init__(self, replica, log, author, acts):
        self.replica, self.log, self.author = replica, log, author
        self.reads, self.counts, self.acked, self.views, self.said, self.viewing = [], [], {}, [], Counter(), []
        for role in replica.roles:
            for path in role.files:
                for line in whole_lines(path):
                    self.take(line, role)
        self.acts = sorted((Act(row, self.acked, log) for row in acts), key=lambda act: act.n)
        self.result = Counter()

    def take(self, line, role):
        kind = line["k"]
        if kind == "read":
            self.reads.append(line)
        elif kind == "counts":
            self.counts.append(line)
        elif kind == "act":
            self.acked[line["uid"]] = line["t"]
        elif kind == "viewer":
            self.viewing.append(line)
        elif kind in ("log", "error"):
            self.said[(kind, "".join("#" if c.isdigit() else c for c in line["text"]))] += 1
        line["role"] = role.name

    # MARK: Checks

    def check(self):
        errors = [text for (kind, text) in self.said if kind == "error"]
        if errors:
            raise Failure("%s: a read or an act failed: %s" % (self.replica.name, errors[:3]))
        missing = [act.uid for act in self.acts if act.position is None]
        if missing:
            raise Failure("%s: settled, and not in the log: %s" % (self.replica.name, missing))
        positions = [act.position for act in self.acts]
        if positions != sorted(positions):
            raise Failure("%s: the log does not have the acts in the order of their numbers" % self.replica.name)
        self.index()
        self.monotonic()
        state = State(self.log)
        for line in sorted(self.reads + self.counts, key=lambda line: line["at"]):
            state.advance(line["at"])
            if line["k"] == "read":
                self.read(line, state, self.pending(line, positions))
            else:
                self.counted(line, state, self.pending(line, positions))
        return self.result

    def index(self):
        """Which acts may touch an item, in their order; and when each had begun at the latest, ascending."""
        self.touching, self.marks, self.deletes, self.begun = {}, [], [], []
        for index, act in enumerate(self.acts):
            self.begun.append(max(act.begun, self.begun[-1] if self.begun else 0))
            if act.kind == "mark":
                self.marks.append(index)
            elif act.kind == "delete":
                self.deletes.append(index)
            for number in act.items:
                self.touching.setdefault(number, []).append(index)

    def monotonic(self):
        """A read that begins after another has ended is of no earlier position."""
        lines = self.reads + self.counts
        ends = sorted((line["t"], line["at"]) for line in lines)
        index, highest = 0, 0
        for line in sorted(lines, key=lambda line: line["t0"]):
            while index < len(ends) and ends[index][0] < line["t0"]:
                highest = max(highest, ends[index][1])
                index += 1
            if line["at"] < highest:
                raise Failure("%s: a view went back from %d: %s" % (self.replica.name, highest, line))
        self.result["monotonic"] += len(lines)

    def pending(self, line, positions):
        """Acts that the base of a read does not have: from one index of `acts` up to another."""
        return Pending(self, line, bisect_right(positions, line["at"]), bisect_right(self.begun, line["t"]))

    def possible(self, number, field, base, pending, at):
        """The values that a field may show; more than one where the order of things is not known."""
        values, contested = {base}, False
        for act, certain in pending:
            value = act.sets(number, field)
            if value is None:
                continue
            name = "archive" if field == "archived" else "read"
            if field != "seen" and self.log.contested(number, name, self.author, act.observed, at):
                # A concurrent act of somebody else may win by its time: not judged.
                values, contested = {True, False}, True
            elif certain:
                values = {value}
            else:
                values = values | {value}
        self.result["contested"] += contested
        return values

    def read(self, line, state, pending):
        numbers, flags = line["items"][::2], line["items"][1::2]
        gone = {number for act, certain in pending.deletes if certain for number in act.items}
        maybe = {number for act, certain in pending.deletes for number in act.items} - gone
        for number, flag in zip(numbers, flags):
            item = state.items.get(number)
            if item is None or number in gone:
                raise Failure("%s: item %d is shown and must not be there: %s" % (self.replica.name, number, line))
            acts = pending.touching(number)
            shown = {"read": bool(flag & 1), "seen": bool(flag & 2), "archived": bool(flag & 4)}
            for field, value in shown.items():
                values = {getattr(item, field)}
                if acts:
                    values = self.possible(number, field, getattr(item, field), acts, line["at"])
                    self.result["own pending"] += len(values) == 1
                if value not in values:
                    raise Failure(
                        "%s: item %d shows %s = %s, and not as %s: %s, pending %s"
                        % (self.replica.name, number, field, value, values, line, [(a.uid, a.op, c) for a, c in acts]))
                self.result["fields"] += 1
        self.whole(line, numbers, state, gone, maybe)
        self.result["reads"] += 1

    def whole(self, line, numbers, state, gone, maybe):
        """No item that is there is left out of a page."""
        if any(left <= right for left, right in zip(numbers, numbers[1:])):
            raise Failure("%s: a page is not in order: %s" % (self.replica.name, line))
        lowest = numbers[-1] if len(numbers) == line["limit"] else 0
        listed = set(numbers)
        for number in state.numbers_below(line["before"]):
            if number < lowest:
                break
            if number not in listed and number not in gone and number not in maybe:
                raise Failure("%s: item %d is not shown: %s" % (self.replica.name, number, line))

    def counted(self, line, state, pending):
        """The three counts, within what acts of unknown order leave open."""
        if pending.marks:
            return
        low, high = [state.total, state.unread, state.unseen], [state.total, state.unread, state.unseen]
        for number in pending.numbers():
            acts = pending.touching(number)
            item = state.items.get(number)
            if item is None:
                continue
            was = [not item.archived, not item.archived and not item.read, not item.archived and not item.seen]
            sets = {field: self.possible(number, field, getattr(item, field), acts, line["at"])
                    for field in ("read", "seen", "archived")}
            deletes = [certain for act, certain in acts if act.kind == "delete"]
            kept = True not in deletes
            for index, field in enumerate((None, "read", "seen")):
                may = kept and False in sets["archived"] and (field is None or False in sets[field])
                must = not deletes and sets["archived"] == {False} and (field is None or sets[field] == {False})
                low[index] += must - was[index]
                high[index] += may - was[index]
        shown = [line["total"], line["unread"], line["unseen"]]
        if not all(least <= value <= most for least, value, most in zip(low, shown, high)):
            raise Failure("%s: counts %s, not within %s and %s: %s" % (self.replica.name, shown, low, high, line))
        self.result["counts"] += 1
