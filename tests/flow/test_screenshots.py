"""Pictures of pages, through the whole stream: kept with the page, under its chain, and only where they may be."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from browser_kit import needs_chromium
from cli_call import Cli
from PIL import Image
from scripted import START, Life, Scripted, life
from stocked import FixedClock
from warcio.archiveiterator import ArchiveIterator
from web_kit import an_installation, serving

from vedette.config.model import Loaded, parse
from vedette.contracts.fetch import Fetched, FetchRequest
from vedette.operations.installation import Installation
from vedette.operations.screenshots import screenshot_png

pytestmark = [needs_chromium, pytest.mark.slow]
HOUR = 3600.0
URL = "https://mfin.example/propisi"
RED, GREEN, BLUE = (200, 0, 0), (0, 160, 0), (0, 0, 200)
PAGE = (
    "<!doctype html><title>Propisi</title><body style='margin:0'>"
    "<div style='height:300px;background:rgb{}'></div><img src=/grb.png width=200 height=100 style='display:block'>"
    "<p>Pravilnik o porezu na dohodak stupa na snagu osmoga dana od dana objave u novinama.</p><p>{}</p>"
)
HIDDEN = "<script>document.body.append('zlokobna' + 'rijec')</script>"


def picture(colour: tuple[int, int, int]) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (20, 10), colour).save(out, "PNG")
    return out.getvalue()


class Shown(Scripted):
    """A page with an image; after two hours it says and shows something else."""

    async def fetch(self, request: FetchRequest) -> Fetched:
        answer = await super().fetch(request)
        if request.url.endswith("/grb.png"):
            body = picture(BLUE)
            return replace(answer, wire=body, body=body, headers=(), content_type="image/png")
        return answer


def script(url: str, hours: float) -> tuple[int, str]:
    if url.endswith("robots.txt"):
        return 200, ""
    if hours < 2:
        return 200, PAGE.format(RED, "Žalba se podnosi u roku od petnaest dana.")
    return 200, PAGE.format(GREEN, "Žalba se podnosi u roku od osam dana, pisanim putem.")


def pictured(folder: Path, *, screenshot: bool = True, **config: object) -> Life:
    source = {"url": URL, "lister": "page", "requires_headless": True, "screenshot": screenshot}
    slow = {"schedule": {"policy": "fixed", "interval": "7h"}, "stages": {"in_process": False}}
    watched = life(folder, script, source, **(slow | config))
    watched.fetcher = Shown(watched.clock, script)
    return watched


def shot(folder: Path, at: datetime | None = None) -> Image.Image:
    loaded = Loaded(config=parse({}), data=folder, path=None, digest="")
    return Image.open(io.BytesIO(screenshot_png(Installation(loaded, FixedClock()), URL, at=at)))


def colour(picture: Image.Image, x: int = 5, y: int = 5) -> object:
    return picture.convert("RGB").getpixel((x, y))


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """Two states of a page, seen by a browser that takes pictures."""
    watched = pictured(tmp_path_factory.mktemp("seen"))
    asyncio.run(watched.run(seconds=12 * HOUR))
    return watched


def test_a_picture_of_each_state_is_kept_with_the_page_and_verified_with_it(seen: Life):
    assert len(seen.reported()) == 1
    after, before = shot(seen.data), shot(seen.data, START + timedelta(hours=1))
    assert (before.width, colour(before), colour(after)) == (1280, RED, GREEN)
    assert colour(after, 100, 350) == BLUE  # the image of the page is in the picture
    states = Cli(seen.data)("evidence", "show", URL, "--json").json["evidence"]
    assert [bool(one.get("screenshot")) for one in states] == [True, True]
    looks, pictures = (len(seen.rows(f"SELECT 1 FROM {table}")) for table in ("visits", "screenshots"))
    assert looks > pictures == 2  # one for each state, not one for each look
    assert Cli(seen.data)("evidence", "verify").code == 0


def test_other_tools_find_the_picture_in_an_export(seen: Life, tmp_path: Path):
    warc, wacz = tmp_path / "a.warc.gz", tmp_path / "a.wacz"
    for target in (warc, wacz):
        assert Cli(seen.data)("evidence", "export", URL, "--to", str(target)).code == 0
    with warc.open("rb") as file:
        found = [
            (one.rec_type, one.rec_headers.get_header("WARC-Target-URI"), one.content_stream().read()[:8])
            for one in ArchiveIterator(file)
        ]
    assert found.count(("resource", f"urn:fullPage:{URL}", b"\x89PNG\r\n\x1a\n")) == 2
    with zipfile.ZipFile(wacz) as packed:
        rows = [line.split(" ", 2) for line in packed.read("indexes/index.cdx").decode().splitlines()]
        newest = [json.loads(said) for key, _, said in rows if key == f"urn:fullpage:{URL}"][-1]
        data = packed.read("archive/data.warc.gz")
    record = gzip.decompress(data[int(newest["offset"]) :][: int(newest["length"])])
    assert newest["mime"] == "image/png"
    asked = [sys.executable, "-m", "vedette", "evidence", "screenshot", URL, "--data", str(seen.data)]
    png = subprocess.run(asked, capture_output=True, check=True).stdout
    assert png.startswith(b"\x89PNG")
    assert png in record


def test_an_altered_byte_of_a_picture_is_found(seen: Life, tmp_path: Path):
    data = tmp_path / "copy"
    shutil.copytree(seen.data, data)
    segment, offset, length = seen.rows(
        'SELECT v.segment, v."offset", v.length FROM screenshots s JOIN visits v ON v.id = s.visit_id'
    )[0]
    path = data / "archive" / f"{segment}.warc.gz"
    altered = bytearray(path.read_bytes())
    altered[offset + length - 200] ^= 1
    path.write_bytes(altered)
    assert Cli(data)("evidence", "verify").code == 6


async def test_the_pages_show_how_it_looked_before_and_after(seen: Life):
    async with serving(an_installation(seen.data)) as client:
        change = (await client.ask("/changes/1")).text
        watch = (await client.ask(f"/watch?url={quote(URL, safe='')}")).text
        (first, second) = re.findall(r'<img src="(/evidence/\d+/screenshot.png)"', change)
        assert second in watch
        shown = await client.ask(first)
        given = await client.ask(f"/api/v1{first.removesuffix('.png')}")
        assert (await client.ask("/api/v1/evidence/1/screenshot")).status == 404
    assert (shown.status, shown.headers["Content-Type"], shown.text[1:4]) == (200, "image/png", "PNG")
    assert "sandbox" in shown.headers["Content-Security-Policy"]
    assert given.text == shown.text


async def test_a_page_that_the_screen_refuses_leaves_no_picture(tmp_path: Path):
    """Also where the browser alone shows what it refuses."""
    watched = pictured(tmp_path, screen=[{"category": "forbidden", "pattern": "zlokobnarijec"}])
    watched.fetcher = Shown(watched.clock, lambda url, hours: (200, script(url, 0)[1] + HIDDEN))
    await watched.run(seconds=HOUR)
    assert watched.outcomes().keys() == {"screened"}
    assert [url for _, url in watched.fetcher.asked if url.endswith(".png")]  # a picture was taken
    assert watched.rows("SELECT 1 FROM screenshots") == []
    assert b"urn:fullPage" not in records(tmp_path)


def records(folder: Path) -> bytes:
    return b"".join(gzip.decompress(path.read_bytes()) for path in folder.rglob("*.warc.gz"))


async def test_a_picture_that_fails_is_told_and_the_look_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("vedette.fetch.browser.SHOT_BYTES", 10)
    watched = pictured(tmp_path)
    await watched.run(seconds=HOUR)
    assert watched.outcomes().keys() == {"ok"}
    decisions = Cli(tmp_path)("explain", URL, "--json").json["decisions"]
    (told,) = [one for one in decisions if one["action"] == "screenshot"]
    assert (told["output"], told["reasons"][0]["code"]) == ("failed", "no_screenshot")
    assert "no screenshot is kept" in Cli(tmp_path)("evidence", "screenshot", URL, "--json").err


async def test_a_state_that_was_known_before_gets_its_picture_at_the_next_look(tmp_path: Path):
    """Without the key no picture is taken, and no image is asked for."""
    hourly = {"schedule": {"policy": "fixed", "interval": "1h"}}
    watched = pictured(tmp_path, screenshot=False, **hourly)
    await watched.run(seconds=HOUR / 2)
    assert not [url for _, url in watched.fetcher.asked if url.endswith(".png")]
    assert watched.rows("SELECT 1 FROM screenshots") == []
    again = pictured(tmp_path, **hourly)
    again.clock = watched.clock
    again.fetcher = Shown(again.clock, lambda url, hours: script(url, 0))
    await again.run(seconds=HOUR * 1.5)
    assert len(again.rows("SELECT 1 FROM screenshots")) == 1
    assert colour(shot(tmp_path)) == RED
    assert Cli(tmp_path)("evidence", "verify").code == 0
