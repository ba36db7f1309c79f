from __future__ import annotations

import errno
import os
from dataclasses import replace
from datetime import timedelta

import pytest
from evidence_kit import (
    NOON,
    SMALL,
    Database,
    DroppingDisk,
    FullDisk,
    NoFiles,
    PowerCut,
    again,
    keep,
    not_modified,
    nothing,
    sample,
    started,
    visit,
)

from vedette.contracts.errors import StoreError, StoreWaitError
from vedette.contracts.watch import ChainRow
from vedette.evidence.archive import Archive, ArchiveSettings
from vedette.evidence.files import Files
from vedette.evidence.heads import HeadEvent, read_heads

FIRST = "standard-20261115-0001"


def states(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.name != "HEADS"}


def test_places_follow_each_other_and_a_visit_without_record_takes_only_a_link(tmp_path):
    archive = started(tmp_path, Database())
    one, none, two = (archive.append(entry) for entry in (visit(1), nothing(2), visit(3)))
    assert (one.seq, none.seq, two.seq) == (1, 2, 3)
    assert (none.offset, none.length, none.record_digest) == (None, None, None)
    assert two.offset == one.offset + one.length
    assert len({one.chain, none.chain, two.chain}) == 3
    (segment,) = archive.sync()
    assert (segment.count, segment.head, segment.size) == (3, two.chain, two.offset + two.length)
    assert (tmp_path / f"{FIRST}.warc.gz").stat().st_size == segment.size


def test_segments_part_by_class_by_day_and_by_size(tmp_path):
    database = Database()
    archive = started(tmp_path, database)
    keep(archive, database, [visit(1), visit(2, retention="short")])
    keep(archive, database, [visit(3, at=NOON + timedelta(days=1))])
    keep(archive, database, [visit(4, at=NOON + timedelta(days=1), body=os.urandom(3000)), visit(5)])
    assert [(one.name, one.state, one.count) for one in database.segments.values()] == [
        ("standard-20261115-0001", "closed", 1),
        ("short-20261115-0001", "open", 1),
        ("standard-20261116-0001", "closed", 2),
        ("standard-20261116-0002", "open", 1),  # a late visit of the 15th goes where we write now
    ]
    assert database.verify(tmp_path).is_whole


def test_a_class_that_fell_silent_is_closed_when_its_day_is_over(tmp_path):
    database = Database()
    archive = started(tmp_path, database)
    keep(archive, database, [visit(1)])
    archive.roll(NOON + timedelta(hours=1))
    assert archive.sync() == ()
    archive.roll(NOON + timedelta(days=1))
    keep(archive, database, [])
    assert database.segments[FIRST].state == "closed"
    keep(archive, database, [visit(2)])
    assert database.segments["standard-20261115-0002"].count == 1
    assert database.verify(tmp_path).is_whole


def test_a_restart_goes_on_in_the_same_segment(tmp_path):
    database = Database()
    for number in range(1, 4):
        archive = started(tmp_path, database, settings=ArchiveSettings())
        keep(archive, database, [visit(number)])
        archive.close(NOON)
    assert database.segments[FIRST].count == 3
    assert database.verify(tmp_path).is_whole


def test_a_rollback_leaves_files_and_heads_as_they_were_committed(tmp_path):
    database = Database()
    archive = started(tmp_path, database)
    keep(archive, database, [visit(1)])
    before, committed = states(tmp_path), dict(database.segments)
    for number in range(2, 9):  # over the end of the segment, into two more
        archive.append(visit(number))
    archive.append(visit(9, retention="short"))
    assert len(archive.sync()) > 3
    archive.rollback()
    assert states(tmp_path) == before
    keep(archive, database, [visit(2)])
    assert database.segments[FIRST].count == 2
    assert committed[FIRST].count == 1
    assert database.verify(tmp_path).is_whole


def test_a_rollback_of_the_first_segments_ever_leaves_nothing(tmp_path):
    database = Database()
    archive = started(tmp_path, database)
    for number in range(1, 9):
        archive.append(visit(number))
    archive.rollback()
    assert states(tmp_path) == {}
    keep(archive, database, [visit(1)])
    assert database.verify(tmp_path).is_whole


