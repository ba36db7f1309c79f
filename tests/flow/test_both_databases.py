"""The same web, watched with its store in a file and on a server: nothing that anyone sees differs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from watching import Watched, clock_of, living, living_web

from vedette.config.model import Loaded
from vedette.contracts.sql_connection import PostgresAddress
from vedette.livingweb import grid_world
from vedette.operations.installation import Installation
from vedette.operations.maintenance import verify_evidence

DAY = 86400.0
# What stage workers write beside the looks has the moment at which a worker came to it.
TABLES = "visits evidence changes segments sources watches lanes refusals parked hosts hubs published".split()
DECISIONS = "SELECT id, at, watch_id, visit_id, kind, payload FROM ledger WHERE kind <> 'verdict'"
VERDICTS = "SELECT evidence_id, text_key, traits, vector, word, score, reasons, rule FROM verdicts"


async def test_the_same_web_watched_in_both_forms_gives_the_same_evidence_and_the_same_changes(
    tmp_path: Path, postgres_store: PostgresAddress
):
    in_file = await watched(tmp_path / "file", None)
    on_server = await watched(tmp_path / "server", postgres_store)
    assert len(in_file.rows("SELECT digest FROM evidence")) > 40
    assert len(in_file.reported()) > 3
    assert on_server.life() == in_file.life()
    assert told(on_server) == told(in_file)
    assert checked(on_server) == checked(in_file)


async def watched(data: Path, server: PostgresAddress | None) -> Watched:
    world = grid_world(6, 6, seed=12)
    clock = clock_of(world)
    async with living_web(world, clock) as web:
        made = living(world, web, data, clock=clock)
        made.server = server
        for _ in range(2):  # the second run goes on where the first was stopped
            ended = await made.run(seconds=DAY / 2)
            assert ended.error is None
        return made


def told(made: Watched) -> dict[str, list[Any]]:
    """Every row that a look writes, as it is."""
    queries = {table: f"SELECT * FROM {table}" for table in TABLES} | {
        "ledger": DECISIONS,
        "verdicts": VERDICTS,
    }
    return {name: sorted(map(repr, made.rows(query))) for name, query in queries.items()}


def checked(made: Watched) -> tuple[bool, int, int]:
    """What `evidence verify` finds."""
    loaded = Loaded(config=made.config, path=None, data=made.data, digest="", server=made.server)
    report = verify_evidence(Installation(loaded, made.clock))
    return report.is_whole, report.visits, report.records
