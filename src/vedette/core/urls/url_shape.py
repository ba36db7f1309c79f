"""The shape of an address, which pages of one template share, the marks of a trap, and what a source wants of them.

`/news/123.html` and `/news/124.html` have one shape, `/news/{n}.html`.  Names of sections stay; numbers,
dates, tokens and titles are generalised; of a query the names of its parameters stay.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, datetime, time, timedelta
from functools import lru_cache
from typing import Protocol
from urllib.parse import unquote, unquote_plus

import re2

from vedette.contracts.copies import quick
from vedette.contracts.errors import ConfigError
from vedette.contracts.source import ListerOptions
from vedette.contracts.words import Reason

# spec 000/2 (ASSET_EXTENSIONS), and what office programs and archives of forms add to it.
DOCUMENTS = frozenset("pdf doc docx xls xlsx ppt pptx odt ods odp rtf csv zip".split())
# Images that OCR reads.  Most of them decorate a page; some are a notice that somebody scanned or drew.
IMAGES = frozenset("png jpg jpeg gif webp bmp tif tiff".split())
SCANS = frozenset(("tif", "tiff"))  # no browser shows these: they are there to be downloaded
PAPER_WORDS = frozenset(
    "doc docs document documents dokument dokumenti dokumentacija download downloads preuzmi preuzimanje attachment "
    "attachments prilog prilozi notice notices announcement announcements obavijest obavijesti decision decisions "
    "odluka odluke regulation regulations pravilnik pravilnici tariff tariffs cjenik cjenici scan scans sken "
    "skenovi".split()
)
DECORATION_WORDS = frozenset(
    "icon icons ico logo logos banner banners thumb thumbs thumbnail thumbnails button buttons sprite sprites avatar "
    "avatars background bg theme themes gallery galerija galerije photo photos foto fotografije".split()
)
IMAGE_FOLDERS = frozenset(
    "img imgs image images slika slike asset assets static media screenshot screenshots figure figures".split()
)
# What a page is made of.  Never a target of its own.
PART_NOTE = "style, script, font, recording, or an image whose address does not say that it is a document"
PARTS = frozenset(
    "css js mjs map png jpg jpeg gif svg webp avif ico bmp tif tiff woff woff2 ttf otf eot mp3 mp4 m4a m4v "
    "ogg oga ogv wav webm avi mov mpg mpeg wmv flv swf exe dmg apk iso msi".split()
)

SESSION_WORDS = frozenset(
    "sid sess session sessionid session_id sessid phpsessid jsessionid token tok visitor ticket csrf "
    "nonce".split()
)
ID_NAMES = frozenset("id ids guid uuid doc docid document dokument file fileid item article node".split())
_DAY_WORDS = (
    "calendar", "kalendar", "date", "datum", "day", "dan", "month", "mjesec", "week", "tjedan", "event",
    "dogad", "agenda", "schedule", "raspored",
)  # fmt: skip
_VIEW_WORDS = frozenset("day month week year list agenda view dan tjedan mjesec events today print".split())
YEARS = range(1900, 2200)  # outside it, a number of four digits is an id

_WORD = re.compile(r"[a-z]+")
_EXTENSION = re.compile(r"\.([A-Za-z][A-Za-z0-9]{0,4})$")
_DIGITS = re.compile(r"\d+")
_RUNS = re.compile(r"\d+|\D+")
_HEX = re.compile(r"[0-9a-fA-F]{8,}$")
_UUID = re.compile(r"\{?[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\}?$")
_COOKIELESS = re.compile(r"\([A-Z]\([0-9A-Za-z]+\)\)$")  # ASP.NET: /(S(lit3py55t21z5v55vlm25s55))/
_NAMED_TOKEN = re.compile(r"(?i)(?:sid|sess|session|token)[-_=:][0-9A-Za-z]{4,}$")
_YMD = re.compile(r"(\d{4})[-_.](\d{1,2})(?:[-_.](\d{1,2}))?$")
_DMY = re.compile(r"(\d{1,2})[-_.](\d{1,2})[-_.](\d{4})\.?$")
_PACKED = re.compile(r"(\d{4})(\d\d)(\d\d)$")
_WEEK = re.compile(r"(\d{4})-?[wW](\d{1,2})$")

Day = tuple[int, int, int]
Query = tuple[tuple[str, str], ...]


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class UrlShape:
    """An address taken apart, as far as the budgets of `admission` ask."""

    key: str  # host and generalised path, names of the query
    path: str  # host and path as they are
    query: Query
    depth: int  # segments of the path
    is_repeating: bool  # /a/b/a/b/a/b
    session: str  # where a token stands that is not the page's own name: "/s/{t}", "?tok"; or ""
    is_named_by_token: bool  # the last segment, or an id of the query, is a token
    day: Day | None  # the day (or month, day 1) the address speaks of
    is_dated_view: bool  # the address ends there: a calendar's page, not an article filed under a day


class _Parts:
    """A canonical URL in pieces."""

    __slots__ = ("kinds", "path", "query", "segments", "tokens")

    def __init__(self, url: str) -> None:
        self.path, _, query = url[url.index("//") + 2 :].partition("?")
        self.segments = segments = [segment for segment in self.path.split("/")[1:] if segment]
        self.query: Query = tuple([_pair(part) for part in query.split("&") if part]) if query else ()
        before = ["", *segments]
        self.tokens = [_is_token(segment, before[at]) for at, segment in enumerate(segments)]
        last = len(segments) - 1
        self.kinds = [_general(segment, self.tokens[at], at == last) for at, segment in enumerate(segments)]

    @property
    def key(self) -> str:
        names = "&".join(sorted({name for name, _ in self.query}))
        host = self.path.partition("/")[0]
        return f"{host}/{'/'.join(self.kinds)}" + (f"?{names}" if names else "")


def shape_key(url: str) -> str:
    """The `key` of its shape."""
    return _Parts(url).key


def shape_of(url: str) -> UrlShape:
    """Takes a canonical URL apart."""
    parts = _Parts(url)
    tokens, query = parts.tokens, parts.query
    day, is_dated_view = _day_of(parts.segments, query)
    return UrlShape(
        key=parts.key,
        path=parts.path,
        query=query,
        depth=len(parts.segments),
        is_repeating=_is_repeating(parts.segments),
        session=_session(tokens, parts.kinds, query),
        is_named_by_token=bool(tokens and tokens[-1]) or any(_names_by_token(n, v) for n, v in query),
        day=day,
        is_dated_view=is_dated_view,
    )


@lru_cache(maxsize=64)  # of a new link it is asked four times in a row
def extension_of(url: str) -> str:
    """Of a canonical URL's path, lower case, without the dot; or "".  `/a.pdf?x=1` is pdf."""
    cut = url.find("?")
    end = cut if cut >= 0 else len(url)
    dot = url.rfind(".", end - 6, end)
    if dot < 0 or url.find("/", 8, dot) < 0:
        return ""
    extension = url[dot + 1 : end]
    return extension.lower() if extension.isalnum() else ""


