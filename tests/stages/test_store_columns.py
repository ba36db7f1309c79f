"""A row becomes a value by the names of its columns, wherever they stand."""

from __future__ import annotations

import random
import sqlite3
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.change import Noise
from vedette.contracts.source import ListerKind
from vedette.contracts.watch import Seen, Watch
from vedette.contracts.words import (
    ContentClass,
    EvidenceId,
    LaneKey,
    NodeRole,
    Outcome,
    Risk,
    SourceId,
    VisitId,
    WatchId,
)
from vedette.store import rows
from vedette.store.connection import IN_AT_ONCE, in_parts
from vedette.store.row_columns import WATCH_COLUMNS, Part, StoredWords, reader, writer

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
SEEN = Seen(
    visit=VisitId(7),
    evidence=EvidenceId(8),
    at=NOW,
    digest=b"d" * 32,
    text_key=9,
    simhash=10,
    text_chars=11,
    content_class=ContentClass.HTML,
)
FULL = Watch(
    id=WatchId(1),
    url="http://h.hr/a",
    lane=LaneKey("host:h.hr"),
    source=SourceId("s"),
    lister=ListerKind.FEED,
    depth=2,
    parent=WatchId(3),
    title="t",
    node_role=next(iter(NodeRole)),
    risk=Risk.CRITICAL,
    velocity=0.25,
    scan_count=4,
    last_changed_at=NOW,
    due_at=NOW + timedelta(hours=1),
    interval=timedelta(hours=5),
    created_at=NOW,
    published_at=NOW,
    modified_at=NOW,
    last_visit_at=NOW,
    last_outcome=Outcome.OK,
    attempt=1,
    etag='"e"',
    last_modified="d",
    seen=SEEN,
    noise=Noise(),
    is_gone=True,
    canonical=WatchId(5),
    merged_into=WatchId(6),
    audit=timedelta(hours=2),
    belief=b"b",
)


@given(st.randoms(use_true_random=False))
def test_a_watch_comes_back_in_whatever_order_its_columns_stand(chance: random.Random) -> None:
    columns = chance.sample(WATCH_COLUMNS, len(WATCH_COLUMNS))
    row = writer(columns, **rows._WATCH)(FULL)
    assert dict(zip(columns, row, strict=True)) == dict(zip(WATCH_COLUMNS, rows.watch_row(FULL), strict=True))
    read = reader(Watch, columns, **rows._WATCH_FIELDS)
    assert read(row) == FULL == rows.read_watch(rows.watch_row(FULL))


def test_every_field_of_a_watch_is_kept() -> None:
    plain = Watch(id=FULL.id, url=FULL.url, lane=FULL.lane, source=FULL.source, created_at=NOW)
    differs = {name for name in Watch.__dataclass_fields__ if getattr(FULL, name) != getattr(plain, name)}
    same = set(Watch.__dataclass_fields__) - differs
    assert same <= {"id", "url", "lane", "source", "created_at", "node_type", "noise", "pending"}
    assert rows.read_watch(rows.watch_row(plain)) == plain


def test_a_column_that_is_not_selected_is_an_error_at_once() -> None:
    with pytest.raises(KeyError, match="etag"):
        reader(dict, ["id"], id="id", etag="etag")
    with pytest.raises(KeyError, match="etag"):
        reader(dict, ["id"], part=Part(dict, etag="etag"))
    with pytest.raises(KeyError, match="etag"):
        writer(["id", "etag"], id="id")


def test_a_row_with_a_column_too_many_or_too_few_is_no_row() -> None:
    read = reader(dict, ["a", "b"], a="a", b="b")
    for row in ((1,), (1, 2, 3)):
        with pytest.raises(ValueError, match="unpack"):
            read(row)


def test_several_columns_make_one_field_and_a_part_may_be_missing() -> None:
    read = reader(
        dict, ["a", "b", "c"], both=(("c", "a"), lambda c, a: (c, a)), part=Part(dict, b="b", a=("a", str))
    )
    assert read((1, 2, 3)) == {"both": (3, 1), "part": {"b": 2, "a": "1"}}
    assert read((1, None, 3)) == {"both": (3, 1), "part": None}


def test_a_word_that_nobody_knows_is_named() -> None:
    words = StoredWords(Outcome)
    assert (words["ok"], words[None], words[""]) == (Outcome.OK, None, None)
    with pytest.raises(ValueError, match="well"):
        words["well"]


@pytest.mark.parametrize("count", [0, 1, IN_AT_ONCE, IN_AT_ONCE + 1, 3 * IN_AT_ONCE])
def test_however_many_keys_are_asked_for_each_is_answered_once(count: int) -> None:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, odd INTEGER)")
    db.executemany("INSERT INTO t VALUES (?, ?)", [(n, n % 2) for n in range(4 * IN_AT_ONCE)])
    found = in_parts(db, "SELECT id FROM t WHERE id IN ({marks}) AND odd = ?", range(count), 1)
    assert [n for (n,) in found] == [n for n in range(count) if n % 2]
    db.close()
