"""Pictures of pages as a browser showed them: which states have one, and the picture itself."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from vedette.contracts.errors import VedetteError
from vedette.contracts.watch import Located
from vedette.contracts.words import EvidenceId
from vedette.evidence.read_records import read_screenshot
from vedette.operations.evidence import kept_evidence
from vedette.operations.installation import Installation
from vedette.store.views import EvidenceView, ScreenshotView

HOW = "docs/how-to/browser.md says how pictures are taken"


def screenshots(
    installation: Installation, evidence: Iterable[EvidenceId | None]
) -> dict[EvidenceId, ScreenshotView]:
    """Those of these pieces that have one."""
    wanted = [one for one in evidence if one is not None]
    with installation.queries() as queries:
        return queries.screenshots(wanted)


def find_screenshot(
    installation: Installation, what: str, *, at: datetime | None = None
) -> tuple[EvidenceView, ScreenshotView]:
    """Of a URL as it was seen last, or at a time; or of one piece of evidence by its number or digest."""
    one = kept_evidence(installation, what, at=at)
    found = screenshots(installation, [one.id]).get(one.id)
    if found is None:
        raise VedetteError(f"no screenshot is kept of {one.url} as of {one.at:%Y-%m-%d %H:%M} UTC; {HOW}")
    return one, found


def screenshot_png(installation: Installation, what: str, *, at: datetime | None = None) -> bytes:
    """The picture, read from the archive and checked against its digest."""
    _, shot = find_screenshot(installation, what, at=at)
    located = Located(segment=shot.segment, offset=shot.offset, length=shot.length)
    return read_screenshot(installation.loaded.archive, located, shot.visit)


def screenshot_json(one: EvidenceView, shot: ScreenshotView) -> dict[str, object]:
    return {
        "evidence": one.id,
        "url": one.url,
        "at": shot.at,
        "width": shot.width,
        "height": shot.height,
        "page_height": shot.page_height,
        "size": shot.size,
        "segment": shot.segment,
        "visit": shot.visit,
    }
