"""Pages that are near to each other by the vectors that hunts keep, and these vectors for other programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vedette.contracts.errors import InputError
from vedette.contracts.oddness import Action
from vedette.contracts.vectors import VectorIndex
from vedette.contracts.words import WatchId
from vedette.core.judging.embedding import DIMENSIONS, VERSION, unpack_vector
from vedette.core.urls.canonical import watch_id
from vedette.operations.arguments import a_url
from vedette.operations.installation import Installation
from vedette.store.finding_rows import LinkedPage, linked_pages, page_vectors
from vedette.store.vector_indexes import FOLDER, FaissVectors, NumpyVectors, QdrantVectors

NOT_SEEN = "no hunt has looked at {url}, so it has no vector; type: vedette hunt findings"
NO_WORDS = "{url} has no words, so nothing is near to it"


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarPage:
    url: str
    likeness: float  # the cosine: 1 the same words, 0 nothing in common
    score: float  # its oddness
    action: str
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorsKept:
    index: str  # numpy or qdrant
    pages: int
    dimensions: int
    embedding: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorFile:
    file: str
    names: str  # a file that says which id is which page; empty: they stand in the same one
    pages: int
    embedding: str


def similar(
    installation: Installation, url: str, *, most: int = 10, only_findings: bool = False
) -> list[SimilarPage]:
    """Pages whose texts are nearest to that of a page which a hunt looked at, itself left out."""
    wanted = a_url(url)
    pages, vectors = _seen(installation)
    asked = WatchId(watch_id(wanted))
    if asked not in pages:
        raise InputError(NOT_SEEN.format(url=wanted))
    if asked not in vectors:
        raise InputError(NO_WORDS.format(url=wanted))
    with closing(_filled(installation, vectors)) as index:
        near = index.nearest(vectors[asked], len(vectors) if only_findings else most + 1)
    found = (
        SimilarPage(
            url=page.url, likeness=one.likeness, score=page.score, action=page.action, place=page.place
        )
        for one in near
        if (page := pages[one.watch]) and one.watch != asked
    )
    kept = (one for one in found if not only_findings or one.action != Action.SKIP)
    return [one for one, _ in zip(kept, range(most), strict=False)]


def vectors_kept(installation: Installation) -> VectorsKept:
    """How many there are; an index in a folder is brought up to the store."""
    _, vectors = _seen(installation)
    with closing(_filled(installation, vectors)) as index:
        return VectorsKept(
            index=installation.loaded.config.hunt.vectors,
            pages=len(index.held()),
            dimensions=DIMENSIONS,
            embedding=VERSION,
        )


def export_vectors(installation: Installation, path: Path) -> VectorFile:
    """As FILE.faiss, with a file of names beside it, or as FILE.npz."""
    write = _FORMS.get(path.suffix.lower())
    if write is None:
        raise InputError(f"{path.name}: vectors are written as {' or '.join(_FORMS)}")
    pages, vectors = _seen(installation)
    names = write(path, pages, vectors)
    return VectorFile(file=str(path), names=names, pages=len(vectors), embedding=VERSION)


def _seen(installation: Installation) -> tuple[dict[WatchId, LinkedPage], dict[WatchId, bytes]]:
    """All pages that hunts looked at, and the vectors of those that have words."""
    with installation.reading() as db:
        pages = {page.watch: page for page in linked_pages(db)}
        return pages, {watch: vector for watch, vector in page_vectors(db) if any(vector)}


def _filled(installation: Installation, vectors: dict[WatchId, bytes]) -> VectorIndex:
    """The configured index with what the store has, no more and no less."""
    index = _INDEXES[installation.loaded.config.hunt.vectors](installation.loaded.data / FOLDER)
    bring_up(index, vectors)
    return index


def bring_up(index: VectorIndex, vectors: dict[WatchId, bytes]) -> None:
    """Afterwards an index holds these vectors and no others."""
    held = index.held()
    index.drop([watch for watch in held if watch not in vectors])
    index.put({watch: vector for watch, vector in vectors.items() if held.get(watch) != vector})


_INDEXES: dict[str, Callable[[Path], VectorIndex]] = {
    "numpy": lambda folder: NumpyVectors(),
    "qdrant": lambda folder: QdrantVectors(folder / "qdrant"),
}


def _as_faiss(path: Path, pages: dict[WatchId, LinkedPage], vectors: dict[WatchId, bytes]) -> str:
    """What is there already is replaced when the new file is whole."""
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    with closing(FaissVectors(part)) as index:
        index.put(vectors)
    names = path.with_name(path.name + ".jsonl")
    with names.open("w", encoding="utf-8") as out:
        out.writelines(_lines(pages, vectors))
    part.replace(path)
    return str(names)


def _lines(pages: dict[WatchId, LinkedPage], vectors: dict[WatchId, bytes]) -> Iterator[str]:
    for watch in vectors:
        page = pages[watch]
        yield json.dumps({"id": watch, "url": page.url, "score": page.score, "action": page.action}) + "\n"


def _as_npz(path: Path, pages: dict[WatchId, LinkedPage], vectors: dict[WatchId, bytes]) -> str:
    rows = [unpack_vector(one) for one in vectors.values()] or [np.zeros(0, np.float32)]
    with path.open("wb") as out:
        np.savez(
            out,
            ids=np.array(list(vectors), np.int64),
            vectors=np.stack(rows),
            urls=np.array([pages[watch].url for watch in vectors]),
        )
    return ""


_FORMS = {".faiss": _as_faiss, ".npz": _as_npz}
