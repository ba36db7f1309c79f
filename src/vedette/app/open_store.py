"""The store and the archive of one run, opened for it alone."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from vedette.app.process import locked
from vedette.config.model import Loaded
from vedette.config.policies import classifier, lane_policies, sources_of
from vedette.config.rules import settings_in_force
from vedette.contracts.ports import Clock
from vedette.engine.crawl.run import Opened
from vedette.evidence.archive import Archive, ArchiveSettings
from vedette.store.connection import mend
from vedette.store.corrections import take_effect
from vedette.store.migrate import ARCHIVE, prepare
from vedette.store.operator import save_source
from vedette.store.sqlite import Pick, Reader, Writer


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
