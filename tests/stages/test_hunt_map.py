"""The map of a hunt: nothing covers anything, it is small, it is the same for the same hunt, and it asks nobody."""

from __future__ import annotations

import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from browser_kit import needs_chromium
from cli_call import Cli
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from stocked import blank

from vedette.contracts.findings import Claim, FindingCluster, HostMap, MapPlace, OddCard, PageReport, Quote
from vedette.contracts.oddness import Action, OddFinding
from vedette.contracts.words import SourceId, WatchId
from vedette.core.findings.map_layout import GAP, HEIGHT, WIDTH, MapLinks, layout
from vedette.fetch.browser import find_browser
from vedette.report.host_map import drawn, host_map_svg
from vedette.report.map_page import map_page
from vedette.report.map_picture import SCALE, host_map_png

EVIL = '</script><script>window.owned=1</script><img src=x onerror="window.owned=1">'


def finding(url: str, place: str, score: float, n: int) -> OddFinding:
    return OddFinding(
        watch=WatchId(n), number=n, url=url, place=place, source=SourceId("s"), score=score, action=Action.PERSIST,
        reasons=(), weights="default", found_at=datetime(2026, 1, 5, tzinfo=UTC),
    )  # fmt: skip


def card(place: str, score: float, n: int, words: str = "it says so") -> OddCard:
    report = PageReport(summary=words, why=(Claim(words, Quote(words, 0), 3.0),), tags=(), confidence=0.5)
    return OddCard(finding=finding(f"https://{place}/{n}", place, score, n), title=words, report=report)


