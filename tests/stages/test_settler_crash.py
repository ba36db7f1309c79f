"""The plug is pulled at every step between a settlement and its acknowledgement."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from evidence_kit import SMALL, DroppingDisk, PowerCut, QuickDisk
from settlements import NOON, RUN, SECOND, a_look, a_watch
from stocked import blank

from vedette.contracts.watch import Group, Segment
from vedette.engine.settle.settler import Settler, SettlerCalls
from vedette.evidence.archive import Archive
from vedette.evidence.files import Files
from vedette.evidence.verify import Claims, verify
from vedette.store.claims import claims_of
from vedette.store.sqlite import Writer
from vedette.telemetry.clock import JumpingClock

PAGES = [a_watch(f"https://a.example/{n}") for n in range(4)]


class Plug(Writer):
    """The real store, on a machine that may stop right before or right after its commit."""

    stops = ""
    disk: DroppingDisk | None = None

    def settle(self, group: Group) -> Segment | None:
        if self.stops == "before commit":
            self._cut()
        sealed = super().settle(group)
        if self.stops == "after commit":
            self._cut()
        return sealed

    def _cut(self) -> None:
        assert self.disk is not None
        self.disk.stops_before = len(self.disk.steps)
        raise PowerCut(self.stops)


@dataclass
class Life:
    """A store and an archive, and what was acknowledged."""

    data: Path
    files: Files
    said: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.writer = Plug(self.data / "vedette.db", worker="one")
        self.writer.connection.execute("PRAGMA synchronous = OFF")  # SQLite's own promise is not tested here
        archive = Archive(self.data / "archive", SMALL, self.files)
        archive.recover(self.writer.segments(), now=NOON)
        calls = SettlerCalls(
            committed=lambda group: self.said.extend(one.settlement.visit.id for one in group.placed),
            claimed=lambda claimed: None,
            failed=lambda error: None,
            dirty_lanes=tuple,
        )
        clock = JumpingClock(NOON)
        self.settler = Settler(self.writer, archive, run=RUN, clock=clock, calls=calls)

    def group(self, *numbers: int) -> None:
        for number in numbers:
            body = f"state {number % 3} of a page".encode() * 9  # some states come again, some are shared
            self.settler.settle(a_look(PAGES[number % 4], number, body, at=NOON + number * SECOND))
        self.settler.hurry()
        self.settler.turn()


def started(data: Path) -> Path:
    blank(data)
    return data


GROUPS = ((1, 2, 3), (4, 5, 6), (7, 8), (9, 10, 11))


def live(life: Life) -> None:
    try:
        for group in GROUPS:
            life.group(*group)
    finally:
        life.writer.connection.close()  # what was not committed is gone


def check(data: Path, said: list[int]) -> list[int]:
    """Recovers, then holds rows, records and chain against each other.  Gives the visits that are there."""
    life = Life(data, QuickDisk())
    with claims_of(data / "vedette.db") as store:
        claims = Claims(store.segments(), store.rows, store.blobs, store)
        report = verify(data / "archive", lambda: claims, full=True)
    assert report.is_whole, report.problems
    kept = [row[0] for row in life.writer.connection.execute("SELECT id FROM visits ORDER BY id")]
    assert report.visits == len(kept)
    assert set(said) <= set(kept), "something acknowledged is lost"
    whole = [set(group) for group in GROUPS]
    assert all(not (set(kept) & group) or group <= set(kept) for group in whole), "half a group is there"
    ledger = [row[0] for row in life.writer.connection.execute("SELECT visit_id FROM ledger ORDER BY 1")]
    assert ledger == kept
    life.group(50, 51)
    assert life.said == [50, 51]
    life.writer.close()
    return kept


def cuts(tmp_path: Path) -> Iterator[int]:
    disk = DroppingDisk(started(tmp_path / "whole") / "archive")
    life = Life(tmp_path / "whole", disk)
    live(life)
    assert life.said == [number for group in GROUPS for number in group]
    return iter(range(len(disk.steps)))


@pytest.mark.parametrize("leak", [0.0, 0.5, 1.0])
def test_whenever_the_disk_stops_nothing_acknowledged_is_lost_and_no_half_stays(tmp_path: Path, leak: float):
    for stop in cuts(tmp_path):
        data = started(tmp_path / f"cut-{stop}")
        disk = DroppingDisk(data / "archive", stops_before=stop)
        said: list[int] = []
        with pytest.raises(PowerCut):
            live(Life(data, disk, said))
        disk.crash(leak)
        check(data, said)


@pytest.mark.parametrize("leak", [0.0, 1.0])
@pytest.mark.parametrize("stops", ["before commit", "after commit"])
@pytest.mark.parametrize("after", range(len(GROUPS)))
def test_around_the_commit_the_database_decides(tmp_path: Path, after: int, stops: str, leak: float):
    data = started(tmp_path)
    disk = DroppingDisk(data / "archive")
    life = Life(data, disk)
    for group in GROUPS[:after]:
        life.group(*group)
    life.writer.stops, life.writer.disk = stops, disk
    with pytest.raises(PowerCut):
        life.group(*GROUPS[after])
    life.writer.connection.close()
    disk.crash(leak)
    kept = check(data, life.said)
    committed = GROUPS[: after + (stops == "after commit")]
    assert kept == [number for group in committed for number in group]
    assert life.said == [number for group in GROUPS[:after] for number in group]
