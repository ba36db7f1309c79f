"""The played providers count for themselves, fail by a schedule that anyone can recompute, and tell what they saw."""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import aiohttp
import pytest

from vedette.livingweb.providers import (
    TWELVE,
    FaultRule,
    KeyLimit,
    LivingProviders,
    ModelChange,
    ProviderHost,
)
from vedette.livingweb.providers.faults import Asked
from vedette.livingweb.providers.specs import KeyCount, limit_headers

OPENAI = TWELVE[0]


class Stopped:
    """A clock that the test moves."""

    def __init__(self, t: float = 1_700_000_000.0) -> None:
        self.t = t

    def __call__(self) -> float:
        return self.t


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


def chat(question: str, key: str = "k", model: str = "gpt-4o-mini") -> Asked:
    body = {"model": model, "messages": [{"role": "user", "content": question}]}
    headers = {b"authorization": f"Bearer {key}".encode()}
    return Asked(b"POST", OPENAI.path, headers, json.dumps(body).encode())


def host(clock: Stopped, **changes: Any) -> ProviderHost:
    return ProviderHost(replace(OPENAI, **changes), seed=7, now=clock, latency=0.0)


def status(played: Any) -> int:
    return int(played.data[9:12])


def test_a_key_is_counted_by_a_sliding_minute_and_what_is_over_is_a_violation():
    clock = Stopped()
    one = host(clock, limit=KeyLimit(per_minute=3, slack=0.0))
    assert [status(one.answer(chat(f"{n}.hr"))) for n in range(4)] == [200, 200, 200, 429]
    assert status(one.answer(chat("x.hr", key="another"))) == 200
    clock.t += 59.9
    assert status(one.answer(chat("5.hr"))) == 429
    clock.t += 0.1
    assert status(one.answer(chat("6.hr"))) == 200
    assert one.violations == 2
    assert one.keys["k"].most_in_a_minute == 3
    assert one.keys["k"].requests == 6


def test_tokens_have_a_limit_of_their_own():
    count = KeyCount(KeyLimit(tokens_per_minute=100))
    assert [count.take(0.0, 60), count.take(1.0, 60), count.take(2.0, 40)] == ["", "tokens", ""]
    assert count.violations == {"tokens": 1}


def test_an_even_pace_at_the_limit_breaks_nothing():
    count = KeyCount(KeyLimit(per_minute=84))
    assert not any(count.take(n * 60 / 84, 1) for n in range(1000))


HEADERS = {
    "openai": b"x-ratelimit-limit-requests: 3\r\nx-ratelimit-remaining-requests: 2\r\n"
              b"x-ratelimit-reset-requests: 1m0.00s\r\n",
    "groq": b"x-ratelimit-limit-requests: 500000\r\nx-ratelimit-remaining-requests: 499999\r\n"
            b"x-ratelimit-reset-requests: 2m52.80s\r\n",
    "anthropic": b"anthropic-ratelimit-requests-limit: 3\r\nanthropic-ratelimit-requests-remaining: 2\r\n"
                 b"anthropic-ratelimit-requests-reset: 1970-01-01T00:01:00Z\r\n",
    "mistral": b"x-ratelimit-limit-req-minute: 3\r\nx-ratelimit-remaining-req-minute: 2\r\n",
    "cohere": b"x-trial-endpoint-call-limit: 3\r\nx-trial-endpoint-call-remaining: 2\r\n",
    "": b"",
}  # fmt: skip


@pytest.mark.parametrize(("style", "lines"), HEADERS.items())
def test_each_style_tells_its_limits_by_the_real_names(style: str, lines: bytes):
    count = KeyCount(KeyLimit(per_minute=3))
    count.take(0.0, 1)
    assert limit_headers(style, count, 0.0) == lines


def test_it_knows_what_it_was_asked_and_what_it_answered():
    one = host(Stopped(), faults=(FaultRule(kind="server_error", share=0.5),))
    prompt = "Who runs {domain}?"
    for n in range(100):
        one.answer(chat(prompt.format(domain=f"d{n}.example.hr")))
    assert sum(one.asks.values()) == 100
    assert set(one.asks) == {(f"d{n}.example.hr", prompt) for n in range(100)}
    assert sum(one.answers.values()) + one.struck["server_error"] == 100
    assert 30 < one.struck["server_error"] < 70


