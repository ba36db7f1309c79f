"""What surrounds a look is told in its own words: a server that hides changes, bad settings, no files left."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest
from cli_call import Cli
from hostile import FakeDns
from test_engine_app import FEED, WEB, SmallWeb, Station

from vedette.config import Loaded, parse
from vedette.contracts.errors import StoreWaitError
from vedette.contracts.fetching import Fetched, FetchRequest
from vedette.contracts.words import Outcome
from vedette.core.outcomes import MEANING
from vedette.engine.loop import Mode
from vedette.engine.workers import Workers
from vedette.fetch.faults import fault_of
from vedette.fetch.guard import Guard
from vedette.fetch.resolver import GuardedResolver, NameserverLookup, SystemLookup
from vedette.store.connecting import connect


class Frozen(SmallWeb):
    """Says for ever that nothing has changed, to whoever asks by its validator."""

    bare = conditional = 0

    async def fetch(self, request: FetchRequest) -> Fetched:
        fetched = await super().fetch(request)
        if request.url != FEED:
            return fetched
        if request.etag:
            self.conditional += 1
            return replace(fetched, outcome=Outcome.NOT_MODIFIED, status=304, body=b"", wire=b"")
        self.bare += 1
        return replace(fetched, etag='"always"')


async def test_a_server_that_says_304_for_ever_hides_a_change_for_eight_looks_at_most(tmp_path: Path):
    station = Station(tmp_path / "data")
    station.web = web = Frozen(station.clock)
    station.configure(every="1h")
    await station.run(mode=Mode.FOREVER, seconds=40 * 3600.0)
    assert web.conditional >= 30
    assert 5 <= web.bare <= 8
    (longest,) = station.rows(
        "SELECT MAX(n) FROM (SELECT COUNT(*) n FROM visits v JOIN watches w ON w.id = v.watch_id "
        "WHERE w.lister IS NOT NULL AND v.outcome = 'not_modified' "
        "GROUP BY (SELECT COUNT(*) FROM visits o WHERE o.watch_id = v.watch_id AND o.id < v.id AND o.outcome = 'ok'))"
    )
    assert longest[0] <= 8
    assert WEB[FEED]


async def test_settings_of_a_source_that_cannot_be_used_are_called_that_and_no_bug(tmp_path: Path):
    station = Station(tmp_path / "data")
    await station.run()
    db = sqlite3.connect(station.data / "vedette.db")
    db.execute("""UPDATE sources SET fetch = '{"headers": [["X-Key", "env:NOT_SET_ANYWHERE"]]}'""")
    db.execute("UPDATE watches SET due_at = 0, attempt = 0")
    db.commit()
    db.close()
    station.loaded = Loaded(config=parse({}), path=None, data=station.data, digest="d")
    await station.run(seconds=600.0)
    looked = station.rows("SELECT outcome, COUNT(*) FROM visits GROUP BY outcome")
    assert looked == [("bad_settings", 4), ("ok", 4)]
    (detail,) = station.rows("SELECT DISTINCT detail FROM parked")
    assert "NOT_SET_ANYWHERE" in detail[0]


def test_a_csv_that_is_shown_on_a_terminal_is_not_obeyed_by_it(tmp_path: Path):
    cli = Cli(tmp_path / "data")
    evil = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\x00"
    assert cli("add", "https://a.example/", "--name", f"x{evil}y").code == 0
    told = cli("export", "--format", "csv")
    assert told.code == 0
    assert not [char for char in told.out if char != "\n" and not char.isprintable()]


@pytest.mark.parametrize(
    "number", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL]
)
def test_what_this_machine_lacks_is_not_called_the_fault_of_the_host(number: int):
    error = OSError(number, os.strerror(number))
    key = aiohttp.client_reqrep.ConnectionKey("a.example", 80, False, True, None, None, None)
    fault = fault_of(aiohttp.ClientConnectorError(key, error), is_tls=False)
    assert fault.outcome is Outcome.NO_SOCKETS
    assert MEANING[fault.outcome].lane_verdict is None
    assert "the host is not to blame" in fault.detail


@pytest.mark.parametrize("by", ["system", "nameserver"])
async def test_a_name_that_cannot_be_asked_for_want_of_files_blames_nobody(by: str):
    async with FakeDns({"a.example": ["127.0.0.1"]}) as dns:
        lookup = SystemLookup(1.0) if by == "system" else NameserverLookup((dns.place,), 1.0)
        resolver = GuardedResolver(lookup, Guard(("127.0.0.0/8",), ()), 2.0)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, abs, 1)  # a thread that is there already needs no file
        with no_more_files(), pytest.raises(OSError) as raised:
            await resolver.resolve("a.example", 80)
        assert raised.value.errno == errno.EMFILE
        await lookup.close()


@contextmanager
def no_more_files() -> Iterator[None]:
    """In here nobody can open a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 8, hard))
    try:
        with suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        yield
    finally:
        for handle in taken:
            os.close(handle)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_store_that_cannot_be_opened_for_want_of_files_is_not_called_damaged(tmp_path: Path):
    Cli(tmp_path / "data")("add", "https://a.example/")
    with no_more_files(), pytest.raises(StoreWaitError, match="ulimit -n"):
        connect(tmp_path / "data" / "vedette.db")


async def test_a_worker_that_cannot_be_started_for_want_of_files_is_not_called_too_slow():
    workers = Workers()
    try:
        with no_more_files(), pytest.raises(OSError, match="Too many open files"):
            await workers.run(abs, -1)
        assert await workers.run(abs, -1) == 1
    finally:
        workers.close()
