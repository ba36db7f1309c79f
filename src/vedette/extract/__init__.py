"""What a body says, as text and structure.  Hostile input ends as a value with a `problem`."""

from vedette.extract.classes import content_class
from vedette.extract.page import Page, blocks, extract, extract_compared, extract_in_worker, extract_redacted
from vedette.extract.scope import ALL, MAIN

__all__ = [
    "ALL",
    "MAIN",
    "Page",
    "blocks",
    "content_class",
    "extract",
    "extract_compared",
    "extract_in_worker",
    "extract_redacted",
]
