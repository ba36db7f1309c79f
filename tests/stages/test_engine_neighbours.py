"""Which evidence of another target says nearly the same: by vectors, among the newest, whoever made them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vedette.contracts.judging import Exhibit
from vedette.contracts.words import ContentClass, EvidenceId, Outcome, Risk, WatchId
from vedette.core.embedding import SIMILAR, embed
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
    return embed(text).astype("<f2").tobytes()


def exhibit(number: int, *, watch: int = 0, kind: ContentClass = ContentClass.HTML) -> Exhibit:
    return Exhibit(
        evidence=EvidenceId(number), watch=WatchId(watch or number), url="https://a.hr/", risk=Risk.MEDIUM,
        outcome=Outcome.OK, content_class=kind, content_type="", digest=b"", text_chars=1, traits=None,
    )  # fmt: skip


class Shelf:
    """Rows and files of vectors."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.rows: list[tuple[int, int, str, str, int]] = []
        self.asked: list[int] = []

    def put(self, number: int, text: str, *, kind: str = "HTML", at: int = 0) -> None:
        (self.data / f"{number}.vec").write_bytes(packed(text))
        self.rows.append((number, number, kind, f"{number}.vec", at or number))

    def vectors(self, since: int, reader: str, most: int) -> list[tuple[int, int, str, str, int]]:
        self.asked.append(since)
        newest = sorted((row for row in self.rows if row[4] >= since), key=lambda row: -row[4])
        return newest[:most]


def alike(neighbours: Neighbours, number: int, text: str, **more: object) -> int | None:
    found = neighbours.alike(exhibit(number, **more), packed(text))  # type: ignore[arg-type]
    return None if found is None else found.other


def test_a_text_of_another_target_that_differs_in_a_word_is_named_and_another_text_is_not(tmp_path: Path):
    neighbours = Neighbours(tmp_path, Shelf(tmp_path).vectors)
    assert alike(neighbours, 1, LAW) is None
    found = neighbours.alike(exhibit(2), packed(NEARLY))
    assert found is not None
    assert (found.evidence, found.other) == (2, 1)
    assert SIMILAR == 0.9 <= found.share < 1
    assert alike(neighbours, 3, OTHER) is None


def test_the_nearest_is_named(tmp_path: Path):
    neighbours = Neighbours(tmp_path, Shelf(tmp_path).vectors)
    for number, text in ((1, NEARLY), (2, LAW), (3, OTHER)):
        alike(neighbours, number, text)
    assert alike(neighbours, 4, LAW) == 2


def test_versions_of_one_target_and_other_types_do_not_count_but_a_scan_is_a_pdf(tmp_path: Path):
    neighbours = Neighbours(tmp_path, Shelf(tmp_path).vectors)
    alike(neighbours, 1, LAW, watch=7)
    assert alike(neighbours, 2, LAW, watch=7) is None
    assert alike(neighbours, 3, LAW, kind=ContentClass.PDF_TEXT) is None
    assert alike(neighbours, 4, LAW, kind=ContentClass.PDF_SCANNED) == 3


def test_what_was_there_before_and_what_others_make_meanwhile_counts(tmp_path: Path):
    shelf = Shelf(tmp_path)
    shelf.put(1, LAW)
    neighbours = Neighbours(tmp_path, shelf.vectors)
    assert alike(neighbours, 5, NEARLY) == 1
    shelf.put(2, OTHER)
    assert alike(neighbours, 6, OTHER) == 2
    assert shelf.asked == [0, 1]  # only what is new is read again


def test_the_oldest_goes_when_there_is_no_more_room(tmp_path: Path):
    neighbours = Neighbours(tmp_path, Shelf(tmp_path).vectors, most=2)
    for number, text in ((1, LAW), (2, OTHER), (3, OTHER)):
        alike(neighbours, number, text)
    assert alike(neighbours, 4, LAW) is None
    assert alike(neighbours, 5, LAW) == 4


def test_a_vector_that_is_gone_or_damaged_is_passed_over(tmp_path: Path):
    shelf = Shelf(tmp_path)
    shelf.put(1, LAW)
    shelf.put(2, LAW)
    (tmp_path / "1.vec").unlink()
    (tmp_path / "2.vec").write_bytes(b"short")
    neighbours = Neighbours(tmp_path, shelf.vectors)
    assert alike(neighbours, 3, LAW) is None
    assert neighbours.alike(exhibit(4), b"") is None
    assert neighbours.alike(exhibit(5), np.full(256, np.nan, "<f2").tobytes()) is None
    assert neighbours.alike(exhibit(6), bytes(512)) is None  # a text without words


def test_how_near_is_near_enough_can_be_said(tmp_path: Path):
    neighbours = Neighbours(tmp_path, Shelf(tmp_path).vectors, least=0.9999)
    alike(neighbours, 1, LAW)
    assert alike(neighbours, 2, NEARLY) is None
    assert alike(neighbours, 3, LAW) == 1
