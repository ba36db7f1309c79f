"""What a look means for its watch, from its facts alone: outcome by outcome, rule by rule."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from vedette.contracts.change import Change, ChangeKind, ChangeState, Comparison, Layer, Noise
from vedette.contracts.fetch import Extraction
from vedette.contracts.source import ListerKind, Source
from vedette.contracts.watch import Judged, Seen, SourceState, Watch
from vedette.contracts.words import (
    ChangeId,
    ContentClass,
    EvidenceId,
    NodeType,
    Outcome,
    Reason,
    Risk,
    SourceId,
    VisitId,
)
from vedette.core.lanes.outcomes import MEANING, SEEN
from vedette.core.schedule.due import due_params
from vedette.core.settled_watch import (
    CLOSED_FOR,
    TRIPS_AFTER,
    LookRules,
    LookSource,
    ShownLook,
    needs_jitter,
    settle,
    source_after,
    variant_of,
)
from vedette.core.urls.canonical import lane_of, watch_id

NOON = datetime(2026, 11, 17, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
URL = "https://a.example/zakon"
POLICIES = {"learned": LookRules(due=due_params("learned")), "seed-ewma": LookRules()}
LOOKS = [outcome for outcome in Outcome if MEANING[outcome].is_look]
SOURCE = LookSource(source=Source(id=SourceId("a"), name="a", url=URL))
BEFORE = Seen(visit=VisitId(1), evidence=EvidenceId(1), at=NOON - HOUR, digest=b"1", text_key=7)
AFTER = replace(BEFORE, visit=VisitId(2), evidence=EvidenceId(2), at=NOON, digest=b"2", text_key=8)


def a_watch(url: str = URL, **more) -> Watch:
    given = {
        "due_at": NOON,
        "created_at": NOON - 9 * HOUR,
        "source": SourceId("a"),
        "seen": BEFORE,
        "etag": '"1"',
    }
    return Watch(id=watch_id(url), url=url, lane=lane_of(url), **(given | more))


def a_look(outcome: Outcome = Outcome.OK, **more) -> ShownLook:
    given = {"now": NOON, "at": NOON, "etag": '"2"', "source": SOURCE, "jitter": 0.5}
    return ShownLook(outcome=outcome, **(given | more))


def judged(changed: bool | None = False, **more) -> Judged:
    return Judged(changed=changed, **({"seen": AFTER, "noise": Noise(), "reasons": (Reason("x"),)} | more))


WAITS = judged(None, seen=BEFORE, pending=ChangeId(2), look_again_at=NOON + timedelta(seconds=5))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("outcome", LOOKS)
def test_every_outcome_has_a_next_look_and_leaves_what_is_not_its_own(outcome: Outcome, policy: str):
    rules, watch = POLICIES[policy], a_watch()
    found = settle(watch, a_look(outcome), rules)
    assert found.watch.due_at is not None
    assert found.watch.due_at >= NOON
    same = (
        "id",
        "url",
        "lane",
        "source",
        "created_at",
        "node_role",
        "belief",
        "parent",
        "depth",
        "seen",
        "noise",
    )
    assert [getattr(found.watch, name) for name in same] == [getattr(watch, name) for name in same]
    assert (found.watch.last_outcome, found.watch.last_visit_at) == (outcome, NOON)
    assert (found.lesson is not None) == (policy == "learned")
    assert (found.watch.attempt == 0) == (outcome in SEEN or not (MEANING[outcome].retry or found.parked))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("outcome", [one for one in LOOKS if MEANING[one].retry and not MEANING[one].is_ours])
def test_a_failure_is_tried_again_then_parked_and_parks_at_once_until_a_good_look(
    outcome: Outcome, policy: str
):
    rules, watch = POLICIES[policy], a_watch()
    for attempt in (1, 2):
        found = settle(watch, a_look(outcome), rules)
        assert (found.parked, found.watch.attempt) == (None, attempt)
        watch = found.watch
    for attempt in (3, 4):
        found = settle(watch, a_look(outcome), rules)
        assert found.parked is not None
        assert (found.parked.attempts, found.watch.attempt) == (attempt, attempt)
        watch = found.watch
    assert settle(watch, a_look(judged=judged()), rules).watch.attempt == 0


@pytest.mark.parametrize("policy", POLICIES)
def test_validators_belong_to_the_state_that_is_confirmed(policy: str):
    rules = POLICIES[policy]
    waiting = settle(a_watch(), a_look(judged=WAITS), rules).watch
    assert (waiting.etag, waiting.seen, waiting.pending) == ('"1"', BEFORE, ChangeId(2))
    sure = settle(waiting, a_look(judged=judged(True)), rules).watch
    assert (sure.etag, sure.seen, sure.pending) == ('"2"', AFTER, None)
    assert settle(a_watch(), a_look(Outcome.SOFT_404), rules).watch.etag == '"1"'


@pytest.mark.parametrize("policy", POLICIES)
def test_a_second_look_comes_first_whatever_policy_and_breaker_say(policy: str):
    closed = SOURCE.__class__(source=SOURCE.source, closed_until=NOON + HOUR)
    watch = a_watch(lister=ListerKind.HTML_LIST)
    found = settle(watch, a_look(judged=WAITS, source=closed), POLICIES[policy])
    assert found.watch.due_at == NOON + timedelta(seconds=5)
    assert "second_look" in [decision.action for decision in found.decisions]


def test_a_closed_source_holds_its_listing_and_nothing_else():
    closed = LookSource(source=SOURCE.source, closed_until=NOON + 900 * HOUR)
    for lister, depth, is_held in ((ListerKind.FEED, 0, True), (ListerKind.FEED, 1, False), (None, 0, False)):
        watch = a_watch(lister=lister, depth=depth)
        due = settle(watch, a_look(judged=judged(), source=closed), POLICIES["seed-ewma"]).watch.due_at
        lesson = settle(watch, a_look(judged=judged(), source=closed), POLICIES["learned"]).lesson
        assert lesson is not None
        assert ((due == NOON + 900 * HOUR), lesson.not_before is not None) == (is_held, is_held)


def test_a_source_that_is_paused_has_nothing_due():
    paused = LookSource(source=replace(SOURCE.source, is_active=False))
    for rules in POLICIES.values():
        assert settle(a_watch(), a_look(judged=judged(), source=paused), rules).watch.due_at is None


def test_five_content_failures_close_a_source_for_an_hour_and_one_good_look_opens_it():
    state = SourceState(source=SourceId("a"))
    for _ in range(TRIPS_AFTER - 1):
        state = source_after(state, Outcome.SOFT_404, "no list", now=NOON)
    for outcome in (Outcome.TIMEOUT, Outcome.ROBOTS_REFUSED, Outcome.BUG):  # the lane's affair, or ours
        state = source_after(state, outcome, "", now=NOON)
    assert (state.failures, state.closed_until) == (TRIPS_AFTER - 1, None)
    state = source_after(state, Outcome.SOFT_404, "no list", now=NOON)
    assert (state.closed_until, state.last_error) == (NOON + CLOSED_FOR, "soft_404: no list")
    state = source_after(state, Outcome.NOT_MODIFIED, "", now=NOON + HOUR)
    assert (state.failures, state.closed_until, state.last_success_at) == (0, None, NOON + HOUR)


TWIN = a_watch("https://a.example/zakon/1", seen=AFTER)


@pytest.mark.parametrize(
    ("more", "is_merged"),
    [
        ({}, True),
        ({"peer": replace(TWIN, seen=BEFORE)}, False),
        ({"peer": replace(TWIN, is_gone=True)}, False),
        ({"peer": replace(TWIN, merged_into=watch_id(URL))}, False),
        ({"peer": None}, False),
        ({"judged": WAITS}, False),
        ({"became": ListerKind.HTML_LIST}, False),
        ({"outcome": Outcome.TIMEOUT}, False),
    ],
)
def test_two_addresses_become_one_target_once_both_showed_the_same_text(more: dict, is_merged: bool):
    text = Extraction(content_class=ContentClass.HTML, text="x")
    given = {"extraction": text, "judged": judged(), "canonical": TWIN.id, "peer": TWIN}
    for rules in POLICIES.values():
        found = settle(a_watch(), a_look(**(given | more)), rules)
        assert (found.watch.merged_into == TWIN.id, found.watch.due_at is None) == (is_merged, is_merged)
        assert ("merge" in [decision.action for decision in found.decisions]) == is_merged


@pytest.mark.parametrize(
    ("canonical", "moved_to", "variant"),
    [
        (None, None, None),
        (URL, None, None),
        ("https://a.example/zakon/1", None, "https://a.example/zakon/1"),
        (None, "https://a.example/zakon/2", "https://a.example/zakon/2"),
        ("https://a.example/zakon/1", "https://a.example/zakon/2", "https://a.example/zakon/1"),
        ("https://b.example/zakon/1", None, None),
        ("https://a.example/", None, None),
    ],
)
def test_another_address_of_a_page_is_on_its_host_and_not_its_front_page(canonical, moved_to, variant):
    assert variant_of(a_watch(), canonical, moved_to) == variant


def test_a_listing_that_was_cut_short_is_read_again_and_a_run_without_listings_leaves_the_links_to_others():
    text = Extraction(content_class=ContentClass.HTML, text="x")
    cut = settle(
        a_watch(lister=ListerKind.CRAWL), a_look(judged=judged(), extraction=text, is_cut=True), LookRules()
    )
    assert cut.watch.seen is not None
    assert (cut.watch.seen.digest, cut.watch.seen.text_key, cut.watch.etag) == (b"", 0, '"1"')
    look = a_look(judged=judged(), extraction=text)
    for lister, digest in ((ListerKind.CRAWL, b""), (ListerKind.PAGE, b"2"), (None, b"2")):
        seen = settle(a_watch(lister=lister), look, LookRules(fetch_only=True)).watch.seen
        assert seen is not None
        assert (seen.digest, seen.text_key) == (digest, 8)


@pytest.mark.parametrize("is_heir", [True, False])
def test_a_document_without_an_extension_is_an_asset_and_inherits_what_links_to_it(is_heir: bool):
    text = Extraction(content_class=ContentClass.PDF_TEXT, text="x")
    found = settle(a_watch(), a_look(judged=judged(), extraction=text, is_heir=is_heir), LookRules()).watch
    assert (found.node_type, found.risk) == (NodeType.ASSET, Risk.CRITICAL if is_heir else Risk.MEDIUM)


def test_a_page_of_links_becomes_a_hub_and_keeps_the_title_that_it_has():
    text = Extraction(content_class=ContentClass.HTML, text="x" * 100, title="New", hrefs=("/a",) * 40)
    found = settle(a_watch(title="Old"), a_look(judged=judged(), extraction=text), LookRules()).watch
    assert (found.node_type, found.title) == (NodeType.HUB, "Old")


def test_a_watch_changed_last_when_a_reported_change_was_first_seen():
    change = Change(
        id=ChangeId(2), watch=watch_id(URL), kind=ChangeKind.CHANGED, state=ChangeState.REPORTED,
        before_visit=VisitId(1), after_visit=VisitId(2), before_evidence=None, after_evidence=None,
        observed_at=NOON - timedelta(seconds=7), comparison=Comparison(has_changed=True, layer=Layer.CONTENT),
    )  # fmt: skip
    told = settle(a_watch(), a_look(judged=judged(True, reports=(change,))), LookRules()).watch
    assert (
        told.last_changed_at,
        settle(a_watch(), a_look(judged=WAITS), LookRules()).watch.last_changed_at,
    ) == (
        NOON - timedelta(seconds=7),
        None,
    )


def test_only_a_look_that_needs_chance_draws_it():
    assert not needs_jitter(Outcome.OK, POLICIES["learned"])
    assert needs_jitter(Outcome.TIMEOUT, POLICIES["learned"])
    assert needs_jitter(Outcome.OK, POLICIES["seed-ewma"])


@pytest.mark.parametrize(
    ("said", "listed", "modified"),
    [
        ("Tue, 17 Nov 2026 11:00:00 GMT", None, NOON - HOUR),
        ("Tue, 17 Nov 2026 11:00:00 GMT", NOON - 5 * HOUR, NOON - HOUR),
        ("Tue, 17 Nov 2026 13:00:00 GMT", None, None),  # yet to come
        ("yesterday", NOON - 5 * HOUR, NOON - 5 * HOUR),
        (None, NOON - 5 * HOUR, NOON - 5 * HOUR),
        (None, NOON + HOUR, None),
        (None, None, None),
    ],
)
def test_a_change_is_dated_by_its_page_else_by_a_listing_and_never_ahead_of_the_look(said, listed, modified):
    def dated(*, changed: bool) -> datetime | None:
        look = a_look(judged=judged(changed), last_modified=said)
        lesson = settle(a_watch(modified_at=listed), look, POLICIES["learned"]).lesson
        assert lesson is not None
        return lesson.modified_at

    assert dated(changed=True) == modified
    assert dated(changed=False) is None, "what did not change has no date to learn from"
