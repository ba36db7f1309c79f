"""The store and the archive of one run, opened for it alone."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from vedette.app.process import locked
from vedette.config.model import Loaded
from vedette.config.policies import classifier, lane_policies, settings_in_force, sources_of
from vedette.contracts.ports import Clock
from vedette.contracts.words import RunId
from vedette.evidence.archive import Archive, ArchiveSettings
from vedette.evidence.recovery import Damage
from vedette.store.clock_repair import Ahead
from vedette.store.corrections import take_effect
from vedette.store.migrate import ARCHIVE, prepare
from vedette.store.operator import save_source
from vedette.store.private import mend
from vedette.store.sqlite import Pick, Reader, Writer


@dataclass(slots=True)
class Opened:
    """A store that is ours until we let go of it."""

    writer: Writer
    reader: Reader
    archive: Archive
    was_killed: bool
    path: Path
    pick: Pick  # what of it the run looks at
    made_private: int = 0  # files and folders that were open to others
    healed: Ahead = Ahead()  # times that a clock that stood ahead had left
    damage: tuple[
        Damage, ...
    ] = ()  # archive files that are not whole, and that nothing is written to any more

    def end_run(self, run: RunId, *, now: datetime, ended_by: str, tally: str) -> None:
        """After the settler has closed its connection.  The last one that closes folds the log into the database."""
        self.reader.close()
        last = Writer(self.path, worker="")
        try:
            last.end_run(run, now=now, ended_by=ended_by, tally=tally)
        finally:
            last.close()


@contextmanager
def open_store(loaded: Loaded, pick: Pick, clock: Clock) -> Iterator[Opened]:
    """Takes the lock, lets an archive that was cut off recover, and holds both until the run is over."""
    path = prepare(loaded.data)
    mended = mend(loaded.data)
    with locked(loaded.data):
        writer = Writer(path, worker=f"{socket.gethostname()}:{os.getpid()}", pick=pick)
        writer.checkpoint()  # a run that is killed again and again would never come to it
        healed = writer.heal(now=clock.now(), policy_of=lane_policies(loaded.config).of)
        _save_sources(loaded, writer, pick, clock.now())
        limit = loaded.config.evidence.segment_limit
        archive = Archive(loaded.data / ARCHIVE, ArchiveSettings(segment_limit=limit))
        found = archive.recover(writer.segments(), now=clock.now())
        was_killed = writer.was_killed()
        yield Opened(writer, Reader(path), archive, was_killed, path, pick, mended, healed, found.damage)


def _save_sources(loaded: Loaded, writer: Writer, pick: Pick, now: datetime) -> None:
    """The configured sources are in the store, each with its first watch; what a correction heals is due."""
    with writer.transaction() as db:
        for source in sources_of(loaded.config):
            save_source(db, source, now=now, classify=classifier(loaded.config))
        take_effect(db, settings_in_force(loaded.config, fetch_only=pick.fetch_only), now=now)
