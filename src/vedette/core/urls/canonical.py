"""One URL parser everywhere (WHATWG), one rule for what is the same target.

`canonical` is what we fetch: the site's own spelling without fragment, trackers, session ids and credentials.
`fold` is what we remember it by: spellings that sites use for one page (slash, index page, query order,
scheme, escapes) fold into one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import ada_url
import re2
import xxhash

from vedette.contracts.words import LaneKey, WatchId

TRACKERS = frozenset(
    "fbclid gclid gclsrc dclid wbraid gbraid msclkid yclid twclid ttclid li_fat_id igshid mc_cid mc_eid "
    "_ga _gl _hsenc _hsmi mkt_tok oly_anon_id oly_enc_id vero_id wickedid s_cid spm".split()
)
SESSION_NAMES = frozenset(
    "phpsessid jsessionid sessionid session_id sessid cfid cftoken zenid oscsid".split()
)
SHORT_SESSION_NAMES = frozenset(("sid", "s", "session"))  # only with a value that looks like one
_SESSION_VALUE = re2.compile(r"^[0-9a-fA-F-]{16,}$|^[0-9A-Za-z_-]{24,}$")
_PATH_SESSION = re2.compile(r"(?i);(?:jsessionid|phpsessid|sid)=[^/?#;]*")
_INDEX_PAGE = re2.compile(r"(?i)/(?:index|default)\.(?:html?|php\d?|aspx?|jsp|cgi|shtml)$")
_INDEX_STARTS = frozenset("iIdD")  # only such a last segment is worth the pattern
_ESCAPE = re2.compile(r"%[0-9a-fA-F]{2}")
_ENCODED_LETTERS = re2.compile(r"(?:%[89a-fA-F][0-9a-fA-F])+")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
# A path that needs no parser: nothing to decode, to resolve or to drop.  A test holds `canonical` against it.
PLAIN_PATH = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9_.~-]*)+/?")
MAX_URL = 4096  # characters of a canonical URL, at every door: links, listings, redirects, `add`, imports
TOO_LONG = "url_too_long"
_CLIPPED = 200


def too_long(url: str) -> str:
    """In words, why this URL is refused for its length; empty: it is not."""
    return f"it has {len(url)} characters, at most {MAX_URL} are taken" if len(url) > MAX_URL else ""


def clipped(url: str) -> str:
    """For records and people: as much of a URL as tells which one it is."""
    return url if len(url) <= MAX_URL else url[:_CLIPPED] + "..."


def canonical(url: str, base: str | None = None) -> str | None:
    """The URL that we would ask for, or None when there is nothing to ask (mailto:, broken, too long)."""
    if len(url) > MAX_URL * 4:
        return None
    try:
        whole: str = ada_url.join_url(base, url) if base else ada_url.normalize_url(url.strip())
        if "./" in whole or ".:" in whole:
            whole = _without_last_dot(whole)
    except (ValueError, UnicodeError):
        return None
    if not whole.startswith(("http://", "https://")):
        return None
    whole = whole.partition("#")[0]
    if ";" in whole:
        whole = _PATH_SESSION.sub("", whole)
    if "?" in whole:
        whole = _without_noise(whole)
    if "@" in whole:
        whole = _without_credentials(whole)
    return whole if len(whole) <= MAX_URL else None


def plain_path(href: str, origin: str) -> str | None:
    """What `canonical` gives for a path from the root that has nothing to decode, to resolve or to drop.

    None: it is no such path.  `origin` is that of a canonical URL.  A tenth of the price of a parser.
    """
    is_plain = len(origin) + len(href) <= MAX_URL and PLAIN_PATH.fullmatch(href) is not None
    return origin + href if is_plain else None


def fold(url: str) -> str:
    """The identity of a canonical URL: variants of one page give one string."""
    rest = url[url.index("//") :]
    path, mark, query = rest.partition("?")
    if "%" in path:
        path = _tidy_escapes(path)
    if path[path.rfind("/") + 1 :][:1] in _INDEX_STARTS:
        path = _INDEX_PAGE.sub("/", path)
    path = path.rstrip("/")
    if not mark or not query:
        return path
    if "%" in query:
        query = _tidy_escapes(query)
    return path + "?" + "&".join(sorted(part for part in query.split("&") if part))


def watch_id(url: str) -> WatchId:
    """63 bits of xxh3 over the folded URL: the same on every machine, known without asking the store."""
    return WatchId(xxhash.xxh3_64_intdigest(fold(url).encode()) >> 1)


@lru_cache(maxsize=4096)  # a look asks for the origin of its URL a dozen times
def origin_of(url: str) -> str:
    """scheme://host[:port] of a canonical URL."""
    slash = url.find("/", url.index("//") + 2)
    return url[:slash] if slash >= 0 else url


