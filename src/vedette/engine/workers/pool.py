"""A process beside the loop for pages that parse slowly, and whose turn it is.  It may hang; the loop does not."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import fcntl
import io
import logging
import os
import pickle
import select
import signal
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from enum import IntEnum
from typing import Any, TypeVar

from vedette.contracts.errors import VedetteError
from vedette.core.limits.memory_budget import MARKUP
from vedette.engine.workers.process import READY, Order

# Turns at the one worker: who began goes on, small work passes large, and large work is not forgotten.

SMALL = 1024 * 1024  # bytes to read
IN_A_ROW = 4  # small ones while a large one waits


class Rank(IntEnum):
    BEGUN = 0  # the second step of a look whose body is in memory already
    SMALL = 1
    LARGE = 2


class Turns:
    def __init__(self) -> None:
        self._lines: dict[Rank, deque[asyncio.Future[None]]] = {rank: deque() for rank in Rank}
        self._is_taken = False
        self._in_a_row = 0

    @asynccontextmanager
    async def take(self, rank: Rank) -> AsyncIterator[None]:
        """One at a time."""
        if self._is_taken:
            turn = asyncio.get_running_loop().create_future()
            self._lines[rank].append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.cancelled():
                    self._lines[rank].remove(turn)
                else:
                    self._next()
                raise
        self._is_taken = True
        try:
            yield
        finally:
            self._next()

    def _next(self) -> None:
        self._is_taken = False
        rank = self._chosen()
        if rank is None:
            return
        self._in_a_row = self._in_a_row + 1 if rank is Rank.SMALL else 0
        self._is_taken = True
        self._lines[rank].popleft().set_result(None)

    def _chosen(self) -> Rank | None:
        waiting = [rank for rank in Rank if self._lines[rank]]
        if Rank.LARGE in waiting and Rank.BEGUN not in waiting and self._in_a_row >= IN_A_ROW:
            return Rank.LARGE
        return waiting[0] if waiting else None


def rank_of(size: int) -> Rank:
    return Rank.LARGE if size > SMALL else Rank.SMALL


# What a worker may answer: plain values and frozen values of ours, and not one byte more than the limit.
#
# A hostile body may take over the process that reads it, and a pickle can name any function.  So only the classes
# below are found, making one does nothing else, and a pipe is never waited for once its process is ended.

MOST = 64 * 1024 * 1024  # bytes of one answer: the largest page that is drawn for OCR, and some room
VALUES = "vedette.contracts."  # its modules hold frozen values and do nothing
TIMES = frozenset({"date", "datetime", "timedelta", "timezone"})
BUFFER = 64 * 1024
PIPE = 1024 * 1024  # what a pipe holds: fewer turns between the processes
GLANCE_MS = 500  # how long a pipe is waited for before asking whether its process is still wanted


class BadAnswer(Exception):
    """The answer is not one that our own code gives.  The message says why."""


def read_answer(pipe: Pipe) -> tuple[bool, Any]:
    """True and a value, or False and an exception.  EOFError: the process is gone."""
    pipe.left, reader = MOST, io.BufferedReader(pipe, BUFFER)
    try:
        answer = _Values(reader).load()
    except (EOFError, OSError, BadAnswer):
        raise
    except Exception as error:  # noqa: BLE001  bytes of another can make the reader say anything
        if pipe.is_at_end:
            raise EOFError from None
        raise BadAnswer(f"{type(error).__name__}: {error}"[:200]) from None
    finally:
        reader.detach()
    if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[0], bool):
        is_done, value = answer
        if is_done or isinstance(value, Exception):
            return is_done, value
    raise BadAnswer("it is neither a value nor an error")


class Pipe(io.RawIOBase):
    """One end of a pipe to a process that may be taken over: it can be given up, and says only so much.

    The process may have left its own end to another, so that its death alone does not end the wait.
    """

    def __init__(self, fd: int, is_given_up: Callable[[], bool]) -> None:
        os.set_blocking(fd, False)
        with suppress(OSError):  # a user has room for so many; a small pipe is only slower
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE)
        self._fd = fd
        self._is_given_up = is_given_up
        self._ready = select.poll()
        self._ready.register(fd, select.POLLIN | select.POLLOUT)
        self.left = MOST
        self.is_at_end = False

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._when_ready(lambda: os.readv(self._fd, [buffer]))
        self.is_at_end = not count
        self.left -= count
        if self.left < 0:
            raise BadAnswer(f"it has more than {MOST} bytes")
        return count

    def write(self, data: Any) -> int:
        return self._when_ready(lambda: os.write(self._fd, data))

    def _when_ready(self, move: Callable[[], int]) -> int:
        while True:
            try:
                return move()
            except BlockingIOError:
                self._wait()

    def _wait(self) -> None:
        while not self._ready.poll(GLANCE_MS):
            if self._is_given_up():
                raise EOFError


class _Values(pickle.Unpickler):
    """Finds the classes of values and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        found = vars(sys.modules[module]).get(name) if module in sys.modules else None  # nothing is imported
        if isinstance(found, type) and found.__module__ == module and _is_allowed(module, name, found):
            return found
        raise BadAnswer(f"it names {module}.{name}"[:200])


def _is_allowed(module: str, name: str, found: type) -> bool:
    if module == "datetime":
        return name in TIMES
    if module == "builtins":
        return _is_error(found)
    if not module.startswith(VALUES):
        return False
    return _is_frozen(found) or _is_word(found) or issubclass(found, VedetteError)


def _is_error(found: type) -> bool:
    """SystemExit and its like are no errors: they would end the engine."""
    return issubclass(found, Exception)


def _is_frozen(found: type) -> bool:
    """A slotted frozen dataclass: its `__setstate__` is why a pickle cannot set anything on the class itself."""
    return dataclasses.is_dataclass(found) and "__setstate__" in vars(found)


def _is_word(found: type) -> bool:
    """An enum, whose members all of the engine shares: from now on no pickle can set anything on them."""
    if not issubclass(found, enum.Enum):
        return False
    if "__setstate__" not in vars(found):
        found.__setstate__ = _refuse  # type: ignore[attr-defined]
    return True


def _refuse(*_: object) -> None:
    raise BadAnswer("it sets something on a word that everyone shares")


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
