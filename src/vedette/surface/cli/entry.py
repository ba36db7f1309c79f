"""From the first moment to the last: Ctrl-C is one line and 130, whatever is being loaded."""

from __future__ import annotations

import signal
import sys

from vedette.surface.cli.ending import INTERRUPTED, end_at_once
from vedette.telemetry.wall_clock import SystemClock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from vedette.contracts.ports import Clock


def enter(argv: Sequence[str] | None, *, clock: Clock | None, app: Any) -> int:
    """Run one command.  As a program (no words handed in) it also owns the signal."""
    if argv is not None:
        return _run(argv, clock, app)
    words = sys.argv[1:]
    if words == ["--version"]:
        from vedette import __version__

        sys.stdout.write(f"vedette {__version__}\n")
        return 0
    from vedette.surface.cli.loading import collect_no_more, collect_seldom

    collect_seldom()
    begun = SystemClock().stopwatch()
    try:
        from vedette.surface.cli import program

        return program.run(words, clock=clock, app=app, begun=begun)
    except KeyboardInterrupt:
        sys.stderr.write("vedette: interrupted\n")
        return INTERRUPTED
    finally:
        collect_no_more()
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, end_at_once)  # what is left is the interpreter's own end


def _run(words: Sequence[str], clock: Clock | None, app: Any) -> int:
    from vedette.surface.cli import program

    return program.run(words, clock=clock, app=app)
