"""Ctrl-C where there is nothing to end cleanly.  The first thing that is loaded, so it loads nothing."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what `signal` is made of: that one costs ten times as much
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

INTERRUPTED = 130  # exits.py, which is not loaded yet


def end_by_signal() -> None:
    """Ctrl-C ends the process at once until a verb begins its work (`verb.py`).  An ignored signal stays ignored."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, end_at_once)


def end_at_once(number: int, frame: FrameType | None) -> None:
    os.write(2, b"vedette: interrupted\n")
    os._exit(INTERRUPTED)
