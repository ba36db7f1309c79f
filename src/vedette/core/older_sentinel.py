"""An older sentinel: its items as sources of ours, and the payload of its queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

import xxhash

from vedette.contracts.errors import InputError
from vedette.contracts.jobs import SentinelOrder
from vedette.contracts.source import ListerKind
from vedette.contracts.words import NodeRole, NodeType, Risk, RunId, SourceId
from vedette.core.schedule.ewma import calculate_next_scan
from vedette.core.urls.classify import Classification

NEUTRAL_VELOCITY = 0.5  # spec 000/6, phase 3
LISTERS: Mapping[str, ListerKind] = MappingProxyType(
    {
        "RSS_FEED": ListerKind.FEED,
        "SITEMAP_XML": ListerKind.SITEMAP,
        "HTML_LIST": ListerKind.HTML_LIST,
        "PAGINATION": ListerKind.PAGINATION,
        "CRAWL": ListerKind.CRAWL,
    }
)  # spec 001/3.2
LEFT_ALONE = frozenset({"SKIPPED"})  # spec 001/4.4: someone decided against these
NEVER_SEEN = frozenset({"PENDING"})


@dataclass(frozen=True, slots=True)
class AdoptedStart:
    """What an item begins with: the columns that spec 000/1 adds."""

    node_type: NodeType
    node_role: NodeRole | None
    risk: Risk
    velocity: float
    scan_count: int
    next_scan_due: datetime


def start_of(url: str, *, now: datetime, classify: Callable[[str], Classification]) -> AdoptedStart:
    """Classification by the URL, neutral velocity, due by its risk.  Items do not all fall due at one moment."""
    said = classify(url)
    jitter = (xxhash.xxh3_64_intdigest(url.encode()) >> 11) / 2**53
    due = calculate_next_scan(NEUTRAL_VELOCITY, said.risk, now=now, jitter=jitter)
    return AdoptedStart(said.node_type, said.node_role, said.risk, NEUTRAL_VELOCITY, 0, due)


def source_words(endpoint: Mapping[str, Any]) -> dict[str, Any]:
    """A `DiscoveryEndpoint` (spec 001/3.2) in the words of our configuration.

    Raises KeyError for a row without a domain, ValueError for a strategy that spec 001 does not name.
    """
    strategy = str(endpoint.get("listingStrategy") or "CRAWL")
    if strategy not in LISTERS:
        raise ValueError(f"listingStrategy {strategy!r} is not one of {', '.join(LISTERS)}")
    domain, path = str(endpoint["domain"]), str(endpoint.get("path") or "/")
    words: dict[str, Any] = {
        "id": str(endpoint["id"]) if endpoint.get("id") else None,
        "url": f"https://{domain}{path if path.startswith('/') else '/' + path}",
        "name": endpoint.get("name") or domain,
        "lister": LISTERS[strategy].value,
        "tier": endpoint.get("priority") or "NORMAL",
        "active": bool(endpoint.get("isActive", True)),
        "scrape_frequency": endpoint.get("scrapeFrequency"),
        "url_pattern": endpoint.get("urlPattern"),
        "pagination_pattern": endpoint.get("paginationPattern"),
    }
    return {name: word for name, word in words.items() if word is not None}


# The payload of the queue `sentinel` in the names that older programs use, and back.

# spec 001/7.1: CRITICAL at once, each tier a step later.  spec 001 calls the middle one NORMAL.
TIERS = ((Risk.CRITICAL, "CRITICAL"), (Risk.HIGH, "HIGH"), (Risk.MEDIUM, "NORMAL"), (Risk.LOW, "LOW"))
NAMES = dict(TIERS)


def order_data(order: SentinelOrder) -> dict[str, object]:
    data: dict[str, object] = {"runId": order.run}
    if order.source is not None:
        data["sourceId"] = order.source
    if order.tier is not None:
        data["priority"] = NAMES[order.tier]
    return data


def read_order(data: Mapping[str, object]) -> SentinelOrder:
    """Whoever may write to the queue wrote it: everything is checked.  An unknown key is left alone."""
    run, source, tier = data.get("runId"), data.get("sourceId"), data.get("priority")
    if not isinstance(run, str) or not run or len(run) > 200 or not run.isprintable():
        raise InputError("a sentinel job needs a runId")
    if source is not None and not isinstance(source, str):
        raise InputError("sourceId is the id of a source")
    try:
        risk = None if tier is None else Risk.parse(str(tier))
    except ValueError as error:
        raise InputError(f"priority: {error}") from None
    return SentinelOrder(run=RunId(run), source=None if source is None else SourceId(source), tier=risk)


def staggered(at: datetime, step: timedelta) -> list[tuple[str, SentinelOrder, timedelta]]:
    """The four jobs of one cron run: name, payload, delay."""
    run = RunId(f"discovery-{int(at.timestamp() * 1000)}")
    return [
        (f"sentinel-{word.lower()}", SentinelOrder(run=run, tier=tier), number * step)
        for number, (tier, word) in enumerate(TIERS)
    ]
