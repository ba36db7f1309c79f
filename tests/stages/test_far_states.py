"""Kept states in a bucket: the loop goes on while they are fetched, and what is at hand is not fetched."""

from __future__ import annotations

import asyncio
from datetime import datetime
from hashlib import sha256

import pytest
from bucket_kit import bucket_server
from settlements import NOON, a_watch

from vedette.contracts.change import Change
from vedette.contracts.watch import Located, Seen
from vedette.contracts.words import ChangeId, ContentClass, EvidenceId, ObjectPlace, VisitId, WatchId
from vedette.engine.crawl.compare_states import Comparer, FetchedStates, PastStates, WaitingPages
from vedette.extract import Page

pytestmark = pytest.mark.slow
BODY = b"<html><body><p>kept</p></body></html>"
STATE = EvidenceId(7)


class OneState:
    """The rows of a store that has one state."""

    def __init__(self) -> None:
        self.asked = 0

    def located(self, evidence: EvidenceId) -> tuple[Located, str, str]:
        self.asked += 1
        return (
            Located(segment="standard-20261115-0001", offset=0, length=99),
            "text/html",
            "http://a.example/1",
        )

    def change(self, change: ChangeId) -> Change | None:
        return None

    def looks_since(self, watch: WatchId, at: datetime) -> list[tuple[EvidenceId, datetime]]:
        return []


def comparer(place: ObjectPlace, waiting: WaitingPages | None = None) -> Comparer:
    return Comparer(PastStates(OneState(), place), "main", waiting=waiting)


def a_seen_watch():
    seen = Seen(
        visit=VisitId(7), evidence=STATE, digest=sha256(BODY).digest(), text_key=1, text_chars=4, at=NOON,
        content_class=ContentClass.HTML,
    )  # fmt: skip
    return a_watch(seen=seen)


async def test_the_loop_goes_on_while_a_bucket_answers_nothing():
    with bucket_server() as server:
        far = comparer(server.bucket("kept"))
        assert far.is_far
        server.pause()
        fetching = asyncio.create_task(far.near(a_seen_watch()))
        for _ in range(20):
            await asyncio.sleep(0.02)
        assert not fetching.done()
        server.resume()
        near = await fetching
        assert isinstance(near.memory, FetchedStates)
        assert near.memory.body(STATE) is None  # there is no such segment, and nobody asks again
        assert not near.is_far


async def test_a_state_that_waits_in_memory_is_not_fetched():
    with bucket_server() as server:
        place, waiting = server.bucket("kept"), WaitingPages()
        page = Page.of(BODY, url="http://a.example/1", content_type="text/html")
        waiting.put(STATE, sha256(BODY).digest(), page)
        server.process.kill()
        near = await comparer(place, waiting).near(a_seen_watch())
        assert isinstance(near.memory, FetchedStates)
        assert near.memory.bodies == {}
