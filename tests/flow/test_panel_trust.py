"""`vedette panel` as a user runs it, when keys, models, money, clocks and readers fail."""

from __future__ import annotations

import json

import pytest
from panel_town import town

TWO = ("openai/gpt-4o-mini", "cohere")
GPT = TWO[0]
RUN = ("run", "--domains", "domains.txt", "--json")


@pytest.fixture
def place(tmp_path):
    with town(tmp_path, latency=0.01) as made:
        yield made


def ended(out: str) -> dict:
    return json.loads(out.splitlines()[-1])


def until(running, settled: int) -> None:
    """The run has so many rows."""
    assert running.stdout is not None
    for line in running.stdout:
        if json.loads(line).get("settled", 0) >= settled:
            return


def test_a_key_that_is_refused_in_mid_run_can_be_replaced(place):
    place.configure(TWO, per_minute=1200)
    place.domains(60)
    running = place.start(*RUN)
    until(running, 10)
    place.act("fault", provider=GPT, kind="auth")
    out, err = running.communicate(timeout=100)
    assert (running.returncode, ended(out)["by"]) == (6, "incomplete"), err
    assert {one["reason"] for one in ended(out)["dropped"]} == {"no_key"}
    _, told = place.json("status")
    assert told["status"] == "incomplete"
    assert told["settled"] < 120
    place.act("heal", provider=GPT)
    code, out, err = place.call("resume", "--json")
    assert (code, ended(out)["by"]) == (0, "complete"), err
    _, told = place.json("status")
    assert (told["status"], told["settled"], told["answered"], told["dropped"]) == ("complete", 120, 120, [])


def test_a_batch_that_was_called_complete_by_an_older_version_can_still_be_resumed(place):
    place.configure(TWO)
    place.domains(3)
    place.act("fault", provider=GPT, kind="auth")
    assert place.call(*RUN)[0] == 6
    place.run("UPDATE crawl_batches SET status = 'complete'")
    place.act("heal", provider=GPT)
    code, out, err = place.call("resume", "--json")
    assert (code, ended(out)["by"]) == (0, "complete"), err
    assert place.rows("SELECT COUNT(*) FROM panel_answers") == [(6,)]


def test_the_ceiling_holds_without_usage_and_a_raised_one_is_obeyed(place):
    place.configure(
        [GPT], per_minute=6000, prompts=[{"type": "brand", "text": "{domain}?", "most_tokens": 10}]
    )
    place.price(GPT, 1000.0, 1000.0)
    place.domains(40)
    place.act("fault", provider=GPT, kind="no_usage")
    code, out, err = place.call(*RUN, COST_BUDGET_USD="0.5")
    end = ended(out)
    assert (code, end["by"]) == (6, "budget_spent"), err
    assert 0.3 < end["progress"]["spent_usd"] <= 0.5
    assert end["progress"]["answered"] < 15
    assert "--budget" in end["warnings"][0]
    code, out, _ = place.call("resume", "--json")
    assert (code, ended(out)["by"]) == (6, "budget_spent")
    code, out, _ = place.call("resume", "--json", COST_BUDGET_USD="0.9")
    assert (code, ended(out)["by"]) == (6, "budget_spent")
    assert 0.6 < ended(out)["progress"]["spent_usd"] <= 0.9
    code, out, err = place.call("resume", "--budget", "50", "--json")
    assert (code, ended(out)["by"]) == (0, "complete"), err
    _, told = place.json("status")
    assert (told["settled"], told["budget_usd"]) == (40, 50.0)
