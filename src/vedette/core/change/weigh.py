"""Which differences between looks are edits, which are noise, and which need another look?

A line is judged by itself, by what it says and how it came and went; its neighbours play no part.
- A line with a record of coming and going, a value of a known template, a text where texts are drawn: noise, until it
  stays (or stays away) for longer than its record explains.
- A line that was never restless: an edit, once enough close looks agree.
- What comes and goes between close looks is noise from then on.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from functools import cache

from vedette.contracts.change import Noise, Place, Presence, RestlessLine, Template
from vedette.contracts.words import Reason
from vedette.core.change.noise import (
    CROWDED,
    KNOWN,
    MAX_REPLACED,
    OUTLASTS,
    SETTLED,
    NoiseRecord,
    chance,
    chance_of_draws,
    is_away_too_long,
    stays_too_long,
    stepped,
)
from vedette.core.change.recognise import STAYED, Recognised, Shown, moved_places, restless_orders
from vedette.core.change.state import Looks, Tracks, Vector

# Where texts are drawn, does one stand out: does it stay while others come and go, is it one more than ever?

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

    def outlasts(self, path: str, steps: int) -> bool:
        """Is a line that stayed for so many looks an edit?  Where nothing else stays, and one line more went away with
        the first look than any look since draws, whether it is a text or the value of a template."""
        tracks, place = self.tracks, self.ledger.places[path]
        there = [vector for key, vector in tracks.vectors.items() if tracks.places[key] == path]
        varies = [vector for vector in there if tracks.close_switches(vector)]
        most = max([sum(shown) for shown in zip(*varies, strict=True)][1:], default=0)
        stays, leaves = self._kept_and_left(varies)
        is_lost = sum(vector[0] for vector in there) > most
        return is_lost and chance(place.stays + stays, place.leaves + leaves, steps) <= OUTLASTS

    def _record(self, path: str) -> Place:
        place = self.ledger.places[path]
        stays, leaves = self._kept_and_left(self._drawn_there(path))
        return Place(path, place.stays + stays, place.leaves + leaves, place.quiet, place.most)

    def _kept_and_left(self, vectors: Sequence[Vector]) -> tuple[int, int]:
        """How often what one of two close looks showed was there at the next, and how often not."""
        looks = self.tracks.looks
        steps = [step for step in looks.steps if looks.is_close(step)]
        kept = sum(vector[step] and vector[step + 1] for vector in vectors for step in steps)
        return kept, sum(vector[step] for vector in vectors for step in steps) - kept

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


MAX_LOOKS = 8  # since a difference was observed; then what is still open counts as noise until it lasts
VERSION = 0.0125  # chance that a line became another version of itself by a draw: the bar on a restless page
EXHAUSTED = 16  # looks without a new text at a place: all that is drawn there was seen
MAX_NOW = 64  # lines that show one template


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """What was found.  `is_open`: another look is needed, and nothing else counts."""

    is_open: bool
    noise: Noise
    gone: frozenset[int] = frozenset()  # lines of the state before that were edited away
    new: frozenset[int] = frozenset()  # lines of the last look that were edited in
    lost: tuple[RestlessLine, ...] = ()  # restless lines that stayed away for too long
    between: frozenset[int] = frozenset()  # lines that were edited in and away again
    is_moved: bool = False
    reasons: tuple[Reason, ...] = ()


def weigh(
    looks: Looks, noise: Noise, *, age: int, is_trusted: bool = False, is_last: bool = False
) -> Weighed:
    """All differences since the state before.  `age`: looks at this target before them.

    `is_trusted`: differences of this target were always confirmed, so one look is enough.  `is_last`: no further look
    is made, so what is open has to be decided.
    """
    return _Weighing(looks, noise, age, is_trusted).weighed(is_last=is_last)


def looks_needed(steady: int, bar: float) -> int:
    """How many more looks must agree before a line that was steady for so many was edited and not drawn."""
    more = 1
    while more < MAX_LOOKS and chance_of_draws(steady, more + 1) > bar:
        more += 1
    return more


class _Weighing:
    def __init__(self, looks: Looks, noise: Noise, age: int, is_trusted: bool) -> None:
        self.looks, self.noise, self.age, self.is_trusted = looks, noise, age, is_trusted
        self.ledger = NoiseRecord.of(noise)
        self.seen = Recognised(looks, noise, self.ledger, age)
        self.tracks, self.vectors = self.seen.tracks, self.seen.vectors
        self.drawings = Drawings(self.tracks, self.ledger, self.seen.owner)
        self.orders = restless_orders(looks, noise)
        self.is_restless = noise.is_restless or bool(self.orders) or self.seen.varies()
        replaced = set(noise.replaced)  # what was edited away and is back: an edit again, or drawn from a few
        self.has_returned = any(not vector[0] and key in replaced for key, vector in self.vectors.items())
        self.born = set(self.seen.drawn)  # lines found to be restless
        self.open: set[int] = set()
        self.gone: set[int] = set()
        self.new: set[int] = set()

    def weighed(self, *, is_last: bool) -> Weighed:
        for key, vector in self.vectors.items():
            self._judge(key, vector)
        for shown in self.seen.templates:
            self._judge_template(shown)
        self._complete_edits()
        may_move = bool(moved_places(self.looks.before, self.looks.last, self.noise, self.orders))
        is_moved = may_move and (is_last or self._close_looks() >= self._need(SETTLED))
        is_open = bool(self._awaited()) or (may_move and not is_moved)
        if is_open and not is_last and len(self.looks.states) <= MAX_LOOKS:
            return Weighed(is_open=True, noise=self.noise)
        self._end_doubt()
        return self._decided(is_moved=is_moved)

    # --- line by line

    def _judge(self, key: int, vector: Vector) -> None:
        seen = self.seen
        is_known = key in seen.owner or key in self.ledger.lines or key in self.born
        if is_known or self.tracks.places[key] in self.ledger.wild:
            return
        switches = self.tracks.close_switches(vector)
        if key in seen.unsteady:
            self.open.add(key)
        elif switches >= 2 or self._is_drawn(key, vector, switches):
            self.born.add(key)
        elif vector[0] == vector[-1]:
            if not seen.is_odd_answer and key not in seen.between:
                self.born.add(key)
        elif self._is_settled(vector, *self._bar(key, vector)):
            (self.gone if vector[0] else self.new).add(key)
        else:
            self.open.add(key)

    def _is_drawn(self, key: int, vector: Vector, switches: int) -> bool:
        """Does it stand where texts are drawn, or look like one?  A line that became another one does not."""
        if key in self.seen.versions and not switches:
            return False
        is_new = not vector[0]
        place = self.ledger.places.get(self.tracks.places[key])
        if place is not None and not switches and self.drawings.stands_out(key, vector, self.age):
            return False
        is_there = place is not None and (place.quiet < EXHAUSTED or not is_new)
        return (is_there and (is_new or self.seen.is_young)) or (is_new and self.seen.is_known_form(key))

    def _judge_template(self, shown: Shown) -> None:
        vector = shown.vector
        is_restless = shown.template.presence.leaves or self.tracks.close_switches(vector) >= 2
        if not shown.keys or is_restless or vector[0] == vector[-1]:
            return
        lines = {key for key in shown.keys if self.vectors[key][0 if vector[0] else -1]}
        steady = shown.template.presence.run if vector[0] and shown.is_known else self.age
        if self.tracks.agreeing(vector) >= looks_needed(steady, SETTLED):
            (self.gone if vector[0] else self.new).update(lines)
        else:
            self.open |= lines

    def _bar(self, key: int, vector: Vector) -> tuple[float, int]:
        """How unlikely a draw must be before it is taken for an edit, and how many looks that takes."""
        if key in self.seen.versions:
            return VERSION, self._need(VERSION)
        place = self.ledger.places.get(self.tracks.places[key])
        if place is None:
            return SETTLED, self._need(SETTLED)
        steady = self.age if vector[0] else min(self.age, place.quiet)
        return CROWDED, looks_needed(steady, CROWDED)

    def _is_settled(self, vector: Vector, bar: float, need: int) -> bool:
        """Have enough looks shown the new state?"""
        if self.tracks.close_switches(vector) == 0:
            return self.tracks.agreeing(vector) >= need
        switched = self.tracks.switches(vector)[-1]
        more = len(vector) - 2 - switched
        is_restless = self.noise.is_restless or self.orders or self.seen.varies_surely
        return more + 1 >= STAYED and (not is_restless or more >= looks_needed(self.age + switched, bar))

    def _need(self, bar: float) -> int:
        """How many close looks must agree after the first that showed a difference."""
        if self.has_returned:
            return looks_needed(max(1, self.age - self.noise.edited_at), bar)
        if not self.is_restless:
            return 0 if self.is_trusted else 1
        return looks_needed(self.age, bar)

    def _close_looks(self) -> int:
        return sum(map(self.looks.is_close, self.looks.steps))

    def _awaited(self) -> set[int]:
        """Open lines that another look must tell.  An edit that is clear does not wait for what varies beside it; on a
        page where nothing ever varied, what differs beside it may be the next edit."""
        is_clear = bool(self.gone) and all(self.seen.after.get(key) in self.new for key in self.gone)
        if not is_clear or not self.noise.is_restless:
            return self.open
        return {key for key in self.open if not self.tracks.close_switches(self.vectors[key])}

    def _end_doubt(self) -> None:
        """No more looks are made: what all of them showed was edited."""
        agreed = {key for key in self.open if self._is_agreed(key)}
        if self.age < KNOWN:
            agreed = self._sure_of(agreed)
        self.gone |= {key for key in agreed if self.vectors[key][0]}
        self.new |= {key for key in agreed if not self.vectors[key][0]}
        self.open -= agreed
        if agreed:
            self._complete_edits()
        self.born |= self.open

    def _sure_of(self, agreed: set[int]) -> set[int]:
        """Where others come and go, a line of a page that was looked at once may be there by chance.

        One that took the place of another is not, nor one that stays while all others go.
        """
        places = self.tracks.places
        gone = {places[key] for key in agreed if self.vectors[key][0]}
        new = {places[key] for key in agreed if not self.vectors[key][0]}
        steady = (gone | new) - {places[key] for key in self.born}
        return {key for key in agreed if places[key] in (gone & new) | steady or self._outlasts(key)}

    def _outlasts(self, key: int) -> bool:
        path, vector = self.tracks.places[key], self.vectors[key]
        return not vector[0] and path in self.ledger.places and self.drawings.outlasts(path, len(vector) - 2)

    def _is_agreed(self, key: int) -> bool:
        """Did all looks since the difference show the same of it, or of the template that it shows?"""
        shown = self.seen.owner.get(key)
        if shown is not None and not self._is_edited(shown):
            return False
        return not self.tracks.close_switches(self.vectors[key] if shown is None else shown.vector)

    def _is_edited(self, shown: Shown) -> bool:
        """Did a line whose values vary, and which was always there, go or come?"""
        return not shown.template.presence.leaves and shown.vector[0] != shown.vector[-1]

    def _complete_edits(self) -> None:
        """The new version of a line that was edited away is shown with it, also when values in it are drawn anew."""
        shown = {self.seen.after[key] for key in self.gone if key in self.seen.after}
        shown = {key for key in shown if self._is_lasting(key)} | self._took_the_place()
        self.new |= shown
        self.born -= shown
        self.open -= shown

    def _is_lasting(self, key: int) -> bool:
        """Is the new version there, and not a text that was just drawn where others are?"""
        is_drawn_there = self.tracks.places[key] in self.ledger.places
        return key in self.looks.last.index and not (
            is_drawn_there and self.tracks.close_switches(self.vectors[key])
        )

    def _took_the_place(self) -> set[int]:
        """Where a steady line went, a text that came with the first look and stayed took its place."""
        places = {self.tracks.places[key] for key in self.gone if key not in self.seen.after}
        stayed = [key for key in self.born if not self.vectors[key][0] and all(self.vectors[key][1:])]
        return {key for key in stayed if len(self.looks.states) > 2 and self.tracks.places[key] in places}

    # --- what is known from now on

    def _decided(self, *, is_moved: bool) -> Weighed:
        ledger, seen = self.ledger, self.seen
        ledger.add_lines({key: self.tracks.places[key] for key in self.born}, self.tracks.text)
        ledger.begin(self.looks.before, self.born, self.age)
        for state in self.looks.states[1:]:
            ledger.look(state)
        lasting, lost = self._too_long()
        ledger.free(lasting)
        for key in (*self.new, *self.gone, *(line.key for line in lost)):
            ledger.lines.pop(key, None)
        ledger.templates = self._kept_templates()
        is_edited = bool(self.gone or self.new or lasting or lost or is_moved)
        is_noise = bool(self.born or self.orders) or any(not one.is_known for one in seen.templates)
        noise = self._counted(ledger.noise(self.noise, self.orders), is_edited=is_edited, is_noise=is_noise)
        return Weighed(
            is_open=False,
            noise=noise,
            gone=frozenset(self.gone),
            new=frozenset({*self.new, *lasting}),
            lost=lost,
            between=frozenset(key for key in seen.between if seen.after.get(key) in self.new),
            is_moved=is_moved,
            reasons=tuple(seen.reasons),
        )

    def _counted(self, noise: Noise, *, is_edited: bool, is_noise: bool) -> Noise:
        """How often a difference was an edit, and when."""
        looks = len(self.looks.states) - 1
        replaced = tuple(dict.fromkeys((*noise.replaced, *sorted(self.gone))))
        return replace(
            noise,
            agreed=noise.agreed + (is_edited and looks > 1),
            refuted=noise.refuted + (is_noise and not is_edited),
            quick=noise.quick + looks - 1,
            edited_at=self.age + looks if is_edited else noise.edited_at,
            replaced=replaced[-MAX_REPLACED:],
        )

    def _too_long(self) -> tuple[list[int], tuple[RestlessLine, ...]]:
        places = self.ledger.places
        there, away = [], []
        for line in self.ledger.lines.values():
            if line.presence.run > 1 and stays_too_long(line.presence, places.get(line.place)):
                there.append(line.key)
            elif line.presence.run < -1 and is_away_too_long(line.presence, places.get(line.place)):
                away.append(line)
        if there or away:
            self.seen.reasons.append(Reason("lasts", len(there) + len(away)))
        return there, tuple(away)

    def _kept_templates(self) -> list[Template]:
        last = self.looks.last
        rising = self.seen.rising(key for key in self.gone if self.seen.after.get(key) in self.new)
        kept = []
        for shown in self.seen.templates:
            template, presence = shown.template, shown.template.presence
            if not shown.vector[-1] and shown.keys & self.gone:
                continue
            if not template.rises:
                presence = presence if presence.run or not shown.vector[0] else Presence(run=1)
                for is_there in shown.vector[1:]:
                    presence = stepped(presence, is_there)
            now = [key for key in dict.fromkeys((*template.now, *shown.keys)) if key in last.index]
            kept.append(replace(template, presence=presence, now=tuple(now[:MAX_NOW])))
        return [*kept, *rising]
