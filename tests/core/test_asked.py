"""How often was asked for, what of it holds under every policy, and what is stronger."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.lane import LanePolicy
from vedette.contracts.schedule import Asked
from vedette.contracts.source import ListerKind, Source
from vedette.contracts.words import Outcome, Risk, SourceId
from vedette.core.evidence import ledger
from vedette.core.evidence.ledger import InForce, LedgerEntry, adds_up
from vedette.core.lanes.outcomes import MEANING
from vedette.core.schedule.asked import SHORTEST, AskedLimits, asked_of, strongest
from vedette.core.schedule.due import DUE_RULES, LEARNED, Due, LookFacts, decide, due_params
from vedette.core.schedule.learned.beliefs import Surroundings, new_belief, pack_published
from vedette.core.schedule.learned.decide import Case, Decided
from vedette.core.schedule.learned.decide import decide as decide_learned
from vedette.core.schedule.learned.settings import Published
from vedette.core.schedule.protocol import to_hours

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
SPANS = st.integers(1, 90 * 86400).map(lambda s: timedelta(seconds=s))
POLICIES = (LEARNED, *sorted(DUE_RULES))
OBJECTIVES = {"CRITICAL": (4.0, 0.95)}
OWN = Source(id=SourceId("s"), name="s", url="https://a.example/p", every=10 * MINUTE, scrape_frequency=DAY)
POLITE = LanePolicy()


def waits(
    policy: str,
    asked: Asked,
    *,
    risk: Risk = Risk.LOW,
    velocity: float = 0.5,
    parked: bool = False,
    jitter=0.3,
) -> tuple[timedelta, tuple]:
    """The interval and its reasons, whatever decides it."""
    if policy == LEARNED:
        decided = learned(asked, risk, parked)[1]
        return decided.wait, decided.reasons
    facts = LookFacts(
        velocity=velocity, scan_count=9, risk=risk, changed=False, now=NOW, jitter=jitter, asked=asked,
        is_parked=parked,
    )  # fmt: skip
    due = decide(facts, due_params(policy))
    return due.interval, due.reasons


def learned(asked: Asked, risk: Risk, parked: bool) -> tuple[Case, Decided]:
    case = Case(
        belief=new_belief(to_hours(NOW - DAY)), place=Surroundings(risk=risk), now=NOW,
        changed=None if parked else False, failures=3 if parked else 0, is_parked=parked, asked=asked,
    )  # fmt: skip
    return case, decide_learned([case], Published(), OBJECTIVES).decided[0]


@pytest.mark.parametrize("policy", POLICIES)
@given(every=SPANS, risk=st.sampled_from(Risk), velocity=st.floats(0, 1), parked=st.booleans())
def test_every_is_the_interval_under_every_policy_whatever_else_is_known(
    policy, every, risk, velocity, parked
):
    wait, reasons = waits(policy, Asked(every=every), risk=risk, velocity=velocity, parked=parked)
    assert abs(wait - max(every, SHORTEST)) <= timedelta(milliseconds=1)
    assert adds_up(reasons, wait / HOUR)


@pytest.mark.parametrize("policy", POLICIES)
@given(ceiling=SPANS, risk=st.sampled_from(Risk), velocity=st.floats(0, 1), jitter=st.floats(0, 0.999))
def test_a_frequency_only_shortens_the_interval_of_a_policy(policy, ceiling, risk, velocity, jitter):
    plain, _ = waits(policy, Asked(), risk=risk, velocity=velocity, jitter=jitter)
    wait, reasons = waits(policy, Asked(ceiling=ceiling), risk=risk, velocity=velocity, jitter=jitter)
    assert wait <= max(ceiling, SHORTEST) + timedelta(milliseconds=1)
    assert wait <= plain
    assert wait == plain or any(reason.code == "scrape_frequency" for reason in reasons)
    assert adds_up(reasons, wait / HOUR)


@pytest.mark.parametrize("policy", POLICIES)
def test_every_wins_over_a_frequency(policy):
    both = Asked(every=3 * DAY, ceiling=DAY)
    assert waits(policy, both) == waits(policy, Asked(every=3 * DAY))


@pytest.mark.parametrize("policy", POLICIES)
@given(every=st.none() | SPANS, ceiling=st.none() | SPANS, parked=st.booleans())
def test_what_was_asked_is_on_record_and_replays(policy, every, ceiling, parked):
    asked = Asked(every, ceiling)
    in_force = InForce(published=lambda version: pack_published(Published()), objectives=OBJECTIVES)
    if policy == LEARNED:
        case, decided = learned(asked, Risk.HIGH, parked)
        velocity = 0.5 if case.changed is None else 0.45
        due = Due(
            due_at=NOW + decided.wait, interval=decided.wait, velocity=velocity, scan_count=10,
            reasons=decided.reasons,
        )  # fmt: skip
        made = ledger.learned_decision(case, (0.5, 9), due, decided, LedgerEntry(1, None, None))
    else:
        facts = LookFacts(
            velocity=0.5, scan_count=9, risk=Risk.HIGH, changed=None if parked else False, now=NOW, jitter=0.3,
            asked=asked, is_parked=parked,
        )  # fmt: skip
        made = ledger.schedule_decision(facts, decide(facts, due_params(policy)), policy)
        in_force = replace(in_force, due=due_params(policy))
    assert ledger.difference(made, in_force) is None
    other = replace(made, inputs={**made.inputs, "every": 4242.0})
    assert ledger.difference(other, in_force) is not None


@pytest.mark.parametrize("outcome", Outcome)
def test_what_is_gone_or_refused_waits_its_long_interval_all_the_same(outcome):
    asked = asked_of(OWN, is_own=True, is_listing=False, outcome=outcome)
    meaning = MEANING[outcome]
    assert (asked.every is not None) is (meaning.retry or meaning.keeps_schedule)


def test_a_frequency_holds_for_the_page_itself_and_for_listings_but_not_for_what_they_found():
    def ceiling(*, is_own: bool, is_listing: bool) -> Asked:
        return asked_of(OWN, is_own=is_own, is_listing=is_listing, outcome=Outcome.OK)

    assert OWN.lister is ListerKind.PAGE
    assert ceiling(is_own=True, is_listing=False) == Asked(10 * MINUTE, DAY)
    assert ceiling(is_own=False, is_listing=True) == Asked(None, DAY)
    assert ceiling(is_own=False, is_listing=False) == Asked()


@pytest.mark.parametrize(
    ("asked", "limits", "code", "interval"),
    [
        (10 * MINUTE, AskedLimits(lane=POLITE), None, None),
        (10 * MINUTE, AskedLimits(lane=POLITE, crawl_delay=15 * MINUTE), "crawl_delay", 15 * MINUTE),
        (timedelta(seconds=10), AskedLimits(lane=POLITE), "floor", MINUTE),
        (10 * MINUTE, AskedLimits(lane=replace(POLITE, gap_min=HOUR, gap_max=HOUR)), "lane_gap", HOUR),
        (10 * MINUTE, AskedLimits(lane=replace(POLITE, per_minute=0.01)), "lane_bucket", 100 * MINUTE),
        (10 * MINUTE, AskedLimits(lane=POLITE, host_budget=48), "host_budget", 30 * MINUTE),
        (10 * MINUTE, AskedLimits(lane=POLITE, budget=24), "budget", HOUR),
        (10 * MINUTE, AskedLimits(lane=POLITE, host_budget=48, crawl_delay=HOUR), "crawl_delay", HOUR),
    ],
)
def test_what_is_stronger_than_the_interval_that_was_asked_for(asked, limits, code, interval):
    found = strongest(asked, limits)
    assert (found.code, found.interval) == (code, interval) if code else found is None


def test_a_host_of_which_more_is_asked_than_it_takes_makes_all_late_alike():
    crowded = AskedLimits(lane=replace(POLITE, gap_min=6 * MINUTE, gap_max=6 * MINUTE), beside=336)
    found = strongest(10 * MINUTE, crowded)  # 144 + 336 a day, of 240
    assert (found.code, found.interval) == ("lane_crowded", 20 * MINUTE)
    assert found.words == "480 looks a day are asked of its host, which takes 240"
