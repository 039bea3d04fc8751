"""The work of tools/load: a hub of the release build under wrk, with live sessions beside it.

    load.py PEAL SECONDS
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

import websockets

from hub import hub

peal, seconds = sys.argv[1], int(sys.argv[2])
here = os.path.dirname(os.path.abspath(__file__))
SESSIONS, PAUSE = 20, 0.05


def resident(pid):
    """Bytes of a process in memory."""
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) * 1024


def send(values, user, title):
    body = {"notification": {"title": title, "recipients": [{"external_id": user}]}}
    request = urllib.request.Request(values["http"] + "/notifications", json.dumps(body).encode(), {
        "Content-Type": "application/json", "X-MAGICBELL-API-KEY": values["key"], "X-MAGICBELL-API-SECRET": values["secret"]})
    return urllib.request.urlopen(request, timeout=30).status


async def session(values, user, arrived, ready):
    """A device that is live: what comes is noted by its title, and acknowledged."""
    hello = {"type": "hello", "v": 1, "project": values["key"], "inbox": {"kind": "user", "externalId": user},
             "replica": os.urandom(16).hex(), "proof": {}, "attempt": 1, "nonce": "",
             "cursor": {"position": 0, "chain": "0" * 16}, "outbox": {"low": 0, "high": 0},
             "window": {"entries": 4096, "bytes": 1048576}}
    async with websockets.connect(values["websocket"], subprotocols=["peal.v1.json"], proxy=None) as socket:
        await socket.send(json.dumps(hello))
        async for message in socket:
            frame = json.loads(message)
            if frame["type"] == "welcome":
                ready.set()
            if frame["type"] == "batch":
                now = time.monotonic()
                for title in re.findall(r"at-\d+", message):
                    arrived.setdefault(title, now)
                await socket.send(json.dumps({"type": "got", "to": frame["to"]}))


async def main():
    with tempfile.TemporaryDirectory() as folder, hub(peal, folder + "/hub", "--requests-per-project", "0") as values:
        arrived, sent, tasks = {}, {}, []
        for number in range(SESSIONS):
            await asyncio.to_thread(send, values, f"live-{number}", "first")
            ready = asyncio.Event()
            tasks.append(asyncio.create_task(session(values, f"live-{number}", arrived, ready)))
            await asyncio.wait_for(ready.wait(), 10)
        load = await asyncio.create_subprocess_exec(
            "wrk", "-t", "2", "-c", "64", "-d", str(seconds), "--latency", "-s", here + "/mixed.lua", values["http"],
            env={**os.environ, "PEAL_KEY": values["key"], "PEAL_SECRET": values["secret"], "PEAL_INSTANCE": values["instance"]},
            stdout=subprocess.PIPE)
        memory, begin, number = [], time.monotonic(), 0
        while time.monotonic() - begin < seconds - 1:
            title = f"at-{number:07}"
            sent[title] = time.monotonic()
            await asyncio.to_thread(send, values, f"live-{number % SESSIONS}", title)
            number += 1
            if number % 20 == 0:
                memory.append(resident(values["pid"]))
            await asyncio.sleep(PAUSE)
        told = (await load.communicate())[0].decode()
        await asyncio.sleep(1)
        for task in tasks:
            task.cancel()
        waits = sorted((arrived[title] - sent[title]) * 1_000 for title in sent if title in arrived)
        print(told)
        print(f"live sessions: {len(waits)} of {len(sent)} items arrived, p50 {waits[len(waits) // 2]:.1f} ms, "
              f"p99 {waits[len(waits) * 99 // 100]:.1f} ms, the longest {waits[-1]:.1f} ms from the beginning of their publish")
        print(f"memory: {memory[0] / 1e6:.0f} MB at the start, {max(memory) / 1e6:.0f} MB at most, {memory[-1] / 1e6:.0f} MB at the end")
        metrics = urllib.request.urlopen(values["http"] + "/metrics", timeout=10).read().decode()
        print("\n".join(line for line in metrics.splitlines() if line.startswith("peal_http_requests_total")))
        broken = re.search(r'status="5xx"\} ([1-9]\d*)', metrics)
        return 1 if broken or len(waits) < len(sent) else 0


sys.exit(asyncio.run(main()))
