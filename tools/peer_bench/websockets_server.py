"""A broadcast server as the `websockets` library's manual makes one: what comes on /pub goes to everybody else."""

import asyncio
import sys

from websockets.asyncio.server import broadcast, serve

subscribers = set()


async def handler(socket):
    if socket.request.path == "/pub":
        async for message in socket:
            broadcast(subscribers, message)
        return
    subscribers.add(socket)
    try:
        await socket.wait_closed()
    finally:
        subscribers.discard(socket)


async def main():
    # As the others: no compression, no pings.
    async with serve(handler, "127.0.0.1", int(sys.argv[1]), compression=None, ping_interval=None, backlog=4096):
        print("ready", flush=True)
        await asyncio.get_running_loop().create_future()

asyncio.run(main())
