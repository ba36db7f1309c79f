"""A document is as critical as any page that links to it, in whatever order they were found (000 section 2)."""

from __future__ import annotations

import itertools
import json

import pytest
from scripted import life, page

from vedette.livingweb.office import make_rtf

HOME, RULES, OTHER = "https://a.hr/", "https://a.hr/propisi/", "https://a.hr/ostalo/"
NAMED, BARE = "https://a.hr/dat/zakon.rtf", "https://a.hr/download?id=7"
FILE = make_rtf("Zakon", ("Stopa poreza iznosi dvadeset i pet posto osnovice.",)).decode("ascii")
LINKS = f'<a href="{NAMED}">Zakon</a> <a href="{BARE}">Zakon opet</a>'


def site(order: tuple[str, ...]):
    """A front page that names the others in this order; the document is linked from all of them."""

    def script(url: str, hours: float):
        if url.endswith("/robots.txt"):
            return 404, ""
        if url in (NAMED, BARE):
            return 200, FILE
        names = "".join(f'<p><a href="{one}">{one}</a></p>' for one in order) if url == HOME else ""
        links = "" if url == HOME and HOME not in order else LINKS
        return 200, page(f"Stranica {url} govori o propisima.", names + links)

    return script


def decisions(watched) -> list[dict]:
    found = [json.loads(row[0]) for row in watched.rows("SELECT payload FROM ledger")]
    return [one for row in found for one in (row if isinstance(row, list) else [row])]


def risks(watched) -> dict[str, tuple[int, str]]:
    return {url: (risk, kind) for url, risk, kind in watched.rows("SELECT url, risk, node_type FROM watches")}


@pytest.mark.parametrize("order", list(itertools.permutations((HOME, RULES, OTHER))))
async def test_a_document_is_critical_whoever_found_it_first(tmp_path, order):
    watched = life(tmp_path, site(order), {"id": "a", "url": HOME, "lister": "crawl"})
    assert (await watched.run(seconds=6 * 3600.0)).error is None
    found = risks(watched)
    assert found[RULES][0] == 3
    assert found[NAMED] == (3, "ASSET")
    assert found[BARE] == (3, "ASSET")
    assert found[OTHER][0] < 3


async def test_a_page_that_lists_nothing_raises_its_documents_too(tmp_path):
    sources = ({"id": "o", "url": OTHER, "lister": "crawl"}, {"id": "p", "url": RULES, "lister": "page"})
    watched = life(tmp_path, site((OTHER,)), *sources)
    await watched.run(seconds=6 * 3600.0)
    assert risks(watched)[NAMED] == (3, "ASSET")


async def test_what_was_raised_is_looked_at_soon_and_says_why(tmp_path):
    def script(url: str, hours: float):
        if url == RULES and hours < 20:
            return 404, ""
        return site((HOME,))(url, hours)

    sources = ({"id": "h", "url": HOME, "lister": "crawl"}, {"id": "p", "url": RULES, "lister": "crawl"})
    watched = life(tmp_path, script, *sources, schedule={"policy": "fixed", "interval": "100h"})
    await watched.run(seconds=10 * 3600.0)
    assert risks(watched)[NAMED] == (1, "ASSET")
    await watched.run(seconds=400 * 3600.0)
    assert risks(watched)[NAMED][0] == 3
    said = [one for one in decisions(watched) if one["action"] == "raise"]
    assert {reason[-1] for one in said for reason in one["reasons"]} == {RULES}
    heard = min(at for at in watched.fetcher.looks(RULES) if at >= 20)
    assert any(heard <= at <= heard + 1 for at in watched.fetcher.looks(NAMED))


async def test_the_risk_that_the_operator_set_for_a_source_stays(tmp_path):
    watched = life(tmp_path, site((RULES, HOME)), {"id": "a", "url": HOME, "lister": "crawl", "risk": "LOW"})
    await watched.run(seconds=6 * 3600.0)
    assert {risk for risk, _ in risks(watched).values()} == {0}


async def test_a_document_that_no_critical_page_names_stays_what_it_is(tmp_path):
    watched = life(tmp_path, site((HOME, OTHER)), {"id": "a", "url": HOME, "lister": "crawl"})
    await watched.run(seconds=6 * 3600.0)
    assert (risks(watched)[NAMED], risks(watched)[BARE]) == ((1, "ASSET"), (1, "ASSET"))


async def test_the_ledger_has_the_risk_that_was_inherited(tmp_path):
    watched = life(tmp_path, site((RULES, HOME)), {"id": "a", "url": RULES, "lister": "crawl"})
    await watched.run(seconds=6 * 3600.0)
    admitted = [
        one for one in decisions(watched) if one["action"] == "admit" and one["inputs"]["url"] == NAMED
    ]
    assert [one["output"]["risk"] for one in admitted] == ["CRITICAL"]
