"""The kind of page behind a URL by its words: the tables of each language, and the rules over them (spec 000/2).

The decoded URL is read: case and diacritics folded, the extension taken from the path alone.  The first
row of the packs that matches decides; rows of the configuration come before the packs.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from urllib.parse import unquote_to_bytes

import re2

from vedette.contracts.errors import InputError
from vedette.contracts.source import ListerKind, Registered, Source
from vedette.contracts.words import NodeRole, NodeType, Reason, Risk, SourceId
from vedette.core.text.nearest import unknown
from vedette.core.urls.canonical import host_of

# What a URL's words say about a page, as tables: one order of rules, one pack of words per language.
#
# The words are those of spec 000/2.  A word ends where its letters end, so `/akti` is not in
# `/aktivnosti`; words that the document needs as prefixes (aktual, zakon, public-consult) stay prefixes.  Packs
# are written without diacritics; the classifier folds them on both sides, so `sluzbeni` also finds `službeni`.

DEFAULT_PACKS = ("hr", "en")
MAX_PATTERN = 1000
# Combining marks go; đ has no decomposition.
_MARKS = {**dict.fromkeys(range(0x300, 0x370)), ord("đ"): "d", ord("Đ"): "D"}


@dataclass(frozen=True, slots=True)
class RolePattern:
    """URLs that match play this role.  Matched against the decoded, case-folded URL without diacritics."""

    pattern: str  # RE2
    role: NodeRole
    risk: Risk
    is_hub: bool = False

    def __post_init__(self) -> None:
        if not self.pattern.strip():
            raise InputError("a role pattern is empty and would match every URL; write what it should match")
        if len(self.pattern) > MAX_PATTERN:
            raise InputError(
                f"a role pattern has {len(self.pattern)} characters; at most {MAX_PATTERN} are read"
            )
        try:
            re2.compile(plain(self.pattern), options=_quiet())
        except (re2.error, UnicodeError) as problem:
            raise InputError(
                f"role pattern {self.pattern!r} is not a valid RE2 expression: {problem}"
            ) from None


def _quiet() -> re2.Options:
    """What is wrong with an expression is told by us, not by RE2 on stderr."""
    options = re2.Options()
    options.log_errors = False
    return options


@dataclass(frozen=True, slots=True)
class RoleRule:
    """One row of the order: a role, its risk, and how its words end."""

    name: str
    role: NodeRole
    risk: Risk
    is_hub: bool
    shape: str  # where {words} is put


_WORD = r"/(?:{words})(?:[^\pL]|$)"
_PREFIX = r"/(?:{words})"
_FOLDER = r"/(?:{words})(?:[/?]|$)"
_END = r"/(?:{words})/?(?:\?|$)"
_FILE = r"[^/]/(?:{words})\."  # the character before keeps the host out: index.hr is a newspaper

# The order is the document's: the first row that matches decides.
RULES = (
    RoleRule("archive", NodeRole.ARCHIVE, Risk.LOW, True, _FOLDER),
    RoleRule("consultation", NodeRole.GUIDANCE, Risk.CRITICAL, True, _WORD),
    RoleRule("consultation_prefix", NodeRole.GUIDANCE, Risk.CRITICAL, True, _PREFIX),
    RoleRule("tender", NodeRole.NEWS_FEED, Risk.HIGH, True, _WORD),
    RoleRule("news", NodeRole.NEWS_FEED, Risk.HIGH, True, _WORD),
    RoleRule("news_prefix", NodeRole.NEWS_FEED, Risk.HIGH, True, _PREFIX),
    RoleRule("form", NodeRole.FORM, Risk.MEDIUM, False, _WORD),
    RoleRule("guidance", NodeRole.GUIDANCE, Risk.MEDIUM, False, _WORD),
    RoleRule("regulation", NodeRole.REGULATION, Risk.CRITICAL, False, _WORD),
    RoleRule("regulation_prefix", NodeRole.REGULATION, Risk.CRITICAL, False, _PREFIX),
    RoleRule("index", NodeRole.INDEX, Risk.LOW, True, _FILE),
    # The enum of spec 000/1 names /2020/ too.  Last, so that news of a year stay news.
    RoleRule("archive_year", NodeRole.ARCHIVE, Risk.LOW, True, _END),
    RoleRule("archive_page", NodeRole.ARCHIVE, Risk.LOW, False, _FOLDER),
)
_YEARS = (
    r"19[89]\d|20[01]\d|202[0-3]"  # over when this was written; what a site says of this year is no archive
)

# spec 000/2.  `prijave?` and the like caught the singular as a prefix; here both forms are written out.
PACKS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "hr": {
            "archive": "arhiva?|povijest|stari-?",
            "consultation": "(?:e-?)?savjetovanj[ae]|javn[ae]-rasprav[ae]",
            "tender": "natjecaji?|javna-nabava|pozivi",
            "news": "vijesti|novosti|priopcenj[ae]|objav[ae]|mediji",
            "news_prefix": "aktual",
            "form": "obrasci|obrazac|formulari?|tiskanic[ae]|prijavnic[ae]|prijav[ae]|zahtjevi?",
            "guidance": "uput[ae]|misljenj[ae]|tumacenj[ae]|stajalist[ae]",
            "regulation": "propisi|pravilnici|pravilnik|uredb[ae]|odluk[ae]|akti|sluzbeni",
            "regulation_prefix": "zakon",
            "index": "sadrzaj|pregled",
            "archive_year": _YEARS,
            "archive_page": _YEARS,
        },
        "en": {
            "archive": "archive|history",
            "consultation_prefix": "public-consult",
            "tender": "tenders",
            "news": "news",
            "form": "forms?",
            "guidance": "guidance",
            "index": "index|contents?",
            "archive_year": _YEARS,
            "archive_page": _YEARS,
        },
    }
)


def rows_of(packs: tuple[str, ...]) -> tuple[tuple[str, RolePattern], ...]:
    """(name for people, row) in the order of the rules; within a rule in the order of the packs."""
    for pack in packs:
        if pack not in PACKS:
            raise InputError(unknown("language pack", pack, PACKS))
    return tuple(
        (f"{pack}:{rule.name}", _row(rule, PACKS[pack][rule.name]))
        for rule in RULES
        for pack in packs
        if rule.name in PACKS[pack]
    )


def plain(text: str) -> str:
    """Without diacritics.  A lone surrogate, which UTF-8 cannot carry, becomes a question mark."""
    bare = unicodedata.normalize("NFD", text).translate(_MARKS)
    return bare.encode("utf-8", "replace").decode()


def _row(rule: RoleRule, words: str) -> RolePattern:
    return RolePattern(rule.shape.replace("{words}", words), rule.role, rule.risk, rule.is_hub)


# What kind of page is behind a URL, before anyone has looked at it?  spec 000/2, spec 001/C.1.

ASSET_EXTENSIONS = frozenset("pdf doc docx xls xlsx ppt pptx odt ods rtf".split())  # spec 000/2, and rtf
ASSET_TYPES = ("pdf", "document", "msword", "ms-excel", "ms-powerpoint", "rtf")  # spec 000/2, spec 001/A.1
# Navigation alone gives a page 20 to 80 links.  A listing is mostly anchor text; an article is not (spec 001/C.1).
HUB_LINKS = 30
HUB_CHARS_PER_LINK = 60


@dataclass(frozen=True, slots=True)
class Classification:
    """What the URL says about the page.  Looking at it may say more (`becomes_hub`)."""

    node_type: NodeType
    node_role: NodeRole | None
    risk: Risk
    reason: Reason


def classify_url(
    url: str,
    content_type: str | None = None,
    *,
    packs: tuple[str, ...] = DEFAULT_PACKS,
    rows: tuple[RolePattern, ...] = (),
) -> Classification:
    """Node type, role and risk of a URL.  `rows` are the configuration's own and win over the packs."""
    front, _, query = url.partition("#")[0].partition("?")
    path = _folded(front)
    _, dot, extension = path.rpartition(".")
    if dot and extension in ASSET_EXTENSIONS:
        return _asset(f"extension .{extension}")
    if content_type and (kind := _asset_type(content_type)):
        return _asset(f"content type {kind}")
    matches, answers = _compiled(packs, rows)
    hits = matches.Match(f"{path}?{_folded(query)}" if query else path)
    return answers[min(hits)] if hits else _UNKNOWN


