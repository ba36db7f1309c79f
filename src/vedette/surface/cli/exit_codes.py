"""How the program ends.  One table for code, help and documentation."""

from __future__ import annotations

from enum import IntEnum

from vedette.contracts.errors import ConfigError, InputError, RefusedError, StoreError, VedetteError


class Exit(IntEnum):
    OK = 0
    FAILED = 1
    BAD_INPUT = 2
    REFUSED = 3
    BAD_CONFIG = 4
    STORE = 5
    FOUND_PROBLEMS = 6
    NOT_SEEN = 7
    INTERRUPTED = 130


MEANING = {
    Exit.OK: "done",
    Exit.FAILED: "failed: what was asked for could not be done, or the URL is not known",
    Exit.BAD_INPUT: "bad input: an option, a URL or a file cannot be used as it is",
    Exit.REFUSED: "refused: understood, and not done (blocked host, file exists, store in use)",
    Exit.BAD_CONFIG: "the configuration cannot be used as it is",
    Exit.STORE: "the store is missing, of another version, or damaged",
    Exit.FOUND_PROBLEMS: "the check ran and found problems (`evidence verify`, `replay`, `doctor`)",
    Exit.NOT_SEEN: "the run ended, and something that should have been seen was not (`run --once`, `--until-idle`)",
    Exit.INTERRUPTED: "interrupted before the work was done",
}
# The first class that fits decides.
_OF_ERROR: tuple[tuple[type[VedetteError], Exit], ...] = (
    (InputError, Exit.BAD_INPUT),
    (RefusedError, Exit.REFUSED),
    (ConfigError, Exit.BAD_CONFIG),
    (StoreError, Exit.STORE),
    (VedetteError, Exit.FAILED),
)


def exit_of(error: VedetteError) -> Exit:
    return next(code for kind, code in _OF_ERROR if isinstance(error, kind))
