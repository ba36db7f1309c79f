"""Whatever is done to a covered row, `evidence verify` finds it; what we do ourselves is never taken for that."""

from __future__ import annotations

import sqlite3
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from cli_call import Cli
from stocked import FixedClock
from tampering import TABLES, Tamperer, unseen
from watching import Watched, clock_of, living, living_web

from vedette.config.model import Loaded
from vedette.evidence.verify import Claims, verify
from vedette.livingweb import World, grid_world
from vedette.livingweb.presets import GridMix
from vedette.livingweb.process import ChangeMix
from vedette.livingweb.world import FaultRule, HostSpec
from vedette.operations.installation import Installation
from vedette.operations.maintenance import collect
from vedette.store.claims import StoreClaims, claims_of
from vedette.store.operator import operating, pause_source, remove_source, reset_source, resume_source

DAY = 86400.0
KEEP = {"evidence": {"retention": {"short": "1d", "standard": None}, "ledger": "1d"}}
KEEP |= {"schedule": {"policy": "fixed", "interval": "1h"}}


@pytest.fixture
async def watched(tmp_path: Path):
    """Pages that change, that are noisy, that fail, in two classes of retention."""
    specs = [
        host.spec
        for host in grid_world(4, 3, seed=5, mix=GridMix(changes=ChangeMix(tempo=200.0), noisy=2)).hosts
    ]
    specs.append(HostSpec(name="failing.example", pages=2, faults=(FaultRule("server_error"),)))
    world = World(specs, seed=5)
    clock = clock_of(world)
    async with living_web(world, clock) as web:
        made = living(world, web, tmp_path / "data", clock=clock, config=KEEP)
        sources = [
            source.model_copy(update={"retention": "short" if n % 2 else "standard"})
            for n, source in enumerate(made.config.sources)
        ]
        made.config = made.config.model_copy(update={"sources": sources})
        yield made


def count(watched: Watched, table: str) -> int:
    return int(watched.rows(f"SELECT COUNT(*) FROM {table}")[0][0])


def is_whole(watched: Watched) -> bool:
    with Tamperer(watched.data) as one:
        report = one.report()
    assert report.problems == []
    return report.is_whole


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_every_edit_delete_and_insert_in_every_covered_column_is_found(watched: Watched):
    await watched.run(seconds=DAY / 4)
    assert all(count(watched, table) > 0 for table in TABLES)
    assert count(watched, "changes") > 2
    assert is_whole(watched)
    done, missed = unseen(watched.data, seed=1, rows=0)
    assert missed == []
    assert done > 600
    assert is_whole(watched)


async def test_what_we_do_ourselves_is_no_alarm(watched: Watched):
    """Runs, the operator's words, sources that go and come, gc: the store is whole after each."""
    await watched.run(seconds=DAY / 4)
    assert is_whole(watched)
    path, now = watched.data / "vedette.db", watched.clock.now()
    first, second = (source for (source,) in watched.rows("SELECT id FROM sources ORDER BY id LIMIT 2"))
    for word, source in (
        (pause_source, first),
        (resume_source, first),
        (reset_source, first),
        (remove_source, second),
    ):
        with operating(path) as db:
            word(db, source, now=now)
        assert is_whole(watched), word
    watched.clock.advance(timedelta(days=1))
    await watched.run(seconds=DAY / 8)
    assert is_whole(watched)
    watched.clock.advance(timedelta(days=4))
    loaded = Loaded(config=watched.config, path=None, data=watched.data, digest="x")
    gone = collect(Installation(loaded, watched.clock))
    assert gone.segments
    assert gone.ledger
    assert is_whole(watched)
    await watched.run(seconds=DAY / 8)
    assert is_whole(watched)


async def test_the_verb_names_the_row_that_was_edited_deleted_or_added(watched: Watched):
    await watched.run(seconds=DAY / 8)
    cli = Cli(watched.data, clock=FixedClock(watched.clock.now()))
    assert cli("evidence", "verify", "--quick").code == 0
    (number,) = watched.rows("SELECT id FROM evidence ORDER BY id LIMIT 1")[0]
    for statement in (
        f"UPDATE evidence SET url = 'https://elsewhere.example/' WHERE id = {number}",
        f"DELETE FROM evidence WHERE id = {number}",
    ):
        db = sqlite3.connect(watched.data / "vedette.db")
        db.execute(statement)
        db.commit()
        db.close()
        told = cli("evidence", "verify", "--quick")
        assert told.code == 6
        assert f"evidence {number}" in told.out
        asked = cli("evidence", "verify", "--quick", "--json")
        assert any(one.get("row") == f"evidence {number}" for one in asked.json["problems"])


async def test_a_store_without_its_seals_is_not_whole(watched: Watched):
    await watched.run(seconds=DAY / 8)
    db = sqlite3.connect(watched.data / "vedette.db")
    db.execute("DELETE FROM seals")
    db.commit()
    db.close()
    told = Cli(watched.data)("evidence", "verify", "--quick", "--json")
    assert told.code == 6
    assert {one["kind"] for one in told.json["problems"]} >= {"seal", "row"}


async def test_a_store_that_is_being_written_is_whole_at_every_moment(watched: Watched):
    """Verified again and again beside the run, by another thread with a connection of its own."""
    await watched.run(seconds=600)
    problems: list[object] = []
    rounds, is_over = 0, threading.Event()

    def verify_on_and_on() -> None:
        nonlocal rounds
        while not is_over.is_set():
            with claims_of(watched.data / "vedette.db") as store:

                def read(store: StoreClaims = store) -> Claims:
                    store.hold()
                    return Claims(store.segments(), store.rows, store.blobs, store)

                problems.extend(verify(watched.data / "archive", read).problems)
            rounds += 1

    beside = threading.Thread(target=verify_on_and_on)
    beside.start()
    try:
        await watched.run(seconds=DAY / 4)
    finally:
        is_over.set()
        beside.join()
    assert rounds > 3
    assert problems == []
