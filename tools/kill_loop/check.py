"""What has to hold in the end."""
import glob
import json
import os
import sqlite3
import subprocess
from collections import Counter

from kill_loop.history import History
from kill_loop.log import Log, State
from kill_loop.world import Failure


def run(world, deaths):
    """Every check, and the figures."""
    verify(world)
    compare(world)
    for role in world.roles:
        if role.end() != 0:
            raise Failure("%s did not end by itself: %s" % (role.name, role.process.returncode))
    world.hub.stop()
    world.end_proxy()
    files(record(world, deaths), world.directory, world.binaries)


def record(world, deaths):
    """What is in no file of the run, kept beside them."""
    run = {"deaths": deaths, "faults": world.faults,
           "publishes": [each for publisher in world.publishers for each in publisher.done],
           "replicas": [{"name": replica.name, "path": os.path.relpath(replica.path, world.directory),
                         "roles": [role.name for role in replica.roles]} for replica in world.replicas]}
    with open(world.directory + "/run.json", "w") as file:
        json.dump(run, file)
    return run


class Role:
    """A role of a run that is over."""

    def __init__(self, directory, name):
        self.name, self.files = name, sorted(glob.glob("%s/lines/%s.*.jsonl" % (directory, name)))


class Replica:
    """A file of a run that is over."""

    def __init__(self, directory, row):
        self.name, self.path = row["name"], directory + "/" + row["path"]
        self.roles = [Role(directory, name) for name in row["roles"]]

    def open(self):
        return sqlite3.connect("file:%s?mode=ro" % self.path, uri=True)


def files(run, directory, binaries):
    """What the files of a run say by themselves: acts, publishes, states, histories."""
    replicas = [Replica(directory, row) for row in run["replicas"]]
    database = sqlite3.connect("file:%s/hub/hub.sqlite?mode=ro" % directory, uri=True)
    inboxes = {public: (row, kind) for row, public, kind in database.execute(
        "SELECT id, lower(hex(public)), kind FROM inbox")}
    logs = {public: Log(database, row, public) for public, (row, _) in inboxes.items()}
    figures = Counter()
    histories = acts(replicas, database, logs, figures)
    publishes(run["publishes"], database, logs, inboxes, figures)
    for replica in replicas:
        against_log(replica, dumped(binaries, replica), logs)
    results = Counter()
    for history in histories:
        results += history.check()
    report(run, figures, histories, results)


# MARK: Files and hub

def verify(world):
    """`peal inspect verify` of every file, alone and against the hub."""
    for replica in world.replicas:
        words = [world.binaries + "/peal", "inspect", "verify", "--json", "--hub", "http://%s:%d" % (world.hub.host, world.hub.http),
                 "--secret", world.hub.keys["secret"], replica.path]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise Failure("%s: inspect verify: %s%s" % (replica.name, done.stdout, done.stderr))
        checks = {each["name"]: each["result"] for each in json.loads(done.stdout)["checks"]}
        if any(checks[name] != "passed" for name in ("hubChain", "hubSum", "hubCounts")):
            raise Failure("%s: not compared with the hub: %s" % (replica.name, checks))


def dumped(binaries, replica):
    """Everything that a file shows: number to (read, seen, archived)."""
    done = subprocess.run([binaries + "/peal-load", "dump", "--file", replica.path], capture_output=True, text=True,
                          timeout=120, check=True)
    found = {}
    for line in map(json.loads, done.stdout.splitlines()):
        for number, flags in zip(line["items"][::2], line["items"][1::2]):
            found[number] = (bool(flags & 1), bool(flags & 2), bool(flags & 4))
    return found


def compare(world):
    """Every device of a user with the hub's list, item by item, and so with each other."""
    dumps = [(replica, dumped(world.binaries, replica)) for replica in world.replicas]
    for user in world.users:
        listed = world.hub.listed(user)
        for replica, dump in dumps:
            if replica.user == user and dump != listed:
                different = {n: (dump.get(n), listed.get(n)) for n in dump.keys() | listed.keys()
                             if dump.get(n) != listed.get(n)}
                raise Failure("%s and the hub differ: %s" % (replica.name, dict(list(different.items())[:5])))


