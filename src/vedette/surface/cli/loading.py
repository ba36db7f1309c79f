"""While modules are loaded: Ctrl-C, and garbage of which there is none yet."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from vedette.surface.cli.ending import end_at_once

USUAL, SELDOM = gc.get_threshold(), (500_000, 10, 10)  # new objects before one looks for garbage


def collect_seldom() -> None:
    """Loading makes objects and hardly any garbage: looking for it as often as usual is a tenth of a command's cost."""
    gc.set_threshold(*SELDOM)


def collect_no_more() -> None:
    """The process ends, and its memory with it: the interpreter need not look through all of it several times over."""
    gc.freeze()


def collect_as_usual() -> None:
    """For what runs on and on."""
    gc.set_threshold(*USUAL)


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
