"""Draws what benches said: plots.py RESULTS IMAGES, where RESULTS holds NAME.jsonl of `tools/bench NAME --json`. SVG by hand: bars and lines."""

import json
import math
import os
import sys

INK, GRID, COLOURS = "#333", "#ddd", {"peal": "#2b6cb0", "nchan": "#c05621", "mosquitto": "#2f855a", "websockets": "#6b46c1"}
SERIES = ["#2b6cb0", "#c05621", "#2f855a", "#6b46c1", "#b7791f"]
FONT = 'font-family="sans-serif" font-size="12"'


def rows(folder, name):
    path = "%s/%s.jsonl" % (folder, name)
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [json.loads(line) for line in file if line.startswith("{")]


def median(values):
    return sorted(values)[len(values) // 2]


def text(x, y, words, anchor="start", colour=INK, size=12):
    return '<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s" font-family="sans-serif" font-size="%d">%s</text>' % (
        x, y, anchor, colour, size, words)


def save(path, width, height, parts):
    with open(path, "w") as file:
        file.write('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d">\n'
                   '<rect width="100%%" height="100%%" fill="white"/>\n%s\n</svg>\n' % (width, height, width, height, "\n".join(parts)))


def bars(path, title, unit, groups):
    """Groups of (name, [(label, colour, middle, least, most)]); the whisker is the spread."""
    most = max(bar[4] for _, some in groups for bar in some) * 1.15
    height = 60 + sum(26 + 22 * len(some) for _, some in groups)
    left, wide = 230, 420
    parts, y = [text(10, 22, "%s (%s)" % (title, unit), size=15)], 40
    for name, some in groups:
        parts.append(text(10, y + 14, name))
        y += 22
        for label, colour, middle, low, high in some:
            scale = wide / most
            parts.append(text(left - 8, y + 13, label, "end"))
            parts.append('<rect x="%d" y="%d" width="%.1f" height="16" fill="%s"/>' % (left, y, middle * scale, colour))
            parts.append('<path d="M%.1f %d H%.1f M%.1f %d v8 M%.1f %d v8" stroke="%s" fill="none"/>' % (
                left + low * scale, y + 8, left + high * scale, left + low * scale, y + 4, left + high * scale, y + 4, INK))
            parts.append(text(left + high * scale + 6, y + 13, "%.3g" % middle))
            y += 22
        y += 4
    save(path, left + wide + 70, height, parts)


def lines(path, title, across, up, series):
    """Series of (name, [(x, y)]) on logarithmic axes, so that what is proportional rises by one decade a decade."""
    left, top, wide, high = 70, 40, 430, 260
    xs = [x for _, points in series for x, _ in points]
    ys = [y for _, points in series for _, y in points if y > 0]
    x0, x1 = math.floor(math.log10(min(xs))), math.ceil(math.log10(max(xs)))
    y0, y1 = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))
    y1 = max(y1, y0 + 1)

    def place(x, y):
        return (left + (math.log10(x) - x0) / (x1 - x0) * wide, top + high - (math.log10(y) - y0) / (y1 - y0) * high)
    parts = [text(10, 22, title, size=15)]
    for decade in range(x0, x1 + 1):
        x, _ = place(10 ** decade, 10 ** y0)
        parts.append('<path d="M%.1f %d v%d" stroke="%s"/>' % (x, top, high, GRID))
        parts.append(text(x, top + high + 18, "{:,}".format(10 ** decade), "middle"))
    for decade in range(y0, y1 + 1):
        _, y = place(10 ** x0, 10 ** decade)
        parts.append('<path d="M%d %.1f h%d" stroke="%s"/>' % (left, y, wide, GRID))
        parts.append(text(left - 8, y + 4, "%g" % 10 ** decade, "end"))
    parts.append(text(left + wide / 2, top + high + 38, across, "middle"))
    parts.append(text(left, top - 6, up))
    for index, (name, points) in enumerate(series):
        colour = SERIES[index % len(SERIES)]
        placed = [place(x, y) for x, y in points if y > 0]
        parts.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>' % (
            " ".join("%.1f,%.1f" % point for point in placed), colour))
        parts += ['<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>' % (*point, colour) for point in placed]
        parts.append(text(left + wide + 14, top + 14 + 20 * index, name, colour=colour))
    save(path, left + wide + 210, top + high + 50, parts)


def bar(row, values, scale=1.0):
    values = [value * scale for value in values]
    return row["server"], COLOURS[row["server"]], median(values), min(values), max(values)


def main():
    folder, images = sys.argv[1:3]
    found = rows(folder, "fanout")
    if found:
        groups = []
        for case, name in (("inbox", "one inbox, 1,000 sessions"), ("logs", "1,000 logs of their own")):
            for publishes in sorted({row["publishes"] for row in found}):
                some = [row for row in found if row["case"] == case and row["publishes"] == publishes]
                how = "one publish alone" if publishes == 1 else "%d publishes at once" % publishes
                groups.append(("%s, %s" % (name, how), [bar(row, row["cpu_us"]) for row in some]))
        bars(images + "/bench-fanout.svg", "Fan-out: server CPU a delivery; ours is durable", "µs", groups)
    groups = []
    for name, key, scale, title in (("catchup", "seconds", 1.0, "1,000 devices × 100 entries, seconds"),):
        if rows(folder, name):
            groups.append((title, [bar(row, row[key], scale) for row in rows(folder, name)]))
    if groups:
        bars(images + "/bench-catchup.svg", "Catch-up of devices that come back", "s", groups)
    found = rows(folder, "idle")
    if found:
        bars(images + "/bench-idle.svg", "An idle connection's process memory", "kB", [
            ("%s connections" % "{:,}".format(found[0]["connections"]), [bar(row, [row["bytes_each"]], 1e-3) for row in found])])
    found = rows(folder, "curves")
    if found:
        def series(what, unit):
            return what, [(row["items"], row[unit]) for row in found if row["what"] == what]
        lines(images + "/bench-inbox-size.svg", "CPU of one step, by the size of the inbox", "items in the inbox", "µs", [
            series(what, "us") for what in (
                "an entry folded", "first page of 50", "counts", "an act and taking it back", "a publish appended")])
        lines(images + "/bench-events.svg", "CPU of all events, by their number", "events", "s", [
            series(what, "s") for what in ("all entries folded", "all publishes appended")])


main()
