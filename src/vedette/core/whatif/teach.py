"""A policy that knows what the history knows: every look on record, told in the order of time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vedette.core.schedule.learned.policy import LearnedPolicy
from vedette.core.schedule.protocol import SchedulePolicy
from vedette.core.whatif.history import History, Rows

SECOND_LOOK = 1 / 60  # hours; a look that follows so soon belongs to the one before it


def teach(policy: SchedulePolicy, history: History, *, to_forecast: bool = False) -> None:
    """Add all targets and observe all looks.  `to_forecast`: nothing else is asked of it afterwards."""
    targets = history.targets
    if not len(targets):
        return
    rows = np.arange(len(targets))
    start = float(min(targets.since.min(), history.start))
    policy.add(rows, risk=targets.risk.tolist(), host=targets.host, now=start)
    keep = _own_looks(history)
    order = keep[np.argsort(history.at[keep], kind="stable")]
    observe = policy.learn if to_forecast and isinstance(policy, LearnedPolicy) else policy.observe
    for part in _rounds(history.row[order]):
        looks = order[part]
        observe(history.row[looks], history.at[looks], history.changed[looks])


def _own_looks(history: History) -> Rows:
    """All looks but second looks."""
    same = np.r_[False, history.row[1:] == history.row[:-1]]
    soon = np.r_[False, np.diff(history.at) < SECOND_LOOK]
    keep: Rows = np.flatnonzero(~(same & soon) | history.changed)
    return keep


def _rounds(rows: Rows) -> Iterator[slice]:
    """Consecutive looks without a target twice, as long as possible: `observe` takes each id once."""
    order = np.argsort(rows, kind="stable")
    before = np.full(len(rows), -1)
    same = rows[order][1:] == rows[order][:-1]
    before[order[1:][same]] = order[:-1][same]
    begin = 0
    for n in np.flatnonzero(before >= 0).tolist():
        if before[n] >= begin:
            yield slice(begin, n)
            begin = n
    if begin < len(rows):
        yield slice(begin, len(rows))
