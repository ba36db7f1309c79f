"""What each read verb loads.  Modules are counted, not seconds: seconds are in bench/verbs.py."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from machine import patient
from stocked import RULES, stocked
from test_store_panel import batch_of, filled

from vedette.store.migrate import DATABASE
from vedette.store.row_columns import WATCH_COLUMNS
from vedette.surface.cli import main
from vedette.surface.cli.program import FILES
from vedette.surface.cli.verb import LazyVerbs

SRC = Path(__file__).parents[2] / "src"
SCRIPT = """
import sys
from vedette.surface.cli import main
code = main(sys.argv[1:])
loaded = {name if name.startswith("vedette.") else name.partition(".")[0] for name in sys.modules}
print("LOADED", code, len(sys.modules), *sorted(loaded))
"""
NEVER = {
    "sqlalchemy",
    "alembic",
    "aiohttp",
    "asyncio",
    "psycopg",
    "redis",
    "multiprocessing",
    "lxml",
    "selectolax",
    "rich",
    "yaml",
    "uvloop",
}
# What a report about lanes, looks and objectives does without: screens, the guard, jobs of queues.
HEAVY = {
    "vedette.core.evidence.screen",
    "vedette.fetch.guard",
    "vedette.contracts.jobs",
}
SPARED = {"list", "due", "freshness", "changes"}
LIGHT, COUNTING = 370, 515  # modules, empty ones of packages too; those that count with numpy may load it
READS = {
    "list": LIGHT,
    "due": LIGHT,
    "changes": LIGHT,
    "changes --diff": LIGHT,
    "diff 77": LIGHT,
    f"history {RULES}": LIGHT,
    f"why-not {RULES}": LIGHT + 20,
    "sources": LIGHT + 30,  # with the filters and the guard of each
    "lanes": LIGHT,
    "health": LIGHT + 20,  # it also looks for times that a wrong clock left
    "alerts": LIGHT + 20,
    "parked": LIGHT,
    "db status": LIGHT,
    "db path": LIGHT,
    "evidence heads": LIGHT,
    f"evidence show {RULES}": LIGHT,
    f"classify {RULES}": LIGHT,
    f"explain {RULES}": COUNTING,
    "freshness": COUNTING,
    "panel status": LIGHT + 20,
    "panel answers d0.example": LIGHT + 30,  # it reads a domain's name in any spelling
    "panel drift": LIGHT + 30,
    "panel models": LIGHT + 60,  # and the providers with their keys
}


def loaded(words: list[str], cwd: Path) -> tuple[int, int, set[str]]:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SRC)}
    told = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words],
        env=env, capture_output=True, text=True, timeout=patient(60), cwd=cwd,
    )  # fmt: skip
    line = next(one for one in reversed(told.stdout.splitlines()) if one.startswith("LOADED"))
    _, code, count, *names = line.split()
    return int(code), int(count), set(names)


@pytest.mark.parametrize("verb", READS)
def test_a_read_verb_loads_what_it_needs_and_no_more(verb: str, tmp_path: Path):
    data = stocked(tmp_path).data
    if verb.startswith("panel"):
        filled(f"sqlite:///{data / DATABASE}", batch_of(2))[0].close()
    code, count, names = loaded([*verb.split(), "--data", str(data)], tmp_path)
    assert code == 0
    assert names & (NEVER | (HEAVY if verb in SPARED else set())) == set()
    assert ("numpy" in names) <= (READS[verb] == COUNTING)
    assert count <= READS[verb]


def copied(path: Path, copies: range) -> None:
    """Each watch and each of its looks that many times more, under other hosts."""
    columns = ", ".join(WATCH_COLUMNS)
    moved = columns.replace("url", "replace(url, '://', '://w' || :n || '.')", 1).replace("id", "id + :n", 1)
    with closing(sqlite3.connect(path)) as db:
        for n in copies:
            db.execute(
                f"INSERT INTO watches ({columns}) SELECT {moved} FROM watches WHERE url NOT LIKE '%://w%'",
                {"n": n},
            )
        db.commit()


def calls(words: list[str]) -> int:
    """How many functions, of Python and of C, are called by a command."""
    counted = 0

    def count(frame: object, event: str, given: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        assert main(words) == 0
    finally:
        sys.setprofile(None)
    return counted


@pytest.mark.parametrize(
    ("verb", "most"),
    [
        ("list --limit 0 --json", 60),
        ("list --limit 0", 150),
        ("due --within 300d --limit 0 --json", 60),
        ("freshness", 20),
    ],
)
def test_a_row_more_costs_a_few_calls_more(verb: str, most: int, tmp_path: Path, capsys):
    data = stocked(tmp_path).data
    words = [*verb.split(), "--data", str(data)]
    copied(data / DATABASE, range(1, 100))
    calls(words)  # the first time also loads
    few = calls(words)
    rows = _watches(data)
    copied(data / DATABASE, range(100, 400))
    assert (calls(words) - few) / (_watches(data) - rows) <= most
    capsys.readouterr()


def _watches(data: Path) -> int:
    with closing(sqlite3.connect(data / DATABASE)) as db:
        return int(db.execute("SELECT count(*) FROM watches").fetchone()[0])


def test_the_version_loads_nothing(tmp_path: Path):
    script = (
        "import sys; sys.argv = ['vedette', '--version']; from vedette.surface.cli import main; main(); "
        "print(sorted({'typer', 'pydantic', 'dataclasses', 'inspect', 'asyncio'} & set(sys.modules)))"
    )
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SRC)}
    told = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, cwd=tmp_path
    )
    assert told.stdout.splitlines()[0].startswith("vedette ")
    assert told.stdout.splitlines()[1] == "[]", told.stderr


def test_every_file_of_the_command_line_registers_the_verbs_it_is_named_for():
    verbs = LazyVerbs(FILES)
    for name in verbs:
        assert verbs[name].name == name
    for module in dict.fromkeys(FILES.values()):
        own = [name for name, file in FILES.items() if file == module]
        alone = LazyVerbs(dict.fromkeys(own, module))
        assert [alone[name].name for name in alone] == own
        assert set(alone._made) == set(own)


def test_the_list_of_verbs_loads_none_of_their_files(tmp_path: Path):
    code, count, names = loaded(["--help"], tmp_path)
    assert (code, names & (NEVER | {"numpy"})) == (0, set())
    assert count <= LIGHT - 100
