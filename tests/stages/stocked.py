"""A store with a history, written through the store itself: no engine, no network."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from vedette.contracts.change import (
    Change,
    ChangeKind,
    ChangeState,
    Comparison,
    DiffOp,
    Layer,
    Noise,
    Presence,
    RestlessLine,
    Template,
)
from vedette.contracts.source import ListerKind, Source
from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.watch import (
    ArchiveEntry,
    Decision,
    Group,
    Job,
    Payload,
    Placed,
    RecordKind,
    Segment,
    Settlement,
    Visit,
    VisitFacts,
    Watch,
    WrittenRecord,
)
from vedette.contracts.words import (
    ChangeId,
    EvidenceId,
    Outcome,
    Reason,
    Risk,
    RunId,
    SourceId,
    VisitId,
    WatchId,
)
from vedette.core.urls.canonical import watch_id
from vedette.store.connection import make_file, make_folder, mend
from vedette.store.migrate import ARCHIVE, DATABASE, prepare
from vedette.store.operator import operating, save_source
from vedette.store.sqlite import Reader, Writer, connect

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
RUN = RunId("run-1")
RULES = "https://example.org/zakon/pdv"
NEWS = "https://example.org/feed.xml"
PRIVATE = "https://example.org/private/plan"
EVIL = "\x1b]0;owned\x07 \u202egnp.exe \x9b31m"
REASONS = (Reason("base", 4.0, "floor"), Reason("velocity", 3.5, "0.65"), Reason("jitter", -0.25, ""))
SCHEDULE = Decision(
    action="schedule",
    reasons=REASONS,
    inputs={"velocity": 0.65, "risk": "CRITICAL"},
    output={"due_at": "2026-11-15T19:15:00+00:00", "hours": 7.25, "velocity": 0.65},
)
DIFF = (
    DiffOp("equal", tuple(f"line {n}" for n in range(10)), tuple(f"line {n}" for n in range(10))),
    DiffOp("replace", ("PDV je 25 % od 2013.",), ("PDV je 24 % od 2013.",), (("25", "24"),)),
    DiffOp("insert", (), (f"novi redak {EVIL}",)),
    DiffOp("delete", ("stari redak",), ()),
    DiffOp("move", ("kontakt",), ("kontakt",)),
)


class FixedClock:
    def __init__(self, now: datetime = NOW) -> None:
        self.at = now

    def now(self) -> datetime:
        return self.at

    def chance(self) -> float:
        return 0.5

    def stopwatch(self) -> Callable[[], timedelta]:
        return timedelta

    def moved(self) -> timedelta:
        return timedelta(0)

    async def pause(self, wake: object, until: datetime | None, *, is_busy: bool) -> None:
        raise AssertionError("nothing waits here")


@dataclass
class Stock:
    """Writes settlements into a store."""

    data: Path
    count: int = 0  # visits so far
    server: PostgresAddress | None = None  # an empty store on it; None: the store is a file

    def __post_init__(self) -> None:
        in_file = self.data / DATABASE if self.count else blank(self.data) if self.server is None else None
        self.path: Any = self.server or in_file

    def source(self, url: str, **fields: object) -> Source:
        name = str(fields.pop("name", url.partition("//")[2].replace("/", "-").replace(".", "-")))
        source = Source(id=SourceId(name), name=name, url=url, **fields)  # type: ignore[arg-type]
        with operating(self.path) as db:
            save_source(db, source, now=NOW - 48 * HOUR)
        return source

    def watch(self, url: str) -> Watch:
        reader = Reader(self.path)
        try:
            watch = reader.watch(watch_id(url))
        finally:
            reader.close()
        assert watch is not None
        return watch

    def visit(
        self, url: str, *, outcome: Outcome = Outcome.OK, at: datetime = NOW - HOUR, **more: object
    ) -> Visit:
        """One settled look.  `more`: change, parked, refused, decisions, detail, body, and fields of the watch."""
        self.count += 1
        number = VisitId(1_000 + self.count)
        before = self.watch(url)
        body = bytes(str(more.pop("body", "body")), "utf-8")
        detail, change = str(more.pop("detail", "")), more.pop("change", None)
        has_body = outcome is Outcome.OK
        digest = hashlib.sha256(body).digest() if has_body else None
        settled = {name: more.pop(name) for name in ("parked", "refused", "found") if name in more}
        decisions = more.pop("decisions", (Decision(action="fetch", output=outcome.value), SCHEDULE))
        visit = Visit(
            id=number, watch=before.id, run=RUN, at=at, took=timedelta(milliseconds=123), outcome=outcome, url=url,
            status=200 if has_body else None, changed=change is not None, digest=digest,
            text_chars=len(body) if has_body else None, wire_bytes=len(body), detail=detail,
        )  # fmt: skip
        after = replace(before, last_visit_at=at, last_outcome=outcome, **more)  # type: ignore[arg-type]
        facts = VisitFacts(
            visit=number, watch=before.id, url=url, at=at, outcome=outcome, status=visit.status, digest=digest
        )
        kind = RecordKind.RESPONSE if has_body else RecordKind.NONE
        settlement = Settlement(
            job=Job(watch=before, lanes=(before.lane,), run=RUN, value=1.0, leased_until=at),
            visit=visit,
            watch=after,
            entry=ArchiveEntry(facts=facts, kind=kind, payload=body),
            decisions=decisions,  # type: ignore[arg-type]
            change=change(before.id, number) if callable(change) else None,
            content_type="text/html",
            body_bytes=len(body),
            **settled,  # type: ignore[arg-type]
        )
        self._settle(settlement, kind)
        return visit

    def group(self, **parts: object) -> None:
        writer = Writer(self.path, worker="test")
        writer.settle(Group(run=RUN, **parts))  # type: ignore[arg-type]
        writer.close()

    def execute(self, statement: str, *values: object) -> None:
        with operating(self.path) as db:
            db.execute(statement, values)

    def orders(self) -> list[tuple[str, str]]:
        with operating(self.path) as db:
            return db.execute("SELECT action, subject FROM orders ORDER BY id").fetchall()

    def _settle(self, settled: Settlement, kind: RecordKind) -> None:
        number, has_body = settled.visit.id, kind is RecordKind.RESPONSE
        written = WrittenRecord(
            visit=number, segment="standard-20261115-0001", seq=self.count,
            offset=self.count * 100 if has_body else None, length=90 if has_body else None,
            record_digest=b"r" * 32 if has_body else None, chain=b"c" * 32,
        )  # fmt: skip
        payload = Payload(
            evidence=EvidenceId(number), watch=settled.watch.id, stored_by=number, url=settled.visit.url,
            at=settled.visit.at, segment=written.segment, offset=self.count * 100, length=90,
        )  # fmt: skip
        evidence = EvidenceId(number) if has_body else None
        placed = Placed(
            settlement=settled,
            kind=kind,
            written=written,
            evidence=evidence,
            payload=payload if has_body else None,
        )
        segment = Segment(
            name=written.segment,
            retention="standard",
            day="2026-11-15",
            size=1000,
            count=self.count,
            head=b"h" * 32,
        )
        self.group(placed=(placed,), segments=(segment,))


NOISE = Noise(
    lines=(RestlessLine(7, "main/ul/li", Presence(3, 2, 2, 2, 1), text="Dani sajma"),),
    templates=(Template("footer/p", (9, 6), ("Posjeta: ", " danas"), 5, ("number",)),),
    refuted=1,
)


def a_change(
    state: ChangeState = ChangeState.REPORTED, at: datetime = NOW - HOUR, number: int = 77
) -> object:
    def made(watch: WatchId, after: VisitId) -> Change:
        return Change(
            id=ChangeId(number),
            watch=watch,
            kind=ChangeKind.CHANGED,
            state=state,
            before_visit=VisitId(after - 1),
            after_visit=after,
            before_evidence=EvidenceId(after - 1),
            after_evidence=None,
            observed_at=at,
            comparison=Comparison(
                has_changed=True,
                layer=Layer.CONTENT,
                similarity=0.9,
                summary=f"1 line changed: '25' -> '24' {EVIL}",
                diff=DIFF,
                reasons=(Reason("second_look", note="same again"),),
            ),
        )

    return made


def blank(data: Path) -> Path:
    """A migrated store without rows; migrating once is enough for all tests."""
    return _laid(data, _migrated())


def stocked(data: Path, server: PostgresAddress | None = None) -> Stock:
    """A page with a reported change, a feed, a page that robots.txt refuses."""
    if server is not None:
        return _fill(Stock(data, server=server))
    _laid(data, _filled())
    return Stock(data, count=4)


def _laid(data: Path, content: bytes) -> Path:
    make_folder(data)
    make_folder(data / ARCHIVE)
    make_file(data / DATABASE)
    (data / DATABASE).write_bytes(content)
    mend(data)
    return data / DATABASE


@cache
def _migrated() -> bytes:
    with TemporaryDirectory() as folder:
        return _packed(prepare(Path(folder)))


@cache
def _filled() -> bytes:
    with TemporaryDirectory() as folder:
        return _packed(_fill(Stock(Path(folder))).path)


def _packed(path: Path) -> bytes:
    db = connect(path)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    return path.read_bytes()


def _fill(stock: Stock) -> Stock:
    stock.source(RULES, name="rules", risk=Risk.CRITICAL, tier=Risk.HIGH)
    stock.source(NEWS, name="news", lister=ListerKind.FEED)
    stock.source(PRIVATE, name="private")
    stock.visit(RULES, at=NOW - 25 * HOUR, body="PDV 25", title=f"PDV {EVIL}")
    stock.visit(
        RULES,
        at=NOW - HOUR,
        body="PDV 24",
        change=a_change(),
        velocity=0.65,
        scan_count=4,
        last_changed_at=NOW - HOUR,
        due_at=NOW + 6 * HOUR,
        interval=7 * HOUR,
        noise=NOISE,
    )
    stock.visit(NEWS, due_at=NOW - timedelta(minutes=5), interval=4 * HOUR)
    stock.visit(
        PRIVATE,
        outcome=Outcome.ROBOTS_REFUSED,
        detail="Disallow: /private/",
        due_at=NOW + 24 * HOUR,
        interval=24 * HOUR,
    )
    return stock
