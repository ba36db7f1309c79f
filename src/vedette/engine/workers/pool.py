"""A process beside the loop for pages that parse slowly.  It may die or hang; the loop does not."""

from __future__ import annotations

import asyncio
import io
import logging
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from vedette.core.limits.memory_budget import MARKUP
from vedette.engine.workers.answers import BadAnswer, Pipe, read_answer
from vedette.engine.workers.process import READY, Order
from vedette.engine.workers.turns import Rank, Turns, rank_of

_T = TypeVar("_T")
CPU_S = 10  # docs/politeness.md, like the memory below
WALL_S = (
    45.0  # only for what hangs without working: ten seconds of work take longer on a busy machine (ADR 0020)
)
MEMORY = MARKUP  # beyond what the program itself takes
LARGE = 1024 * 1024  # who read so much gives its memory back by ending
PROGRAM = (sys.executable, "-P", "-m", "vedette.engine.workers.process")
DEAD = (EOFError, OSError)  # what a pipe says whose process is gone
log = logging.getLogger(__name__)


class Workers:
    """Runs a pure function of bytes in another process, one at a time, within limits of time and memory."""

    def __init__(self, *, wall_s: float = WALL_S, cpu_s: int = CPU_S, memory: int = MEMORY) -> None:
        self._wall_s = wall_s
        self._cpu_s = cpu_s
        self._memory = memory
        self._turns = Turns()  # who waits here is not yet out of time
        self._worker: _Worker | None = None
        self._thread = ThreadPoolExecutor(1, "worker-pipe")  # waits for the worker, so that the loop need not

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
                done: _T | None = await self._run((function, args, self._cpu_s, memory or self._memory))
                return done
            finally:
                if size > LARGE:
                    self.close()

    async def _run(self, order: Order) -> Any:
        loop = asyncio.get_running_loop()
        worker, is_new = self._worker or _Worker(), self._worker is None
        self._worker = worker
        try:
            if is_new:
                await _heard(loop.run_in_executor(self._thread, worker.wait_for_start))
            answer = _heard(loop.run_in_executor(self._thread, worker.ask, order))
            is_done, value = await asyncio.wait_for(answer, self._wall_s)
        except BadAnswer as why:
            log.warning("a worker answered what our code does not say and was ended: %s", why)
            self.close()
            return None
        except (TimeoutError, *DEAD):
            self.close()
            return None
        if is_done:
            return value
        if isinstance(value, MemoryError):
            self.close()
            return None
        raise value

    def close(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()
            self._thread.submit(worker.bury)


class _Worker:
    """One process and the pipes to it."""

    def __init__(self) -> None:
        with _deaf_to_ctrl_c():
            self._process = subprocess.Popen(  # noqa: S603  ourselves
                PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        self._is_killed = False
        assert self._process.stdin is not None  # noqa: S101  both were asked for
        assert self._process.stdout is not None  # noqa: S101
        self._orders = Pipe(self._process.stdin.fileno(), lambda: self._is_killed)
        self._answers = Pipe(self._process.stdout.fileno(), lambda: self._is_killed)

    def wait_for_start(self) -> None:
        """Its start is not the time of the work.  It finds modules where we do."""
        self._send(sys.path)
        if self._answers.read(1) != READY:
            raise EOFError

    def ask(self, order: Order) -> tuple[bool, Any]:
        self._send(order)
        return read_answer(self._answers)

    def _send(self, what: Any) -> None:
        orders = io.BufferedWriter(self._orders)
        try:
            pickle.dump(what, orders, pickle.HIGHEST_PROTOCOL)
            orders.flush()
        finally:
            orders.detach()

    def kill(self) -> None:
        """Its pipes say so to the thread that waits for it."""
        self._is_killed = True
        self._process.kill()

    def bury(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):  # an order that was on its way
                    pipe.close()
        self._process.wait()


def _heard(future: asyncio.Future[Any]) -> asyncio.Future[Any]:
    """What nobody waits for any more still fails when its process is killed; that is no news.

    Shielded: who gives up waiting does not take the thread away that waits for the pipe.
    """
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return asyncio.shield(future)


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """A terminal sends Ctrl-C to every process of the program.  Who starts in here inherits that it is blocked: the
    engine decides when its worker ends."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