def test_after_sync_only_committed_or_rollback_may_follow(tmp_path):
    archive = Archive(tmp_path)
    with pytest.raises(RuntimeError):
        archive.append(visit(1))
    archive.recover([], now=NOON)
    archive.append(visit(1))
    with pytest.raises(RuntimeError):
        archive.committed(NOON)
    archive.sync()
    with pytest.raises(RuntimeError):
        archive.append(visit(2))
    archive.committed(NOON)
    archive.append(visit(2))


def test_closing_drops_what_was_not_committed(tmp_path):
    database = Database()
    archive = started(tmp_path, database)
    keep(archive, database, [visit(1)])
    before = states(tmp_path)
    archive.append(visit(2))
    archive.close(NOON)
    assert states(tmp_path) == before
    with pytest.raises(StoreError, match="closed"):
        archive.append(visit(3))


@pytest.mark.parametrize("room", range(0, 2400, 160))
def test_a_full_disk_leaves_nothing_half_written_and_goes_on_when_there_is_room(tmp_path, room):
    database = Database()
    disk = FullDisk(10**6)
    archive = started(tmp_path, database, disk)
    keep(archive, database, [visit(1)])
    before, disk.room = states(tmp_path), room
    with pytest.raises(StoreError, match="free space"):
        keep(archive, database, [visit(number) for number in range(2, 9)])
    assert states(tmp_path) == before
    disk.room = 10**6
    keep(archive, database, [visit(number) for number in range(2, 9)])
    assert database.verify(tmp_path).is_whole


@pytest.mark.parametrize("group", [1, 7])
def test_without_a_file_to_open_the_archive_waits_says_why_and_loses_nothing(tmp_path, group):
    """In the middle of a group, and (one visit, a minute later) when only HEADS has something to write."""
    database, disk = Database(), NoFiles()
    archive = started(tmp_path, database, disk)
    keep(archive, database, [visit(1)])
    before, disk.is_out = states(tmp_path), True
    entries = [visit(number) for number in range(2, 2 + group)]
    later = NOON + timedelta(hours=1)
    if group > 1:
        with pytest.raises(StoreWaitError, match="too many open files: raise ulimit -n or lower run"):
            keep(archive, database, entries, now=later)
        assert states(tmp_path) == before
    else:
        keep(archive, database, entries, now=later)
    disk.is_out = False
    keep(archive, database, entries if group > 1 else [visit(9)], now=later)
    archive.close(later)
    assert database.verify(tmp_path).is_whole


def test_a_failed_sync_stops_the_archive_until_the_next_start(tmp_path):
    class Failing(Files):
        fails = False

        def fdatasync(self, handle: int) -> None:
            if self.fails:
                raise OSError(errno.EIO, "Input/output error")
            super().fdatasync(handle)

    database, disk = Database(), Failing()
    archive = started(tmp_path, database, disk)
    keep(archive, database, [visit(1)])
    before = states(tmp_path)
    archive.append(visit(2))
    disk.fails = True
    with pytest.raises(StoreError, match="check the disk"):
        archive.sync()
    disk.fails = False
    assert states(tmp_path) == before
    with pytest.raises(StoreError, match="check the disk"):
        archive.append(visit(2))
    keep(started(tmp_path, database), database, [visit(2)])
    assert database.verify(tmp_path).is_whole


def test_heads_are_anchored_at_once_then_now_and_then_and_at_the_end(tmp_path):
    database = Database()
    archive = started(tmp_path, database, settings=ArchiveSettings(anchor_every=timedelta(seconds=60)))
    for number, seconds in enumerate((0, 20, 59, 61, 70), start=1):
        keep(archive, database, [visit(number)], now=NOON + timedelta(seconds=seconds))
    archive.close(NOON + timedelta(seconds=80))
    lines = [(line.event, line.segment.count) for line in read_heads(tmp_path)]
    assert lines == [
        (HeadEvent.BEGUN, 0),
        (HeadEvent.OPENED, 0),
        (HeadEvent.ANCHOR, 1),
        (HeadEvent.ANCHOR, 4),
        (HeadEvent.ANCHOR, 5),
    ]


def test_the_order_on_disk_is_archive_then_sync_then_commit(tmp_path):
    database, disk = Database(), DroppingDisk(tmp_path)
    archive = started(tmp_path, database, disk)
    disk.steps.clear()
    written = archive.append(visit(1))
    segments = archive.sync()
    disk.step("commit")
    database.commit([ChainRow(facts=visit(1).facts, written=written)], segments)
    archive.committed(NOON)
    order = [step for step in disk.steps if not step.startswith("create")]
    assert order == ["write", "write", "fdatasync", "fsync_directory", "commit", "write", "fdatasync"]


