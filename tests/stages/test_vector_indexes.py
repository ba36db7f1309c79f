"""Every index of vectors keeps one contract, and `hunt similar` says the same by each of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from stocked import blank
from web_kit import an_installation

from vedette.contracts.errors import InputError, StoreError
from vedette.contracts.vectors import VectorIndex
from vedette.contracts.words import WatchId
from vedette.core.judging.embedding import DIMENSIONS, embed, pack_vector
from vedette.operations.hunt_vectors import bring_up, export_vectors
from vedette.store.vector_indexes import FaissVectors, NumpyVectors, QdrantVectors

TEXTS = {
    WatchId(1): "the crow counts the drowned bells of the harbour",
    WatchId(2): "the crow counts the drowned bells of the town",
    WatchId(2**63 - 5): "prices of apples and pears at the market this week",
    WatchId(2**62): "minutes of the council about the new street",
}
VECTORS = {watch: pack_vector(embed(text)) for watch, text in TEXTS.items()}
Opened = Callable[[], VectorIndex]


@pytest.fixture(params=["numpy", "qdrant", "faiss"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    return {
        "numpy": NumpyVectors,
        "qdrant": lambda: QdrantVectors(tmp_path / "qdrant"),
        "faiss": lambda: FaissVectors(tmp_path / "pages.faiss"),
    }[request.param]


def test_what_was_put_is_held_bit_for_bit_and_found_by_likeness(opened: Opened):
    with closing(opened()) as index:
        assert index.nearest(VECTORS[WatchId(1)], 3) == []
        index.put(VECTORS)
        assert index.held() == VECTORS
        near = index.nearest(VECTORS[WatchId(1)], 3)
        assert [one.watch for one in near[:2]] == [1, 2]
        assert near[0].likeness == pytest.approx(1.0, abs=2e-3)
        assert near[1].likeness > 0.6 > near[2].likeness
        assert len(index.nearest(VECTORS[WatchId(1)], 99)) == len(VECTORS)


def test_a_vector_is_replaced_and_what_the_store_lost_is_dropped(opened: Opened):
    with closing(opened()) as index:
        index.put(VECTORS)
        wanted = {WatchId(1): VECTORS[WatchId(2**62)], WatchId(7): VECTORS[WatchId(2)]}
        bring_up(index, wanted)
        assert index.held() == wanted
        index.drop([WatchId(404)])
        index.put({})
        assert [one.watch for one in index.nearest(VECTORS[WatchId(2)], 9)] == [7, 1]


def test_all_give_the_same_neighbours(tmp_path: Path):
    draw = np.random.default_rng(3)
    rows = draw.normal(size=(60, DIMENSIONS))
    vectors = {WatchId(n): pack_vector(row / np.linalg.norm(row)) for n, row in enumerate(rows)}
    said = []
    for index in (NumpyVectors(), QdrantVectors(tmp_path / "q"), FaissVectors(tmp_path / "f.faiss")):
        with closing(index):
            index.put(vectors)
            said.append(index.nearest(vectors[WatchId(3)], 20))
    for other in said[1:]:
        assert [one.watch for one in other] == [one.watch for one in said[0]]
        assert np.allclose([one.likeness for one in other], [one.likeness for one in said[0]], atol=2e-6)


@pytest.mark.parametrize("kind", ["qdrant", "faiss"])
def test_what_is_kept_is_there_again(tmp_path: Path, kind: str):
    def open_() -> VectorIndex:
        return QdrantVectors(tmp_path / "q") if kind == "qdrant" else FaissVectors(tmp_path / "f.faiss")

    with closing(open_()) as index:
        index.put(VECTORS)
    with closing(open_()) as index:
        assert index.held() == VECTORS


def test_a_folder_in_use_and_a_file_of_something_else_are_said(tmp_path: Path):
    with closing(QdrantVectors(tmp_path)), pytest.raises(StoreError, match="in use by another program"):
        QdrantVectors(tmp_path)
    other = tmp_path / "letter.faiss"
    other.write_text("dear reader")
    with pytest.raises(InputError, match="no file of FAISS"):
        FaissVectors(other)


def test_a_file_that_cannot_be_written_is_said_and_one_that_is_there_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    blank(tmp_path / "data")
    hunts, kept = an_installation(tmp_path / "data"), tmp_path / "pages.faiss"
    with pytest.raises(InputError, match="cannot be written"):
        export_vectors(hunts, tmp_path / "nowhere" / "pages.faiss")
    kept.write_bytes(b"of last month")
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(InputError, match="pip install"):
        export_vectors(hunts, kept)
    assert kept.read_bytes() == b"of last month"


def test_a_folder_that_cannot_be_read_says_that_it_may_go(tmp_path: Path):
    with closing(QdrantVectors(tmp_path)):
        pass
    (tmp_path / "meta.json").write_text("{torn")
    with pytest.raises(StoreError, match="delete it"):
        QdrantVectors(tmp_path)


@pytest.mark.parametrize(("module", "open_"), [("qdrant_client", QdrantVectors), ("faiss", FaissVectors)])
def test_without_its_package_an_index_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: str, open_: Callable[[Path], VectorIndex]
):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=r"pip install 'vedette\[vector\]'"):
        open_(tmp_path / "x")
