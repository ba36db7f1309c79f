"""Is this page an empty shell that only scripts fill?  Asked of pages that say next to nothing."""

from __future__ import annotations

import re

from vedette.contracts.fetch import Extraction
from vedette.contracts.words import ContentClass

LITTLE = 200  # characters; a page that says more is read as it is
LOOK = 64 * 1024  # at either end
# The places where frameworks put what they make, empty or with a sign that something loads.
_ROOT = re.compile(
    rb"""<(?:div|main|section|body)\b[^>]{0,300}\bid\s*=\s*["']?(?:root|app|main-app|application|__next|__nuxt|___gatsby|q-app|svelte)
    (?=["'\s>])[^>]{0,300}>(?:\s|<!--.{0,200}?-->){0,20}<
    | <(?:app-root|my-app|[a-z]{1,20}-app|[a-z]{1,20}-root)\b[^>]{0,300}>""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_ASKS = re.compile(rb"<noscript\b[^>]{0,100}>.{0,600}?java\s?script", re.IGNORECASE | re.DOTALL)


def is_shell(extraction: Extraction, body: bytes) -> bool:
    """Little text, scripts, and either an empty root for them or a word to those who have none."""
    if len(extraction.text) >= LITTLE or extraction.content_class is not ContentClass.HTML:
        return False
    head = body if len(body) <= 2 * LOOK else body[:LOOK] + body[-LOOK:]
    if b"<script" not in head and b"<SCRIPT" not in head:
        return False
    return bool(_ROOT.search(head) or _ASKS.search(head))
