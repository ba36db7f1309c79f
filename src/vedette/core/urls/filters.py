"""Which sightings the user wants of a source: `url_pattern`, `include`, `exclude`, a range of dates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import MAXYEAR, UTC, datetime, time, timedelta
from functools import lru_cache
from typing import Protocol
from urllib.parse import unquote

import re2

from vedette.contracts.errors import ConfigError
from vedette.contracts.source import ListerOptions
from vedette.contracts.words import Reason

MAX_PATTERN = 2000  # characters; nobody writes a longer one by hand


class UrlPattern(Protocol):
    """A compiled RE2 expression: linear in its input, whatever the user wrote."""

    def search(self, text: str) -> _Match | None: ...


class _Match(Protocol):
    def group(self, group: int = 0) -> str | None: ...

    def start(self, group: int = 0) -> int: ...

    def end(self, group: int = 0) -> int: ...


EXCLUDED = Reason("exclude", note="matches an exclude pattern")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What passes.  The first rule that does not let a sighting pass is the reason."""

    url_pattern: UrlPattern | None = None
    include: tuple[UrlPattern, ...] = ()
    exclude: tuple[UrlPattern, ...] = ()
    start_at: datetime | None = None
    end_at: datetime | None = None

    def refuse(self, url: str, published_at: datetime | None = None) -> Reason | None:
        """Why this sighting is not wanted, or None.  Without a date, the range of dates lets it pass."""
        if self.url_pattern or self.include or self.exclude:
            spellings = (url, unquote(url)) if "%" in url else (url,)
            if self.url_pattern and not _matches((self.url_pattern,), spellings):
                return Reason("url_pattern", note="does not match url_pattern")
            if self.include and not _matches(self.include, spellings):
                return Reason("include", note="matches no include pattern")
            if self.exclude and _matches(self.exclude, spellings):
                return EXCLUDED
        return self._refuse_date(published_at) if published_at else None

    def refuse_listing(self, url: str) -> Reason | None:
        """Why another listing of the source is not read: `exclude` alone says so, the others choose pages."""
        spellings = (url, unquote(url)) if "%" in url else (url,)
        return EXCLUDED if self.exclude and _matches(self.exclude, spellings) else None

    def _refuse_date(self, published_at: datetime) -> Reason | None:
        if self.start_at and published_at < self.start_at:
            return Reason("before_start_date", note=f"published {published_at.date().isoformat()}")
        if self.end_at and published_at >= self.end_at:
            return Reason("after_end_date", note=f"published {published_at.date().isoformat()}")
        return None


def filters_of(options: ListerOptions) -> Filters:
    """Raises ConfigError, naming the option, where a pattern is not RE2."""
    return Filters(
        url_pattern=compile_pattern("url_pattern", options.url_pattern) if options.url_pattern else None,
        include=tuple(compile_pattern("include", text) for text in options.include),
        exclude=tuple(compile_pattern("exclude", text) for text in options.exclude),
        start_at=_aware(options.start_date),
        end_at=_end_of_day(_aware(options.end_date)),
    )


@lru_cache(maxsize=4096)
def compile_pattern(option: str, text: str) -> UrlPattern:
    """A user's expression.  RE2: no backtracking, so no expression can be made to hang."""
    if len(text) > MAX_PATTERN:
        raise ConfigError(f"{option}: the pattern is {len(text)} characters long, the limit is {MAX_PATTERN}")
    settings = re2.Options()
    settings.log_errors = False
    try:
        compiled: UrlPattern = re2.compile(text, options=settings)
    except (re2.error, UnicodeError) as error:
        raise ConfigError(f"{option}: {text!r} is not a valid RE2 expression: {_words(error)}") from None
    return compiled


def _words(error: BaseException) -> str:
    detail = error.args[0] if error.args else ""
    text = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
    return text + " (look-around and back-references do not exist in RE2)" if "(?" in text else text


def _matches(patterns: tuple[UrlPattern, ...], spellings: tuple[str, ...]) -> bool:
    return any(pattern.search(spelling) for pattern in patterns for spelling in spellings)


def _aware(at: datetime | None) -> datetime | None:
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at


def _end_of_day(at: datetime | None) -> datetime | None:
    """A bare end date includes its day."""
    if at is None or at.time() != time(0) or at.year == MAXYEAR:
        return at
    return at + timedelta(days=1)
