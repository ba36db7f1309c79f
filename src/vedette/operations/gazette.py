"""Acts of the official gazette, read from the evidence of their pages."""

from __future__ import annotations

from vedette.config.model import Loaded
from vedette.contracts.evidence import Located
from vedette.contracts.source import ActMetadata
from vedette.contracts.watch import Watch
from vedette.contracts.words import ContentClass
from vedette.core.urls.canonical import origin_of, watch_id
from vedette.discover.gather import ListingDocument
from vedette.discover.nn import FORMS, act_of, read_metadata
from vedette.engine.crawl.compare_states import read_body
from vedette.operations.evidence import TEXTS
from vedette.store.migrate import ARCHIVE
from vedette.store.queries import Queries
from vedette.store.views import EvidenceView


def act_metadata(loaded: Loaded, one: EvidenceView) -> ActMetadata | None:
    """What the evidence says of an act of the gazette; None where it is of something else, or says nothing."""
    if act_of(one.url) is None or ContentClass(one.content_class) not in TEXTS:
        return None
    located = Located(segment=one.segment, offset=one.offset, length=one.length)
    body = read_body(loaded.data / ARCHIVE, located)
    if body is None:
        return None
    read = read_metadata(ListingDocument(url=one.url, body=body, content_type=one.content_type, now=one.at))
    return read if read.eli else None


def act_of_watch(loaded: Loaded, queries: Queries, watch: Watch) -> ActMetadata | None:
    """What is known of the act behind an address: said by the page itself, or by its JSON-LD where that is watched."""
    act = act_of(watch.url)
    if act is None:
        return None
    forms = (
        queries.watch(watch_id(origin_of(watch.url) + act.eli + form)) for form in (FORMS["json-ld"], "")
    )
    for one in filter(None, (watch, *forms)):
        kept = queries.evidence_by_id(one.seen.evidence) if one.seen else None
        said = act_metadata(loaded, kept) if kept else None
        if said is not None:
            return said
    return None
