"""Text that was made of a document, in words and for programs."""

from __future__ import annotations

from vedette.contracts.documents import Artifact
from vedette.contracts.source import ActMetadata
from vedette.report.plain import count

_ONCE = frozenset(
    "title title_short type_document number date_document date_publication first_date_entry_in_force "
    "date_applicability date_no_longer_in_force in_force version passed_by publisher jurisdiction language".split()
)


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


def act_json(act: ActMetadata) -> dict[str, object]:
    """In the names of the ELI ontology: a text where an act has one of it, a list where it may have several."""
    return {"eli": act.eli} | {
        name: values[0] if name in _ONCE and len(values) == 1 else list(values) for name, values in act.said
    }
