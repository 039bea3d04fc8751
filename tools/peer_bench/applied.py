"""From the beginning of a publish to the device, at a steady rate. Ours: durable on the hub, then committed to the file of a whole device;
beside nchan and mosquitto (QoS 0), which keep nothing at either end. First each publish goes to one of many devices, then to all of them;
in the second case some devices are whole ones and the rest are sessions without a file, because their disks and processors are no hub's."""

import contextlib
import json
import subprocess
import sys

from peers import Report, arguments, client, load, missing, mosquitto, nchan, note, ours, peal, port_of


@contextlib.contextmanager
def devices(words, server, count, user):
    """Whole devices in a process of their own, which tell the times of items."""
    values = server.values["hub"]
    process = subprocess.Popen([words.peal + "-bench", "applied-devices", str(port_of(values["http"])), values["key"], str(count), user],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout.readline() != "ready\n":
            sys.exit("the devices did not get ready")
        yield process
    finally:
        process.stdin.close()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def times(process, count):
    process.stdin.write("wait %d\n" % count)
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def tell(report, case, server, what, answer, delivery, used, publishes):
    def text(found):
        return "p50 %.2f, p99 %.2f, longest %.1f ms" % (found["p50"], found["p99"], found["max"])
    report.tell("%s: %-9s %s %s%s; %.2f s of server CPU" % (
        case, server.name, what, text(delivery), "; answered " + text(answer) if answer else "", used),
        bench="applied", case=case, server=server.name, version=server.version, durable=server.durable, what=what, answer_ms=answer,
        delivery_ms=delivery, cpu_s=used, publishes=publishes)


def paced(made, server, count, rate, deliveries):
    before = server.cpu()
    found = made.ask("paced", count, rate, deliveries)
    return found, server.cpu() - before


def to_one(words, report, hub, peers):
    case = "%d/s, each to one of %d" % (words.rate, words.devices)
    count = words.rate * words.seconds
    note(case)
    with devices(words, hub, words.devices, "own") as process:
        with client(**ours(hub, 0, 4, user="u$N", spread=words.devices)) as made:
            # One of each first, which warms.
            made.ask("publish", words.devices, 0)
            times(process, words.devices)
            found, used = paced(made, hub, count, words.rate, 0)
            tell(report, case, hub, "committed on the device", found["answer_ms"], times(process, count), used, count)
    for peer in peers:
        port = peer.values["port"]
        kind = dict(kind="text", path="/sub/c%d", way="http", publish_path="/pub/c$N") if peer.name == "nchan" else dict(
            kind="mqtt", topic="c%d", way="topic", publish_path="c$N")
        with client(port=port, publish_port=port, count=words.devices, publishers=4 if peer.name == "nchan" else 1, spread=words.devices,
                    body="$T " + "x" * 400, **kind) as made:
            made.ask("publish", words.devices, words.devices)
            found, used = paced(made, peer, count, words.rate, count)
            tell(report, case, peer, "received (nothing is durable)", found.get("answer_ms"), found["delivery_ms"], used, count)


def to_all(words, report, hub, peers):
    case = "%d/s, each to all of %d" % (words.rate, words.devices)
    count, raw = words.rate * words.seconds, words.devices - words.whole
    note(case)
    with devices(words, hub, words.whole, "fan") as process, client(**ours(hub, raw, 4, user="fan")) as made:
        made.ask("publish", 5, 5 * raw)
        times(process, 5 * words.whole)
        found, used = paced(made, hub, count, words.rate, count * raw)
        tell(report, case, hub, "received by %d sessions" % raw, found["answer_ms"], found["delivery_ms"], used, count)
        tell(report, case, hub, "committed on %d whole devices" % words.whole, None, times(process, count * words.whole), used, count)
    for peer in peers:
        port = peer.values["port"]
        kind = dict(kind="text", path="/sub/fan", way="http", publish_path="/pub/fan") if peer.name == "nchan" else dict(
            kind="mqtt", topic="fan", way="topic", publish_path="fan")
        with client(port=port, publish_port=port, count=words.devices, publishers=4 if peer.name == "nchan" else 1,
                    body="$T " + "x" * 400, **kind) as made:
            made.ask("publish", 5, 5 * words.devices)
            found, used = paced(made, peer, count, words.rate, count * words.devices)
            tell(report, case, peer, "received (nothing is durable)", found.get("answer_ms"), found["delivery_ms"], used, count)


def main():
    words = arguments("applied", devices=(1_000, "connected"), rate=(20, "publishes a second"), seconds=(20, "of each case"),
                      whole=(20, "of the devices of a fan-out that have a file"))
    missing(["nchan", "mosquitto"])
    report = Report(words)
    with contextlib.ExitStack() as stack:
        hub, *peers = [stack.enter_context(each) for each in (peal(words), nchan(), mosquitto())]
        note("load %s; %s" % (load(), "; ".join(server.version for server in [hub, *peers])))
        to_one(words, report, hub, peers)
        to_all(words, report, hub, peers)


try:
    main()
except KeyboardInterrupt:
    sys.exit(130)
