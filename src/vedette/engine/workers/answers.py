"""What a worker may answer: plain values and frozen values of ours, and not one byte more than the limit.

A hostile body may take over the process that reads it, and a pickle can name any function.  So only the classes
below are found, making one does nothing else, and a pipe is never waited for once its process is ended.
"""

from __future__ import annotations

import dataclasses
import enum
import fcntl
import io
import os
import pickle
import select
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from vedette.contracts.errors import VedetteError

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
