"""A batch from its first call to its last row, in virtual time, against providers that count for themselves."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest
from panel_kit import (
    START,
    MemoryLog,
    ScriptedProvider,
    batch_of,
    down,
    key_of,
    names,
    play,
    steady,
)
from panel_limits import LIMITS, bound_of, providers_of

from vedette.contracts.lane import LaneState
from vedette.contracts.panel_run import Answer, Price, Prompt
from vedette.contracts.words import LaneKey, Outcome


def test_every_cell_is_asked_once_and_has_one_row():
    providers = [ScriptedProvider(name, steady(600), latency=0.5) for name in ("a", "b", "c")]
    played = play(batch_of(100, "abc", repeats=2), [key_of(p) for p in providers], chunk_size=7)
    assert played.end.by == "complete"
    assert len(played.log.rows) == 600
    for provider in providers:
        assert set(provider.asked.values()) == {2}
    kinds = Counter((row.model, row.repeat) for row in played.log.rows.values())
    assert kinds == {(m, r): 100 for m in "abc" for r in (0, 1)}


def test_rows_say_what_was_asked_and_answered():
    provider = ScriptedProvider("a", steady(600), latency=0.5, tokens=100)
    price = {"a": Price(tokens_in=1.0, tokens_out=2.0, request=0.01)}
    played = play(batch_of(1, "a"), [key_of(provider)], prices=price)
    row = played.log.rows[0]
    assert row.prompt == "What is d00000.example known for?"
    assert (row.text, row.outcome) == ("d00000.example is known for brand", Outcome.OK)
    assert row.cost_usd == pytest.approx(0.01 + 300e-6)
    assert (row.response_time_ms, row.retry_count) == (500, 0)


@pytest.mark.parametrize("table", ["single", "tuned"])
def test_a_small_batch_runs_at_the_limits_and_never_over_them(table: str):
    providers = providers_of(table)
    played = play(batch_of(400, LIMITS[table]), [key_of(p, name=n) for p, n in providers])
    assert played.end.by == "complete"
    assert sum(p.over for p, _ in providers) == 0
    assert played.seconds <= 1.03 * bound_of(table, 400)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("table", "hours"), [pytest.param("single", 2, marks=pytest.mark.drill), ("tuned", 1)]
)
def test_ten_thousand_domains_are_asked_of_twelve_within_the_window(table: str, hours: int):
    providers = providers_of(table)
    log = MemoryLog(names(10_000), keeps_rows=False)
    played = play(batch_of(10_000, LIMITS[table]), [key_of(p, name=n) for p, n in providers], log=log)
    assert played.end.by == "complete"
    assert len(log.rows) == 120_000
    assert sum(p.over for p, _ in providers) == 0
    assert played.seconds <= 3600 * hours
    assert played.seconds <= 1.03 * bound_of(table, 10_000)
    assert log.most_leases < 2_000


@pytest.mark.slow
@pytest.mark.drill
@pytest.mark.timeout(1200)
def test_fifty_thousand_domains_end_as_planned_in_the_time_they_need():
    providers = providers_of("tuned")
    log = MemoryLog(names(50_000), keeps_rows=False)
    batch = batch_of(50_000, LIMITS["tuned"], hard_at=START + timedelta(hours=6))
    played = play(batch, [key_of(p, name=n) for p, n in providers], log=log)
    assert played.end.by == "complete"
    assert len(log.rows) == 600_000
    assert played.seconds <= 1.03 * bound_of("tuned", 50_000)
    assert sum(p.over for p, _ in providers) == 0


def test_a_provider_that_is_down_or_throttles_holds_nobody_up_and_recovers_by_probes():
    """Two are down for ten minutes, one lets a fifth through for ten; the others do not notice."""
    fine = [ScriptedProvider(f"fine{n}", steady(100), latency=1.5) for n in range(9)]
    broken = [
        ScriptedProvider(f"down{n}", steady(100), latency=1.5, weather=down(120, 720)) for n in range(2)
    ]
    hard = ScriptedProvider("hard", lambda at: 20 if 120 <= at < 720 else 100, latency=1.5, says_limit=True)
    everyone = [*fine, *broken, hard]
    played = play(batch_of(1500, [p.model for p in everyone]), [key_of(p) for p in everyone])
    assert played.end.by == "complete"
    ends = {p.model: p.seen_at[-1] for p in everyone}
    quiet = play(batch_of(1500, ["fine0"]), [key_of(ScriptedProvider("fine0", steady(100), latency=1.5))])
    assert all(ends[p.model] <= quiet.seconds * 1.005 for p in fine)
    assert sum(p.over for p in (*fine, *broken)) == 0
    assert hard.over <= 10, "while the last minute of its old limit runs out, and not after"
    for provider in broken:
        during = [at for at in provider.seen_at if 130 <= at < 720]
        assert 8 <= len(during) <= 30, "probes, not calls"
        assert any(720 <= at <= 790 for at in provider.seen_at), "found to be back within a minute"
        assert ends[provider.model] <= quiet.seconds + 720
    outcomes = Counter(row.outcome for row in played.log.rows.values())
    assert outcomes[Outcome.OK] >= 0.999 * 12 * 1500
    assert {note.action for note in played.log.notes} >= {"breaker"}


def test_probes_ask_fresh_cells_so_that_a_long_outage_costs_no_cell():
    provider = ScriptedProvider("a", steady(100), latency=1.0, weather=down(60, 1260))
    played = play(batch_of(800, "a"), [key_of(provider)])
    assert Counter(row.outcome for row in played.log.rows.values()) == {Outcome.OK: 800}
    assert max(provider.asked.values()) <= 3


def test_a_limit_that_is_halved_in_mid_run_is_learned_from_the_headers_at_once():
    provider = ScriptedProvider("a", lambda at: 120 if at < 300 else 60, latency=1.0, says_limit=True)
    played = play(batch_of(1200, "a"), [key_of(provider, 120)])
    assert played.end.by == "complete"
    late = [at for at in provider.seen_at if at > 420]
    assert len(late) / (late[-1] - late[0]) * 60 == pytest.approx(60, rel=0.03)
    after = sum(1 for row in played.log.rows.values() if row.retry_count)
    assert provider.over <= 70, "only while the last minute of the old limit runs out"
    assert after <= 70


def test_a_limit_that_is_halved_in_silence_is_found_and_kept():
    provider = ScriptedProvider("a", lambda at: 120 if at < 300 else 60, latency=1.0, says_retry_after=False)
    played = play(batch_of(1500, "a"), [key_of(provider, 120)])
    settled = [at for at in provider.seen_at if at > 900]
    rate = len(settled) / (settled[-1] - settled[0]) * 60
    assert played.end.by == "complete"
    assert 48 <= rate <= 61
    assert provider.over / provider.seen < 0.03


def test_a_limit_that_only_the_headers_know_is_learned():
    provider = ScriptedProvider("a", steady(240), latency=1.0, says_limit=True)
    played = play(batch_of(1200, "a"), [key_of(provider, 0)])
    assert provider.over == 0
    assert played.seconds <= 1.05 * 1200 / 240 * 60


def test_a_limit_that_nobody_states_is_approached_slowly():
    provider = ScriptedProvider("a", steady(120), latency=1.0)
    played = play(batch_of(1500, "a"), [key_of(provider, 0)])
    assert played.end.by == "complete"
    assert provider.over / provider.seen < 0.02
    assert played.seconds < 1500 / 30 * 60 / 2, "at least twice as fast as it began"


def test_the_soft_cut_drops_the_lowest_tier_and_the_hard_stop_ends_the_batch():
    prompts = [Prompt(prompt_type=f"t{tier}", text="{domain}", tier=tier) for tier in (1, 2, 3)]
    provider = ScriptedProvider("a", steady(60), latency=1.0)
    times = {"target_at": START + timedelta(minutes=10), "hard_at": START + timedelta(minutes=20)}
    played = play(batch_of(500, "a", prompts, **times), [key_of(provider)])
    asked = Counter(kind for _, kind in provider.asked)
    assert asked["t1"] == 500
    assert asked["t3"] == 0
    assert 0 < asked["t2"] <= 500
    notes = [note for note in played.log.notes if note.action == "tier_dropped"]
    assert notes[0].subject == "tier 3"
    assert played.seconds <= 20 * 60 + 2
    assert not played.log.leases, "what was dropped holds no lease"


def test_at_the_hard_stop_nothing_starts_and_what_is_under_way_gets_its_row():
    provider = ScriptedProvider("a", steady(60), latency=3.0)
    times = {"target_at": START + timedelta(minutes=1), "hard_at": START + timedelta(minutes=2)}
    played = play(batch_of(500, "a", **times), [key_of(provider)])
    assert played.end.by == "hard_stop"
    assert max(provider.seen_at) < 120
    assert len(played.log.rows) == provider.seen
    assert 120 <= played.seconds <= 124


def test_the_kill_switch_stops_new_calls_within_a_second_and_a_resume_asks_only_the_rest():
    provider = ScriptedProvider("a", steady(600), latency=2.0)
    log = MemoryLog(names(300), kill_at=10.0)
    played = play(batch_of(300, "a"), [key_of(provider)], log=log)
    assert played.end.by == "killed"
    assert max(provider.seen_at) <= 11.0
    assert not log.leases
    log.kill_at = None
    play(batch_of(300, "a"), [key_of(provider)], log=log, is_resumed=True)
    assert len(log.rows) == 300
    assert set(provider.asked.values()) == {1}


def test_a_batch_that_died_loses_no_cell_and_asks_twice_only_what_was_leased():
    provider = ScriptedProvider("a", steady(600), latency=2.0)
    log = MemoryLog(names(300))

    async def dies(engine):
        await asyncio.sleep(10.03)
        engine.fail(RuntimeError("power cut"))

    play(batch_of(300, "a"), [key_of(provider)], log=log, meanwhile=dies)
    was_leased = {row for row in range(300) if row not in log.rows}
    asked_before = dict(provider.asked)
    play(batch_of(300, "a"), [key_of(provider)], log=log, is_resumed=True)
    assert len(log.rows) == 300
    twice = {int(domain[1:6]) for (domain, _), count in provider.asked.items() if count > 1}
    assert twice <= was_leased
    assert len(asked_before) > 50


def test_the_budget_is_never_passed():
    provider = ScriptedProvider("a", steady(600), latency=2.0, tokens=40)
    prices = {"a": Price(tokens_in=10.0, tokens_out=20.0)}
    played = play(batch_of(2000, "a", budget_usd=1.0), [key_of(provider)], prices=prices)
    assert played.end.by == "budget_spent"
    assert 0.98 <= played.end.progress.spent_usd <= 1.0


def test_a_provider_that_charges_more_than_it_may_passes_the_budget_by_what_is_under_way_at_most():
    provider = ScriptedProvider("a", steady(600), latency=2.0, tokens=500)
    prices = {"a": Price(tokens_in=10.0, tokens_out=20.0)}
    played = play(batch_of(1000, "a", budget_usd=1.0), [key_of(provider)], prices=prices)
    assert played.end.by == "budget_spent"
    assert 1.0 < played.end.progress.spent_usd <= 1.0 + 0.015 * 32


@pytest.mark.parametrize("outcome", [Outcome.REFUSED_CONTENT, Outcome.CLIENT_ERROR])
def test_what_no_second_call_would_change_is_asked_once(outcome: Outcome):
    provider = ScriptedProvider("a", steady(600), weather=lambda at: outcome)
    played = play(batch_of(20, "a"), [key_of(provider)])
    assert set(provider.asked.values()) == {1}
    assert {row.outcome for row in played.log.rows.values()} == {outcome}


def test_a_cell_is_asked_three_times_at_most():
    provider = ScriptedProvider("a", steady(600), weather=lambda at: Outcome.SERVER_ERROR)
    batch = batch_of(6, "a", hard_at=START + timedelta(hours=10))
    played = play(batch, [key_of(provider)])
    assert max(provider.asked.values()) == 3
    assert {(row.outcome, row.retry_count) for row in played.log.rows.values()} == {(Outcome.SERVER_ERROR, 2)}


def test_a_refused_key_costs_no_cell_and_the_other_key_does_the_work():
    bad = ScriptedProvider("a", steady(600), weather=lambda at: Outcome.AUTH_ERROR)
    good = ScriptedProvider("a", steady(600))
    played = play(batch_of(200, "a"), [key_of(bad), key_of(good, name="k2")])
    assert played.end.by == "complete"
    assert {row.outcome for row in played.log.rows.values()} == {Outcome.OK}
    assert len(played.log.rows) == 200
    assert bad.seen <= 32
    assert ("key_refused", "provider:a/k1") in {(note.action, note.subject) for note in played.log.notes}


def test_a_provider_without_a_key_that_works_ends_and_the_others_go_on():
    bad = ScriptedProvider("bad", steady(600), weather=lambda at: Outcome.AUTH_ERROR)
    good = ScriptedProvider("good", steady(600))
    played = play(batch_of(100, ["bad", "good"]), [key_of(bad), key_of(good)])
    assert Counter(row.model for row in played.log.rows.values()) == {"good": 100}
    assert not played.log.leases


def test_models_that_share_a_lane_share_its_limit():
    one = ScriptedProvider("a", steady(60), latency=0.5)
    keys = [replace(key_of(one), model=model) for model in "abc"]
    played = play(batch_of(40, "abc"), keys)
    assert Counter(row.model for row in played.log.rows.values()) == {"a": 40, "b": 40, "c": 40}
    assert one.over == 0
    assert played.seconds == pytest.approx(120, rel=0.03)


def test_a_lane_that_the_operator_blocked_is_not_waited_for():
    shut, fine = (ScriptedProvider(name, steady(600)) for name in ("shut", "fine"))
    lanes = {LaneKey("provider:shut/k1"): LaneState(blocked_by="too dear")}
    played = play(batch_of(30, ["shut", "fine"]), [key_of(shut), key_of(fine)], lanes=lanes)
    assert (played.end.by, shut.seen, fine.seen) == ("incomplete", 0, 30)
    assert played.seconds < 60


def test_a_spent_quota_waits_ten_minutes_and_is_tried_again():
    provider = ScriptedProvider("a", steady(600), weather=down(0, 300, Outcome.QUOTA_SPENT))
    played = play(batch_of(50, "a"), [key_of(provider)])
    assert {row.outcome for row in played.log.rows.values()} == {Outcome.OK}
    assert 600 <= played.seconds <= 700


def test_models_that_share_a_key_are_asked_in_turn():
    first, second = (ScriptedProvider(name, steady(60), latency=2.0) for name in "ab")
    keys = [replace(key_of(one), lane=LaneKey("provider:shared/k1")) for one in (first, second)]
    log = MemoryLog(names(100))
    log.kill_at = 40.0
    play(batch_of(100, "ab"), keys, log=log)
    assert first.seen + second.seen >= 30
    assert abs(first.seen - second.seen) <= 2


def test_an_adapter_that_raises_costs_its_cell_and_nothing_else():
    class Broken(ScriptedProvider):
        async def query(self, domain: str, prompt: Prompt, **given) -> Answer:
            if domain.startswith("d00003"):
                raise KeyError("sk-secret")
            return await super().query(domain, prompt, **given)

    played = play(batch_of(10, "a"), [key_of(Broken("a", steady(600)))])
    assert Counter(row.outcome for row in played.log.rows.values()) == {Outcome.OK: 9, Outcome.BUG: 1}
    assert "sk-secret" not in repr(played.log.rows)
    (bug,) = [note for note in played.log.notes if note.action == "bug"]
    assert bug.reason.note.startswith("KeyError: test_panel_run.py:")  # where, and nothing of what
    assert "sk-secret" not in repr(played.log.notes)


def test_a_call_that_never_ends_is_given_up():
    class Hanging(ScriptedProvider):
        async def query(self, domain: str, prompt: Prompt, **given) -> Answer:
            await asyncio.sleep(1e6)
            raise AssertionError

    batch = batch_of(2, "a", hard_at=START + timedelta(hours=10))
    played = play(batch, [key_of(Hanging("a", steady(600)))])
    assert {row.outcome for row in played.log.rows.values()} == {Outcome.TIMEOUT}


def test_all_providers_together_stay_within_the_calls_at_once():
    most = 0
    under_way = 0

    class Counting(ScriptedProvider):
        async def query(self, domain: str, prompt: Prompt, **given) -> Answer:
            nonlocal most, under_way
            under_way += 1
            most = max(most, under_way)
            try:
                return await super().query(domain, prompt, **given)
            finally:
                under_way -= 1

    everyone = [Counting(f"p{n}", steady(600), latency=5.0) for n in range(4)]
    played = play(batch_of(100, [p.model for p in everyone]), [key_of(p) for p in everyone], at_once=8)
    assert played.end.by == "complete"
    assert most == 8
    ends = [p.seen_at[-1] for p in everyone]
    assert max(ends) - min(ends) < 30, "nobody is starved"


def test_memory_is_bounded_by_what_is_under_way_and_not_by_the_batch():
    def leases(domains: int) -> int:
        log = MemoryLog(names(domains))
        play(
            batch_of(domains, "ab"),
            [key_of(ScriptedProvider(m, steady(600), latency=1.0)) for m in "ab"],
            log=log,
        )
        return log.most_leases

    assert leases(2000) <= leases(300) + 10


def test_the_batch_says_how_far_it_is_and_when_it_will_end():
    provider = ScriptedProvider("a", steady(60), latency=1.0)
    told = []

    async def looks(engine):
        await asyncio.sleep(300)
        told.append(engine.progress())

    play(batch_of(600, "a"), [key_of(provider)], meanwhile=looks)
    assert told[0].settled == pytest.approx(298, abs=3)
    assert (told[0].eta - START).total_seconds() == pytest.approx(603, abs=5)
    assert told[0].providers[0].p95_ms == pytest.approx(1000, rel=0.05)
