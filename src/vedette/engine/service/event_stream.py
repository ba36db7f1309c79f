"""Events as they happen, for whoever follows them: a browser, a program.  A slow follower loses the oldest first."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

from vedette.contracts.events import Event

KEPT = 256  # events that wait for one follower


class StreamedEvent:
    """An event on its way to followers: it is written once, however many read it."""

    __slots__ = ("_text", "event")

    def __init__(self, event: Event) -> None:
        self.event = event
        self._text: str | None = None

    def written(self, write: Callable[[Event], str]) -> str:
        """By the first who asks; all followers write alike."""
        if self._text is None:
            self._text = write(self.event)
        return self._text


class EventStream:
    """Costs nothing while nobody follows, and next to nothing for events that no follower wants.

    Events may come from any thread.
    """

    def __init__(self) -> None:
        self._followers: set[Follower] = set()
        self.is_closed = False

    def emit(self, event: Event) -> None:
        wanting = [one for one in tuple(self._followers) if one.wants(event.name)]
        if wanting:
            told = StreamedEvent(event)
            for follower in wanting:
                follower.take(told)

    def close(self) -> None:
        """Every follower comes to its end."""
        self.is_closed = True
        for follower in tuple(self._followers):
            follower.take(None)

    def __len__(self) -> int:
        return len(self._followers)

    @contextmanager
    def follow(self, names: frozenset[str] | None = None) -> Iterator[Follower]:
        """Of these events, or of all.  Must be called in the event loop that reads it."""
        follower = Follower(asyncio.get_running_loop(), names)
        self._followers.add(follower)
        try:
            yield follower
        finally:
            self._followers.discard(follower)


class Follower:
    """What waits for one reader.  However much comes at once, its loop is woken once."""

    def __init__(self, loop: asyncio.AbstractEventLoop, names: frozenset[str] | None = None) -> None:
        self._loop, self._names = loop, names
        self._waiting: deque[StreamedEvent | None] = deque(maxlen=KEPT)
        self._has_news = asyncio.Event()
        self._is_woken = False

    def wants(self, name: str) -> bool:
        return self._names is None or name in self._names

    def take(self, event: StreamedEvent | None) -> None:
        self._waiting.append(event)
        if not self._is_woken:
            self._is_woken = True
            self._loop.call_soon_threadsafe(self._has_news.set)

    async def read(self, patience: float) -> AsyncIterator[StreamedEvent | None]:
        """Events until the stream is closed; None: nothing came for so many seconds."""
        while True:
            try:
                async with asyncio.timeout(patience):
                    await self._has_news.wait()
            except TimeoutError:
                yield None
                continue
            self._has_news.clear()
            self._is_woken = False  # before the events are taken: what comes from now on wakes again
            while self._waiting:
                event = self._waiting.popleft()
                if event is None:
                    return
                yield event
