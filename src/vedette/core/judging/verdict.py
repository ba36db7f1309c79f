"""The verdict on new evidence: skip it, keep it, or escalate it.  Cheap figures decide before anything expensive runs.

A page that is skipped stays watched and stays evidence; only what comes after is spared.  The score is 0 to 100 and
every point of it is a reason.  How well the rule does is stated in `docs/how-to/stages.md` and held by a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from vedette.contracts.errors import InputError
from vedette.contracts.jobs import EMBED, EXTRACT, OCR, SCOUT, NewJob, StageOrder
from vedette.contracts.source import ListerKind
from vedette.contracts.verdict import EvidenceFacts, Traits, Verdict, VerdictWord
from vedette.contracts.words import DOCUMENTS, ContentClass, EvidenceId, Outcome, Reason, Risk, RunId, VisitId

RULE = "scout-2"  # goes up when a verdict may come out differently
START = 50.0
PERSISTS = 40.0
ESCALATES = 70.0
SURE = frozenset({Outcome.OK, Outcome.NOT_MODIFIED})
# The look could not read it; a stage job tries again, and says what is missing when it cannot either.
UNREAD = frozenset({Outcome.TOOL_MISSING})

LISTS = frozenset({ListerKind.FEED, ListerKind.SITEMAP, ListerKind.HTML_LIST, ListerKind.PAGINATION})


class Band(NamedTuple):
    """Below `under` the figure is worth these points."""

    under: float
    points: float


WORDS = (  # outside links: what a page says itself
    Band(8, -45),
    Band(20, -25),
    Band(40, -8),
    Band(120, 5),
    Band(300, 15),
    Band(float("inf"), 25),
)
LINK_SHARE = (Band(0.2, 5), Band(0.4, 0), Band(0.55, -20), Band(0.75, -35), Band(float("inf"), -50))
KEPT_SHARE = (Band(0.1, -10), Band(0.25, -5), Band(float("inf"), 0))  # of what is visible
PROSE = (Band(0.04, -15), Band(0.08, -5), Band(0.12, 5), Band(float("inf"), 12))  # function words
DISTINCT = (Band(0.2, -40), Band(0.3, -15), Band(float("inf"), 0))
SHORT, LONGER = 60, 150  # words; a sign counts whole in a short page, half in a longer one
SIGN_POINTS = {
    "under_construction": -45.0,
    "nothing_found": -45.0,
    "out_of_service": -45.0,
    "default_page": -50.0,
    "moved_away": -40.0,
    "needs_scripts": -30.0,
    "only_consent": -25.0,
    "only_thanks": -40.0,
    "asks_to_log_in": -25.0,
}
# A rate or a date in one sentence is what people watch for: a short text with figures is not an empty one.
SOME_FIGURES, FEW_WORDS, FIGURE_POINTS = 2, 40, 15.0
PASSWORD = -20.0
NO_SENTENCE = -10.0
LEAST_PROSE = 30  # words; a shorter text has no share of anything
# Values with names: one of them is as much worth as a thousand, and none of it is prose (spec 001/4.2, 001/5.4).
DATA = frozenset(
    {ContentClass.JSON, ContentClass.JSON_LD, ContentClass.XML}
    | {ContentClass.XLS, ContentClass.XLSX, ContentClass.ODS}
)
DATA_POINTS = 20.0


def judge(facts: EvidenceFacts, *, now: datetime) -> Verdict:
    """The verdict about one piece of evidence."""
    reasons = _decided(facts) or _weighed(facts)
    total = sum(reason.points for reason in reasons)
    score = min(100.0, max(0.0, total))
    if score != total:
        reasons = (*reasons, Reason("clamp", round(score - total, 2), "0 to 100"))
    return Verdict(
        evidence=facts.evidence,
        word=_word(score, facts.risk),
        score=round(score, 2),
        reasons=reasons,
        rule=RULE,
        at=now,
    )


def _word(score: float, risk: Risk) -> VerdictWord:
    if score < PERSISTS:
        return VerdictWord.SKIP
    is_hot = risk >= Risk.HIGH and score >= ESCALATES
    return VerdictWord.ESCALATE if is_hot else VerdictWord.PERSIST


def _decided(facts: EvidenceFacts) -> tuple[Reason, ...]:
    """What needs no weighing.  Empty: weigh it."""
    if facts.outcome in UNREAD:
        return (Reason("not_read_yet", START, "the look had no tool for it"),)
    if facts.outcome not in SURE:
        return (Reason("not_the_page", note=f"the look ended as {facts.outcome.value}"),)
    if facts.lister in LISTS:
        return (Reason("listing", note=f"read as {facts.lister.value}: what it names is judged by itself"),)
    if facts.traits is None or not facts.traits.chars:
        return (Reason("no_text"),)
    if facts.twin is not None:
        return (Reason("duplicate", note=f"evidence {facts.twin} has the same text"),)
    return ()


def _weighed(facts: EvidenceFacts) -> tuple[Reason, ...]:
    traits, kind = facts.traits or Traits(), facts.content_class
    found = [Reason("start", START)]
    if kind in DATA:
        return _told([*found, Reason("data", DATA_POINTS, f"{kind.value} is not prose"), *_of_signs(traits)])
    own = traits.words * (1.0 - _linked(traits))
    words = _banded("words", WORDS, own, f"{own:.0f} words outside links")
    found += [words, *_of_figures(traits, words.points)]
    if kind is ContentClass.TEXT:
        return _told(
            found
        )  # tables and lists in plain text have no sentences, and that is no fault of theirs
    found += _of_prose(traits)
    if kind not in DOCUMENTS:
        found += _of_page(traits)
    return _told(found)


def _of_prose(traits: Traits) -> list[Reason]:
    if traits.sample_words < LEAST_PROSE:
        return []
    small = traits.function_words / traits.sample_words
    distinct = traits.distinct_words / traits.sample_words
    name = traits.language or "no language"
    found = [
        _banded("prose", PROSE, small, f"{name}, {small:.0%} small words"),
        _banded("distinct", DISTINCT, distinct, f"{distinct:.0%} of the words differ"),
    ]
    if not traits.sentences:
        found.append(Reason("no_sentence", NO_SENTENCE))
    return found


def _of_page(traits: Traits) -> list[Reason]:
    linked = _linked(traits)
    kept = traits.chars / max(traits.chars, traits.visible_chars)
    found = [
        _banded("links", LINK_SHARE, linked, f"{linked:.0%} of the text is links"),
        _banded("boilerplate", KEPT_SHARE, kept, f"{1 - kept:.0%} of the page is around the text"),
    ]
    return found + _of_signs(traits)


def _of_figures(traits: Traits, words: float) -> list[Reason]:
    """Makes good for the few words of a text that is figures: a rate needs no sentence around it."""
    is_rate = traits.figures >= SOME_FIGURES and traits.words < FEW_WORDS
    if not is_rate or _linked(traits) >= LINK_SHARE[0].under:
        return []
    is_all = 3 * traits.figures >= traits.words  # a date beside a name is not a rate
    return [
        Reason(
            "figures", max(FIGURE_POINTS, -words) if is_all else FIGURE_POINTS, f"{traits.figures} figures"
        )
    ]


def _of_signs(traits: Traits) -> list[Reason]:
    weight = 1.0 if traits.words <= SHORT else 0.5 if traits.words <= LONGER else 0.2
    found = [Reason(code, round(SIGN_POINTS[code] * weight, 2)) for code in traits.signs]
    if traits.asks_password:
        found.append(Reason("password_field", round(PASSWORD * weight, 2)))
    return found


def _linked(traits: Traits) -> float:
    return min(1.0, traits.link_chars / max(1, traits.chars))


def _banded(code: str, bands: tuple[Band, ...], value: float, note: str) -> Reason:
    return Reason(code, next(band.points for band in bands if value < band.under), note)


def _told(reasons: list[Reason]) -> tuple[Reason, ...]:
    return tuple(reason for reason in reasons if reason.points)


# The jobs of the stages after the look: their names, ids and payloads as other programs know them, and their order.

NAMES = {EMBED: "generate-embedding"}  # elsewhere a job is named after its queue
PARENT = "fetch"  # what a look is called among jobs
_LONGEST_RUN = 200

# spec 001/4.2.  What is not listed has no text to give.
ROUTES: Mapping[ContentClass, str] = {
    ContentClass.PDF_SCANNED: OCR,
    ContentClass.IMAGE: OCR,
    ContentClass.HTML: EXTRACT,
    ContentClass.PDF_TEXT: EXTRACT,
    ContentClass.DOC: EXTRACT,
    ContentClass.DOCX: EXTRACT,
    ContentClass.XLS: EXTRACT,
    ContentClass.XLSX: EXTRACT,
    ContentClass.JSON: EXTRACT,
    ContentClass.JSON_LD: EXTRACT,
    ContentClass.XML: EXTRACT,
    ContentClass.ODT: EXTRACT,
    ContentClass.ODS: EXTRACT,
    ContentClass.RTF: EXTRACT,
    ContentClass.PPT: EXTRACT,
    ContentClass.PPTX: EXTRACT,
    ContentClass.TEXT: EXTRACT,
}


def scout_job(evidence: EvidenceId, run: RunId, visit: VisitId) -> NewJob:
    """For evidence that is new.  Its id is made of the evidence: it is queued once, however often it is said."""
    data = {**_data(evidence, run), "parentJobId": f"{PARENT}-{visit}"}
    return NewJob(queue=SCOUT, name=SCOUT, data=data, id=f"{SCOUT}-{evidence}")


def stage_job(queue: str, order: StageOrder) -> NewJob:
    """The job of the next stage for the same evidence."""
    data = _data(order.evidence, order.run)
    return NewJob(queue=queue, name=NAMES.get(queue, queue), data=data, id=f"{queue}-{order.evidence}")


def route(content_class: ContentClass) -> str | None:
    """Which queue reads it; None: skip."""
    return ROUTES.get(content_class)


def read_stage_order(data: object) -> StageOrder:
    """From a payload that anybody may have put there.  InputError says what is wrong with it."""
    if not isinstance(data, Mapping):
        raise InputError("the payload is no object with `evidenceId` and `runId`")
    evidence, run = data.get("evidenceId"), data.get("runId", "")
    text = str(evidence) if isinstance(evidence, int | str) and not isinstance(evidence, bool) else ""
    if not (text.isascii() and text.isdecimal() and 0 < len(text) <= 19 and int(text) < 1 << 63):
        raise InputError(f"`evidenceId` is {str(evidence)[:80]!r}, which names no evidence of ours")
    if not isinstance(run, str) or len(run) > _LONGEST_RUN:
        raise InputError("`runId` is no text, or far too long")
    return StageOrder(evidence=EvidenceId(int(text)), run=RunId(run))


def _data(evidence: EvidenceId, run: RunId) -> dict[str, object]:
    """Ids as text: they have 63 bits, and JavaScript would round them."""
    return {"evidenceId": str(evidence), "runId": run}
