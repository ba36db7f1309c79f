"""Several workers write to one archive, each a series of files of its own."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from evidence_kit import NOON, SMALL, Database, QuickDisk, keep, started, visit

from vedette.config.model import Config, Loaded
from vedette.contracts.copies import replace
from vedette.contracts.errors import RefusedError
from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.watch import ChainRow
from vedette.evidence.archive import Archive
from vedette.evidence.verify import Report
from vedette.operations.installation import Installation
from vedette.operations.maintenance import collect, set_aside_damaged, verify_evidence
from vedette.store.connection import connect
from vedette.telemetry.clock import JumpingClock

HERE = Path(__file__).parent
ONE, TWO = (replace(SMALL, worker=name) for name in ("w1", "w2"))


def of(directory: Path, database: Database, settings=ONE) -> Archive:
    return started(directory, database, QuickDisk(), settings)


def test_a_worker_that_starts_cuts_and_renames_only_files_of_its_own(tmp_path: Path):
    database = Database()
    one, two = of(tmp_path, database, ONE), of(tmp_path, database, TWO)
    keep(one, database, [visit(1)])
    keep(two, database, [visit(2)])
    entry = visit(3)  # the second is between its files and its transaction,
    rows = [ChainRow(facts=entry.facts, written=two.append(entry))]
    segments = two.sync()
    one.append(visit(4))  # the first was killed there,
    one.sync()
    (tmp_path / "standard-20261115-0009-w1.warc.gz").write_bytes(b"never committed")
    (tmp_path / "standard-20261115-0009-w2.warc.gz").write_bytes(b"of a group that is under way")
    found = Archive(tmp_path, ONE, QuickDisk()).recover(database.segments.values(), now=NOON)
    assert [name for name, _ in found.cut] == ["standard-20261115-0001-w1"]
    assert found.orphans == ("standard-20261115-0009-w1.warc.gz.orphan",)
    (tmp_path / "standard-20261115-0009-w2.warc.gz").unlink()
    database.commit(rows, segments)  # and the second goes on
    two.committed(NOON)
    report = database.verify(tmp_path)
    assert (report.is_whole, report.visits) == (True, 3)


def test_each_series_is_one_chain_and_heads_of_one_that_are_gone_are_missed(tmp_path: Path):
    database = Database()
    one, two, plain = (of(tmp_path, database, settings) for settings in (ONE, TWO, SMALL))
    for number in range(1, 31, 3):  # several segments of each
        keep(one, database, [visit(number)])
        keep(two, database, [visit(number + 1)])
        keep(plain, database, [visit(number + 2)])
    for archive in (one, two, plain):
        archive.close(NOON)
    assert {"HEADS", "HEADS-w1", "HEADS-w2"} <= {path.name for path in tmp_path.iterdir()}
    assert sum(name.endswith("-w2") for name in database.segments) > 2
    report = database.verify(tmp_path)
    assert (report.problems, report.visits) == ([], 30)
    heads = (tmp_path / "HEADS-w2").read_bytes()
    (tmp_path / "HEADS-w2").unlink()
    assert "HEADS-w2 is missing or empty" in {one.words for one in database.verify(tmp_path).problems}
    lines = heads.splitlines(keepends=True)
    (tmp_path / "HEADS-w2").write_bytes(b"".join(lines[:3] + lines[4:]))
    assert any("of HEADS-w2" in one.words for one in database.verify(tmp_path).problems)


def test_a_worker_closes_files_of_days_that_are_over_also_of_classes_that_fell_silent(tmp_path: Path):
    database = Database()
    archive = of(tmp_path, database)
    keep(archive, database, [visit(1), visit(2, retention="short")])
    keep(archive, database, [visit(3, at=NOON + timedelta(days=1))])
    states = {one.name: one.state for one in database.segments.values()}
    assert states["short-20261115-0001-w1"] == "closed"


class Worker:
    """A process that settles what it is told to."""

    def __init__(self, data: Path, server: PostgresAddress, first: int) -> None:
        words = [sys.executable, HERE / "series_writer.py", data, server.url, str(first)]
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE
        )
        self.acknowledged: list[int] = []
        self.series = self._line()

    def look(self, times: int) -> None:
        self.ask(times)
        self.acknowledged += map(int, self._line().split())

    def ask(self, times: int) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{times}\n")
        self.process.stdin.flush()

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        assert line, "the worker ended"
        return line

    def kill(self) -> None:
        """Whatever it was told last."""
        self.process.kill()
        rest, _ = self.process.communicate()
        self.acknowledged += map(int, rest.split())

    def end(self) -> None:
        self.process.communicate()
        assert self.process.returncode == 0


def test_two_processes_write_to_one_store_and_of_the_one_that_lives_nothing_is_cut(
    tmp_path: Path, postgres_store: PostgresAddress
):
    one, two = Worker(tmp_path, postgres_store, 1000), Worker(tmp_path, postgres_store, 2000)
    workers = [one, two]
    assert [worker.series for worker in workers] == ["w1", "w2"]
    for _ in range(5):
        one.look(20)
        two.look(20)
    one.ask(200)
    two.ask(200)
    one.kill()  # in the middle of it
    tail = tmp_path / "archive" / "standard-20261115-0001-w1.warc.gz"
    with tail.open("ab") as file:
        file.write(b"a group that was never committed")
    installation = Installation(_loaded(tmp_path, postgres_store), JumpingClock(NOON))
    with pytest.raises(RefusedError, match="in use"):
        collect(installation)
    assert verify_evidence(installation).is_whole  # also while the other one writes
    three = Worker(tmp_path, postgres_store, 3000)
    workers.append(three)
    assert three.series == "w1"  # it takes up what the killed one left
    two.acknowledged += map(int, two._line().split())
    for _ in range(5):
        two.look(20)
        three.look(20)
    two.end()
    three.end()
    report = verify_evidence(installation)
    assert not report.problems
    _nothing_is_lost(workers, postgres_store, report)
    assert not list((tmp_path / "archive").glob("*.orphan"))


def test_gc_drops_files_of_every_series_and_set_aside_knows_them_too(
    tmp_path: Path, postgres_store: PostgresAddress
):
    workers = [Worker(tmp_path, postgres_store, first) for first in (1000, 2000)]
    for worker in workers:
        worker.look(20)
        worker.end()
    later = JumpingClock(NOON + timedelta(days=40))
    config = Config.model_validate({"evidence": {"retention": {"standard": "1d"}}})
    installation = Installation(_loaded(tmp_path, postgres_store, config), later)
    done = collect(installation)
    assert {one.name for one in done.segments} == {f"standard-20261115-0001-w{n}" for n in (1, 2)}
    report = verify_evidence(installation)
    assert (report.problems, report.expired, report.visits) == ([], 2, 40)
    again = Worker(tmp_path, postgres_store, 3000)
    again.look(3)
    again.end()
    (newest,) = (tmp_path / "archive").glob("*.warc.gz")
    newest.write_bytes(newest.read_bytes()[:-5])
    aside = set_aside_damaged(installation)
    assert [one.segment for one in aside.damage] == [newest.name.removesuffix(".warc.gz")]


def _loaded(data: Path, server: PostgresAddress, config: Config | None = None) -> Loaded:
    return Loaded(config=config or Config(), path=None, data=data, digest="", server=server)


def _nothing_is_lost(workers: list[Worker], server: PostgresAddress, report: Report) -> None:
    with closing(connect(server, read_only=True)) as db:
        visits = [number for (number,) in db.execute("SELECT id FROM visits")]
    assert {number for worker in workers for number in worker.acknowledged} <= set(visits)
    assert report.visits == len(visits) == len(set(visits))
