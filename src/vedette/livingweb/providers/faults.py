"""The connection of a provider, and its faults by name: a row of `FAULTS` is one way to fail, as real providers do."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

from vedette.livingweb.providers.bodies import Told, Trouble, answer, trouble
from vedette.livingweb.wire import MAX_HEAD, RESET

MAX_BODY = 1 << 20
KEEP, CLOSE, CUT, SILENT = "keep", "close", "cut", "silent"  # what happens to the line after an answer


class Asked(NamedTuple):
    method: bytes
    target: str
    headers: dict[bytes, bytes]
    body: bytes


class Played(NamedTuple):
    """Those bytes after that many seconds, and then `ending`."""

    data: bytes
    delay: float = 0.0
    ending: str = KEEP


class Line(asyncio.Protocol):
    """HTTP/1.1 as far as clients of providers speak it: Content-Length, no chunks, no pipelining."""

    __slots__ = ("_answer", "_done", "_is_busy", "_lines", "_rest", "_transport")

    def __init__(self, answer: Callable[[Asked], Played], done: Callable[[], None], lines: set[Line]) -> None:
        self._answer = answer
        self._done = done
        self._lines = lines
        self._rest = b""
        self._is_busy = False
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one by behaviour, not by class
        self._lines.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lines.discard(self)
        self._transport = None
        if self._is_busy:
            self._is_busy = False
            self._done()

    def data_received(self, data: bytes) -> None:
        self._rest = self._rest + data if self._rest else data
        while self._rest and not self._is_busy and self._transport is not None:
            asked = self._next()
            if asked is None:
                return
            self._is_busy = True
            played = self._answer(asked)
            if played.delay > 0:
                asyncio.get_running_loop().call_later(played.delay, self._finish, played)
            else:
                self._write(played)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _next(self) -> Asked | None:
        """The first request that is here whole."""
        end = self._rest.find(b"\r\n\r\n")
        if end < 0:
            if len(self._rest) > MAX_HEAD:
                self.close()
            return None
        first, *lines = self._rest[:end].split(b"\r\n")
        method, _, rest = first.partition(b" ")
        headers = {}
        for line in lines:
            name, _, value = line.partition(b":")
            headers[name.lower()] = value.strip()
        length = headers.get(b"content-length", b"0")
        size = int(length) if length.isdigit() else MAX_BODY + 1
        if size > MAX_BODY:
            self.close()
            return None
        whole = end + 4 + size
        if len(self._rest) < whole:
            return None
        body, self._rest = self._rest[end + 4 : whole], self._rest[whole:]
        return Asked(method, rest.partition(b" ")[0].decode("latin-1"), headers, body)

    def _finish(self, played: Played) -> None:
        if self._is_busy:
            self._write(played)
            self.data_received(b"")

    def _write(self, played: Played) -> None:
        transport = self._transport
        if transport is None or played.ending == SILENT:
            return
        self._is_busy = False
        self._done()
        if played.data:
            transport.write(played.data)
        if played.ending == CUT:
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            transport.abort()
        elif played.ending == CLOSE:
            transport.close()


JSON, HTML = b"application/json", b"text/html; charset=utf-8"
REASONS = {
    200: b"OK", 307: b"Temporary Redirect", 400: b"Bad Request", 401: b"Unauthorized",
    402: b"Payment Required", 403: b"Forbidden", 404: b"Not Found", 429: b"Too Many Requests",
    500: b"Internal Server Error", 502: b"Bad Gateway", 503: b"Service Unavailable", 529: b"Overloaded",
}  # fmt: skip
REFUSALS = (
    "I'm sorry, but I can't assist with that request.",
    "Žao mi je, ali ne mogu pomoći s tim zahtjevom.",
)
OFF_TOPIC = "Bananas ripen faster in a closed paper bag because the gas they give off cannot leave it."
CANNED = "This subject is widely known and many people have written a great deal about it over the years."


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What a fault can play with: the right answer, and what stands around it."""

    format: str
    told: Told
    key: str
    delay: float
    limits: bytes  # header lines
    wait: float = 2.0  # what a Retry-After would say
    is_croatian: bool = False


def reply(status: int, body: bytes, head: bytes = b"", kind: bytes = JSON) -> bytes:
    """A whole HTTP answer."""
    return b"HTTP/1.1 %d %b\r\nContent-Type: %b\r\n%bContent-Length: %d\r\n\r\n%b" % (
        status, REASONS[status], kind, head, len(body), body,
    )  # fmt: skip


def good(scene: Scene) -> Played:
    return Played(reply(200, answer(scene.format, scene.told), scene.limits), scene.delay)


def troubled(scene: Scene, kind: str, words: str, *, waits: bool = False) -> Played:
    """An error in the provider's own format; `waits`: with Retry-After."""
    wait = scene.wait if waits else None
    status, body = trouble(scene.format, Trouble(kind=kind, words=words, retry_in=wait))
    head = b"retry-after: %d\r\n" % max(1, round(scene.wait)) if waits and scene.format != "gemini" else b""
    return Played(reply(status, body, scene.limits + head), scene.delay / 4)


