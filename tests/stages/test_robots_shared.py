"""robots.txt of a host that several workers visit in turn, on one store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from vedette.contracts.fetch import Fetched, RobotsRules
from vedette.contracts.words import Outcome
from vedette.engine.crawl.robots_cache import RobotsCache

ORIGIN = "https://a.example"


class HandClock:
    """Goes on when it is told to."""

    def __init__(self) -> None:
        self.at = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.at


def refusal(clock: HandClock) -> Fetched:
    return Fetched(
        url=f"{ORIGIN}/robots.txt", outcome=Outcome.SERVER_ERROR, at=clock.at, took=timedelta(0), status=503
    )


def test_what_another_worker_was_refused_is_not_asked_for_again_so_soon():
    clock = HandClock()
    store: dict[str, RobotsRules] = {}

    def save(rules: RobotsRules) -> None:
        store[rules.origin] = rules

    one, two = (RobotsCache(load=store.get, save=save, clock=clock) for _ in range(2))
    one.keep(refusal(clock), ORIGIN, "vedette")
    assert two.rules(ORIGIN) is not None
    first = store[ORIGIN].expires_at - clock.at
    clock.at = store[ORIGIN].expires_at
    one.keep(refusal(clock), ORIGIN, "vedette")
    assert store[ORIGIN].expires_at - clock.at == 2 * first
    clock.at += timedelta(minutes=1)
    assert two.rules(ORIGIN) is not None, "what it knew itself is over, what the store knows is not"
    clock.at = store[ORIGIN].expires_at
    assert two.rules(ORIGIN) is None
    two.keep(refusal(clock), ORIGIN, "vedette")
    assert store[ORIGIN].expires_at - clock.at == 4 * first, "it goes on from what the other one was told"
