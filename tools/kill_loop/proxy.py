#!/usr/bin/env python3
"""A TCP proxy that does to connections what networks do: seeded, counted, on loopback.

usage: tools/kill_loop/proxy.py SEED LISTEN:HOST:TARGET [LISTEN:HOST:TARGET ...]

Listens on each port and forwards to an address. About two connections in three get a fault, drawn from the seed and the number
of the connection, at a random byte of one direction. Standard input rules it: `off` ends the drawing of faults, `cut` ends
connections that are half open, the end of the input ends the proxy. Standard output gets one JSON object a line for each fault that
hit, when its effect is over.

  fin, rst        closed in order, or reset
  half-open       both ends stay connected and nothing passes any more, until both have given up or 60 s are over
  trickle         one byte at a time, for some thousand bytes
  delay           each piece waits 20 to 500 ms
  throttle        2 to 32 kB a second
  stall-cut       a part of a piece passes, the rest does not; a reset after 0.5 to 12 s
  stall-go        likewise, but after 0.5 to 12 s it goes on
"""
import asyncio
import json
import random
import socket
import struct
import sys
import time

KINDS = ["fin", "rst", "half-open", "trickle", "delay", "throttle", "stall-cut", "stall-go"]
HALF_OPEN_SECONDS = 60


class Frames:
    """Follows one direction of a WebSocket, so that it is known whether a byte is within a frame."""

    def __init__(self):
        self.head, self.left, self.upgraded = b"", 0, False

    def feed(self, data):
        if not self.upgraded:
            # The end of the HTTP head; pieces of it are short and rarely torn.
            self.head += data
            end = self.head.find(b"\r\n\r\n")
            if end < 0:
                return
            self.upgraded, data, self.head = True, self.head[end + 4:], b""
        while data or (self.head and not self.left):
            if self.left:
                taken = min(self.left, len(data))
                self.left -= taken
                data = data[taken:]
                continue
            self.head += data
            data = b""
            length = self.length()
            if length is None:
                return
            size, rest = length
            data, self.head, self.left = self.head[size:], b"", rest

    def length(self):
        """Bytes of the header and of what follows it; None while the header is not whole."""
        head = self.head
        if len(head) < 2:
            return None
        short, mask = head[1] & 127, 4 if head[1] & 128 else 0
        size = 2 + {126: 2, 127: 8}.get(short, 0)
        if len(head) < size + mask:
            return None
        return size + mask, int.from_bytes(head[2:size], "big") if short >= 126 else short

    @property
    def inside(self):
        return self.upgraded and (self.left > 0 or bool(self.head))