def big(seed: int, hosts: int = 300, links: int = 3000) -> HostMap:
    """Rings of hosts with findings in a web of others, with names of all lengths."""
    draw = Random(seed)
    names = [f"{'x' * draw.randrange(2, 26)}{n}.example" for n in range(hosts)]
    odd = range(hosts // 6)
    places = tuple(
        MapPlace(
            name=name, rank=draw.random() * 4, score=30 + 50 * draw.random() if n in odd else 0.0,
            cluster=1 + n // 5 if n in odd and n % 10 < 8 else 0, cards=(card(name, 50, n),) if n in odd else (),
        )
        for n, name in enumerate(names)
    )  # fmt: skip
    pairs: set[tuple[int, int]] = {(n, n // 5 * 5 + draw.randrange(5)) for n in odd for _ in range(3)}
    while len(pairs) < links:
        pairs.add((draw.randrange(hosts), draw.randrange(hosts)))
    clusters = tuple(
        FindingCluster(
            number=n + 1, findings=(), places=("a", "b"), words=("moth", "radio", "hymn"), reasons=(), links=1,
            answered=0, brief="two hosts",
        )
        for n in range(hosts // 30)
    )  # fmt: skip
    return HostMap(places=places, links=tuple(sorted(pairs)), clusters=clusters)


def test_a_large_map_is_small_and_the_same_for_the_same_hunt():
    svg = host_map_svg(big(1))
    assert len(svg.encode()) <= 1_500_000
    assert host_map_svg(big(1, 60, 300)) == host_map_svg(big(1, 60, 300)) != host_map_svg(big(2, 60, 300))
    assert not re.search(r"(href|src|url\()", svg)


def test_the_picture_shows_every_finding_in_its_colour_where_the_svg_has_it():
    shown = big(3, 40, 120)
    data = host_map_png(shown)
    assert data == host_map_png(shown)
    image = Image.open(io.BytesIO(data)).convert("RGB")
    assert image.size == (int(WIDTH * SCALE), int(HEIGHT * SCALE))
    given = drawn(shown)
    sea = image.getpixel((2, 2))
    hidden = {node for node, _, _ in given.labels}
    for n, ((x, y, _), place) in enumerate(zip(given.spots, shown.places, strict=True)):
        if place.score and n not in hidden:
            assert image.getpixel((int(x * SCALE), int(y * SCALE))) != sea


@settings(max_examples=25)
@given(st.integers(0, 30), st.randoms(use_true_random=False))
def test_no_two_hosts_stand_on_each_other_and_all_are_on_the_sheet(many, chance):
    pairs = np.array(
        [(chance.randrange(many), chance.randrange(many)) for _ in range(2 * many)], np.int64
    ).reshape(-1, 2)
    radii = np.array([chance.choice([2.0, 6.0, 13.0]) for _ in range(many)])
    groups = [chance.randrange(4) for _ in range(many)]
    places = layout(MapLinks(pairs[:, 0], pairs[:, 1], many), groups, radii)
    assert places.shape == (many, 2)
    for one in range(many):
        assert 0 < places[one, 0] < WIDTH
        assert 0 < places[one, 1] < HEIGHT
        for other in range(one):
            far = float(np.hypot(*(places[one] - places[other])))
            assert far >= radii[one] + radii[other] + GAP - 0.5


def overlaps(boxes: list[dict[str, float]]) -> int:
    """How many boxes touch another."""
    return sum(
        any(
            one is not other
            and one["x"] < other["x"] + other["width"]
            and other["x"] < one["x"] + one["width"]
            and one["y"] < other["y"] + other["height"]
            and other["y"] < one["y"] + one["height"]
            for other in boxes
        )
        for one in boxes
    )


BOXES = """(which) => [...document.querySelectorAll(which)].map((one) => {
  const box = one.getBoundingClientRect();
  return {x: box.x, y: box.y, width: box.width, height: box.height};
})"""


@pytest.fixture(scope="module")
def browser() -> Any:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=find_browser()[0], args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize("seed", [1])
def test_in_a_browser_hosts_and_names_do_not_cover_each_other(browser, tmp_path: Path, seed: int):
    path = tmp_path / "map.svg"
    path.write_text(host_map_svg(big(seed)))
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(path.as_uri())
    hosts, names = (page.evaluate(BOXES, which) for which in ("circle.find, circle.dust", "text"))
    page.close()
    assert len(hosts) == 300
    assert len(names) >= 40
    assert overlaps(hosts) <= 0.02 * len(hosts)
    assert overlaps(names) <= 0.05 * len(names)


@pytest.mark.slow
@needs_chromium
def test_a_chosen_host_shows_its_card_and_the_page_asks_nobody(browser, tmp_path: Path):
    shown = big(3, hosts=60, links=200)
    evil = shown.places[0]
    places = (
        MapPlace(name=evil.name, rank=1.0, score=99.0, cards=(card(evil.name, 99.0, 7, EVIL),)),
        *shown.places[1:],
    )
    path = tmp_path / "map.html"
    path.write_text(map_page(HostMap(places=places, links=shown.links, clusters=shown.clusters)))
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    page.click('circle.find[data-n="0"]')
    assert EVIL in page.inner_text("#side")
    assert page.evaluate("window.owned") is None
    page.click(".back")
    page.focus('circle[data-n="1"]')
    page.keyboard.press("Enter")
    assert places[1].name in page.inner_text("#side")
    assert asked == [path.as_uri()]
    assert said == []
    page.close()


def test_what_a_page_says_is_data_in_the_map():
    shown = big(4, hosts=12, links=20)
    places = (
        MapPlace(name=EVIL, rank=1.0, score=50.0, cards=(card("h.example", 50.0, 1, EVIL),)),
        *shown.places[1:],
    )
    page = map_page(HostMap(places=places, links=shown.links, clusters=()))
    assert "<script>window" not in page
    assert "<img" not in page
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert data
    assert json.loads(data[1])["places"][0]["cards"][0]["summary"] == EVIL


def test_a_map_of_findings_that_are_none_says_so():
    places = tuple(MapPlace(name=f"h{n}.example", rank=1.0) for n in range(3))
    page = map_page(HostMap(places=places, links=((0, 1),), clusters=()))
    assert "Nothing odd was found" in page
    assert drawn(HostMap(places=(), links=(), clusters=())).spots == ()


def test_a_map_needs_a_hunt_and_a_name_that_says_what_it_is(tmp_path: Path):
    blank(tmp_path)
    cli = Cli(tmp_path)
    told = cli("hunt", "map", "--out", str(tmp_path / "map.svg"))
    assert told.code == 2
    assert "nothing was hunted yet" in told.err
    told = cli("hunt", "map", "--out", str(tmp_path / "map.gif"))
    assert told.code == 2
    assert ".svg, .html or .png" in told.err
    assert not list(tmp_path.glob("map.*"))
