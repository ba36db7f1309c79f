"""Where a command begins and ends: Ctrl-C is one line and exit code 130, whatever is being loaded.

The version and the help of a verb need nothing loaded: the help was written ahead by `tools/reference.py`.
"""

from __future__ import annotations

import shutil
import signal
import sys
from pathlib import Path

from vedette import __version__
from vedette.surface.cli.interrupt import INTERRUPTED, end_at_once
from vedette.surface.cli.load_guard import collect_no_more, collect_seldom
from vedette.telemetry.wall_clock import SystemClock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from vedette.contracts.ports import Clock

HELP_TEXTS = Path(__file__).with_name("help_texts.txt")  # of each verb its words, and the page below them
NEXT_PAGE = "\f"
HELP_WIDTH = 80  # columns; a wider terminal shows the same


def enter(argv: Sequence[str] | None, *, clock: Clock | None, app: Any) -> int:
    """Run one command.  As a program (no words handed in) it also owns the signal."""
    if argv is not None:
        return _run(argv, clock, app)
    words = sys.argv[1:]
    if words == ["--version"]:
        sys.stdout.write(f"vedette {__version__}\n")
        return 0
    text = help_text(words)
    if text is not None:
        sys.stdout.write(text)
        return 0
    collect_seldom()
    begun = SystemClock().stopwatch()
    try:
        return _run(words, clock, app, begun)
    except KeyboardInterrupt:
        sys.stderr.write("vedette: interrupted\n")
        return INTERRUPTED
    finally:
        collect_no_more()
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, end_at_once)  # what is left is the interpreter's own end


def _run(words: Sequence[str], clock: Clock | None, app: Any, begun: Any = None) -> int:
    from vedette.surface.cli import program  # all verbs: what stands above does without

    return program.run(words, clock=clock, app=app, begun=begun)


def help_text(words: Sequence[str]) -> str | None:
    """The help that the words ask for, as it was written ahead; None: it has to be made."""
    if words[:1] == ["help"]:
        verb = words[1:]
    elif words[-1:] in (["--help"], ["-h"]):
        verb = words[:-1]
    else:
        return None
    if not verb or shutil.get_terminal_size().columns < HELP_WIDTH:
        return None
    pages = (page.partition("\n") for page in HELP_TEXTS.read_text(encoding="utf-8").split(NEXT_PAGE))
    return next((text for name, _, text in pages if name == " ".join(verb)), None)
