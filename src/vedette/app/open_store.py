"""The store and the archive of one run, opened for it alone."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from vedette.app.process import locked
from vedette.config.model import Config, Loaded
from vedette.config.pace_policies import lane_policies
from vedette.config.policies import classifier, fetch_settings, screens, sources_of
from vedette.config.rules import settings_in_force
from vedette.contracts.ports import Clock, Fetcher
from vedette.core.evidence.screen import screen_url
from vedette.engine.crawl.answer_screen import AnswerScreen, ScreeningFetcher
from vedette.engine.crawl.onion_names import OnionNames
from vedette.engine.crawl.run import Opened
from vedette.evidence.archive import Archive, ArchiveSettings
from vedette.fetch.proxy_address import ONION, is_socks
from vedette.store.compliance import ComplianceFile
from vedette.store.connection import mend
from vedette.store.corrections import take_effect
from vedette.store.migrate import ARCHIVE, prepare_place
from vedette.store.operator import save_source
from vedette.store.sqlite import Pick, Reader, Writer


@contextmanager
def open_store(loaded: Loaded, pick: Pick, clock: Clock) -> Iterator[Opened]:
    """Takes the lock, lets an archive that was cut off recover, and holds both until the run is over."""
    path = prepare_place(loaded.data, loaded.store)
    mended = mend(loaded.data)
    with locked(loaded.data):
        writer = Writer(path, worker=f"{socket.gethostname()}:{os.getpid()}", pick=pick)
        writer.take_lock()
        writer.checkpoint()  # a run that is killed again and again would never come to it
        healed = writer.heal(now=clock.now(), policy_of=lane_policies(loaded.config).of)
        _save_sources(loaded, writer, pick, clock.now())
        limit = loaded.config.evidence.segment_limit
        archive = Archive(loaded.data / ARCHIVE, ArchiveSettings(segment_limit=limit))
        found = archive.recover(writer.segments(), now=clock.now())
        was_killed = writer.was_killed()
        yield Opened(writer, Reader(path), archive, was_killed, path, pick, mended, healed, found.damage)


def onion_names(config: Config, data: Path) -> OnionNames | None:
    """Where a source goes by a SOCKS proxy or has such a name: the aliases for onion names.  None: nobody does."""
    sources = tuple(sources_of(config))
    has_names = any(ONION in one.url for one in sources)
    if not has_names and not any(is_socks(fetch_settings(config, one).proxy) for one in (None, *sources)):
        return None
    compliance = ComplianceFile(data)
    return OnionNames(compliance.key(), compliance.names(), compliance.add_name)


def screened(fetcher: Fetcher, loaded: Loaded, clock: Clock) -> Fetcher:
    """For looks outside a run: what is never kept is not shown either, and blocked hosts are asked nothing."""
    compliance = ComplianceFile(loaded.data)
    remember = compliance.add if loaded.data.is_dir() else (lambda crumb: None)
    screen = AnswerScreen(screens(loaded.config), compliance.blocked(), remember)
    return fetcher if screen.is_idle else ScreeningFetcher(fetcher, screen, clock)


def _save_sources(loaded: Loaded, writer: Writer, pick: Pick, now: datetime) -> None:
    """The configured sources are in the store, each with its first watch; what a correction heals is due."""
    with writer.transaction() as db:
        table, names = screens(loaded.config), onion_names(loaded.config, loaded.data)
        for source in sources_of(loaded.config):
            if screen_url(source.url, table) is not None:
                continue  # its address is what must not be kept
            source = source if names is None else names.source(source)
            save_source(db, source, now=now, classify=classifier(loaded.config))
        take_effect(db, settings_in_force(loaded.config, fetch_only=pick.fetch_only), now=now)
