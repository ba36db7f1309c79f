"""What a host sends: a body with gaps for noise, and a listing document at one moment."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vedette.livingweb.noise import Noise, Roll


@dataclass(frozen=True, slots=True)
class Rendered:
    """A body with gaps: parts[0] noise[order[0]] parts[1] ..."""

    content_type: str
    parts: tuple[bytes, ...]
    order: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        return sum(map(len, self.parts))

    def packed(self) -> Rendered:
        """A body without gaps, gzipped."""
        return Rendered(self.content_type, (gzip.compress(self.parts[0], 5, mtime=0),))

    def fill(self, noise: Sequence[Noise], roll: Roll, charset: str) -> bytes:
        """One served body.  The same noise shows the same value wherever it stands on the page."""
        values = {which: encoded(noise[which].make(roll), charset) for which in sorted(set(self.order))}
        out = [self.parts[0]]
        for which, part in zip(self.order, self.parts[1:], strict=True):
            out += (values[which], part)
        return b"".join(out)


@dataclass(frozen=True, slots=True)
class Listing:
    """A listing document at one moment.  `mark` stays equal while the document does."""

    mark: str
    render: Callable[[], Rendered]


def encoded(text: str, charset: str) -> bytes:
    return text.encode(charset, "xmlcharrefreplace")
