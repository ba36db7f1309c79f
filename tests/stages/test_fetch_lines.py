"""Lines that stay open between requests: which are used again, which are not, and who waits for a silent one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
import uvloop
from hostile import HELLO, Do, Hostile, StoppedClock, ask

from vedette.contracts.words import Outcome
from vedette.fetch import connections
from vedette.fetch.http import HttpFetcher

pytestmark = pytest.mark.filterwarnings("ignore:Overriding the:DeprecationWarning")


@pytest.fixture
def event_loop_policy() -> uvloop.EventLoopPolicy:
    return uvloop.EventLoopPolicy()


@pytest.fixture
async def fetcher() -> AsyncIterator[HttpFetcher]:
    fetcher = HttpFetcher(StoppedClock())
    yield fetcher
    await fetcher.close()


async def test_a_line_is_used_again(fetcher: HttpFetcher) -> None:
    async with Hostile(HELLO, Do.NEXT, HELLO, Do.NEXT, HELLO) as server:
        for _ in range(3):
            assert (await ask(fetcher, server.url(), server.settings())).outcome is Outcome.OK
        assert server.connections == 1


async def test_a_line_that_was_free_for_too_long_is_closed_and_not_used(fetcher: HttpFetcher) -> None:
    async with Hostile(HELLO, Do.NEXT, HELLO) as server:
        settings = server.settings(keep_alive=timedelta(seconds=0.05))
        assert (await ask(fetcher, server.url(), settings)).outcome is Outcome.OK
        (client,) = fetcher._clients._clients.values()  # type: ignore[union-attr]
        (origin,) = client._origins.values()
        (line, _) = origin.lines[0]
        while not line.closed:  # the sweeper comes by itself
            await asyncio.sleep(0.01)
        assert not origin.lines
        assert (await ask(fetcher, server.url(), settings)).outcome is Outcome.OK
        assert server.connections == 2


async def test_a_line_that_the_far_end_has_closed_is_not_used(fetcher: HttpFetcher) -> None:
    async with Hostile(HELLO) as server:  # closes after its answer
        for count in (1, 2, 3):
            assert (await ask(fetcher, server.url(), server.settings())).outcome is Outcome.OK
            await asyncio.sleep(0.05)
            assert server.connections == count


async def test_silence_is_noticed_on_a_line_that_answered_before(fetcher: HttpFetcher) -> None:
    async with Hostile(HELLO, Do.NEXT, HELLO, Do.NEXT, Do.HOLD) as server:
        patient = server.settings(read_timeout=timedelta(seconds=9))
        for _ in range(2):
            assert (await ask(fetcher, server.url(), patient)).outcome is Outcome.OK
        hurried = server.settings(read_timeout=timedelta(seconds=0.15))  # the same line, less patience
        silent = await ask(fetcher, server.url(), hurried)
        assert (silent.outcome, silent.detail) == (Outcome.TIMEOUT, "the far end went silent")
        assert server.connections == 1


async def test_the_deadline_holds_on_a_line_that_answered_before(fetcher: HttpFetcher) -> None:
    async with Hostile(HELLO, Do.NEXT, Do.HOLD) as server:
        assert (await ask(fetcher, server.url(), server.settings())).outcome is Outcome.OK
        late = await ask(fetcher, server.url(), server.settings(total_timeout=timedelta(seconds=0.15)))
        assert (late.outcome, late.detail) == (Outcome.TIMEOUT, "the total deadline passed")
        assert server.connections == 1


async def test_origins_that_are_forgotten_keep_no_line(
    fetcher: HttpFetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "ORIGINS", 1)
    async with Hostile(HELLO, Do.NEXT, HELLO) as one, Hostile(HELLO, Do.NEXT, HELLO) as other:
        settings = one.settings(allow_ports=(one.port, other.port))
        for server in (one, other, one):
            assert (await ask(fetcher, server.url(), settings)).outcome is Outcome.OK
        assert (one.connections, other.connections) == (2, 1)
