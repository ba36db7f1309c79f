"""What a look means for its watch: one place for each decision, from the facts of the look alone.

`settle` takes the watch as it was and what the look showed; it gives the watch as it is from now on, what the ledger
says of it, and what the scheduler has to learn.  The engine brings the facts and writes the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from vedette.contracts.change import Noise
from vedette.contracts.copies import replace
from vedette.contracts.fetch import Extraction
from vedette.contracts.schedule import Asked, Lesson
from vedette.contracts.source import ListerKind, Source
from vedette.contracts.watch import Decision, Judged, Parked, Seen, SourceState, Watch
from vedette.contracts.words import (
    DOCUMENTS,
    ChangeId,
    ContentClass,
    NodeType,
    Outcome,
    Reason,
    Risk,
    WatchId,
)
from vedette.core.evidence.ledger import retry_decision, schedule_decision
from vedette.core.lanes.outcomes import MEANING, SEEN, Failure, Retry, RetryParams, next_attempt, rests
from vedette.core.schedule.asked import asked_of
from vedette.core.schedule.due import (
    LEARNED,
    Due,
    DueParams,
    LookFacts,
    ScheduleTerms,
    apply_schedule,
    decide,
)
from vedette.core.urls.canonical import host_of, origin_of, watch_id
from vedette.core.urls.classify import becomes_hub

TRIPS_AFTER = 5  # spec 001/6.1
CLOSED_FOR = timedelta(hours=1)  # spec 001/8.4
# Failures that are parked at once: trying again soon would end the same way.
PARKS = frozenset({Outcome.BUG, Outcome.BAD_SETTINGS, Outcome.TOOL_MISSING, Outcome.NO_BROWSER})
LISTINGS = frozenset(ListerKind) - {ListerKind.PAGE, ListerKind.CRAWL}
_LINKLESS = (None, ListerKind.PAGE)  # nobody reads what these link to
_PLAIN = (None, ListerKind.CRAWL, ListerKind.PAGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class LookRules:
    """Policy values of a run."""

    due: DueParams = field(default_factory=DueParams)
    retry: RetryParams = field(default_factory=RetryParams)
    audit_share: float = 0.0
    fetch_only: bool = False  # no listing is read


class LookSource(NamedTuple):
    """The source of the watch, as it is now."""

    source: Source
    own: WatchId | None = None  # where its own address is looked at
    closed_until: datetime | None = None


class ShownLook(NamedTuple):
    """The facts of one look."""

    now: datetime
    at: datetime  # of the answer
    outcome: Outcome
    detail: str = ""
    etag: str | None = None
    last_modified: str | None = None
    retry_after: timedelta | None = None
    jitter: float = 0.0  # in [0, 1); where `needs_jitter` says so
    source: LookSource | None = None  # None: its settings cannot be used, or our code failed before they were
    extraction: Extraction | None = None
    judged: Judged | None = None
    canonical: WatchId | None = None  # the address that the page names as its right one
    peer: Watch | None = None  # what is watched there
    is_heir: bool = False  # a CRITICAL page links to it
    became: ListerKind | None = None  # which lister `auto` chose
    is_cut: bool = False  # the run had no room for all that it lists
    is_dated: bool = False  # most entries of the listing say when they changed


class SettledWatch(NamedTuple):
    """What the look decided."""

    watch: Watch
    decisions: tuple[Decision, ...] = ()
    lesson: Lesson | None = None  # not None: the scheduler decides the due time, with those of its group
    parked: Parked | None = None


def needs_jitter(outcome: Outcome, rules: LookRules) -> bool:
    """The learned policy draws its own for good looks."""
    return rules.due.policy != LEARNED or _is_failure(outcome)


def settle(watch: Watch, look: ShownLook, rules: LookRules) -> SettledWatch:
    """The watch after this look, with its next one."""
    case = _Case(watch, look, rules)
    next_look = _failed(case) if _is_failure(look.outcome) else _scheduled(case)
    node_type, risk = case.kind
    seen, canonical = _seen(case), _canonical(case)
    other = _merged_into(case, canonical, seen)
    etag, last_modified = _validators(case)
    velocity, scan_count, interval = _pace(watch, next_look.due)
    noise, pending, is_gone, last_changed_at = _life(case)
    moved = replace(
        watch,
        title=_title(case),
        node_type=node_type,
        risk=risk,
        lister=case.lister,
        last_visit_at=look.at,
        last_outcome=look.outcome,
        etag=etag,
        last_modified=last_modified,
        seen=seen,
        noise=noise,
        pending=pending,
        is_gone=is_gone,
        canonical=canonical,
        merged_into=watch.merged_into if other is None else other.id,
        last_changed_at=last_changed_at,
        attempt=next_look.attempt,
        due_at=next_look.due_at if other is None else None,
        audit=next_look.audit,
        velocity=velocity,
        scan_count=scan_count,
        interval=interval,
    )
    decisions = next_look.decisions if other is None else (*next_look.decisions, _merge_decision(other))
    return SettledWatch(watch=moved, decisions=decisions, lesson=next_look.lesson, parked=next_look.parked)


def variant_of(watch: Watch, canonical: str | None, moved_to: str | None) -> str | None:
    """Another address that the page names as its own (canonical, permanent redirect; spec 001/12.4).

    Not another host's, and not the front page, where sites send what they have taken away.
    """
    url = canonical or moved_to
    if url is None or url == watch.url or watch_id(url) == watch.id or host_of(url) != host_of(watch.url):
        return None
    return None if url == f"{origin_of(url)}/" else url


def is_new_document(watch: Watch, content_class: ContentClass) -> bool:
    """A document without an extension is one all the same."""
    return watch.node_type is NodeType.LEAF and content_class in DOCUMENTS and watch.lister in _PLAIN


def what_changed(watch: Watch, look: ShownLook) -> bool | None:
    """None: the look failed, or a second one has to tell.  A first look shows no change."""
    if look.outcome not in SEEN:
        return None
    changed = look.judged.changed if look.judged is not None else False
    return False if watch.seen is None and changed is not None else changed


def source_after(state: SourceState, outcome: Outcome, detail: str, *, now: datetime) -> SourceState:
    """How a source fares after a look at its listing.  What failed on the way is the lane's affair."""
    if outcome in SEEN:
        return replace(state, failures=0, last_error="", closed_until=None, last_success_at=now)
    counts = MEANING[outcome].counts_against_source
    failures = state.failures + counts
    closes = counts and failures >= TRIPS_AFTER
    return replace(
        state,
        failures=failures,
        last_error=f"{outcome.value}: {detail}" if detail else outcome.value,
        closed_until=now + CLOSED_FOR if closes else state.closed_until,
    )


