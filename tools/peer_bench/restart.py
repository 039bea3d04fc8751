"""A hub with many connected devices ends (in order, then by kill -9) and starts again: until every device has its session back. Devices come
back as ours do: within the spread that a hub which drains tells, or else after a growing, random wait."""

import signal
import sys
import time

from peers import Report, arguments, client, load, note, ours, percentile, restartable


def one_round(hub, made, how):
    before = made.ask("counts")
    ended = hub.end(how)
    started = hub.start()
    begin = time.monotonic()
    # A device that tried while there was no hub was refused by the system; since it listens, nobody may be.
    listening = made.ask("counts")
    found = made.ask("wait")
    seconds = time.monotonic() - begin
    if found["snapshots"] or found["gaps"]:
        sys.exit("a device did not resume its log")
    return (ended, started, seconds, found["busy"] - before["busy"], found["refused"] - listening["refused"],
            listening["refused"] - before["refused"])


def main():
    words = arguments("restart", devices=(10_000, "connected"), rounds=(3, "of each kind"))
    report = Report(words)
    with restartable(words) as hub:
        hub.start()
        note("load %s; %s" % (load(), hub.version))
        with client(**ours(hub, words.devices, reconnect=1, sources=1 + words.devices // 20_000) | dict(way=None, publish_port=None)) as made:
            for name, how in (("in order", signal.SIGTERM), ("killed", signal.SIGKILL)):
                rounds = []
                for number in range(words.rounds):
                    note("%s, round %d of %d" % (name, number + 1, words.rounds))
                    rounds.append(one_round(hub, made, how))
                    # A session counts as healthy, and its waits begin anew, after some seconds.
                    time.sleep(2)
                ended, started, seconds, busy, refused, early = ([each[index] for each in rounds] for index in range(6))
                report.tell("a hub with %d devices, ended %s: gone after %.2f s, listens again after %.2f s; all devices are back %.1f "
                            "(%.1f–%.1f) s later; told busy %d, refused %d (and %d before it listened)" % (
                                words.devices, name, percentile(ended, 0.5), percentile(started, 0.5), percentile(seconds, 0.5),
                                min(seconds), max(seconds), sum(busy), sum(refused), sum(early)),
                            bench="restart", devices=words.devices, how=name, ended_s=ended, started_s=started, back_s=seconds, busy=busy,
                            refused=refused, refused_before=early, version=hub.version)


try:
    main()
except KeyboardInterrupt:
    sys.exit(130)
