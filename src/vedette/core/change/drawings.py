"""Where texts are drawn, does one stand out: does it stay while others come and go, is it one more than ever?"""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import cache

from vedette.contracts.change import Place
from vedette.core.change.noise import NoiseRecord, chance
from vedette.core.change.tracks import Tracks, Vector

STANDS_OUT = 0.1  # chance that a drawn text stays so long: below it, further looks tell


class Drawings:
    """The places of a target, by their record and by these looks."""

    def __init__(self, tracks: Tracks, ledger: NoiseRecord, owned: Container[int]) -> None:
        self.tracks, self.ledger, self.owned = tracks, ledger, owned
        self.record = cache(self._record)
        self.crowds = cache(self._crowds)

    def stands_out(self, key: int, vector: Vector, age: int) -> bool:
        """It came, or went, with the first look and nothing since.  `age`: looks that showed a line which went."""
        path = self.tracks.places[key]
        if vector[0]:
            return self.chance_to_stay(path, age - 1) < STANDS_OUT
        most = self.ledger.places[path].most
        is_one_more = 0 < most < min(self.crowds(path)[1:])
        return is_one_more or self.chance_to_stay(path, len(vector) - 2) < STANDS_OUT

    def chance_to_stay(self, path: str, steps: int) -> float:
        """That a text which is drawn there stays for so many looks more."""
        place = self.record(path)
        return chance(place.stays, place.leaves, steps)

    def lost_more(self, path: str) -> bool:
        """Did more lines leave with the first look than are drawn at any?  Then one of them was not."""
        left = sum(
            vector[0] and not any(vector[1:])
            for key, vector in self.tracks.vectors.items()
            if self.tracks.places[key] == path and key not in self.owned
        )
        drawn = [sum(shown) for shown in zip(*self._drawn_there(path), strict=True)]
        return left > max(drawn[1:], default=0)

    def _record(self, path: str) -> Place:
        place, looks = self.ledger.places[path], self.tracks.looks
        stays, leaves = place.stays, place.leaves
        for vector in self._drawn_there(path):
            for step in filter(looks.is_close, looks.steps):
                stays += vector[step] and vector[step + 1]
                leaves += vector[step] and not vector[step + 1]
        return Place(path, stays, leaves, place.quiet, place.most)

    def _drawn_there(self, path: str) -> Sequence[Vector]:
        """Lines of the place that came or went between close looks."""
        tracks = self.tracks
        return [
            vector
            for key, vector in tracks.vectors.items()
            if tracks.places[key] == path and key not in self.owned and tracks.close_switches(vector)
        ]

    def _crowds(self, path: str) -> Sequence[int]:
        """How many texts that are drawn, or new, each look shows there."""
        tracks, lines = self.tracks, self.ledger.lines
        restless = [key for key, line in lines.items() if line.place == path]
        new = [
            key
            for key, vector in tracks.vectors.items()
            if tracks.places[key] == path and not vector[0] and key not in lines and key not in self.owned
        ]
        return [sum(key in state.index for key in (*restless, *new)) for state in tracks.looks.states]
