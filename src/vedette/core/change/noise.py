"""How restless is a line, and can that explain what is seen?  Counted per target, in steps from look to look.

A line that comes and goes by itself stays for some looks with a chance that its own record tells (Beta-binomial, prior
one half each).  While that chance is above `ERROR` its being there, or away, is no news; below it somebody edited the
page.  So an unedited line with a record is reported at most once in 1 / ERROR of its comings and goings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, lgamma

from vedette.contracts.change import Noise, Place, Presence, RestlessLine, Template
from vedette.core.change.state import State, form_of, is_below

ERROR = 1e-5  # that noise is taken for an edit, each time a restless line comes or goes
SETTLED = 2e-5  # that a line which came or went once, and never again, was drawn
CROWDED = 1e-6  # the same where other texts are drawn
KNOWN = 2  # looks at a target before a difference: what eight looks show then was drawn once in 500 times
YOUNG = 8  # looks at a target before a line came: fewer say little about how long it stayed away
OUTLASTS = 1e-3  # chance that a drawn text stays for all looks, on a page that is hardly known
RETURNS = 2  # a line that came back less often may just be gone
MAX_LINES = 512
MAX_BORN = 256  # at one place, in one look: more cannot be told apart
MAX_TEMPLATES = 64
MAX_PLACES = 64
MAX_REPLACED = 128
MAX_TEXT = 120  # characters of a line that is kept to show its removal
PRIOR = 0.5
STEADY = 16  # looks after which a line that never left is as steady as any other
MAX_AGE = 50  # looks that count for how steady a line was


def chance(kept: int, ended: int, run: int) -> float:
    """That a state which went on `kept` times and ended `ended` times goes on for `run` more steps."""
    if run <= 0:
        return 1.0
    a, b = kept + PRIOR, ended + PRIOR
    return exp(lgamma(a + run) - lgamma(a) + lgamma(a + b) - lgamma(a + b + run))


def chance_of_draws(first: int, then: int) -> float:
    """That a line drawn at some unknown rate is one way for `first` looks and the other way for `then` more."""
    return exp(lgamma(first + 1) + lgamma(then + 1) - lgamma(first + then + 2))


def stays_too_long(presence: Presence, place: Place | None) -> bool:
    """Has a line that is there been there for longer than its record explains?"""
    steps = presence.run - 1
    if presence.leaves:
        return chance(presence.stays - steps, presence.leaves, steps) <= ERROR
    if not presence.waits:
        return False  # it was there from the start
    is_drawn = place is not None and chance(max(0, place.stays - steps), place.leaves, steps) > ERROR
    bar = OUTLASTS if presence.waits < YOUNG else SETTLED
    return not is_drawn and chance_of_draws(presence.waits, presence.run) <= bar


def is_away_too_long(presence: Presence, place: Place | None) -> bool:
    """Where texts are drawn, one that never came back says nothing."""
    steps = -presence.run - 1
    if presence.returns:
        known = presence.returns >= RETURNS
        return known and chance(presence.waits - steps, presence.returns, steps) <= ERROR
    return place is None and chance_of_draws(presence.stays + 1, -presence.run) <= SETTLED


def stepped(presence: Presence, is_there: bool) -> Presence:
    """One look further.  What was never there is not away."""
    if presence.run == 0:
        return replace(presence, run=1) if is_there else presence
    if presence.is_there:
        if is_there:
            return replace(presence, stays=presence.stays + 1, run=presence.run + 1)
        return replace(presence, leaves=presence.leaves + 1, run=-1)
    if is_there:
        return replace(presence, returns=presence.returns + 1, run=1)
    return replace(presence, waits=presence.waits + 1, run=presence.run - 1)


def is_in_any_order(noise: Noise, path: str) -> bool:
    return any(is_below(path, container) for container in noise.orders)


@dataclass(slots=True)
class NoiseRecord:
    """The noise of a target while looks are added to it."""

    lines: dict[int, RestlessLine] = field(default_factory=dict)
    templates: list[Template] = field(default_factory=list)
    places: dict[str, Place] = field(default_factory=dict)
    wild: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, noise: Noise) -> NoiseRecord:
        return cls(
            lines={line.key: line for line in noise.lines},
            templates=list(noise.templates),
            places={place.path: place for place in noise.places},
            wild=set(noise.wild),
        )

    def add_lines(self, born: Mapping[int, str], text_of: Callable[[int], str]) -> None:
        """Lines that were not known as restless before, with their places.  Where they are is told by `look`."""
        crowds = Counter(born.values())
        self.wild.update(place for place, lines in crowds.items() if lines > MAX_BORN)
        for key, place in born.items():
            if key not in self.lines and place not in self.wild:
                self.lines[key] = RestlessLine(key, place, Presence(), form_of(text_of(key)))
                if place in self.places:
                    self.places[place] = replace(self.places[place], quiet=-1)  # this look makes it 0

    def look(self, state: State) -> None:
        """Counts one look at all that is restless."""
        self.places = {path: replace(place, quiet=place.quiet + 1) for path, place in self.places.items()}
        for key, line in self.lines.items():
            is_there = key in state.index
            self._count_place(line, is_there)
            presence = stepped(line.presence, is_there)
            text = line.text or (cut(state.text(key)) if is_there and presence.returns >= RETURNS else "")
            self.lines[key] = replace(line, presence=presence, text=text)
        crowds = Counter(line.place for line in self.lines.values() if line.presence.is_there)
        for path, place in self.places.items():
            if crowds[path] > place.most:
                self.places[path] = replace(place, most=crowds[path])

    def begin(self, state: State, keys: Iterable[int], age: int) -> None:
        """Lines that were just found to be restless: until now they were there, or away, at every look."""
        steady = min(age, MAX_AGE)
        for key in keys:
            line = self.lines.get(key)
            if line is None:
                continue
            if line.presence.run == 0 and key in state.index:
                presence = Presence(stays=steady - 1, run=steady)
                self.lines[key] = replace(line, presence=presence, text=cut(state.text(key)))
            elif line.presence.run == 0:
                self.lines[key] = replace(line, presence=Presence(waits=steady, run=-steady))

    def free(self, keys: Iterable[int]) -> None:
        """These were edited in, so their staying says nothing about what is drawn there."""
        for line in [self.lines.pop(key) for key in keys if key in self.lines]:
            place = self.places.get(line.place)
            if place is not None:
                stays, most = place.stays - line.presence.stays, place.most - 1
                self.places[line.place] = replace(place, stays=max(0, stays), most=max(1, most))

    def _count_place(self, line: RestlessLine, is_there: bool) -> None:
        place = self.places.get(line.place)
        if place is None or not line.presence.is_there:
            return
        stays, leaves = place.stays + is_there, place.leaves + (not is_there)
        self.places[line.place] = replace(place, stays=stays, leaves=leaves)

    def noise(self, past: Noise, orders: Iterable[str]) -> Noise:
        """All that is known now; how often differences were edits is counted elsewhere."""
        return replace(
            past,
            lines=tuple(self._kept()),
            templates=tuple(self.templates[-MAX_TEMPLATES:]),
            places=tuple(self.places.values())[-MAX_PLACES:],
            orders=tuple(dict.fromkeys((*past.orders, *orders)))[:MAX_PLACES],
            wild=tuple(sorted(self.wild))[:MAX_PLACES],
        )

    def _kept(self) -> list[RestlessLine]:
        """Bounded: lines that are away and never came back go first; a place with too many lines is wild."""
        lines = [
            line
            for line in self.lines.values()
            if line.place not in self.wild and line.presence.run and not _was_steady(line.presence)
        ]
        if len(lines) <= MAX_LINES:
            return lines
        there = [line for line in lines if line.presence.is_there]
        if len(there) > MAX_LINES // 2:
            crowded = most_common_place(there)
            self.wild.add(crowded)
            self.places.pop(crowded, None)
            return self._kept()
        away = sorted(
            (line for line in lines if not line.presence.is_there),
            key=lambda line: (line.presence.returns == 0, -line.presence.run),
        )
        return [*there, *away[: MAX_LINES - len(there)]]


def _was_steady(presence: Presence) -> bool:
    """There from the start, and for so long that it is not drawn."""
    return not presence.leaves and not presence.waits and presence.run > STEADY


def cut(text: str) -> str:
    """Whole words, as many as are kept."""
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT].rpartition(" ")[0] + " …"


def most_common_place(lines: Sequence[RestlessLine]) -> str:
    counted = Counter(line.place for line in lines)
    return max(counted, key=lambda place: (counted[place], place))
