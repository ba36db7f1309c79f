"""Our half of a line: aiohttp's protocol, made stricter where a hostile far end gains from laxness.

It leans on names that aiohttp does not promise to keep (`_parser`, `_payload`, `_tail`, `_read_timeout`,
`_reschedule_timeout`, `_drop_timeout`); `tests/stages/test_fetch_hostile.py` and `tests/stages/test_fetch_lines.py`
turn red when one of them moves.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from aiohttp import ClientConnectionResetError, StreamReader
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_parser import RawResponseMessage

from vedette.contracts.fetch import MIB

HEAD_ROOM = 2 * MIB  # raw bytes until the caller says how much body it wants
INTERIM_ANSWERS = 16  # 100 Continue, 103 Early Hints
BLANK_HEADS = 4  # ends of a head with no head before them
Stopwatch = Callable[[], timedelta]
_END_OF_HEAD = b"\r\n\r\n"
_NO_CAUSE = Exception()


class FarEnd(ResponseHandler):
    """aiohttp's half of one connection, and what it is strict about.

    - A broken body fails the reader at once; aiohttp alone lets it wait for the total deadline.
    - The head is parsed before the bytes behind it: junk after an answer spoils the line, not the answer.
    - Bytes that nobody asked for close the line, so they can never be taken for the next answer.
    - Framing (chunk extensions, interim answers) is counted, so it cannot flow for ever without a body.

    aiohttp sets a timer anew for every piece that comes.  Here a timer that rings asks whether time is up.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.address = ""
        self.cut_by: BaseException | None = None
        self._room = HEAD_ROOM
        self._interim = 0
        self._heads = 0
        self._is_answered = False
        self._is_over = False
        self._is_awaited = False  # the far end has to say something
        self._heard_at = 0.0
        self._head_by = math.inf
        self._rings_at = math.inf
        self._timer_handle: asyncio.TimerHandle | None = None

    def allow(self, size: int) -> None:
        """How many more raw bytes this answer may take."""
        self._room = size

    def say(self, request: bytes, waited: Stopwatch, head_by: float = math.inf) -> timedelta:
        """Puts a whole request on the line.  It is on record before: a kill in between forgets no question.

        `head_by`: the time of the loop at which the head of the answer must be here.
        """
        transport = self.transport
        if transport is None or transport.is_closing():
            raise ClientConnectionResetError("Cannot write to closing transport")
        sent_after = waited()
        transport.write(request)
        self._head_by = head_by
        self._reschedule_timeout()
        return sent_after

    async def answer(self) -> tuple[RawResponseMessage, StreamReader]:
        """The head of the answer and its body, which may still be coming."""
        while True:
            message, content = await self.read()
            if not 100 <= message.code < 200 or message.code == 101:
                return message, content

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        self.address = peer[0] if peer else ""

    def connection_lost(self, exc: BaseException | None) -> None:
        self.cut_by = exc
        if self._timer_handle is not None:
            self._timer_handle.cancel()
        super().connection_lost(exc)

    def set_response_params(self, **params: Any) -> None:
        self._room = HEAD_ROOM
        self._interim = 0
        self._heads = 0
        self._is_answered = False
        early, self._tail = self._tail, b""
        super().set_response_params(**params)
        if early:  # after the request is out, or aiohttp blames the line for what was said on it
            self._loop.call_soon(self.data_received, early)

    def feed_data(self, data: Any, size: int = 0) -> None:
        """One parsed head.  The first that is not interim is the answer; there is no second."""
        if self._is_answered:
            self.force_close()
            return
        code = data[0].code
        if 100 <= code < 200 and code != 101:
            self._interim += 1
            if self._interim > INTERIM_ANSWERS:
                self._fail("more interim answers than anyone needs")
                return
        else:
            self._is_answered = True
            self._head_by = math.inf
        super().feed_data(data, size)

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            return
        if data and self._is_answered and (self._payload is None or self._payload.is_eof()):
            self._drop()
            return
        self._room -= len(data)
        if self._room < 0:
            self._fail("more bytes than the answer can be worth")
            return
        start = 0
        while self._awaits_head():
            end = data.find(_END_OF_HEAD, start)
            if end < 0:
                break
            self._heads += 1
            if self._heads > INTERIM_ANSWERS + BLANK_HEADS:
                self._fail("blank lines where an answer should be")
                return
            super().data_received(data[start : end + len(_END_OF_HEAD)])
            start = end + len(_END_OF_HEAD)
        if start == 0:
            super().data_received(data)
        elif start < len(data) and self.transport is not None and not self._is_over:
            super().data_received(data[start:])

    def set_exception(self, exc: BaseException, exc_cause: BaseException = _NO_CAUSE) -> None:
        payload = self._payload
        if exc_cause is _NO_CAUSE:
            super().set_exception(exc)
        else:
            super().set_exception(exc, exc_cause)
        if payload is not None and not payload.is_eof() and payload.exception() is None:
            payload.set_exception(exc)

    def _reschedule_timeout(self) -> None:
        """Something was said, or heard: from here on it counts how long nothing is heard."""
        self._is_awaited = True
        self._heard_at = self._loop.time()
        rings_at = self._time_is_up_at()
        if self._timer_handle is None or rings_at < self._rings_at:
            self._ring_at(rings_at)

    def _drop_timeout(self) -> None:
        self._is_awaited = False

    def _time_is_up_at(self) -> float:
        is_timed = self._is_awaited and self._read_timeout
        return min(self._heard_at + (self._read_timeout or 0.0), self._head_by) if is_timed else self._head_by

    def _ring_at(self, when: float) -> None:
        if self._timer_handle is not None:
            self._timer_handle.cancel()
        self._rings_at = when
        self._timer_handle = None if when == math.inf else self._loop.call_at(when, self._ring)

    def _ring(self) -> None:
        self._timer_handle = None
        up_at, now = self._time_is_up_at(), self._loop.time()
        if now < up_at:
            self._ring_at(up_at)
        elif now >= self._head_by:
            self.set_exception(TimeoutError())
        else:
            self._on_read_timeout()

    def _awaits_head(self) -> bool:
        is_open = self.transport is not None and not self._is_over
        return is_open and not self._is_answered and self._parser is not None

    def _fail(self, words: str) -> None:
        self.set_exception(HttpProcessingError(code=400, message=words))
        self._drop()

    def _drop(self) -> None:
        self._is_over = True  # what is already in our hands is not worth parsing
        self.force_close()
        if self.transport is not None:
            self.transport.abort()
