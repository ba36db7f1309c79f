"""`vedette panel` as a user runs it, when keys, models, money, clocks and readers fail."""

from __future__ import annotations

import fcntl
import json
import re
import signal
import socket
import time
import urllib.request
from contextlib import suppress

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


def get(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        return answer.read().decode()


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def test_a_tripped_breaker_is_open_and_a_healthy_one_closed_in_every_place(place):
    port = free_port()
    place.configure(TWO, per_minute=120, listen=f"127.0.0.1:{port}")
    place.domains(300)
    place.act("fault", provider=GPT, kind="server_error")
    running = place.start(*RUN, "--listen", RUST_LOG="info")
    assert running.stdout is not None
    for line in running.stdout:
        rows = {row["model"]: row["breaker"] for row in json.loads(line)["providers"]}
        if rows[GPT] == "open" and rows["cohere"] == "closed":
            break
    time.sleep(2.5)  # the next word about the progress is on disk
    told = {row["model"]: row["breaker"] for row in place.json("status")[1]["providers"]}
    table = dict(place.rows("SELECT model, breaker FROM provider_metrics"))
    pages = {name: json.loads(get(port, f"/provider/{name}/state"))["breaker"] for name in TWO}
    for seen in (told, table, pages):
        assert seen["cohere"] == "closed"
        assert seen[GPT] in ("open", "half-open")
    metrics = get(port, "/metrics")
    assert 'vedette_provider_breaker_state{provider="cohere"} 0' in metrics
    assert re.search(rf'vedette_provider_breaker_state{{provider="{GPT}"}} [12]', metrics)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=100)
    assert "breaker_open" in err


def test_a_model_that_is_gone_is_told_with_its_nearest_successor_and_goes_on_under_another_name(place):
    place.configure(TWO, per_minute=6000)
    place.domains(200)
    place.act("models", provider=GPT, set="gpt-4o-mini-2026,gpt-4.1-nano,o9")
    code, out, err = place.call(*RUN)
    end = ended(out)
    assert (code, end["by"], end["unanswered"]) == (6, "incomplete", [GPT]), err
    assert {(one["model"], one["reason"]) for one in end["dropped"]} == {(GPT, "same_error")}
    assert "gpt-4o-mini-2026" in end["warnings"][0]
    seen = place.act("stats")["providers"]
    assert seen[GPT]["requests"] < 60
    assert seen["cohere"]["answers"] == 200
    place.act("models", provider=GPT, set="gpt-4o-mini,o9")
    code, out, err = place.call("resume", "--parked", "--json")
    assert (code, ended(out)["by"]) == (0, "complete"), err


@pytest.mark.parametrize("fault", ["malformed", "refused", "hang"])
def test_a_provider_that_answers_nothing_is_told_and_exits_with_6(place, fault):
    place.configure(TWO, timeout="300ms", hard="30s", target="30s")
    place.domains(1)
    place.act("fault", provider=GPT, kind=fault)
    code, out, err = place.call(*RUN)
    assert (code, ended(out)["unanswered"]) == (6, [GPT]), err
    assert ended(out)["warnings"]


def test_a_reader_that_does_not_read_holds_nothing_up(place):
    place.configure(TWO, per_minute=60_000)
    place.domains(1500)
    running = place.start(*RUN, RUST_LOG="info", PYTHONUNBUFFERED="1")
    flood(running)
    deadline = time.monotonic() + 100
    while place.act("stats")["answers"] < 3000 and time.monotonic() < deadline:
        time.sleep(0.2)
    assert place.act("stats")["answers"] == 3000
    while place.rows("SELECT status FROM crawl_batches") != [("complete",)] and time.monotonic() < deadline:
        time.sleep(0.2)
    assert place.rows("SELECT status, settled FROM crawl_batches") == [("complete", 3000)]
    running.kill()
    running.communicate()


def flood(running) -> None:
    """The pipes of the program are as small as they can be, and nobody reads them."""
    for stream in (running.stdout, running.stderr):
        with suppress(OSError, AttributeError):
            fcntl.fcntl(stream.fileno(), fcntl.F_SETPIPE_SZ, 4096)
