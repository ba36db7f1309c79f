"""Why a URL was not looked at: one sentence, then the details.

The first row of CHECKS that fits gives the sentence; all that fit are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from vedette.contracts.lane import LaneState
from vedette.contracts.source import Source
from vedette.contracts.watch import Parked, Refused, SourceState, Watch
from vedette.contracts.words import Outcome
from vedette.core.health.remedies import advice
from vedette.core.lanes.lane import OPEN, condition
from vedette.core.lanes.outcomes import MEANING, SEEN, rests
from vedette.core.urls.canonical import TOO_LONG, too_long
from vedette.core.urls.classify import Classification
from vedette.report.lanes import AskedInterval, interval_words, late_start
from vedette.report.plain import count, span, when


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyNotFacts:
    """All that bears on the question."""

    url: str
    now: datetime
    classified: Classification
    blocked_word: str | None = None
    watch: Watch | None = None
    merged_url: str | None = None
    refused: Refused | None = None
    refused_count: int = 0
    source: Source | None = None
    source_state: SourceState | None = None
    parked: Parked | None = None
    leased_until: datetime | None = None
    lane: LaneState | None = None
    last_detail: str = ""  # of the last look
    outcome_before: Outcome | None = None  # of the look before it
    policy: str = ""  # that decided the interval
    decided_by: str = ""  # the code of the last reason of that decision
    is_open: bool = False  # it waits to be chosen by a hunt
    engine: str | None = None  # who runs on the store
    is_written: bool = False  # in vedette.yaml, and not in the store yet
    interval: AskedInterval | None = None  # what the operator asked for


@dataclass(frozen=True, slots=True)
class WhyNotAnswer:
    code: str
    sentence: str
    remedy: str = ""


def why_not(facts: WhyNotFacts) -> list[WhyNotAnswer]:
    """Everything that keeps us from looking, the weightiest first.  Never empty."""
    return [answer for check in CHECKS if (answer := check(facts)) is not None]


def too_long_answer(url: str) -> WhyNotAnswer | None:
    """No lister takes such a URL, `add` refuses it, and no redirect to it is followed: the store need not be asked."""
    words = too_long(url)
    if not words:
        return None
    return WhyNotAnswer(
        TOO_LONG, f"It is never looked at: {words}.", "Watch the page that links to it, or a shorter address."
    )


def _blocked(facts: WhyNotFacts) -> WhyNotAnswer | None:
    if facts.blocked_word is None:
        return None
    return WhyNotAnswer(
        "blocked",
        f"It is not watched: its host contains the blocked word {facts.blocked_word!r}.",
        "Take the word out of `discover.blocked_words` in vedette.yaml.",
    )


def _refused_sighting(facts: WhyNotFacts) -> WhyNotAnswer | None:
    refused = facts.refused
    if refused is None or facts.watch is not None:
        return None
    note = f" ({refused.reason.note})" if refused.reason.note else ""
    return WhyNotAnswer(
        "refused",
        f"A lister of source {refused.source} saw it {count(facts.refused_count, 'time')}, "
        f"last {when(refused.at, facts.now)}, "
        f"and it was refused{' each time' if facts.refused_count > 1 else ''}: {refused.reason.code}{note}.",
        "Change the source's filters or budgets, or add it by itself: vedette add URL",
    )


def _not_taken_in(facts: WhyNotFacts) -> WhyNotAnswer | None:
    if facts.watch is not None or not facts.is_written or facts.blocked_word is not None:
        return None
    return WhyNotAnswer(
        "not_taken_in",
        "It stands in vedette.yaml, and no run was made since.",
        "Look at it: vedette run, or vedette look URL.",
    )


def _unknown(facts: WhyNotFacts) -> WhyNotAnswer | None:
    if facts.is_written:
        return None
    if facts.watch is not None or facts.refused is not None or facts.blocked_word is not None:
        return None
    role = f", {facts.classified.node_role.value}" if facts.classified.node_role else ""
    return WhyNotAnswer(
        "unknown",
        "It is not known here: nobody added it and no lister has seen it.",
        f"Add it: vedette add {facts.url} (it would be {facts.classified.node_type.value}{role}, "
        f"risk {facts.classified.risk.name}); or watch a feed, sitemap or list that leads to it.",
    )


def _merged(facts: WhyNotFacts) -> WhyNotAnswer | None:
    if facts.watch is None or facts.watch.merged_into is None:
        return None
    return WhyNotAnswer(
        "merged",
        f"It is another spelling of {facts.merged_url or 'another watch'}, which is looked at instead.",
        f"Ask about that one: vedette explain {facts.merged_url}" if facts.merged_url else "",
    )


def _leased(facts: WhyNotFacts) -> WhyNotAnswer | None:
    if facts.leased_until is None or facts.leased_until <= facts.now:
        return None
    return WhyNotAnswer("leased", "It is being looked at right now.", "Ask again in a moment.")


def _paused(facts: WhyNotFacts) -> WhyNotAnswer | None:
    if facts.watch is None:
        return None
    if facts.source is None:
        return WhyNotAnswer(
            "source_removed",
            f"Its source {facts.watch.source} was removed.",
            f"Add it by itself: vedette add {facts.url}",
        )
    if facts.source.is_active:
        return None
    return WhyNotAnswer(
        "paused", f"Its source {facts.source.id} is paused.", f"vedette sources resume {facts.source.id}"
    )


def _robots(facts: WhyNotFacts) -> WhyNotAnswer | None:
    watch = facts.watch
    if watch is None or watch.last_outcome is not Outcome.ROBOTS_REFUSED:
        return None
    detail = f": {facts.last_detail}" if facts.last_detail else ""
    return WhyNotAnswer(
        "robots_refused",
        f"robots.txt does not allow it{detail}.{_again(facts)}",
        _advice(facts, Outcome.ROBOTS_REFUSED),
    )


def _no_browser(facts: WhyNotFacts) -> WhyNotAnswer | None:
    watch = facts.watch
    if watch is None or watch.last_outcome is not Outcome.NO_BROWSER:
        return None
    return WhyNotAnswer(
        "no_browser",
        f"It needs a browser, and at the last look there was none: {facts.last_detail}.{_again(facts)}",
        _advice(facts, Outcome.NO_BROWSER),
    )


def _parked(facts: WhyNotFacts) -> WhyNotAnswer | None:
    parked = facts.parked
    if parked is None:
        return None
    detail = f" ({parked.detail})" if parked.detail else ""
    return WhyNotAnswer(
        "parked",
        f"It is parked since {when(parked.at, facts.now)}: {count(parked.attempts, 'attempt')} ended with "
        f"{parked.outcome.value}{detail}.{_again(facts)}",
        f"{_advice(facts, parked.outcome)} At once: vedette parked retry {facts.url}",
    )


def _failed(facts: WhyNotFacts) -> WhyNotAnswer | None:
    """The last look did not show it: that is why nothing is known of it, whatever the schedule says."""
    watch, outcome = facts.watch, facts.watch.last_outcome if facts.watch else None
    if watch is None or outcome is None or outcome in (*SEEN, *OWN_WORDS) or facts.parked is not None:
        return None
    meaning = MEANING[outcome]
    detail = f" ({facts.last_detail})" if facts.last_detail else ""
    pace = ", at the long interval" if _is_resting(facts) else ""
    return WhyNotAnswer(
        outcome.value,
        f"The last look, {when(watch.last_visit_at, facts.now)}, did not see it: {outcome.value}, "
        f"{meaning.words}{detail}.{_again(facts, pace)}",
        _advice(facts, outcome),
    )


OWN_WORDS = (Outcome.ROBOTS_REFUSED, Outcome.NO_BROWSER)  # have a row of their own


def _again(facts: WhyNotFacts, pace: str = "") -> str:
    """When it is tried again, if that is not now."""
    due_at = None if facts.watch is None else facts.watch.due_at
    if due_at is None or due_at <= facts.now:
        return ""
    return f" It is tried again {when(due_at, facts.now)}{pace}."


def _advice(facts: WhyNotFacts, outcome: Outcome) -> str:
    return advice(outcome, url=facts.url, detail=facts.last_detail)


def _lane(facts: WhyNotFacts) -> WhyNotAnswer | None:
    if facts.lane is None or facts.watch is None:
        return None
    word, key = condition(facts.lane, facts.now), facts.watch.lane
    if word == "blocked":
        return WhyNotAnswer(
            "lane_blocked",
            f"The operator blocked its lane {key}: {facts.lane.blocked_by}.",
            f"vedette lanes reset {key}",
        )
    if word == OPEN:
        return WhyNotAnswer(
            "lane_closed",
            f"The breaker of its lane {key} is open until {when(facts.lane.closed_until, facts.now)}, after "
            f"{count(facts.lane.failures, 'failure')} in a row: nothing starts there.",
            f"It is tried again by itself then; at once with: vedette lanes reset {key}",
        )
    if word == "held":
        return WhyNotAnswer(
            "lane_held",
            f"{key} asked us to wait until {when(facts.lane.held_until, facts.now)} (Retry-After).",
            "Wait; the far end knows best.",
        )
    next_at, due_at = late_start(facts.lane, facts.now), facts.watch.due_at
    if next_at is None or (due_at is not None and due_at >= next_at):
        return None  # a gap that is over before it is due keeps nothing
    delay = facts.lane.crawl_delay
    asked = f": its robots.txt asks for {span(delay)} between two requests (Crawl-delay)" if delay else ""
    return WhyNotAnswer(
        "lane_gap",
        f"The next turn of its lane {key} is {when(next_at, facts.now)}{asked}.",
        "Wait; the gap of a lane is obeyed whatever is due.",
    )


def _source_closed(facts: WhyNotFacts) -> WhyNotAnswer | None:
    state = facts.source_state
    if state is None or state.closed_until is None or state.closed_until <= facts.now:
        return None
    return WhyNotAnswer(
        "source_closed",
        f"Its source {state.source} is closed until {when(state.closed_until, facts.now)} after "
        f"{count(state.failures, 'failure')}: {state.last_error or 'no detail'}.",
        f"vedette sources reset {state.source}",
    )


def _not_due(facts: WhyNotFacts) -> WhyNotAnswer | None:
    watch = facts.watch
    if watch is None or watch.due_at is None or watch.due_at <= facts.now:
        return None
    last = (
        f"the last look was {when(watch.last_visit_at, facts.now)}"
        if watch.last_visit_at
        else "never looked at"
    )
    every = f", interval {span(watch.interval)}{_by(facts)}" if watch.interval else ""
    return WhyNotAnswer(
        "not_due",
        f"It is not due before {when(watch.due_at, facts.now)}: {last}{every}.",
        f"vedette explain {facts.url} gives the reasons; a look at once: vedette look {facts.url}",
    )


# What made the interval, by the last reason of the decision ...
INTERVAL_STEPS: Mapping[str, str] = {
    "audit": ", cut short at random, as the audit of the schedule",
    "objective": ", so that changes of {risk} pages are seen in time (objectives)",
    "acquaint": ", soon after the first look, to learn its noise",
    "failed": ", after looks that failed",
    "parked": ", the long one of a look that failed",
}
# ... and by the policy, where its own rule had the last word.
INTERVAL_BY: Mapping[str, str] = {
    "seed-ewma": " by velocity {velocity:.2f}",
    "learned": " by what was learned of its changes",
    "fixed": " as configured (schedule.interval)",
    "per-risk": " by its risk {risk}",
}


def _by(facts: WhyNotFacts) -> str:
    watch = facts.watch
    if watch is None:
        return ""
    if _is_as_asked(facts, watch):
        return f", {interval_words(facts.interval)}" if facts.interval else ", as asked"
    if facts.parked is not None or _is_resting(facts):
        return INTERVAL_STEPS["parked"]
    words = INTERVAL_STEPS.get(facts.decided_by) or INTERVAL_BY.get(facts.policy, "")
    return words.format(velocity=watch.velocity, risk=watch.risk.name)


def _is_as_asked(facts: WhyNotFacts, watch: Watch) -> bool:
    """An interval holds whatever the policy says, a ceiling where it had the last word."""
    if facts.decided_by == "audit":
        return False
    if facts.decided_by in ("every", "scrape_frequency"):
        return True
    meaning = MEANING[watch.last_outcome or Outcome.OK]
    asked = None if facts.interval is None else facts.interval.asked
    return asked is not None and asked.every is not None and (meaning.retry or not _is_resting(facts))


def _is_resting(facts: WhyNotFacts) -> bool:
    outcome = None if facts.watch is None else facts.watch.last_outcome
    return outcome is not None and rests(outcome, facts.outcome_before)


def _held_back(facts: WhyNotFacts) -> WhyNotAnswer | None:
    """Asked for more often than may be."""
    if facts.interval is None or facts.interval.stronger is None:
        return None
    return WhyNotAnswer("interval", f"It was {interval_words(facts.interval)}.")


def _open(facts: WhyNotFacts) -> WhyNotAnswer | None:
    if not facts.is_open:
        return None
    return WhyNotAnswer(
        "open",
        "It was found, and the hunt has not chosen it yet.",
        f"vedette hunt shows what comes next; a look at once: vedette look {facts.url}",
    )


def _unscheduled(facts: WhyNotFacts) -> WhyNotAnswer | None:
    watch = facts.watch
    if watch is None or watch.due_at is not None or watch.merged_into is not None or facts.is_open:
        return None
    if facts.source is None or not facts.source.is_active:  # which `_paused` has told
        return None
    return WhyNotAnswer("not_scheduled", "It is not scheduled.", f"vedette look {facts.url} looks at it now.")


def _waiting(facts: WhyNotFacts) -> WhyNotAnswer | None:
    watch = facts.watch
    if watch is None or watch.due_at is None or watch.due_at > facts.now:
        return None
    since = f"It is due since {when(watch.due_at, facts.now)}"
    if facts.engine is None:
        return WhyNotAnswer("no_engine", f"{since}, and no engine is running on this store.", "vedette run")
    return WhyNotAnswer(
        "waiting", f"{since} and waits for its turn in {watch.lane}.", f"vedette lanes show {watch.lane}"
    )


CHECKS: tuple[Callable[[WhyNotFacts], WhyNotAnswer | None], ...] = (
    _blocked,
    _refused_sighting,
    _not_taken_in,
    _unknown,
    _merged,
    _leased,
    _paused,
    _no_browser,
    _robots,
    _parked,
    _failed,
    _lane,
    _source_closed,
    _not_due,
    _held_back,
    _open,
    _unscheduled,
    _waiting,
)
