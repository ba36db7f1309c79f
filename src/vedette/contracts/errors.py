"""What we raise: broken config, broken storage, broken input, broken code.  Weather is an Outcome."""

from __future__ import annotations

import traceback

from vedette.contracts.words import LaneKey

RESTORE = (
    "restore it from a backup: `vedette restore BACKUP --replace`"  # the way back that every message names
)

NO_MORE_FILES = "too many open files: raise ulimit -n or lower run.at_once"


_FRAMES = 8  # innermost; more would fill the ledger


class VedetteError(Exception):
    """Root of everything we raise on purpose.  The message says what to do."""


class ConfigError(VedetteError):
    """The configuration cannot be used as it is."""


class InputError(VedetteError):
    """What the user typed or handed over cannot be used as it is."""


class RefusedError(VedetteError):
    """The request is understood and refused (blocked host, store in use)."""


class TakenOverError(RefusedError):
    """Another run goes on with the work; this one must not write any more."""


class LanesLostError(VedetteError):
    """Another worker has these lanes by now; nothing of the group was written."""

    def __init__(self, lanes: frozenset[LaneKey]) -> None:
        super().__init__(f"another worker has {', '.join(sorted(lanes)[:3])}; nothing was written")
        self.lanes = lanes


class StoreError(VedetteError):
    """State on disk is missing, of another version, or damaged."""


class StoreWaitError(StoreError):
    """The store takes nothing just now: its disk is full, no file can be opened, or another program holds it.

    Later it may.
    """


def short_stack(error: BaseException) -> str:
    """Where our code failed, innermost first; places only, no values, which may be anybody's."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    return " < ".join(
        f"{one.filename.rpartition('/')[2]}:{one.lineno} {one.name}" for one in reversed(frames)
    )
