"""Tells someone who may not listen: whoever tells never waits, and what is not taken is replaced by what is newer."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Generic, TypeVar

LAST = 1.0  # seconds that the end waits for a reader who takes his time

_Told = TypeVar("_Told")


class ProgressWriter(Generic[_Told]):
    """Calls `do` in a thread of its own: a pipe that nobody reads, or a stopped terminal, holds up nothing else."""

    def __init__(self, do: Callable[[_Told], None], *, most: int = 1) -> None:
        self._do = do
        self._waiting: deque[_Told] = deque(maxlen=most)
        self._news = threading.Condition()
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="teller", daemon=True)
        self._thread.start()

    def tell(self, value: _Told) -> None:
        """At once; the oldest of more than `most` that wait is forgotten."""
        with self._news:
            self._waiting.append(value)
            self._news.notify()

    def close(self) -> None:
        with self._news:
            self._is_closing = True
            self._news.notify()
        self._thread.join(LAST)

    def _run(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._waiting or self._is_closing)
                if not self._waiting:
                    return
                value = self._waiting.popleft()
            with suppress(OSError, ValueError):  # nobody is there any more
                self._do(value)


@contextmanager
def telling(do: Callable[[_Told], None], *, most: int = 1) -> Iterator[Callable[[_Told], None]]:
    writer = ProgressWriter(do, most=most)
    try:
        yield writer.tell
    finally:
        writer.close()
