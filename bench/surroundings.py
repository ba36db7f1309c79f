"""A clock that is set, a disk that fills up, a lock, a backup under load: looks that were acknowledged, and kept.

python bench/surroundings.py            needs root (a small disk is mounted) and faketime
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "stages"), str(ROOT / "tests" / "flow")]

from surroundings_kit import Program, Running, a_program  # noqa: E402
from test_disk import keep_full  # noqa: E402
from test_faked_clock import faked  # noqa: E402


async def clock(program: Program, shift: str) -> Running:
    running = await program.start("run", "--json", env=faked(program, "+0"))
    for step in ("+0", shift, "+0"):
        (program.data.parent / "clock").write_text(step)
        await running.until("visited", 100, within=120)
    return running


async def disk(program: Program, _: str) -> Running:
    mount = ("mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(program.data))
    await (await asyncio.create_subprocess_exec(*mount)).wait()
    running = await program.start("run", "--json")
    await running.until("visited", 100)
    await keep_full(program.data / "others", running)
    await asyncio.sleep(10)
    (program.data / "others").unlink()
    await running.until("resumed")
    await running.until("visited", 100)
    return running


async def lock(program: Program, _: str) -> Running:
    running = await program.start("run", "--json")
    await running.until("visited", 100)
    other = sqlite3.connect(program.data / "vedette.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    await asyncio.sleep(60)
    other.execute("ROLLBACK")
    await running.until("visited", 100)
    return running


async def backup(program: Program, _: str) -> Running:
    running = await program.start("run", "--json")
    await running.until("visited", 200)
    before = {line["visit"] for line in running.lines if line["event"] == "visited"}
    target = program.data.parent / "kept"
    code, (made,), _err = await program("backup", str(target), "--json")
    restored = program.data.parent / "new"
    await program("restore", str(target), "--data", str(restored), "--json")
    db = sqlite3.connect(restored / "vedette.db")
    kept = before & {visit for (visit,) in db.execute("SELECT id FROM visits")}
    db.close()
    print(
        f"  backup: exit {code}, {len(before)} acknowledged before it, {len(kept)} in it, {made['problems']} problems"
    )
    return running


SCENES = (
    ("clock +90 d and back, in a run", clock, "+90d"),
    ("clock -1 d and back, in a run", clock, "-1d"),
    ("disk full and freed", disk, ""),
    ("lock held for 60 s", lock, ""),
    ("backup under load", backup, ""),
)


async def main() -> None:
    for name, scene, word in SCENES:
        with tempfile.TemporaryDirectory() as place:
            async with a_program(Path(place)) as program:
                running = await scene(program, word)
                code = await running.stop()
                told = {line["visit"] for line in running.lines if line["event"] == "visited"}
                db = sqlite3.connect(program.data / "vedette.db")
                kept = told & {visit for (visit,) in db.execute("SELECT id FROM visits")}
                db.close()
                _, (report,), _ = await program("evidence", "verify", "--json")
                paused = running.count("paused")
                words = f"{len(told)} acknowledged, {len(kept)} kept, whole {report['whole']}"
                print(f"{name}: exit {code}, {words}, paused {paused}", flush=True)
                if scene is disk:
                    await (await asyncio.create_subprocess_exec("umount", str(program.data))).wait()


if __name__ == "__main__":
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    asyncio.run(main())
