"""A hunt of a small odd world that is meant to be killed: goes on where the store says that it was.

    python tests/flow/killed_hunt.py DATA LOOKS SEED

Pages come from the world itself, and the clock jumps, so a kill at any moment hits work.  Prints one line for each
look that was settled.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
import sys
from datetime import UTC, datetime
from pathlib import Path

from odd_kit import watched_world
from scripted import Life

from vedette.livingweb import OddPlan, OddWorld


def odd_world(seed: int) -> OddWorld:
    return OddWorld(OddPlan(hosts=60, pages=1500, odd=60, decoys=42, seed=seed))


def findings_digest(data: Path) -> str:
    """sha256 of what was found and of every score, without times."""
    db = sqlite3.connect(data / "vedette.db")
    rows = db.execute(
        "SELECT o.url, o.number, o.score, f.action, f.contributions, f.weights, o.features, hex(o.digest), o.pull "
        "FROM odd_pages o LEFT JOIN findings f ON o.watch_id = f.watch_id ORDER BY o.number"
    ).fetchall()
    db.close()
    assert len(rows) > 50
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def looked_at(data: Path) -> tuple[int, datetime | None]:
    if not (data / "vedette.db").exists():
        return 0, None
    db = sqlite3.connect(data / "vedette.db")
    try:
        many, last = db.execute("SELECT COUNT(*), MAX(at) FROM visits").fetchone()
    except sqlite3.OperationalError:  # killed before there were tables
        return 0, None
    finally:
        db.close()
    return many, None if last is None else datetime.fromtimestamp(last / 1000, UTC)


class Told(list[object]):
    """Events, told as they come."""

    def append(self, event: object) -> None:
        print(type(event).__name__, flush=True)


async def main(data: Path, looks: int, seed: int) -> None:
    done, last = looked_at(data)
    watched: Life = watched_world(odd_world(seed), data)
    if last is not None:
        watched.clock.advance(last - watched.clock.now())
    watched.events = Told()
    if looks > done:
        ended = await watched.run(max_visits=looks - done, seconds=60 * 86_400.0)
        assert ended.error is None, ended.error
    print("ended", flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
