"""Process memory of an idle connection: many admitted devices, beside as many subscribers of nchan. Pages that processes share count once."""

import sys
import time

from peers import Report, arguments, client, load, missing, nchan, note, ours, peal


def grown(server, make):
    """Bytes a connection: with a few, which bring what all share, and with all."""
    count, warm = make(50), make(None)
    with client(**count):
        time.sleep(1)
        before = server.memory()
        with client(**warm):
            # Buffers of the handshakes go back.
            time.sleep(3)
            return before, server.memory(), (server.memory() - before) / warm["count"]


def main():
    words = arguments("idle", connections=(10_000, "idle"))
    missing(["nchan"])
    report = Report(words)
    sources = 1 + words.connections // 20_000
    with peal(words) as hub, nchan() as peer:
        note("load %s; %s; %s" % (load(), hub.version, peer.version))
        port = peer.values["port"]
        mine = grown(hub, lambda count: ours(hub, count or words.connections, sources=sources))
        theirs = grown(peer, lambda count: dict(
            kind="text", port=port, count=count or words.connections, path="/sub/%s%%d" % ("w" if count else "c"), sources=sources))
    for server, (before, after, each) in ((hub, mine), (peer, theirs)):
        report.tell("%d idle connections: %-5s %.1f kB of process memory each (%.1f MB before, %.1f MB after)%s" % (
            words.connections, server.name, each / 1e3, before / 1e6, after / 1e6,
            "" if server is hub else "; ours / its %.2f" % (mine[2] / each)),
            bench="idle", server=server.name, version=server.version, connections=words.connections, bytes_each=each, before=before,
            after=after)


try:
    main()
except KeyboardInterrupt:
    sys.exit(130)
