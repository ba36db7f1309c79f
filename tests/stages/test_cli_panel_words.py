"""Words about the panel that mean nothing: told, never planned or stopped."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_call import Cli
from stocked import FixedClock, stocked

from vedette.surface.cli.panel_demo import _afterword
from vedette.surface.cli.session import Session


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("panel", "plan"), "no domains to plan for"),
        (("panel", "kill", "nobody"), "there is no batch nobody"),
        (("panel", "status", "nobody"), "there is no batch nobody"),
        (("sources", "check", "nobody"), "unknown source 'nobody'"),
    ],
)
def test_what_is_not_there_is_bad_input(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    told = Cli(stocked(tmp_path).data)(*words)
    assert (told.code, said in told.err) == (2, True), told


def test_what_the_demonstration_says_to_type_at_its_end_names_the_domains(capsys: pytest.CaptureFixture[str]):
    """N13: a plan writes nothing, so a run must be told which domains."""
    _afterword(Session(clock=FixedClock()))
    said = " ".join(capsys.readouterr().err.split())
    assert said.count("--domains FILE") == said.count("vedette panel ") == 2
