"""Pages that scripts make, through the whole stream: shown, compared as shown, one at a time."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from browser_kit import needs_chromium
from cli_call import Cli
from scripted import START, Life, Scripted, life

from vedette.config.model import parse
from vedette.contracts.fetch import Fetched, FetchRequest

DAY = 86400.0
SITE = "https://mfin.example"
URL = f"{SITE}/propisi"
SHELL = '<!doctype html><title>Propisi</title><div id="root"></div><script src="/app.js"></script>'
APP = """fetch('/api').then(a => a.json()).then(a => {
  root.innerHTML = a.map((line, n) => `<p>${line} <a href='/propis/${n}'>Propis ${n}</a></p>`).join('')
})"""
LINES = [
    "Pravilnik o porezu na dohodak stupa na snagu osmoga dana.",
    "Žalba se podnosi u roku od petnaest dana.",
] * 4


class Scripts(Scripted):
    """A shell that is always the same, with an ETag, and data behind it that change after six hours."""

    async def fetch(self, request: FetchRequest) -> Fetched:
        answer = await super().fetch(request)
        hours = (self._clock.now() - START) / timedelta(hours=1)
        lines = LINES if hours < 6 else [*LINES, "Nova odredba o čuđenju šuma."]
        kinds = {"/app.js": ("text/javascript", APP), "/api": ("application/json", json.dumps(lines))}
        path = request.url.removeprefix(SITE)
        kind, text = kinds.get(path, ("text/html", SHELL))
        if answer.status == 404:
            return answer
        body = text.encode()
        return replace(answer, wire=body, body=body, headers=(), content_type=kind, etag='"1"')


def scripts(folder: Path, **config: object) -> Life:
    asked = config.pop("requires_headless", False)
    source = {"url": URL, "lister": "page", "requires_headless": asked}
    watched = life(folder, lambda url, hours: (200, ""), source, **config)
    watched.fetcher = Scripts(
        watched.clock, lambda url, hours: (200, "" if url.endswith("robots.txt") else "x")
    )
    return watched


@needs_chromium
@pytest.mark.slow
@pytest.mark.parametrize("is_asked", [True, False])
async def test_what_scripts_put_into_a_shell_is_compared_though_the_shell_stays_the_same(
    tmp_path: Path, is_asked: bool
):
    watched = scripts(tmp_path, requires_headless=is_asked)
    await watched.run(seconds=DAY / 2)
    assert watched.outcomes().keys() == {"ok"}
    assert len(watched.reported()) == 1
    assert "Nova odredba o čuđenju šuma." in Cli(tmp_path)("diff", URL, "--json").out
    said = Cli(tmp_path)("explain", URL, "--json").json
    renders = [one["reasons"][0]["code"] for one in said["decisions"] if one["action"] == "render"]
    assert renders == ([] if is_asked else ["empty_shell"])
    assert Cli(tmp_path)("evidence", "verify").code == 0


async def test_without_a_browser_a_shell_is_taken_as_it_came_and_the_ledger_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", "")
    watched = scripts(tmp_path)
    await watched.run(seconds=3600)
    (read,) = [
        one for one in Cli(tmp_path)("explain", URL, "--json").json["decisions"] if one["action"] == "render"
    ]
    assert read["output"] == "as it came"
    assert "is not installed" in read["reasons"][0]["note"]


async def test_a_source_that_asks_for_a_browser_is_parked_without_one_and_nothing_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", "")
    watched = scripts(tmp_path, requires_headless=True)
    await watched.run(seconds=3600)
    assert watched.fetcher.asked == []
    told = Cli(tmp_path)("why-not", URL, "--json").json
    assert told["reason"] == "no_browser"
    assert "is not installed" in told["answer"]
    assert watched.rows("SELECT outcome FROM parked") == [("no_browser",)]


@needs_chromium
@pytest.mark.slow
async def test_a_page_that_was_shown_once_is_parked_when_the_browser_is_gone_and_shown_when_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    watched = scripts(tmp_path)
    await watched.run(seconds=3600)
    with monkeypatch.context() as bare:
        bare.setenv("PATH", "")
        await watched.run(seconds=DAY / 5)
        assert watched.rows("SELECT outcome FROM parked") == [("no_browser",)]
    await watched.run(seconds=3600)
    assert watched.rows("SELECT COUNT(*) FROM parked") == [(0,)]
    assert watched.rows("SELECT last_outcome FROM watches") == [("ok",)]
    assert watched.rows("SELECT COUNT(*) FROM changes WHERE state = 'reported'") == [(0,)]


@needs_chromium
@pytest.mark.slow
async def test_a_list_that_scripts_make_is_read_as_shown(tmp_path: Path):
    watched = scripts(tmp_path)
    watched.config = parse(
        {
            "sources": [{"url": URL, "lister": "html_list", "requires_headless": True}],
            "lanes": {"default": {"gap_min": "1s"}},
        }
    )
    await watched.run(seconds=30)
    found = {url for (url,) in watched.rows("SELECT url FROM watches")}
    assert {f"{SITE}/propis/{n}" for n in range(len(LINES))} <= found
    starts = sorted(at for (at,) in watched.rows("SELECT at FROM visits WHERE outcome = 'ok'"))
    assert len(starts) >= 3
    assert all(later - earlier >= 12_000 for earlier, later in pairwise(starts))


def test_asked_leaves_shells_alone():
    assert parse({"extract": {"render": "asked"}}).extract.render == "asked"
