"""The program as a whole: every verb is helped, documented and safe; nothing heavy is loaded for nothing."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from cli_call import Cli
from machine import patient
from stocked import RULES, stocked

from vedette.surface.cli.exit_codes import MEANING
from vedette.surface.cli.program import program

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOP: Any = typer.main.get_command(program())
VERBS = (
    "demo init add import export list test run due explain why-not classify robots history changes diff evidence "
    "look pause resume remove mute unmute note lanes sources parked doctor gc db replay rank simulate freshness hunt "
    "health alerts serve panel worker backup restore config token help version completion "
    "feed search mcp digest mark noise workers"
).split()


def commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in TOP.commands.items():
        yield (name,), command
        for inner, one in getattr(command, "commands", {}).items():
            yield (name, inner), one


EVERY = list(commands())
NAMES = [" ".join(words) for words, _ in EVERY]


def reference() -> Any:
    spec = importlib.util.spec_from_file_location("reference", ROOT / "tools/reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_verb_is_there():
    assert set(TOP.commands) == set(VERBS)


@pytest.mark.parametrize(("words", "command"), EVERY, ids=NAMES)
def test_every_verb_has_words_an_example_and_the_options_of_all(words: tuple[str, ...], command: Any):
    before, mark, example = command.help.partition("\b\nExample:\n")
    assert before.strip()
    assert mark
    assert "vedette" in example
    assert {"--json", "--config", "--data", "--quiet"} <= {opt for one in command.params for opt in one.opts}
    assert all(one.help for one in command.params if one.param_type_name == "option")


@pytest.mark.parametrize("words", [words for words, _ in EVERY], ids=NAMES)
def test_every_verb_helps_without_a_store(tmp_path: Path, words: tuple[str, ...]):
    told = Cli(tmp_path)(*words, "--help")
    assert told.code == 0
    assert "Example:" in told.out
    assert list(tmp_path.iterdir()) == []


def test_the_reference_is_what_the_program_says():
    made = reference()
    assert made.CLI.read_text(encoding="utf-8") == made.cli_page(), "run tools/reference.py"
    assert made.MAN.read_text(encoding="utf-8") == made.man_page(), "run tools/reference.py"
    assert made.CONFIG.read_text(encoding="utf-8") == made.config_page(), "run tools/reference.py"
    assert made.HELP_TEXTS.read_text(encoding="utf-8") == made.help_texts(), "run tools/reference.py"
    for place, schema in made.SCHEMAS.items():
        assert place.read_text(encoding="utf-8") == made.schema_text(schema()), "run tools/reference.py"


def test_every_verb_option_and_exit_code_is_in_the_reference():
    page = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    for words, command in EVERY:
        assert f"# vedette {' '.join(words)}\n" in page
        for option in (opt for one in command.params if one.param_type_name == "option" for opt in one.opts):
            assert f"`{option}" in page or f", {option}`" in page or option == "--help"
    for code in MEANING:
        assert f"| {code.value} |" in page


def test_every_key_of_the_configuration_has_words():
    made = reference()
    assert {key for key, _, _ in made.every_key()} == set(made.WORDS)


def test_options_of_all_verbs_are_taken_before_and_after_the_verb(tmp_path: Path):
    stock = stocked(tmp_path)
    from vedette.surface.cli import main

    for words in (
        ["--data", str(stock.data), "--json", "list"],
        ["list", "--json", "--data", str(stock.data)],
    ):
        assert main(words) == 0


@pytest.mark.parametrize(
    "words", [["bogus"], ["list", "--bogus"], ["explain"], ["lanes", "bogus"], ["evidence"], []]
)
def test_words_that_are_no_command_end_with_2(tmp_path: Path, words: list[str]):
    assert Cli(tmp_path)(*words).code == 2


def test_the_version_is_told(tmp_path: Path):
    assert Cli(tmp_path)("--version").out.startswith("vedette ")


def run(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    env = {"PATH": "", "PYTHONPATH": str(ROOT / "src"), **more.pop("env", {})}
    return subprocess.run(
        [sys.executable, *words], env=env, capture_output=True, text=True, timeout=patient(60), **more
    )


@pytest.mark.parametrize("words", [["--help"], ["classify", "https://example.org/zakon"], ["add", "--help"]])
def test_nothing_heavy_is_loaded_for_light_verbs(tmp_path: Path, words: list[str]):
    script = (
        "import sys; from vedette.surface.cli import main; code = main(sys.argv[1:]); "
        "print(code, sorted(set(sys.modules) & {'sqlalchemy', 'aiohttp', 'numpy', 'lxml', 'alembic', 'sqlite3'}))"
    )
    told = run("-c", script, *words, cwd=tmp_path)
    assert told.stdout.splitlines()[-1] == "0 []", told.stderr


def test_a_reader_that_has_enough_ends_the_program_quietly(tmp_path: Path):
    data = stocked(tmp_path).data
    reader, writer = os.pipe()
    os.close(reader)
    try:
        told = subprocess.run(
            [sys.executable, "-m", "vedette", "list", "--json", "--data", str(data)],
            env={"PATH": "", "PYTHONPATH": str(ROOT / "src")},
            stdout=writer,
            stderr=subprocess.PIPE,
            timeout=patient(60),
        )
    finally:
        os.close(writer)
    assert (told.returncode, told.stderr) == (0, b"")


def test_a_pipe_gets_no_colour_and_whole_cells(tmp_path: Path):
    data = stocked(tmp_path).data
    told = run("-m", "vedette", "list", "--data", str(data), env={"COLUMNS": "20", "TERM": "xterm"})
    assert told.returncode == 0
    assert "\x1b" not in told.stdout
    assert RULES in told.stdout


def test_the_manual_page_has_every_verb_and_is_installed_with_the_program():
    page = reference().man_page()
    for name in NAMES:
        assert f'.SS "vedette {name}' in page
    assert ".SH EXIT STATUS" in page
    for line in page.splitlines():
        assert not line.startswith("'"), "roff takes it for a request"
        assert not line.startswith(".") or line.split()[0] in REQUESTS, line
    placed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]
    assert placed["shared-data"] == {"docs/reference/vedette.1": "share/man/man1/vedette.1"}


REQUESTS = {".TH", ".SH", ".SS", ".PP", ".TP", ".nf", ".fi", ".RS", ".RE", '.\\"'}