def is_document(url: str) -> bool:
    """A file that people download and read: a target, and never a listing."""
    extension = extension_of(url)
    return extension in DOCUMENTS or (extension in IMAGES and _is_paper(url, extension))


def is_part(url: str) -> bool:
    """A style sheet, script, font or recording, or an image that is there to be looked at."""
    extension = extension_of(url)
    return extension in PARTS and not (extension in IMAGES and _is_paper(url, extension))


def _is_paper(url: str, extension: str) -> bool:
    """True where the address of an image says that it is a document.

    By a file called notice, by a folder of documents that is no folder of images, or because it is a TIFF.
    """
    path = unquote_plus(url[url.index("//") + 2 :].partition("?")[0].partition("/")[2]).lower()
    folders, _, name = path.rpartition("/")
    places, names = set(_WORD.findall(folders)), set(_WORD.findall(name.removesuffix(extension)))
    if (places | names) & DECORATION_WORDS:
        return False
    is_filed = bool(places & PAPER_WORDS) and not places & IMAGE_FOLDERS
    return extension in SCANS or is_filed or bool(names & PAPER_WORDS)


def _pair(part: str) -> tuple[str, str]:
    name, _, value = part.partition("=")
    return unquote_plus(name).lower(), unquote_plus(value)


def _general(segment: str, is_token: bool, is_last: bool) -> str:
    stem, tail = _parted(segment) if is_last else (segment, "")
    if is_token:
        return "{t}" + tail
    if stem.isalpha():
        return stem + tail
    if stem[:1].isdecimal() and (_YMD.match(stem) or _DMY.match(stem) or _WEEK.match(stem)):
        return "{d}" + tail
    if is_last and (stem.count("-") >= 2 or stem.count("_") >= 2 or stem.count("%") >= 2):
        return "{s}" + tail
    return _DIGITS.sub("{n}", stem) + tail


def _parted(segment: str) -> tuple[str, str]:
    """A name and its extension, lower case, with the dot."""
    extension = _EXTENSION.search(segment) if "." in segment else None
    return (segment, "") if extension is None else (segment[: extension.start()], extension.group(0).lower())


