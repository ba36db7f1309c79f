"""Rows to values and back.  The only place that knows how a value lies in its columns."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import xxhash

from vedette.contracts.change import (
    Change,
    ChangeKind,
    ChangeState,
    Comparison,
    DiffOp,
    Layer,
)
from vedette.contracts.fetch import FetchSettings, RobotsRules
from vedette.contracts.lane import LaneState
from vedette.contracts.source import (
    ListerKind,
    ListerOptions,
    ListSelectors,
    Registered,
    Source,
    StructuredOptions,
)
from vedette.contracts.watch import Seen, Segment, SourceState, Watch
from vedette.contracts.words import (
    ContentClass,
    LaneKey,
    NodeRole,
    NodeType,
    Outcome,
    Reason,
    Risk,
    SourceId,
)
from vedette.core.urls.canonical import lane_of
from vedette.store.row_columns import (
    CHANGE_COLUMNS,
    LANE_COLUMNS,
    MOVING_WATCH_COLUMNS,
    ROBOTS_COLUMNS,
    SEGMENT_COLUMNS,
    SOURCE_COLUMNS,
    WATCH_COLUMNS,
    How,
    Part,
    Row,
    StoredWords,
    reader,
    writer,
)
from vedette.store.text_columns import dump_json, dump_noise, read_noise

if TYPE_CHECKING:
    from vedette.contracts.jobs import NewJob

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_PLAIN_OPTIONS = ListerOptions()
REGISTERED = "registered"  # keys of the options column that are no options of the lister
EVERY = "every"  # seconds
MUTED = "muted_until"  # ms
_PLAIN_SETTINGS = FetchSettings()


def to_ms(at: datetime) -> int:
    return (at - _EPOCH) // _MS


def from_ms(ms: int) -> datetime:
    return _EPOCH + ms * _MS


def opt_ms(at: datetime | None) -> int | None:
    return None if at is None else (at - _EPOCH) // _MS


def opt_at(ms: int | None) -> datetime | None:
    return None if ms is None else _EPOCH + ms * _MS  # half the price of a timedelta made anew


def opt_iso(ms: int | None) -> str | None:
    """`opt_at(ms).isoformat()` at a third of its price: long lists have several times in each row."""
    if ms is None:
        return None
    day, rest = divmod(ms, 86_400_000)
    minute, rest = divmod(rest, 60_000)
    second, thousandth = divmod(rest, 1000)
    below = f".{thousandth:03}000" if thousandth else ""
    return f"{_day(day)}{_minute(minute)}{second:02}{below}+00:00"


@lru_cache(maxsize=4096)
def _day(day: int) -> str:
    return f"{(_EPOCH + day * timedelta(days=1)).date().isoformat()}T"


@lru_cache(maxsize=1440)
def _minute(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}:"


def opt_seconds(span: timedelta | None) -> int | None:
    return None if span is None else int(span.total_seconds())


def lane_id(key: LaneKey) -> int:
    """63 bits of xxh3 over the lane's key."""
    return xxhash.xxh3_64_intdigest(key.encode()) >> 1


def opt_span(seconds: int | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)


def whole_seconds(span: timedelta) -> int:
    return int(span.total_seconds())


def opt_word(word: Enum | None) -> Any:
    return None if word is None else word._value_


word_of = attrgetter("_value_")  # `.value` costs three times as much
RISKS = StoredWords(Risk)
OUTCOMES = StoredWords(Outcome)
LISTERS = StoredWords(ListerKind)
CLASSES = StoredWords(ContentClass)


def _nothing(value: object) -> None:
    """A column that nothing is written to any more."""


_WATCH: dict[str, How] = {
    "id": "id",
    "url": "url",
    "lane_id": ("lane", lane_id),
    "source_id": "source",
    "lister": ("lister", opt_word),
    "depth": "depth",
    "parent_id": "parent",
    "title": "title",
    "node_type": ("node_type", word_of),
    "node_role": ("node_role", opt_word),
    "risk": ("risk", word_of),
    "velocity": "velocity",
    "scan_count": "scan_count",
    "last_changed_at": ("last_changed_at", opt_ms),
    "due_at": ("due_at", opt_ms),
    "interval_s": ("interval", whole_seconds),
    "created_at": ("created_at", to_ms),
    "published_at": ("published_at", opt_ms),
    "modified_at": ("modified_at", opt_ms),
    "last_visit_at": ("last_visit_at", opt_ms),
    "last_outcome": ("last_outcome", opt_word),
    "attempt": "attempt",
    "etag": "etag",
    "last_modified": "last_modified",
    "seen_visit": "seen?.visit",
    "seen_evidence": "seen?.evidence",
    "seen_at": ("seen?.at", to_ms),
    "seen_digest": "seen?.digest",
    "text_key": "seen?.text_key",
    "masked_key": ("id", _nothing),  # of earlier revisions
    "simhash": "seen?.simhash",
    "text_chars": "seen?.text_chars",
    "content_class": ("seen?.content_class", word_of),
    "mask": ("noise", dump_noise),
    "pending_change": "pending",
    "canonical_id": "canonical",
    "merged_into": "merged_into",
    "is_gone": "is_gone",
    "audit_s": ("audit", opt_seconds),
    "belief": "belief",
}
watch_row = writer(WATCH_COLUMNS, **_WATCH)
moved_row = writer([*MOVING_WATCH_COLUMNS, "id"], **_WATCH)  # for statements.MOVE_WATCH


