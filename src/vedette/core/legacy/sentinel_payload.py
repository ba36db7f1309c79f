"""The payload of the `sentinel` queue, in the documents' words, and back (001 sections 3.1 and 7.1)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from vedette.contracts.errors import InputError
from vedette.contracts.jobs import SentinelOrder
from vedette.contracts.words import Risk, RunId, SourceId

# 001 section 7.1: CRITICAL at once, each tier a step later.  001 calls the middle one NORMAL.
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
