"""What people say of a change, and a rule against noise: proposed, tried on the evidence that is kept, then applied.

A rule is some filter steps more for the source of the change.  It is tried on the changes that were told of all pages
of that source: which of them would not have been told, and which of those somebody marked as useful.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime

from vedette.contracts.change import Change, ChangeKind, DiffOp
from vedette.contracts.errors import ConfigError, InputError
from vedette.contracts.filters import PageFilters
from vedette.contracts.watch import Decision, LedgerNote, Watch
from vedette.contracts.words import ChangeId, ContentClass, EvidenceId, Reason, WatchId
from vedette.core.filters.filter_steps import read_filters
from vedette.core.filters.noise_rules import NoiseRule, Retold, proposed_rules, retold, with_rule
from vedette.core.text.charset import decode
from vedette.engine.crawl.compare_states import Body, Comparer, PastStates, SameFilters, always, never
from vedette.engine.settle.ids import OPERATOR, Ids
from vedette.evidence.text_cache import TextCache
from vedette.extract import Page
from vedette.extract.documents.language import reader_version
from vedette.extract.element_filters import check_elements, takes_long
from vedette.extract.element_names import selectors_of
from vedette.operations.arguments import TOLD, a_mark
from vedette.operations.changes import NumberedChange, list_changes, numbered_json, stored_diff
from vedette.operations.installation import Installation
from vedette.operations.source_filters import SourceFilters, filters_of_page, set_filters
from vedette.store.change_marks import note_word, save_mark
from vedette.store.sqlite import Reader
from vedette.store.views import ChangeFilter

MOST_TESTED = 300  # changes of a source, newest first; those that are marked useful come on top
NO_MARK = "none"
Progress = Callable[[int, int], None]
_ids = Ids(OPERATOR)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestedRule:
    """What a rule would have done."""

    rule: NoiseRule
    filters: tuple[str, ...]  # of the source, with it
    hidden: tuple[NumberedChange, ...]  # that would not have been told, newest first
    hides_this: bool  # the change that somebody calls noise
    louder: int  # changes in which more would have differed

    @property
    def useful(self) -> int:
        """Hidden ones that somebody marked as useful."""
        return sum(one.view.mark == "useful" for one in self.hidden)

    @property
    def words(self) -> str:
        count = len(self.hidden)
        return f"would have hidden {count} report{'' if count == 1 else 's'}, {self.useful} that you marked useful"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackTest:
    """Rules against one change, the best first."""

    change: NumberedChange
    source: SourceFilters
    tested: int  # changes that were read again
    unread: int  # whose evidence is not kept any more, or that say that a page is gone or back
    rules: tuple[TestedRule, ...]


def back_test(
    installation: Installation,
    what: str,
    steps: Sequence[str] | None = None,
    *,
    progress: Progress = lambda done, whole: None,
) -> BackTest:
    """Rules for this change; `steps`: this one, in place of those that are proposed."""
    change = stored_diff(installation, what).change
    source = filters_of_page(installation, change.view.url)
    others = _told_of(installation, change)
    with closing(Reader(installation.store())) as reader:
        trial = _Trial(installation, reader, source)
        rules = trial.proposed(change) if steps is None else (_own_rule(steps),)
        for rule in rules:
            trial.add(rule)
        for done, one in enumerate(others):
            progress(done, len(others))
            trial.read(one)
    tested = [
        TestedRule(
            rule=rule,
            filters=trial.filters[rule],
            hidden=tuple(one for one in others if rule in trial.hidden_by.get(one.view.change.id, ())),
            hides_this=rule in trial.hidden_by.get(change.view.change.id, ()),
            louder=trial.louder.get(rule, 0),
        )
        for rule in rules
    ]
    tested.sort(key=lambda one: (not one.hides_this, one.useful > 0, one.louder > 0))
    return BackTest(
        change=change,
        source=source,
        tested=len(others) - trial.unread,
        unread=trial.unread,
        rules=tuple(tested),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedRule:
    change: NumberedChange
    source: str
    filters: tuple[str, ...]  # that hold from the next look on


def apply_rule(installation: Installation, what: str, steps: Sequence[str], who: str) -> AppliedRule:
    """Puts the rule to the filters of the source and marks the change as noise.

    RefusedError where vedette.yaml says what holds.
    """
    change = stored_diff(installation, what).change
    source = filters_of_page(installation, change.view.url).source
    rule = _own_rule(steps)
    filters = with_rule(source.options.filters, rule.steps)
    set_filters(installation, source.id, filters)
    said = {"rule": [str(step) for step in rule.steps], "source": str(source.id)}
    marked = _say(installation, change, _Word("noise", who, "noise_rule", said))
    return AppliedRule(change=marked, source=source.id, filters=filters)


def mark_change(installation: Installation, what: str, word: str, who: str) -> NumberedChange:
    """Says that a change was useful, or noise; `none` takes the word back."""
    a_mark(word, "--mark")
    change = stored_diff(installation, what).change
    return _say(installation, change, _Word("" if word == NO_MARK else word, who, "mark", {"word": word}))


def back_test_json(found: BackTest) -> dict[str, object]:
    return {
        "change": numbered_json(found.change, with_diff=False),
        "source": found.source.source.id,
        "is_written": found.source.is_written,
        "tested": found.tested,
        "unread": found.unread,
        "rules": [_rule_json(one) for one in found.rules],
    }


def applied_json(done: AppliedRule) -> dict[str, object]:
    return {
        "change": done.change.number,
        "mark": done.change.view.mark,
        "source": done.source,
        "filters": list(done.filters),
    }


def _rule_json(one: TestedRule) -> dict[str, object]:
    return {
        "rule": [str(step) for step in one.rule.steps],
        "does": one.rule.words,
        "filters": list(one.filters),
        "hides_this": one.hides_this,
        "hidden": len(one.hidden),
        "hidden_useful": one.useful,
        "louder": one.louder,
        "changes": [
            {
                "number": other.number,
                "url": other.view.url,
                "summary": other.view.change.comparison.summary,
                "observed_at": other.view.change.observed_at,
                "mark": other.view.mark,
            }
            for other in one.hidden
        ],
    }


def _told_of(installation: Installation, change: NumberedChange) -> list[NumberedChange]:
    """Of its source, newest first; the change itself and all that are marked useful among them."""
    source = change.view.source
    newest = list_changes(installation, ChangeFilter(source=source, states=TOLD), MOST_TESTED)
    useful = list_changes(installation, ChangeFilter(source=source, states=TOLD, mark="useful"), MOST_TESTED)
    found = {one.number: one for one in (*newest, *useful, change)}
    return sorted(found.values(), key=lambda one: one.view.change.observed_at, reverse=True)


def _own_rule(steps: Sequence[str]) -> NoiseRule:
    """As somebody wrote it.  InputError names the step that cannot be used."""
    texts = tuple(text.strip() for step in steps for text in step.splitlines() if text.strip())
    if not texts:
        raise InputError("--rule: write at least one step, as in `ignore: visitors today`")
    try:
        filters = read_filters(texts)
        check_elements(filters)
    except ConfigError as error:
        raise InputError(f"--rule: {error}") from None
    if takes_long(filters):
        raise InputError(
            "--rule: an XPath, a JSONPath or a CSS selector with :has, :not, :nth or ~ may take long on every page of "
            "the record; try it with `vedette test`, or write a plain selector"
        )
    return NoiseRule(filters.steps, "Your own rule.")


@dataclass(frozen=True, slots=True)
class _Word:
    mark: str
    who: str
    action: str
    said: Mapping[str, object]


def _say(installation: Installation, change: NumberedChange, word: _Word) -> NumberedChange:
    """Kept and in the ledger, in one transaction."""
    now, one = installation.now(), change.view.change
    inputs = {"who": word.who, "change": change.number, **word.said}
    decision = Decision(
        action=word.action, reasons=(Reason("said_by_hand", note=word.who),), inputs=inputs, output=word.mark
    )
    note = LedgerNote(id=_ids.next(now), at=now, kind="operator", decision=decision, watch=None)
    with installation.operating() as db:
        save_mark(db, one.id, word.mark, word.who, now=now)
        note_word(db, note)
    return stored_diff(installation, str(change.number)).change


@dataclass(frozen=True, slots=True)
class _TwoStates:
    """The bodies of one change, read once for all rules."""

    bodies: Mapping[EvidenceId, Body | None]

    def body(self, evidence: EvidenceId) -> Body | None:
        return self.bodies.get(evidence)

    def change(self, change: ChangeId) -> Change | None:
        return None

    def looks_since(self, watch: WatchId, at: datetime) -> list[tuple[EvidenceId, datetime]]:
        return []


@dataclass(slots=True)
class _Trial:
    """Changes read again under the filters of a source with each rule."""

    installation: Installation
    reader: Reader
    source: SourceFilters
    filters: dict[NoiseRule, tuple[str, ...]] = field(default_factory=dict)
    hidden_by: dict[ChangeId, set[NoiseRule]] = field(default_factory=dict)
    louder: dict[NoiseRule, int] = field(default_factory=dict)
    unread: int = 0

    def add(self, rule: NoiseRule) -> None:
        """InputError: it does not go with the filters that are there."""
        self.filters[rule] = with_rule(self.source.source.options.filters, rule.steps)
        try:
            read_filters(self.filters[rule])
        except ConfigError as error:
            raise InputError(f"--rule: {error}") from None

    def proposed(self, change: NumberedChange) -> tuple[NoiseRule, ...]:
        diff = change.view.change.comparison.diff
        found = proposed_rules(diff, self._selectors(change.view.change, diff))
        return tuple(rule for rule in found if self._fits(rule))

    def read(self, one: NumberedChange) -> None:
        change = one.view.change
        states = self._states(change)
        watch = self.reader.watch(change.watch)
        if states is None or watch is None:
            self.unread += 1
            return
        for rule, end in self._ends(change, watch, states).items():
            if not end.is_told:
                self.hidden_by.setdefault(change.id, set()).add(rule)
            self.louder[rule] = self.louder.get(rule, 0) + end.is_louder

    def _ends(self, change: Change, watch: Watch, states: _TwoStates) -> dict[NoiseRule, Retold]:
        before, after = change.before_evidence, change.after_evidence
        if before is None or after is None:
            return {}
        now = read_filters(self.source.source.options.filters)
        usual = self._comparer(states, now).states_of(watch, before, after)
        ends = {}
        for rule, texts in self.filters.items():
            filters = read_filters(texts)
            found = self._comparer(states, filters).states_of(watch, before, after)
            if usual is not None and found is not None:
                diff = change.comparison.diff
                ends[rule] = retold(diff, usual, found, PageFilters(rule.steps), filters=filters)
        return ends

    def _states(self, change: Change) -> _TwoStates | None:
        """None: they are not kept any more, or there is nothing to compare."""
        before, after = change.before_evidence, change.after_evidence
        if change.kind is not ChangeKind.CHANGED or before is None or after is None:
            return None
        past = PastStates(self.reader, self.installation.loaded.archive)
        bodies = {one: past.body(one) for one in (before, after)}
        return None if None in bodies.values() else _TwoStates(bodies)

    def _comparer(self, states: _TwoStates, filters: PageFilters) -> Comparer:
        loaded, source = self.installation.loaded, self.source.source
        return Comparer(
            states,
            loaded.config.extract.scope,
            most_work=None,
            text_cache=TextCache(loaded.data, reader_version(loaded.config.extract.ocr_languages)),
            redacts=always if source.options.redacts else never,
            filters=SameFilters(filters),
        )

    def _fits(self, rule: NoiseRule) -> bool:
        try:
            read_filters(with_rule(self.source.source.options.filters, rule.steps))
        except ConfigError:
            return False
        return True

    def _selectors(self, change: Change, diff: Sequence[DiffOp]) -> tuple[str, ...]:
        """Of the elements in which the differences stand, on the newer page or where they are gone on the older."""
        states = self._states(change)
        if states is None:
            return ()
        found: list[str] = []
        for evidence, texts in (
            (
                change.after_evidence,
                [text for op in diff if op.op in ("replace", "insert") for text in op.after],
            ),
            (change.before_evidence, [text for op in diff if op.op == "delete" for text in op.before]),
        ):
            body = None if evidence is None else states.body(evidence)
            if not texts or body is None:
                continue
            names = selectors_of(decode(body[0], body[1])[0], texts[:20]) if _is_page(body) else ()
            if not names:
                return ()
            found += names
        return tuple(dict.fromkeys(found))[:3] if len(set(found)) <= 3 else ()


def _is_page(body: Body) -> bool:
    return Page.of(body[0], url=body[2], content_type=body[1]).content_class is ContentClass.HTML
