"""What do the lines that differ belong to: values of a template, texts drawn at a place, versions of a line?

Only what varies between close looks is noise.  Between others a value is, when it shows the time or counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from vedette.contracts.change import Noise, Place, Template
from vedette.contracts.words import Reason
from vedette.core.change.diff import increasing
from vedette.core.change.noise import NoiseRecord
from vedette.core.change.state import Chain, Looks, State, Tracks, Vector, form_of, is_below, parent
from vedette.core.change.template import (
    accepting,
    bare_clock,
    bare_template,
    fits,
    is_bare,
    learn_template,
    rises,
    same_words,
    shows_moment,
    shows_the_time,
)

OLD = 8  # looks at a target: what was steady for so long is not drawn
STAYED = 4  # looks: what came between two close looks and stayed so long was edited
STOPPED = 6  # the same for a number that went up, on a page that is hardly known: counters rest too
DRAWN = 3  # different texts at a place, in at least two steps between close looks
WIDE = 0.6  # one odd answer in place of the page teaches nothing
RISES = 4  # a number that was edited goes up four times in a row once in 120 pages


@dataclass(slots=True)
class Shown:
    """A template and the lines that show it."""

    template: Template
    is_known: bool
    keys: set[int] = field(default_factory=set)  # of lines that vary
    vector: Vector = ()  # the looks that show it


class Recognised:
    """All lines that differ between the looks, as far as they can be told from the looks alone."""

    def __init__(self, looks: Looks, noise: Noise, ledger: NoiseRecord, age: int) -> None:
        self.looks, self.noise, self.ledger = looks, noise, ledger
        self.is_young = age < OLD
        self.tracks = Tracks(looks)
        self.vectors = self.tracks.vectors
        self.templates = [Shown(one, is_known=True) for one in noise.templates]
        self.owner: dict[int, Shown] = {}
        self.drawn: set[int] = set()  # versions of a line that vary too much for a template
        self.after: dict[int, int] = {}  # the last version of a line that became others
        self.between: set[int] = set()  # versions that came and went
        self.versions: set[int] = set()
        self.unsteady: set[int] = set()  # lines that became others between close looks, so far once
        self.reasons: list[Reason] = []
        self._forms = {(line.place, line.form) for line in noise.lines if line.form}
        self.is_odd_answer = self._is_odd_answer()
        # something came and went between close looks
        self.varies_surely = any(
            self.tracks.close_switches(vector) >= 2 for vector in set(self.vectors.values())
        )
        self._match_templates()
        self._follow_versions()
        self._find_places()

    def is_known_form(self, key: int) -> bool:
        """Is it another drawing of a line that came and went before?"""
        return bool(self._forms) and (self.tracks.places[key], form_of(self.tracks.text(key))) in self._forms

    def varies(self) -> bool:
        """May something vary by itself?  What came once and stayed was edited."""
        is_back = any(vector[0] == vector[-1] for vector in self.vectors.values())
        return self.varies_surely or (is_back and len(self.looks.states) > 2)

    def rising(self, edited: Iterable[int]) -> list[Template]:
        """Numbers that were edited upwards may be counters: templates that remember how often they rose."""
        found = []
        for key in edited:
            texts = self.tracks.text(key), self.tracks.text(self.after[key])
            template = learn_template(self.tracks.places[key], texts)
            if template is not None and rises(template, *texts):
                risen = self._risen(template)
                self._forget_rising(template)
                found.append(replace(template, rises=risen + 1))
        return found

    def _is_odd_answer(self) -> bool:
        """Most of the page was away in some look and is back: that look says nothing about noise."""
        before, last = self.looks.before, self.looks.last
        flickered = sum(key in before.index and key in last.index for key in self.vectors)
        return flickered > WIDE * max(1, len(before.keys))

    # --- templates

    def _match_templates(self) -> None:
        by_place: dict[str, list[int]] = {}
        for key, place in self.tracks.places.items():
            by_place.setdefault(place, []).append(key)
        for shown in self.templates:
            if not shown.template.rises:
                self._take(shown, by_place.get(shown.template.place, ()))
        for shown in self.templates:
            shown.vector = self._vector(shown)

    def _take(self, shown: Shown, keys: Iterable[int], *, is_chain: bool = False) -> None:
        """Lines that show the template; not one that was steady for long, which is no value of another line."""
        now = set(shown.template.now)
        for key in keys:
            is_fresh = not self.vectors[key][0] or key in now or key in self.ledger.lines
            may = is_chain or is_fresh or self.is_young
            if may and key not in self.owner and self._shows(key, shown.template):
                self.owner[key] = shown
                shown.keys.add(key)

    def _shows(self, key: int, template: Template) -> bool:
        text = self.tracks.text(key)
        if not fits(template, text):
            return False
        seen = zip(self.vectors[key], self.looks.ats, strict=True)
        return not is_bare(template) or all(shows_moment(text, at) for is_there, at in seen if is_there)

    def _vector(self, shown: Shown) -> Vector:
        now = shown.template.now
        return tuple(
            any(key in state.index for key in now) or any(self.vectors[key][at] for key in shown.keys)
            for at, state in enumerate(self.looks.states)
        )

    def _found(self, chain: Chain, template: Template | None) -> bool:
        """A template that was not known, or a known one in which more varies."""
        if template is None:
            return False
        template = self._with_the_first(template) if self.is_young else template
        first = chain.keys[0]
        before = self.owner.get(first)
        shown = Shown(template, is_known=False)
        if before is not None and fits(template, self.tracks.text(first)):
            kept = replace(template, presence=before.template.presence, now=before.template.now)
            shown = Shown(kept, is_known=True, keys=set(before.keys))
            self.owner |= dict.fromkeys(before.keys, shown)
            self.templates.remove(before)
        self._take(shown, chain.keys, is_chain=True)
        self._take(shown, [key for key in self.vectors if self.tracks.places[key] == template.place])
        shown.vector = self._vector(shown)
        self.templates.append(shown)
        return True

    def _with_the_first(self, template: Template) -> Template:
        """On a page that is hardly known the line before shows the template too, whatever its values look like."""
        if is_bare(template):
            return template
        for key, vector in self.vectors.items():
            if vector[0] and self.tracks.places[key] == template.place and key not in self.owner:
                template = accepting(template, self.tracks.text(key))
        return template

    # --- versions

    def _follow_versions(self) -> None:
        """Lines that became other versions of themselves: values drawn anew, clocks, or edits."""
        chains = self.tracks.chains([key for key in self.vectors if self._is_free(key)])
        chains.sort(key=lambda chain: -len(chain.keys))  # what surely varies says what its like does
        for chain in [one for one in chains if not self._is_drawn(one)]:
            if self._comes_and_goes(chain):
                self._draw(chain)
            elif not self._is_clock(chain) and chain.keys[0] not in self.ledger.lines:
                self._note_versions(chain)

    def _is_free(self, key: int) -> bool:
        """May it have become another line, or another line it?  Noise that is as usual has not."""
        if key in self.owner:
            return not all(self.owner[key].vector)
        return key not in self.ledger.lines or self.vectors[key][0]

    def _is_drawn(self, chain: Chain) -> bool:
        """Do close looks show it vary, and keep on?  One such step may be an edit, unless values were known there."""
        close = [n for n, step in enumerate(chain.steps) if self.looks.is_close(step)]
        if not close:
            return False
        place, texts = (
            self.tracks.places[chain.keys[0]],
            [self.tracks.text(key) for key in chain.keys[close[0] :]],
        )
        template = learn_template(place, texts)
        counts = (
            template is not None
            and rises(template, texts[0], texts[-1])
            and (not self._stood(chain) or self._has_kin(template))
        )
        if len(close) == 1 and chain.keys[0] not in self.owner and not counts:
            return False
        if not self._found(chain, template):
            self._draw(chain)
        return True

    def _stood(self, chain: Chain) -> bool:
        """A number that goes up between close looks counts, unless it stood for long on a page without noise."""
        ats, first = self.looks.ats, chain.steps[0]
        return not self.noise.is_restless and first > 0 and ats[first] - ats[0] > self.looks.close_within

    def _draw(self, chain: Chain) -> None:
        self.drawn.update(key for key in chain.keys if key not in self.owner)

    def _comes_and_goes(self, chain: Chain) -> bool:
        vector = tuple(map(any, zip(*(self.vectors[key] for key in chain.keys), strict=True)))
        return self.tracks.close_switches(vector) >= 2

    def _is_clock(self, chain: Chain) -> bool:
        """Did the line move with the time, or up again as it and its like did before?"""
        first, then, step = chain.keys[0], chain.keys[1], chain.steps[0]
        texts = self.tracks.text(first), self.tracks.text(then)
        ats = self.looks.ats[step], self.looks.ats[step + 1]
        template = None if self.looks.is_close(step) else learn_template(self.tracks.places[first], texts)
        if template is None:
            kind = None if self.looks.is_close(step) else bare_clock(*texts, ats)
            return kind is not None and self._found(chain, bare_template(self.tracks.places[first], kind))
        if shows_the_time(template, texts, ats):
            self.reasons.append(Reason("shows_the_time"))
            return self._found(chain, template)
        if rises(template, *texts) and (self._risen(template) + 1 >= RISES or self._has_kin(template)):
            self.reasons.append(Reason("counts_up"))
            self._forget_rising(template)
            return self._found(chain, template)
        return False

    def _has_kin(self, template: Template) -> bool:
        """Is a line of the same place that ends alike known to count: "(17 views)"?"""
        end = template.heads[-1]
        return any(map(str.isalpha, end)) and any(
            (one.template.place, one.template.kinds, one.template.heads[-1])
            == (template.place, template.kinds, end)
            for one in self.templates
            if not one.template.rises
        )

    def _risen(self, template: Template) -> int:
        return next((one.template.rises for one in self.templates if same_words(one.template, template)), 0)

    def _forget_rising(self, template: Template) -> None:
        self.templates = [
            one for one in self.templates if not (one.template.rises and same_words(one.template, template))
        ]

    def _note_versions(self, chain: Chain) -> None:
        """An edited line has its new version in the last look; what came and went again was drawn."""
        if chain.keys[-1] not in self.looks.last.index:
            return
        self.after.update(dict.fromkeys(chain.keys[:-1], chain.keys[-1]))
        self.versions.update(chain.keys)
        self.between.update(chain.keys[1:-1])
        shown = len(self.looks.states) - 1 - chain.steps[-1]
        if shown < self._stays(chain) and any(map(self.looks.is_close, chain.steps)):
            self.unsteady.update(chain.keys)

    def _stays(self, chain: Chain) -> int:
        """For how many looks it must stay as it is: more, where it may be a counter of a page that is hardly known."""
        texts = [self.tracks.text(key) for key in chain.keys[-2:]]
        template = learn_template(self.tracks.places[chain.keys[0]], texts) if self.is_young else None
        return STOPPED if template is not None and rises(template, *texts) else STAYED

    # --- places

    def _find_places(self) -> None:
        """Where several texts came and went between close looks, texts are drawn."""
        if self.is_odd_answer:
            return
        steps: dict[str, set[int]] = {}
        texts: dict[str, int] = {}
        for key, vector in self.vectors.items():
            close = self._close_steps(vector) if key not in self.owner else ()
            if close:
                place = self.tracks.places[key]
                steps.setdefault(place, set()).update(close)
                texts[place] = texts.get(place, 0) + 1
        for place, seen in steps.items():
            if len(seen) >= 2 and texts[place] >= DRAWN:
                self.ledger.places.setdefault(place, Place(place))

    def _close_steps(self, vector: Vector) -> Sequence[int]:
        return [step for step in self.tracks.switches(vector) if self.looks.is_close(step)]


# Lines that stand in another order: where somebody moved them, and where they come in any order by themselves.


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
