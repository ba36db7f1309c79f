"""Pieces of evidence: which there are of a page, where they lie, and how far each file of the archive has come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vedette.config.model import Loaded
from vedette.contracts.source import ActMetadata
from vedette.contracts.watch import Segment, Watch
from vedette.operations.installation import Installation
from vedette.operations.watches import find_evidence
from vedette.report.verdicts import act_json, artifact_json
from vedette.store.queries import Queries
from vedette.store.views import ArtifactView, EvidenceView, ScreenshotView


@dataclass(frozen=True, slots=True)
class ListedEvidence:
    """One piece, with the texts that were made of it and what it says of an act."""

    view: EvidenceView
    texts: Sequence[ArtifactView] = ()
    act: ActMetadata | None = None
    screenshot: ScreenshotView | None = None


def list_evidence(
    installation: Installation, what: str, *, most: int, with_acts: bool = True
) -> tuple[ListedEvidence, ...]:
    """Of a URL, newest first, or the one piece with this number or digest."""
    with installation.queries() as queries:
        found = find_evidence(installation, queries, what, most)
        made = queries.artifacts([one.id for one in found])
        shots = queries.screenshots([one.id for one in found])
    return tuple(
        ListedEvidence(
            one,
            made.get(one.id, ()),
            act_metadata(installation.loaded, one) if with_acts else None,
            shots.get(one.id),
        )
        for one in found
    )


def archive_heads(installation: Installation) -> list[Segment]:
    """Of every file of the archive.  Kept elsewhere, a head proves that nothing before it was changed since."""
    with installation.queries() as queries:
        return queries.segments()


def evidence_json(one: ListedEvidence) -> dict[str, object]:
    """What there is not has no key: `artifacts` (texts made of it), `act`, `screenshot`."""
    view = one.view
    texts = [{**artifact_json(made.artifact), "at": made.at} for made in one.texts]
    return {
        "evidence": view.id,
        "url": view.url,
        "at": view.at,
        "digest": view.digest,
        "content_class": view.content_class,
        "content_type": view.content_type,
        "size": view.size,
        "segment": view.segment,
        "offset": view.offset,
        "length": view.length,
        "standing": view.standing,
        "same_as": view.same_as,
        "outcome": view.outcome,
        "status": view.status,
        **({"artifacts": texts} if texts else {}),
        **({} if one.act is None else {"act": act_json(one.act)}),
        **({} if one.screenshot is None else {"screenshot": _picture_json(one.screenshot)}),
    }


def _picture_json(shot: ScreenshotView) -> dict[str, object]:
    names = ("at", "width", "height", "page_height", "size")
    return {name: getattr(shot, name) for name in names}


def head_json(one: Segment) -> dict[str, object]:
    return {"segment": one.name, "state": one.state, "count": one.count, "size": one.size, "head": one.head}


# What an act of the official gazette says of itself, where a page is one.  Its reader is loaded for acts alone.

ADDRESSES = ("/eli/", "/clanci/")  # in addresses of a gazette


def act_metadata(loaded: Loaded, one: EvidenceView) -> ActMetadata | None:
    """What the evidence says of an act; None where it is of something else, or says nothing."""
    return _acts().act_metadata(loaded, one) if _may_be_act(one.url) else None


def act_of_watch(loaded: Loaded, queries: Queries, watch: Watch) -> ActMetadata | None:
    """What is known of the act behind an address: said by the page itself, or by its JSON-LD where that is watched."""
    return _acts().act_of_watch(loaded, queries, watch) if _may_be_act(watch.url) else None


def _acts() -> Any:
    from vedette.operations import evidence  # 0.37 s and 236 modules (lxml), for acts alone

    return evidence


def _may_be_act(url: str) -> bool:
    return any(word in url for word in ADDRESSES)
