"""What a server that answers for months holds on to between two questions."""

from __future__ import annotations

from pathlib import Path

from stocked import RULES, stocked
from web_kit import an_installation

from vedette.operations.explain import explain
from vedette.store.connection import CACHE_KIB


def test_many_questions_leave_nothing_behind(tmp_path: Path):
    stocked(tmp_path)
    installation = an_installation(tmp_path)
    for _ in range(20):
        explain(installation, RULES, visits=5)
    assert len(installation.used) == 1, "databases that were opened, each once"


def test_a_connection_holds_little_memory(tmp_path: Path):
    stocked(tmp_path)
    installation = an_installation(tmp_path)
    with installation.reading() as db:
        assert db.execute("PRAGMA cache_size").fetchone()[0] == -CACHE_KIB
    with installation.queries() as queries:
        assert queries._db.execute("PRAGMA cache_size").fetchone()[0] == -CACHE_KIB
    assert CACHE_KIB <= 8 * 1024, "more was copied for nothing, and kept by the heap (docs/adr/0088)"
