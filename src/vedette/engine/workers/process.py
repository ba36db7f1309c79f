"""The worker's own side: reads orders, does one at a time within limits of time and memory, writes answers.

A program of its own that imports next to nothing: what it takes before any work is memory that its work cannot have.
Orders and answers are pickles on a pipe, which carry a large body without a second copy of it.
"""

from __future__ import annotations

import ctypes
import enum
import os
import pickle
import resource
import select
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO

SPACE = 1536 * 1024 * 1024  # of addresses: libraries map more than they use
READY = b"+"
KNOWN = ("builtins", "vedette.contracts.errors")  # whose errors are sent as they are
Order = tuple[Callable[..., Any], tuple[Any, ...], int, int]  # function, arguments, seconds, bytes of memory


def main() -> None:
    """Until the engine closes the pipe.  What others print here goes to stderr, not into the answers."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    threading.Thread(target=_end_with_the_engine, daemon=True).start()
    sys.path[:] = pickle.load(sys.stdin.buffer)  # noqa: S301  of the engine, like all that comes here
    answers.write(READY)
    answers.flush()
    while True:
        order: Order = pickle.load(sys.stdin.buffer)  # noqa: S301
        is_done, value = _done(order)
        del order
        _give_back()
        _write(answers, is_done, value)


def _done(order: Order) -> tuple[bool, Any]:
    """True and what the function gave, or False and what it raised."""
    try:
        return True, _within(*order)
    except Exception as error:  # noqa: BLE001  whatever it is, the engine hears it
        return False, error.with_traceback(None)


def _write(answers: BinaryIO, is_done: bool, value: Any) -> None:
    if not is_done and not _can_be_sent(value):
        kind = MemoryError if isinstance(value, MemoryError) else RuntimeError  # numpy has one of its own
        value = kind(f"{type(value).__name__}: {value}")
    _Answers(answers, pickle.HIGHEST_PROTOCOL).dump((is_done, value))
    answers.flush()


class _Answers(pickle.Pickler):
    """Writes a word as its class and its value: some Pythons (3.11.2) name `getattr`, which the engine refuses."""

    def reducer_override(self, obj: Any) -> Any:
        return (type(obj), (obj.value,)) if isinstance(obj, enum.Enum) else NotImplemented


def _can_be_sent(error: Exception) -> bool:
    """The engine takes no other; of these it hears the words."""
    is_plain = all(isinstance(arg, str | bytes | int | None) for arg in error.args) and not vars(error)
    return is_plain and type(error).__module__ in KNOWN


def _within(function: Callable[..., Any], args: tuple[Any, ...], cpu_s: int, memory: int) -> Any:
    """The function's own module is loaded by now, so what is counted is what the work takes."""
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
    with open("/proc/self/statm", encoding="ascii") as file:
        fields = file.read().split()
    return int(fields[0 if what == "size" else 5]) * resource.getpagesize()


def _give_back() -> None:
    """The tree is gone; the allocator keeps its pages unless it is told, and the engine needs them for the answer."""
    with suppress(AttributeError, OSError):  # not every C library has it
        ctypes.CDLL(None).malloc_trim(0)


def _end_with_the_engine() -> None:
    """A killed engine says no goodbye, and its worker would go on for nobody: its pipe tells."""
    pipe = select.poll()
    pipe.register(0, 0)  # it says when nobody can write to it any more, and nothing else
    pipe.poll()
    os._exit(0)


if __name__ == "__main__":
    with suppress(
        EOFError, BrokenPipeError, pickle.UnpicklingError
    ):  # the engine is gone, in the middle of a word
        main()
