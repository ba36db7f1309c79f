"""`vedette token`: made once, listed by name, revoked."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_call import Cli
from stocked import stocked

from vedette.store.migrate import DATABASE


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    stocked(tmp_path)
    return Cli(tmp_path)


def test_a_token_is_shown_once_listed_by_its_name_and_revoked(cli: Cli, tmp_path: Path):
    made = cli("token", "add", "ana", "--scope", "write")
    token = made.out.strip()
    assert (made.code, token[:4], len(token)) == (0, "vdt_", 47)
    assert "not shown again" in made.err
    listed = cli("token", "list")
    assert "ana" in listed.out
    assert token not in listed.out
    assert token.encode() not in (tmp_path / DATABASE).read_bytes()
    assert cli("token", "--json").json["tokens"][0]["scope"] == "write"
    assert cli("token", "revoke", "ana").code == 0
    assert cli("token", "list", "--json").json == {"tokens": []}
    assert cli("token", "list", "--all", "--json").json["tokens"][0]["revoked_at"]


def test_what_cannot_be_done_with_a_token_says_what_to_do(cli: Cli):
    assert "unknown scope 'root'" in cli("token", "add", "bo", "--scope", "root").err
    assert "1 to 60" in cli("token", "add", " ").err
    cli("token", "add", "ana")
    assert "there is a token 'ana'" in cli("token", "add", "ana").err
    assert "did you mean 'ana'" in cli("token", "revoke", "anna").err