class _Case:
    """A watch, what a look at it showed, and by which rules; with what several decisions ask."""

    __slots__ = ("is_taken", "is_unread", "kind", "lister", "look", "rules", "watch")

    def __init__(self, watch: Watch, look: ShownLook, rules: LookRules) -> None:
        self.watch = watch
        self.look = look
        self.rules = rules
        self.lister = look.became or watch.lister
        self.kind = _kind(watch, look)
        # A run that reads no listings saw a page whose links somebody has to read.
        is_compared = look.extraction is not None and look.judged is not None
        self.is_unread = rules.fetch_only and is_compared and watch.lister not in _LINKLESS
        self.is_taken = (
            look.outcome is Outcome.OK and self.again_at is None and not (look.is_cut or self.is_unread)
        )

    @property
    def again_at(self) -> datetime | None:
        """When a second look has to tell."""
        return None if self.look.judged is None else self.look.judged.look_again_at

    @property
    def is_resting(self) -> bool:
        return rests(self.look.outcome, self.watch.last_outcome)

    @property
    def is_active(self) -> bool:
        return self.look.source is None or self.look.source.source.is_active

    @property
    def asked(self) -> Asked:
        """How often the operator asked for this watch, after a look that ended so."""
        of = self.look.source
        if of is None:
            return Asked()
        is_own, is_listing = self.watch.id == of.own, self.lister is not None
        return asked_of(
            of.source,
            is_own=is_own,
            is_listing=is_listing,
            outcome=self.look.outcome,
            before=self.watch.last_outcome,
        )

    @property
    def not_before(self) -> datetime | None:
        """The breaker of a source holds its listing, not what that names."""
        of = self.look.source
        return (
            of.closed_until if of is not None and self.lister is not None and self.watch.depth == 0 else None
        )


