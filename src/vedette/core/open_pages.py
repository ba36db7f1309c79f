"""Open pages of a hunt in columns, kept from one choice to the next: a million of them can be weighed at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from vedette.contracts.hunt import HuntRecord
from vedette.contracts.words import Reason
from vedette.core.hunt_worth import Prospect, sum_of
from vedette.core.schedule.columns import chances
from vedette.core.urls.canonical import watch_id

ROOM = 1024  # rows at first


class Names:
    """Numbers for names, from 1 on.  0 is no name."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}
        self.all: list[str] = [""]

    def __len__(self) -> int:
        return len(self.all)

    def id(self, name: str) -> int:
        found = self.ids.get(name)
        if found is None:
            found = self.ids[name] = len(self.all)
            self.all.append(name)
        return found

    def column(self, records: Mapping[str, HuntRecord]) -> RecordColumns:
        """What is known of each name."""
        found = np.zeros((3, len(self.all)))
        at = [self.ids.get(name, 0) for name in records]
        if at:
            figures = np.fromiter(chain.from_iterable(records.values()), np.float64, 3 * len(at))
            found[:, at] = figures.reshape(-1, 3).T
            found[:, 0] = 0.0
        return RecordColumns(*found)

    def counted(self, counts: Mapping[str, int]) -> np.ndarray:
        found = np.zeros(len(self.all))
        found[[self.ids.get(name, 0) for name in counts]] = list(counts.values())
        found[0] = 0.0
        return found


class RecordColumns(NamedTuple):
    """Records of looks, by number of a name."""

    looks: np.ndarray
    found: np.ndarray
    errors: np.ndarray

    def mean(self, larger: np.ndarray | float, prior: float) -> np.ndarray:
        """What a look is expected to find; `larger` is the same of the place that holds it."""
        expected: np.ndarray = (self.found + prior * larger) / (self.looks + prior)
        return expected


class OpenPages:
    """Changes only in `put` and `drop`.  What is chosen from it stays until it is dropped."""

    def __init__(self, prospects: Iterable[Prospect] = (), *, seed: int = 0) -> None:
        """`seed`: of the chance that orders equals."""
        self._seed = seed
        self._rows: dict[int, int] = {}  # by id of the watch, which is a hash of its URL
        self._free: list[int] = []
        self._urls: list[str] = []  # "": the page was dropped
        self._costs: dict[int, tuple[Reason, ...]] = {}  # by row, of pages whose path costs something
        self.places, self.hosts, self.seeds, self.words = Names(), Names(), Names(), Names()
        self._host_of_place = np.zeros(ROOM, np.int32)
        self._place, self._seed_of = np.zeros(ROOM, np.int32), np.zeros(ROOM, np.int32)
        self._pull, self._cost, self._chance = np.zeros(ROOM), np.zeros(ROOM), np.zeros(ROOM)
        self._said: list[np.ndarray] = []  # the first words of all pages, then the second ones
        self.put(prospects)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, watch: int) -> bool:
        return watch in self._rows

    def put(self, prospects: Iterable[Prospect]) -> None:
        """These are open.  One that is known is as it is given now."""
        unique = list({one.url: one for one in prospects}.values())
        if not unique:
            return
        ids = np.fromiter((watch_id(one.url) for one in unique), np.int64, len(unique))
        rows = np.array([self._row(watch) for watch in ids.tolist()])
        self._chance[rows] = chances(self._seed, ids, np.zeros(len(unique), np.int64))
        self._pull[rows], self._cost[rows] = (
            [one.pull for one in unique],
            [sum_of(one.costs) for one in unique],
        )
        self._place[rows] = [self._numbered(one) for one in unique]
        self._seed_of[rows] = [self.seeds.id(one.seed) for one in unique]
        self._say(rows, [[self.words.id(word) for word in one.words] for one in unique])
        for row, one in zip(rows.tolist(), unique, strict=True):
            self._urls[row] = one.url
            if one.costs:
                self._costs[row] = one.costs
            else:
                self._costs.pop(row, None)

    def drop(self, watches: Iterable[int]) -> None:
        """These are not open any more."""
        for watch in watches:
            row = self._rows.pop(watch, None)
            if row is None:
                continue
            self._urls[row] = ""
            self._place[row] = 0
            for column in self._said:
                column[row] = 0
            self._free.append(row)

    @property
    def many(self) -> int:
        """Rows, also those of pages that were dropped: these have place 0."""
        return len(self._urls)

    @property
    def place(self) -> np.ndarray:
        return self._place[: self.many]

    @property
    def chance(self) -> np.ndarray:
        return self._chance[: self.many]

    @property
    def pull(self) -> np.ndarray:
        return self._pull[: self.many]

    @property
    def cost(self) -> np.ndarray:
        return self._cost[: self.many]

    def seed_of(self, rows: np.ndarray) -> np.ndarray:
        found: np.ndarray = self._seed_of[rows]
        return found

    def host_of_places(self) -> np.ndarray:
        return self._host_of_place[: len(self.places)]

    def prospect(self, row: int) -> Prospect:
        """The page as it was put."""
        if not self._urls[row]:
            raise LookupError(f"row {row} was dropped")
        place = int(self._place[row])
        return Prospect(
            self._urls[row],
            self.hosts.all[self._host_of_place[place]],
            self.places.all[place],
            self._costs.get(row, ()),
            self.seeds.all[self._seed_of[row]],
            float(self._pull[row]),
            tuple(self.words.all[column[row]] for column in self._said if column[row]),
        )

    def rows_of(self, places: Iterable[int]) -> dict[int, list[int]]:
        """Rows by neighbourhood, of these."""
        found: dict[int, list[int]] = {place: [] for place in places}
        is_wanted = np.zeros(len(self.places), bool)
        is_wanted[list(found)] = True
        rows = np.flatnonzero(is_wanted[self.place])
        for row, place in zip(rows.tolist(), self._place[rows].tolist(), strict=True):
            found[place].append(row)
        return found

    def summed(self, lifts: np.ndarray) -> np.ndarray:
        """For each page the sum over its words, one word after the other."""
        sums, part = np.zeros(self.many), np.empty(self.many)
        for column in self._said:
            np.take(lifts, column[: self.many], out=part, mode="clip")
            sums += part
        return sums

    def _row(self, watch: int) -> int:
        row = self._rows.get(watch)
        if row is not None:
            return row
        if self._free:
            row = self._free.pop()
        else:
            row = len(self._urls)
            self._urls.append("")
            if row == len(self._place):
                self._grow()
        self._rows[watch] = row
        return row

    def _numbered(self, one: Prospect) -> int:
        place, host = self.places.id(one.neighbourhood), self.hosts.id(one.host)
        if place == len(self._host_of_place):
            self._host_of_place = _twice(self._host_of_place)
        self._host_of_place[place] = host
        return place

    def _say(self, rows: np.ndarray, words: Sequence[Sequence[int]]) -> None:
        while len(self._said) < max(map(len, words)):
            self._said.append(np.zeros(len(self._place), np.int32))
        for at, column in enumerate(self._said):
            column[rows] = [said[at] if at < len(said) else 0 for said in words]

    def _grow(self) -> None:
        self._place, self._seed_of = _twice(self._place), _twice(self._seed_of)
        self._pull, self._cost, self._chance = _twice(self._pull), _twice(self._cost), _twice(self._chance)
        self._said = [_twice(column) for column in self._said]


def _twice(column: np.ndarray) -> np.ndarray:
    return np.concatenate((column, np.zeros_like(column)))
