"""Text that was made from evidence, kept so that it need not be made again.  All of it can be dropped.

One compressed file per document, named by the digest of its bytes and of what read it; nothing here is evidence.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import zstandard

from vedette.contracts.documents import Artifact, Document
from vedette.contracts.words import ContentClass

MAX_FILE = 256 * 1024 * 1024
FOLDER = "artifacts"
REDACTED = "-redacted"  # how the name of a reader ends that leaves personal data out
_NAME = re.compile("[0-9a-f]{64}")
_TIMES = ("created_at", "modified_at")
_PAIRS = ("blocks", "confidence")


@dataclass(frozen=True, slots=True)
class TextCache:
    """The documents that one reader made.  A small value: it goes along into worker processes."""

    data: Path
    reader: str = ""  # digest of the versions of what reads documents; whoever only drops needs none

    def redacted(self) -> TextCache:
        """Where texts without personal data are: beside the others, under names of their own."""
        return replace(self, reader=f"{self.reader}{REDACTED}")

    def get(self, digest: bytes) -> Document | None:
        """None: not made yet, made by another reader, dropped, or damaged."""
        return _read(self.data / self._place(digest))

    def latest(self, digest: bytes) -> Document | None:
        """What our reader made of it, or else any other; for whoever only shows it."""
        name = digest.hex()
        found_names = sorted((self.data / FOLDER / name[:2]).glob(f"{name}.*.zst"))
        is_redacted = self.reader.endswith(REDACTED)
        others = [path for path in found_names if path.stem.endswith(REDACTED) == is_redacted]
        found = (_read(path) for path in (self.data / self._place(digest), *others))
        return next((document for document in found if document is not None), None)

    def put(self, digest: bytes, document: Document) -> Artifact:
        """Keeps it.  A full disk loses nothing: the artifact then names a file that can be made again."""
        place = self._place(digest)
        path = self.data / place
        text = json.dumps(asdict(document), ensure_ascii=False, default=_plain).encode("utf-8", "replace")
        _write(path, zstandard.ZstdCompressor(level=3).compress(text))
        return self.artifact(digest, document)

    def artifact(self, digest: bytes, document: Document) -> Artifact:
        shares = [share for _, share in document.confidence]
        return Artifact(
            kind="ocr" if shares else "text",
            reader=self.reader,
            chars=sum(len(text) for _, text in document.blocks),
            confidence=round(sum(shares) / len(shares), 1) if shares else None,
            path=str(self._place(digest)),
        )

    def has(self, digest: bytes) -> bool:
        """Is there text of it, by whatever reader?"""
        name, is_redacted = digest.hex(), self.reader.endswith(REDACTED)
        found = (self.data / FOLDER / name[:2]).glob(f"{name}.*.zst")
        return any(path.stem.endswith(REDACTED) == is_redacted for path in found)

    def digests(self) -> set[bytes]:
        """Of which bodies is there text, whoever read them?"""
        names = (path.name.partition(".")[0] for path in (self.data / FOLDER).glob("??/*"))
        return {bytes.fromhex(name) for name in names if _NAME.fullmatch(name)}

    def drop(self, digests: Iterable[bytes]) -> int:
        """Removes what any reader made of these bodies, as retention asks; how many files went."""
        gone = 0
        for digest in digests:
            name = digest.hex()
            for path in (self.data / FOLDER / name[:2]).glob(f"{name}.*"):
                path.unlink(missing_ok=True)
                gone += 1
        return gone

    def _place(self, digest: bytes) -> Path:
        name = digest.hex()
        return Path(FOLDER) / name[:2] / f"{name}.{self.reader}.zst"


def _read(path: Path) -> Document | None:
    try:
        text = zstandard.ZstdDecompressor().decompress(path.read_bytes(), max_output_size=MAX_FILE)
        return _document(json.loads(text))
    except (OSError, ValueError, KeyError, TypeError, zstandard.ZstdError):
        return None


def _write(path: Path, data: bytes) -> bool:
    """Whole or not at all."""
    fresh = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        path.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with os.fdopen(os.open(fresh, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as file:
            file.write(data)
        fresh.replace(path)
    except OSError:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        return False
    return True


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _document(said: dict[str, Any]) -> Document:
    said["content_class"] = ContentClass(said["content_class"])
    said["scans"] = tuple(said["scans"])
    for name in _PAIRS:
        said[name] = tuple((one, other) for one, other in said[name])
    for name in _TIMES:
        said[name] = datetime.fromisoformat(said[name]) if said[name] else None
    return Document(**said)
