"""What an act of the official gazette says of itself, where a page is one.  Its reader is loaded for acts alone."""

from __future__ import annotations

from vedette.config.model import Loaded
from vedette.contracts.source import ActMetadata
from vedette.contracts.watch import Watch
from vedette.store.queries import Queries
from vedette.store.views import EvidenceView

ADDRESSES = ("/eli/", "/clanci/")  # in addresses of a gazette


def act_metadata(loaded: Loaded, one: EvidenceView) -> ActMetadata | None:
    """What the evidence says of an act; None where it is of something else, or says nothing."""
    if not _may_be_act(one.url):
        return None
    from vedette.operations import gazette  # 0.37 s and 236 modules (lxml), for acts alone

    return gazette.act_metadata(loaded, one)


def act_of_watch(loaded: Loaded, queries: Queries, watch: Watch) -> ActMetadata | None:
    """What is known of the act behind an address: said by the page itself, or by its JSON-LD where that is watched."""
    if not _may_be_act(watch.url):
        return None
    from vedette.operations import gazette  # as above

    return gazette.act_of_watch(loaded, queries, watch)


def _may_be_act(url: str) -> bool:
    return any(word in url for word in ADDRESSES)
