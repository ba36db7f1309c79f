"""The models of the providers: their names, those that are new, and those that are no longer listed.

A canonical name is `provider/model` in lower case.  A listing that is empty says nothing: unknown is never removed.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from vedette.contracts.errors import InputError
from vedette.contracts.words import Outcome
from vedette.core.lanes.outcomes import MEANING
from vedette.core.text.nearest import unknown

# What a provider appends to one and the same model: a day, a build, "latest".
_EDITION = re.compile(
    r"[-@:_](?:\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{4}|\d{3}|latest|preview|exp|stable|v\d+(?::\d+)?)$"
)
_PART = re.compile(r"\d+(?:\.\d+)*|[a-z]+")
NEAR = 0.4  # below it there is no successor worth naming
PRIOR_OK, PRIOR_FAILED = 9.0, 1.0  # a new model is taken to answer nine times of ten


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRow:
    """One model as the registry keeps it."""

    name: str  # canonical
    provider: str
    wire_name: str  # as the provider spells it
    aliases: tuple[str, ...] = ()
    first_seen_at: datetime | None = None  # None: from our table, never seen in a listing
    last_seen_at: datetime | None = None
    retired_at: datetime | None = None
    successor: str = ""  # canonical
    answered: int = 0
    failed: int = 0

    @property
    def weight(self) -> float:
        return reliability(self.answered, self.failed)


@dataclass(frozen=True, slots=True)
class ModelFinding:
    """What a refresh found about one model."""

    kind: str  # new | back | renamed | retired
    name: str
    successor: str = ""
    is_asked: bool = False  # the panel asks it


def canonical_name(provider: str, wire_name: str) -> str:
    """`google`, `models/Gemini-1.5-Flash` -> `google/gemini-1.5-flash`."""
    name = wire_name.strip().casefold().removeprefix("models/")
    house = provider.partition("/")[0].casefold()
    return name if name.startswith(f"{house}/") else f"{house}/{name}"


def resolve_alias(word: str, rows: Iterable[ModelRow]) -> ModelRow:
    """The model that is meant.  Raises InputError that names the nearest when there is none, or several.

    In this order: the canonical name, an alias, the provider's own spelling, the name without its edition.
    """
    rows = list(rows)
    wanted = word.strip().casefold()
    for spellings in _SPELLINGS:
        found = [row for row in rows if wanted in spellings(row)]
        if len(found) == 1:
            return found[0]
        if found:
            alive = [row for row in found if row.retired_at is None]
            if len(alive) == 1:
                return alive[0]
            names = ", ".join(sorted(row.name for row in found))
            raise InputError(f"{word!r} may be {names}; say which one")
    raise InputError(unknown("model", word, (row.name for row in rows)))


def _bare(row: ModelRow) -> str:
    return row.name.partition("/")[2]


_SPELLINGS: tuple[Callable[[ModelRow], tuple[str, ...]], ...] = (
    lambda row: (row.name,),
    lambda row: tuple(alias.casefold() for alias in row.aliases),
    lambda row: (row.wire_name.casefold(), _bare(row)),
    lambda row: (stem(row.name), stem(_bare(row))),
)


def stem(name: str) -> str:
    """The model without its edition: `gpt-4o-mini` of `gpt-4o-mini-2024-07-18`."""
    while (shorter := _EDITION.sub("", name)) != name and shorter:
        name = shorter
    return name


def refresh(
    rows: Sequence[ModelRow], provider: str, listed: Sequence[str], *, now: datetime, asked: frozenset[str]
) -> tuple[tuple[ModelRow, ...], tuple[ModelFinding, ...]]:
    """The rows of one provider after its listing, and what is worth telling.  `asked`: names the panel uses.

    A model that vanished while a new one of the same stem appeared was renamed; one that just vanished is retired,
    and the nearest of the models that are listed is named.
    """
    if not listed:
        return tuple(rows), ()
    known = {row.name: row for row in rows}
    here = {canonical_name(provider, name): name for name in listed}
    findings: list[ModelFinding] = []
    after: dict[str, ModelRow] = {}
    for name, spelled in here.items():
        before = known.get(name)
        after[name] = _present(before, name, spelled, provider, now)
        if before is None or before.first_seen_at is None:
            findings.append(ModelFinding("new", name, is_asked=name in asked))
        elif before.retired_at is not None:
            findings.append(ModelFinding("back", name, is_asked=name in asked))
    new = {finding.name for finding in findings if finding.kind == "new"} - known.keys()
    for name, row in known.items():
        if name in here:
            continue
        moved, found = _absent(row, here, new, now, name in asked)
        after[name] = moved
        findings += found
    return tuple(after[name] for name in sorted(after)), tuple(findings)


def _present(row: ModelRow | None, name: str, spelled: str, provider: str, now: datetime) -> ModelRow:
    house = provider.partition("/")[0]
    row = row or ModelRow(name=name, provider=house, wire_name=spelled)
    first = row.first_seen_at or now
    return replace(
        row, wire_name=spelled, first_seen_at=first, last_seen_at=now, retired_at=None, successor=""
    )


def _absent(
    row: ModelRow, here: Mapping[str, str], new: set[str], now: datetime, is_asked: bool
) -> tuple[ModelRow, list[ModelFinding]]:
    """A model that the listing does not have.  One that never was in a listing, and is not asked, is left alone."""
    if row.retired_at is not None or (row.first_seen_at is None and not is_asked):
        return row, []
    editions = sorted(name for name in here if stem(name) == stem(row.name))
    renamed = [name for name in editions if name in new] or (editions if row.first_seen_at is None else [])
    successor = renamed[-1] if renamed else nearest(row.name, here)
    kind = "renamed" if renamed else "retired"
    row = replace(row, retired_at=now, successor=successor)
    return row, [ModelFinding(kind, row.name, successor, is_asked)]


def nearest(name: str, others: Iterable[str]) -> str:
    """The one of the same house that is most like it, the newer of equals; nothing when none is like it."""
    scored = sorted((_likeness(name, other), _version(other), other) for other in others if other != name)
    return scored[-1][2] if scored and scored[-1][0] >= NEAR else ""


def _likeness(name: str, other: str) -> float:
    """Words count most (flash stays flash), then the spelling."""
    one, two = stem(name).partition("/")[2], stem(other).partition("/")[2]
    mine, theirs = _PART.findall(one), _PART.findall(two)
    words = {part for part in mine if part.isalpha()}
    its = {part for part in theirs if part.isalpha()}
    shared = len(words & its) / max(1, len(words | its))
    spelled = difflib.SequenceMatcher(None, one, two).ratio()
    return round(0.7 * shared + 0.3 * spelled, 3)


def _version(name: str) -> tuple[float, ...]:
    return tuple(float(part) for part in re.findall(r"\d+(?:\.\d+)?", stem(name)))


def reliability(answered: int, failed: int) -> float:
    """The share of calls that are answered, as far as is known: Beta(9, 1) before the first."""
    return (answered + PRIOR_OK) / (answered + failed + PRIOR_OK + PRIOR_FAILED)


def is_failure(outcome: Outcome) -> bool | None:
    """True: the outcome counts against the model; False: for it; None: it says nothing about the model."""
    verdict = MEANING[outcome].lane_verdict
    return None if verdict is None else not verdict
