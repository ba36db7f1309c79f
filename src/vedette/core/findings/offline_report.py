"""The analyst that needs no model: what a page was flagged for, in words, with passages of its own text.

It says what the score was made of and quotes the page.  It does not understand the page, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vedette.contracts.findings import Claim, FindingText, PageReport
from vedette.contracts.oddness import Contribution, Family, OddFinding
from vedette.core.findings.quotes import telling
from vedette.core.oddness.features import WORDS

MOST_CLAIMS = 4
SURE = 80.0  # of the score: the offline analyst is never surer than 0.9
GONE = "its text is not stored any more, so nothing of it can be quoted"
NO_MODEL = "no model was asked: this follows from the score and the stored text"


def offline_report(
    finding: OddFinding, given: FindingText | None, known: Mapping[str, int], *, note: str = NO_MODEL
) -> PageReport:
    """`known`: how many other findings have a word; `given`: None where the text has expired."""
    best = strongest(finding.reasons)
    text = given.text if given else ""
    claims: list[Claim] = []
    taken: set[int] = set()
    for one in best:
        quote = telling(text, one.family, known, taken) if text else None
        if quote is not None:
            claims.append(Claim(meaning(one), quote, one.points))
    return PageReport(
        summary=_summary(finding, best),
        why=tuple(claims),
        tags=tuple(dict.fromkeys(one.family.value for one in best)),
        confidence=round(min(0.9, finding.score / SURE), 2),
        note=note if text else f"{note}; {GONE}",
    )


def strongest(reasons: Sequence[Contribution], most: int = MOST_CLAIMS) -> list[Contribution]:
    """The best feature of each family, the most points first."""
    found: dict[Family, Contribution] = {}
    for one in sorted(reasons, key=lambda reason: (-reason.points, reason.feature)):
        found.setdefault(one.family, one)
    return list(found.values())[:most]


def meaning(one: Contribution) -> str:
    """A feature in words."""
    return WORDS.get(one.feature, one.feature.replace("_", " "))


def _summary(finding: OddFinding, best: Sequence[Contribution]) -> str:
    said = "; ".join(meaning(one) for one in best[:3])
    return (
        f"{finding.score:.0f} of 100 points of oddness: {said}."
        if said
        else f"{finding.score:.0f} of 100 points."
    )
