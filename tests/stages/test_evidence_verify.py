"""Whatever is done to evidence afterwards, `verify` says so."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import pytest
from evidence_kit import NOON, SMALL, Database, keep, located, sample, started, visit
from test_evidence_warc import rewritten, with_field

from vedette.contracts.watch import ChainRow, RecordKind
from vedette.contracts.words import Outcome, VisitId, WatchId
from vedette.core.evidence import chain
from vedette.evidence.archive import Archive, ArchiveSettings
from vedette.evidence.files import Files
from vedette.evidence.heads import HeadEvent, Heads
from vedette.evidence.read_records import read_start
from vedette.evidence.verify import MAX_PROBLEMS, Claims, Report, verify

FIRST = "standard-20261115-0001"
SECOND = "standard-20261115-0002"


@pytest.fixture
def kept(tmp_path) -> tuple[Path, Database]:
    return tmp_path, sample(tmp_path)


def kinds(report: Report) -> set[str]:
    return {str(problem.kind) for problem in report.problems}


def edit(database: Database, segment: str, seq: int, change: Callable[[ChainRow], ChainRow]) -> None:
    rows = database.rows[segment]
    rows[seq - 1] = change(rows[seq - 1])


def test_untouched_evidence_is_whole(kept):
    directory, database = kept
    report = database.verify(directory)
    assert report.problems == []
    assert report.is_whole
    assert (report.segments, report.visits, report.records) == (5, 10, 9)
    assert report.bytes_read == sum(segment.size for segment in database.segments.values())
    assert database.verify(directory, full=False).is_whole


def test_every_single_altered_byte_is_found(tmp_path):
    database = Database()
    archive = started(tmp_path, database)
    keep(archive, database, [visit(1)])
    archive.close(NOON)
    for path in sorted(tmp_path.iterdir()):
        whole = path.read_bytes()
        for position in range(len(whole)):
            altered = bytearray(whole)
            altered[position] ^= 1 << position % 8
            path.write_bytes(altered)
            assert not database.verify(tmp_path).is_whole, (path.name, position)
        path.write_bytes(whole)
    assert database.verify(tmp_path).is_whole


@pytest.mark.slow
def test_altered_bytes_all_over_a_larger_archive_are_found(kept):
    directory, database = kept
    for number, path in enumerate(sorted(directory.iterdir())):
        whole = path.read_bytes()
        for position in range(number, len(whole), 5):
            path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x40]) + whole[position + 1 :])
            assert not database.verify(directory).is_whole, (path.name, position)
        path.write_bytes(whole)


@pytest.mark.parametrize("seq", [1, 2, 3])
@pytest.mark.parametrize(
    "fields",
    [
        {"visit": VisitId(99)},
        {"watch": WatchId(99)},
        {"url": "https://www.hgk.hr/vijesti/1?"},
        {"at": NOON + timedelta(microseconds=1)},
        {"outcome": Outcome.SOFT_404},
        {"status": 201},
        {"digest": bytes(32)},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_an_edited_fact_is_found(kept, fields, seq):
    directory, database = kept
    edit(database, FIRST, seq, lambda row: replace(row, facts=replace(row.facts, **fields)))
    assert "row" in kinds(database.verify(directory, full=False))


@pytest.mark.parametrize(
    "fields",
    [
        {"offset": 0},
        {"length": 17},
        {"length": 10**15},
        {"offset": None, "length": None, "record_digest": None},
        {"record_digest": bytes(32)},
        {"chain": bytes(32)},
        {"seq": 7},
        {"segment": SECOND},
        {"visit": VisitId(99)},
    ],
    ids=str,
)
def test_an_edited_place_is_found(kept, fields):
    directory, database = kept
    edit(database, FIRST, 1, lambda row: replace(row, written=replace(row.written, **fields)))
    for full in (True, False):
        assert not database.verify(directory, full=full).is_whole


@pytest.mark.parametrize(
    "fields",
    [
        {"size": 10},
        {"size": 10**9},
        {"count": 2},
        {"count": 4},
        {"head": bytes(32)},
        {"day": "2026-11-14"},
        {"retention": "short"},
        {"name": "standard-20261115-0009"},
        {"name": "../evil"},
    ],
    ids=str,
)
def test_an_edited_segment_row_is_found(kept, fields):
    directory, database = kept
    database.segments[FIRST] = replace(database.segments[FIRST], **fields)
    for full in (True, False):
        assert not database.verify(directory, full=full).is_whole


def newest(database: Database) -> str:
    return max(name for name in database.segments if name.startswith("standard"))


@pytest.mark.parametrize("fields", [{"size": 10}, {"count": 1}, {"head": bytes(32)}], ids=str)
def test_an_edited_row_of_the_newest_segment_is_found(kept, fields):
    directory, database = kept
    name = newest(database)
    database.segments[name] = replace(database.segments[name], **fields)
    assert not database.verify(directory).is_whole


def drop_row(directory: Path, database: Database) -> None:
    database.rows[newest(database)].pop()


def drop_bytes(directory: Path, database: Database) -> None:
    name = newest(database)
    path = directory / f"{name}.warc.gz"
    path.write_bytes(path.read_bytes()[: located(database.rows[name][-1]).offset])


def fit_segment_row(directory: Path, database: Database) -> None:
    """What a careful forger does: the segment row is made to fit what is left."""
    name = newest(database)
    rows = database.rows[name]
    size = located(rows[-1]).offset + located(rows[-1]).length
    database.segments[name] = replace(
        database.segments[name], count=len(rows), size=size, head=rows[-1].written.chain
    )


@pytest.mark.parametrize(
    ("deeds", "kind"),
    [
        ((drop_row,), "strange"),
        ((drop_bytes,), "missing"),
        ((drop_bytes, drop_row), "segment"),
        ((drop_bytes, drop_row, fit_segment_row), "heads"),
    ],
    ids=["row", "bytes", "both", "both, and the segment row fits"],
)
def test_a_deleted_last_record_is_found(tmp_path, deeds, kind):
    database = Database()
    archive = started(tmp_path, database, settings=ArchiveSettings())
    keep(archive, database, [visit(1), visit(2), visit(3)])
    archive.close(NOON)
    for deed in deeds:
        deed(tmp_path, database)
    assert kind in kinds(database.verify(tmp_path))


def test_a_forged_tail_with_a_recomputed_chain_is_found_by_heads(tmp_path):
    database = Database()
    archive = started(tmp_path, database, settings=ArchiveSettings())
    keep(archive, database, [visit(1), visit(2)])
    archive.close(NOON)
    first, last = database.rows[FIRST]
    facts = replace(last.facts, outcome=Outcome.GONE)
    place = located(last)
    spelled = chain.canonical_facts(
        facts, RecordKind.RESPONSE, place.offset, place.length, last.written.record_digest
    )
    head = chain.link(first.written.chain, spelled)
    database.rows[FIRST][1] = ChainRow(facts=facts, written=replace(last.written, chain=head))
    database.segments[FIRST] = replace(database.segments[FIRST], head=head)
    assert kinds(database.verify(tmp_path)) == {"heads"}


def test_rows_that_changed_places_are_found(kept):
    directory, database = kept
    rows = database.rows[SECOND]
    rows[0], rows[1] = rows[1], rows[0]
    assert "row" in kinds(database.verify(directory))
    numbers = [
        replace(row, written=replace(row.written, seq=number)) for number, row in enumerate(rows, start=1)
    ]
    database.rows[SECOND] = numbers
    assert "row" in kinds(database.verify(directory))


def test_a_deleted_row_in_the_middle_is_found(kept):
    directory, database = kept
    del database.rows[FIRST][1]
    assert "row" in kinds(database.verify(directory))


def test_files_that_changed_names_are_found(kept):
    directory, database = kept
    one, other = directory / f"{FIRST}.warc.gz", directory / f"{SECOND}.warc.gz"
    kept_bytes = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(kept_bytes)
    assert not database.verify(directory).is_whole


def test_an_inserted_record_is_found_with_and_without_a_row(kept):
    directory, database = kept
    path = directory / f"{FIRST}.warc.gz"
    whole = path.read_bytes()
    last = database.rows[FIRST][2]
    place = located(last)
    member = whole[place.offset : place.offset + place.length]
    path.write_bytes(whole + member)
    assert kinds(database.verify(directory)) == {"strange"}
    written = replace(last.written, seq=4, offset=len(whole))
    database.rows[FIRST].append(replace(last, written=written))
    assert {"row", "segment"} <= kinds(database.verify(directory))


@pytest.mark.parametrize("size", [0, 1, 30, 700])
def test_a_truncated_file_is_found(kept, size):
    directory, database = kept
    path = directory / f"{FIRST}.warc.gz"
    path.write_bytes(path.read_bytes()[:size])
    assert "missing" in kinds(database.verify(directory))
    assert "missing" in kinds(database.verify(directory, full=False))


def test_a_missing_file_is_missing_and_not_expired(kept):
    directory, database = kept
    (directory / f"{FIRST}.warc.gz").unlink()
    assert kinds(database.verify(directory)) == {"missing"}
    database.segments[FIRST] = replace(database.segments[FIRST], state="expired")
    report = database.verify(directory)
    assert kinds(report) == {"missing"}
    assert "no tombstone" in report.problems[0].words


def test_a_segment_that_was_removed_altogether_is_found(kept):
    directory, database = kept
    (directory / f"{SECOND}.warc.gz").unlink()
    del database.segments[SECOND], database.rows[SECOND]
    report = database.verify(directory)
    assert {(one.kind, one.segment) for one in report.problems} == {
        ("segment", SECOND),  # HEADS has it
        ("segment", "standard-20261115-0003"),  # stands on it
    }


def test_heads_that_were_cut_in_the_middle_or_removed_are_found(kept):
    directory, database = kept
    path = directory / "HEADS"
    lines = path.read_bytes().splitlines(keepends=True)
    for number in range(len(lines) - 1):
        path.write_bytes(b"".join(lines[:number] + lines[number + 1 :]))
        assert "heads" in kinds(database.verify(directory)), number
    path.unlink()
    assert kinds(database.verify(directory)) == {"heads"}


def test_heads_that_were_begun_anew_after_a_segment_do_not_vouch_for_it(kept):
    directory, database = kept
    (directory / "HEADS").unlink(missing_ok=True)
    heads = Heads(directory, Files())
    heads.begin(NOON)
    heads.note(
        [(HeadEvent.CLOSED, segment) for name, segment in database.segments.items() if name != FIRST], NOON
    )
    assert [(one.kind, one.segment) for one in database.verify(directory).problems] == [("heads", FIRST)]


def test_a_stop_between_commit_and_heads_is_not_held_against_the_archive(tmp_path):
    database = Database()
    archive = started(tmp_path, database)
    keep(archive, database, [visit(1)])
    rows = [ChainRow(facts=visit(n).facts, written=archive.append(visit(n))) for n in range(2, 9)]
    database.commit(rows, archive.sync())  # several segments closed; then kill -9
    assert database.verify(tmp_path).is_whole
    started(tmp_path, database).close(NOON)
    assert database.verify(tmp_path).is_whole
    assert all(name in Heads(tmp_path, Files()).latest for name in database.segments)


def test_an_archive_that_is_being_written_is_whole_at_every_moment(tmp_path):
    database = Database()
    archive = started(tmp_path, database, settings=replace(SMALL, anchor_every=timedelta(0)))

    numbers = iter(range(1, 100))

    def claims() -> Claims:
        keep(archive, database, [visit(next(numbers)) for _ in range(4)])
        return database.claims()

    for _ in range(8):
        assert verify(tmp_path, claims).problems == []


def test_an_uncommitted_tail_is_counted_and_is_no_problem(tmp_path):
    database = Database()
    archive = started(tmp_path, database)
    keep(archive, database, [visit(1)])
    written = archive.append(visit(2))
    archive.sync()
    report = database.verify(tmp_path)
    assert report.is_whole
    assert report.bytes_uncommitted == written.length


def test_a_blob_that_points_elsewhere_is_found(kept):
    directory, database = kept
    right = database.claims()
    good = list(right.blobs(FIRST))
    digest, place = good[0]
    wrongs = [
        [(bytes(32), place), *good[1:]],
        [(digest, replace(place, offset=place.offset - 1)), *good[1:]],
        [(digest, replace(place, length=1)), *good[1:]],
        [*good, (digest, replace(place, offset=10**9))],
    ]
    for wrong in wrongs:
        claims = Claims(right.segments, right.rows, lambda name, wrong=wrong: wrong if name == FIRST else [])
        assert kinds(verify(directory, lambda claims=claims: claims)) == {"blob"}


def test_progress_comes_to_its_end_and_never_goes_back(kept):
    directory, database = kept
    seen: list[tuple[int, int]] = []
    verify(directory, database.claims, progress=lambda done, total: seen.append((done, total)))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == seen[-1][1] == sum(segment.size for segment in database.segments.values())


def test_problems_are_all_counted_but_not_all_listed():
    report = Report()
    for number in range(MAX_PROBLEMS + 5):
        report.add("row", FIRST, number, "")
    assert len(report.problems) == MAX_PROBLEMS
    assert report.found.total() == MAX_PROBLEMS + 5


def test_verify_looks_and_does_not_touch(kept, tmp_path_factory):
    directory, database = kept
    copy = tmp_path_factory.mktemp("copy") / "archive"
    shutil.copytree(directory, copy)
    for path in directory.iterdir():
        path.chmod(0o444)
    database.verify(directory)
    assert {path.name: path.read_bytes() for path in directory.iterdir()} == {
        path.name: path.read_bytes() for path in copy.iterdir()
    }


def test_a_recovered_archive_goes_on_chaining(kept):
    directory, database = kept
    archive = Archive(directory, SMALL)
    archive.recover(database.segments.values(), now=NOON)
    keep(archive, database, [visit(number, at=NOON + timedelta(days=2)) for number in range(30, 40)])
    archive.close(NOON)
    assert database.verify(directory).is_whole


def rewrite(directory: Path, database: Database, number: int, changed: Callable[[bytes], bytes]) -> None:
    """The archive as a writer with a fault would have left it: every digest and the chain of rows fit."""
    path = directory / f"{FIRST}.warc.gz"
    rows = database.rows[FIRST]
    ends = [located(row).offset for row in rows] + [path.stat().st_size]
    whole = path.read_bytes()
    members = [whole[: ends[0]], *(whole[at:end] for at, end in pairwise(ends))]
    members[number] = rewritten(members[number], changed)
    path.write_bytes(b"".join(members))
    head = read_start(directory, FIRST).head
    for at, row in enumerate(rows):
        offset, digest = sum(map(len, members[: at + 1])), sha256(members[at + 1]).digest()
        spelled = chain.canonical_facts(row.facts, RecordKind.RESPONSE, offset, len(members[at + 1]), digest)
        head = chain.link(head, spelled)
        written = replace(
            row.written, offset=offset, length=len(members[at + 1]), record_digest=digest, chain=head
        )
        rows[at] = ChainRow(facts=row.facts, written=written)
    size = path.stat().st_size
    database.segments[FIRST] = replace(database.segments[FIRST], head=head, size=size)
    database.blobs.clear()
    (directory / "HEADS").unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("number", "line"),
    [(0, b"X: " + b"a" * 40_000), (2, b"X: " + b"a" * 40_000), (2, b"Content-Length: 3"), (1, b" \r\nX: y")],
    ids=["first record", "long", "two lengths", "blank line"],
)
def test_a_segment_that_cannot_be_iterated_to_its_end_is_found(tmp_path, number, line):
    database = Database()
    archive = started(tmp_path, database, settings=ArchiveSettings())
    keep(archive, database, [visit(1), visit(2), visit(3)])
    archive.close(NOON)
    rewrite(tmp_path, database, number, with_field(b"X-Plain: y"))
    assert kinds(database.verify(tmp_path)) == {"heads"}, "only HEADS is missing"
    rewrite(tmp_path, database, number, with_field(line))
    assert kinds(database.verify(tmp_path)) == {"heads", "unreadable"}
