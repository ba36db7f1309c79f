"""Versions of a page that another program kept: which there are, and what differs between one and the one before it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from vedette.contracts.change import DiffOp
from vedette.contracts.errors import VedetteError
from vedette.contracts.watch import Watch
from vedette.core.change.diff import diff_lines
from vedette.operations.installation import Installation
from vedette.operations.watches import known_watch
from vedette.store.imported_texts import ImportedText, list_texts, read_text


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedDiff:
    """One version and what differs from the one before it; `before` is None for the first."""

    watch: Watch
    one: ImportedText
    before: ImportedText | None
    text: str
    ops: tuple[DiffOp, ...]


def imported_versions(installation: Installation, url: str) -> list[ImportedText]:
    """Newest first."""
    with installation.queries() as queries:
        watch = known_watch(installation, queries, url)
    with installation.reading() as db:
        return list_texts(db, watch.id)


def imported_diff(installation: Installation, url: str, at: datetime) -> ImportedDiff:
    with installation.queries() as queries:
        watch = known_watch(installation, queries, url)
    with installation.reading() as db:
        found = list_texts(db, watch.id)
        one = next((text for text in found if text.at == at), None)
        if one is None:
            raise VedetteError(f"no version of {watch.url} of {at:%Y-%m-%d %H:%M:%S} UTC was imported")
        before = next((text for text in found if text.at < at), None)
        text = read_text(db, watch.id, at)
        earlier = "" if before is None else read_text(db, watch.id, before.at)
    ops = diff_lines(earlier.splitlines(), text.splitlines())[0] if before is not None else ()
    return ImportedDiff(watch=watch, one=one, before=before, text=text, ops=tuple(ops))


def imported_json(one: ImportedText) -> dict[str, object]:
    return {
        "at": one.at,
        "origin": one.origin,
        "imported_at": one.imported_at,
        "chars": one.chars,
        "is_evidence": False,
    }
