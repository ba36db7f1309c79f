"""The head of an answer, read once: what we keep, what we obey, what we refuse to pass on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from vedette.contracts.fetching import Headers
from vedette.fetch.decode import codings_of

HEAD_SIZE = 256 * 1024  # as browsers
ETAG_SIZE = 1024
DATE_SIZE = 64
TYPE_SIZE = 256
MAX_RETRY_AFTER = timedelta(days=1)
_FORBIDDEN = str.maketrans("\r\n\0", "   ")  # RFC 9110 section 5.5: replace each by a space
RawHeaders = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The fields that fetching itself acts on."""

    headers: Headers
    codings: tuple[str, ...] = ()
    content_type: str = ""
    content_length: int | None = None
    etag: str | None = None
    last_modified: str | None = None
    retry_after: timedelta | None = None
    has_retry_after: bool = False
    locations: tuple[str, ...] = ()
    problem: str = ""  # non-empty: not HTTP as we take it


def read_head(raw: RawHeaders, now: datetime) -> Head:
    """Reads the fields as they came; `now` is for a Retry-After that names a date."""
    headers: list[tuple[str, str]] = []
    known: dict[str, list[str]] = {}
    size = 0
    for raw_name, raw_value in raw:
        size += len(raw_name) + len(raw_value)
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        if "\r" in value or "\n" in value or "\0" in value:
            value = value.translate(_FORBIDDEN)
        headers.append((name, value))
        field = name.lower()
        if field in _ACTED_ON:
            known.setdefault(field, []).append(value)
    first = {field: values[0].strip() for field, values in known.items()}
    retry_after = first.get("retry-after")
    return Head(
        headers=tuple(headers),
        codings=codings_of(known["content-encoding"]) if "content-encoding" in known else (),
        content_type=_kept(first.get("content-type"), TYPE_SIZE) or "",
        content_length=_number(first.get("content-length")),
        etag=_kept(first.get("etag"), ETAG_SIZE),
        last_modified=_kept(first.get("last-modified"), DATE_SIZE),
        retry_after=read_retry_after(retry_after, now) if retry_after else None,
        has_retry_after=retry_after is not None,
        locations=tuple(dict.fromkeys(_as_utf8(value) for value in known.get("location", ()))),
        problem=_problem(size, known.get("transfer-encoding", ())),
    )


def read_retry_after(value: str, now: datetime) -> timedelta | None:
    """Seconds or a date, never negative, at most a day; None when it is neither."""
    if value.isascii() and value.isdigit():
        seconds = int(value[:12])
        return min(timedelta(seconds=min(seconds, 10**6)), MAX_RETRY_AFTER)
    try:
        at = parsedate_to_datetime(value[:DATE_SIZE])
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    try:
        wait = at - now
    except OverflowError:
        return None
    return min(max(wait, timedelta()), MAX_RETRY_AFTER)


_ACTED_ON = frozenset(
    "content-encoding content-type content-length etag last-modified retry-after location "
    "transfer-encoding".split()
)


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
    return int(value) if value and value.isascii() and value.isdigit() and len(value) < 20 else None


def _as_utf8(value: str) -> str:
    """Location is bytes that browsers read as UTF-8 when they are."""
    if value.isascii():
        return value
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return value
