"""A process beside the loop for pages that parse slowly.  It may die or hang; the loop does not."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from vedette.core.memory_budget import MARKUP
from vedette.engine.turns import Rank, Turns, rank_of

_T = TypeVar("_T")
CPU_S = 10  # DESIGN section 8, like the memory below
WALL_S = (
    45.0  # only for what hangs without working: ten seconds of work take longer on a busy machine (ADR 0020)
)
MEMORY = MARKUP  # beyond what the program itself takes
SPACE = 1536 * 1024 * 1024  # of addresses: libraries map more than they use
LARGE = 1024 * 1024  # who read so much gives its memory back by ending


class Workers:
    """Runs a pure function of bytes in another process, one at a time, within limits of time and memory."""

    def __init__(self, *, wall_s: float = WALL_S, cpu_s: int = CPU_S, memory: int = MEMORY) -> None:
        self._wall_s = wall_s
        self._cpu_s = cpu_s
        self._memory = memory
        self._turns = Turns()  # who waits here is not yet out of time
        self._pool: ProcessPoolExecutor | None = None

    async def run(
        self,
        function: Callable[..., _T],
        *args: Any,
        size: int = 0,
        rank: Rank | None = None,
        memory: int = 0,
    ) -> _T | None:
        """None: it needed too much time or memory, or its process died.

        `size`: of what is read; it says whose turn it is, unless `rank` does.
        """
        async with self._turns.take(rank_of(size) if rank is None else rank):
            try:
                return await self._run(memory or self._memory, function, *args)
            finally:
                if size > LARGE and not self._turns.is_awaited:
                    self.close()

    async def _run(self, memory: int, function: Callable[..., _T], *args: Any) -> _T | None:
        loop = asyncio.get_running_loop()
        if self._pool is None:
            spawn = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, mp_context=spawn, initializer=_end_with_the_engine)
            with _deaf_to_ctrl_c():
                started = loop.run_in_executor(self._pool, os.getpid)
            await started  # its start is not the time of the work
        future = loop.run_in_executor(self._pool, _within, self._cpu_s, memory, function, *args)
        future.add_done_callback(_heard)
        try:
            # Shielded: a future that was cancelled under its pool makes the pool's own thread raise.
            return await asyncio.wait_for(asyncio.shield(future), self._wall_s)
        except (TimeoutError, BrokenExecutor, MemoryError):
            self.close()
            return None

    def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is None:
            return
        for process in list((pool._processes or {}).values()):
            process.kill()
        pool.shutdown(wait=False)


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """A terminal sends Ctrl-C to every process of the program.  Who starts in here inherits that it is blocked: the
    engine decides when its worker ends."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _heard(future: asyncio.Future[Any]) -> None:
    """What nobody waits for any more still fails when its process is killed; that is no news."""
    if not future.cancelled():
        future.exception()


def _within(cpu_s: int, memory: int, function: Callable[..., _T], *args: Any) -> _T:
    """In the worker: the function's own module is loaded by now, so what is counted is what the work takes."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = int(used.ru_utime + used.ru_stime) + 1
    _lower(resource.RLIMIT_CPU, spent + cpu_s)  # SIGXCPU ends the process
    _lower(resource.RLIMIT_AS, _pages("size") + SPACE)
    _lower(resource.RLIMIT_DATA, _pages("data") + memory)  # what is written to; not the code of a library
    return function(*args)


def _lower(what: int, limit: int) -> None:
    _, most = resource.getrlimit(what)
    resource.setrlimit(what, (limit if most == resource.RLIM_INFINITY else min(limit, most), most))


def _pages(what: str) -> int:
    """Of this process, in bytes: its address space, or what of it is private and can be written to."""
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[0 if what == "size" else 5]) * resource.getpagesize()


def _end_with_the_engine() -> None:
    """In the worker: a killed engine says no goodbye, and its worker would wait for work for ever."""
    engine = multiprocessing.parent_process()
    if engine is not None:
        threading.Thread(target=_outlive, args=(engine,), daemon=True).start()


def _outlive(engine: Any) -> None:
    engine.join()
    os._exit(0)