_WATCH_FIELDS: dict[str, How | Part] = dict(
    id="id",
    url="url",
    lane=("url", lane_of),
    source="source_id",
    lister=("lister", LISTERS),
    depth="depth",
    parent="parent_id",
    title="title",
    node_type=("node_type", StoredWords(NodeType)),
    node_role=("node_role", StoredWords(NodeRole)),
    risk=("risk", RISKS),
    velocity="velocity",
    scan_count="scan_count",
    last_changed_at=("last_changed_at", opt_at),
    due_at=("due_at", opt_at),
    interval=("interval_s", opt_span),
    created_at=("created_at", from_ms),
    published_at=("published_at", opt_at),
    modified_at=("modified_at", opt_at),
    last_visit_at=("last_visit_at", opt_at),
    last_outcome=("last_outcome", OUTCOMES),
    attempt="attempt",
    etag="etag",
    last_modified="last_modified",
    seen=Part(
        Seen,
        visit="seen_visit",
        evidence="seen_evidence",
        at=("seen_at", from_ms),
        digest="seen_digest",
        text_key="text_key",
        simhash="simhash",
        text_chars="text_chars",
        content_class=("content_class", CLASSES),
    ),
    noise=("mask", read_noise),
    pending="pending_change",
    canonical="canonical_id",
    merged_into="merged_into",
    is_gone=("is_gone", bool),
    audit=("audit_s", opt_span),
    belief="belief",
)
read_watch = reader(Watch, WATCH_COLUMNS, **_WATCH_FIELDS)


def opt_thousandths(span: timedelta | None) -> int | None:
    return None if span is None else span // _MS


def _opt_delay(ms: int | None) -> timedelta | None:
    return None if ms is None else ms * _MS


_lane_row = writer(
    LANE_COLUMNS[2:],
    next_start_at=("next_start_at", opt_ms),
    bucket_at=("bucket_at", opt_ms),
    failures="failures",
    recent="recent",
    recent_count="recent_count",
    closed_until=("closed_until", opt_ms),
    held_until=("held_until", opt_ms),
    blocked_by="blocked_by",
    crawl_delay_ms=("crawl_delay", opt_thousandths),
    word="word",
)


def lane_row(key: LaneKey, state: LaneState) -> tuple[Any, ...]:
    return (lane_id(key), key, *_lane_row(state))


_key_of = reader(lambda key: LaneKey(key), LANE_COLUMNS, key="key")
_state_of = reader(
    LaneState,
    LANE_COLUMNS,
    next_start_at=("next_start_at", opt_at),
    bucket_at=("bucket_at", opt_at),
    failures="failures",
    recent="recent",
    recent_count="recent_count",
    closed_until=("closed_until", opt_at),
    held_until=("held_until", opt_at),
    blocked_by="blocked_by",
    crawl_delay=("crawl_delay_ms", _opt_delay),
    word="word",
)


def read_lane(row: Row) -> tuple[LaneKey, LaneState]:
    """From the order of LANE_COLUMNS."""
    return _key_of(row), _state_of(row)


def job_row(job: NewJob, *, at: datetime) -> tuple[Any, ...]:
    """In the order of statements.JOB_COLUMNS.  The job has an id."""
    return (job.queue, job.id, job.name, dump_json(job.data), to_ms(at), to_ms(at + job.delay))


segment_row = writer(SEGMENT_COLUMNS, **{name: name for name in SEGMENT_COLUMNS})
read_segment = reader(Segment, SEGMENT_COLUMNS, **{name: name for name in SEGMENT_COLUMNS})
robots_row = writer(
    ROBOTS_COLUMNS,
    origin="origin",
    fetched_at=("fetched_at", to_ms),
    expires_at=("expires_at", to_ms),
    status="status",
    outcome=("outcome", word_of),
    text="text",
    verdict="verdict",
    crawl_delay="crawl_delay",
    sitemaps=("sitemaps", lambda sitemaps: dump_json(sitemaps)),
)
read_robots = reader(
    RobotsRules,
    ROBOTS_COLUMNS,
    origin="origin",
    fetched_at=("fetched_at", from_ms),
    expires_at=("expires_at", from_ms),
    status="status",
    outcome=("outcome", OUTCOMES),
    text="text",
    verdict="verdict",
    crawl_delay="crawl_delay",
    sitemaps=("sitemaps", lambda text: tuple(json.loads(text))),
)


