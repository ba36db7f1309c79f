"""What is said about findings: claims with quotes that can be checked, reports of analysts, cards, clusters."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from vedette.contracts.oddness import OddFinding
from vedette.contracts.words import WatchId

OFFLINE = "offline"  # the author of a report for which no model was asked


class Quote(NamedTuple):
    """Words that stand in the stored text of a page."""

    text: str
    at: int  # where it begins in that text


class Claim(NamedTuple):
    """One thing that is said of a page, and the words of the page that it rests on."""

    words: str
    quote: Quote
    points: float = 0.0  # of the score; 0: said by a model


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReport:
    """What an analyst says of a finding (spec 004).  Every quote was found in the stored text."""

    summary: str
    why: tuple[Claim, ...]
    tags: tuple[str, ...]
    confidence: float  # 0 to 1
    danger: str = ""  # what to be careful about; empty: nothing
    author: str = OFFLINE
    note: str = ""  # why no model was asked, or why its answer was not used


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptReport:
    """A report as the store keeps it, with what it cost."""

    watch: WatchId
    report: PageReport
    digest: bytes  # of the body of the page that it is about
    calls: int
    usd: float
    at: datetime


class FindingText(NamedTuple):
    """The stored text of a finding, without personal data where its source redacts."""

    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OddCard:
    """Why a page is odd, on one card."""

    finding: OddFinding
    title: str
    report: PageReport
    linked_from: tuple[str, ...] = ()  # findings of other hosts that link to it
    cluster: int = 0  # its number; 0: none
    digest: bytes = b""  # of the stored body that it quotes


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingCluster:
    """Findings that belong together."""

    number: int
    findings: tuple[OddFinding, ...]  # the oddest first
    places: tuple[str, ...]
    words: tuple[str, ...]  # that they share, and others do not
    reasons: tuple[tuple[str, float], ...]  # features that give most, and the mean of their points
    links: int  # between them
    answered: int  # of these, those that go both ways
    brief: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MapPlace:
    """A host on the map of a hunt."""

    name: str
    rank: float  # PageRank, times the number of hosts: 1 is usual
    score: float = 0.0  # of its oddest finding; 0: it has none
    cluster: int = 0
    cards: tuple[OddCard, ...] = ()
    links_in: int = 0
    links_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMap:
    """What a map shows: hosts, who links to whom by position, and the names of clusters."""

    places: tuple[MapPlace, ...]
    links: tuple[tuple[int, int], ...]
    clusters: tuple[FindingCluster, ...]
    left_out: int = 0  # hosts that there was no room for


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntCost:
    """What findings cost: of a whole store, or of a stretch of time."""

    findings: int
    looks: int  # at sources that hunt, seeds and errors included
    wire_bytes: int
    cpu_seconds: float  # of the looks whose runs said it, their share of the run
    measured_looks: int  # how many these are: a run that was killed says nothing
    calls: int  # of analysts
    usd: float

    def of_each(self, amount: float) -> float | None:
        """For one finding; None where there is none."""
        return amount / self.findings if self.findings else None

    @property
    def cpu_of_each(self) -> float | None:
        """Seconds for one finding, as if all looks cost what the measured ones did."""
        if not self.measured_looks:
            return None
        return self.of_each(self.cpu_seconds * self.looks / self.measured_looks)


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntDigest:
    """What hunts found in a stretch of time, for people who were not there."""

    since: datetime
    until: datetime
    pages: int  # that were judged
    findings: int
    cards: tuple[OddCard, ...]  # the oddest first, one of each host
    clusters: tuple[FindingCluster, ...]
    is_nothing: bool  # nothing stood out; then `cards` are the best of what was kept all the same
    cost: HuntCost | None = None

    @property
    def headline(self) -> str:
        if self.is_nothing:
            return "Nothing stood out"
        return f"{len(self.cards)} odd corner{'s' if len(self.cards) > 1 else ''} of the web"
