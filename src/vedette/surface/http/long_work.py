"""Work that takes longer than a page may: how far it is, how long it will take, and an end to it.

The work runs in a thread of its own and tells its progress; whoever opens its page again sees how far it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from starlette.requests import Request

from vedette.contracts.errors import VedetteError

THREADS = 2
PATIENCE_S = 1.0  # that the first page waits: most work is done by then
LASTS_S = 120.0  # that a result is shown again instead of being worked out anew
MOST_KEPT = 30
CANCELLED = "cancelled"  # `done` of the page that follows
Progress = Callable[[int, int], None]


class WorkCancelled(Exception):
    """Somebody said that it need not be done."""


@dataclass(slots=True)
class LongWork:
    """One piece of work and what is known of it."""

    key: str
    title: str
    end: Callable[[], None] | None = None  # ends what does not look at `is_cancelled`
    clock: Callable[[], float] = lambda: 0.0  # of the event loop; set when it begins
    began: float = 0.0
    ended: float | None = None
    done: int = 0
    whole: int = 0
    result: Any = None
    error: VedetteError | None = None
    is_cancelled: bool = False
    future: Future[None] | None = None

    def progress(self, done: int, whole: int) -> None:
        """Told by the work; raises where nobody waits for it any more."""
        if self.is_cancelled:
            raise WorkCancelled
        self.done, self.whole = done, whole

    @property
    def is_running(self) -> bool:
        return self.ended is None and not self.is_cancelled

    @property
    def left(self) -> timedelta | None:
        """How long it will take at this pace; None: nothing can be said yet."""
        taken = self.clock() - self.began
        if not self.done or not self.whole or self.done > self.whole:
            return None
        return timedelta(seconds=taken * (self.whole - self.done) / self.done)

    def cancel(self) -> None:
        self.is_cancelled = True
        if self.end is not None:
            self.end()


@dataclass(slots=True)
class WorkBoard:
    """All long work of a server."""

    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(THREADS, "vedette-work"))
    _by_key: dict[str, LongWork] = field(default_factory=dict)

    async def begun(self, work: LongWork, call: Callable[[Progress], Any], request: Request) -> LongWork:
        """What is under way or was done a moment ago with this key, else this one.  Waits a moment for it.

        Whoever comes from cancelling it sees that, and begins nothing.
        """
        known = self._by_key.get(work.key)
        if known is not None and known.is_cancelled and request.query_params.get("done") == CANCELLED:
            return known
        if known is None or not self._is_fresh(known):
            known = self._start(work, call)
        if known.future is not None and known.is_running:
            await asyncio.wait([asyncio.wrap_future(known.future)], timeout=PATIENCE_S)
        return known

    def of(self, key: str) -> LongWork | None:
        return self._by_key.get(key)

    def forget(self, key: str) -> None:
        """A result that holds no more."""
        known = self._by_key.get(key)
        if known is not None and not known.is_running:
            del self._by_key[key]

    def close(self) -> None:
        for one in self._by_key.values():
            one.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _is_fresh(self, one: LongWork) -> bool:
        if one.is_running:
            return True
        is_good = one.error is None and not one.is_cancelled
        return is_good and one.ended is not None and one.clock() - one.ended < LASTS_S

    def _start(self, work: LongWork, call: Callable[[Progress], Any]) -> LongWork:
        if len(self._by_key) >= MOST_KEPT:
            over = [key for key, one in self._by_key.items() if not one.is_running]
            for key in over:
                del self._by_key[key]
        work.clock = asyncio.get_running_loop().time
        work.began = work.clock()
        self._by_key[work.key] = work
        work.future = self._pool.submit(_work, work, call)
        return work


def _work(work: LongWork, call: Callable[[Progress], Any]) -> None:
    try:
        work.result = call(work.progress)
    except WorkCancelled:
        work.is_cancelled = True
    except VedetteError as error:
        work.error = error
    finally:
        work.ended = work.clock()
