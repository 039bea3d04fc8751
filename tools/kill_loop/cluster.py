"""Several hubs on one PostgreSQL behind HAProxy (tools/deploy/haproxy.cfg, as it is), in the place of the one hub of a kill loop."""
import csv
import io
import json
import os
import random
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time

from kill_loop.world import Failure, Hub, free_port

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
#: What the checks read, and of which type.
TABLES = {
    "inbox": ["id INTEGER", "public BLOB", "kind INTEGER", "head INTEGER"],
    "entry": ["inbox INTEGER", "position INTEGER", "bytes BLOB"],
    "replica": ["public BLOB", "last_n INTEGER"],
    "act": ["inbox INTEGER", "uid INTEGER"],
    "publish": ["name TEXT", "time INTEGER"],
    "user": ["external_id TEXT", "inbox INTEGER"],
}


class Postgres:
    """A server of our own in a fresh directory, which goes with it. As root it runs as the user `postgres`."""

    def __init__(self):
        self.bin = subprocess.run(["pg_config", "--bindir"], check=True, capture_output=True, text=True).stdout.strip()
        self.as_user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        self.directory, self.port = tempfile.mkdtemp(prefix="peal-cluster-", dir="/tmp"), free_port()
        if self.as_user:
            shutil.chown(self.directory, "postgres", "postgres")
        self.run("initdb", "-D", self.data, "-A", "trust", "-U", "peal", "-E", "UTF8", "--locale=C.UTF-8")
        self.start()
        self.sql("CREATE DATABASE peal", database="postgres")

    @property
    def data(self):
        return self.directory + "/data"

    def run(self, program, *words):
        done = subprocess.run(self.as_user + [self.bin + "/" + program] + list(words), stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, cwd="/tmp")
        if done.returncode != 0:
            raise Failure("%s: %s" % (program, done.stderr))

    def start(self):
        self.run("pg_ctl", "-D", self.data, "-s", "-w", "-l", self.directory + "/log", "-o",
                 "-p %d -c listen_addresses=127.0.0.1 -c unix_socket_directories=%s" % (self.port, self.directory), "start")

    def halt(self, mode="immediate"):
        """Ends it as a crash does (`immediate`), or in order (`fast`); the data stays."""
        self.run("pg_ctl", "-D", self.data, "-s", "-w", "-m", mode, "stop")

    def sql(self, query, database="peal"):
        done = subprocess.run(
            [self.bin + "/psql", "-X", "-q", "--csv", "-t", "-h", "127.0.0.1", "-p", str(self.port), "-U", "peal", "-d", database,
             "-c", query], capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise Failure("psql: %s" % done.stderr)
        csv.field_size_limit(1 << 30)
        return list(csv.reader(io.StringIO(done.stdout)))

    def remove(self):
        subprocess.run(self.as_user + [self.bin + "/pg_ctl", "-D", self.data, "-s", "-w", "-m", "immediate", "stop"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/tmp")
        shutil.rmtree(self.directory, ignore_errors=True)


class Wire(threading.Thread):
    """A hub's way to the database, which can be cut: silently, so that nothing passes and nobody is told, or with a reset."""

    def __init__(self, target):
        super().__init__(daemon=True)
        self.target, self.open, self.pairs, self.lock = target, threading.Event(), [], threading.Lock()
        self.open.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()

    def run(self):
        while True:
            near, _ = self.listener.accept()
            self.open.wait()
            try:
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                near.close()
                continue
            with self.lock:
                self.pairs.append((near, far))
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self.pump, args=(one, other), daemon=True).start()

    def pump(self, one, other):
        try:
            while data := one.recv(65536):
                self.open.wait()
                other.sendall(data)
        except OSError:
            pass
        for end in (one, other):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self, seconds, resets):
        """Nothing passes for a time; where it resets, all connections end first."""
        self.open.clear()
        if resets:
            with self.lock:
                for pair in self.pairs:
                    for end in pair:
                        try:
                            end.shutdown(socket.SHUT_RDWR)
                        except OSError:
                            pass
                self.pairs = []
        time.sleep(seconds)
        self.open.set()


class Node(Hub):
    """One hub of several, on an address of its own and the ports of the shipped configuration."""

    def __init__(self, world, number, host, database):
        super().__init__(world)
        self.name, self.host, self.wire = "hub%d" % number, host, Wire(database.port)
        self.words = ["--store", "postgresql://peal@127.0.0.1:%d/peal" % self.wire.port, "--host", host, "--http-port", "8080",
                      "--websocket-port", "8081"]


class Cluster(Hub):
    """All of it: what the loop sees as its hub. Requests go through HAProxy."""

    share = 60

    def __init__(self, world, count):
        super().__init__(world)
        # An own network of the loopback, so that the shipped ports are free.
        net = "127.%d.%d." % (random.randrange(10, 250), random.randrange(1, 250))
        self.database = Postgres()
        self.nodes = [Node(world, number, net + str(number + 1), self.database) for number in range(1, count + 1)]
        self.host, self.http, self.socket, self.proxy = net + "1", 8080, 8081, None
        self.events = []

    def start(self):
        for node in self.nodes:
            node.start()
        words = ["haproxy", "-f", ROOT + "/tools/deploy/haproxy.cfg"]
        names = {"PEAL_PROXY_HOST": self.host}
        names.update({"PEAL_HUB%d" % number: node.host for number, node in enumerate(self.nodes, 1)})
        with open(self.world.directory + "/haproxy.log", "ab") as log:
            self.proxy = subprocess.Popen(words, env={**os.environ, **names}, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def ready(self):
        for node in self.nodes:
            node.ready()
            # Only the hub that made the project was shown its secret.
            self.keys.update({name: value for name, value in node.keys.items() if name not in ("http", "websocket")})
        if len({node.keys["instance"] for node in self.nodes}) != 1:
            raise Failure("the hubs made projects of their own: %s" % [node.keys for node in self.nodes])
        deadline = time.monotonic() + 20
        while True:
            try:
                return self.request("GET", "/config", {})
            except OSError:
                if time.monotonic() > deadline:
                    raise Failure("no hub answers behind the proxy; see haproxy.log")
                time.sleep(0.1)

    def strike(self, chance, left):
        """Something happens to a hub, its way to the database, or the database."""
        node, dice = chance.choice(self.nodes), chance.random()
        if dice < 0.5:
            return [node.name_of_death()] + node.again(chance, left)
        if dice < 0.65:
            node.stop()
            node.start()
            node.ready()
            return ["a hub of several, restarted in order"]
        if dice < 0.8:
            node.wire.cut(chance.random() * 4, True)
            return ["a hub's connections to the database reset, none for up to 4 s"]
        if dice < 0.9:
            node.wire.cut(chance.random() * 8, False)
            return ["a hub's way to the database silent for up to 8 s"]
        self.database.halt("immediate" if chance.random() < 0.7 else "fast")
        time.sleep(chance.random() * 2)
        self.database.start()
        return ["the database"]

    def kill(self):
        for node in self.nodes:
            node.kill()

    def stop(self):
        for node in self.nodes:
            node.stop()
        self.proxy.terminate()
        self.proxy.wait(20)
        self.export()
        self.database.remove()

    def heads(self):
        return {public: int(head) for public, head in self.database.sql(
            "SELECT encode(public, 'hex'), head FROM inbox WHERE kind < 2")}

    def export(self):
        """What the checks read, as a hub's file has it."""
        os.makedirs(self.directory, exist_ok=True)
        file = sqlite3.connect(self.directory + "/hub.sqlite")
        for table, columns in TABLES.items():
            file.execute('CREATE TABLE "%s" (%s)' % (table, ", ".join(columns)))
            kinds = [column.split() for column in columns]
            names = ["encode(%s, 'hex')" % name if kind == "BLOB" else name for name, kind in kinds]
            rows = self.database.sql('SELECT %s FROM "%s"' % (", ".join(names), table))
            values = [[bytes.fromhex(value) if kind == "BLOB" else int(value) if kind == "INTEGER" else value or None
                       for value, (_, kind) in zip(row, kinds)] for row in rows]
            file.executemany('INSERT INTO "%s" VALUES (%s)' % (table, ", ".join("?" * len(kinds))), values)
        file.commit()
        file.close()

    def processes(self):
        return [node.process for node in self.nodes] + [self.proxy]

    def abandon(self):
        super().abandon()
        self.database.remove()
