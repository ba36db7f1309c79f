"""What leaves the archive: files that expired, and copies for others."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from evidence_kit import NOON, Database, DroppingDisk, PowerCut, keep, located, sample, started, visit
from warcio.archiveiterator import ArchiveIterator

from vedette.contracts.errors import InputError, StoreError
from vedette.contracts.watch import ChainRow, Located
from vedette.core.evidence.segments import expired
from vedette.evidence.archive import Archive
from vedette.evidence.files import Files
from vedette.evidence.heads import HeadEvent, HeadLine, Heads, read_heads
from vedette.evidence.read_records import export
from vedette.evidence.recovery import expire

FIRST = "standard-20261115-0001"
LATER = NOON + timedelta(days=30)


def drop_old(directory, database: Database, files: Files | None = None) -> list[str]:
    heads = Heads(directory, files or Files())
    over = expired(database.segments.values(), {"standard": timedelta(days=7)}, LATER)
    for segment in over:
        stone = expire(segment, heads=heads, now=LATER)
        database.segments[segment.name] = stone.segment
    return [segment.name for segment in over]


def test_an_expired_segment_is_told_from_a_lost_one(tmp_path):
    database = sample(tmp_path)
    dropped = drop_old(tmp_path, database)
    assert FIRST in dropped
    report = database.verify(tmp_path)
    assert report.problems == []
    assert report.expired == len(dropped)
    assert not (tmp_path / f"{FIRST}.warc.gz").exists()


def test_the_chain_goes_on_over_an_expired_segment(tmp_path):
    database = sample(tmp_path)
    drop_old(tmp_path, database)
    archive = started(tmp_path, database)
    keep(archive, database, [visit(number, at=LATER) for number in range(20, 24)])
    archive.close(LATER)
    assert database.verify(tmp_path).is_whole


@pytest.mark.parametrize("seq", [1, 2, 3])
def test_the_rows_of_an_expired_segment_are_still_watched(tmp_path, seq):
    database = sample(tmp_path)
    drop_old(tmp_path, database)
    row = database.rows[FIRST][seq - 1]
    database.rows[FIRST][seq - 1] = replace(row, facts=replace(row.facts, status=999))
    assert [(one.kind, one.seq) for one in database.verify(tmp_path).problems] == [("row", seq)]


def test_a_segment_that_heads_learned_of_only_at_a_restart_expires_as_well(tmp_path):
    database = Database()
    archive = started(tmp_path, database)
    rows = [ChainRow(facts=visit(n).facts, written=archive.append(visit(n))) for n in range(1, 9)]
    database.commit(rows, archive.sync())  # then kill -9, before HEADS
    started(tmp_path, database).close(NOON)
    drop_old(tmp_path, database)
    assert database.verify(tmp_path).is_whole
    row = database.rows[FIRST][0]
    database.rows[FIRST][0] = replace(row, facts=replace(row.facts, status=999))
    assert [(one.kind, one.seq) for one in database.verify(tmp_path).problems] == [("row", 1)]


def test_the_rows_of_an_expired_segment_may_all_go_but_not_some(tmp_path):
    database = sample(tmp_path)
    drop_old(tmp_path, database)
    last = database.rows[FIRST].pop()
    assert not database.verify(tmp_path).is_whole
    database.rows[FIRST].clear()
    assert database.verify(tmp_path).is_whole
    assert last.written.seq == 3


def test_a_tombstone_that_does_not_fit_the_segment_is_found(tmp_path):
    database = sample(tmp_path)
    drop_old(tmp_path, database)
    database.rows[FIRST].clear()
    database.segments[FIRST] = replace(database.segments[FIRST], count=1)
    assert "segment" in {one.kind for one in database.verify(tmp_path).problems}


def test_an_open_segment_does_not_expire(tmp_path):
    database = sample(tmp_path)
    segment = next(one for one in database.segments.values() if one.state == "open")
    with pytest.raises(ValueError, match="still written"):
        expire(segment, heads=Heads(tmp_path, Files()), now=LATER)


def test_expiring_twice_does_no_harm(tmp_path):
    database = sample(tmp_path)
    closed = database.segments[FIRST]
    heads = Heads(tmp_path, Files())
    once = expire(closed, heads=heads, now=LATER)
    twice = expire(closed, heads=heads, now=LATER + timedelta(days=1))
    assert once == twice
    stones = [
        line
        for line in read_heads(tmp_path)
        if isinstance(line, HeadLine) and line.event is HeadEvent.EXPIRED
    ]
    assert len(stones) == 1


def test_a_stop_in_the_middle_of_expiring_never_looks_like_a_loss(tmp_path):
    for stop in range(12):
        directory = tmp_path / str(stop)
        disk = DroppingDisk(directory)
        database = Database()
        archive = started(directory, database, disk)
        keep(archive, database, [visit(number) for number in range(1, 9)])
        closed = database.segments[FIRST]
        disk.stops_before = len(disk.steps) + stop
        try:
            expire(closed, heads=archive.heads, now=LATER)
        except PowerCut:
            disk.crash()
        else:
            break
        assert database.verify(directory).is_whole, stop
        started(directory, database).close(LATER)
        assert database.verify(directory).is_whole, stop
    assert stop > 3


def test_the_archive_can_expire_while_it_writes(tmp_path):
    database = Database()
    archive = started(tmp_path, database)
    keep(archive, database, [visit(number) for number in range(1, 9)])
    stone = expire(database.segments[FIRST], heads=archive.heads, now=LATER)
    database.segments[FIRST] = stone.segment
    keep(archive, database, [visit(9)], now=LATER)
    archive.close(LATER)
    report = database.verify(tmp_path)
    assert report.is_whole
    assert report.expired == 1


def test_a_restart_after_expiry_does_not_miss_the_file(tmp_path):
    database = sample(tmp_path)
    heads = Heads(tmp_path, Files())
    expire(database.segments[FIRST], heads=heads, now=LATER)  # stopped before the commit
    found = Archive(tmp_path).recover(database.segments.values(), now=LATER)
    assert found.damage == ()


def test_an_export_stands_by_itself_and_is_the_same_bytes(tmp_path):
    directory, target = tmp_path / "archive", tmp_path / "out.warc.gz"
    database = sample(directory)
    rows = [row for rows in database.rows.values() for row in rows if row.facts.url.endswith("/1")]
    done = export(directory, map(located, rows), target, software="vedette test", now=NOON)
    assert (done.records, done.size) == (3, target.stat().st_size)
    with open(target, "rb") as file:
        records = []
        for record in ArchiveIterator(file, check_digests="raise"):
            record.content_stream().read()
            records.append((record.rec_type, record.rec_headers.get_header("WARC-Target-URI")))
    url = "https://www.hgk.hr/vijesti/1"
    assert records == [("warcinfo", None), ("response", url), ("revisit", url), ("revisit", url)]
    place = located(rows[0])
    source = (directory / f"{place.segment}.warc.gz").read_bytes()
    assert source[place.offset : place.offset + place.length] in target.read_bytes()


def test_an_export_is_whole_or_not_there(tmp_path):
    directory, target = tmp_path / "archive", tmp_path / "out.warc.gz"
    database = sample(directory)
    good = located(database.rows[FIRST][0])
    with pytest.raises(StoreError):
        export(directory, [good, Located(segment=FIRST, offset=1, length=9)], target, software="x", now=NOON)
    assert [path.name for path in tmp_path.iterdir()] == ["archive"]
    with pytest.raises(InputError, match=r"\.warc\.gz"):
        export(directory, [good], tmp_path / "out.zip", software="x", now=NOON)
    export(directory, [good], target, software="x", now=NOON)
    with pytest.raises(InputError, match="exists"):
        export(directory, [good], target, software="x", now=NOON)
