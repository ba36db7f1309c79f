"""The store and the archive of one run, opened for it alone."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime
from pathlib import Path

from vedette.app.archive_series import Series, own_series, worker_name
from vedette.app.process import locked
from vedette.config.model import Config, Loaded
from vedette.config.pace_policies import lane_policies
from vedette.config.policies import classifier, fetch_settings, screens, sources_of
from vedette.config.rules import settings_in_force
from vedette.contracts.ports import Clock, Fetcher
from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.words import LaneKey
from vedette.core.evidence.screen import screen_url
from vedette.engine.crawl.answer_screen import AnswerScreen, ScreeningFetcher
from vedette.engine.crawl.onion_names import OnionNames
from vedette.engine.crawl.run import Opened
from vedette.evidence.archive import Archive, ArchiveSettings
from vedette.fetch.proxy_address import ONION, is_socks
from vedette.store.compliance import ComplianceFile
from vedette.store.connection import StorePlace, mend
from vedette.store.corrections import take_effect
from vedette.store.fenced_writer import FencedWriter
from vedette.store.migrate import ARCHIVE, prepare_place
from vedette.store.operator import save_sources
from vedette.store.server_reader import ReadAhead, ServerReader
from vedette.store.sqlite import Pick, Reader, Writer


@contextmanager
def open_store(
    loaded: Loaded, pick: Pick, clock: Clock, *, tokens: Callable[[], Mapping[LaneKey, int]] | None = None
) -> Iterator[Opened]:
    """Takes the lock, lets an archive that was cut off recover, and holds both until the run is over.

    `tokens`: of the lanes of one worker beside others on a store in PostgreSQL, each with archive files of its own.
    """
    path = prepare_place(loaded.data, loaded.store)
    mended = mend(loaded.data)
    shared = tokens is not None and isinstance(path, PostgresAddress)
    with ExitStack() as held:
        held.enter_context(locked(loaded.data, shared=shared))
        ahead = ReadAhead()
        if tokens is not None and isinstance(path, PostgresAddress):
            writer: Writer = FencedWriter(path, tokens=tokens, ahead=ahead)
        else:
            writer = Writer(path, worker=f"{socket.gethostname()}:{os.getpid()}", pick=pick)
        writer.take_lock(shared=shared)
        series = held.enter_context(own_series(writer, loaded.data / ARCHIVE)) if shared else Series(0)
        writer.checkpoint()  # a run that is killed again and again would never come to it
        healed = writer.heal(now=clock.now(), policy_of=lane_policies(loaded.config).of)
        _save_sources(loaded, writer, pick, clock.now())
        archive = archive_of(loaded, worker_name(series.number))
        found = archive.recover(writer.segments(), now=clock.now())
        killed = writer.was_killed()
        reader = ServerReader(path, ahead) if isinstance(path, PostgresAddress) else Reader(path)
        facts = (killed, path, pick, mended, healed, found.damage, series.number, series.dead)
        yield Opened(writer, reader, archive, *facts)


@contextmanager
def alone(loaded: Loaded, path: StorePlace) -> Iterator[None]:
    """No engine writes to the store meanwhile, on whichever machine."""
    with locked(loaded.data), ExitStack() as held:
        if isinstance(path, PostgresAddress):
            writer = held.enter_context(closing(Writer(path, worker="")))
            writer.take_lock()
        yield


def archive_of(loaded: Loaded, worker: str = "") -> Archive:
    """The archive as one worker writes it."""
    limit = loaded.config.evidence.segment_limit
    return Archive(loaded.archive, ArchiveSettings(worker=worker, segment_limit=limit))


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
        # An address that is screened is what must not be kept.
        may_be_kept = [one for one in sources_of(loaded.config) if screen_url(one.url, table) is None]
        sources = may_be_kept if names is None else [names.source(one) for one in may_be_kept]
        save_sources(db, sources, now=now, classify=classifier(loaded.config))
        take_effect(db, settings_in_force(loaded.config, fetch_only=pick.fetch_only), now=now)