def against_log(replica, dump, logs):
    """A file with what the hub's log says, folded here."""
    log = logs[identity(replica)[0]]
    state = State(log)
    state.advance(log.head)
    folded = {number: (item.read, item.seen, item.archived) for number, item in state.items.items()}
    if folded != dump:
        different = [n for n in dump.keys() | folded.keys() if dump.get(n) != folded.get(n)]
        raise Failure("%s is not what the log says, at %s" % (replica.name, sorted(different)[:5]))


def identity(replica):
    """The inbox, the replica's id and its journal, of a file."""
    connection = replica.open()
    inbox, author = connection.execute("SELECT inbox, replica FROM replica").fetchone()
    rows = connection.execute("SELECT uid, n, op, observed, wall FROM journal ORDER BY n").fetchall()
    dead = connection.execute("SELECT uid, n, op, observed, wall FROM outbox ORDER BY n").fetchall()
    connection.close()
    return inbox, author, [(uid, n, json.loads(op), observed, wall) for uid, n, op, observed, wall in rows + dead], dead


# MARK: Acts

def acts(files, database, logs, figures):
    """Every act that was acknowledged is in the log once, nothing is there twice, and no kill was taken for a fork."""
    replicas = {public: last for public, last in database.execute("SELECT lower(hex(public)), last_n FROM replica")}
    if len(replicas) != len(files):
        raise Failure("%d replicas of %d files: a kill was taken for a fork" % (len(replicas), len(files)))
    histories, known = [], {}
    for replica in files:
        inbox, author, journal, dead = identity(replica)
        history = History(replica, logs[inbox], author, journal)
        histories.append(history)
        known.setdefault(inbox, set()).add(author)
        entries = [entry for entry in logs[inbox].entries if entry["kind"] == "act" and entry["by"] == author]
        uids = {entry["uid"] for entry in entries}
        if [entry["n"] for entry in entries] != list(range(1, len(entries) + 1)) or replicas[author] != len(entries):
            raise Failure("%s: its numbers in the log are not 1, 2, 3 … %d" % (replica.name, replicas[author]))
        lost = sorted(set(history.acked) - uids)
        if lost:
            raise Failure("%s: acknowledged, and not in the log: %s" % (replica.name, lost))
        if {act.uid for act in history.acts} != uids:
            raise Failure("%s: journal and log do not have the same acts" % replica.name)
        figures["acts acknowledged"] += len(history.acked)
        figures["acts in the log"] += len(uids)
        for entry in entries:
            figures["outcome " + entry["outcome"]["code"]] += 1
        letters(replica, entries, dead)
    for inbox, log in logs.items():
        if log.twice or log.gaps:
            raise Failure("inbox %s: uids twice %s, positions missing %s" % (inbox, log.twice, log.gaps))
        strange = {entry["by"] for entry in log.entries if entry["kind"] == "act"} - known.get(inbox, set())
        if strange:
            raise Failure("inbox %s: acts of an author that is no file of ours" % inbox)
        figures["entries"] += log.head
    kept = database.execute("SELECT count(*) FROM act").fetchone()[0]
    if kept != figures["acts in the log"]:
        raise Failure("%d acts are kept, %d are in the log" % (kept, figures["acts in the log"]))
    return histories


def letters(replica, entries, dead):
    """A dead letter is one that the log calls so: `poison`, where the hub was killed over a suspect."""
    codes = {entry["uid"]: entry["outcome"]["code"] for entry in entries}
    letters = {"%016x" % (row[0] & (1 << 64) - 1) for row in dead}
    poisoned = {uid for uid, code in codes.items() if code == "poison"}
    refused = {code for code in codes.values()} - {"applied", "noop", "superseded", "gone", "poison"}
    if refused or letters != poisoned:
        raise Failure("%s: outcomes %s, dead letters %s, poisoned %s" % (replica.name, refused, letters, poisoned))


# MARK: Publishes

