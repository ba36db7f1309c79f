"""What SQLite adds to the contract: one engine per store, flat claims, values that come back as they went."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from settlements import HOUR, NOON, a_group, a_look, a_watch
from stocked import blank
from store_contract import a_change

from vedette.contracts.change import Noise, Place, Presence, RestlessLine, Template
from vedette.contracts.errors import RefusedError, StoreError
from vedette.contracts.lane import LaneState
from vedette.contracts.source import ListerKind, ListerOptions, ListSelectors, Source
from vedette.contracts.watch import Ask, Seen, Watch
from vedette.contracts.words import (
    ContentClass,
    LaneKey,
    NodeRole,
    NodeType,
    Outcome,
    Risk,
)
from vedette.store import row_columns as columns
from vedette.store import statements
from vedette.store.group import change_seal
from vedette.store.row_columns import WATCH_COLUMNS
from vedette.store.rows import (
    from_ms,
    lane_row,
    opt_iso,
    read_lane,
    read_source,
    read_watch,
    source_row,
    watch_row,
)
from vedette.store.sqlite import Pick, StoreLock, Writer, connect

A = LaneKey("host:a.example")


# one engine per store


def test_the_second_engine_is_refused_with_the_pid_of_the_first(tmp_path: Path):
    first, second = StoreLock(tmp_path / "lock"), StoreLock(tmp_path / "lock")
    first.take("pid 4711 on hermes")
    with pytest.raises(RefusedError, match="in use by pid 4711 on hermes"):
        second.take("pid 4712 on hermes")
    first.release()
    second.take("pid 4712 on hermes")
    second.release()


def test_the_lock_dies_with_its_process(tmp_path: Path):
    code = (
        "import sys, os, pathlib; from vedette.store.sqlite import StoreLock\n"
        "StoreLock(pathlib.Path(sys.argv[1])).take('pid 1')\n"
        "lock = StoreLock(pathlib.Path(sys.argv[2])); lock.take(f'pid {os.getpid()}')\n"
        "print('taken', flush=True); sys.stdin.read()"
    )
    paths = [str(tmp_path / "other"), str(tmp_path / "lock")]
    other = subprocess.Popen(
        [sys.executable, "-c", code, *paths], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "taken\n"
        with pytest.raises(RefusedError, match=f"pid {other.pid}"):
            StoreLock(tmp_path / "lock").take("pid 2")
    finally:
        other.kill()
        other.wait()
    lock = StoreLock(tmp_path / "lock")
    lock.take("pid 2")
    lock.release()


# claims stay flat


@pytest.mark.parametrize(
    "pick", [Pick(), Pick(tier=Risk.HIGH), Pick(fetch_only=True), Pick(discover_only=True)]
)
def test_a_claim_walks_the_queue_index_and_sorts_nothing(tmp_path: Path, pick: Pick):
    plan = _plan(tmp_path, statements.lane_heads(pick.clause()), (1, 2, 3, 4) * statements.HEADS)
    assert sum(step.startswith("SEARCH w") and "INDEX ix_watches_queue" in step for step in plan) == 4
    assert not [step for step in plan if step.startswith("SCAN w") or "TEMP B-TREE" in step]


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        (statements.LANE_NEXT_DUE, (1, 2, 3)),
        (statements.LANES_DUE, ()),
        (statements.WATCHES_BY_ID.format(marks="?,?"), (1, 2)),
        (statements.KNOWN_IDS.format(marks="?,?"), (1, 2)),
        (statements.PAYLOADS.format(marks="?"), (b"",)),
        (statements.MOVE_WATCH, (None,) * statements.MOVE_WATCH.count("?")),
        (statements.SIGNAL, (1, 2, 2, 2, 3, 4)),
    ],
)
def test_no_hot_statement_reads_a_whole_table(tmp_path: Path, statement: str, values: tuple[object, ...]):
    tables = ("watches", "evidence", "leases")
    plan = _plan(tmp_path, statement, values)
    scans = [step for step in plan if step.startswith("SCAN") and any(name in step for name in tables)]
    # MIN() over an index and the first row of a lane are one seek, though SQLite calls them SEARCH or SCAN
    assert [step for step in scans if "USING" not in step] == []


def test_a_claim_reads_as_little_from_a_lane_of_five_thousand_as_from_one_of_fifty(tmp_path: Path):
    steps = {}
    for size in (50, 5000):
        writer = _stored(tmp_path / str(size), *(_due_page(n) for n in range(size)))
        steps[size] = _steps(writer, lambda w=writer: w.claim([Ask(A, 5)], now=NOON, due_by=NOON))
        writer.close()
    assert steps[5000] <= steps[50]


# words for people


def test_a_store_that_someone_else_holds_is_named_and_nothing_is_kept(tmp_path: Path):
    writer = _stored(tmp_path, a_watch())
    writer.connection.execute("PRAGMA busy_timeout = 1")
    other = connect(tmp_path / "vedette.db")
    other.execute("BEGIN IMMEDIATE")
    for call in (
        lambda: writer.settle(a_group(a_look(a_watch(), 1))),
        lambda: writer.take([a_watch().id], now=NOON, until=NOON + HOUR),
        lambda: writer.heartbeat(until=NOON + HOUR),
    ):
        with pytest.raises(StoreError, match="another program holds"):
            call()
    other.execute("ROLLBACK")
    writer.settle(a_group(a_look(a_watch(), 1)))
    writer.close()
    other.close()


def test_a_full_disk_is_named(tmp_path: Path):
    writer = _stored(tmp_path, a_watch())
    pages = writer.connection.execute("PRAGMA page_count").fetchone()[0]
    writer.connection.execute(f"PRAGMA max_page_count = {pages}")
    looks = [a_look(a_watch(), n, bytes(str(n), "ascii")) for n in range(1, 400)]
    with pytest.raises(StoreError, match=r"disk .* is full; free room"):
        writer.settle(a_group(*looks))
    assert writer.connection.execute("SELECT COUNT(*) FROM visits WHERE id < 1000").fetchone() == (0,)
    writer.close()


def test_a_damaged_store_is_named(tmp_path: Path):
    writer = _stored(tmp_path, *(_due_page(n) for n in range(2000)))
    writer.checkpoint()
    writer.close()
    path = tmp_path / "vedette.db"
    content = bytearray(path.read_bytes())
    content[8192:] = b"\xff" * (len(content) - 8192)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="malformed"):
        Writer(path, worker="one").claim([Ask(A, 5)], now=NOON, due_by=NOON)


def test_a_reader_in_another_process_does_not_hold_up_a_checkpoint(tmp_path: Path):
    """SQLite waits for readers in every other kind of checkpoint, up to the busy timeout."""
    writer = _stored(tmp_path, a_watch())
    reader = connect(tmp_path / "vedette.db", read_only=True)
    reader.execute("BEGIN")
    reader.execute("SELECT COUNT(*) FROM visits").fetchone()
    writer.settle(a_group(a_look(a_watch(), 1)))
    waits: list[str] = []
    writer.connection.set_trace_callback(waits.append)
    writer.checkpoint()
    assert waits == ["PRAGMA wal_checkpoint(PASSIVE)"]
    reader.close()
    writer.close()


# values come back as they went

moments = st.integers(0, 4_102_444_800_000).map(from_ms)
texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
keys = st.integers(0, 2**63 - 1)
small = st.integers(0, 10_000)
maybe = st.none


def _or_none(values):
    return maybe() | values


seens = st.builds(
    Seen,
    visit=keys,
    evidence=keys,
    at=moments,
    digest=st.binary(min_size=32, max_size=32),
    text_key=keys,
    simhash=keys,
    text_chars=small,
    content_class=st.sampled_from(ContentClass),
)
presences = st.builds(Presence, small, small, small, small, st.integers(-99, 99))
noises = st.builds(
    Noise,
    lines=st.lists(st.builds(RestlessLine, keys, texts, presences, keys, texts), max_size=2).map(tuple),
    templates=st.lists(
        st.builds(
            Template,
            texts,
            st.tuples(small, small),
            st.tuples(texts, texts),
            keys,
            st.tuples(st.sampled_from(["number", "date"])),
            presences,
            st.tuples(keys),
            small,
        ),
        max_size=2,
    ).map(tuple),
    places=st.lists(st.builds(Place, texts, small, small, small), max_size=2).map(tuple),
    orders=st.lists(texts, max_size=2).map(tuple),
    wild=st.lists(texts, max_size=2).map(tuple),
    agreed=small,
    refuted=small,
    quick=small,
    begun_at=st.integers(-1, 99),
    edited_at=small,
    replaced=st.lists(keys, max_size=2).map(tuple),
)
urls = st.sampled_from(["https://a.example/1", "http://b.example:8080/x?y=1", "https://xn--e-1ga.example/"])
watches = st.builds(
    lambda url, **more: a_watch(url, **more),
    urls,
    source=texts,
    lister=_or_none(st.sampled_from(ListerKind)),
    depth=small,
    parent=_or_none(keys),
    title=texts,
    node_type=st.sampled_from(NodeType),
    node_role=_or_none(st.sampled_from(NodeRole)),
    risk=st.sampled_from(Risk),
    velocity=st.floats(0, 1),
    scan_count=small,
    last_changed_at=_or_none(moments),
    due_at=_or_none(moments),
    interval=st.integers(0, 10**8).map(lambda s: timedelta(seconds=s)),
    created_at=moments,
    published_at=_or_none(moments),
    modified_at=_or_none(moments),
    last_visit_at=_or_none(moments),
    last_outcome=_or_none(st.sampled_from(Outcome)),
    attempt=small,
    etag=_or_none(texts),
    last_modified=_or_none(texts),
    seen=_or_none(seens),
    noise=noises,
    pending=_or_none(keys),
    is_gone=st.booleans(),
    canonical=_or_none(keys),
    merged_into=_or_none(keys),
    audit=_or_none(st.integers(0, 10**7).map(lambda s: timedelta(seconds=s))),
    belief=_or_none(st.binary(min_size=28, max_size=28)),
)
lanes = st.builds(
    LaneState,
    next_start_at=_or_none(moments),
    bucket_at=_or_none(moments),
    failures=small,
    recent=st.integers(0, 2**62),
    recent_count=st.integers(0, 62),
    closed_until=_or_none(moments),
    held_until=_or_none(moments),
    blocked_by=texts,
    crawl_delay=_or_none(st.integers(0, 10**8).map(lambda ms: timedelta(milliseconds=ms))),
)
options = st.builds(
    ListerOptions,
    url_pattern=_or_none(texts),
    include=st.lists(texts, max_size=2).map(tuple),
    exclude=st.lists(texts, max_size=2).map(tuple),
    start_date=_or_none(moments),
    end_date=_or_none(moments),
    sitemap_types=st.lists(small, max_size=2).map(tuple),
    max_depth=small,
    max_urls=_or_none(small),
    max_pages=small,
    pagination_pattern=_or_none(texts),
    selectors=_or_none(st.builds(ListSelectors, item=texts, link=texts)),
    requires_headless=st.booleans(),
    follow_hosts=st.lists(texts, max_size=2).map(tuple),
    honour_nofollow=st.booleans(),
)
sources = st.builds(
    Source,
    id=texts,
    name=texts,
    url=urls,
    lister=st.sampled_from(ListerKind),
    options=options,
    risk=_or_none(st.sampled_from(Risk)),
    tier=st.sampled_from(Risk),
    is_active=st.booleans(),
    scrape_frequency=_or_none(st.integers(0, 10**7).map(lambda s: timedelta(seconds=s))),
    retention=texts,
    fetch=st.fixed_dictionaries(
        {},
        optional={
            "user_agent": texts,
            "redirects": small,
            "allow_ports": st.lists(small).map(tuple),
            "headers": st.lists(st.tuples(texts, texts)).map(tuple),
            "read_timeout": st.integers(1, 10**6).map(lambda ms: timedelta(milliseconds=ms)),
        },
    ).map(lambda settings: tuple(settings.items())),
    origin=texts,
)


@given(watches)
def test_a_watch_comes_back_from_its_row(watch: Watch):
    assert read_watch(_through_sqlite("watches", WATCH_COLUMNS, watch_row(watch))) == watch


@given(lanes)
def test_a_lane_comes_back_from_its_row_with_nothing_under_way(state: LaneState):
    row = _through_sqlite("lanes", columns.LANE_COLUMNS, lane_row(A, replace(state, under_way=3)))
    assert read_lane(row) == (A, state)


@given(sources)
def test_a_source_comes_back_from_its_row(source: Source):
    row = _through_sqlite("sources", columns.SOURCE_COLUMNS, source_row(source, now=NOON))
    assert read_source(row)[0] == source


def test_the_strategies_above_vary_every_field():
    """A new field of a contract must not slip past the round trips."""
    one = a_watch()
    plain = {"id", "url", "lane"}
    given_fields = {field.name for field in fields(Watch)} - plain
    varied = set("source lister depth parent title node_type node_role risk velocity scan_count last_changed_at due_at"
                 " interval created_at published_at modified_at last_visit_at last_outcome attempt etag last_modified"
                 " seen noise pending is_gone canonical merged_into audit belief".split())  # fmt: skip
    assert given_fields == varied
    assert one.lane == A


def test_the_seal_covers_what_a_change_says_and_not_how_it_fares(tmp_path: Path):
    writer = _stored(tmp_path, a_watch())
    writer.settle(a_group(a_look(a_watch(), 1, change=a_change(a_watch()))))
    names = columns.CHANGE_COLUMNS
    row = writer.connection.execute(f"SELECT {', '.join(names)} FROM changes").fetchone()
    writer.close()
    assert row[names.index("seal")] == change_seal(row)
    for position, name in enumerate(names[:-1]):
        altered = (*row[:position], "altered", *row[position + 1 :])
        is_free = name in ("state", "decided_at", "reasons")
        assert (change_seal(altered) == row[names.index("seal")]) is is_free, name


# what they share


def _plan(data: Path, statement: str, values: tuple[object, ...]) -> list[str]:
    db = connect(blank(data))
    try:
        return [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
    finally:
        db.close()


def _due_page(number: int) -> Watch:
    return a_watch(f"https://a.example/{number}", due_at=NOON - HOUR + timedelta(seconds=number % 3000))


def _stored(data: Path, *watches: Watch) -> Writer:
    data.mkdir(exist_ok=True)
    writer = Writer(blank(data), worker="one")
    listing = a_look(a_watch("https://list.example/", due_at=None), 900_000, None, found=watches)
    writer.settle(a_group(listing))
    return writer


def _steps(writer: Writer, call) -> int:
    """How many steps of its machine SQLite needs: a measure of work that no other process disturbs."""
    count = 0

    def counted() -> int:
        nonlocal count
        count += 1
        return 0

    call()  # the statement is compiled
    writer.connection.set_progress_handler(counted, 1)
    call()
    writer.connection.set_progress_handler(None, 1)
    return count


@cache
def _scratch():
    folder = TemporaryDirectory()
    db = connect(blank(Path(folder.name)))
    db.execute("PRAGMA synchronous = OFF")
    return db, folder


def _through_sqlite(table: str, columns: list[str], row: tuple[object, ...]) -> tuple[object, ...]:
    db, _ = _scratch()
    db.execute("BEGIN")
    try:
        db.execute(statements.insert(table, columns), row)
        return db.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchone()
    finally:
        db.execute("ROLLBACK")


@given(st.integers(min_value=-30_000_000_000_000, max_value=200_000_000_000_000))
def test_a_time_written_from_the_stores_number_reads_as_any_other(ms: int):
    assert opt_iso(ms) == from_ms(ms).isoformat()
