"""The labelled pages of the scout: read, extracted, gated and judged as a look and the scout would."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from vedette.contracts.verdict import EvidenceFacts, Verdict, VerdictWord
from vedette.contracts.words import EvidenceId, Outcome, Risk, WatchId
from vedette.core.change.gate import gate
from vedette.core.judging.traits import measure
from vedette.core.judging.verdict import judge
from vedette.extract import extract

FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "scout"
NOW = datetime(2026, 11, 16, tzinfo=UTC)
URL = "https://example.org/stranica"


@dataclass(frozen=True)
class Page:
    is_good: bool
    lang: str
    name: str
    html: str
    made: str  # living: by the living web; handwritten: the rule was made with it; fresh: written afterwards

    def verdict(self) -> Verdict:
        body, kind = self.html.encode(), "text/html; charset=utf-8"
        extraction = extract(body, url=URL, content_type=kind)
        gated = gate(status=200, extraction=extraction, url=URL, seen=None)
        facts = EvidenceFacts(
            evidence=EvidenceId(1),
            watch=WatchId(1),
            url=URL,
            risk=Risk.MEDIUM,
            outcome=gated.outcome if gated else Outcome.OK,
            content_class=extraction.content_class,
            content_type=kind,
            digest=b"",
            text_chars=len(extraction.text),
            traits=measure(extraction),
        )
        return judge(facts, now=NOW)


@cache
def labelled() -> tuple[Page, ...]:
    return (*_of_living_web(), *_by_hand("handwritten"), *_by_hand("fresh"))


@dataclass(frozen=True)
class Figures:
    """Good is what goes on: precision is how much of it is good, recall how much of the good it is."""

    precision: float
    recall: float
    spared: float  # share of the worthless that is skipped


def figures(pages: tuple[Page, ...]) -> Figures:
    taken = {page: page.verdict().word is not VerdictWord.SKIP for page in pages}
    good = [page for page in pages if page.is_good]
    passed = [page for page in pages if taken[page]]
    right = sum(taken[page] for page in good)
    bad = len(pages) - len(good)
    return Figures(right / len(passed), right / len(good), 1 - (len(passed) - right) / bad)


def _of_living_web() -> list[Page]:
    lines = gzip.decompress((FOLDER / "pages.jsonl.gz").read_bytes()).decode().splitlines()
    rows = map(json.loads, lines)
    return [Page(r["label"] == "good", r["lang"], r["name"], r["html"], "living") for r in rows]


def _by_hand(made: str) -> list[Page]:
    """Records that begin with `=== label language name`."""
    found = []
    for part in (FOLDER / f"{made}.txt").read_text("utf-8").split("=== ")[1:]:
        head, _, html = part.partition("\n")
        label, lang, name = head.split(" ")
        found.append(Page(label == "good", lang, name, html, made))
    return found
