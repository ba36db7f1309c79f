"""What does a call cost, and may it still start?

A call is let in when what was spent, what the calls under way may cost at most, and what this one may cost at
most fit under the ceiling together.  So the ceiling is passed only by what a provider charges beyond `most_cost`
for calls under way (spec 003: never by more than those).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vedette.contracts.panel import Prompt
from vedette.contracts.panel_run import Price

CHARS_PER_TOKEN = 2.5  # cautious: English has about 4, Croatian and code fewer
OVERHEAD_TOKENS = 32  # role marks and the like
TYPICAL_SHARE = 0.5  # of `most_tokens`, what an answer has on average; only for the plan
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Purse:
    """Dollars.  `ceiling` None: no limit."""

    ceiling: float | None = None
    spent: float = 0.0
    reserved: float = 0.0  # the most that calls under way can cost


def may_spend(purse: Purse, most: float) -> bool:
    return purse.ceiling is None or purse.spent + purse.reserved + most <= purse.ceiling


def reserve(purse: Purse, most: float) -> Purse:
    return Purse(ceiling=purse.ceiling, spent=purse.spent, reserved=purse.reserved + most)


def settle(purse: Purse, most: float, cost: float) -> Purse:
    """The call that `most` was reserved for ended and cost this."""
    left = max(0.0, purse.reserved - most)
    return Purse(ceiling=purse.ceiling, spent=purse.spent + cost, reserved=left)


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
