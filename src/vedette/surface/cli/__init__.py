"""The command line.  Nothing is imported here: `--version` must not load it, and Ctrl-C must find `main` at once."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from vedette.contracts.ports import Clock


def main(argv: Sequence[str] | None = None, *, clock: Clock | None = None, app: Any = None) -> int:
    """Run one command; gives the exit code of `exits.py`.  Clock and app are handed in by tests."""
    if argv is None:
        from vedette.surface.cli.interrupt import end_by_signal

        end_by_signal()
        os.umask(0o077)  # a process of its own: whatever it writes is for its owner alone
    from vedette.surface.cli.entry import enter

    return enter(argv, clock=clock, app=app)
