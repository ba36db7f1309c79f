"""What the learned policy believes of a target, and why it is due when it is, for people and for programs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from vedette.contracts.words import Reason
from vedette.report.plain import Line, line, moment, quoted

HOLDS = ("parked", "failed", "audit")  # reasons that put a look off, whatever it is worth


@dataclass(frozen=True, slots=True, kw_only=True)
class Believed:
    """The points of the reasons add up to `hours`, from the last look to the next."""

    rate: float  # changes a day
    rate_low: float  # between these two with 90 %
    rate_high: float
    p_changed: float | None  # chance that it has changed since the last look; None: it was never seen
    value: float  # of a look now
    price: float
    hours: float
    looked_at: datetime  # of one that was never seen, when it was added
    is_due: bool = False  # by now
    objective: str = ""  # the one that binds; empty: none does
    signals: tuple[str, ...] = ()  # what a listing or its host said
    is_planned_anew: bool = False  # since the decision on record, at a new price
    reasons: tuple[Reason, ...] = ()


def believed_json(one: Believed) -> dict[str, object]:
    return {
        "rate_per_day": one.rate,
        "rate_low": one.rate_low,
        "rate_high": one.rate_high,
        "p_changed": one.p_changed,
        "value": one.value,
        "price": one.price,
        "hours": one.hours,
        "objective": one.objective or None,
        "signals": list(one.signals),
        "planned_anew": one.is_planned_anew,
        "reasons": [{"code": r.code, "points": r.points, "note": r.note} for r in one.reasons],
    }


def believed_lines(one: Believed) -> list[Line]:
    rate = f"{one.rate:.3g} changes a day, {one.rate_low:.3g} to {one.rate_high:.3g} with 90 %"
    if one.p_changed is None:
        lines = [
            _fact("rate", f"{rate}, going by others: nothing is known of it"),
            _fact("changed", f"never seen; added at {moment(one.looked_at)}"),
        ]
    else:
        lines = [
            _fact("rate", rate),
            _fact(
                "changed", f"{_share(one.p_changed)} likely since the last look at {moment(one.looked_at)}"
            ),
            _fact("value", f"{one.value:.3g} now, at a price of {one.price:.3g}: {_worth(one)}"),
        ]
    lines += [_fact("signal", said) for said in one.signals]
    if one.objective:
        lines.append(_fact("objective", one.objective))
    since = "the last look" if one.p_changed is not None else "it was added"
    lines.append(line(("head", f"why {one.hours:.4g} hours after {since}")))
    for reason in one.reasons:
        lines.append(
            line(f"  {reason.points:+10.4g}  ", quoted(reason.code), "  ", quoted(reason.note, "dim", 160))
        )
    lines.append(
        line(f"  {sum(reason.points for reason in one.reasons):>10.4g}  ", ("head", "sum"), ", hours")
    )
    if one.is_planned_anew:
        lines.append(line(("dim", "planned anew since the decision below, when the price had moved")))
    return lines


def _worth(one: Believed) -> str:
    """What the value means for the next look; never against when that is due."""
    if one.value >= one.price:
        last = one.reasons[-1] if one.reasons else Reason("")
        held = "" if one.is_due or last.code not in HOLDS else f", which waits: {last.code}, {last.note}"
        return (
            f"a look is worth it now{held}"
            if one.is_due or held
            else "a look is worth it; it is due as planned"
        )
    return "not worth a look yet" if not one.objective else "the objective asks before it is worth a look"


def _share(p: float) -> str:
    """Small chances are no zero."""
    return f"{p:.0%}" if p >= 0.01 or p == 0.0 else f"{100 * p:.1g}%"


def _fact(name: str, words: str) -> Line:
    return line(("dim", f"  {name:<10}"), quoted(words, "", 200))
