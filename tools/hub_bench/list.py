"""GET /notifications of a project with many items: one inbox that holds a tenth of them, half of it read by a mark, and a thousand others.
The hub is of the release build; wrk asks on one connection."""

import sys
import time
import urllib.parse

from common import HERE, Report, arguments, ask, inbox_headers, must, note, send, serving, wrk

USERS = 1_000


def fill(values, items, large):
    """The items of the project: of the large inbox one a publish, of the others 1,000."""
    begin = time.monotonic()
    for half in (large // 2, large):
        sent = 0
        while sent < half:
            left = half - sent
            # A second at a time, until they are there: wrk counts no requests.
            if left > 4_000:
                wrk(values, HERE + "/publish.lua", 32, 1, PEAL_USERS=1, PEAL_RECIPIENTS=1, PEAL_CONTENT=100, PEAL_ONE="large")
            else:
                for number in range(left):
                    send(values, ["large"], content="x" * 100, category="c%d" % (number % 10), topic="t%d" % number)
            sent = total(values, "large", "/notifications?per_page=1")
            note("%d items of %d" % (sent, items))
        if half < large:
            must(ask(values, "POST", "/notifications/read", headers=inbox_headers(values, "large")), 200, 204)
    for number in range((items - large) // USERS):
        send(values, ["u%d" % user for user in range(USERS)], content="x" * 100, category="c%d" % (number % 10), topic="t%d" % number)
        if number % 100 == 99:
            note("%d items of %d" % (large + (number + 1) * USERS, items))
    # Some that were read one by one, so that a list meets single choices, too.
    page = must(ask(values, "GET", "/notifications?per_page=100&read=false", headers=inbox_headers(values, "large")))
    for item in page["notifications"][::2]:
        must(ask(values, "POST", "/notifications/%s/read" % item["id"], headers=inbox_headers(values, "large")), 200, 204)
    note("filled in %.0f s" % (time.monotonic() - begin))


def total(values, user, path):
    return must(ask(values, "GET", path, headers=inbox_headers(values, user)))["total"]


def main():
    words = arguments("list", items=(1_000_000, "in the project"), large=(100_000, "of them in one inbox"),
                      seconds=(5, "of each case"))
    report = Report(words)
    with serving(words) as (folder, values):
        fill(values, words.items, words.large)
        deep = words.large // 15 // 2
        after = must(ask(values, "GET", "/notifications?page=%d" % deep, headers=inbox_headers(values, "large")))["after"]
        some = must(ask(values, "GET", "/notifications", headers=inbox_headers(values, "large")))["notifications"][0]["id"]
        cases = [
            ("first page", "", 1), ("counts alone, one item", "?per_page=1", 1), ("100 items", "?per_page=100", 1),
            ("page %d" % deep, "?page=%d" % deep, 1), ("as deep, by cursor", "?after=%s" % after, 1),
            ("unread", "?read=false", 1), ("a category (a tenth)", "?categories=c3", 1), ("a topic (a thousandth)", "?topics=t7", 1),
            ("archived (none)", "?archived=true", 1)]
        for user, size in (("large", words.large), ("u7", (words.items - words.large) // USERS)):
            for name, query, connections in cases if user == "large" else cases[:1] + cases[5:8]:
                headers = inbox_headers(values, user)
                found = wrk(values, HERE + "/list.lua", connections, words.seconds, "/notifications" + query, headers)
                tell(report, "an inbox of %d items, %s" % (size, name), found, items=size, case=name)
        found = wrk(values, HERE + "/list.lua", 1, words.seconds, "/notifications/" + urllib.parse.quote(some),
                    inbox_headers(values, "large"))
        tell(report, "one item of %d" % words.large, found, items=words.large, case="one item")
        found = wrk(values, HERE + "/list.lua", 16, words.seconds, "/notifications", inbox_headers(values), PEAL_USERS=USERS)
        tell(report, "16 connections over %d inboxes of %d items, first page" % (USERS, (words.items - words.large) // USERS), found,
             items=(words.items - words.large) // USERS, case="16 connections")


def tell(report, name, found, **more):
    report.tell("%s: p50 %.2f ms, p99 %.2f ms; %.0f/s, %d requests" % (
        name, found["p50"], found["p99"], found["rate"], found["requests"]), p50_ms=found["p50"], p99_ms=found["p99"],
        requests=found["requests"], requests_per_s=found["rate"], **more)


try:
    main()
except KeyboardInterrupt:
    sys.exit(130)