def inherit_risk(classification: Classification, parent_risk: Risk | None) -> Classification:
    """A document linked from a CRITICAL page is CRITICAL itself (spec 000/2)."""
    if classification.node_type is not NodeType.ASSET or parent_risk is not Risk.CRITICAL:
        return classification
    reason = replace(classification.reason, note=f"{classification.reason.note}; parent is CRITICAL")
    return replace(classification, risk=Risk.CRITICAL, reason=reason)


def becomes_hub(node_type: NodeType, link_count: int, text_chars: int) -> bool:
    """True where a fetched LEAF is a listing: at least 30 links and under 60 characters of text for each."""
    return (
        node_type is NodeType.LEAF
        and link_count >= HUB_LINKS
        and text_chars < HUB_CHARS_PER_LINK * link_count
    )


_UNKNOWN = Classification(NodeType.LEAF, None, Risk.MEDIUM, Reason("no_pattern", note="no row matched"))


@lru_cache(maxsize=256)
def _asset(why: str) -> Classification:
    return Classification(NodeType.ASSET, None, Risk.MEDIUM, Reason("asset", note=why))


def _asset_type(content_type: str) -> str:
    """The part of a content type that says document, or nothing.  Parameters are not part of the type."""
    media = content_type.partition(";")[0].lower()
    return next((word for word in ASSET_TYPES if word in media), "")