def _is_token(segment: str, before: str) -> bool:
    """A word no person wrote: a session id, a hash, a UUID."""
    is_session = before in SESSION_WORDS
    if len(segment) < 8 and not is_session:
        return False
    stem = _parted(segment)[0]
    if len(stem) < 8 and not is_session:
        return False
    if _UUID.match(stem) or _COOKIELESS.match(stem) or _NAMED_TOKEN.match(stem):
        return True
    return (is_session and not stem.isalpha()) or _is_jumble(stem)


def _is_jumble(stem: str) -> bool:
    """Letters and digits that take turns more often than in any word."""
    if not stem.isalnum() or stem.isdigit() or stem.isalpha():
        return False
    turns = len(_RUNS.findall(stem)) - 1
    if _HEX.match(stem):
        return turns >= 2
    return turns >= (3 if len(stem) >= 16 else 4) and len(stem) >= 10


def _names_by_token(name: str, value: str) -> bool:
    return name in ID_NAMES and _is_token(value, "")


def _session(tokens: list[bool], kinds: list[str], query: Query) -> str:
    for at, token in enumerate(tokens[:-1]):
        if token:
            return "/" + "/".join(kinds[: at + 1])
    for name, value in query:
        if name in SESSION_WORDS or (name not in ID_NAMES and _is_token(value, "")):
            return "?" + name
    return ""


def _is_repeating(segments: list[str], times: int = 3) -> bool:
    """A block of segments stands there three times in a row, or one segment four times anywhere.

    After Heritrix' pathological path.  A number may repeat.
    """
    if len(segments) < times or len(set(segments)) == len(segments):
        return False
    if len(segments) > times and any(
        n > times and not word.isdigit() for word, n in Counter(segments).items()
    ):
        return True
    for width in range(1, len(segments) // times + 1):
        run = 0
        for at in range(width, len(segments)):
            is_same = segments[at] == segments[at - width] and not (width == 1 and segments[at].isdigit())
            run = run + 1 if is_same else 0
            if run >= width * (times - 1):
                return True
    return False


def _day_of(segments: list[str], query: Query) -> tuple[Day | None, bool]:
    day = _day_of_query(query)
    if day:
        return day, not any(name in ID_NAMES and value.isdigit() for name, value in query)
    if segments and _EXTENSION.search(segments[-1]):
        segments = [*segments[:-1], segments[-1].rpartition(".")[0] or "-"]
    for at, segment in enumerate(segments):
        day, used = _day_at(segments, at, segment)
        if day:
            after = segments[at + used :]
            return day, all(word.lower() in _VIEW_WORDS for word in after)
    return None, False


def _day_at(segments: list[str], at: int, segment: str) -> tuple[Day | None, int]:
    """The day that starts in this segment, and how many segments it takes."""
    if not segment[0].isdigit():
        return None, 0
    day = _read_day(segment, segments[at - 1] if at else "")
    if day:
        return day, 1
    following = segments[at + 1 : at + 3]
    if len(segment) == 4 and segment.isdigit() and following and following[0].isdigit():
        if len(following) == 2 and following[1].isdigit():
            day = _valid(segment, following[0], following[1])
            if day:
                return day, 3
        day = _valid(segment, following[0], "1")
        if day:
            return day, 2
    return None, 0


def _read_day(text: str, name: str) -> Day | None:
    """One segment or value that is a day, month or week by itself."""
    if match := _YMD.match(text):
        return _valid(match.group(1), match.group(2), match.group(3) or "1")
    if match := _DMY.match(text):
        return _valid(match.group(3), match.group(2), match.group(1))
    if match := _WEEK.match(text):
        return _valid(match.group(1), str(min(12, 1 + int(match.group(2)) * 7 // 31)), "1")
    if (match := _PACKED.match(text)) and any(word in name.lower() for word in _DAY_WORDS):
        return _valid(match.group(1), match.group(2), match.group(3))
    return None


def _day_of_query(query: Query) -> Day | None:
    year = month = ""
    for name, value in query:
        if value and value[0].isdigit():
            day = _read_day(value[:10], name)
            if day:
                return day
        if "year" in name or "godin" in name:
            year = value
        elif "month" in name or "mjesec" in name:
            month = value
    return _valid(year, month or "1", "1") if year else None


def _valid(year: str, month: str, day: str) -> Day | None:
    if not (year.isascii() and year.isdigit() and len(year) == 4 and _is_small(month) and _is_small(day)):
        return None
    found = int(year), int(month), int(day)
    return found if found[0] in YEARS and 1 <= found[1] <= 12 and 1 <= found[2] <= 31 else None


def _is_small(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 2


# Which sightings the user wants of a source: `url_pattern`, `include`, `exclude`, a range of dates.

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
