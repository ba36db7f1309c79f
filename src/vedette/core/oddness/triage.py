"""What a look of a hunt means: what it found, when the page is looked at again, and when a failure is forgotten.

A page that was skipped is not looked at again.  A finding and a seed come again at a long interval: a hunt looks for
new places and does not watch what it has seen.  What failed may be chosen again when its failure is forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from vedette.contracts.oddness import Action, ScoreDecision
from vedette.contracts.watch import Watch
from vedette.contracts.words import Outcome
from vedette.core.lanes.outcomes import MEANING

# Answers that stay as they are; anything else may be better tomorrow.
LASTING = frozenset({Outcome.GONE, Outcome.CLIENT_ERROR, Outcome.SOFT_404, Outcome.REDIRECT_ERROR})
TRANSIENT = timedelta(days=1)
ATTEMPTS = 3  # at a seed that does not answer, before its failure is remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class Revisits:
    """How long the hunt leaves a page alone."""

    finding: timedelta = timedelta(days=30)
    failure: timedelta = timedelta(days=7)  # spec 004: failure_cache_seconds


def found_by(outcome: Outcome, decision: ScoreDecision | None) -> float | None:
    """What a look found, from 0 to 1; None: an error.  What we refuse ourselves is neither a find nor an error."""
    meaning = MEANING[outcome]
    if not meaning.has_content:
        return 0.0 if meaning.is_refusal or not meaning.is_look else None
    return decision.found if decision is not None else 0.0


def open_again_at(outcome: Outcome, at: datetime, revisits: Revisits) -> datetime | None:
    """When a page whose look failed may be chosen again; None: it did not fail, or we refuse it ourselves."""
    meaning = MEANING[outcome]
    if meaning.has_content or meaning.is_refusal:
        return None
    return at + (revisits.failure if outcome in LASTING else min(TRANSIENT, revisits.failure))


def rest_of(
    watch: Watch, decision: ScoreDecision | None, revisits: Revisits, *, is_kept: bool
) -> datetime | None:
    """When a page that was looked at is due again; None: never by itself.  `is_kept`: a seed, or an older finding."""
    if watch.merged_into is not None or watch.last_visit_at is None:
        return watch.due_at
    if watch.pending is not None:
        return watch.due_at  # a change waits for its second look
    is_finding = decision is not None and decision.action is not Action.SKIP
    if not (is_finding or is_kept):
        return None
    if is_finding or watch.last_outcome is None or MEANING[watch.last_outcome].has_content:
        return watch.last_visit_at + revisits.finding
    if watch.last_outcome not in LASTING and watch.attempt < ATTEMPTS:
        return watch.due_at  # by the retry rule
    return watch.last_visit_at + revisits.failure
