"""The closed sets of the glossary: risk, node, role, content class, outcome, reason."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from typing import NewType

from vedette.contracts.copies import quick

WatchId = NewType("WatchId", int)  # xxh3 of the canonical URL, 63 bits (ADR-0002)
VisitId = NewType("VisitId", int)
EvidenceId = NewType("EvidenceId", int)
ChangeId = NewType("ChangeId", int)
SourceId = NewType("SourceId", str)  # the slug
RunId = NewType("RunId", str)
LaneKey = NewType("LaneKey", str)  # "host:hgk.hr", "engine:browser", "all"


class Risk(IntEnum):
    """How much a late sighting of a change would cost.  Higher is worse."""

    LOW = 0
    MEDIUM = 1
    HIGH = 2
    CRITICAL = 3

    @classmethod
    def parse(cls, word: str) -> Risk:
        """Accepts any case, and NORMAL for MEDIUM (spec 001)."""
        name = word.strip().upper()
        if name == "NORMAL":
            return cls.MEDIUM
        if name not in cls.__members__:
            raise ValueError(f"unknown risk {word!r}; use one of {', '.join(cls.__members__)}")
        return cls[name]


class NodeType(StrEnum):
    HUB = "HUB"
    LEAF = "LEAF"
    ASSET = "ASSET"


class NodeRole(StrEnum):
    ARCHIVE = "ARCHIVE"
    INDEX = "INDEX"
    NEWS_FEED = "NEWS_FEED"
    REGULATION = "REGULATION"
    FORM = "FORM"
    GUIDANCE = "GUIDANCE"


class ContentClass(StrEnum):
    HTML = "HTML"
    PDF_TEXT = "PDF_TEXT"
    PDF_SCANNED = "PDF_SCANNED"
    DOC = "DOC"
    DOCX = "DOCX"
    XLS = "XLS"
    XLSX = "XLSX"
    JSON = "JSON"
    JSON_LD = "JSON_LD"
    XML = "XML"  # up to here spec 001/A; the rest is ours
    ODT = "ODT"
    ODS = "ODS"
    RTF = "RTF"
    PPT = "PPT"
    PPTX = "PPTX"
    IMAGE = "IMAGE"
    TEXT = "TEXT"
    OTHER = "OTHER"


DOCUMENTS = frozenset(
    {ContentClass.PDF_TEXT, ContentClass.PDF_SCANNED, ContentClass.DOC, ContentClass.DOCX}
    | {ContentClass.XLS, ContentClass.XLSX, ContentClass.ODT, ContentClass.ODS, ContentClass.RTF}
    | {ContentClass.PPT, ContentClass.PPTX, ContentClass.IMAGE}
)  # read by a parser in a limited child process


class Outcome(StrEnum):
    """How a look ended.  `core/lanes/outcomes.py` says what each means."""

    OK = "ok"
    NOT_MODIFIED = "not_modified"
    EMPTY = "empty"
    GONE = "gone"
    CLIENT_ERROR = "client_error"
    SERVER_ERROR = "server_error"
    THROTTLED = "throttled"
    TIMEOUT = "timeout"
    CONNECT_ERROR = "connect_error"
    NO_SOCKETS = "no_sockets"
    DNS_ERROR = "dns_error"
    TLS_ERROR = "tls_error"
    PROTOCOL_ERROR = "protocol_error"
    DECODE_ERROR = "decode_error"
    TOO_LARGE = "too_large"
    TRUNCATED = "truncated"
    REDIRECT_ERROR = "redirect_error"
    ADDRESS_REFUSED = "address_refused"
    SCHEME_REFUSED = "scheme_refused"
    ROBOTS_REFUSED = "robots_refused"
    NO_BROWSER = "no_browser"
    TYPE_REFUSED = "type_refused"
    PARSE_FAILED = "parse_failed"
    TOOL_MISSING = "tool_missing"
    BLOCKED_PAGE = "blocked_page"
    LOGIN_WALL = "login_wall"
    SOFT_404 = "soft_404"
    FILTER_UNMATCHED = "filter_unmatched"
    SCREENED = "screened"
    BUDGET_SPENT = "budget_spent"
    LANE_CLOSED = "lane_closed"
    SHED = "shed"
    CANCELLED = "cancelled"
    AUTH_ERROR = "auth_error"  # of providers, from here to `malformed_answer`
    QUOTA_SPENT = "quota_spent"
    OVERLOADED = "overloaded"
    REFUSED_CONTENT = "refused_content"
    MALFORMED_ANSWER = "malformed_answer"
    BAD_SETTINGS = "bad_settings"  # of its source: no request can be made with them
    BUG = "bug"  # our code failed on it; the job is parked, the fault is ours


@quick
@dataclass(frozen=True, slots=True)
class Reason:
    """One line of an explanation.  Points of the reasons of a number add up to the number."""

    code: str
    points: float = 0.0
    note: str = ""


# A value that goes out and is never shown.


class Secret(str):
    """Is what it is wherever it is sent, and `***` wherever a value is printed whole."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


# Where the archive is, when it is in no folder: a place in a bucket of an S3-compatible store.


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """A bucket and how we are let in."""

    name: str
    endpoint: str = ""  # empty: that of Amazon for the region
    region: str = "us-east-1"
    key_id: Secret = field(default=Secret(""), repr=False)
    key: Secret = field(default=Secret(""), repr=False)
    session: Secret = field(default=Secret(""), repr=False)


@dataclass(frozen=True, slots=True)
class ObjectPlace:
    """A folder or a file of a bucket, spelled as a path is."""

    bucket: Bucket
    key: str = ""  # without a slash at either end

    def __truediv__(self, name: str) -> ObjectPlace:
        return replace(self, key=f"{self.key}/{name}" if self.key else name)

    def __str__(self) -> str:
        return f"s3://{self.bucket.name}/{self.key}"

    @property
    def name(self) -> str:
        return self.key.rpartition("/")[2]

    def with_name(self, name: str) -> ObjectPlace:
        return replace(self, key=self.key[: len(self.key) - len(self.name)] + name)
