"""Real hours of a hub and whole devices: publishes, acts, deletions, reconnections. Memory, files and logs are sampled; flat is what is, in the
last half of the time, at most a tenth above what it was in the second quarter."""

import glob
import json
import os
import subprocess
import sys
import time

from peers import Report, arguments, client, load, note, ours, port_of, restartable


def bytes_of(*patterns):
    return sum(os.path.getsize(path) for pattern in patterns for path in glob.glob(pattern, recursive=True) if os.path.exists(path))


def sample(hub, process, folder):
    process.stdin.write("counts\n")
    process.stdin.flush()
    found = json.loads(process.stdout.readline())
    return dict(acts=found["acts"], connections=found["connections"], hub_memory=hub.memory(), device_memory=found["resident"],
                hub_file=bytes_of(folder + "/hub/hub.sqlite"), hub_log=bytes_of(folder + "/hub/hub.sqlite-wal"),
                device_files=bytes_of(folder + "/devices/**/*.peal"), device_logs=bytes_of(folder + "/devices/**/*-wal"))


def main():
    words = arguments("soak", hours=(1.0, "of real time"), minutes=(0.0, "more"), users=(20, "with two devices each"),
                      rate=(4.0, "publishes a second, each to one user"), samples=(60, "of memory and files"))
    report, seconds = Report(words), words.hours * 3_600 + words.minutes * 60
    if words.minutes and words.hours == 1.0:
        seconds = words.minutes * 60
    with restartable(words, "--keep-entries", "500", "--keep-days", "1") as hub:
        hub.start()
        folder, values = hub.values["folder"], hub.values["hub"]
        process = subprocess.Popen(
            [words.peal + "-bench", "soak-devices", str(port_of(values["http"])), values["key"], str(words.users), folder + "/devices"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            if process.stdout.readline() != "ready\n":
                sys.exit("the devices did not get ready")
            samples = []
            with client(**ours(hub, 0, 2, user="u$N", spread=words.users)) as made:
                for number in range(words.samples):
                    made.ask("paced", max(1, round(words.rate * seconds / words.samples)), words.rate, 0)
                    samples.append(sample(hub, process, folder))
                    note("%d of %d: %s" % (number + 1, words.samples, samples[-1]))
            process.stdin.close()
            if process.wait(60) != 0:
                sys.exit("the devices failed")
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    grown = []
    # A hub looks once an hour at what its logs keep, and holds publishes for 90 days: within some hours its file grows by its publishes.
    # What must not happen is that a publish takes more and more.
    series = [each["hub_file"] + each["hub_log"] for each in samples]
    each = words.rate * seconds / words.samples
    rates = [(series[last] - series[first]) / each / (last - first) for first, last in (
        (len(series) // 4, len(series) // 2), (len(series) // 2, len(series) - 1))]
    steady = rates[1] <= rates[0] * 1.5 + 200
    if not steady:
        grown.append("hub_file")
    report.tell("hub file: %.1f MB at the end; %.0f bytes a publish in the second quarter, %.0f in the last half: %s" % (
        series[-1] / 1e6, *rates, "steady" if steady else "GROWS FASTER"),
        bench="soak", what="hub_file", seconds=seconds, series=series, bytes_a_publish=rates, flat=steady)
    for name in ("hub_memory", "device_memory", "hub_log", "device_files", "device_logs"):
        series = [each[name] for each in samples]
        quarter, half = series[len(series) // 4:len(series) // 2], series[len(series) // 2:]
        before, after = sum(quarter) / len(quarter), sum(half) / len(half)
        flat = after <= before * 1.1 + 1_000_000
        if not flat:
            grown.append(name)
        report.tell("%s: %.1f MB in the second quarter, %.1f MB in the last half: %s" % (
            name.replace("_", " "), before / 1e6, after / 1e6, "flat" if flat else "GROWS"),
            bench="soak", what=name, seconds=seconds, series=series, flat=flat)
    note("%d acts, %d reconnections, %d publishes; load %s" % (
        samples[-1]["acts"], samples[-1]["connections"], words.rate * seconds, load()))
    sys.exit(1 if grown else 0)


try:
    main()
except KeyboardInterrupt:
    sys.exit(130)
