"""What a look measured of a text, as a row that waits for its verdict."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from vedette.contracts.verdict import Traits
from vedette.contracts.words import EvidenceId
from vedette.store.rows import dump_json

_PLAIN = asdict(Traits())


def measure_row(evidence: EvidenceId, traits: Traits | None, vector: bytes | None) -> tuple[Any, ...]:
    """In the order of statements.MEASURED_COLUMNS."""
    return (evidence, traits.text_key if traits else 0, dump_traits(traits) if traits else None, vector)


def dump_traits(traits: Traits) -> str:
    """What differs from the defaults; the key has a column of its own."""
    said = {
        name: value
        for name, plain in _PLAIN.items()
        if name != "text_key" and (value := getattr(traits, name)) != plain
    }
    return dump_json(said)


def read_traits(text: str | None) -> Traits | None:
    if text is None:
        return None
    said = json.loads(text)
    if "signs" in said:
        said["signs"] = tuple(said["signs"])
    return Traits(**said)
