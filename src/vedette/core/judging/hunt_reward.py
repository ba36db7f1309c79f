"""What a first look found, from 0 to 1, as a hunt counts it; None: an error.

The measure is the scout's score of the page (`core/judging/verdict.py`).  What the scout would skip is no find,
nor is a text that another page has shown already; and what we refuse ourselves is neither a find nor the host's error.
"""

from __future__ import annotations

from datetime import UTC, datetime

from vedette.contracts.verdict import EvidenceFacts, VerdictWord
from vedette.contracts.watch import Settlement
from vedette.contracts.words import EvidenceId
from vedette.core.judging.verdict import judge
from vedette.core.lanes.outcomes import MEANING

_ANY = datetime.min.replace(tzinfo=UTC)  # a score does not depend on it
_SOME = EvidenceId(0)


def found_by(settled: Settlement, *, is_known: bool) -> float | None:
    """`is_known`: another page has shown this text."""
    visit, meaning = settled.visit, MEANING[settled.visit.outcome]
    if not meaning.has_content:
        return 0.0 if meaning.is_refusal or not meaning.is_look else None
    facts = EvidenceFacts(
        evidence=_SOME,
        watch=settled.watch.id,
        url=visit.url,
        risk=settled.watch.risk,
        outcome=visit.outcome,
        content_class=settled.content_class,
        content_type=settled.content_type,
        digest=visit.digest or b"",
        text_chars=visit.text_chars,
        traits=settled.traits,
        lister=settled.job.watch.lister,
        twin=_SOME if is_known else None,
    )
    verdict = judge(facts, now=_ANY)
    return 0.0 if verdict.word is VerdictWord.SKIP else verdict.score / 100.0