@pytest.mark.parametrize("leak", [0.0, 0.5, 1.0])
def test_whenever_the_power_goes_everything_committed_is_there(tmp_path, leak):
    """The plug is pulled before every single call to the disk, one run each."""
    steps = _live(tmp_path / "whole", Database(), DroppingDisk(tmp_path / "whole"))
    assert len(steps) > 30
    for stop in range(len(steps)):
        directory = tmp_path / f"cut{stop}"
        database, disk = Database(), DroppingDisk(directory, stops_before=stop)
        with pytest.raises(PowerCut):
            _live(directory, database, disk)
        disk.crash(leak)
        archive = started(directory, database)
        report = database.verify(directory)
        assert report.is_whole, (stop, steps[stop], report.problems)
        assert report.records == sum(
            one.written.offset is not None for rows in database.rows.values() for one in rows
        )
        keep(archive, database, [visit(50), visit(51)])
        archive.close(NOON)
        assert database.verify(directory).is_whole


def _live(directory, database: Database, disk: DroppingDisk) -> list[str]:
    """A short life: groups, a restart in between, segments that fill up, a rollback."""
    first = visit(1)
    groups = [
        [first, nothing(2)],
        [visit(3), again(first, 1004)],
        [visit(5), visit(6), visit(7, retention="short")],
    ]
    for entries in groups:
        archive = started(directory, database, disk)
        _keep(archive, database, disk, entries)
        archive.append(visit(40))
        archive.rollback()
        _keep(archive, database, disk, [not_modified(first, 1000 + len(disk.steps)), visit(8)])
        archive.close(NOON)
    return disk.steps


def _keep(archive: Archive, database: Database, disk: DroppingDisk, entries) -> None:
    rows = [ChainRow(facts=entry.facts, written=archive.append(entry)) for entry in entries]
    segments = archive.sync()
    disk.step("commit")
    database.commit(rows, segments)
    archive.committed(NOON)


def test_a_tail_cut_at_any_byte_is_cut_away_and_nothing_committed_is_touched(tmp_path):
    database = Database()
    archive = started(tmp_path / "origin", database)
    keep(archive, database, [visit(1), visit(2)])
    path = tmp_path / "origin" / f"{FIRST}.warc.gz"
    committed = path.read_bytes()
    archive.append(visit(3))
    archive.append(visit(4))
    whole, heads = path.read_bytes(), (tmp_path / "origin" / "HEADS").read_bytes()
    for size in range(len(committed), len(whole) + 1):
        directory = tmp_path / f"cut{size}"
        directory.mkdir()
        (directory / "HEADS").write_bytes(heads)
        (directory / path.name).write_bytes(whole[:size])
        recovered = Archive(directory, SMALL)
        found = recovered.recover(database.segments.values(), now=NOON)
        assert dict(found.cut).get(FIRST, 0) == size - len(committed)
        assert (directory / path.name).read_bytes() == committed
        recovered.close(NOON)
    assert database.verify(directory).is_whole


def test_a_file_shorter_than_committed_is_damage_and_nothing_is_changed(tmp_path):
    database = sample(tmp_path)
    (name,) = (
        one.name for one in database.segments.values() if one.state == "open" and one.retention == "standard"
    )
    path = tmp_path / f"{name}.warc.gz"
    path.write_bytes(path.read_bytes()[:-1])
    before = states(tmp_path)
    with pytest.raises(StoreError, match=r"were committed.*Restore.*backup"):
        Archive(tmp_path, SMALL).recover(database.segments.values(), now=NOON)
    assert states(tmp_path) == before


def test_damage_can_be_set_aside_and_stays_on_record(tmp_path):
    database = sample(tmp_path)
    (name,) = (
        one.name for one in database.segments.values() if one.state == "open" and one.retention == "standard"
    )
    (tmp_path / f"{name}.warc.gz").unlink()
    archive = Archive(tmp_path, SMALL)
    found = archive.recover(database.segments.values(), now=NOON, set_aside_damaged=True)
    assert [one.segment for one in found.damage] == [name]
    keep(archive, database, [visit(20)])
    assert database.segments[name].state == "closed"
    archive.close(NOON)
    started(tmp_path, database).close(NOON)
    report = database.verify(tmp_path)
    assert [(one.kind, one.segment) for one in report.problems] == [("missing", name)]


