"""One publish to very many devices, few of them connected: until the last entry is durable and until the last connected device has its own;
and what others meanwhile see, who publish to single users and have sessions, beside the same without it."""

import json
import subprocess
import sys
import threading
import time

from peers import Report, arguments, client, load, must, ask, note, numbers, ours, percentile, restartable


def text(found):
    return "p50 %.2f, p99 %.2f, longest %.1f ms" % (found["p50"], found["p99"], found["max"])


def wide_publish(values, target, begun):
    """Seconds until the answer, and until every entry is durable."""
    path = "/publish_api/v1/instances/%s/publishes/interests" % values["instance"]
    begin = time.monotonic()
    begun.append(begin)
    must(ask(values, "POST", path, {"interests": ["fan"], "web": {"notification": {"title": "To all", "body": "x" * 100}}},
             {"Authorization": "Bearer " + values["secret"]}))
    answered = time.monotonic() - begin
    while True:
        now = numbers(values)
        if now["peal_entries_appended_total"] >= target and now["peal_fanout_jobs"] == 0:
            return answered, time.monotonic() - begin
        if time.monotonic() - begin > 120:
            sys.exit("not every device got its entry in two minutes")
        time.sleep(0.005)


def main():
    words = arguments("wide", devices=(100_000, "of the interest"), connected=(1_000, "of them"), others=(100, "users with a session"),
                      rate=(50, "publishes a second to single users"), rounds=(5, "that count"))
    report = Report(words)
    with restartable(words) as hub:
        hub.start()
        hub.end()
        note("%d devices are made" % (words.devices - words.connected))
        made = subprocess.run([words.peal + "-bench", "hub-devices", hub.values["folder"] + "/hub", str(words.devices - words.connected), "fan"],
                              capture_output=True, text=True)
        if made.stdout != "ready\n":
            sys.exit("the devices were not made: " + made.stdout + made.stderr)
        hub.start()
        values = hub.values["hub"]
        note("load %s; %s" % (load(), hub.version))
        with client(**ours(hub, words.connected)) as devices, client(
                **ours(hub, words.others, 8, user="o%d", to="o$N", spread=words.others)) as others:
            others.ask("publish", words.others, words.others)
            alone = others.ask("paced", words.rate * 5, words.rate, words.rate * 5)
            answered, durable, last, meanwhile, cpu = [], [], [], [], []
            for number in range(words.rounds + 1):
                note("round %d of %d" % (number, words.rounds))
                # Others publish all the time; the wide one comes a second after they began.
                others.start("paced", words.rate * 4, words.rate, words.rate * 4)
                time.sleep(1)
                before, used = numbers(values), hub.cpu()
                devices.start("publish", 0, words.connected)
                begun, done = [], []
                thread = threading.Thread(target=lambda: done.append(
                    wide_publish(values, before["peal_entries_appended_total"] + words.devices, begun)))
                thread.start()
                got = devices.read()
                end = time.monotonic()
                thread.join()
                used = hub.cpu() - used
                found = others.read()
                if number > 0:
                    answered.append(done[0][0])
                    durable.append(done[0][1])
                    last.append(end - begun[0])
                    meanwhile.append(found)
                    cpu.append(used)
    median = percentile
    report.tell("one publish to %d devices, %d connected: answered after %.3f s; the last entry durable after %.2f (%.2f–%.2f) s, the last "
                "connected device has its own after %.2f (%.2f–%.2f) s; %.2f s of server CPU, others' publishes included" % (
                    words.devices, words.connected, median(answered, 0.5), median(durable, 0.5), min(durable), max(durable),
                    median(last, 0.5), min(last), max(last), median(cpu, 0.5)),
                bench="wide", devices=words.devices, connected=words.connected, answered_s=answered, durable_s=durable, last_s=last, cpu_s=cpu,
                version=hub.version)
    for name in ("answer_ms", "delivery_ms"):
        some = [found[name] for found in meanwhile]
        middle = sorted(some, key=lambda found: found["p99"])[len(some) // 2]
        report.tell("others, %d publishes/s to one user each, %s: alone %s; with one wide publish in 4 s %s" % (
            words.rate, "answered" if name == "answer_ms" else "received", text(alone[name]), text(middle)),
            bench="wide", what=name, alone=alone[name], meanwhile=some)


try:
    main()
except KeyboardInterrupt:
    sys.exit(130)
