"""`import vedette` is light and gives the names that it promises."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import tomllib

import pytest

import vedette

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_every_promised_name_is_there_and_no_other() -> None:
    assert all(getattr(vedette, name) for name in vedette.__all__)
    assert set(dir(vedette)) == set(vedette.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        vedette.no_such_name  # noqa: B018


def test_the_version_is_the_projects() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert vedette.__version__ == project["version"]


def test_neither_the_package_nor_the_scalar_rules_load_numpy_or_sqlalchemy() -> None:
    code = (
        "import sys, vedette; vedette.classify_url, vedette.calculate_next_scan, vedette.make_policy\n"
        "vedette.score_url_priority, vedette.rank_urls_for_crawling\n"
        "import vedette.core.schedule.due, vedette.core.lanes.lane, vedette.core.evidence.ledger\n"
        "print([m for m in ('numpy', 'sqlalchemy', 'pydantic', 'asyncio') if m in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_the_names_of_002_and_000_are_exported() -> None:
    from datetime import UTC, datetime

    from vedette.contracts.errors import InputError

    now = datetime(2026, 11, 15, tzinfo=UTC)
    by_name = vedette.calculate_next_scan(0.5, "CRITICAL", now=now, jitter=0.5)
    assert by_name == vedette.calculate_next_scan(0.5, vedette.Risk.CRITICAL, now=now, jitter=0.5)
    with pytest.raises(InputError, match="CRITICAL"):
        vedette.calculate_next_scan(0.5, "GRAVE", now=now, jitter=0.5)
    assert vedette.UrlSignalsSchema["required"] == ["url"]
    scored = vedette.score_url_priority(vedette.UrlSignals(url="https://example.org/"), now=now)
    assert set(scored.as_mapping()) == set(vedette.ScoredUrlSchema["properties"])
