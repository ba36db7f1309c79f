"""What each of several workers may do of a batch: calls at once, dollars, and the word that the whole ends by.

Workers share a batch by its providers: whoever visits a provider asks all of its cells.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from vedette.core.panel.deadline import COMPLETE

_WORST_FIRST = ("killed", "hard_stop", "budget_spent")


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedMoney:
    """Dollars of a batch.  What is allotted may be spent at any moment; what is lost may have been."""

    budget: float
    spent: float
    lost: float = 0.0  # allotted to workers that are gone: nobody knows what they asked at last
    elsewhere: float = 0.0  # allotted to others


def allotted(money: SharedMoney, *, has: float, wants: float) -> float:
    """What one share may spend from now on.  All shares together never have more than is left."""
    free = money.budget - money.spent - money.lost - money.elsewhere
    return max(0.0, min(max(has, wants), free))


def widths(at_once: int, wants: Mapping[str, int]) -> dict[str, int]:
    """Calls at once for each provider: what it wants, or its part of what all of them may have together."""
    whole = sum(wants.values())
    if whole <= at_once:
        return dict(wants)
    return {name: max(1, at_once * want // whole) for name, want in wants.items()}


def most_visits(busy: int, workers: int) -> int:
    """How many of the providers that have something to ask one worker visits, beside others."""
    return -(-busy // max(1, workers))


def others_have_room(visits: Collection[int], busy: int, workers: int) -> bool:
    """`visits`: how many each other worker has that has any.  True: somebody beside us has fewer than its part."""
    return len(visits) < workers - 1 or any(one < most_visits(busy, workers) for one in visits)


def ends_by(words: Collection[str]) -> str:
    """The word of a batch whose shares ended by these.  Whether it is complete, its rows say (`status_of`)."""
    return next((word for word in _WORST_FIRST if word in words), COMPLETE)
