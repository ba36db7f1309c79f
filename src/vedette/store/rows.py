"""Rows to values and back.  The only place that knows how a value lies in its columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import xxhash
from pydantic_core import to_json

from vedette.contracts.changing import (
    Change,
    ChangeKind,
    ChangeState,
    Comparison,
    DiffOp,
    Layer,
)
from vedette.contracts.evidence import Segment
from vedette.contracts.fetching import FetchSettings, RobotsRules
from vedette.contracts.lane import LaneState
from vedette.contracts.source import (
    ListerKind,
    ListerOptions,
    ListSelectors,
    Registered,
    Source,
    StructuredOptions,
)
from vedette.contracts.watch import Seen, SourceState, Watch
from vedette.contracts.words import (
    ChangeId,
    ContentClass,
    EvidenceId,
    LaneKey,
    NodeRole,
    NodeType,
    Outcome,
    Reason,
    Risk,
    SourceId,
    VisitId,
    WatchId,
)
from vedette.core.urls import lane_of
from vedette.store.noise_column import dump_noise, read_noise

if TYPE_CHECKING:
    from vedette.contracts.jobs import NewJob

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_PLAIN_OPTIONS = ListerOptions()
REGISTERED = "registered"  # keys of the options column that are no options of the lister
EVERY = "every"  # seconds
MUTED = "muted_until"  # ms
_PLAIN_SETTINGS = FetchSettings()

WATCH_COLUMNS = (
    "id url lane_id source_id lister depth parent_id title node_type node_role risk velocity scan_count "
    "last_changed_at due_at interval_s created_at published_at modified_at last_visit_at last_outcome "
    "attempt etag last_modified seen_visit seen_evidence seen_at seen_digest text_key masked_key simhash text_chars "
    "content_class mask pending_change canonical_id merged_into is_gone audit_s belief"
).split()


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


def watch_row(watch: Watch) -> tuple[Any, ...]:
    """In the order of WATCH_COLUMNS."""
    seen = watch.seen
    seen_columns: tuple[Any, ...] = (
        (None,) * 9
        if seen is None
        else (
            seen.visit,
            seen.evidence,
            to_ms(seen.at),
            seen.digest,
            seen.text_key,
            None,  # masked_key, of earlier revisions
            seen.simhash,
            seen.text_chars,
            seen.content_class.value,
        )
    )
    return (
        watch.id,
        watch.url,
        lane_id(watch.lane),
        watch.source,
        watch.lister.value if watch.lister else None,
        watch.depth,
        watch.parent,
        watch.title,
        watch.node_type.value,
        watch.node_role.value if watch.node_role else None,
        int(watch.risk),
        watch.velocity,
        watch.scan_count,
        opt_ms(watch.last_changed_at),
        opt_ms(watch.due_at),
        int(watch.interval.total_seconds()),
        to_ms(watch.created_at),
        opt_ms(watch.published_at),
        opt_ms(watch.modified_at),
        opt_ms(watch.last_visit_at),
        watch.last_outcome.value if watch.last_outcome else None,
        watch.attempt,
        watch.etag,
        watch.last_modified,
        *seen_columns,
        dump_noise(watch.noise),
        watch.pending,
        watch.canonical,
        watch.merged_into,
        watch.is_gone,
        opt_seconds(watch.audit),
        watch.belief,
    )


def read_watch(row: Sequence[Any]) -> Watch:
    """From the order of WATCH_COLUMNS."""
    url = row[1]
    return Watch(
        id=WatchId(row[0]),
        url=url,
        lane=lane_of(url),
        source=SourceId(row[3]),
        lister=ListerKind(row[4]) if row[4] else None,
        depth=row[5],
        parent=row[6],
        title=row[7],
        node_type=NodeType(row[8]),
        node_role=NodeRole(row[9]) if row[9] else None,
        risk=Risk(row[10]),
        velocity=row[11],
        scan_count=row[12],
        last_changed_at=opt_at(row[13]),
        due_at=opt_at(row[14]),
        interval=timedelta(seconds=row[15]),
        created_at=from_ms(row[16]),
        published_at=opt_at(row[17]),
        modified_at=opt_at(row[18]),
        last_visit_at=opt_at(row[19]),
        last_outcome=Outcome(row[20]) if row[20] else None,
        attempt=row[21],
        etag=row[22],
        last_modified=row[23],
        seen=None if row[24] is None else _read_seen(row[24:33]),
        noise=read_noise(row[33]),
        pending=None if row[34] is None else ChangeId(row[34]),
        canonical=None if row[35] is None else WatchId(row[35]),
        merged_into=None if row[36] is None else WatchId(row[36]),
        is_gone=bool(row[37]),
        audit=None if row[38] is None else timedelta(seconds=row[38]),
        belief=row[39],
    )


def lane_row(key: LaneKey, state: LaneState) -> tuple[Any, ...]:
    return (
        lane_id(key),
        key,
        opt_ms(state.next_start_at),
        opt_ms(state.bucket_at),
        state.failures,
        state.recent,
        state.recent_count,
        opt_ms(state.closed_until),
        opt_ms(state.held_until),
        state.blocked_by,
        None if state.crawl_delay is None else state.crawl_delay // _MS,
        state.word,
    )


def read_lane(row: Sequence[Any]) -> tuple[LaneKey, LaneState]:
    state = LaneState(
        next_start_at=opt_at(row[2]),
        bucket_at=opt_at(row[3]),
        failures=row[4],
        recent=row[5],
        recent_count=row[6],
        closed_until=opt_at(row[7]),
        held_until=opt_at(row[8]),
        blocked_by=row[9],
        crawl_delay=None if row[10] is None else row[10] * _MS,
        word=row[11],
    )
    return LaneKey(row[1]), state


def job_row(job: NewJob, *, at: datetime) -> tuple[Any, ...]:
    """In the order of statements.JOB_COLUMNS.  The job has an id."""
    return (job.queue, job.id, job.name, dump_json(job.data), to_ms(at), to_ms(at + job.delay))


def segment_row(segment: Segment) -> tuple[Any, ...]:
    return (
        segment.name,
        segment.retention,
        segment.day,
        segment.size,
        segment.count,
        segment.head,
        segment.state,
    )


def read_segment(row: Sequence[Any]) -> Segment:
    """From the order of statements.SEGMENT_COLUMNS."""
    name, retention, day, size, count, head, state = row
    return Segment(name=name, retention=retention, day=day, size=size, count=count, head=head, state=state)


def read_robots(row: Sequence[Any]) -> RobotsRules:
    """From the order of statements.ROBOTS_COLUMNS."""
    return RobotsRules(
        origin=row[0],
        fetched_at=from_ms(row[1]),
        expires_at=from_ms(row[2]),
        status=row[3],
        outcome=Outcome(row[4]),
        text=row[5],
        verdict=row[6],
        crawl_delay=row[7],
        sitemaps=tuple(json.loads(row[8])),
    )


def source_row(source: Source, *, now: datetime) -> tuple[Any, ...]:
    """In the order of statements.SOURCE_COLUMNS; the state columns as a new source has them."""
    frequency = source.scrape_frequency
    return (
        source.id,
        source.name,
        source.url,
        source.lister.value,
        _dump_options(source),
        None if source.risk is None else int(source.risk),
        int(source.tier),
        source.is_active,
        None if frequency is None else int(frequency.total_seconds()),
        source.retention,
        dump_json(dict(source.fetch)),
        source.origin,
        to_ms(now),
        0,
        None,
        None,
        None,
        "{}",
        None,
    )


def read_source(row: Sequence[Any]) -> tuple[Source, SourceState]:
    """From the order of statements.SOURCE_COLUMNS.  A source that the operator paused is not active."""
    options = json.loads(row[4])
    registered = {name: _hashable(value) for name, value in options.pop(REGISTERED, {}).items()}
    every, muted = options.pop(EVERY, None), options.pop(MUTED, None)
    source = Source(
        id=SourceId(row[0]),
        name=row[1],
        url=row[2],
        lister=ListerKind(row[3]),
        options=_read_options(options),
        risk=None if row[5] is None else Risk(row[5]),
        tier=Risk(row[6]),
        is_active=bool(row[7]) and row[18] is None,
        every=None if every is None else timedelta(seconds=every),
        scrape_frequency=None if row[8] is None else timedelta(seconds=row[8]),
        retention=row[9],
        fetch=tuple((name, _read_setting(name, value)) for name, value in json.loads(row[10]).items()),
        origin=row[11],
        registered=Registered(**registered),
        muted_until=opt_at(muted),
    )
    state = SourceState(
        source=source.id,
        failures=row[13],
        last_error=row[14] or "",
        last_success_at=opt_at(row[15]),
        closed_until=opt_at(row[16]),
        tally=row[17],
    )
    return source, state


def read_change(row: Sequence[Any]) -> Change:
    """From the order of statements.CHANGE_COLUMNS."""
    comparison = Comparison(
        has_changed=True,
        layer=Layer(row[10]),
        similarity=row[11],
        summary=row[12],
        diff=tuple(
            DiffOp(op, tuple(before), tuple(after), tuple((a, b) for a, b in words), *map(tuple, headings))
            for op, before, after, words, *headings in json.loads(row[13])
        ),
        reasons=tuple(Reason(*fields) for fields in json.loads(row[14])),
    )
    return Change(
        id=ChangeId(row[0]),
        watch=WatchId(row[1]),
        kind=ChangeKind(row[2]),
        state=ChangeState(row[3]),
        before_visit=VisitId(row[4]),
        after_visit=VisitId(row[5]),
        before_evidence=None if row[6] is None else EvidenceId(row[6]),
        after_evidence=None if row[7] is None else EvidenceId(row[7]),
        observed_at=from_ms(row[8]),
        comparison=comparison,
    )


def dump_json(value: object) -> str:
    """Once per visit and more, so by pydantic's encoder: a quarter of the time of the standard library's."""
    return to_json(value, timedelta_mode="float", fallback=_plain).decode()


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no value for a JSON column")


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


def _read_seen(row: Sequence[Any]) -> Seen:
    return Seen(
        visit=VisitId(row[0]),
        evidence=EvidenceId(row[1]),
        at=from_ms(row[2]),
        digest=row[3],
        text_key=row[4],
        simhash=row[6],
        text_chars=row[7],
        content_class=ContentClass(row[8]),
    )
