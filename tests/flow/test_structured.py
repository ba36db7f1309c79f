"""Structured sources through the whole stream: what is a change, and what is only a new entry."""

from __future__ import annotations

import json
from pathlib import Path

from cli_call import Cli
from scripted import life, page

HNB = "https://api.hnb.hr/tecajn-eur/v3"
NN = "https://narodne-novine.nn.hr"
SITEMAP, LAW = f"{NN}/sitemap_1_2026_120.xml", f"{NN}/eli/sluzbeni/2013/73/1451"
DAY = 86_400.0


def rates(number: int, usd: str) -> str:
    rows = (("AUD", "1,6579"), ("CHF", "0,9361"), ("GBP", "0,8520"), ("USD", usd))
    return json.dumps(
        [{"broj_tecajnice": str(number), "valuta": code, "srednji_tecaj": rate} for code, rate in rows]
    )


def sitemap(*numbers: int) -> str:
    urls = "".join(f"<url><loc>{NN}/clanci/sluzbeni/2026_11_120_{n}.html</loc></url>" for n in numbers)
    return f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'


def law(text: str) -> str:
    eli = f'<meta about="{LAW}" property="eli:title" content="Zakon o PDV-u">'
    return page(text, title="Zakon o PDV-u", head=eli)


def summaries(watched) -> list[tuple[str, str]]:
    return watched.rows(
        "SELECT w.url, c.summary FROM changes c JOIN watches w ON w.id = c.watch_id WHERE c.state = 'reported'"
    )


def told(url: str, hours: float, before: str, after: str):
    if url.endswith("/robots.txt"):
        return 200, ""
    return 200, before if hours < 24 else after


async def test_a_rate_that_moved_is_told_by_its_name_and_once(tmp_path):
    watched = life(
        tmp_path,
        lambda url, hours: told(url, hours, rates(220, "1,0809"), rates(221, "1,0795")),
        {"url": HNB, "lister": "hnb", "structured": {"currencies": ["USD"]}},
    )
    await watched.run(seconds=2 * DAY)
    assert set(watched.rows("SELECT url FROM watches")) == {(HNB,), (f"{HNB}?valuta=USD",)}
    of_list = [text for url, text in summaries(watched) if url == HNB]
    assert of_list == [
        "5 fields changed: /valuta=USD/srednji_tecaj '1,0809' -> '1,0795', /*/broj_tecajnice '220' -> '221' (4 times)"
    ]


async def test_a_broken_rate_list_is_no_change(tmp_path):
    watched = life(
        tmp_path,
        lambda url, hours: told(url, hours, rates(220, "1,0809"), '[{"valuta": "USD",'),
        {"url": HNB, "lister": "hnb"},
    )
    await watched.run(seconds=2 * DAY)
    assert summaries(watched) == []
    failed = watched.outcomes()["parse_failed"]
    assert 0 < failed < 50  # it was looked at every five seconds, to confirm a difference
    assert watched.rows("SELECT COUNT(*) FROM changes") == [(0,)]


async def test_a_new_entry_of_the_gazette_is_found_and_not_reported_as_a_change_of_the_sitemap(tmp_path):
    def script(url: str, hours: float):
        if url == SITEMAP:
            return told(url, hours, sitemap(1), sitemap(1, 2))
        return told(url, hours, page("Članak 1."), page("Članak 1."))

    watched = life(tmp_path, script, {"url": SITEMAP, "lister": "nn"})
    await watched.run(seconds=2 * DAY)
    assert watched.rows("SELECT COUNT(*) FROM watches") == [(3,)]
    assert summaries(watched) == []


async def test_a_law_that_changed_is_reported_though_it_is_read_as_a_listing(tmp_path):
    watched = life(
        tmp_path,
        lambda url, hours: told(url, hours, law("Stopa je 25 %."), law("Stopa je 24 %.")),
        {"url": LAW, "lister": "nn"},
    )
    await watched.run(seconds=2 * DAY)
    ((url, text),) = summaries(watched)
    assert (url, "24" in text) == (LAW, True)


ACT = Path(__file__).parents[1] / "fixtures" / "structured" / "nn-act.json"


async def test_what_the_gazette_says_of_an_act_can_be_shown(tmp_path):
    """The sitemap names the act; its page says nothing of itself, its JSON-LD does."""
    acts = f"{NN}/sitemap_1_2013_73.xml"
    article = f"{NN}/clanci/sluzbeni/2013_06_73_1451.html"

    def script(url: str, hours: float):
        if url.endswith("/robots.txt"):
            return 200, ""
        if url == acts:
            loc = f"<url><loc>{article}</loc></url>"
            return 200, f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{loc}</urlset>'
        return 200, ACT.read_text() if url.endswith("/json-ld") else page("Zakon se primjenjuje.")

    formats = {"formats": ["html", "json-ld"]}
    watched = life(tmp_path, script, {"url": acts, "lister": "nn", "structured": formats})
    await watched.run(seconds=DAY / 4)
    cli = Cli(tmp_path)
    for url in (article, f"{LAW}/json-ld"):
        act = cli("explain", url, "--json").json["act"]
        assert act["eli"] == "/eli/sluzbeni/2013/73/1451"
        assert (act["title"], act["number"]) == ("Zakon o porezu na dodanu vrijednost", "1451")
        assert (act["date_document"], act["date_publication"]) == ("2013-06-14", "2013-06-18")
        assert act["publisher"] == "Narodne novine d.d."
        assert act["is_about"][1] == "porez na dodanu vrijednost"
        assert act["based_on"] == [f"{NN}/eli/sluzbeni/2010/85/2422"]
        assert act["repeals"] == [f"{NN}/eli/sluzbeni/1995/47/872"]
        assert len(act["changed_by"]) == 2
    told = cli("explain", article).out
    assert "ZAKON 1451, dated 2013-06-14, published 2013-06-18, in force from 2013-07-01" in told
    assert "is about POREZI; porez na dodanu vrijednost" in told
    assert "based on /eli/sluzbeni/2010/85/2422" in told
    assert "changed by /eli/sluzbeni/2013/148/3145; /eli/sluzbeni/2024/152/2505" in told
    (kept,) = cli("evidence", "show", f"{LAW}/json-ld", "--json").json["evidence"]
    assert kept["act"]["passed_by"].endswith("/19505")
    assert cli("explain", acts, "--json").json["act"] is None
    assert "act" not in cli("evidence", "show", acts, "--json").json["evidence"][0]