class _NextLook(NamedTuple):
    """When the watch is looked at next, and why."""

    due_at: datetime | None
    attempt: int = 0
    due: Due | None = None  # None: velocity, count and interval stay
    audit: timedelta | None = None
    decisions: tuple[Decision, ...] = ()
    lesson: Lesson | None = None
    parked: Parked | None = None


def _is_failure(outcome: Outcome) -> bool:
    return MEANING[outcome].retry or outcome in PARKS


def _kind(watch: Watch, look: ShownLook) -> tuple[NodeType, Risk]:
    """What a target is once its content is known, and how critical."""
    text = look.extraction
    if text is None:
        return watch.node_type, watch.risk
    if watch.node_type is NodeType.ASSET or is_new_document(watch, text.content_class):
        return NodeType.ASSET, Risk.CRITICAL if look.is_heir else watch.risk
    is_hub = becomes_hub(watch.node_type, len(text.hrefs), len(text.text))
    return NodeType.HUB if is_hub else watch.node_type, watch.risk


def _title(case: _Case) -> str:
    text = case.look.extraction
    return case.watch.title or ("" if text is None else text.title[:500])


def _canonical(case: _Case) -> WatchId | None:
    return case.watch.canonical if case.look.extraction is None else case.look.canonical


def _validators(case: _Case) -> tuple[str | None, str | None]:
    """They belong to the state that is seen from now on, not to one that waits for its second look."""
    of = case.look if case.is_taken else case.watch
    return of.etag, of.last_modified


def _pace(watch: Watch, due: Due | None) -> tuple[float, int, timedelta]:
    of = watch if due is None else due
    return of.velocity, of.scan_count, of.interval


def _life(case: _Case) -> tuple[Noise, ChangeId | None, bool, datetime | None]:
    """What was learned of it, what waits for its second look, whether it is gone, and when it changed last."""
    watch, judged = case.watch, case.look.judged
    if judged is None:
        return watch.noise, watch.pending, watch.is_gone, watch.last_changed_at
    # By the look that showed it first, as it is told everywhere; the confirming look is a little later.
    changed_at = max((report.observed_at for report in judged.reports), default=watch.last_changed_at)
    return judged.noise, judged.pending, judged.is_gone, changed_at


def _seen(case: _Case) -> Seen | None:
    """The state that the next look is compared with."""
    judged = case.look.judged
    seen = case.watch.seen if judged is None else judged.seen
    if seen is None:
        return None
    if case.look.is_cut:  # a listing that was cut short must not look unchanged next time
        return replace(seen, digest=b"", text_key=0)
    # Of a page that was compared while its links were not read, the next run must not take the bytes for known.
    return replace(seen, digest=b"") if case.is_unread else seen


def _merged_into(case: _Case, canonical: WatchId | None, seen: Seen | None) -> Watch | None:
    """Once both addresses showed the same text they are one target, looked at there."""
    other = None if _is_failure(case.look.outcome) else case.look.peer
    if other is None or other.id != canonical or seen is None or case.lister not in (None, ListerKind.CRAWL):
        return None
    if other.merged_into is not None or other.seen is None or other.is_gone:
        return None
    return other if other.seen.text_key == seen.text_key else None


def _merge_decision(other: Watch) -> Decision:
    return Decision(action="merge", reasons=(Reason("same_text", note=f"as {other.url}"),), output=other.url)


def _scheduled(case: _Case) -> _NextLook:
    """After a look that needs no retry: a second look comes first, then what the policy says."""
    again_at = case.again_at
    second: tuple[Decision, ...] = ()
    if again_at is not None and case.look.judged is not None:
        reasons = case.look.judged.reasons
        second = (Decision(action="second_look", reasons=reasons, output=again_at.isoformat()),)
    if case.rules.due.policy == LEARNED:
        due_at = again_at or case.look.now  # it decides for the whole group
        return _NextLook(
            due_at=due_at if case.is_active else None,
            decisions=second,
            lesson=_lesson(case),
        )
    return _by_policy(case, second)


