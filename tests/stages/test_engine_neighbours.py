"""Which evidence of another target says nearly the same: by vectors, among the newest, whoever made them."""

from __future__ import annotations

import numpy as np

from vedette.contracts.verdict import EvidenceFacts
from vedette.contracts.words import ContentClass, EvidenceId, Outcome, Risk, WatchId
from vedette.core.judging.embedding import CANDIDATES, SIMILAR, embed, pack_vector
from vedette.engine.stages.evidence_access import Neighbours

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


def facts(number: int, *, watch: int = 0, kind: ContentClass = ContentClass.HTML) -> EvidenceFacts:
    return EvidenceFacts(
        evidence=EvidenceId(number), watch=WatchId(watch or number), url="https://a.hr/", risk=Risk.MEDIUM,
        outcome=Outcome.OK, content_class=kind, content_type="", digest=b"", text_chars=1, traits=None,
    )  # fmt: skip


class Rows:
    """What the store has, and what was asked of it."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, str, bytes]] = []
        self.asked: list[int] = []

    def put(self, number: int, text: str) -> None:
        self.rows.append((number, number, "HTML", packed(text)))

    def vectors(self, after: int, most: int) -> list[tuple[int, int, str, bytes]]:
        self.asked.append(after)
        newest = sorted((row for row in self.rows if row[0] > after), key=lambda row: -row[0])
        return newest[:most]


def alike(neighbours: Neighbours, number: int, text: str, **more: object) -> int | None:
    found = neighbours.alike(facts(number, **more), packed(text))  # type: ignore[arg-type]
    return None if found is None else found.other


def test_a_text_of_another_target_that_differs_in_a_word_is_named_and_another_text_is_not():
    neighbours = Neighbours(Rows().vectors)
    assert alike(neighbours, 1, LAW) is None
    found = neighbours.alike(facts(2), packed(NEARLY))
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


def test_what_was_there_before_counts_and_later_only_what_is_new_is_read():
    rows = Rows()
    rows.put(1, LAW)
    neighbours = Neighbours(rows.vectors)
    assert neighbours.is_behind
    neighbours.catch_up()
    assert alike(neighbours, 5, NEARLY) == 1
    assert not neighbours.is_behind
    rows.put(6, OTHER)
    neighbours.catch_up()
    assert alike(neighbours, 7, OTHER) == 6
    assert rows.asked == [0, 5]


def test_the_nearest_is_found_among_many_though_only_some_are_compared():
    words = LAW.split()
    neighbours = Neighbours(Rows().vectors)
    for number in range(1, 20 * CANDIDATES):
        alike(neighbours, number, " ".join(f"{word}{number}" for word in words))
    neighbours.alike(facts(5000), packed(LAW))
    for number in range(5001, 5001 + 2 * CANDIDATES):
        alike(neighbours, number, OTHER)
    assert alike(neighbours, 9000, NEARLY) == 5000


def test_the_oldest_goes_when_there_is_no_more_room():
    neighbours = Neighbours(Rows().vectors, most=2)
    for number, text in ((1, LAW), (2, OTHER), (3, OTHER)):
        alike(neighbours, number, text)
    assert alike(neighbours, 4, LAW) is None
    assert alike(neighbours, 5, LAW) == 4


def test_a_vector_that_is_damaged_is_passed_over():
    rows = Rows()
    rows.rows = [(1, 1, "HTML", b"short"), (2, 2, "HTML", np.full(256, np.nan, "<f2").tobytes())]
    neighbours = Neighbours(rows.vectors)
    neighbours.catch_up()
    assert alike(neighbours, 3, LAW) is None
    assert neighbours.alike(facts(4), b"") is None
    assert neighbours.alike(facts(5), np.full(256, np.nan, "<f2").tobytes()) is None
    assert neighbours.alike(facts(6), bytes(512)) is None  # a text without words


def test_texts_without_words_do_not_have_the_store_read_again():
    neighbours = Neighbours(Rows().vectors)
    assert neighbours.alike(facts(1), bytes(512)) is None
    assert not neighbours.is_behind


def test_how_near_is_near_enough_can_be_said():
    neighbours = Neighbours(Rows().vectors, least=0.9999)
    alike(neighbours, 1, LAW)
    assert alike(neighbours, 2, NEARLY) is None
    assert alike(neighbours, 3, LAW) == 1