def host_of(url: str) -> str:
    """The host of a canonical URL, ASCII, without port; IPv6 without brackets."""
    return _host_at(origin_of(url))


@lru_cache(maxsize=4096)
def lane_of(url: str) -> LaneKey:
    """By host, not by registrable domain: all ministries share gov.hr (docs/adr/README.md)."""
    return lane_at(origin_of(url))


@lru_cache(maxsize=4096)
def lane_at(origin: str) -> LaneKey:
    return LaneKey("host:" + _host_at(origin))


def shown(url: str) -> str:
    """For people: letters decoded; behind the URL, which can be copied as it stands, its host in letters.

    Escapes of ASCII (%2F, %1B) and of what cannot be seen (right-to-left marks) stay, so the path is still
    the same when pasted and nothing moves a cursor.
    """
    host = host_of(url)
    readable = str(_ENCODED_LETTERS.sub(_letters, url)) if "%" in url else url
    letters = letters_of(host)
    return readable if letters == host else f"{readable} ({letters})"


def letters_of(host: str) -> str:
    """A host as people write it: `xn--mnchen-3ya.example` is münchen.example."""
    letters = ada_url.idna_to_unicode(host) if "xn--" in host else host
    return letters if letters.isprintable() else host  # of a script that this Python does not know yet


def spellings(part: str) -> tuple[str, ...]:
    """A part of a URL as people write it, and as URLs have it: letters of a host, escapes of a path."""
    if part.isascii():
        return (part,)
    host = ada_url.idna_to_ascii(part).decode()
    return tuple(dict.fromkeys(word for word in (part, host, quote(part, safe="/?&=:%")) if word))


@lru_cache(maxsize=4096)
def _host_at(origin: str) -> str:
    authority = origin.partition("//")[2]
    return authority[1 : authority.index("]")] if authority.startswith("[") else authority.partition(":")[0]


def _without_noise(url: str) -> str:
    path, _, query = url.partition("?")
    kept = [part for part in query.split("&") if part and not _is_noise(part)]
    return f"{path}?{'&'.join(kept)}" if kept else path


def _is_noise(part: str) -> bool:
    name, _, value = part.partition("=")
    name = name.lower()
    if name.startswith(("utm_", "aspsessionid")) or name in TRACKERS or name in SESSION_NAMES:
        return True
    return name in SHORT_SESSION_NAMES and _SESSION_VALUE.match(value) is not None


def _without_credentials(url: str) -> str:
    start = url.index("//") + 2
    end = len(origin_of(url))
    return url[:start] + url[start:end].rpartition("@")[2] + url[end:]


def _without_last_dot(url: str) -> str:
    """example.com. is example.com: the same server must not get a second lane.

    Parsed again afterwards: 0x7f.1.. is a name, and 0x7f.1 is the address 127.0.0.1.
    """
    parsed = ada_url.URL(url)
    if not parsed.hostname.endswith("."):
        return url
    parsed.hostname = parsed.hostname.rstrip(".")
    if parsed.hostname.endswith("."):
        raise ValueError("a host of dots alone")
    whole: str = parsed.href
    return whole


def _letters(match: Any) -> str:
    code: str = match.group(0)
    try:
        text = bytes.fromhex(code.replace("%", "")).decode()
    except UnicodeDecodeError:
        return code
    return text if text.isprintable() else code


def _tidy_escapes(text: str) -> str:
    """%7E is ~ and %2f is %2F: equal by RFC 3986 section 6.2.2."""

    def tidy(match: Any) -> str:
        code: str = match.group(0)
        char = chr(int(code[1:], 16))
        return char if char in _UNRESERVED else code.upper()

    return str(_ESCAPE.sub(tidy, text))
