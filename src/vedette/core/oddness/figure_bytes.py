"""The figures of a page as bytes, for the store.  Without numpy: whoever reads rows need not load it."""

from __future__ import annotations

import struct

from vedette.contracts.oddness import PageFigures


def pack_figures(page: PageFigures) -> bytes:
    """For a store; the same bytes for the same page."""
    parts = (
        page.version.encode(),
        struct.pack(f"<{len(page.figures)}d", *page.figures),
        page.words,
        page.grams,
        page.phrases,
        page.shape,
        page.out,
        page.vector,
        page.simhash.to_bytes(8, "little", signed=True),
    )
    return b"".join(len(part).to_bytes(4, "little") + part for part in parts)


def unpack_figures(data: bytes) -> PageFigures:
    parts, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "little")
        parts.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    version, figures, words, grams, phrases, shape, out, vector, key = parts
    return PageFigures(
        figures=struct.unpack(f"<{len(figures) // 8}d", figures),
        words=words,
        grams=grams,
        phrases=phrases,
        shape=shape,
        out=out,
        vector=vector,
        simhash=int.from_bytes(key, "little", signed=True),
        version=version.decode(),
    )
