"""The processes of a kill loop: a hub, devices, viewers, the proxy, publishers. Only what was started here is ever killed."""
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid


class Failure(Exception):
    """What the loop is there to find."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def whole_lines(path):
    """The lines of a file that were written to their end, as objects."""
    with open(path, "rb") as file:
        text = file.read()
    for line in text.split(b"\n")[:-1]:
        yield json.loads(line)


class Running:
    """One role, played by one process after another."""

    def __init__(self, world, name, words, starts=0):
        self.world, self.name, self.words, self.starts = world, name, words, starts
        self.process, self.began = None, 0.0

    @property
    def path(self):
        return "%s/%s.%d.jsonl" % (self.world.lines, self.name, self.starts)

    @property
    def files(self):
        return ["%s/%s.%d.jsonl" % (self.world.lines, self.name, number) for number in range(1, self.starts + 1)]

    def start(self):
        self.starts += 1
        with open(self.path, "wb") as lines, open(self.world.errors, "ab") as errors:
            self.process = subprocess.Popen(
                self.words + ["--seed", str(self.world.chance.randrange(1 << 63))], stdin=subprocess.PIPE, stdout=lines,
                stderr=errors)
        self.began = time.monotonic()

    def kill(self):
        if self.process.poll() is not None:
            raise Failure("%s ended by itself with %d" % (self.name, self.process.returncode))
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()

    def say(self, word):
        self.process.stdin.write(word.encode() + b"\n")
        self.process.stdin.flush()

    def end(self):
        """Orderly: the end of its input."""
        self.process.stdin.close()
        return self.process.wait(20)

    def last(self, kind):
        found = None
        for line in whole_lines(self.path):
            if line["k"] == kind:
                found = line
        return found

    @property
    def state(self):
        line = self.last("status")
        return line["state"] if line else "starting"


class Hub:
    """The hub's process, on fixed ports."""

    #: Of a hundred kills, so many hit it.
    share = 20

    def __init__(self, world):
        self.world, self.process, self.began = world, None, 0.0
        self.name, self.directory = "hub", world.directory + "/hub"
        self.host, self.http, self.socket = "127.0.0.1", free_port(), free_port()
        self.words = ["--directory", self.directory, "--http-port", str(self.http), "--websocket-port", str(self.socket)]
        self.keys = {}

    def start(self):
        with open("%s/%s.log" % (self.world.directory, self.name), "ab") as log:
            self.process = subprocess.Popen(
                [self.world.binaries + "/peal", "hub", "--websocket-url", "ws://127.0.0.1:%d/" % self.world.socket_port, "--json"]
                + self.words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        self.began = time.monotonic()

    def name_of_death(self):
        return "hub, while it starts" if time.monotonic() - self.began < 0.3 else "hub"

    def strike(self, chance, left):
        """Kills and restarts, sometimes again before it has begun to listen; what died."""
        return [self.name_of_death()] + self.again(chance, left)

    def again(self, chance, left):
        self.kill()
        self.start()
        deaths = []
        if left > 1 and chance.random() < 0.15:
            time.sleep(chance.random() * 0.1)
            deaths.append("hub, while it starts")
            self.kill()
            self.start()
        self.ready()
        return deaths

    def ready(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failure("%s does not start; see %s.log" % (self.name, self.name))
        self.keys.update(json.loads(line))

    def kill(self):
        if self.process.poll() is not None:
            raise Failure("%s ended by itself with %d" % (self.name, self.process.returncode))
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        self.process.terminate()
        if self.process.wait(30) != 0:
            raise Failure("%s did not end cleanly" % self.name)

    def database(self):
        return sqlite3.connect("file:%s/hub.sqlite?mode=ro" % self.directory, uri=True)

    def heads(self):
        """Inbox id to head, of all that are not deleted."""
        connection = self.database()
        try:
            return dict(connection.execute("SELECT lower(hex(public)), head FROM inbox WHERE kind < 2"))
        finally:
            connection.close()

    def request(self, method, path, headers, body=None, port=None, timeout=4):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(
            "http://%s:%d%s" % ("127.0.0.1" if port else self.host, port or self.http, path), data,
            {"Content-Type": "application/json", **headers}, method=method)
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.load(answer)

    def processes(self):
        return [self.process]

    def abandon(self):
        """Kills what is left."""
        for process in self.processes():
            if process and process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
                process.wait()

    def listed(self, user):
        """The hub's list of a user: number to (read, seen, archived)."""
        found, after = {}, None
        while True:
            answer = self.request(
                "GET", "/notifications?per_page=100" + ("&after=%s" % after if after else ""),
                {"X-MAGICBELL-API-KEY": self.keys["key"], "X-MAGICBELL-API-SECRET": self.keys["secret"],
                 "X-MAGICBELL-USER-EXTERNAL-ID": user}, timeout=60)
            for row in answer["notifications"]:
                found[row["number"]] = tuple(row[name] is not None for name in ("read_at", "seen_at", "archived_at"))
            after = answer["after"]
            if after is None:
                return found


class Publisher(threading.Thread):
    """Publishes at a mean rate and keeps what was answered. Nothing is sent twice: what was not answered may be there or not."""

    def __init__(self, world, seed, pause):
        super().__init__(daemon=True)
        self.world, self.chance, self.pause = world, random.Random(seed), pause
        self.done, self.over = [], threading.Event()

    def run(self):
        for _ in range(10):
            self.publish(self.world.users, [])
        while not self.over.wait(self.chance.random() * 2 * self.pause):
            users = interests = []
            if self.chance.random() < 0.6:
                users = self.chance.sample(self.world.users, self.chance.randint(1, len(self.world.users)))
            else:
                interests = self.chance.choice([["all"], ["all"], ["loose-1"], ["loose-2", "loose-3"]])
            self.publish(users, interests)

    def publish(self, users, interests):
        title = "t-%s" % uuid.UUID(int=self.chance.getrandbits(128))
        path = "/publish_api/v1/instances/%s/publishes/%s" % (
            self.world.hub.keys["instance"], "users" if users else "interests")
        body = {"users": users} if users else {"interests": interests}
        body["web"] = {"notification": {"title": title, "body": "x" * self.chance.randint(1, 600)}}
        name, begin = None, time.time()
        try:
            name = self.world.hub.request(
                "POST", path, {"Authorization": "Bearer " + self.world.hub.keys["secret"], "Idempotency-Key": title}, body,
                port=self.world.http_port if self.chance.random() < 0.5 else None)["publishId"]
        except urllib.error.HTTPError as error:
            # 502, 504: the balancer lost the hub that had the request.
            if error.code not in (502, 503, 504):
                raise
        except (OSError, ValueError, KeyError):
            # Refused, reset, timed out, or cut in the middle of the answer.
            pass
        except Exception as error:
            if type(error).__module__ != "http.client":
                raise
        self.done.append({"title": title, "users": users, "interests": interests, "name": name, "t0": begin,
                          "t": time.time()})


class Replica:
    """One file: whose it is, where it lies, and the roles that use it."""

    def __init__(self, world, name, user, actors, viewers, pause):
        self.world, self.name, self.user = world, name, user
        self.directory = "%s/%s" % (world.directory, name)
        os.mkdir(self.directory)
        self.path = self.directory + "/" + ("id-%s.peal" % user if user else "device.peal")
        words = [world.binaries + "/peal-load", "act", "--hub", "http://127.0.0.1:%d" % world.http_port,
                 "--key", world.hub.keys["key"], "--directory", self.directory, "--pause", str(pause)]
        words += ["--user", user] if user else ["--device", "--interest", "all"]
        self.actors = [Running(world, "%s-act%d" % (name, number), words) for number in range(1, actors + 1)]
        self.viewers = [
            Running(world, "%s-view%d" % (name, number),
                    [world.binaries + "/peal-load", "view", "--file", self.path, "--pause", "15"])
            for number in range(1, viewers + 1)]

    @property
    def roles(self):
        return self.actors + self.viewers

    def open(self):
        return sqlite3.connect("file:%s?mode=ro" % self.path, uri=True)

    def owner(self):
        """The role whose process drives the session: the one that does not see another one do it."""
        for role in self.actors:
            if role.process.poll() is None and role.state not in ("starting", "elsewhere"):
                return role
        return None


class World:
    """Everything that runs."""

    def __init__(self, directory, binaries, seed, shape, pause, publishers, hub):
        self.directory, self.binaries, self.chance = directory, binaries, random.Random(seed)
        self.lines, self.errors = directory + "/lines", directory + "/errors.log"
        os.mkdir(self.lines)
        self.http_port, self.socket_port = free_port(), free_port()
        self.users = sorted({user for _, user, _, _ in shape if user})
        self.hub = hub(self)
        try:
            self.hub.start()
            self.hub.ready()
        except Failure:
            self.hub.abandon()
            raise
        self.proxy = subprocess.Popen(
            [sys.executable, os.path.dirname(__file__) + "/proxy.py", str(seed),
             "%d:%s:%d" % (self.http_port, self.hub.host, self.hub.http),
             "%d:%s:%d" % (self.socket_port, self.hub.host, self.hub.socket)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if json.loads(self.proxy.stdout.readline())["kind"] != "ready":
            raise Failure("the proxy does not start")
        self.faults = []
        self.listener = threading.Thread(target=self.listen, daemon=True)
        self.listener.start()
        self.replicas = [Replica(self, name, user, actors, viewers, pause) for name, user, actors, viewers in shape]
        self.publishers = [Publisher(self, seed * 31 + number, pause) for number, pause in enumerate(publishers)]

    def listen(self):
        for line in self.proxy.stdout:
            self.faults.append(json.loads(line))

    def tell_proxy(self, word):
        self.proxy.stdin.write(word.encode() + b"\n")
        self.proxy.stdin.flush()

    @property
    def roles(self):
        return [role for replica in self.replicas for role in replica.roles]

    def start(self):
        for role in self.roles:
            role.start()
        for publisher in self.publishers:
            publisher.start()

    def end_publishers(self):
        for publisher in self.publishers:
            publisher.over.set()
        for publisher in self.publishers:
            publisher.join(30)
            if publisher.is_alive():
                raise Failure("a publisher does not end")

    def end_proxy(self):
        self.proxy.stdin.close()
        self.proxy.wait(20)
        self.listener.join(20)

    def abandon(self):
        """Kills what is left, by its process; for an end by an error."""
        self.hub.abandon()
        for process in [role.process for role in self.roles] + [self.proxy]:
            if process and process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
