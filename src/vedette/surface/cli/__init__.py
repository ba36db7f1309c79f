"""The command line.  Next to nothing is imported here: `--version` must not load it, and Ctrl-C must find `main`."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what `signal` is made of: that one costs more than all of this file
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType
    from typing import Any

    from vedette.contracts.ports import Clock

INTERRUPTED = 130  # exits.py, which is not loaded yet


def main(argv: Sequence[str] | None = None, *, clock: Clock | None = None, app: Any = None) -> int:
    """Run one command; gives the exit code of `exits.py`.  Clock and app are handed in by tests."""
    if argv is None and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, end_at_once)  # until a verb begins its work: verbs.py
    from vedette.surface.cli.entry import enter

    return enter(argv, clock=clock, app=app)


def end_at_once(number: int, frame: FrameType | None) -> None:
    """Ctrl-C where there is nothing to end cleanly."""
    os.write(2, b"vedette: interrupted\n")
    os._exit(INTERRUPTED)
