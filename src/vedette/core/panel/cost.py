"""What does a call cost?

Whether it may start says the budget (core/limits/budget.py), by `most_cost`.  So the ceiling is passed only by what a
provider charges beyond that for calls under way (spec 003: never by more than those).

A call costs what its usage says.  Where the usage is missing, an answer costs the most it can, and a call that went
out and brought none (filtered, malformed, cut, timed out) costs its question.  A refusal by status costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vedette.contracts.panel import Answer, Prompt
from vedette.contracts.panel_run import Price
from vedette.contracts.words import Outcome

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
