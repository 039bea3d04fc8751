"""A server whose every connection plays the scene that its path names; prints its port first, then what it saw.

server.py [CERTIFICATE KEY]
"""

import socket
import ssl
import sys
import threading

from websockets.http11 import Request
from websockets.server import ServerProtocol

from wire import Messages, Wire, closing

SUBPROTOCOL = "peal.v1.json"
go = threading.Event()


def say(line):
    print(line, flush=True)


def echo(wire, events):
    parts = []
    for event in events:
        name = event.opcode.name
        if name in ("PING", "PONG"):
            say(name.lower())
        if name not in ("TEXT", "CONT"):
            continue
        parts.append(event.data)
        if event.fin:
            wire.protocol.send_text(b"".join(parts))
            wire.flush()
            parts = []
    say(f"closed {closing(wire.protocol)}")


def fragments(wire, events):
    """Answers in fragments that cut characters, with pings between them."""
    for message in Messages(events):
        third = len(message) // 3 + 1
        wire.protocol.send_text(message[:third], fin=False)
        wire.protocol.send_ping(b"ping")
        wire.protocol.send_continuation(message[third : 2 * third], fin=False)
        wire.flush()
        wire.protocol.send_continuation(message[2 * third :], fin=True)
        wire.flush()


def says(*frames):
    """A scene that sends frames, and tells how it was closed."""

    def scene(wire, events):
        for frame in frames:
            frame(wire.protocol)
        wire.flush()
        for _ in events:
            pass
        say(f"closed {closing(wire.protocol)}")

    return scene


def flood(wire, events):
    for index in range(4000):
        wire.protocol.send_text(f"{index:08d}".encode() + b"x" * 4000)
        wire.flush()
    for _ in events:
        pass


def vanish(wire, events):
    wire.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")


def mute(wire, events):
    """Never reads again, so it answers no ping."""
    go.wait()


SCENES = {
    "/echo": echo,
    "/one-byte": echo,
    "/fragments": fragments,
    "/large": says(lambda p: p.send_text(b"x" * 262144), lambda p: p.send_close(4003, "enough")),
    "/too-large": says(lambda p: p.send_text(b"x" * 262145)),
    "/binary": says(lambda p: p.send_binary(b"\x00")),
    "/bad-utf8": says(lambda p: p.send_text(b"\xed\xa0\x80")),
    "/close-with-code": says(lambda p: p.send_close(4105, "replaced")),
    "/close-without-code": says(lambda p: p.send_close()),
    "/flood": flood,
    "/vanish": vanish,
    "/mute": mute,
    "/no-subprotocol": echo,
    "/other-subprotocol": echo,
    "/wrong-accept": echo,
}


def handshake(sock, subprotocol=SUBPROTOCOL):
    """The protocol after its handshake, and the path; None where it was refused."""
    protocol = ServerProtocol(subprotocols=[SUBPROTOCOL], max_size=None)
    while True:
        data = sock.recv(65536)
        if not data:
            return None
        protocol.receive_data(data)
        requests = [event for event in protocol.events_received() if isinstance(event, Request)]
        if requests:
            break
    path = requests[0].path.split("?")[0]
    say(f"request {requests[0].path} host {requests[0].headers['Host']}")
    if path == "/no-answer":
        go.wait()
    if path == "/forbidden":
        protocol.send_response(protocol.reject(403, "no\n"))
    else:
        response = protocol.accept(requests[0])
        if path == "/no-subprotocol":
            del response.headers["Sec-WebSocket-Protocol"]
        if path == "/other-subprotocol":
            del response.headers["Sec-WebSocket-Protocol"]
            response.headers["Sec-WebSocket-Protocol"] = "other.v1"
        if path == "/wrong-accept":
            del response.headers["Sec-WebSocket-Accept"]
            response.headers["Sec-WebSocket-Accept"] = "AAAAAAAAAAAAAAAAAAAAAAAAAAA="
        protocol.send_response(response)
    return protocol, path


def serve(sock, context):
    try:
        sock.settimeout(60)
        if context:
            sock = context.wrap_socket(sock, server_side=True)
        taken = handshake(sock)
        if taken:
            protocol, path = taken
            wire = Wire(sock, protocol, 1 if path == "/one-byte" else None)
            wire.flush()
            if path in SCENES:
                SCENES[path](wire, wire.events())
    except OSError as error:
        say(f"error {error}")
    finally:
        sock.close()


def proxy(listener):
    """An HTTP proxy that knows CONNECT; each is told."""
    while True:
        near, _ = listener.accept()
        request = b""
        while b"\r\n\r\n" not in request:
            request += near.recv(4096)
        target = request.split(b" ")[1].decode()
        say(f"connect {target}")
        host, port = target.rsplit(":", 1)
        far = socket.create_connection((host if host != "peal.invalid" else "127.0.0.1", int(port)))
        near.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        for a, b in ((near, far), (far, near)):
            threading.Thread(target=pump, args=(a, b), daemon=True).start()


def pump(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def main():
    context = None
    if len(sys.argv) > 2:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    say(listener.getsockname()[1])
    if sys.argv[1:] == ["proxy"]:
        threading.Thread(target=proxy, args=(listener,), daemon=True).start()
    else:
        threading.Thread(target=accept, args=(listener, context), daemon=True).start()
    sys.stdin.read()


def accept(listener, context):
    while True:
        sock, _ = listener.accept()
        threading.Thread(target=serve, args=(sock, context), daemon=True).start()


main()
