"""The receipt of one host: every request of the last day, and what its lane and its robots.txt allow."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from vedette.contracts.errors import InputError
from vedette.contracts.fetch import RobotsRules
from vedette.contracts.words import LaneKey
from vedette.core.urls.canonical import origin_of
from vedette.operations.arguments import a_lane
from vedette.operations.installation import Installation
from vedette.operations.overview import DAY, LaneReceipt, politeness, receipt_json
from vedette.store.promise_rows import AskedOnce, asked_of

MOST_ASKED = 200  # requests that are listed, newest first


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReceipt:
    lane: LaneKey
    receipt: LaneReceipt
    asked: tuple[AskedOnce, ...]
    robots: tuple[RobotsRules, ...]  # of each of its origins that was asked

    @property
    def gaps(self) -> list[tuple[AskedOnce, timedelta | None]]:
        """Each request with the time since the one before it."""
        before = [*self.asked[1:], None]
        return [
            (one, None if last is None else one.at - last.at)
            for one, last in zip(self.asked, before, strict=True)
        ]


def host_receipt(installation: Installation, host: str) -> HostReceipt:
    """InputError: nothing was asked of this host yet."""
    lane = a_lane(host)
    found = next((one for one in politeness(installation) if one.lane == lane), None)
    if found is None:
        raise InputError(f"nothing was asked of {lane} yet; the page Lanes lists the hosts")
    with installation.reading() as db:
        asked = asked_of(db, lane, since=installation.now() - DAY, most=MOST_ASKED)
    name = lane.partition(":")[2]
    origins = dict.fromkeys([*(origin_of(one.url) for one in asked), f"https://{name}", f"http://{name}"])
    with installation.queries() as queries:
        rules = [one for origin in origins if (one := queries.robots(origin)) is not None]
    return HostReceipt(lane=lane, receipt=found, asked=tuple(asked), robots=tuple(rules))


def host_receipt_json(found: HostReceipt, now: datetime) -> dict[str, object]:
    return {
        **receipt_json(found.receipt, now),
        "robots": [
            {
                "origin": one.origin,
                "fetched_at": one.fetched_at,
                "expires_at": one.expires_at,
                "verdict": one.verdict,
                "crawl_delay": one.crawl_delay,
                "text": one.text,
            }
            for one in found.robots
        ],
        "asked": [
            {
                "at": one.at,
                "url": one.url,
                "outcome": one.outcome,
                "status": one.status,
                "seconds_since": None if gap is None else gap.total_seconds(),
            }
            for one, gap in found.gaps
        ],
    }
