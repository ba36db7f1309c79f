"""The lines that differ between looks: in which looks each was there, and which became which."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

from vedette.core.change.kinds import ATOMS, kind_of
from vedette.core.change.state import State, Words, likeness, words

LIKE = 0.4  # share of common words that makes two lines versions of each other
MAX_PAIRS = 2_000  # pairs of lines whose likeness is measured, per step and place
MAX_LEFT = 100  # lines that left a place and may come back as another version
Vector = tuple[bool, ...]  # is it there, look by look


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """The state before, and the looks since then."""

    states: tuple[State, ...]
    ats: tuple[datetime, ...]
    close_within: timedelta  # looks so close together show noise and next to no edits

    @property
    def before(self) -> State:
        return self.states[0]

    @property
    def last(self) -> State:
        return self.states[-1]

    @property
    def steps(self) -> range:
        return range(len(self.states) - 1)

    def is_close(self, step: int) -> bool:
        """Before the first look anybody may have edited, however soon it came; between the others hardly anybody."""
        return step > 0 and self.ats[step + 1] - self.ats[step] <= self.close_within


@dataclass(slots=True)
class Chain:
    """Versions of one line, one after another."""

    keys: list[int]
    steps: list[int] = field(default_factory=list)  # between which looks each version became the next


class Tracks:
    """Every line that some of the looks show and others do not."""

    def __init__(self, looks: Looks) -> None:
        self.looks = looks
        indexes = [state.index for state in looks.states]
        common = set(indexes[0]).intersection(*indexes[1:])
        self._home: dict[int, State] = {}
        self._switches: dict[Vector, list[int]] = {}
        self.vectors: dict[int, Vector] = {}
        for state in looks.states:
            for key in state.keys:
                if key not in common and key not in self.vectors:
                    self.vectors[key] = tuple([key in index for index in indexes])
                    self._home[key] = state

    def text(self, key: int) -> str:
        return self._home[key].text(key)

    @cached_property
    def places(self) -> dict[int, str]:
        return {key: home.place(key) for key, home in self._home.items()}

    def switches(self, vector: Vector) -> list[int]:
        """The steps at which it came or went.  Remembered: thousands of lines share a few vectors."""
        if vector not in self._switches:
            self._switches[vector] = [s for s in self.looks.steps if vector[s] != vector[s + 1]]
        return self._switches[vector]

    def close_switches(self, vector: Vector) -> int:
        return sum(map(self.looks.is_close, self.switches(vector)))

    def agreeing(self, vector: Vector) -> int:
        """Steps between close looks since it last came or went."""
        switched = self.switches(vector)
        since = switched[-1] + 1 if switched else 0
        return sum(self.looks.is_close(step) for step in self.looks.steps if step >= since)

    def chains(self, keys: Collection[int]) -> list[Chain]:
        """Which of these lines became which other, by their words; at once, or after being away."""
        into: dict[int, tuple[int, int]] = {}
        taken: set[int] = set()
        known: dict[int, Words] = {}
        left: dict[str, list[int]] = {}
        for step in self.looks.steps:
            for place, gone in self._switching(keys, step, is_coming=False).items():
                left.setdefault(place, []).extend(gone)
            for place, come in self._switching(keys, step, is_coming=True).items():
                for one, other in self._paired(left.get(place, [])[-MAX_LEFT:], come, known):
                    into[one] = (other, step)
                    taken.add(other)
                    left[place].remove(one)
        return [self._chain(key, into) for key in keys if key in into and key not in taken]

    def _chain(self, key: int, into: dict[int, tuple[int, int]]) -> Chain:
        chain = Chain([key])
        while key in into and len(chain.keys) <= len(self.looks.states):
            key, step = into[key]
            chain.keys.append(key)
            chain.steps.append(step)
        return chain

    def _paired(
        self, old: Sequence[int], new: Sequence[int], known: dict[int, Words]
    ) -> list[tuple[int, int]]:
        """Best likeness first; each line once.  One value that became another of its kind is a version too."""
        if len(old) * len(new) > MAX_PAIRS:
            return []
        for key in (*old, *new):
            if key not in known:
                known[key] = words(self.text(key))
        alike = [(likeness(known[one], known[other]), one, other) for one in old for other in new]
        pairs: list[tuple[int, int]] = []
        left, right = set(old), set(new)
        for share, one, other in sorted(alike, key=lambda pair: -pair[0]):
            if share >= LIKE and one in left and other in right:
                left.discard(one)
                right.discard(other)
                pairs.append((one, other))
        return [*pairs, *self._values([k for k in old if k in left], [k for k in new if k in right])]

    def _values(self, old: Sequence[int], new: Sequence[int]) -> list[tuple[int, int]]:
        """Lines that are nothing but a value became others of their kind, in order."""
        gone, come = ([(key, kind_of(self.text(key))) for key in keys] for keys in (old, new))
        left, right = ([(key, kind) for key, kind in lines if kind in ATOMS] for lines in (gone, come))
        is_same = [kind for _, kind in left] == [kind for _, kind in right]
        return [(one, other) for (one, _), (other, _) in zip(left, right, strict=True)] if is_same else []

    def _switching(self, keys: Collection[int], step: int, *, is_coming: bool) -> dict[str, list[int]]:
        """The lines that come, or go, at this step, by place."""
        found: dict[str, list[int]] = {}
        wanted = (not is_coming, is_coming)
        for key in keys:
            if self.vectors[key][step : step + 2] == wanted:
                found.setdefault(self.places[key], []).append(key)
        return found
