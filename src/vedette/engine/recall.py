"""A kept state, read back from the archive and decoded as it was when it came."""

from __future__ import annotations

from pathlib import Path

from vedette.contracts.errors import StoreError
from vedette.contracts.evidence import Located
from vedette.contracts.fetching import MIB
from vedette.evidence.reading import read_payload
from vedette.fetch.decode import DecodeLimits, codings_of, make_decoder
from vedette.fetch.faults import Fault

# What was decoded once within its limits may be decoded again, whatever the limits were.
KEPT_LIMITS = DecodeLimits(body=256 * MIB, ratio=1_000_000, layers=8)


def read_body(directory: Path, located: Located) -> bytes | None:
    """The decoded body at this place.  None: expired, damaged, or not decodable any more."""
    try:
        payload = read_payload(directory, located)
    except StoreError:
        return None
    decoder = make_decoder(codings_of((payload.content_encoding,)), KEPT_LIMITS)
    if decoder is None:
        return payload.wire
    if isinstance(decoder, Fault) or decoder.feed(payload.wire) or decoder.finish():
        return None
    return decoder.body()
