"""A worker of its own process: settles looks in a store on PostgreSQL that it shares, until its input ends.

Says the name of its series, then the number of every look that was acknowledged.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing
from pathlib import Path

from settlements import NOON, RUN, SECOND, a_look, a_watch

from vedette.app.archive_series import own_series, worker_name
from vedette.app.open_store import archive_of
from vedette.app.process import locked
from vedette.config.model import Config, Loaded
from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.watch import Group
from vedette.engine.settle.settler import Settler, SettlerCalls
from vedette.evidence.archive import Archive
from vedette.store.migrate import ARCHIVE, prepare_place
from vedette.store.sqlite import Writer
from vedette.telemetry.clock import JumpingClock


def main(data: Path, url: str, first: int) -> None:
    loaded = Loaded(config=Config(), path=None, data=data, digest="", server=PostgresAddress(url))
    clock = JumpingClock(NOON)
    path = prepare_place(data, loaded.store)
    with locked(data, shared=True), closing(Writer(path, worker=f"pid {os.getpid()}")) as writer:
        writer.take_lock(shared=True)
        with own_series(writer, data / ARCHIVE) as series:
            archive = archive_of(loaded, worker_name(series.number))
            archive.recover(writer.segments(), now=clock.now())
            print(worker_name(series.number), flush=True)
            work(writer, archive, clock, first)
            archive.close(clock.now())


def work(writer: Writer, archive: Archive, clock: JumpingClock, first: int) -> None:
    calls = SettlerCalls(committed=say, claimed=print, failed=print, dirty_lanes=tuple)
    settler = Settler(writer, archive, run=RUN, clock=clock, calls=calls)
    pages = [a_watch(f"https://host{first}.example/{n}") for n in range(4)]
    number = first
    while asked := sys.stdin.readline():
        for _ in range(int(asked)):
            number += 1
            body = f"state {number % 3} of a page".encode() * 9  # some are shared with the other worker
            settler.settle(a_look(pages[number % 4], number, body, at=NOON + (number % 1000) * SECOND))
        settler.hurry()
        settler.turn()


def say(group: Group) -> None:
    print(*(one.settlement.visit.id for one in group.placed), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
