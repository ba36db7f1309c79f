"""How a batch ends: what was never asked is told and can be asked later, in virtual time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from panel_kit import ASK, START, MemoryLog, ScriptedProvider, batch_of, key_of, names, play, steady

from vedette.contracts.panel_run import Dropped, Price, Prompt
from vedette.contracts.words import Outcome
from vedette.core.panel.deadline import BatchStanding, left_over, status_of
from vedette.core.panel.plan import cost_of, most_cost, tokens_of


def test_a_batch_whose_key_is_refused_in_mid_run_is_not_complete_and_goes_on_with_a_new_key():
    revoked = ScriptedProvider("a", steady(600), weather=lambda at: Outcome.AUTH_ERROR if at > 5 else None)
    good = ScriptedProvider("b", steady(600))
    log = MemoryLog(names(200))
    played = play(batch_of(200, "ab"), [key_of(revoked), key_of(good)], log=log)
    assert played.end.by == "incomplete"
    assert 200 < len(log.rows) < 400
    assert not log.leases
    new = ScriptedProvider("a", steady(600))
    played = play(batch_of(200, "ab"), [key_of(new), key_of(good)], log=log, is_resumed=True)
    assert (played.end.by, len(log.rows)) == ("complete", 400)
    assert set(good.asked.values()) == {1}


def test_a_batch_whose_tiers_were_cut_is_not_complete():
    prompts = [Prompt(prompt_type=f"t{tier}", text="{domain}", tier=tier) for tier in (1, 2)]
    provider = ScriptedProvider("a", steady(60), latency=1.0)
    times = {"target_at": START + timedelta(minutes=3), "hard_at": START + timedelta(hours=1)}
    played = play(batch_of(150, "a", prompts, **times), [key_of(provider)])
    assert played.end.by == "incomplete"
    assert len(played.log.rows) < 300


def test_a_model_that_has_no_key_any_more_leaves_its_batch_incomplete():
    provider = ScriptedProvider("a", steady(600))
    assert play(batch_of(5, "ab"), [key_of(provider)]).end.by == "incomplete"


def test_what_has_no_row_says_why():
    shape = batch_of(10, "abcd").shape
    done = {("a", 1): 10, ("b", 1): 4}
    standing = BatchStanding(
        shape=shape, done=done, breakers={"b": "blocked", "c": "stopped"}, notes={"b": "told"}
    )
    left = left_over(standing, "complete")
    assert [(one.model, one.cells, one.reason) for one in left] == [
        ("b", 6, "no_key"),
        ("c", 10, "same_error"),
        ("d", 10, "no_row"),
    ]
    assert status_of("complete", left) == "incomplete"
    assert status_of("killed", left) == "killed"
    assert status_of("complete", ()) == "complete"
    running = left_over(standing, "running")
    assert [(one.model, one.cells) for one in running] == [("b", 6), ("c", 10)], "d is still being asked"
    assert all(isinstance(one, Dropped) for one in running)


PRICES = {"a": Price(tokens_in=100.0, tokens_out=300.0)}
MOST = most_cost(PRICES["a"], ASK, len("d00000.example"))


def test_the_ceiling_holds_when_no_answer_says_what_it_used():
    provider = ScriptedProvider("a", steady(6000), latency=0.2, tokens=0)
    played = play(batch_of(300, "a", budget_usd=9 * MOST), [key_of(provider)], prices=PRICES)
    assert played.end.by == "budget_spent"
    assert 8 <= provider.seen <= 9
    assert played.end.progress.spent_usd == pytest.approx(provider.seen * MOST)


@pytest.mark.parametrize("outcome", [Outcome.REFUSED_CONTENT, Outcome.MALFORMED_ANSWER, Outcome.TIMEOUT])
def test_calls_that_bring_no_answer_use_up_the_ceiling_too(outcome):
    provider = ScriptedProvider("a", steady(6000), latency=0.2, weather=lambda at: outcome)
    batch = batch_of(3000, "a", budget_usd=20 * MOST, hard_at=START + timedelta(hours=9))
    played = play(batch, [key_of(provider)], prices=PRICES)
    question = cost_of(PRICES["a"], tokens_of(ASK, len("d00000.example")), 0)
    assert played.end.progress.spent_usd == pytest.approx(provider.seen * question)
    assert played.end.progress.spent_usd <= 20 * MOST
    assert sum(one.cost_usd for one in played.end.progress.providers) == pytest.approx(
        provider.seen * question
    )


@pytest.mark.parametrize(
    "outcome", [Outcome.GONE, Outcome.CLIENT_ERROR, Outcome.REDIRECT_ERROR, Outcome.TOO_LARGE]
)
def test_a_provider_that_answers_nothing_but_one_error_is_stopped_and_the_others_go_on(outcome):
    gone = ScriptedProvider("gone", steady(600), latency=0.5, weather=lambda at: outcome)
    good = ScriptedProvider("good", steady(600), latency=0.5)
    played = play(batch_of(500, ["gone", "good"]), [key_of(gone), key_of(good)])
    assert (played.end.by, good.seen) == ("incomplete", 500)
    assert 20 <= gone.seen <= 30, "those under way end"
    [note] = [note for note in played.log.notes if note.action == "provider_stopped"]
    assert (note.subject, outcome.value in note.reason.note) == ("gone", True)
    told = {one.model: one.breaker for one in played.end.progress.providers}
    assert told == {"gone": "stopped", "good": "closed"}
    assert not played.log.leases


def test_a_model_that_is_retired_in_mid_run_is_stopped_too():
    gone = ScriptedProvider(
        "a", steady(600), latency=0.5, weather=lambda at: Outcome.GONE if at > 10 else None
    )
    played = play(batch_of(1000, "a"), [key_of(gone)])
    assert played.end.by == "incomplete"
    assert 90 < gone.seen < 140


def test_a_provider_whose_filter_refuses_some_is_asked_on():
    picky = ScriptedProvider("a", steady(600), weather=lambda at: Outcome.REFUSED_CONTENT if at > 3 else None)
    played = play(batch_of(200, "a"), [key_of(picky)])
    assert (played.end.by, picky.seen) == ("complete", 200)
