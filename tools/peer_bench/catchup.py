"""Catch-up: many devices come back at once, each of which has missed many entries, until all have all; beside nchan, whose channels kept as
many messages in memory. The time begins with the first connection and holds all of them."""

import contextlib
import sys

from peers import Report, arguments, client, load, missing, nchan, note, ours, peal, percentile


def rounds(words, server, options, requests):
    """Seconds and CPU seconds of each round; a round is a reconnection of every device."""
    seconds, cpu, size = [], [], 0
    with client(**options) as made:
        for number in range(words.rounds + 1):
            note("%s: round %d of %d" % (server.name, number, words.rounds))
            made.ask("drop")
            if server.name == "peal" or number == 0:
                made.ask("publish", words.entries * requests, 0)
            before = server.cpu()
            found = made.ask("resume", words.devices * words.entries)
            if found["delivered"] != words.devices * words.entries:
                sys.exit("%d deliveries of %d" % (found["delivered"], words.devices * words.entries))
            if number > 0:
                seconds.append(found["seconds"])
                cpu.append(server.cpu() - before)
            size = found["bytes"] / found["delivered"]
        if found["snapshots"]:
            sys.exit("%d devices got a snapshot in place of the log" % found["snapshots"])
    return seconds, cpu, size


def main():
    words = arguments("catchup", devices=(1_000, "that come back"), entries=(100, "that each has missed"), rounds=(7, "that count"))
    missing(["nchan"])
    report = Report(words)
    with contextlib.ExitStack() as stack:
        hub, peer = stack.enter_context(peal(words)), stack.enter_context(nchan(buffer=words.entries))
        note("load %s; %s; %s" % (load(), hub.version, peer.version))
        mine = rounds(words, hub, ours(hub, words.devices), 1)
        port = peer.values["port"]
        theirs = rounds(words, peer, dict(
            kind="text", port=port, count=words.devices, path="/sub/c%d", again="/old/c%d", way="http", publishers=16, publish_port=port,
            publish_path="/pub/$L", spread=words.devices // 250, body="$T " + "x" * int(mine[2] - 24)), words.devices // 250)
    for server, (seconds, cpu, size) in ((hub, mine), (peer, theirs)):
        text = "%d devices come back to %d entries each: %-5s %.3f (%.3f–%.3f) s to the last of %d entries; server CPU %.2f (%.2f–%.2f) s" % (
            words.devices, words.entries, server.name, percentile(seconds, 0.5), min(seconds), max(seconds),
            words.devices * words.entries, percentile(cpu, 0.5), min(cpu), max(cpu))
        if server is peer:
            text += "; ours / its %.2f" % (percentile(mine[0], 0.5) / percentile(seconds, 0.5))
        report.tell(text, bench="catchup", server=server.name, version=server.version, devices=words.devices, entries=words.entries,
                    seconds=seconds, cpu_s=cpu, bytes=size)


try:
    main()
except KeyboardInterrupt:
    sys.exit(130)
