"""What of a hunt is worth somebody's time: which findings stand in a digest, and whether there is anything to tell."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from vedette.contracts.findings import FindingCluster, HuntDigest, OddCard
from vedette.contracts.oddness import Action
from vedette.core.urls.canonical import host_of

CHANCE = 1  # so many pages of a large crawl score as high by chance
KEPT_ANYWAY = 3  # weak findings that are named when nothing stood out
MOST_CLUSTERS = 6


class DigestTime(NamedTuple):
    since: datetime
    until: datetime
    pages: int  # that were judged in that time


def digest_of(
    cards: Sequence[OddCard],
    clusters: Sequence[FindingCluster],
    time: DigestTime,
    *,
    most: int = 10,
) -> HuntDigest:
    """`cards`: the oddest first.  What the operator marked as plain is left out."""
    since, until, pages = time
    fresh = [
        card for card in cards if since <= card.finding.found_at <= until and card.finding.mark != "plain"
    ]
    is_nothing = not stands_out(fresh)
    chosen = one_of_each_host(fresh)[: KEPT_ANYWAY if is_nothing else most]
    named = {card.cluster for card in fresh}
    wide = [one for one in clusters if one.number in named and len(one.places) > 1]
    return HuntDigest(
        since=since,
        until=until,
        pages=pages,
        findings=len(fresh),
        cards=tuple(chosen),
        clusters=() if is_nothing else tuple(wide[:MOST_CLUSTERS]),
        is_nothing=is_nothing,
    )


def stands_out(cards: Sequence[OddCard]) -> bool:
    """True where there is news.  One high score alone may be chance; two, or one that a find links to, not."""
    if any(card.finding.mark == "odd" for card in cards):
        return True
    high = [card for card in cards if card.finding.action is Action.LLM]
    return len(high) > CHANCE or any(card.linked_from for card in high)


def one_of_each_host(cards: Sequence[OddCard]) -> list[OddCard]:
    """The first of each host and of each place."""
    found: dict[str, OddCard] = {}
    hosts: set[str] = set()
    for card in cards:
        host = host_of(card.finding.url)
        if card.finding.place not in found and host not in hosts:
            found[card.finding.place] = card
            hosts.add(host)
    return list(found.values())
