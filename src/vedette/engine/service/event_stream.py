"""Events as they happen, for whoever follows them: a browser, a program.  A slow follower loses the oldest first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

from vedette.contracts.events import Event

KEPT = 256  # events that wait for one follower


class EventStream:
    """Costs nothing while nobody follows.  Events may come from any thread."""

    def __init__(self) -> None:
        self._followers: set[Follower] = set()
        self.is_closed = False

    def emit(self, event: Event) -> None:
        for follower in tuple(self._followers):
            follower.take(event)

    def close(self) -> None:
        """Every follower comes to its end."""
        self.is_closed = True
        for follower in tuple(self._followers):
            follower.take(None)

    def __len__(self) -> int:
        return len(self._followers)

    @contextmanager
    def follow(self) -> Iterator[Follower]:
        """Must be called in the event loop that reads it."""
        follower = Follower(asyncio.get_running_loop())
        self._followers.add(follower)
        try:
            yield follower
        finally:
            self._followers.discard(follower)


class Follower:
    """What waits for one reader."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: asyncio.Queue[Event | None] = asyncio.Queue()

    def take(self, event: Event | None) -> None:
        self._loop.call_soon_threadsafe(self._put, event)

    async def read(self, patience: float) -> AsyncIterator[Event | None]:
        """Events until the stream is closed; None: nothing came for so many seconds."""
        while True:
            try:
                async with asyncio.timeout(patience):
                    event = await self._waiting.get()
            except TimeoutError:
                yield None
                continue
            if event is None:
                return
            yield event

    def _put(self, event: Event | None) -> None:
        if self._waiting.qsize() >= KEPT:
            self._waiting.get_nowait()
        self._waiting.put_nowait(event)
