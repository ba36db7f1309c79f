"""Watch this URL itself: nothing to list."""

from __future__ import annotations

from vedette.contracts.source import Listing
from vedette.discover.document import ListingDocument


def read_page(document: ListingDocument) -> Listing:
    """The page is its own target."""
    return Listing()