class Link:
    """One connection with its fault."""

    def __init__(self, proxy, number, port):
        chance = random.Random("%d/%d" % (proxy.seed, number))
        self.proxy, self.number, self.port = proxy, number, port
        self.kind = chance.choice(KINDS) if not proxy.off and chance.random() < 0.66 else None
        self.direction = chance.choice(["up", "down"])
        self.bytes_left = int(10 ** (chance.random() * 4.5))
        self.chance = chance
        self.hit = self.mid_frame = False
        self.silent = asyncio.Event()
        self.frames = {"up": Frames(), "down": Frames()}
        self.writers, self.ended = [], {}

    def say(self, **more):
        self.proxy.say(kind=self.kind, connection=self.number, port=self.port, direction=self.direction,
                       mid_frame=self.mid_frame, **more)

    async def run(self, reader, writer, target):
        try:
            far_reader, far_writer = await asyncio.open_connection(*target)
        except OSError:
            writer.transport.abort()
            return
        self.writers = [writer, far_writer]
        for each in self.writers:
            each.transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.proxy.links.add(self)
        try:
            await asyncio.gather(self.pump(reader, far_writer, "up"), self.pump(far_reader, writer, "down"))
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.abort()
            self.proxy.links.discard(self)

    def abort(self):
        for writer in self.writers:
            writer.transport.abort()

    def reset(self):
        for writer in self.writers:
            # Linger of no time: the close is a reset.
            try:
                writer.transport.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            except OSError:
                pass
            writer.transport.abort()

    async def pump(self, reader, writer, direction):
        while True:
            data = await reader.read(65536)
            if self.silent.is_set():
                if not data:
                    return await self.gave_up(direction)
                continue
            if not data:
                writer.close()
                return
            if direction == self.direction and self.kind and not self.proxy.off and not self.hit:
                if len(data) >= self.bytes_left:
                    self.hit = True
                    head, data = data[:self.bytes_left], data[self.bytes_left:]
                    await self.send(head, writer, direction)
                    self.mid_frame = self.frames[direction].inside
                    if await self.strike(data, writer, direction):
                        return
                    continue
                self.bytes_left -= len(data)
            if self.hit and direction == self.direction and not self.proxy.off:
                await self.hindered(data, writer, direction)
            else:
                await self.send(data, writer, direction)

    async def send(self, data, writer, direction):
        self.frames[direction].feed(data)
        writer.write(data)
        await writer.drain()

    # What happens at the moment of the fault; True where the connection is over.
    async def strike(self, rest, writer, direction):
        if self.kind in ("fin", "rst"):
            self.say()
            if self.kind == "rst":
                self.reset()
            else:
                for each in self.writers:
                    each.close()
            return True
        if self.kind == "half-open":
            self.struck = time.monotonic()
            self.silent.set()
            asyncio.get_running_loop().call_later(HALF_OPEN_SECONDS, self.half_open_over)
            return False
        if self.kind in ("stall-cut", "stall-go"):
            seconds = 0.5 + 11.5 * self.chance.random() ** 2
            begin = time.monotonic()
            while time.monotonic() - begin < seconds and not self.proxy.cuts:
                await asyncio.sleep(0.05)
            self.say(seconds=round(seconds, 1))
            if self.kind == "stall-cut":
                self.reset()
                return True
            self.kind = None
            await self.send(rest, writer, direction)
            return False
        self.budget = {"trickle": 4000, "throttle": 60000, "delay": 40}[self.kind]
        self.rate = self.chance.choice([2000, 8000, 32000])
        self.say()
        await self.hindered(rest, writer, direction)
        return False

    async def hindered(self, data, writer, direction):
        if self.kind == "trickle":
            while data and self.budget > 0 and not self.proxy.off:
                await self.send(data[:1], writer, direction)
                data = data[1:]
                self.budget -= 1
                await asyncio.sleep(0.0005)
        elif self.kind == "throttle":
            while data and self.budget > 0 and not self.proxy.off:
                piece = data[:self.rate // 20]
                await self.send(piece, writer, direction)
                data = data[len(piece):]
                self.budget -= len(piece)
                await asyncio.sleep(len(piece) / self.rate)
        elif self.kind == "delay" and self.budget > 0:
            self.budget -= 1
            await asyncio.sleep(self.chance.uniform(0.02, 0.5))
        if data:
            await self.send(data, writer, direction)

    async def gave_up(self, direction):
        """One end of a half-open connection closed it. The other one does not learn of it."""
        self.ended["device" if direction == "up" else "hub"] = round(time.monotonic() - self.struck, 1)
        if len(self.ended) == 2:
            self.half_open_over()

    def half_open_over(self):
        if not self.proxy.ending and self.writers and self.silent.is_set() and not self.mid_said():
            self.say(ended=self.ended)
        self.reset()

    def mid_said(self):
        said, self.said = getattr(self, "said", False), True
        return said


class Proxy:
    def __init__(self, seed):
        self.seed, self.count, self.connections = seed, 0, 0
        self.off = self.cuts = self.ending = False
        self.links = set()

    def say(self, **words):
        print(json.dumps(words), flush=True)

    async def serve(self, listen, target):
        async def accept(reader, writer):
            self.count += 1
            await Link(self, self.count, listen).run(reader, writer, target)
        await asyncio.start_server(accept, "127.0.0.1", listen)

    async def rule(self):
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            word = line.decode().strip()
            if word == "off":
                self.off = True
            elif word == "cut":
                self.cuts = True
                for link in list(self.links):
                    if link.silent.is_set():
                        link.half_open_over()
        self.ending = True
        self.say(kind="end", connections=self.count)


async def main():
    proxy = Proxy(int(sys.argv[1]))
    for word in sys.argv[2:]:
        listen, host, target = word.split(":")
        await proxy.serve(int(listen), (host, int(target)))
    proxy.say(kind="ready")
    await proxy.rule()


if __name__ == "__main__":
    asyncio.run(main())
