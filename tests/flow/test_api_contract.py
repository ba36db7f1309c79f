"""The API against its own description, asked by a program that tries what nobody thought of."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from machine import patient
from schemathesis.checks import CHECKS
from stocked import stocked
from web_kit import an_installation, serving

TOKEN = "static-token"
EXAMPLES = 2  # of each call
# A URL that is none, or a name that nobody has, is refused with a message beside the field: JSON Schema cannot say
# "watched already".
SKIPPED = {"positive_data_acceptance"}
ENDLESS = "/events$"  # an answer that never ends; tests/stages/test_http_api.py reads it
NO_NAMES = {
    "nameservers": ["127.0.0.1:9"],
    "connect_timeout": "1s",
    "total_timeout": "2s",
}  # nothing goes out


class Served:
    """A server in a thread of its own, for a client that blocks."""

    def __init__(self, data: Path) -> None:
        self._data, self._ended = data, threading.Event()
        self.address, self._ready = "", threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    async def _serve(self) -> None:
        async with serving(an_installation(self._data, fetch=NO_NAMES), TOKEN) as client:
            self.address = client.address
            self._ready.set()
            await asyncio.to_thread(self._ended.wait)

    def __enter__(self) -> Served:
        self._thread.start()
        self._ready.wait(60)
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data = tmp_path_factory.mktemp("api")
    stocked(data)
    with Served(data) as made:
        yield made


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_call_fails_and_every_answer_is_as_described(served: Served):
    headers = {"Authorization": f"Bearer {TOKEN}"}
    schema = schemathesis.openapi.from_url(f"{served.address}/api/v1/openapi.json", headers=headers)
    named = zip(CHECKS.get_all_names(), CHECKS.get_all(), strict=True)
    checks = [check for name, check in named if name not in SKIPPED]
    assert len(checks) >= 8
    asked = 0
    for found in schema.exclude(path_regex=ENDLESS).get_all_operations():
        operation = found.ok()

        @settings(
            max_examples=EXAMPLES, database=None, deadline=None, derandomize=True,
            suppress_health_check=list(HealthCheck), phases=[Phase.generate],
        )  # fmt: skip
        def ask(case: schemathesis.Case) -> None:
            nonlocal asked
            asked += 1
            case.call_and_validate(headers=headers, checks=checks, timeout=patient(30))

        given(case=operation.as_strategy())(ask)()
    assert asked >= 60
