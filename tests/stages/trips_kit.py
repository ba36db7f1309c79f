"""Round trips to PostgreSQL, counted on the wire."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from contextlib import suppress
from typing import Any


class TripCounter:
    """Between programs and the server: counts how often somebody waits for the server, and after which statement."""

    def __init__(self, server: str) -> None:
        self._socket = server.partition("host=")[2] + "/.s.PGSQL.5432"
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.trips = 0
        self.words: Counter[str] = Counter()
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, name: str) -> str:
        return f"postgresql://postgres:@127.0.0.1:{self._listening.getsockname()[1]}/{name}?sslmode=disable&gssencmode=disable"

    def reset(self) -> None:
        self.trips = 0
        self.words.clear()

    def _accept(self) -> None:
        while True:
            ours, _ = self._listening.accept()
            ours.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            theirs = socket.socket(socket.AF_UNIX)
            theirs.connect(self._socket)
            session = {"first": "", "names": {}, "left": 0, "head": b""}
            threading.Thread(target=self._up, args=(ours, theirs, session), daemon=True).start()
            threading.Thread(target=self._down, args=(theirs, ours, session), daemon=True).start()

    def _up(self, ours: socket.socket, theirs: socket.socket, session: dict[str, Any]) -> None:
        with suppress(OSError):
            while data := ours.recv(1 << 16):
                said = _first_statement(data, session["names"])
                session["first"] = session["first"] or said
                theirs.sendall(data)
        with suppress(OSError):
            theirs.shutdown(socket.SHUT_WR)

    def _down(self, theirs: socket.socket, ours: socket.socket, session: dict[str, Any]) -> None:
        with suppress(OSError):
            while data := theirs.recv(1 << 16):
                for _ in range(_ready(data, session)):
                    self.trips += 1
                    self.words[session["first"] or "nothing that is a statement"] += 1
                    session["first"] = ""
                ours.sendall(data)
        ours.close()


def _ready(data: bytes, session: dict[str, Any]) -> int:
    """How often the server says that it waits for us again (ReadyForQuery): once for each trip."""
    found, at = 0, min(session["left"], len(data))
    session["left"] -= at
    data, session["head"] = session["head"] + data[at:], b""
    at = 0
    while at < len(data):
        if len(data) - at < 5:
            session["head"] = data[at:]
            break
        found += data[at : at + 1] == b"Z"
        size = 1 + int.from_bytes(data[at + 1 : at + 5], "big")
        session["left"] = max(0, at + size - len(data))
        at += size
    return found


def _first_statement(data: bytes, names: dict[bytes, str]) -> str:
    """What a packet of the protocol begins with, as far as it can be told."""
    first, at = "", 0
    while at + 5 <= len(data):
        kind, size = data[at : at + 1], int.from_bytes(data[at + 1 : at + 5], "big")
        body = data[at + 5 : at + 1 + size]
        if kind == b"Q":
            first = first or body.rstrip(b"\0").decode("utf-8", "replace")
        elif kind == b"P":
            name, _, rest = body.partition(b"\0")
            names[name] = rest.partition(b"\0")[0].decode("utf-8", "replace")
            first = first or names[name]
        elif kind == b"B":
            name = body.partition(b"\0")[2].partition(b"\0")[0]
            first = first or names.get(name, "a statement of before")
        at += 1 + max(size, 4)
    return first