def _by_policy(case: _Case, second: tuple[Decision, ...]) -> _NextLook:
    """The due time by a policy that decides look by look."""
    look, rules = case.look, case.rules
    facts = _facts(case, changed=what_changed(case.watch, look), is_parked=case.is_resting)
    terms = ScheduleTerms(
        second_look_at=case.again_at,
        not_before=case.not_before,
        audit_share=rules.audit_share,
        is_active=case.is_active,
    )
    is_taught = facts.changed is not None and not facts.is_parked
    done = apply_schedule(case.watch, decide(facts, rules.due), terms, is_taught=is_taught)
    return _NextLook(
        due_at=done.watch.due_at,
        due=done.due,
        audit=done.watch.audit,
        decisions=(*second, schedule_decision(facts, done.due, rules.due.policy, lot=done.lot)),
    )


def _facts(case: _Case, *, changed: bool | None, is_parked: bool) -> LookFacts:
    return LookFacts(
        velocity=case.watch.velocity,
        scan_count=case.watch.scan_count,
        risk=case.kind[1],
        changed=changed,
        now=case.look.now,
        jitter=case.look.jitter,
        asked=case.asked,
        is_parked=is_parked,
    )


def _lesson(case: _Case) -> Lesson:
    """What a look that needs no retry has to tell the scheduler: it showed the page, or says why there is none."""
    look, meaning = case.look, MEANING[case.look.outcome]
    is_listing = look.outcome in SEEN and case.watch.lister in LISTINGS
    changed = what_changed(case.watch, look)
    return Lesson(
        now=look.now,
        changed=changed,
        modified_at=_modified_at(case) if changed else None,  # what did not change has no date to learn from
        host_ok=meaning.lane_verdict,
        has_due=case.again_at is not None,
        is_parked=case.is_resting,
        asked=case.asked,
        not_before=case.not_before,
        audit_share=case.rules.audit_share,
        is_listing=is_listing,
        is_dated=is_listing and look.is_dated,
    )


def _modified_at(case: _Case) -> datetime | None:
    """Last-Modified, else what a listing said; never a time that is yet to come."""
    said = _http_date(case.look.last_modified) or case.watch.modified_at
    return said if said is not None and said <= case.look.now else None


def _http_date(text: str | None) -> datetime | None:
    """RFC 9110 section 5.6.7.  What is no date is none."""
    if not text:
        return None
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _failed(case: _Case) -> _NextLook:
    """Tried again soon, or parked: the watch stays and is tried at its long interval."""
    watch, look, rules = case.watch, case.look, case.rules
    failure = Failure(look.outcome, watch.attempt + 1, look.retry_after)
    step = next_attempt(failure, now=look.now, jitter=look.jitter, params=rules.retry)
    told = retry_decision(failure, step, now=look.now, jitter=look.jitter)
    if isinstance(step, Retry):
        host_ok = MEANING[look.outcome].lane_verdict
        lesson = Lesson(now=look.now, host_ok=host_ok, has_due=True) if rules.due.policy == LEARNED else None
        return _NextLook(
            due_at=step.at,
            attempt=failure.attempt,
            decisions=(told,),
            lesson=lesson,
        )
    next_look = _scheduled(case) if MEANING[look.outcome].is_ours else _put_off(case, failure.attempt)
    return next_look._replace(decisions=(told, *next_look.decisions))


def _put_off(case: _Case, attempt: int) -> _NextLook:
    """A watch whose job is parked.  The attempts stay: a failure at the long interval parks at once."""
    watch, look, rules = case.watch, case.look, case.rules
    parked = Parked(
        watch=watch.id,
        url=watch.url,
        outcome=look.outcome,
        detail=look.detail,
        attempts=attempt,
        at=look.now,
    )
    meaning = MEANING[look.outcome]
    asked = case.asked if meaning.retry else Asked()
    if rules.due.policy == LEARNED:
        failures = attempt - rules.retry.attempts + 1 if meaning.lane_verdict is False else 0
        lesson = Lesson(
            now=look.now,
            host_ok=meaning.lane_verdict,
            failures=max(failures, 0),
            is_parked=True,
            asked=asked,
        )
        return _NextLook(
            due_at=look.now,
            attempt=attempt,
            lesson=lesson,
            parked=parked,
        )
    facts = replace(_facts(case, changed=None, is_parked=True), asked=asked)
    due = decide(facts, rules.due)
    return _NextLook(
        due_at=due.due_at,
        attempt=attempt,
        due=due,
        decisions=(schedule_decision(facts, due, rules.due.policy),),
        parked=parked,
    )
