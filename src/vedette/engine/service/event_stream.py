"""Events as they happen, for whoever follows them: a browser, a program.  A slow follower loses the oldest first."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import TypeVar

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
        self._followers: set[_Waker] = set()
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
        with self._followed(Follower(asyncio.get_running_loop(), names)) as follower:
            yield follower

    @contextmanager
    def count(self, names: frozenset[str] | None = None) -> Iterator[CountingFollower]:
        """The same for who wants to know how many came, and not what they say."""
        with self._followed(CountingFollower(asyncio.get_running_loop(), names)) as follower:
            yield follower

    @contextmanager
    def _followed(self, follower: _F) -> Iterator[_F]:
        self._followers.add(follower)
        try:
            yield follower
        finally:
            self._followers.discard(follower)


class _Waker:
    """One reader in its loop.  However much comes at once, the loop is woken once."""

    def __init__(self, loop: asyncio.AbstractEventLoop, names: frozenset[str] | None) -> None:
        self._loop, self._names = loop, names
        self._has_news = asyncio.Event()
        self._is_woken = False

    def wants(self, name: str) -> bool:
        return self._names is None or name in self._names

    def take(self, event: StreamedEvent | None) -> None:
        """None: the stream is closed."""
        raise NotImplementedError

    def _wake(self) -> None:
        if not self._is_woken:
            self._is_woken = True
            self._loop.call_soon_threadsafe(self._has_news.set)

    async def _has_come(self, patience: float) -> bool:
        """False: nothing, for so many seconds."""
        try:
            async with asyncio.timeout(patience):
                await self._has_news.wait()
        except TimeoutError:
            return False
        self._has_news.clear()
        self._is_woken = False  # before anything is taken: what comes from now on wakes again
        return True


class Follower(_Waker):
    """The events themselves, for one reader."""

    def __init__(self, loop: asyncio.AbstractEventLoop, names: frozenset[str] | None = None) -> None:
        super().__init__(loop, names)
        self._waiting: deque[StreamedEvent | None] = deque(maxlen=KEPT)

    def take(self, event: StreamedEvent | None) -> None:
        self._waiting.append(event)
        self._wake()

    async def read(self, patience: float) -> AsyncIterator[tuple[StreamedEvent, ...]]:
        """All that came since, until the stream is closed; nothing of them: it was quiet for so many seconds."""
        while True:
            some: list[StreamedEvent] = []
            if await self._has_come(patience):
                while self._waiting:
                    event = self._waiting.popleft()
                    if event is None:
                        if some:
                            yield tuple(some)
                        return
                    some.append(event)
            yield tuple(some)


class CountingFollower(_Waker):
    """How many came, by name, for one reader: told at most every `pace` seconds, however many there are."""

    def __init__(self, loop: asyncio.AbstractEventLoop, names: frozenset[str] | None = None) -> None:
        super().__init__(loop, names)
        self._counts: Counter[str] = Counter()
        self._lock = Lock()  # events come from any thread
        self._is_over = False

    def take(self, event: StreamedEvent | None) -> None:
        with self._lock:
            if event is None:
                self._is_over = True
            else:
                self._counts[event.event.name] += 1
        self._wake()

    async def read(self, patience: float, pace: float) -> AsyncIterator[Mapping[str, int]]:
        """Since it was read before, until the stream is closed; nothing in it: it was quiet for so many seconds."""
        while True:
            came: Counter[str] = Counter()
            is_over = False
            if await self._has_come(patience):
                with self._lock:
                    came, self._counts = self._counts, Counter()
                    is_over = self._is_over
            if came or not is_over:
                yield came
            if is_over:
                return
            await asyncio.sleep(pace if came else 0)


_F = TypeVar("_F", Follower, CountingFollower)
