"""What the screen refuses leaves nothing behind, however it is written, and its host is asked nothing afterwards."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import logging
import random
import sqlite3
import tempfile
import zipfile
from datetime import timedelta
from pathlib import Path

import pytest
from leaks import leaks
from scripted import START, Life, life, page

from vedette.app.open_store import screened
from vedette.config.model import Loaded, parse
from vedette.contracts.events import ProblemTold
from vedette.contracts.fetch import Fetched, FetchRequest, FetchSettings
from vedette.contracts.words import Outcome
from vedette.core.lanes.outcomes import outcome_of_status

WORD = "zlokobnarijec"
LINE = "<p>Obican tekst stranice o vrtu i moru, dovoljno dug da bude stranica.</p>" * 3
QUICK = {
    "lanes": {"default": {"gap_min": "1s", "gap_max": "1s", "per_minute": 0}},
    "stages": {"in_process": False},
    "schedule": {"policy": "fixed", "interval": "10d"},
}
PLACES = {
    "title": "<title>{}</title>",
    "text": "<p>{}</p>",
    "description": '<meta name="description" content="{}">',
    "alt": '<img alt="{}" src="/x.png">',
    "data attribute": '<div data-x="{}">a</div>',
    "comment": "<!-- {} -->",
    "script": "<script>var a = '{}';</script>",
    "style": "<style>a::after{{content:'{}'}}</style>",
    "hidden field": '<input type="hidden" value="{}">',
    "linked data": '<script type="application/ld+json">{{"a":"{}"}}</script>',
    "noscript": "<noscript>{}</noscript>",
    "file name": '<a href="/files/{}">a</a>',
    "archive member": "",
    "header": "",
    "redirect": "",
}


def entities(word: str) -> str:
    return "".join(f"&#{ord(char)};" if n % 2 else f"&#x{ord(char):x};" for n, char in enumerate(word))


def percent(word: str) -> str:
    return "".join(f"%{ord(char):02x}" for char in word)


def data_url(word: str) -> str:
    return "data:text/plain;base64," + base64.b64encode(word.encode()).decode()


SPELLED = {"entities": entities, "utf-16": str, "gzip": str, "base64": data_url, "percent": percent}


class Served:
    """Implements `Fetcher`: one host for each place and spelling, each asked for two addresses."""

    def __init__(self, clock) -> None:
        self.clock = clock
        self.asked: list[str] = []
        self.bodies: dict[str, tuple[int, bytes, tuple[tuple[str, str], ...]]] = {}

    def put(
        self, host: str, body: bytes, *headers: tuple[str, str], status: int = 200, path: str = "/"
    ) -> None:
        self.bodies[f"https://{host}{path}"] = (status, body, headers)

    async def fetch(self, request: FetchRequest) -> Fetched:
        self.asked.append(request.url)
        status, body, headers = self.bodies.get(request.url, (404, b"", ()))
        named = dict(headers)
        moved = named.get("Location")
        kind = named.get("Content-Type", "text/html; charset=utf-8")
        outcome = Outcome.OK if moved else outcome_of_status(status)
        return Fetched(
            url=request.url, outcome=outcome, at=self.clock.now(), took=timedelta(milliseconds=5), status=status,
            phrase="OK", headers=(("Content-Type", kind), *headers), wire=body, body=body, address="192.0.2.1",
            redirect_to=moved, content_type=kind,
        )  # fmt: skip

    async def close(self) -> None:
        return None


def put_case(served: Served, host: str, place: str, spelling: str) -> None:
    said = SPELLED[spelling](WORD)
    if place == "redirect":
        target = f"https://{host}/{percent(WORD) if spelling != 'base64' else WORD}?a={spelling}"
        served.put(host, b"", ("Location", target), status=302)
        return
    if place == "header":
        name = f'attachment; filename="{said}"'
        served.put(host, page("a").encode(), ("Content-Disposition", name))
        return
    body = page("a").encode()
    if place == "archive member":
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as package:
            package.writestr(f"{said}.txt" if spelling == "percent" else "a.txt", said)
        body = held.getvalue()
    else:
        body = f"<html><body>{PLACES[place].format(said)}{LINE}</body></html>".encode()
    if spelling == "utf-16" and place != "archive member":
        body = body.decode().encode("utf-16")
    served.put(host, gzip.compress(body) if spelling == "gzip" else body)


def world(folder: Path, served_hosts: list[str], screen: list[dict[str, str]]) -> tuple[Life, Served]:
    sources = [
        {"id": host.partition(".")[0], "url": f"https://{host}/", "lister": "page"} for host in served_hosts
    ]
    watched = life(folder / "data", lambda url, hours: (404, ""), *sources, screen=screen, **QUICK)
    served = Served(watched.clock)
    watched.fetcher = served  # type: ignore[assignment]
    return watched, served


async def test_fifteen_places_in_five_spellings_and_fifty_digests_leave_no_byte(
    tmp_path, monkeypatch, caplog
):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    caplog.set_level(logging.DEBUG)
    cases = [(place, spelling) for place in PLACES for spelling in SPELLED]
    hosts = [f"c{n}.example" for n in range(len(cases))]
    chance = random.Random(8)
    bodies = [page(f"stand-in {chance.random()}").encode() for _ in range(50)]
    digests = [hashlib.sha256(body).hexdigest() for body in bodies]
    held = [f"d{n}.example" for n in range(50)]
    rows = [{"category": "test", "pattern": f"(?i){WORD}"}]
    rows += [{"category": "digest", "digest": digest} for digest in digests]
    watched, served = world(tmp_path, [*hosts, *held, "near.example"], rows)
    for host, (place, spelling) in zip(hosts, cases, strict=True):
        put_case(served, host, place, spelling)
    for n, (host, body) in enumerate(zip(held, bodies, strict=True)):
        inside = f'<img src="data:text/html;base64,{base64.b64encode(body).decode()}">{LINE}'.encode()
        served.put(host, inside if n % 2 else body)
    near = page("Susjedna stranica", *(f'<a href="https://{host}/">{host}</a>' for host in hosts))
    served.put("near.example", near.encode())
    assert (await watched.run(seconds=3600.0)).error is None
    found = dict(watched.rows("SELECT w.url, v.outcome FROM visits v JOIN watches w ON w.id = v.watch_id"))
    passed = [
        case for host, case in zip(hosts, cases, strict=True) if found[f"https://{host}/"] != "screened"
    ]
    assert passed == []
    assert {found[f"https://{host}/"] for host in held} == {"screened"}
    assert found["https://near.example/"] == "ok"
    first = len(served.asked)
    assert (
        await watched.run(seconds=40 * 24 * 3600.0)
    ).error is None  # another process, as far as memory goes
    assert {url.split("/")[2] for url in served.asked[first:]} == {"near.example"}
    words = [WORD, percent(WORD), entities(WORD), base64.b64encode(WORD.encode()).decode(), *digests]
    assert leaks(tmp_path, words) == []
    assert [word for word in words if word in caplog.text or word in repr(watched.events)] == []


async def test_a_breadcrumb_has_hashes_alone_and_links_of_a_screened_page_are_dropped(tmp_path):
    source = {
        "id": "crawl",
        "url": "https://a.example/",
        "lister": "crawl",
        "follow_hosts": ["b.example", "c.example"],
    }
    watched = life(
        tmp_path, lambda url, hours: (404, ""), source, screen=[{"category": "x", "pattern": WORD}], **QUICK
    )
    served = watched.fetcher = Served(watched.clock)  # type: ignore[assignment]
    served.put(
        "a.example", page('<a href="https://b.example/">b</a>', '<a href="https://c.example/">c</a>').encode()
    )
    served.put(
        "b.example", page(f'{WORD} <a href="/hidden">h</a> <a href="https://c.example/lost">l</a>').encode()
    )
    served.put("c.example", page('<a href="https://b.example/other">b</a> <a href="/good">g</a>').encode())
    served.put("c.example", page("dobro").encode(), path="/good")
    assert (await watched.run(seconds=600.0)).error is None
    urls = {url for (url,) in watched.rows("SELECT url FROM watches")}
    assert urls >= {"https://a.example/", "https://c.example/good"}
    assert not any("hidden" in url or "lost" in url for url in urls)
    db = sqlite3.connect(tmp_path / "compliance.db")
    crumbs = db.execute("SELECT category, row, host_hash, url_hash FROM compliance").fetchall()
    db.close()
    host, url = (hashlib.sha256(text.encode()).hexdigest() for text in ("b.example", "https://b.example/"))
    assert crumbs == [("x", "row 1", host, url)]
    assert leaks(tmp_path, [WORD]) == []
    after = [url for url in served.asked if "b.example" in url]
    assert after == ["https://b.example/robots.txt", "https://b.example/"]


async def test_robots_and_error_pages_are_screened_too(tmp_path):
    watched, served = world(tmp_path, ["r.example", "e.example"], [{"category": "x", "pattern": WORD}])
    served.put("r.example", f"User-agent: *\nDisallow: /{WORD}".encode(), path="/robots.txt")
    served.put("r.example", page("a").encode())
    served.put("e.example", page(WORD).encode(), status=500)
    await watched.run(seconds=600.0)
    assert set(watched.rows("SELECT outcome FROM visits")) == {("screened",)}
    assert "https://r.example/" not in served.asked
    assert leaks(tmp_path, [WORD]) == []


async def test_a_source_whose_own_address_is_screened_is_not_stored(tmp_path):
    watched, served = world(tmp_path, [f"{WORD}.example", "ok.example"], [{"category": "x", "pattern": WORD}])
    served.put("ok.example", page("a").encode())
    assert (await watched.run(seconds=600.0)).error is None
    assert not any(WORD in url for url in served.asked)
    told = [event.what for event in watched.events if isinstance(event, ProblemTold)]
    assert told == ["sources.0 is not watched: row 'row 1' of `screen` refuses its address"]
    assert leaks(tmp_path, [WORD]) == []


@pytest.mark.parametrize("is_failing", [False, True])
async def test_a_classifier_of_another_package_is_asked_and_fails_closed(tmp_path, monkeypatch, is_failing):
    from vedette.config import policies

    def judge(text: str, url: str) -> bool:
        if is_failing:
            raise ValueError(text)
        return WORD in text

    class Entry:
        def load(self):
            return judge

    monkeypatch.setattr(policies, "entry_points", lambda group, name: [Entry()] if name == "known" else [])
    watched, served = world(tmp_path, ["a.example"], [{"category": "x", "classifier": "known"}])
    served.put("a.example", page(WORD).encode())
    await watched.run(seconds=60.0)
    assert leaks(tmp_path, [WORD]) == []
    assert watched.clock.now() >= START


async def test_by_hand_a_blocked_host_is_asked_nothing_either_and_an_empty_table_costs_nothing(tmp_path):
    watched, served = world(tmp_path, ["a.example"], [{"category": "x", "pattern": WORD}])
    served.put("a.example", page(WORD).encode())
    await watched.run(seconds=60.0)
    before = len(served.asked)
    plain = Loaded(config=parse({}), path=None, data=watched.data, digest="x")
    by_hand = screened(served, plain, watched.clock)
    got = await by_hand.fetch(FetchRequest(url="https://a.example/other", settings=FetchSettings()))
    assert (got.outcome, len(served.asked)) == (Outcome.SCREENED, before)
    empty = Loaded(config=parse({}), path=None, data=tmp_path / "new", digest="x")
    assert screened(served, empty, watched.clock) is served