def source_row(source: Source, *, now: datetime) -> tuple[Any, ...]:
    """In the order of SOURCE_COLUMNS; the state columns as a new source has them."""
    said = {
        "id": source.id,
        "name": source.name,
        "url": source.url,
        "lister": source.lister.value,
        "options": _dump_options(source),
        "risk": opt_word(source.risk),
        "tier": int(source.tier),
        "is_active": source.is_active,
        "scrape_frequency_s": opt_seconds(source.scrape_frequency),
        "retention": source.retention,
        "fetch": dump_json(dict(source.fetch)),
        "origin": source.origin,
        "created_at": to_ms(now),
        "failures": 0,
        "tally": "{}",
    }
    return tuple(said.get(name) for name in SOURCE_COLUMNS)


def read_source(row: Row) -> tuple[Source, SourceState]:
    """From the order of SOURCE_COLUMNS.  A source that the operator paused is not active."""
    said = dict(zip(SOURCE_COLUMNS, row, strict=True))
    options = json.loads(said["options"])
    registered = {name: _hashable(value) for name, value in options.pop(REGISTERED, {}).items()}
    every, muted = options.pop(EVERY, None), options.pop(MUTED, None)
    source = Source(
        id=SourceId(said["id"]),
        name=said["name"],
        url=said["url"],
        lister=ListerKind(said["lister"]),
        options=_read_options(options),
        risk=RISKS[said["risk"]],
        tier=Risk(said["tier"]),
        is_active=bool(said["is_active"]) and said["paused_at"] is None,
        every=opt_span(every),
        scrape_frequency=opt_span(said["scrape_frequency_s"]),
        retention=said["retention"],
        fetch=tuple((name, _read_setting(name, value)) for name, value in json.loads(said["fetch"]).items()),
        origin=said["origin"],
        registered=Registered(**registered),
        muted_until=opt_at(muted),
    )
    state = SourceState(
        source=source.id,
        failures=said["failures"],
        last_error=said["last_error"] or "",
        last_success_at=opt_at(said["last_success_at"]),
        closed_until=opt_at(said["closed_until"]),
        tally=said["tally"],
    )
    return source, state


def source_made_at(row: Row) -> datetime:
    """From the order of SOURCE_COLUMNS."""
    return from_ms(row[SOURCE_COLUMNS.index("created_at")])


def _comparison(layer: str, similarity: float, summary: str, diff: str, reasons: str) -> Comparison:
    return Comparison(
        has_changed=True,
        layer=Layer(layer),
        similarity=similarity,
        summary=summary,
        diff=tuple(
            DiffOp(op, tuple(before), tuple(after), tuple((a, b) for a, b in words), *map(tuple, headings))
            for op, before, after, words, *headings in json.loads(diff)
        ),
        reasons=tuple(Reason(*fields) for fields in json.loads(reasons)),
    )


read_change = reader(
    Change,
    CHANGE_COLUMNS,
    id="id",
    watch="watch_id",
    kind=("kind", StoredWords(ChangeKind)),
    state=("state", StoredWords(ChangeState)),
    before_visit="before_visit",
    after_visit="after_visit",
    before_evidence="before_evidence",
    after_evidence="after_evidence",
    observed_at=("observed_at", from_ms),
    comparison=(("layer", "similarity", "summary", "diff", "reasons"), _comparison),
)


def _dump_options(source: Source) -> str:
    """What differs from the defaults; the interval and what a registry says lie beside it, under keys of their own."""
    given, plain = source.options, _PLAIN_OPTIONS
    options = {k: v for k, v in asdict(given).items() if getattr(given, k) != getattr(plain, k)}
    if source.registered != Registered():
        said = asdict(source.registered)
        options[REGISTERED] = {
            name: value for name, value in said.items() if name not in ("tags", "note") or value
        }
    if source.every is not None:
        options[EVERY] = source.every.total_seconds()
    if source.muted_until is not None:
        options[MUTED] = to_ms(source.muted_until)
    return dump_json(options)


def _read_options(raw: dict[str, Any]) -> ListerOptions:
    for name in ("start_date", "end_date"):
        if raw.get(name):
            raw[name] = datetime.fromisoformat(raw[name])
    if raw.get("selectors"):
        raw["selectors"] = ListSelectors(**raw["selectors"])
    if raw.get("traps"):
        plain, given = _PLAIN_OPTIONS.traps, raw["traps"]
        raw["traps"] = replace(plain, **{name: _like(getattr(plain, name), given[name]) for name in given})
    if raw.get("structured"):
        given = {name: _hashable(value) for name, value in raw["structured"].items()}
        raw["structured"] = StructuredOptions(**given)
    return ListerOptions(**{name: _hashable(value) for name, value in raw.items()})


def _read_setting(name: str, value: Any) -> Any:
    return _like(getattr(_PLAIN_SETTINGS, name, None), value)


def _like(plain: object, value: Any) -> Any:
    """Durations lie in JSON as seconds."""
    return timedelta(seconds=value) if isinstance(plain, timedelta) else _hashable(value)


def _hashable(value: Any) -> Any:
    return tuple(_hashable(item) for item in value) if isinstance(value, list) else value
