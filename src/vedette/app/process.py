"""What belongs to a process as a whole: its event loop, its signals, the lock of its data folder, its open files."""

from __future__ import annotations

import asyncio
import ctypes
import os
import resource
import signal
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from vedette.store.sqlite import StoreLock

DESCRIPTORS = 8192
ENGINE_LOCK = "lock"  # one engine per data folder
SIGNALS = (signal.SIGINT, signal.SIGTERM)
ONE_ARENA = (-8, 1)  # M_ARENA_MAX of malloc.h
T = TypeVar("T")


def run_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run this in an event loop that is ours: uvloop where it is installed, and as many open files as allowed."""
    raise_descriptors()
    share_memory()
    with suppress(ImportError):
        import uvloop

        uvloop.install()
    return asyncio.run(work)


@contextmanager
def signals(stop: Callable[[str], None]) -> Iterator[None]:
    """SIGINT and SIGTERM stop the work cleanly; a second one ends it at once."""
    loop = asyncio.get_running_loop()
    is_main = threading.current_thread() is threading.main_thread()

    def forget() -> None:
        for number in SIGNALS:
            loop.remove_signal_handler(number)

    def stop_once() -> None:
        stop("stopped")
        forget()

    if not is_main:
        yield
        return
    for number in SIGNALS:
        loop.add_signal_handler(number, stop_once)
    try:
        yield
    finally:
        forget()


@contextmanager
def locked(data: Path, name: str = ENGINE_LOCK, *, doing: str = "", shared: bool = False) -> Iterator[None]:
    """Hold a lock of the data folder, alone or with others that share it.  StoreError names who has it."""
    lock = StoreLock(data / name)
    lock.take(f"{this_process()}{doing}", shared=shared)
    try:
        yield
    finally:
        lock.release()


def this_process() -> str:
    """As a lock names who has it."""
    return f"pid {os.getpid()} on {socket.gethostname()}"


def share_memory() -> None:
    """All threads take memory from one place: what one of them gives back the others can use.

    glibc has a place for each thread, which keeps the most that this thread ever needed.
    """
    with suppress(AttributeError, OSError):  # not every C library has it
        ctypes.CDLL(None).mallopt(*ONE_ARENA)


def raise_descriptors() -> None:
    """As many open files as we may have: every request that waits is one, and 1,024 are the usual beginning."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
