"""A WebSocket over a plain socket, with the protocol of PyPI's websockets and every byte under control."""

import socket
import ssl


class Wire:
    """A socket, a websockets protocol, and how many bytes go into one write."""

    def __init__(self, sock, protocol, step=None):
        self.sock = sock
        self.protocol = protocol
        self.step = step
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def flush(self):
        """Sends what the protocol wants to say."""
        for data in self.protocol.data_to_send():
            if data == b"":
                if not isinstance(self.sock, ssl.SSLSocket):
                    self.sock.shutdown(socket.SHUT_WR)
            elif self.step is None:
                self.sock.sendall(data)
            else:
                for start in range(0, len(data), self.step):
                    self.sock.sendall(data[start : start + self.step])

    def events(self):
        """Yields what comes in until the end of the connection."""
        while True:
            yield from self.protocol.events_received()
            try:
                data = self.sock.recv(65536)
            except (ConnectionResetError, ssl.SSLError):
                data = b""
            if data:
                self.protocol.receive_data(data)
            else:
                self.protocol.receive_eof()
            try:
                self.flush()
            except OSError:
                pass
            if not data:
                yield from self.protocol.events_received()
                return


class Messages:
    """Puts frames together."""

    def __init__(self, events):
        self.events = events

    def __iter__(self):
        parts = []
        for event in self.events:
            opcode = getattr(event, "opcode", None)
            if opcode is None or opcode.name not in ("TEXT", "BINARY", "CONT"):
                continue
            parts.append(event.data)
            if event.fin:
                yield b"".join(parts)
                parts = []


def closing(protocol):
    """The close that came in, as text."""
    frame = protocol.close_rcvd
    return "no close" if frame is None else f"{frame.code} {frame.reason}"
