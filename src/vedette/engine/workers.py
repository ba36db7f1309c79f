"""A process beside the loop for pages that parse slowly.  It may die or hang; the loop does not."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from typing import Any, TypeVar

_T = TypeVar("_T")
WALL_S = 15.0  # DESIGN section 8


class Workers:
    """Runs a pure function of bytes in another process, one at a time, within a time limit."""

    def __init__(self, *, wall_s: float = WALL_S) -> None:
        self._wall_s = wall_s
        self._turn = asyncio.Semaphore(1)  # who waits here is not yet out of time
        self._pool: ProcessPoolExecutor | None = None

    async def run(self, function: Callable[..., _T], *args: Any) -> _T | None:
        """None: it took too long or its process died."""
        async with self._turn:
            if self._pool is None:
                spawn = multiprocessing.get_context("spawn")
                self._pool = ProcessPoolExecutor(1, mp_context=spawn, initializer=_end_with_the_engine)
            future = asyncio.get_running_loop().run_in_executor(self._pool, function, *args)
            try:
                # Shielded: a future that was cancelled under its pool makes the pool's own thread raise.
                return await asyncio.wait_for(asyncio.shield(future), self._wall_s)
            except (TimeoutError, BrokenExecutor):
                self.close()
                return None

    def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is None:
            return
        for process in list((pool._processes or {}).values()):
            process.kill()
        pool.shutdown(wait=False)


def _end_with_the_engine() -> None:
    """In the worker: a killed engine says no goodbye, and its worker would wait for work for ever."""
    engine = multiprocessing.parent_process()
    if engine is not None:
        threading.Thread(target=_outlive, args=(engine,), daemon=True).start()


def _outlive(engine: Any) -> None:
    engine.join()
    os._exit(0)
