"""What a call cost, whatever its answer says or leaves out, and which ceiling holds."""

from __future__ import annotations

import random

import pytest

from vedette.contracts.panel_run import Price, Prompt
from vedette.core.panel.plan import CallEnd, ceiling_of, cost_of, cost_of_call, most_cost, tokens_of

PROMPT = Prompt(prompt_type="brand", text="What is {domain} known for?", most_tokens=200)
PRICE = Price(tokens_in=100.0, tokens_out=300.0, request=0.01)
MOST = most_cost(PRICE, PROMPT, 12)
ASKED = cost_of(PRICE, tokens_of(PROMPT, 12), 0)


def cost(**end) -> float:
    return cost_of_call(PRICE, PROMPT, 12, CallEnd(**{"is_answered": False, **end}))


def test_an_answer_costs_what_its_usage_says_and_the_most_it_can_where_it_says_nothing():
    assert cost(is_answered=True, has_text=True, tokens_in=10, tokens_out=20) == cost_of(PRICE, 10, 20)
    assert cost(is_answered=True, has_text=True) == MOST
    assert cost(is_answered=True) == MOST, "an empty answer without usage was paid for too"
    assert cost(is_answered=True, has_text=True, tokens_in=10) == cost_of(PRICE, 10, 200)
    assert cost(is_answered=True, has_text=False, tokens_in=10) == cost_of(PRICE, 10, 0)
    assert cost(is_answered=True, has_text=True, tokens_out=5) == cost_of(PRICE, tokens_of(PROMPT, 12), 5)


def test_a_call_that_went_out_and_brought_no_answer_costs_its_usage_or_its_question():
    assert cost(status=200, tokens_in=10, tokens_out=3) == cost_of(PRICE, 10, 3)
    assert cost(status=200) == ASKED
    assert cost(status=None) == ASKED, "timed out"
    assert cost(status=None, is_sent=False) == 0.0, "no connection"


@pytest.mark.parametrize("status", [307, 400, 401, 404, 429, 500, 529])
def test_a_refusal_by_status_costs_nothing_unless_it_says_so(status):
    assert cost(status=status) == 0.0
    assert cost(status=status, tokens_in=4) == cost_of(PRICE, 4, 0)


def test_no_end_without_usage_costs_more_than_was_set_aside():
    chance = random.Random(random.randrange(10**9))
    for _ in range(200):
        prompt = Prompt(
            prompt_type="x", text="{domain}" * chance.randrange(9), most_tokens=chance.randrange(1, 999)
        )
        price = Price(tokens_in=chance.random(), tokens_out=chance.random(), request=chance.random())
        chars = chance.randrange(250)
        end = CallEnd(
            is_answered=chance.random() < 0.5,
            has_text=chance.random() < 0.5,
            status=chance.choice([None, 200, 404]),
            is_sent=chance.random() < 0.9,
        )
        assert cost_of_call(price, prompt, chars, end) <= most_cost(price, prompt, chars)


@pytest.mark.parametrize(
    ("asked", "configured", "before", "holds"),
    [
        (None, None, None, None),
        (None, None, 0.5, 0.5),
        (None, 5.0, 0.5, 5.0),
        (None, 0.2, 0.5, 0.5),
        (None, 5.0, None, 5.0),
        (1.0, 5.0, 0.5, 1.0),
        (0.0, 5.0, 0.5, 0.0),
    ],
)
def test_the_ceiling_of_a_batch_that_goes_on(asked, configured, before, holds):
    assert ceiling_of(asked, configured, before) == holds