def publishes(publishes, database, logs, inboxes, figures):
    """What was answered is in every inbox that matched, once; what was not answered is there once or not at all."""
    names = {name: time for name, time in database.execute("SELECT name, time FROM publish")}
    users = dict(database.execute(
        "SELECT external_id, lower(hex(public)) FROM user JOIN inbox ON inbox.id = user.inbox"))
    found, interests = {}, {}
    for public, log in logs.items():
        found[public] = Counter()
        for entry in log.entries:
            if entry["kind"] == "item":
                found[public][entry["body"]["title"]] += 1
        if inboxes[public][1] == 1:
            interests[public] = spans(log)
    devices = [public for public, (_, kind) in inboxes.items() if kind == 1]
    titles = set()
    for publish in publishes:
        titles.add(publish["title"])
        answered = publish["name"] is not None
        figures["publishes answered" if answered else "publishes not answered"] += 1
        if answered and publish["name"] not in names:
            raise Failure("an answered publish is not there: %s" % publish)
        for public in [users[user] for user in publish["users"] if user in users] + devices:
            count = found[public][publish["title"]]
            wanted = None
            if public in devices:
                wanted = matches(interests[public], publish, names.get(publish["name"])) if publish["interests"] else 0
            elif answered:
                wanted = 1
            if count > 1 or wanted is not None and count != wanted:
                raise Failure("%d of %s in inbox %s, not %s" % (count, publish, public, wanted))
            figures["items of publishes"] += count
        for user in publish["users"]:
            if answered and user not in users:
                raise Failure("the user %s of an answered publish is not there" % user)
            if not answered and user in users and found[users[user]][publish["title"]]:
                figures["publishes there, not answered"] += 1
                break
    for public, counts in found.items():
        if counts.keys() - titles:
            raise Failure("inbox %s has items that nobody published" % public)
        if inboxes[public][1] == 0:
            continue
        for entry, wanted in loose(logs[public], publishes):
            raise Failure("item %s in inbox %s, which did not have its interest %s" % (entry["id"], public, wanted))


def spans(log):
    """Interest to the times at which it was switched, and how."""
    found = {}
    for entry in log.entries:
        effect = entry.get("effect", {})
        if effect.get("set") == "interest":
            found.setdefault(effect["name"], []).append((entry["time"], effect["on"]))
    return found


def matches(switches, publish, time):
    """1 or 0 where the log says for sure whether an inbox had one of the interests at a publish; None within a second of a switch."""
    if time is None:
        return None
    states = []
    for name in publish["interests"]:
        near = [at for at, _ in switches.get(name, []) if abs(at - time) < 1_000]
        before = [on for at, on in switches.get(name, []) if at < time]
        if near:
            return None
        states.append(bool(before and before[-1]))
    return int(any(states))


def loose(log, publishes):
    """Items of a device's inbox that came while the log itself says that no interest of theirs was on."""
    wanted = {publish["title"]: publish["interests"] for publish in publishes}
    on = set()
    for entry in log.entries:
        effect = entry.get("effect", {})
        if effect.get("set") == "interest":
            (on.add if effect["on"] else on.discard)(effect["name"])
        elif entry["kind"] == "item" and not on & set(wanted[entry["body"]["title"]]):
            yield entry, wanted[entry["body"]["title"]]


# MARK: Figures

def report(run, figures, histories, results):
    def table(title, counter):
        print(title)
        for key, count in sorted(counter.items(), key=lambda pair: str(pair[0])):
            print("  %8d %s" % (count, key))

    table("%d kills" % sum(run["deaths"].values()), run["deaths"])
    faults = Counter()
    for fault in run["faults"]:
        if fault["kind"] == "end":
            connections = fault["connections"]
        elif fault["kind"] != "ready":
            faults[fault["kind"] + (", in the middle of a frame" if fault["mid_frame"] else "")] += 1
    table("%d connections through the proxy, %d faults that hit" % (connections, sum(faults.values())), faults)
    outlived = [fault["ended"] for fault in run["faults"] if fault["kind"] == "half-open"]
    print("  half-open ones that the device ended itself after 9 s or more: %d, the hub: %d" % (
        sum(each.get("device", 0) >= 9 for each in outlived), sum(each.get("hub", 0) >= 9 for each in outlived)))
    table("acts and publishes", figures)
    table("reads checked", results)
    viewing = [line for history in histories for line in history.viewing]
    if viewing:
        print("viewers: %d reads while others wrote, %d over 10 ms, the longest %.1f ms" % (
            sum(line["reads"] for line in viewing), sum(line["over10ms"] for line in viewing),
            max(line["longest"] for line in viewing) / 1000))
    said = Counter()
    for history in histories:
        for (_, text), count in history.said.items():
            said[text] += count
    table("what devices said", said)
