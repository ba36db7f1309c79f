"""Which evidence of another target says nearly the same: by vectors, among the newest, whoever made them."""

from __future__ import annotations

import numpy as np

from vedette.contracts.judging import Exhibit, Likeness
from vedette.contracts.words import ContentClass, EvidenceId, Outcome, Risk, WatchId
from vedette.core.embedding import SIMILAR, embed, pack_vector
from vedette.engine.neighbours import Neighbours

LAW = (
    "Porezni obveznik podnosi prijavu do kraja veljače za prethodnu godinu, a upravitelj odlučuje o njoj u roku. "
    * 3
)
NEARLY = LAW.replace("veljače", "ožujka", 1)
OTHER = (
    "The harbour master publishes tide tables, mooring fees and weather warnings for small boats every morning. "
    * 3
)


def packed(text: str) -> bytes:
    return pack_vector(embed(text))


def exhibit(number: int, *, watch: int = 0, kind: ContentClass = ContentClass.HTML) -> Exhibit:
    return Exhibit(
        evidence=EvidenceId(number), watch=WatchId(watch or number), url="https://a.hr/", risk=Risk.MEDIUM,
        outcome=Outcome.OK, content_class=kind, content_type="", digest=b"", text_chars=1, traits=None,
    )  # fmt: skip


class Rows:
    """Vectors as the store has them."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, str, bytes]] = []
        self.asked: list[int] = []

    def put(self, number: int, text: str, *, kind: str = "HTML") -> None:
        self.rows.append((number, number, kind, packed(text)))

    def vectors(self, after: int, until: int, most: int) -> list[tuple[int, int, str, bytes]]:
        self.asked.append(after)
        newest = sorted((row for row in self.rows if after < row[0] <= until), reverse=True)
        return newest[:most]


def alike(neighbours: Neighbours, number: int, text: str, **more: object) -> int | None:
    found = neighbours.alike(exhibit(number, **more), packed(text))  # type: ignore[arg-type]
    return None if found is None else found.other


def test_a_text_of_another_target_that_differs_in_a_word_is_named_and_another_text_is_not():
    neighbours = Neighbours(Rows().vectors)
    assert alike(neighbours, 1, LAW) is None
    found = neighbours.alike(exhibit(2), packed(NEARLY))
    assert found is not None
    assert (found.evidence, found.other) == (2, 1)
    assert SIMILAR == 0.9 <= found.share < 1
    assert alike(neighbours, 3, OTHER) is None


def test_the_nearest_is_named():
    neighbours = Neighbours(Rows().vectors)
    for number, text in ((1, NEARLY), (2, LAW), (3, OTHER)):
        alike(neighbours, number, text)
    assert alike(neighbours, 4, LAW) == 2


def test_versions_of_one_target_and_other_types_do_not_count_but_a_scan_is_a_pdf():
    neighbours = Neighbours(Rows().vectors)
    alike(neighbours, 1, LAW, watch=7)
    assert alike(neighbours, 2, LAW, watch=7) is None
    assert alike(neighbours, 3, LAW, kind=ContentClass.PDF_TEXT) is None
    assert alike(neighbours, 4, LAW, kind=ContentClass.PDF_SCANNED) == 3


def test_what_was_there_before_and_what_comes_meanwhile_counts():
    rows = Rows()
    rows.put(1, LAW)
    rows.put(5, NEARLY)
    neighbours = Neighbours(rows.vectors)
    found = neighbours.alike(exhibit(5))  # its look made the vector
    assert found is not None
    assert found.other == 1
    rows.put(6, OTHER)
    rows.put(7, OTHER)
    assert neighbours.alike(exhibit(7)) == Likeness(evidence=EvidenceId(7), other=EvidenceId(6), share=1.0)
    assert rows.asked == [0, 5]  # only what is new is read again


def test_only_earlier_evidence_counts_so_two_do_not_name_each_other():
    rows = Rows()
    for number in (1, 2):
        rows.put(number, LAW)
    neighbours = Neighbours(rows.vectors)
    assert neighbours.alike(exhibit(1)) is None
    assert neighbours.alike(exhibit(2)) is not None


def test_what_was_written_after_newer_evidence_is_found_too():
    """A scan takes minutes; evidence of the meantime is newer and was there before."""
    rows = Rows()
    rows.put(9, LAW)
    neighbours = Neighbours(rows.vectors)
    neighbours.alike(exhibit(9))
    rows.put(3, NEARLY)
    assert neighbours.alike(exhibit(3)) is None
    rows.put(10, NEARLY)
    found = neighbours.alike(exhibit(10))
    assert found is not None
    assert found.other == 3


def test_the_oldest_goes_when_there_is_no_more_room():
    neighbours = Neighbours(Rows().vectors, most=2)
    for number, text in ((1, LAW), (2, OTHER), (3, OTHER)):
        alike(neighbours, number, text)
    assert alike(neighbours, 4, LAW) is None
    assert alike(neighbours, 5, LAW) == 4


def test_what_is_no_vector_is_passed_over():
    rows = Rows()
    rows.rows = [(1, 1, "HTML", b"short"), (2, 2, "HTML", b"")]
    neighbours = Neighbours(rows.vectors)
    assert alike(neighbours, 3, LAW) is None
    for number, bad in enumerate((b"", np.full(256, np.nan, "<f2").tobytes(), bytes(512)), start=4):
        assert neighbours.alike(exhibit(number), bad) is None
    assert neighbours.alike(exhibit(9)) is None  # the store has none of it


def test_how_near_is_near_enough_can_be_said():
    neighbours = Neighbours(Rows().vectors, least=0.9999)
    alike(neighbours, 1, LAW)
    assert alike(neighbours, 2, NEARLY) is None
    assert alike(neighbours, 3, LAW) == 1
