"""Stage jobs have the names, ids, payloads and routes of 001 sections 4.2 and 4.3."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.errors import InputError
from vedette.contracts.jobs import STAGES, StageOrder
from vedette.contracts.words import ContentClass, EvidenceId, RunId, VisitId
from vedette.core.judging.embedding import DIMENSIONS, embed, likeness
from vedette.core.judging.verdict import read_stage_order, route, scout_job, stage_job
from vedette.store.job_bus import checked_id

ORDER = StageOrder(evidence=EvidenceId(1 << 62), run=RunId("run-1"))
BIG = str(1 << 62)


def test_the_scout_job_is_the_documents():
    job = scout_job(EvidenceId(17), RunId("run-1"), VisitId(18))
    assert (job.queue, job.name, job.id) == ("scout", "scout", "scout-17")
    assert job.data == {"evidenceId": "17", "runId": "run-1", "parentJobId": "fetch-18"}


@pytest.mark.parametrize(
    ("queue", "name", "job_id"),
    [
        ("router", "router", f"router-{BIG}"),
        ("ocr", "ocr", f"ocr-{BIG}"),
        ("extract", "extract", f"extract-{BIG}"),
        ("embed", "generate-embedding", f"embed-{BIG}"),
    ],
)
def test_the_jobs_after_it_are_the_documents(queue: str, name: str, job_id: str):
    job = stage_job(queue, ORDER)
    assert (job.queue, job.name, job.id, job.data) == (
        queue,
        name,
        job_id,
        {"evidenceId": BIG, "runId": "run-1"},
    )
    assert checked_id(job.id or "") == job_id


def test_an_order_comes_back_as_it_was_written_with_all_its_bits():
    assert [read_stage_order(stage_job(queue, ORDER).data) for queue in STAGES] == [ORDER] * 5


@pytest.mark.parametrize(
    ("kind", "queue"),
    [
        ("HTML", "extract"), ("PDF_TEXT", "extract"), ("PDF_SCANNED", "ocr"), ("DOC", "extract"),
        ("DOCX", "extract"), ("XLS", "extract"), ("XLSX", "extract"), ("JSON", "extract"),
        ("JSON_LD", "extract"), ("XML", "extract"), ("OTHER", None),
    ],
)  # fmt: skip
def test_routes_are_the_documents(kind: str, queue: str | None):
    assert route(ContentClass(kind)) == queue


def test_every_class_but_other_has_a_route():
    assert [kind for kind in ContentClass if route(kind) is None] == [ContentClass.OTHER]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(json_values | st.fixed_dictionaries({"evidenceId": json_values, "runId": json_values}))
def test_no_payload_does_more_than_be_refused(data: object):
    try:
        order = read_stage_order(data)
    except InputError:
        return
    assert 0 <= order.evidence < 1 << 63


@pytest.mark.parametrize(
    "evidence", ["1; DROP TABLE jobs", "-1", "1" * 40, "٣", True, 1.5, None, [], "0x10", ""]
)
def test_an_evidence_id_that_is_none_is_refused(evidence: object):
    with pytest.raises(InputError, match="evidenceId"):
        read_stage_order({"evidenceId": evidence, "runId": "r"})


def test_texts_that_share_wording_are_near_and_others_are_not():
    law = (
        "Obrtnik je dužan u roku od 15 dana prijaviti nadležnom uredu svaku promjenu podataka iz registra. "
        * 4
    )
    edited = law.replace("15 dana", "30 dana", 1)
    other = "The Medicines Agency recalls batch 4471 because of a wrong leaflet; patients need not act. " * 4
    assert likeness(embed(law), embed(edited)) > 0.95
    assert likeness(embed(law), embed(other)) < 0.4


@given(st.text())
def test_any_text_has_a_vector_of_length_one_or_none(text: str):
    vector = embed(text)
    assert vector.shape == (DIMENSIONS,)
    assert float(vector @ vector) == pytest.approx(1.0 if text.split() else 0.0, abs=1e-4)
