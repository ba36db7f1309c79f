"""Evidence in a bucket of an S3-compatible store: the promises of the disk, and a bucket that goes away."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from bucket_kit import BucketServer, bucket_server
from evidence_kit import NOON, SMALL, Database, keep, located, sample, visit
from warcio.archiveiterator import ArchiveIterator

from vedette.contracts.copies import replace
from vedette.contracts.errors import StoreError, StoreWaitError
from vedette.contracts.words import ObjectPlace
from vedette.evidence import object_files
from vedette.evidence.archive import Archive
from vedette.evidence.files import Files, StorageAway, files_of, write_all
from vedette.evidence.object_files import ObjectFiles
from vedette.evidence.read_records import export, read_payload
from vedette.evidence.recovery import expire

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def server() -> Iterator[BucketServer]:
    with bucket_server() as found:
        yield found


@pytest.fixture
def place(server: BucketServer) -> ObjectPlace:
    return server.bucket(f"evidence-{next(_NUMBERS)}")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_files, "ANSWERS_S", 1)
    object_files._files.cache_clear()


def begun(place: ObjectPlace, database: Database, files: Files | None = None) -> Archive:
    archive = Archive(place, SMALL, files)
    archive.recover(database.segments.values(), now=NOON)
    return archive


def test_what_was_kept_in_a_bucket_is_read_back_verified_exported_and_dropped(
    tmp_path: Path, place: ObjectPlace
):
    database = sample_in(place)
    report = database.verify(place)
    assert (report.problems, report.visits) == ([], 10)
    on_disk = sample(tmp_path / "disk").verify(tmp_path / "disk")
    assert (report.records, report.bytes_read) == (on_disk.records, on_disk.bytes_read)  # the same bytes
    row = database.rows["standard-20261115-0001"][0]
    assert read_payload(place, located(row)).wire == b"<html><p>page 1</p></html>"
    places = [
        located(one) for rows in database.rows.values() for one in rows if one.written.offset is not None
    ]
    done = export(place, places, tmp_path / "all.warc.gz", software="test", now=NOON)
    assert done.records == len(places)
    again = begun(place, database)
    again.roll(NOON + timedelta(days=2))
    database.commit([], again.sync())
    again.committed(NOON)
    gone = database.segments["short-20261115-0001"]
    expire(gone, heads=again.heads, now=NOON, commit=lambda state: database.commit([], [state]))
    again.close(NOON)
    report = database.verify(place)
    assert (report.problems, report.expired) == ([], 1)


def test_pieces_become_one_object_that_any_tool_reads_and_nothing_else_changes(place: ObjectPlace):
    database = sample_in(place)
    files = files_of(place)
    before = {name: files.size(place / name) for name in files.sizes(place)}
    assert set(files.in_pieces(place)) == set(before)
    for name in files.in_pieces(place):
        assert files.gather(place / name)
        assert not files.gather(place / name)
    assert files.in_pieces(place) == []
    assert {name: files.size(place / name) for name in files.sizes(place)} == before
    assert database.verify(place).problems == []
    with files.reader(place / "standard-20261115-0001.warc.gz") as file:
        records = [one.rec_type for one in ArchiveIterator(io.BytesIO(file.read()))]
    assert records[0] == "warcinfo"
    assert "response" in records
    archive = begun(place, database)  # and it goes on behind the whole
    keep(archive, database, [visit(50), visit(51)])
    archive.close(NOON)
    assert database.verify(place).problems == []


def test_a_stop_while_pieces_become_one_leaves_every_byte(
    place: ObjectPlace, monkeypatch: pytest.MonkeyPatch
):
    database = sample_in(place)
    files = files_of(place)

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    name = place / "standard-20261115-0001.warc.gz"
    with monkeypatch.context() as patch:
        patch.setattr(files, "_delete", stopped)
        with pytest.raises(KeyboardInterrupt):
            files.gather(name)
    assert database.verify(place).problems == []
    assert files.gather(name)
    assert database.verify(place).problems == []


def test_a_large_file_goes_up_in_parts(place: ObjectPlace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(object_files, "PIECE", 5 * 1024 * 1024)
    files = files_of(place)
    path, data = place / "HEADS-w1", bytes(range(256)) * (13 * 1024 * 4)  # 13 MiB
    handle = files.create(path)
    for start in range(0, len(data), 3_000_000):
        write_all(files, handle, data[start : start + 3_000_000], start)
        files.fdatasync(handle)
    assert files.gather(path)
    with files.reader(path) as file:
        assert file.read() == data
    assert files.read_at(path, 2_999_990, 20) == data[2_999_990:3_000_010]


@pytest.mark.parametrize("stop", range(12))
def test_whenever_the_process_stops_what_was_committed_is_there_and_the_rest_is_cut(
    place: ObjectPlace, stop: int
):
    database = Database()
    files = StoppingFiles(place, stop)
    committed = 0
    try:
        archive = begun(place, database, files)
        for number in range(1, 9, 2):
            keep(archive, database, [visit(number), visit(number + 1)])
            committed = number + 1
    except Stopped:
        pass
    again = begun(place, database)
    keep(again, database, [visit(100)])
    again.close(NOON)
    report = database.verify(place)
    assert report.problems == []
    assert report.visits in (committed + 1, committed + 3)


class Stopped(BaseException):
    """The process is gone."""


class StoppingFiles(ObjectFiles):
    """A process that is gone before, or right after, the bucket took a piece."""

    def __init__(self, place: ObjectPlace, stop: int) -> None:
        super().__init__(place.bucket)
        self.left = stop

    def fdatasync(self, handle: int) -> None:
        self._step()
        super().fdatasync(handle)
        self._step()

    def _step(self) -> None:
        if self.left == 0:
            raise Stopped
        self.left -= 1


def test_a_bucket_that_goes_away_is_waited_for_and_nothing_acknowledged_is_lost(
    server: BucketServer, place: ObjectPlace, impatient: None
):
    database = Database()
    archive = begun(place, database)
    keep(archive, database, [visit(1)])
    away = replace(place, bucket=replace(place.bucket, name="no-such-bucket"))
    files = archive._files
    there, gone = files._store, ObjectFiles(away.bucket)._store
    files._store = gone
    entries = [visit(2), visit(3, retention="short")]  # one file goes on, one would be new
    for entry in entries:
        with pytest.raises(StoreWaitError, match="there is no such bucket: make it"):
            keep(archive, database, [entry])
    files._store = there
    keep(archive, database, entries)
    server.pause()
    try:
        with pytest.raises(StoreWaitError, match="does not answer"):
            keep(archive, database, [visit(4)])
        with pytest.raises(StoreWaitError, match="does not answer"):
            read_payload(
                place, replace(located(database.rows["standard-20261115-0001"][0]), segment="x-20261115-0001")
            )
    finally:
        server.resume()
    keep(archive, database, [visit(4), visit(5)])  # whether or not the bucket had taken it
    archive.close(NOON)
    report = database.verify(place)
    assert (report.problems, report.visits) == ([], 5)


def test_a_piece_that_another_process_wrote_is_neither_overwritten_nor_deleted(place: ObjectPlace):
    """A worker that was thought dead comes back: its series is another's, which has committed behind it."""
    database = Database()
    old = Archive(place, SMALL, ObjectFiles(place.bucket))
    old.recover([], now=NOON)
    keep(old, database, [visit(1)])
    new = Archive(place, SMALL, ObjectFiles(place.bucket))
    new.recover(database.segments.values(), now=NOON)
    keep(new, database, [visit(2)])
    with pytest.raises(StoreError, match="another one writes the same files"):
        keep(old, database, [visit(3)])
    new.close(NOON)
    report = database.verify(place)
    assert (report.problems, report.visits) == ([], 2)


def test_the_words_of_a_bucket_that_is_not_there_say_what_to_do(place: ObjectPlace, server: BucketServer):
    nowhere = replace(place, bucket=replace(place.bucket, name="nobody-made-it"))
    with pytest.raises(StoreError, match="no such bucket: make it, or set evidence"):
        begun(nowhere, Database())
    with pytest.raises(StorageAway, match="no such bucket"):
        files_of(nowhere).sizes(nowhere)


def sample_in(place: ObjectPlace) -> Database:
    return sample(place, files_of(place))
