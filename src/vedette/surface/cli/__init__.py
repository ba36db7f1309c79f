"""The command line.  Imports are lazy: `vedette --help` must not load a database."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vedette.contracts.ports import Clock


def main(argv: Sequence[str] | None = None, *, clock: Clock | None = None, app: Any = None) -> int:
    """Run one command; gives the exit code of `exits.py`.  Clock and app are handed in by tests."""
    from vedette.surface.cli.program import run

    if argv is None:  # a process of its own: whatever it writes is for its owner alone
        os.umask(0o077)
    return run(argv, clock=clock, app=app)