def test_faults_do_not_depend_on_the_order_of_arrival():
    struck = []
    for order in (range(200), reversed(range(200))):
        one = host(Stopped(), faults=(FaultRule(kind="hang", share=0.1),))
        struck.append({n for n in order if not one.answer(chat(f"d{n}.hr")).data})
    assert struck[0] == struck[1]
    assert 5 < len(struck[0]) < 40


def test_a_question_asked_again_meets_chance_again():
    one = host(Stopped(), faults=(FaultRule(kind="server_error", share=0.5),))
    assert len({status(one.answer(chat("a.hr"))) for _ in range(20)}) == 2


def test_a_fault_has_its_window_and_models_their_days():
    clock = Stopped()
    one = host(
        clock,
        faults=(FaultRule(kind="unavailable", start=10, end=20),),
        model_changes=(ModelChange(at=30, added="gpt-5", dropped="gpt-4o-mini"),),
    )
    seen = []
    for _ in range(4):
        seen.append(status(one.answer(chat("a.hr"))))
        clock.t += 10
    assert seen == [200, 503, 200, 404]
    listed = json.loads(
        one.answer(Asked(b"GET", "/v1/models", chat("x").headers, b"")).data.partition(b"\r\n\r\n")[2]
    )
    assert "gpt-5" in {row["id"] for row in listed["data"]}
    assert "gpt-4o-mini" not in {row["id"] for row in listed["data"]}


@pytest.mark.parametrize("spec", TWELVE, ids=lambda spec: spec.name)
def test_latency_is_as_the_spec_says(spec: Any):
    one = ProviderHost(spec, seed=3, now=Stopped(), latency=None)
    delays = []
    for _ in range(2000):
        one._number += 1
        delays.append(one._scene("k").delay)
    delays.sort()
    assert statistics.median(delays) == pytest.approx(spec.latency[0], rel=0.1)
    assert delays[1900] == pytest.approx(spec.latency[1], rel=0.15)


async def test_what_they_saw_is_read_and_changed_over_http(client: aiohttp.ClientSession):
    async with LivingProviders(latency=0.0) as town:
        desk = f"http://127.0.0.1:{town.control_port}/_/"

        async def ask(path: str) -> Any:
            async with client.get(desk + path) as response:
                return response.status, await response.json()

        async def post(name: str) -> int:
            body = {"model": "deepseek-chat", "messages": [{"role": "user", "content": "Who runs hgk.hr?"}]}
            url = town.origin(name) + "/chat/completions"
            async with client.post(
                url, json=body, headers={"Authorization": "Bearer secret-key"}
            ) as response:
                await response.read()
                return response.status

        assert await post("deepseek") == 200
        await ask("limit?provider=deepseek&per_minute=1")
        assert await post("deepseek") == 429
        await ask("limit?provider=deepseek&per_minute=0")
        await ask("fault?provider=deepseek&kind=server_error")
        assert await post("deepseek") == 500
        _, stats = await ask("stats")
        seen = stats["providers"]["deepseek"]
        assert (seen["requests"], seen["answers"], seen["violations"]) == (3, 1, 1)
        assert seen["statuses"] == {"200": 1, "429": 1, "500": 1}
        assert seen["asked_twice"] == 1
        assert "secret-key" not in json.dumps(stats)
        assert (await ask("origins"))[1]["deepseek"] == town.origin("deepseek")
        assert [(await ask(path))[0] for path in ("nothing?provider=deepseek", "fault?provider=deepseek&kind=x")] == [
            400, 400,
        ]  # fmt: skip


async def test_a_line_is_kept_and_requests_may_come_in_pieces():
    async with LivingProviders(latency=0.0) as town:
        reader, writer = await asyncio.open_connection(town.origin("deepseek")[7:].split(":")[0], town.port)
        body = b'{"model": "deepseek-chat", "messages": [{"role": "user", "content": "Who runs hgk.hr?"}]}'
        whole = (
            b"POST /chat/completions HTTP/1.1\r\nAuthorization: Bearer k\r\nContent-Length: %d\r\n\r\n%b"
            % (len(body), body)
        )
        for piece in (whole[:10], whole[10:150], whole[150:] + whole):
            writer.write(piece)
            await asyncio.sleep(0.01)
        for _ in range(2):
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
            size = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            assert json.loads(await reader.readexactly(size))["choices"]
        writer.close()


def test_they_run_as_a_process_of_their_own():
    command = [sys.executable, "-m", "vedette.livingweb.providers", "--latency", "0", "--per-minute", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        process.terminate()
    assert set(told["origins"]) == {spec.name for spec in TWELVE}
