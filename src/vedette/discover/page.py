"""Watch this URL itself: nothing to list."""

from __future__ import annotations

from vedette.contracts.source import Listing
from vedette.discover.document import Document


def read_page(document: Document) -> Listing:
    """The page is its own target."""
    return Listing()
