"""The isolation forest of a hunt: grown on what was seen, kept with the weights, used where it is switched on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from vedette.contracts.errors import InputError
from vedette.core.oddness.background import OF_PLACE
from vedette.core.oddness.isolation import ASKED, with_forest
from vedette.core.oddness.odd_score import base_weights, written_weights
from vedette.judge.isolation_forest import grow_forest
from vedette.operations.hunt import newest_weights
from vedette.operations.installation import Installation
from vedette.store.hunt_rows import HuntReader, save_weights

LEAST, MOST = 128, 20_000  # pages; the newest


@dataclass(frozen=True, slots=True, kw_only=True)
class GrownForest:
    weights: str  # version of the weights that have it
    pages: int
    by: str
    is_on: bool  # the configuration has it count


def grow(installation: Installation) -> GrownForest:
    """From the next run on, and in `hunt rescore`, the forest counts where the configuration says so."""
    with installation.reading() as db:
        rows = list(_rows(HuntReader(db).measured()))
    if len(rows) < LEAST:
        raise InputError(
            f"{len(rows)} pages are known, at most {OF_PLACE} of a place; a forest needs {LEAST}: "
            "type: vedette hunt run --looks 500"
        )
    forest = grow_forest(rows)
    now = installation.now()
    with installation.operating() as db:
        weights = with_forest(base_weights(newest_weights(HuntReader(db))), forest)
        save_weights(db, weights.version, written_weights(weights), now=now)
    return GrownForest(
        weights=weights.version,
        pages=forest.pages,
        by=forest.by,
        is_on=installation.loaded.config.hunt.isolation_forest,
    )


def _rows(measured: Iterable[tuple[str, Mapping[str, float]]]) -> Iterator[list[float]]:
    """A place that was looked at often must not become what is usual."""
    of_place: Counter[str] = Counter()
    for place, values in measured:
        of_place[place] += 1
        if of_place[place] <= OF_PLACE:
            yield [values.get(name, 0.0) for name in ASKED]
        if of_place.total() >= MOST:
            return
