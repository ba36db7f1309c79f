"""The plan of a batch: its cells, how long it takes, what a call and all of them cost, and the slowest provider.

The lower bound is what no schedule can beat: a key that lets r requests a minute through needs (n - 1) * 60 / r
seconds from its first to its last start, and the last answer takes its latency; and so many calls of so long fit
into the calls at once.  The expected time adds our headroom below the limit and what failures make us ask again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from vedette.contracts.panel_run import Answer, BatchShape, CellNumber, Price, Prompt
from vedette.contracts.words import Outcome

# What does a call cost?
#
# Whether it may start says the budget (core/limits/budget.py), by `most_cost`.  So the ceiling is passed only by what
# a provider charges beyond that for calls under way (spec 003: never by more than those).
#
# A call costs what its usage says.  Where the usage is missing, an answer costs the most it can, and a call that went
# out and brought none (filtered, malformed, cut, timed out) costs its question.  A refusal by status costs nothing.

CHARS_PER_TOKEN = 2.5  # cautious: English has about 4, Croatian and code fewer
OVERHEAD_TOKENS = 32  # role marks and the like
TYPICAL_SHARE = 0.5  # of `most_tokens`, what an answer has on average; only for the plan
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnd:
    """What is known of a call's cost when it ended.  No tokens: the provider did not say."""

    is_answered: bool
    has_text: bool = False
    tokens_in: int = 0
    tokens_out: int = 0
    status: int | None = None
    is_sent: bool = True  # the request went out


def end_of(answer: Answer, *, is_sent: bool) -> CallEnd:
    return CallEnd(
        is_answered=answer.outcome is Outcome.OK,
        has_text=answer.resp is not None and bool(answer.resp.text.strip()),
        tokens_in=answer.tokens_in,
        tokens_out=answer.tokens_out,
        status=answer.status,
        is_sent=is_sent,
    )


def cost_of_call(price: Price | None, prompt: Prompt, domain_chars: int, end: CallEnd) -> float:
    """What a call that ended so cost, by its usage as far as it says one."""
    asked = tokens_of(prompt, domain_chars)
    if end.is_answered:
        said_nothing = not end.has_text and end.tokens_in > 0
        out = end.tokens_out or (0 if said_nothing else prompt.most_tokens)
        return cost_of(price, end.tokens_in or asked, out)
    if end.tokens_in or end.tokens_out:
        return cost_of(price, end.tokens_in or asked, end.tokens_out)
    is_heard = end.is_sent and (end.status is None or 200 <= end.status < 300)
    return cost_of(price, asked, 0) if is_heard else 0.0


def ceiling_of(asked: float | None, configured: float | None, before: float | None) -> float | None:
    """The ceiling of a batch that goes on: the operator's word, else the higher of what is configured and what it had.

    So a ceiling in the environment raises that of a batch, and one in the file does not lower it unasked.
    """
    if asked is not None:
        return asked
    known = [one for one in (configured, before) if one is not None]
    return max(known, default=None)


def cost_of(price: Price | None, tokens_in: int, tokens_out: int) -> float:
    """What a call cost by its usage; nothing where no price is known."""
    if price is None:
        return 0.0
    return price.request + (price.tokens_in * tokens_in + price.tokens_out * tokens_out) / _MILLION


def most_cost(price: Price | None, prompt: Prompt, domain_chars: int) -> float:
    """What a call can cost at most: its text by a cautious count, and all tokens it may answer with."""
    return cost_of(price, tokens_of(prompt, domain_chars), prompt.most_tokens)


def typical_cost(price: Price | None, prompt: Prompt, domain_chars: int) -> float:
    return cost_of(price, tokens_of(prompt, domain_chars), round(prompt.most_tokens * TYPICAL_SHARE))


def tokens_of(prompt: Prompt, domain_chars: int) -> int:
    chars = len(prompt.text) + len(prompt.system) + domain_chars * prompt.text.count("{domain}")
    return OVERHEAD_TOKENS + round(chars / CHARS_PER_TOKEN)


def unpriced(models: Iterable[str], prices: Mapping[str, Price]) -> tuple[str, ...]:
    """Models that a ceiling cannot be held for: with a ceiling, a run that has any does not start."""
    return tuple(model for model in models if model not in prices)


# The plan of a batch: its cells, how long it takes, what it costs, and which provider is the slowest.

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
    rows = tuple(_provider(shape, one, prices.get(one.model), terms) for one in limits)
    floor = sum(block_size(shape) * one.latency for one in limits) / terms.at_once
    bounds = [row.lower_bound.total_seconds() for row in rows if row.lower_bound is not None]
    times = {row.model: row.expected.total_seconds() for row in rows if row.expected is not None}
    times["concurrency"] = floor * (1 + RETRY_SHARE)
    binds = max(times, key=lambda name: times[name])
    expected = timedelta(seconds=times[binds])
    return Plan(
        cells=cells(shape),
        requests=round(cells(shape) * (1 + RETRY_SHARE)),
        lower_bound=timedelta(seconds=max([floor, *bounds])),
        expected=expected,
        binds=binds,
        within_target=expected <= terms.target,
        within_hard=expected <= terms.hard,
        cost_usd=_sum(row.cost_usd for row in rows),
        most_usd=_sum(row.most_usd for row in rows),
        unpriced=tuple(row.model for row in rows if row.cost_usd is None),
        unlimited=tuple(row.model for row in rows if row.lower_bound is None),
        providers=rows,
    )


def _sum(costs: Iterable[float | None]) -> float | None:
    """Of those that are known; None: none is."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None


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
