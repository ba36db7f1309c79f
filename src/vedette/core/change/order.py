"""Lines that stand in another order: where somebody moved them, and where they come in any order by themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vedette.contracts.change import Noise
from vedette.core.change.align import increasing
from vedette.core.change.paths import is_below, parent
from vedette.core.change.state import State
from vedette.core.change.tracks import Looks


def moved_places(before: State, after: State, noise: Noise, orders: Iterable[str] = ()) -> set[str]:
    """The containers in which steady lines changed their order, but for those where the order says nothing."""
    containers = (*noise.orders, *orders)
    where, restless = after.index, {line.key for line in noise.lines}
    pairs = [(at, where[key]) for at, key in enumerate(before.keys) if key in where and key not in restless]
    if _is_rising(pairs):
        return set()
    kept = set(increasing(pairs))
    moved = {parent(before.place(before.keys[at])) for at, there in pairs if (at, there) not in kept}
    return {place for place in moved if not any(is_below(place, container) for container in containers)}


def restless_orders(looks: Looks, noise: Noise) -> list[str]:
    """Containers whose lines changed their order between close looks."""
    found: set[str] = set()
    for step in looks.steps:
        if looks.is_close(step):
            found |= moved_places(looks.states[step], looks.states[step + 1], noise)
    return sorted(found)


def _is_rising(pairs: Sequence[tuple[int, int]]) -> bool:
    return all(pairs[at][1] < pairs[at + 1][1] for at in range(len(pairs) - 1))
