"""The plan of a batch: its cells, how long it takes, what it costs, and which provider is the slowest.

The lower bound is what no schedule can beat: a key that lets r requests a minute through needs (n - 1) * 60 / r
seconds from its first to its last start, and the last answer takes its latency; and so many calls of so long fit
into the calls at once.  The expected time adds our headroom below the limit and what failures make us ask again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from vedette.contracts.panel_run import BatchShape, CellNumber, Price
from vedette.core.panel.cost import most_cost, typical_cost

HEADROOM = 0.005  # below a stated limit; carries 0.3 s of jitter on the way there per minute
RETRY_SHARE = 0.01  # calls that have to be asked again in good weather
DOMAIN_CHARS = 20  # of a typical domain
_MINUTE = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLimits:
    """What one provider lets through, and how long it takes."""

    model: str
    per_minute: tuple[float, ...]  # of each key; 0: not known
    latency: float = 2.0  # seconds, spec 003
    at_once: int | None = None
    keys: int | None = None  # None: one for each rate; 0: planned as if it had one


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderPlan:
    model: str
    requests: int
    keys: int
    per_minute: float  # of all keys together; 0: not known
    lower_bound: timedelta | None  # None: no limit is known
    expected: timedelta | None
    cost_usd: float | None  # None: no price is known
    most_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    cells: int
    requests: int  # expected, with those asked again
    lower_bound: timedelta
    expected: timedelta
    binds: str  # the provider that decides, or "concurrency"
    within_target: bool
    within_hard: bool
    cost_usd: float | None
    most_usd: float | None
    unpriced: tuple[str, ...]
    unlimited: tuple[str, ...]  # providers without a known limit: found out from their answers
    providers: tuple[ProviderPlan, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTerms:
    """What the batch has to keep to."""

    target: timedelta = timedelta(hours=1)  # CRAWL_SLA_TARGET_SECS
    hard: timedelta = timedelta(hours=2)  # CRAWL_SLA_MAX_SECS
    at_once: int = 96  # GLOBAL_CONCURRENCY; docs/adr/README.md
    headroom: float = HEADROOM


def plan(
    shape: BatchShape, limits: Sequence[PlanLimits], prices: Mapping[str, Price], terms: PlanTerms
) -> Plan:
    """One row per provider, and what they come to together."""
    requests = block_size(shape)
    rows = tuple(_provider(shape, one, prices.get(one.model), terms) for one in limits)
    floor = sum(requests * one.latency for one in limits) / terms.at_once
    bounds = {row.model: row.lower_bound.total_seconds() for row in rows if row.lower_bound is not None}
    times = {row.model: row.expected.total_seconds() for row in rows if row.expected is not None}
    times["concurrency"] = floor * (1 + RETRY_SHARE)
    binds = max(times, key=lambda name: times[name])
    expected = timedelta(seconds=times[binds])
    costs = [row.cost_usd for row in rows if row.cost_usd is not None]
    most = [row.most_usd for row in rows if row.most_usd is not None]
    return Plan(
        cells=cells(shape),
        requests=round(cells(shape) * (1 + RETRY_SHARE)),
        lower_bound=timedelta(seconds=max([floor, *bounds.values()])),
        expected=expected,
        binds=binds,
        within_target=expected <= terms.target,
        within_hard=expected <= terms.hard,
        cost_usd=sum(costs) if costs else None,
        most_usd=sum(most) if most else None,
        unpriced=tuple(row.model for row in rows if row.cost_usd is None),
        unlimited=tuple(row.model for row in rows if row.lower_bound is None),
        providers=rows,
    )


def lower_bound(requests: int, per_minute: Sequence[float], latency: float) -> float | None:
    """Seconds that no schedule can beat, of one provider with these keys; None when a key's limit is not known.

    With rates r1, r2, ... the keys start `k + sum(floor(t * r / 60))` calls by `t`: the smallest such t is found
    by bisection, because floors of several keys have no formula.
    """
    if requests <= 0:
        return 0.0
    if not per_minute or any(rate <= 0 for rate in per_minute):
        return None
    low, high = 0.0, requests * _MINUTE / max(per_minute)
    for _ in range(64):
        middle = (low + high) / 2
        done = sum(1 + int(middle * rate / _MINUTE + 1e-9) for rate in per_minute)
        low, high = (low, middle) if done >= requests else (middle, high)
    return high + latency


def _provider(shape: BatchShape, limits: PlanLimits, price: Price | None, terms: PlanTerms) -> ProviderPlan:
    requests = block_size(shape)
    bound = lower_bound(requests, limits.per_minute, limits.latency)
    held = [rate * (1 - terms.headroom) for rate in limits.per_minute]
    expected = lower_bound(round(requests * (1 + RETRY_SHARE)), held, limits.latency)
    if expected is not None and limits.at_once:
        expected = max(expected, requests * limits.latency / limits.at_once)
    per_prompt = shape.repeats * shape.domains
    cost, most = (
        None
        if price is None
        else per_prompt * sum(of(price, prompt, DOMAIN_CHARS) for prompt in shape.prompts)
        for of in (typical_cost, most_cost)
    )
    return ProviderPlan(
        model=limits.model,
        requests=requests,
        keys=len(limits.per_minute) if limits.keys is None else limits.keys,
        per_minute=sum(limits.per_minute),
        lower_bound=None if bound is None else timedelta(seconds=bound),
        expected=None if expected is None else timedelta(seconds=expected),
        cost_usd=cost,
        most_usd=most,
    )


# The cells of a batch.  They are never listed: a cell is a number, and its parts are computed.
#
# The cells of one model are one block; in it the prompts follow each other by tier, then the repeats, then the
# domains.  So a lane walks its block from the front, and a tier that is dropped is the tail of every block.


class CellPlace(NamedTuple):
    model: int
    prompt: int
    repeat: int
    domain: int


def cells(shape: BatchShape) -> int:
    return len(shape.models) * block_size(shape)


def block_size(shape: BatchShape) -> int:
    """Cells of one model."""
    return len(shape.prompts) * shape.repeats * shape.domains


def number_of(shape: BatchShape, place: CellPlace) -> CellNumber:
    rows = (place.model * len(shape.prompts) + place.prompt) * shape.repeats + place.repeat
    return CellNumber(rows * shape.domains + place.domain)


def place_of(shape: BatchShape, number: int) -> CellPlace:
    rows, domain = divmod(number, shape.domains)
    rest, repeat = divmod(rows, shape.repeats)
    model, prompt = divmod(rest, len(shape.prompts))
    return CellPlace(model, prompt, repeat, domain)


def block(shape: BatchShape, model: int, *, dropped_from: int | None = None) -> range:
    """The cells of one model, without the tiers from `dropped_from` on."""
    kept = sum(1 for prompt in shape.prompts if dropped_from is None or prompt.tier < dropped_from)
    first = model * block_size(shape)
    return range(first, first + kept * shape.repeats * shape.domains)


def tiers(shape: BatchShape) -> tuple[int, ...]:
    """From the first asked to the first dropped."""
    return tuple(sorted({prompt.tier for prompt in shape.prompts}))


def cells_per_tier(shape: BatchShape) -> dict[int, int]:
    """Cells of one model, by tier."""
    per_prompt = shape.repeats * shape.domains
    count = dict.fromkeys(tiers(shape), 0)
    for prompt in shape.prompts:
        count[prompt.tier] += per_prompt
    return count


def rows_between(shape: BatchShape, first: int, last: int) -> list[range]:
    """The same cells, cut where prompt or repeat change: within one piece only the domain differs."""
    pieces, at = [], first
    while at < last:
        end = min(last, (at // shape.domains + 1) * shape.domains)
        pieces.append(range(at, end))
        at = end
    return pieces
