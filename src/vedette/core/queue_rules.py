"""What a queue does with its jobs, in our words and in those of BullMQ."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from enum import Enum

from vedette.contracts.jobs import QueueRule

SECOND = timedelta(seconds=1)
_FOREIGN = "bull"  # begins ids of rows whose job got its id from BullMQ


class Carried(Enum):
    """What an engine knows of a job that it is to carry."""

    NOT = "not"  # it never had it, or lost it
    WAITS = "waits"  # queued, delayed, or with a worker of another program
    TAKEN = "taken"  # with a worker of ours
    COMPLETED = "completed"
    FAILED = "failed"


def back_off(rule: QueueRule, attempts: int) -> timedelta:
    """How long a job waits after so many attempts."""
    return rule.backoff if rule.has_fixed_backoff else rule.backoff * (1 << (attempts - 1))


def must_replace(carried: Carried) -> bool:
    """A row waits that the engine should not have any more, or has given to a worker that has lost it."""
    return carried in (Carried.TAKEN, Carried.COMPLETED, Carried.FAILED)


def bullmq_options(rule: QueueRule, delay: timedelta) -> dict[str, object]:
    """Spec 001/2.3.  Delays are whole seconds: the Python worker of BullMQ resolves no finer."""
    options: dict[str, object] = {
        "attempts": rule.attempts,
        "backoff": {
            "type": "fixed" if rule.has_fixed_backoff else "exponential",
            "delay": whole_seconds(rule.backoff) * 1000,
        },
        "removeOnComplete": {"count": rule.keep_done},
        "removeOnFail": {"count": rule.keep_parked},
    }
    if delay > timedelta(0):
        options["delay"] = whole_seconds(delay) * 1000
    return options


def ordered_rule(options: Mapping[str, object], rule: QueueRule) -> QueueRule:
    """The queue's rule with the attempts and the back-off that a producer ordered.  BullMQ's default is one attempt."""
    attempts = options.get("attempts")
    made = replace(rule, attempts=max(1, attempts) if isinstance(attempts, int) else 1)
    back = options.get("backoff")
    if isinstance(back, int | float):
        return replace(made, backoff=timedelta(milliseconds=back), has_fixed_backoff=True)
    if isinstance(back, Mapping) and back.get("type") in ("fixed", "exponential"):
        delay = back.get("delay")
        wait = timedelta(milliseconds=delay) if isinstance(delay, int | float) else timedelta(0)
        return replace(made, backoff=wait, has_fixed_backoff=back["type"] == "fixed")
    return replace(made, backoff=timedelta(0), has_fixed_backoff=True) if back is None else made


def row_id(foreign_id: str, added_ms: int) -> str:
    """The id of the row of a job.  A number that BullMQ counted up begins again where Redis was wiped."""
    if foreign_id.isdigit() or ":" in foreign_id:
        return f"{_FOREIGN}-{foreign_id.replace(':', '~')}-{added_ms}"
    return foreign_id


def foreign_id(row: str) -> tuple[str, str] | None:
    """The id that BullMQ gave the job of this row, and its time stamp; None: it has the id of its row."""
    word, _, rest = row.partition("-")
    name, _, added = rest.rpartition("-")
    if word != _FOREIGN or not added.isdigit() or not (name.isdigit() or "~" in name):
        return None
    return name.replace("~", ":"), added


def whole_seconds(span: timedelta) -> int:
    return math.ceil(span / SECOND)
