"""What we raise: broken config, broken storage, broken input, broken code.  Weather is an Outcome."""

from __future__ import annotations

RESTORE = (
    "restore it from a backup: `vedette restore BACKUP --replace`"  # the way back that every message names
)

NO_MORE_FILES = "too many open files: raise ulimit -n or lower run.at_once"


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


class StoreError(VedetteError):
    """State on disk is missing, of another version, or damaged."""


class StoreWaitError(StoreError):
    """The store takes nothing just now: its disk is full, no file can be opened, or another program holds it.

    Later it may.
    """
