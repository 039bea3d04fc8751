"""What the benches beside peers share: our hub and each peer as processes of their own on loopback, the one client program of all of them,
and CPU and memory of a server's processes."""

import contextlib
import glob
import importlib.metadata
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path.insert(0, ROOT + "/tools/hub_bench")

from common import Report, arguments, ask, load, must, note, numbers, percentile, serving  # noqa: E402, F401

TEXT = "two hundred bytes of news " * 2
NCHAN = "/usr/lib/nginx/modules/ngx_nchan_module.so"


def client_binary():
    """The client, compiled where its source is newer."""
    binary = ROOT + "/.build/peer-client"
    sources = sorted(glob.glob(HERE + "/client/*.[ch]"))
    if not os.path.exists(binary) or any(os.path.getmtime(source) > os.path.getmtime(binary) for source in sources):
        os.makedirs(os.path.dirname(binary), exist_ok=True)
        subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", binary,
                        *[source for source in sources if source.endswith(".c")]], check=True)
    return binary


class Client:
    """The client program with its options; each call is one of its lines and gives what it answers."""

    def __init__(self, **options):
        words = ["%s=%s" % (name, value) for name, value in options.items() if value is not None]
        self.process = subprocess.Popen([client_binary(), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.opened = self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit("the client ended")
        found = json.loads(line)
        for trouble in ("failed", "gaps"):
            if found[trouble]:
                sys.exit("%d %s" % (found[trouble], trouble))
        return found

    def start(self, *words):
        self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.process.stdin.flush()

    def ask(self, *words):
        self.start(*words)
        return self.read()

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


@contextlib.contextmanager
def client(**options):
    made = Client(**options)
    try:
        yield made
    finally:
        made.close()


def free_port():
    with contextlib.closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def family(pid):
    """A process and those that it started."""
    pids = [pid]
    for each in pids:
        with contextlib.suppress(FileNotFoundError), open("/proc/%d/task/%d/children" % (each, each)) as file:
            pids += [int(word) for word in file.read().split()]
    return pids


class Server:
    """A server that is measured."""

    def __init__(self, name, version, pid, **values):
        self.name, self.version, self.pid, self.values = name, version, pid, values
        self.durable = name == "peal"

    def cpu(self):
        """CPU seconds of all of its processes, with nanoseconds: the clock of a process, as clock_getcpuclockid makes it."""
        return sum(time.clock_gettime((~pid << 3) | 2) for pid in family(self.pid))

    def memory(self):
        """Bytes: each page that processes share is counted once."""
        total = 0
        for pid in family(self.pid):
            with open("/proc/%d/smaps_rollup" % pid) as file:
                total += int(re.search(r"^Pss:\s+(\d+)", file.read(), re.MULTILINE)[1]) * 1_024
        return total


def version(*command):
    found = subprocess.run(command, capture_output=True, text=True)
    return re.search(r"\d+\.\d+(\.\d+)?", found.stdout + found.stderr)[0]


def wait_for_port(port, process):
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if process.poll() is not None:
            sys.exit("%s ended with %d" % (process.args[0], process.returncode))
        with contextlib.suppress(OSError), contextlib.closing(socket.create_connection(("127.0.0.1", port), 1)):
            return
        time.sleep(0.05)
    sys.exit("%s does not listen" % process.args[0])


@contextlib.contextmanager
def running(command, port):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for_port(port, process)
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
        if process.poll() is None:
            process.kill()
            process.wait()


@contextlib.contextmanager
def nchan(buffer=0):
    """nginx with nchan in a folder of its own: one worker, which is the cheapest a delivery; messages in memory, `buffer` a channel."""
    port = free_port()
    store = "nchan_store_messages off;" if not buffer else "nchan_message_buffer_length %d; nchan_message_timeout 1h;" % buffer
    with tempfile.TemporaryDirectory(prefix="peal-nchan-") as folder:
        user = "user root;" if os.geteuid() == 0 else ""
        places = " ".join("%s_temp_path %s/t;" % (name, folder) for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        with open(folder + "/nginx.conf", "w") as file:
            file.write("""load_module %s; %s daemon off; worker_processes 1; worker_rlimit_nofile 20000; pid %s/pid; error_log %s/error crit;
events { worker_connections 19000; }
http { access_log off; keepalive_requests 1000000000; nchan_shared_memory_size 512M; nchan_max_channel_id_length 4096; %s large_client_header_buffers 4 16k;
  server { listen 127.0.0.1:%d backlog=4096; %s nchan_channel_id_split_delimiter ",";
    location ~ ^/pub/([\\w,]+)$ { nchan_publisher http; nchan_channel_id $1; }
    location ~ ^/sub/(\\w+)$ { nchan_subscriber websocket; nchan_channel_id $1; nchan_subscriber_first_message newest; }
    location ~ ^/old/(\\w+)$ { nchan_subscriber websocket; nchan_channel_id $1; nchan_subscriber_first_message oldest; } } }
""" % (NCHAN, user, folder, folder, places, port, store))
        with running(["/usr/sbin/nginx", "-p", folder, "-c", folder + "/nginx.conf"], port) as process:
            yield Server("nchan", "nginx %s, nchan %s" % (version("/usr/sbin/nginx", "-v"), version(
                "dpkg-query", "-W", "-f", "${Version}", "libnginx-mod-nchan")), process.pid, port=port)


@contextlib.contextmanager
def mosquitto():
    """mosquitto without persistence, QoS 0: nothing is durable."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="peal-mosquitto-") as folder:
        with open(folder + "/mosquitto.conf", "w") as file:
            file.write("listener %d 127.0.0.1\nallow_anonymous true\npersistence false\nmax_queued_messages 0\nlog_dest none\n"
                       "set_tcp_nodelay true\n" % port + ("user root\n" if os.geteuid() == 0 else ""))
        with running(["/usr/sbin/mosquitto", "-c", folder + "/mosquitto.conf"], port) as process:
            yield Server("mosquitto", "mosquitto " + version("dpkg-query", "-W", "-f", "${Version}", "mosquitto"), process.pid, port=port)


@contextlib.contextmanager
def websockets():
    port = free_port()
    with running([sys.executable, HERE + "/websockets_server.py", str(port)], port) as process:
        yield Server("websockets", "Python %s, websockets %s" % (sys.version.split()[0], importlib.metadata.version("websockets")),
                     process.pid, port=port)


@contextlib.contextmanager
def peal(words, *flags):
    """Our hub on a fresh file of a real disk; every answered publish is durable."""
    with serving(words, "--log-level", "error", "--connections", "4096", *flags) as (folder, values):
        yield Server("peal", "peal " + version(words.peal, "--version"), values["pid"], folder=folder, hub=values)


class Hub(Server):
    """Our hub with ports of its own that may end and start again; what the first start prints once is kept."""

    def __init__(self, words, folder, *flags):
        super().__init__("peal", "peal " + version(words.peal, "--version"), 0, folder=folder, hub={})
        self.process, self.log = None, open(folder + "/log", "a")
        self.command = [words.peal, "hub", "--directory", folder + "/hub", "--http-port", str(free_port()), "--websocket-port",
                        str(free_port()), "--json", "--log-level", "error", "--requests-per-project", "0", "--connections", "4096", *flags]

    def start(self):
        """Seconds until it listens."""
        begin = time.monotonic()
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=self.log, text=True)
        line = self.process.stdout.readline()
        if not line:
            sys.exit("the hub did not start: see %s" % self.log.name)
        self.values["hub"].update(json.loads(line))
        self.pid = self.values["hub"]["pid"] = self.process.pid
        return time.monotonic() - begin

    def end(self, how=signal.SIGTERM):
        """Seconds until it is gone."""
        begin = time.monotonic()
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return time.monotonic() - begin


@contextlib.contextmanager
def restartable(words, *flags):
    """A hub on a fresh file that is not started yet."""
    with tempfile.TemporaryDirectory(prefix="peal-bench-", dir=words.directory) as folder:
        hub = Hub(words, folder, *flags)
        try:
            yield hub
        finally:
            hub.end()
            hub.log.close()


def port_of(url):
    return int(url.rstrip("/").rsplit(":", 1)[1])


def ours(server, count, publishers=16, **options):
    """The client's options for sessions of our hub; `user`, or else devices with an interest."""
    values = server.values["hub"]
    kind = "users" if "user" in options else "interests"
    body = options.pop("body", None) or publish_body(kind, options.pop("to", options.get("user", "fan")))
    return {**dict(
        kind="peal", port=port_of(values["websocket"]), count=count, key=values["key"], way="http", publishers=publishers,
        publish_port=port_of(values["http"]), authorization="Bearer " + values["secret"], body=body,
        publish_path="/publish_api/v1/instances/%s/publishes/%s" % (values["instance"], kind)), **options}


def publish_body(kind, *names):
    return json.dumps({kind: list(names), "apns": {"aps": {"alert": "$T " + TEXT}}}, separators=(",", ":"))


def missing(names):
    """Ends with what is to be installed."""
    wanted = {"nchan": NCHAN, "mosquitto": "/usr/sbin/mosquitto"}
    gone = [name for name in names if name in wanted and not os.path.exists(wanted[name])]
    if gone:
        sys.exit("%s missing: tools/install --bench" % " and ".join(gone))
    if not shutil.which("cc"):
        sys.exit("cc is missing: tools/install")
