"""One request and what came back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from vedette.contracts.copies import quick
from vedette.contracts.words import ContentClass, Outcome

MIB = 1024 * 1024
Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSettings:
    """How to ask.  Global, and per source where a source overrides a field."""

    connect_timeout: timedelta = timedelta(seconds=10)
    read_timeout: timedelta = timedelta(seconds=20)
    total_timeout: timedelta = timedelta(seconds=30)  # spec 001/11.2
    wire_limit: int = 10 * MIB
    body_limit: int = 10 * MIB
    ratio_limit: int = 200  # decoded / wire, once over 1 MiB
    encoding_layers: int = 2
    redirects: int = 10
    allow_networks: tuple[str, ...] = ()
    allow_ports: tuple[int, ...] = ()  # beside the usual ones
    nameservers: tuple[str, ...] = ()  # "127.0.0.1:5353"; empty: the system's
    ca_file: str | None = None
    user_agent: str = "Vedette/0.1 (+https://vedette.example/bot; contact: set fetch.user_agent)"
    robots_agent: str = "vedette"
    accept_language: str = "en,*;q=0.5"
    headers: Headers = ()  # cookies and the name with its password are in them
    secrets: tuple[str, ...] = ()  # what no answer may repeat and be kept
    proxy: str | None = None
    post: bytes | None = None  # not None: the pages of the source are asked for by a POST of this body
    post_type: str = ""
    keep_cookies: bool = False  # what the site sets is sent again, until the run ends
    respect_robots: bool = True
    types: tuple[str, ...] = ()  # content types that are taken; empty: all
    keep_alive: timedelta = timedelta(seconds=5)


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """Ask for one URL, one hop.  Redirects come back as values; the engine takes a new permit per hop."""

    url: str
    settings: FetchSettings
    etag: str | None = None
    last_modified: str | None = None
    accept: str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    body_limit: int | None = None  # robots.txt has its own
    is_foreign: bool = False  # a redirect left the origin the settings are for: no credentials go along
    on_sent: Callable[[], None] | None = None  # called once, when the request is on the line
    on_heard: Callable[[], None] | None = None  # called once, when the head of the answer is there
    reserve: Callable[[int], Awaitable[bool]] | None = (
        None  # waits for room for a large body; False: there is none
    )
    post: bytes | None = None  # not None: a POST of this body; its type is in `settings.headers`, or here:
    post_type: str = ""
    cookies: str = ""  # not empty: the whole Cookie header, in place of that of the settings
    is_fresh: bool = False  # a copy that a cache on the way keeps will not do


@dataclass(frozen=True, slots=True, kw_only=True)
class PostRequest:
    """Hand this body to one URL.  Redirects are not followed: they are a failure."""

    url: str
    body: bytes
    settings: FetchSettings
    content_type: str = "application/json"
    headers: Headers = ()


class RobotsState(StrEnum):
    """What robots.txt said of the address of an answer."""

    UNKNOWN = "unknown"  # it was not asked for, or its lane was closed
    ALLOWED = "allowed"
    FORBIDDEN = "forbidden"
    UNREACHABLE = "unreachable"  # it could not be had, which forbids all (RFC 9309)
    IGNORED = "ignored"  # `fetch.respect_robots` is off


@dataclass(frozen=True, slots=True, kw_only=True)
class Screenshot:
    """A picture of a page as the browser showed it; `problem` says why there is none."""

    png: bytes = b""
    width: int = 0
    height: int = 0
    page_height: int = 0  # more than `height`: only the upper part is in the picture
    problem: str = ""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What the far end answered to one hop, or how it failed to."""

    url: str
    outcome: Outcome
    at: datetime
    took: timedelta
    sent_after: timedelta = timedelta(0)  # from `at` until the request was on the line, as far as is known
    status: int | None = None
    phrase: str = ""
    headers: Headers = ()  # as sent, order and case kept
    wire: bytes = b""  # body as it came, before content decoding
    body: bytes = b""  # decoded
    address: str = ""  # the peer that answered
    redirect_to: str | None = None  # absolute, canonical scheme checked
    retry_after: timedelta | None = None
    etag: str | None = None
    last_modified: str | None = None
    content_type: str = ""
    detail: str = ""  # for people: what exactly went wrong
    robots_state: RobotsState = RobotsState.UNKNOWN  # spec 004, FetchResult
    screenshot: Screenshot | None = None  # None: nobody asked for one


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsRules:
    """What one origin's robots.txt said, as kept in the store."""

    origin: str
    fetched_at: datetime
    expires_at: datetime
    status: int | None
    outcome: Outcome
    text: str  # at most 500 KiB; empty with allow_all/deny_all
    verdict: str  # rules | allow_all | deny_all
    crawl_delay: float | None = None
    sitemaps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TextKeys:
    """By what two texts are told apart without the texts."""

    text_key: int
    simhash: int


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What a body says, as text and structure.  Deterministic in the bytes and the declared type."""

    content_class: ContentClass
    text: str = ""  # the compared text, white space folded, one space between blocks
    title: str = ""
    hrefs: tuple[str, ...] = ()  # raw, in order, not resolved (resolving is memoised per host)
    nofollow: tuple[str, ...] = ()  # of these, what the page never links to without rel=nofollow
    base: str = ""  # what raw hrefs resolve against
    canonical: str | None = None  # rel=canonical, absolute, same host only
    published_at: datetime | None = None
    modified_at: datetime | None = None
    language: str = ""
    charset: str = ""
    metadata: Mapping[str, str] | None = None  # description, robots, generator, og:* ...
    is_noindex: bool = False
    is_nofollow: bool = False
    problem: str = ""  # non-empty: parse_failed, and why
    missing: str = ""  # non-empty: tool_missing, which tool and how to get it
    feeds: tuple[str, ...] = ()  # rel=alternate feeds, absolute
    targets: tuple[str, ...] = ()  # documents the compared part links to, canonical; compared with the text
    asks_password: bool = False  # the page has a field for one
    visible_chars: int = 0  # of everything a reader sees, what the scope left out included; 0: not told
    link_chars: int = 0  # of the compared text, inside links
    keys: TextKeys | None = None  # of a large text, made beside the loop; of what filters left of it
    unmatched: str = ""  # non-empty: filter_unmatched, and which filter
