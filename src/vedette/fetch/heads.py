"""The head of an answer, read once: what we keep, what we obey, what we refuse to pass on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from itertools import chain

from aiohttp import hdrs
from multidict import CIMultiDictProxy

from vedette.contracts.copies import quick
from vedette.contracts.fetch import Headers
from vedette.fetch.decode import codings_of

HEAD_SIZE = 256 * 1024  # as browsers
ETAG_SIZE = 1024
DATE_SIZE = 64
TYPE_SIZE = 256
MAX_RETRY_AFTER = timedelta(days=1)
_FORBIDDEN = bytes.maketrans(b"\r\n\0", b"   ")  # RFC 9110 section 5.5: replace each by a space
RawHeaders = tuple[tuple[bytes, bytes], ...]


@quick
@dataclass(slots=True, kw_only=True)
class Head:
    """The fields that fetching itself acts on.  Made per page, never leaves the stage, so not frozen."""

    headers: Headers
    codings: tuple[str, ...]
    content_type: str
    content_length: int | None
    etag: str | None
    last_modified: str | None
    retry_after: timedelta | None
    has_retry_after: bool
    locations: tuple[str, ...]
    problem: str  # non-empty: not HTTP as we take it


def read_head(fields: CIMultiDictProxy[str], raw: RawHeaders, now: datetime) -> Head:
    """Reads one head, parsed by name and raw as it came; `now` is for a Retry-After that names a date."""
    joined = b"\0".join(chain.from_iterable(raw))
    if b"\n" in joined or b"\r" in joined or joined.count(b"\0") >= 2 * len(raw):
        raw = tuple((name.translate(_FORBIDDEN), value.translate(_FORBIDDEN)) for name, value in raw)
        joined = b"\0".join(chain.from_iterable(raw))
    texts = iter(joined.decode("latin-1").split("\0") if raw else ())
    get = fields.get
    retry_after = get(hdrs.RETRY_AFTER)
    codings = fields.getall(hdrs.CONTENT_ENCODING, ())
    locations = fields.getall(hdrs.LOCATION, ())
    return Head(
        headers=tuple(zip(texts, texts, strict=True)),
        codings=codings_of(codings) if codings else (),
        content_type=_kept(get(hdrs.CONTENT_TYPE), TYPE_SIZE) or "",
        content_length=_number(get(hdrs.CONTENT_LENGTH)),
        etag=_kept(get(hdrs.ETAG), ETAG_SIZE),
        last_modified=_kept(get(hdrs.LAST_MODIFIED), DATE_SIZE),
        retry_after=read_retry_after(retry_after.strip(), now, get(hdrs.DATE)) if retry_after else None,
        has_retry_after=retry_after is not None,
        locations=tuple(dict.fromkeys(_location(value) for value in locations)) if locations else (),
        problem=_problem(len(joined), fields.getall(hdrs.TRANSFER_ENCODING, ())),
    )


def read_retry_after(value: str, now: datetime, date: str | None = None) -> timedelta | None:
    """Seconds or a date, never negative, at most a day; None when it is neither.

    A date is counted from the answer's own `date`, where it has one: our clock or theirs may be wrong.
    """
    if value.isascii() and value.isdigit():
        return timedelta(days=1) if len(value) > 6 else min(timedelta(seconds=int(value)), MAX_RETRY_AFTER)
    at = _date(value)
    if at is None:
        return None
    try:
        return min(max(at - (_date(date or "") or now), timedelta()), MAX_RETRY_AFTER)
    except OverflowError:
        return None


def _date(value: str) -> datetime | None:
    try:
        at = parsedate_to_datetime(value[:DATE_SIZE])
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _problem(size: int, transfer_codings: Iterable[str]) -> str:
    if size > HEAD_SIZE:
        return f"head over {HEAD_SIZE} bytes"
    # We ask for no transfer coding but chunked, and a chain of them is how answers are smuggled.
    transfer = ",".join(transfer_codings).strip().lower()
    return "" if transfer in ("", "chunked", "identity") else f"transfer coding {transfer[:40]!r}"


def _kept(value: str | None, limit: int) -> str | None:
    """A value we will send back or store: printable, of a sane length, or not kept at all."""
    if not value or len(value) > limit or not value.isprintable():
        return None
    return value


def _number(value: str | None) -> int | None:
    return int(value) if value and len(value) < 20 and value.isascii() and value.isdigit() else None


def _location(value: str) -> str:
    """Read as UTF-8 where it is, as browsers do; aiohttp marks the bytes that are not."""
    return value.encode("utf-8", "surrogateescape").decode("latin-1") if not value.isprintable() else value
