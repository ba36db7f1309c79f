"""The stage jobs of 001 section 4.3: names, ids and payloads as other programs know them, and who follows whom."""

from __future__ import annotations

from collections.abc import Mapping

from vedette.contracts.errors import InputError
from vedette.contracts.jobs import EMBED, EXTRACT, OCR, SCOUT, NewJob
from vedette.contracts.stage_work import StageOrder
from vedette.contracts.words import ContentClass, EvidenceId, RunId, VisitId

NAMES = {EMBED: "generate-embedding"}  # elsewhere a job is named after its queue
PARENT = "fetch"  # what a look is called among jobs
_LONGEST_RUN = 200

# 001 section 4.2.  What is not listed has no text to give.
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