def test_a_database_older_than_heads_is_refused_before_anything_is_cut(tmp_path):
    database = Database()
    archive = started(tmp_path, database)
    keep(archive, database, [visit(1)])
    old = dict(database.segments)
    keep(archive, database, [visit(2)], now=NOON + timedelta(minutes=5))
    archive.close(NOON)
    before = states(tmp_path)
    for segments in (old.values(), ()):
        with pytest.raises(StoreError, match="HEADS has"):
            Archive(tmp_path, SMALL).recover(segments, now=NOON)
    assert states(tmp_path) == before


def test_an_operator_may_go_on_with_an_old_database_and_is_not_asked_again(tmp_path):
    database = Database()
    archive = started(tmp_path, database)
    keep(archive, database, [visit(1)])
    old = Database()
    old.commit(database.rows[FIRST], database.segments.values())
    keep(archive, database, [visit(number) for number in range(2, 9)])
    archive.close(NOON)
    before = states(tmp_path)
    archive = Archive(tmp_path, SMALL)
    found = archive.recover(old.segments.values(), now=NOON, set_aside_damaged=True)
    assert len(found.damage) == len(database.segments)
    assert found.cut == found.orphans == ()
    keep(archive, old, [visit(20)])
    archive.close(NOON)
    assert states(tmp_path).items() >= before.items()
    started(tmp_path, old).close(NOON)
    assert not old.verify(tmp_path).is_whole


def test_heads_are_lasting_before_the_first_segment(tmp_path):
    disk = DroppingDisk(tmp_path)
    started(tmp_path, Database(), disk)
    disk.crash()
    assert [line.event for line in read_heads(tmp_path)] == [HeadEvent.BEGUN]


def test_missing_heads_are_refused(tmp_path):
    database = sample(tmp_path)
    (tmp_path / "HEADS").unlink()
    with pytest.raises(StoreError, match="HEADS: is missing"):
        Archive(tmp_path, SMALL).recover(database.segments.values(), now=NOON)


def test_a_file_that_was_never_committed_is_set_aside_and_not_deleted(tmp_path):
    database = Database()
    archive = started(tmp_path, database)
    archive.append(visit(1))
    orphan = (tmp_path / f"{FIRST}.warc.gz").read_bytes()
    (tmp_path / "notes.warc.gz").write_bytes(b"not ours")
    for count in ("", "1"):
        archive = Archive(tmp_path, SMALL)
        assert archive.recover([], now=NOON).orphans == (f"{FIRST}.warc.gz.orphan{count}",)
        assert (tmp_path / f"{FIRST}.warc.gz.orphan{count}").read_bytes() == orphan
        archive.append(visit(1))
    assert (tmp_path / "notes.warc.gz").exists()


def test_an_unfinished_last_line_of_heads_is_cut_at_the_next_start(tmp_path):
    database = sample(tmp_path)
    with open(tmp_path / "HEADS", "ab") as file:
        file.write(b"2026-11-15T12:00:00.0000")
    (problem,) = database.verify(tmp_path).problems
    assert "crash" in problem.words
    started(tmp_path, database).close(NOON)
    assert database.verify(tmp_path).is_whole


def test_two_writers_are_noticed(tmp_path):
    database = Database()
    archive = started(tmp_path, database)
    keep(archive, database, [visit(1)])
    with open(tmp_path / "HEADS", "ab") as file:
        file.write(b"someone else\n")
    with pytest.raises(StoreError, match="someone else"):
        keep(archive, database, [visit(2)], now=NOON + timedelta(hours=1))


def test_a_closed_segment_that_lost_its_file_is_named_but_does_not_stop_the_start(tmp_path):
    database = sample(tmp_path)
    closed = next(one for one in database.segments.values() if one.state == "closed")
    (tmp_path / f"{closed.name}.warc.gz").unlink()
    found = Archive(tmp_path, SMALL).recover(database.segments.values(), now=NOON)
    assert [one.segment for one in found.damage] == [closed.name]


def test_a_segment_row_with_a_name_that_is_a_path_is_refused(tmp_path):
    database = sample(tmp_path)
    evil = replace(next(iter(database.segments.values())), name="../../evil", state="open", size=0)
    with pytest.raises(StoreError):
        Archive(tmp_path, SMALL).recover([*database.segments.values(), evil], now=NOON)
