"""A client that plays one scene with the server at a port, and prints what it saw, one line each.

client.py SCENE URL [CA_FILE]
"""

import socket
import ssl
import sys

from websockets.client import ClientProtocol
from websockets.uri import parse_uri

from wire import Messages, Wire, closing

SUBPROTOCOL = "peal.v1.json"


def say(line):
    print(line, flush=True)


def connect(url, authority=None, subprotocols=(SUBPROTOCOL,), step=None):
    uri = parse_uri(url)
    sock = socket.create_connection((uri.host, uri.port), timeout=30)
    if uri.secure:
        sock = ssl.create_default_context(cafile=authority).wrap_socket(sock, server_hostname=uri.host)
    protocol = ClientProtocol(uri, subprotocols=list(subprotocols) or None, max_size=None)
    wire = Wire(sock, protocol, step)
    protocol.send_request(protocol.connect())
    wire.flush()
    events = wire.events()
    response = next(events)
    if protocol.handshake_exc is not None:
        say(f"refused {response.status_code}")
        sys.exit(0)
    say(f"opened {protocol.subprotocol}")
    return wire, events


def echo(wire, events):
    """Messages of many sizes come back as they were."""
    messages = Messages(events)
    incoming = iter(messages)
    for size in (0, 1, 125, 126, 1024, 65535, 65536):
        sent = ("é" * (size // 2) + "x" * (size % 2)).encode()
        wire.protocol.send_text(sent)
        wire.flush()
        say(f"{size} {'same' if next(incoming) == sent else 'different'}")
    wire.protocol.send_close(4000, "bye")
    wire.flush()
    for _ in events:
        pass
    say(f"closed {closing(wire.protocol)}")


def fragments(wire, events):
    """A message in fragments, cut within a character, with a ping between them."""
    text = "ein Stück für Stück gesendeter Satz".encode()
    cut = text.index("ü".encode()) + 1
    wire.protocol.send_text(text[:cut], fin=False)
    wire.flush()
    wire.protocol.send_ping(b"still here")
    wire.protocol.send_continuation(b"", fin=False)
    wire.flush()
    wire.protocol.send_continuation(text[cut:], fin=True)
    wire.flush()
    pong = False
    for event in events:
        if event.opcode.name == "PONG":
            pong = event.data == b"still here"
        else:
            say(f"{'same' if event.data == text else 'different'} {'pong' if pong else 'no pong'}")
            return


def until_closed(wire, events):
    wire.flush()
    for _ in events:
        pass
    say(f"closed {closing(wire.protocol)}")


def binary(wire, events):
    wire.protocol.send_binary(b"\x00\x01")
    until_closed(wire, events)


def bad_utf8(wire, events):
    wire.protocol.send_text(b"\xc3\x28")
    until_closed(wire, events)


def cut_utf8(wire, events):
    """A message that ends within a character."""
    wire.protocol.send_text(b"abc\xe2\x82", fin=False)
    wire.protocol.send_continuation(b"", fin=True)
    until_closed(wire, events)


def too_large(wire, events):
    wire.protocol.send_text(b"x" * 65537)
    until_closed(wire, events)


def too_large_in_fragments(wire, events):
    wire.protocol.send_text(b"x" * 40000, fin=False)
    wire.protocol.send_continuation(b"x" * 40000, fin=True)
    until_closed(wire, events)


def claims_too_much(wire, events):
    """A header that announces 2^62 bytes, and nothing after it."""
    wire.sock.sendall(b"\x81\xff" + (1 << 62).to_bytes(8, "big") + b"\x00\x00\x00\x00" + b"x")
    until_closed(wire, events)


def reserved_bits(wire, events):
    wire.sock.sendall(b"\xf1\x80\x00\x00\x00\x00")
    until_closed(wire, events)


def mute(wire, events):
    """Never reads again, so it answers no ping, until a line comes in."""
    sys.stdin.readline()


def vanish(wire, events):
    """Resets the connection."""
    wire.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    wire.sock.close()


def slow(wire, events):
    """Reads nothing until a line comes in; then counts what it gets."""
    sys.stdin.readline()
    expected = 0
    for message in Messages(events):
        if int(message[:8]) != expected:
            say(f"got {int(message[:8])} in place of {expected}")
            return
        expected += 1
        if expected % 1000 == 0:
            say(f"read {expected}")


SCENES = {
    function.__name__: function
    for function in (
        echo, fragments, binary, bad_utf8, cut_utf8, too_large, too_large_in_fragments, claims_too_much, reserved_bits,
        mute, vanish, slow,
    )
}


def main():
    scene, url = sys.argv[1:3]
    authority = sys.argv[3] if len(sys.argv) > 3 else None
    step = 1 if scene == "one_byte" else None
    subprotocols = {"no_subprotocol": (), "other_subprotocol": ("other.v1",), "several": ("other.v1", SUBPROTOCOL)}
    wire, events = connect(url, authority, subprotocols.get(scene, (SUBPROTOCOL,)), step)
    if scene == "one_byte":
        fragments(wire, events)
    elif scene not in subprotocols:
        SCENES[scene](wire, events)


main()
