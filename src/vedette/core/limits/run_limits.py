"""How much may one run do?  Deadlines and budgets of a Run, checked before each claim."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from vedette.contracts.watch import Group
from vedette.contracts.words import Reason, Risk
from vedette.core.lanes.outcomes import MEANING


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """None: no limit.  All are configurable (docs/adr/README.md)."""

    soft_deadline: datetime | None = None  # from here on only `soft_keeps` and above
    deadline: datetime | None = None  # from here on nothing starts; what is under way ends
    soft_keeps: Risk = Risk.HIGH
    per_cycle: int = 500  # spec 000/5: jobs per claim
    max_visits: int | None = None
    max_sightings: int | None = 5000  # spec 001/11.2
    max_wire_bytes: int | None = None
    max_errors: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What a run has done so far."""

    visits: int = 0
    sightings: int = 0
    wire_bytes: int = 0
    errors: int = 0


def spent(limits: RunLimits, tally: Tally, now: datetime) -> Reason | None:
    """Why this run starts no further look, or None while it may."""
    if limits.deadline is not None and now >= limits.deadline:
        return Reason(
            "deadline", (now - limits.deadline).total_seconds(), f"hard stop {limits.deadline:%H:%M:%S}"
        )
    for code, done, most in (
        ("max_visits", tally.visits, limits.max_visits),
        ("max_wire_bytes", tally.wire_bytes, limits.max_wire_bytes),
        ("max_errors", tally.errors, limits.max_errors),
    ):
        if most is not None and done >= most:
            return Reason(code, done, f"{done} of {most}")
    return None


def shed(limits: RunLimits, risk: Risk, now: datetime) -> Reason | None:
    """Why a target of this risk is dropped after the soft deadline, or None.  The cut drops whole tiers."""
    if limits.soft_deadline is None or now < limits.soft_deadline or risk >= limits.soft_keeps:
        return None
    return Reason("soft_deadline", note=f"{risk.name} is below {limits.soft_keeps.name}")


def claim_room(limits: RunLimits, tally: Tally) -> int:
    """How many jobs the next cycle may claim."""
    if limits.max_visits is None:
        return limits.per_cycle
    return max(0, min(limits.per_cycle, limits.max_visits - tally.visits))


def sighting_room(limits: RunLimits, tally: Tally) -> int | None:
    """How many new targets this run may still take in; None: any number."""
    return None if limits.max_sightings is None else max(0, limits.max_sightings - tally.sightings)


def counted(tally: Tally, group: Group) -> Tally:
    """The tally with this group in it."""
    visits = [placed.settlement.visit for placed in group.placed]
    return Tally(
        visits=tally.visits + len(visits),
        sightings=tally.sightings + sum(len(placed.settlement.found) for placed in group.placed),
        wire_bytes=tally.wire_bytes + sum(visit.wire_bytes for visit in visits),
        errors=tally.errors + sum(MEANING[visit.outcome].counts_against_lane for visit in visits),
    )
