"""How the program is found out: help by groups, help of one verb, completion, words that other tools use."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer
from cli_call import Cli

from vedette.surface.cli.exit_codes import MEANING
from vedette.surface.cli.program import OTHER_WORDS, SENTENCES, VERBS, program
from vedette.surface.cli.verb import LONG

TOP: Any = typer.main.get_command(program())


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def test_the_program_alone_says_how_to_begin_on_less_than_one_screen(cli: Cli):
    told = cli("--quiet")
    assert told.code == 2
    assert len(told.out.splitlines()) <= 16
    assert "vedette demo" in told.out
    assert "vedette help" in told.out
    assert max(map(len, told.out.splitlines())) <= 80


def test_every_verb_stands_in_one_group_of_the_help_with_a_whole_sentence(cli: Cli):
    grouped = [name for _, rows in VERBS for name, _, _ in rows]
    assert sorted(grouped) == sorted(TOP.commands)
    assert {name: one.get_short_help_str(LONG) for name, one in TOP.commands.items()} == SENTENCES
    page = cli("--help").out
    assert all(f"{title}:" in page for title, _ in VERBS)
    assert "..." not in page.partition("Options:")[2]
    assert max(map(len, page.splitlines())) <= 80
    assert "Exit codes" not in page


@pytest.mark.parametrize("name", [name for name, one in TOP.commands.items() if hasattr(one, "commands")])
def test_no_first_sentence_of_a_group_is_cut(cli: Cli, name: str):
    assert "..." not in cli(name, "--help").out.partition("Commands:")[2]


@pytest.mark.parametrize("words", [["add"], ["sources", "pause"], ["why-not"]])
def test_help_of_a_verb_is_its_help(cli: Cli, words: list[str]):
    assert cli("help", *words).out == cli(*words, "--help").out
    assert cli("help", *words).code == 0


def test_h_is_help_everywhere(cli: Cli):
    assert cli("-h").out == cli("--help").out
    assert cli("sources", "pause", "-h").out == cli("sources", "pause", "--help").out


def test_help_alone_and_of_exit_codes(cli: Cli):
    assert cli("help").out == cli("--help").out
    page = cli("help", "exit-codes").out
    assert all(words in page for words in MEANING.values())
    assert cli("help", "nosuch").code == 2


def test_the_version_is_a_verb_too(cli: Cli):
    assert cli("version").out == cli("--version").out


@pytest.mark.parametrize(("word", "verb"), OTHER_WORDS.items())
def test_words_of_other_tools_lead_to_ours(cli: Cli, word: str, verb: str):
    told = cli(word)
    assert (told.code, f"Did you mean '{verb}'?" in told.err) == (2, True)
    assert verb.split()[0] in TOP.commands
    assert word not in TOP.commands


def test_usage_and_options_are_in_plain_words(cli: Cli):
    pages: list[str] = []
    for name in TOP.commands:
        page = cli(name, "--help").out
        assert "{" not in page.split("Options:")[0].split("Example:")[0], name
        assert not re.search("<[a-z]", page.partition("Options:")[2].replace("<=x", "")), name
        inner = getattr(TOP.commands[name], "commands", {})
        pages += [page, *(cli(name, one, "--help").out for one in inner)]
    assert len(pages) > 60
    for page in pages:  # N12
        usage = page.split("\n\n")[0].replace("COMMAND [ARGS]...", "COMMAND")
        assert ("[[" in usage, "]..." in usage) == (False, False), usage
        assert not re.search("<[a-z]", page.partition("Arguments:")[2].replace("<=x", "")), usage


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("simulate --days abc", "Invalid value for '--days': it is not a number."),
        ("run --seconds x", "Invalid value for '--seconds': it is not a number."),
        ("run --max-visits x", "Invalid value for '--max-visits': it is not a whole number."),
        ("run --max-visits 0", "Invalid value for '--max-visits': at least 1."),
        ("list --limit -1", "Invalid value for '--limit': at least 0."),
        ("list --sorce x", "No such option: --sorce (Possible options: --cursor, --outcome, --source)."),
        ("changes --nothing-of-the-kind", "No such option: --nothing-of-the-kind."),
        ("evidence heads x", "Got unexpected extra argument(s) (x)."),
        ("lisst", "No such command 'lisst'. Did you mean 'list'?"),
    ],
)
def test_what_is_wrong_with_the_words_is_said_in_sentences_of_ours(cli: Cli, words: str, said: str):
    """N11."""
    told = cli(*words.split())
    assert (told.code, told.err.startswith(f"vedette: {said} Try `vedette")) == (2, True), told.err
    assert "Input should" not in told.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_every_verb_and_option_without_starting_the_program(cli: Cli, shell: str):
    script = cli("completion", shell).out
    assert "why-not" in script
    assert "set-aside" in script
    assert "until-idle" in script
    assert cli("completion", "tcsh").code == 2


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_completes_verbs_verbs_of_verbs_options_and_words(cli: Cli, tmp_path: Path):
    script = tmp_path / "vedette.bash"
    script.write_text(cli("completion", "bash").out)

    def completed(*words: str) -> set[str]:
        line = " ".join(f"'{word}'" for word in words)
        asked = f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _vedette; echo ${{COMPREPLY[@]}}"
        told = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
        return set(told.stdout.split())

    assert completed("vedette", "why") == {"why-not"}
    assert completed("vedette", "sources", "pa") == {"pause"}
    assert completed("vedette", "run", "--until") == {"--until-idle"}
    assert completed("vedette", "add", "--lister", "si") == {"sitemap"}
    assert completed("vedette", "--json", "li") == {"list"}
