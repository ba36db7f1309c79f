"""Ctrl-C while modules are loaded.  Loads nothing itself."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

INTERRUPTED = 130  # exits.py, which is not loaded yet


@contextmanager
def loading() -> Iterator[None]:
    """While modules are loaded there is nothing to end cleanly: Ctrl-C ends the program at once.

    An exception in the middle of an import would show as whatever that import makes of it.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler or not _is_main_thread():
        yield
        return
    signal.signal(signal.SIGINT, end_at_once)
    try:
        yield
    finally:
        loaded()


def loaded() -> None:
    """What follows ends cleanly: Ctrl-C is a KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is end_at_once and _is_main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def end_at_once(number: int, frame: FrameType | None) -> None:
    say_interrupted()
    os._exit(INTERRUPTED)


def say_interrupted() -> None:
    try:
        sys.stderr.write("vedette: interrupted\n")
        sys.stderr.flush()
    except (OSError, ValueError, RuntimeError):  # nobody reads, or it was being written to just then
        return
