"""Adds one source, and says what its operator should know of it before the first look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from vedette.config.policies import fetch_settings
from vedette.contracts.lane import LaneState
from vedette.contracts.source import Source
from vedette.contracts.words import LaneKey, Outcome
from vedette.core.health.remedies import advice
from vedette.core.lanes.lane import SHUT, condition
from vedette.core.urls.canonical import host_of, watch_id
from vedette.fetch.guard import Guard
from vedette.operations.arguments import a_url
from vedette.operations.installation import Installation
from vedette.operations.source_keys import keys_of, page_keys, source_of
from vedette.operations.sources import refuse_blocked, save_source
from vedette.operations.why_not import interval_of
from vedette.report.lanes import AskedInterval, interval_json
from vedette.store.operator import source_of_url


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceAdded:
    source: Source
    is_new: bool
    interval: AskedInterval | None = None  # what was asked for, and what is stronger
    shut_lane: tuple[LaneKey, LaneState] | None = None
    warnings: tuple[str, ...] = ()  # what the operator may not expect of it


def add_source(
    installation: Installation, url: str, keys: Mapping[str, Any], headers: Mapping[str, str]
) -> SourceAdded:
    """Watch what is at this address; it is due at once.

    `keys`: of a `sources` section.  What is known of the source stays; headers are added to those that it has.
    """
    wanted = a_url(url)
    refuse_blocked(installation, wanted)
    source_of({"url": wanted, **keys}, origin="cli")  # bad input is reported before a store is made
    source, is_new = _save(installation, wanted, keys, headers)
    with installation.queries() as queries:
        watch = queries.watch(watch_id(source.url))
        lane = None if watch is None else queries.lane(watch.lane)
        interval = None if watch is None else interval_of(installation, queries, watch, source)
    is_shut = lane is not None and condition(lane, installation.now()) in SHUT
    return SourceAdded(
        source=source,
        is_new=is_new,
        interval=interval,
        shut_lane=(watch.lane, lane) if is_shut and watch is not None and lane is not None else None,
        warnings=tuple(_warnings(installation, url, source)),
    )


def source_added_json(done: SourceAdded) -> dict[str, object]:
    source = done.source
    return {
        "source": source.id,
        "url": source.url,
        "added": done.is_new,
        "name": source.name,
        "lister": source.lister.value,
        "risk": None if source.risk is None else source.risk.name,
        "tier": source.tier.name,
        "asked": None if done.interval is None else interval_json(done.interval),
    }


def _save(
    installation: Installation, url: str, keys: Mapping[str, Any], headers: Mapping[str, str]
) -> tuple[Source, bool]:
    with installation.operating(create=True) as db:
        known = source_of_url(db, url)
        before = keys_of(known) if known else page_keys(url)
        given = dict(keys)
        if headers:
            fetch = dict(before.get("fetch", {}))
            given["fetch"] = fetch | {"headers": {**fetch.get("headers", {}), **headers}}
        return save_source(installation, db, source_of(before | given, origin="cli"))


def _warnings(installation: Installation, url: str, source: Source) -> list[str]:
    words = []
    if "@" in url.partition("//")[2].partition("/")[0]:
        words.append("the user name and password in the URL are not kept; use `fetch.headers` with env:NAME")
    refused = _refused_address(installation, source)
    if refused:
        words.append(refused)
    if source.options.requires_headless:
        from vedette.fetch.browser import find_browser  # aiohttp and asyncio: 0.19 s that few additions need

        missing = find_browser()[1]
        if missing:
            words.append(f"{missing}; until then it is parked (outcome no_browser)")
    return words


def _refused_address(installation: Installation, source: Source) -> str:
    """An address that the guard will not connect to, said now and not after the first run."""
    host, parts = host_of(source.url), urlsplit(source.url)
    if not host.replace(".", "").isdigit() and ":" not in host:
        return ""
    settings = fetch_settings(installation.loaded.config, source)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    reason = Guard(settings.allow_networks, settings.allow_ports).refuses(host.strip("[]"), port)
    if reason is None:
        return ""
    said = advice(Outcome.ADDRESS_REFUSED, url=source.url, detail=reason.note)
    return f"it will not be looked at: {reason.note}. {said}"