def _trouble(kind: str, words: str, *, waits: bool = False) -> Callable[[Scene], Played]:
    return lambda scene: troubled(scene, kind, words, waits=waits)


def _saying(text: str, finish: str = "stop") -> Callable[[Scene], Played]:
    return lambda scene: good(replace(scene, told=replace(scene.told, text=text, finish=finish)))


def _refusal(scene: Scene) -> Played:
    return _saying(REFUSALS[scene.is_croatian])(scene)


def _cut_short(scene: Scene) -> Played:
    text = scene.told.text
    return _saying(text[: len(text) * 2 // 3], "length")(scene)


def _page(status: int, text: bytes) -> Callable[[Scene], Played]:
    body = b"<html><head><title>%b</title></head><body><h1>%b</h1></body></html>" % (text, text)
    return lambda scene: Played(reply(status, body, kind=HTML), scene.delay / 4)


def _truncated(scene: Scene) -> Played:
    data = good(scene).data
    return Played(data[: len(data) - len(data) // 4], scene.delay, CLOSE)


def _malformed(scene: Scene) -> Played:
    body = answer(scene.format, scene.told)
    return Played(reply(200, body[: len(body) // 2], scene.limits), scene.delay)


def _without_usage(scene: Scene) -> Played:
    """A good answer that does not say what it cost, as proxies and self-hosted servers give it."""
    body = json.loads(answer(scene.format, scene.told))
    for name in ("usage", "usageMetadata"):
        body.pop(name, None)
    return Played(reply(200, json.dumps(body).encode(), scene.limits), scene.delay)


def _said(body: bytes) -> Callable[[Scene], Played]:
    return lambda scene: Played(reply(200, body, scene.limits), scene.delay)


def _redirect(scene: Scene) -> Played:
    return Played(reply(307, b"", b"Location: http://127.9.9.9/v1/elsewhere\r\n"), scene.delay / 4)


def _echo_key(scene: Scene) -> Played:
    masked = f"{scene.key[:8]}***{scene.key[-6:]}"
    return troubled(
        scene, "auth", f"Incorrect API key provided: {scene.key} ({masked}). Find yours at /keys."
    )


def _echo_header(scene: Scene) -> Played:
    """As debugging proxies do: the headers that came, in the words of a server error."""
    words = f"upstream failed; headers: Authorization: Bearer {scene.key}; x-api-key={scene.key}"
    return troubled(scene, "server_error", words)


def _echo_in_answer(scene: Scene) -> Played:
    told = replace(scene.told, text=f"{scene.told.text} key={scene.key}", model=f"m-{scene.key}")
    return good(replace(scene, told=replace(told, citations=(f"https://x.example/?k={scene.key}",))))


FAULTS: dict[str, Callable[[Scene], Played]] = {
    "throttled": _trouble("throttled", "Rate limit reached for requests.", waits=True),
    "throttled_bare": _trouble("throttled", "Rate limit reached for requests."),
    "quota": _trouble("quota", "You exceeded your current quota: the credit balance is too low."),
    "balance": _trouble("balance", "Insufficient Balance"),
    "auth": _trouble("auth", "Incorrect API key provided."),
    "forbidden": _trouble("forbidden", "Your key may not use this."),
    "refused": _trouble("refused", "Rejected: the request violates our content policy (content_filter)."),
    "server_error": _trouble("server_error", "The server had an error while processing your request."),
    "overloaded": _trouble("overloaded", "The model is overloaded. Please try again later."),
    "bad_gateway": _page(502, b"502 Bad Gateway"),
    "unavailable": _page(503, b"503 Service Temporarily Unavailable"),
    "wrong_type": _page(200, b"Sign in to continue"),
    "slow": lambda scene: good(replace(scene, delay=scene.delay * 8)),
    "hang": lambda scene: Played(b"", 0.0, SILENT),
    "closed": lambda scene: Played(b"", 0.0, CLOSE),
    "reset": lambda scene: Played(b"", 0.0, CUT),
    "truncated": _truncated,
    "malformed": _malformed,
    "empty_body": _said(b""),
    "not_an_object": _said(b"[1, 2, 3]"),
    "no_fields": _said(b'{"ok": true}'),
    "redirect": _redirect,
    "filtered": lambda scene: good(replace(scene, told=replace(scene.told, text="", finish="filter"))),
    "empty_text": _saying(""),
    "refusal": _refusal,
    "cut_short": _cut_short,
    "off_topic": _saying(OFF_TOPIC),
    "canned": _saying(CANNED),
    "no_usage": _without_usage,
    "no_model": _trouble("no_model", "The model does not exist or you do not have access to it."),
    "echo_key": _echo_key,
    "echo_header": _echo_header,
    "echo_in_answer": _echo_in_answer,
}