def _folded(text: str) -> str:
    """Percent-decoded, case folded, without diacritics: one spelling of a word."""
    if "%" in text:
        text = unquote_to_bytes(text.encode("utf-8", "replace")).decode("utf-8", "replace").strip()
    if text.isascii():
        return text.lower()
    return plain(text).casefold()


@lru_cache(maxsize=64)
def _compiled(
    packs: tuple[str, ...], rows: tuple[RolePattern, ...]
) -> tuple[re2.Set, tuple[Classification, ...]]:
    """All rows in one automaton, and what each row answers.  The lowest row that matches decides."""
    matches = re2.Set.SearchSet()
    answers = []
    named = (*((f"row {n}", row) for n, row in enumerate(rows, 1)), *rows_of(packs))
    for name, row in named:
        matches.Add(f"(?i){plain(row.pattern)}")
        kind = NodeType.HUB if row.is_hub else NodeType.LEAF
        answers.append(
            Classification(kind, row.role, row.risk, Reason(f"role_{row.role.lower()}", note=name))
        )
    matches.Compile()
    return matches, tuple(answers)


# The source of a page that a listing names on another host: a host without a source gets one (spec 001/6.2).

HIERARCHY = 5  # "Uputa", as 6.2 has it
AUTO = "auto"  # origin of such a source


def auto_source(domain: str) -> Source:
    """The source of a domain that nobody configured, as 6.2 makes it."""
    return Source(
        id=SourceId(domain.replace(".", "-").lower()),
        name=f"Auto: {domain}",
        url=f"https://{domain}/",
        lister=ListerKind.PAGE,
        origin=AUTO,
        registered=Registered(hierarchy=HIERARCHY),
    )


class Homes:
    """Which hosts have a source.  Hosts with and without www are one."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self._made: dict[str, SourceId] = {}
        self._configured: set[str] = set()
        for source in sources:
            host = _bare(host_of(source.url))
            if source.origin == AUTO:
                self._made[host] = source.id
            else:
                self._configured |= {host, *map(_bare, source.options.follow_hosts)}

    def home(self, url: str, finder: SourceId) -> tuple[SourceId, Source | None]:
        """Whose the page is, and the source that has to be made for it.

        On a host that someone configured, it belongs to the source that found it.
        """
        host = _bare(host_of(url))
        if host in self._configured:
            return finder, None
        known = self._made.get(host)
        if known is not None:
            return known, None
        source = auto_source(host)
        self._made[host] = source.id
        return source.id, source


def _bare(host: str) -> str:
    return host.lower().removeprefix("www.")
