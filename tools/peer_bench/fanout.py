"""Server CPU a delivery, of our hub (durable before it is answered) and of brokers that keep nothing: nchan, mosquitto, Python websockets.
(a) one inbox with many sessions; (b) one interest to many device inboxes, each its own durable log. One client program for all."""

import contextlib
import sys
import time

from peers import Report, arguments, client, load, missing, mosquitto, nchan, note, ours, peal, percentile, websockets


def case_options(server, mode, sessions, size, publishers):
    """The client's options, and the requests that one publish to everybody takes."""
    if server.name == "peal":
        return ours(server, sessions, publishers, **({"user": "fan"} if mode == "inbox" else {})), 1
    body = "$T " + "x" * (size - 24)
    common = dict(port=server.values["port"], count=sessions, publish_port=server.values["port"], body=body)
    if server.name == "nchan":
        if mode == "logs":
            return dict(common, kind="text", path="/sub/c%d", way="http", publishers=publishers, publish_path="/pub/$L",
                        spread=sessions // 250), sessions // 250
        return dict(common, kind="text", path="/sub/fan", way="http", publishers=publishers, publish_path="/pub/fan"), 1
    if server.name == "mosquitto":
        if mode == "logs":
            return dict(common, kind="mqtt", topic="c%d", way="topic", publish_path="c$N", spread=sessions), sessions
        return dict(common, kind="mqtt", topic="fan", way="topic", publish_path="fan"), 1
    return dict(common, kind="text", path="/", way="socket", publish_path="/pub"), 1


class Measured:
    def __init__(self, server, options, requests):
        self.server, self.requests = server, requests
        self.name = server.name
        self.cost, self.rate, self.bytes, self.frames, self.cpu = [], [], [], [], 0.0
        self.options = options

    def round(self, made, publishes, sessions, counted):
        cpu = self.server.cpu()
        found = made.ask("publish", publishes * self.requests, publishes * sessions)
        # What the client says after it (our credit) belongs to the round.
        time.sleep(0.1)
        used = self.server.cpu() - cpu
        if counted:
            self.cost.append(used / found["delivered"] * 1e6)
            self.rate.append(found["delivered"] / found["seconds"])
            self.bytes.append(found["bytes"] / found["delivered"])
            self.frames.append(found["frames"] / found["delivered"])
            self.cpu += used


def measure(words, report, servers, mode, publishes, size):
    with contextlib.ExitStack() as stack:
        parts = []
        for server in servers:
            if mode == "logs" and server.name == "websockets":
                continue
            part = Measured(server, *case_options(server, mode, words.sessions, size, min(publishes, 50)))
            parts.append((part, stack.enter_context(client(**part.options))))
        for number in range(words.rounds + 1):
            note("%s, %d at once, round %d of %d" % (mode, publishes, number, words.rounds))
            for part, made in parts:
                part.round(made, publishes, words.sessions, number > 0)
    what = ("(a) one inbox, %d sessions" if mode == "inbox" else "(b) one interest, %d device inboxes") % words.sessions
    mine = parts[0][0]
    for part, _ in parts:
        ratios = [ours / theirs for ours, theirs in zip(mine.cost, part.cost)]
        text = "%s, %d at once: %-10s %.2f (%.2f–%.2f) µs of server CPU a delivery, %.2f s in all; %.0f deliveries/s, %.0f bytes" % (
            what, publishes, part.name, percentile(part.cost, 0.5), min(part.cost), max(part.cost), part.cpu,
            percentile(part.rate, 0.5), percentile(part.bytes, 0.5))
        if part is not mine:
            text += "; ours / its %.2f (%.2f–%.2f)" % (percentile(ratios, 0.5), min(ratios), max(ratios))
        report.tell(text, bench="fanout", case=mode, sessions=words.sessions, publishes=publishes, server=part.name,
                    version=part.server.version, durable=part.server.durable, cpu_us=part.cost, deliveries_per_s=part.rate,
                    cpu_s=part.cpu, bytes=percentile(part.bytes, 0.5), ratio=ratios)
    return percentile(mine.bytes, 0.5)


def main():
    words = arguments("fanout", sessions=(1_000, "connected"), publishes=(50, "at once"), rounds=(7, "that count"),
                      peers=("nchan,mosquitto,websockets", "beside ours"))
    names = [name for name in words.peers.split(",") if name]
    missing(names)
    report = Report(words)
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(peal(words))]
        servers += [stack.enter_context({"nchan": nchan, "mosquitto": mosquitto, "websockets": websockets}[name]()) for name in names]
        note("load %s; %s" % (load(), "; ".join(server.version for server in servers)))
        size = 0
        for mode in ("inbox", "logs"):
            if not size:
                # Each peer's message has as many bytes as a delivery of ours.
                with client(**case_options(servers[0], mode, 1, 300, 1)[0]) as made:
                    # The first batch of an inbox also holds the project's catalogue.
                    made.ask("publish", 1, 1)
                    found = made.ask("publish", 1, 1)
                    size = found["bytes"] // found["delivered"]
            for publishes in sorted({1, words.publishes}):
                measure(words, report, servers, mode, publishes, size)


try:
    main()
except KeyboardInterrupt:
    sys.exit(130)
