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
        "import vedette.core.schedule.due, vedette.core.lane, vedette.core.ledger\n"
        "print([m for m in ('numpy', 'sqlalchemy', 'pydantic', 'asyncio') if m in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
