"""Text that was made of a document, in words and for programs."""

from __future__ import annotations

from vedette.contracts.documents import Artifact
from vedette.report.plain import count


def artifact_words(made: Artifact) -> str:
    """`ocr 1250 characters, 93 % sure`."""
    sure = "" if made.confidence is None else f", {made.confidence:.0f} % sure"
    return f"{made.kind} {count(made.chars, 'character')}{sure}"


def artifact_json(made: Artifact) -> dict[str, object]:
    return {
        "kind": made.kind,
        "reader": made.reader,
        "chars": made.chars,
        "confidence": made.confidence,
        "path": made.path,
    }
