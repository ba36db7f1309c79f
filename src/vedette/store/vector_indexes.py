"""Indexes of vectors: in memory by numpy, in a folder by Qdrant's local mode, in a file by FAISS.

The last two come with the extra `vector` and are loaded when they are asked for.  All of them compare every vector;
none asks another machine.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vedette.contracts.errors import InputError, StoreError
from vedette.contracts.vectors import Near
from vedette.contracts.words import WatchId
from vedette.core.judging.embedding import DIMENSIONS, VERSION, pack_vector, unpack_vector

FOLDER = "vectors"  # beside the database
NO_QDRANT = (
    "qdrant-client, which `hunt.vectors: qdrant` needs, is not installed: pip install 'vedette[vector]'"
)
NO_FAISS = "faiss-cpu, which writes .faiss files, is not installed: pip install 'vedette[vector]'"
_AT_ONCE = 1_000


class NumpyVectors:
    """In memory, for as long as the program runs."""

    def __init__(self) -> None:
        self._held: dict[WatchId, bytes] = {}

    def held(self) -> dict[WatchId, bytes]:
        return dict(self._held)

    def put(self, vectors: Mapping[WatchId, bytes]) -> None:
        self._held.update(vectors)

    def drop(self, watches: Iterable[WatchId]) -> None:
        for watch in watches:
            self._held.pop(watch, None)

    def nearest(self, vector: bytes, most: int) -> list[Near]:
        if not self._held:
            return []
        cosines = np.stack([unpack_vector(one) for one in self._held.values()]) @ unpack_vector(vector)
        return _sorted(zip(self._held, cosines.tolist(), strict=True), most)

    def close(self) -> None:
        pass


class QdrantVectors:
    """In a folder that Qdrant's client reads and writes itself; one program at a time."""

    def __init__(self, folder: Path) -> None:
        self._library = _loaded("qdrant_client", NO_QDRANT)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            self._client = self._library.QdrantClient(path=str(folder))
        except RuntimeError:
            raise StoreError(f"{folder} is in use by another program; try again when it has ended") from None
        except ValueError:
            raise StoreError(
                f"{folder} cannot be read; delete it: it is filled again from the store"
            ) from None
        models = self._library.models
        if not self._client.collection_exists(VERSION):
            rule = models.VectorParams(size=DIMENSIONS, distance=models.Distance.DOT)  # as they were put
            self._client.create_collection(VERSION, vectors_config=rule)

    def held(self) -> dict[WatchId, bytes]:
        found: dict[WatchId, bytes] = {}
        after: Any = None
        while True:
            rows, after = self._client.scroll(
                VERSION, limit=_AT_ONCE, offset=after, with_vectors=True, with_payload=False
            )
            found |= {WatchId(row.id): pack_vector(np.array(row.vector)) for row in rows}
            if after is None:
                return found

    def put(self, vectors: Mapping[WatchId, bytes]) -> None:
        point = self._library.models.PointStruct
        points = [point(id=watch, vector=unpack_vector(vector).tolist()) for watch, vector in vectors.items()]
        for part in _parts(points):
            self._client.upsert(VERSION, points=part, wait=True)

    def drop(self, watches: Iterable[WatchId]) -> None:
        for part in _parts(list(watches)):
            selected = self._library.models.PointIdsList(points=part)
            self._client.delete(VERSION, points_selector=selected, wait=True)

    def nearest(self, vector: bytes, most: int) -> list[Near]:
        query = unpack_vector(vector).tolist()
        found = self._client.query_points(VERSION, query=query, limit=most, with_payload=False).points
        return _sorted(((WatchId(one.id), one.score) for one in found), most)

    def close(self) -> None:
        self._client.close()


class FaissVectors:
    """In a file that every program with FAISS reads; the ids are those of watches."""

    def __init__(self, path: Path) -> None:
        self._library, self._path = _loaded("faiss", NO_FAISS), path
        flat = self._library.IndexFlatIP
        is_kept = path.exists()
        try:
            self._index = (
                self._library.read_index(str(path))
                if is_kept
                else self._library.IndexIDMap2(flat(DIMENSIONS))
            )
        except RuntimeError:
            raise InputError(f"{path} is no file of FAISS; name another one") from None

    def held(self) -> dict[WatchId, bytes]:
        ids = self._library.vector_to_array(self._index.id_map).tolist()
        return {WatchId(watch): pack_vector(self._index.reconstruct(watch)) for watch in ids}

    def put(self, vectors: Mapping[WatchId, bytes]) -> None:
        if not vectors:
            return
        self.drop(vectors)
        rows = np.stack([unpack_vector(one) for one in vectors.values()])
        self._index.add_with_ids(rows, np.array(list(vectors), np.int64))

    def drop(self, watches: Iterable[WatchId]) -> None:
        self._index.remove_ids(np.array(list(watches), np.int64))

    def nearest(self, vector: bytes, most: int) -> list[Near]:
        most = min(most, self._index.ntotal)
        if not most:
            return []
        cosines, watches = self._index.search(unpack_vector(vector)[None, :], most)
        return _sorted(zip(map(WatchId, watches[0].tolist()), cosines[0].tolist(), strict=True), most)

    def close(self) -> None:
        try:
            self._library.write_index(self._index, str(self._path))
        except RuntimeError:
            raise InputError(
                f"{self._path} cannot be written; is its folder there, and is it yours?"
            ) from None


def _loaded(module: str, missing: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InputError(missing) from None


def _sorted(found: Iterable[tuple[WatchId, float]], most: int) -> list[Near]:
    rows = [Near(watch, round(float(cosine), 6)) for watch, cosine in found]
    return sorted(rows, key=lambda one: (-one.likeness, one.watch))[:most]


def _parts(rows: Sequence[Any]) -> Iterable[list[Any]]:
    return (list(rows[at : at + _AT_ONCE]) for at in range(0, len(rows), _AT_ONCE))
