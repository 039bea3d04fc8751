"""A hub's log of one inbox, and the state that it says: the fold of docs/sync.md section 5, written a second time."""
import json
from bisect import bisect_left


class Item:
    __slots__ = ("read", "seen", "archived")

    def __init__(self):
        self.read = self.seen = self.archived = False


class Log:
    """The entries of one inbox in order, from the hub's file."""

    def __init__(self, database, inbox, public):
        self.public = public
        rows = database.execute("SELECT position, bytes FROM entry WHERE inbox = ? ORDER BY position", (inbox,)).fetchall()
        self.entries = [json.loads(row[1]) for row in rows]
        self.gaps = [row[0] for index, row in enumerate(rows, 1) if row[0] != index]
        self.head = len(rows)
        self.numbers, self.acts, self.twice, self.touches = {}, {}, [], {}
        for position, entry in enumerate(self.entries, 1):
            if entry["kind"] == "item":
                self.numbers[entry["id"]] = position
            elif entry["kind"] == "act":
                if entry["uid"] in self.acts:
                    self.twice.append(entry["uid"])
                self.acts[entry["uid"]] = position
                self.note(position, entry)

    def note(self, position, entry):
        """Which register an act of whom touched: a pending act of somebody else that had not seen it may lose to it."""
        effect = entry.get("effect", {})
        if effect.get("set") in ("read", "archive"):
            for item in effect["items"]:
                key = (self.numbers.get(item), effect["set"])
                self.touches.setdefault(key, []).append((position, entry["by"]))

    def contested(self, number, field, author, above, upto):
        return any(above < position <= upto and by != author for position, by in self.touches.get((number, field), ()))


class State:
    """What the log says up to a position; goes forward only."""

    def __init__(self, log):
        self.log, self.at, self.items, self.order = log, 0, {}, []
        self.total = self.unread = self.unseen = 0

    def numbers_below(self, before):
        """Numbers of the items that are there, falling."""
        end = bisect_left(self.order, before) if before else len(self.order)
        return (self.order[index] for index in range(end - 1, -1, -1))

    def advance(self, position):
        while self.at < position:
            self.fold(self.log.entries[self.at])
            self.at += 1

    def count(self, item, sign):
        if not item.archived:
            self.total += sign
            self.unread += sign * (not item.read)
            self.unseen += sign * (not item.seen)

    def change(self, number, **fields):
        item = self.items.get(number)
        if item is None:
            return
        self.count(item, -1)
        for name, value in fields.items():
            setattr(item, name, value)
        self.count(item, 1)

    def fold(self, entry):
        number = self.at + 1
        if entry["kind"] == "item":
            self.items[number] = Item()
            self.count(self.items[number], 1)
            self.order.append(number)
            return
        if entry["kind"] not in ("act", "retract", "expired", "catalogue"):
            raise ValueError("an entry of the kind %r" % entry["kind"])
        effect = entry.get("effect", {})
        if entry["kind"] in ("retract", "expired"):
            effect = {"set": "delete", "items": entry["items"]}
        numbers = [self.log.numbers[item] for item in effect.get("items", ()) if item in self.log.numbers]
        kind = effect.get("set")
        if kind == "read":
            unseen = {self.log.numbers[item] for item in effect.get("unseen", ())}
            for number in numbers:
                self.change(number, read=effect["on"])
                if effect["on"] or number not in unseen:
                    self.change(number, seen=True)
            for item in effect.get("alsoSeen", ()):
                self.change(self.log.numbers[item], seen=True)
        elif kind == "seen":
            for number in numbers:
                self.change(number, seen=True)
        elif kind == "archive":
            for number in numbers:
                self.change(number, archived=effect["on"])
        elif kind == "delete":
            for number in numbers:
                self.delete(number)
        elif kind == "mark":
            self.mark(effect)

    def delete(self, number):
        item = self.items.pop(number, None)
        if item is None:
            return
        self.count(item, -1)
        del self.order[bisect_left(self.order, number)]

    def mark(self, effect):
        """The register of an excepted item says the opposite and stands above the mark."""
        spared = {self.log.numbers[item] for item in effect.get("except", ())}
        for number in self.items:
            if number > effect["upTo"]:
                continue
            if effect["kind"] == "archive":
                self.change(number, archived=number not in spared)
            elif effect["kind"] == "seen":
                self.change(number, seen=True)
            else:
                self.change(number, read=number not in spared, seen=True)
