"""Pages that scripts make: shown, through our own guarded fetcher alone, one context per page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from browser_kit import HOME, INNER, MISSING, Stage, needs_chromium, stage_set

from vedette.config.model import Loaded, parse
from vedette.contracts.fetch import Fetched, FetchRequest, FetchSettings
from vedette.contracts.words import Outcome
from vedette.fetch import browser as module
from vedette.fetch.browser import Chromium, agent_of, find_browser
from vedette.fetch.http import HttpFetcher
from vedette.operations.probe import look_once
from vedette.telemetry.clock import SystemClock

pytestmark = [needs_chromium, pytest.mark.slow]


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with stage_set() as made:
        yield made


@pytest.fixture
async def chromium() -> AsyncIterator[Chromium]:
    fetcher = HttpFetcher(SystemClock())
    made = Chromium(fetcher, SystemClock())
    yield made
    await made.close()
    await fetcher.close()


def settings(stage: Stage) -> FetchSettings:
    return FetchSettings(
        allow_networks=(f"{HOME}/32",), allow_ports=(stage.port,), user_agent="Vedette/1 (test)"
    )


async def shown(chromium: Chromium, stage: Stage, path: str = "/") -> Fetched:
    asked = FetchRequest(url=stage.url(path), settings=settings(stage))
    plain = await chromium.fetcher.fetch(asked)
    return await chromium.render(plain, settings(stage))


async def test_a_page_is_given_as_its_scripts_made_it(chromium: Chromium, stage: Stage):
    stage.pages["/"] = ("text/html", '<div id="root"></div><script src="/app.js"></script>')
    stage.pages["/app.js"] = (
        "text/javascript",
        "fetch('/api?x=1').then(a => a.json()).then(a => { root.innerHTML = `<h1>${a.ime}</h1>` })",
    )
    stage.pages["/api"] = ("application/json", '{"ime": "Šuma i đaci"}')
    found = await shown(chromium, stage)
    assert found.outcome is Outcome.OK
    assert "<h1>Šuma i đaci</h1>" in found.body.decode()
    assert (found.wire, found.content_type) == (found.body, "text/html; charset=utf-8")
    assert (found.etag, found.last_modified) == (None, None)
    assert dict(found.headers)["Vedette-Rendered-By"].startswith("chromium/")
    assert stage.paths() == ["/", "/app.js", "/api?x=1"]  # the page itself was asked for once
    assert {agent for *_, agent in stage.asked[1:]} == {"Vedette/1 (test) HeadlessFetcher"}


REACHES = {
    "fetch": "fetch('{}').catch(() => 0)",
    "frame": "root.innerHTML = `<iframe src='{}'></iframe>`",
    "image": "new Image().src = '{}'",
    "script": "let s = document.createElement('script'); s.src = '{}'; document.body.append(s)",
    "style": "root.innerHTML = `<link rel=stylesheet href='{}'>`",
    "hints": "root.innerHTML = `<link rel=preconnect href='{}'><link rel=prefetch href='{}'>`",
    "socket": "new WebSocket('{}'.replace('http', 'ws'))",
    "event source": "new EventSource('{}')",
    "beacon": "navigator.sendBeacon('{}', 'x')",
    "post": "fetch('{}', {method: 'POST', body: 'x', mode: 'no-cors'}).catch(() => 0)",
    "navigation": "location.href = '{}'",
    "worker": "new Worker(URL.createObjectURL(new Blob([`fetch('{}')`])))",
    "popup": "window.open('{}')",
}


@pytest.mark.parametrize("way", REACHES)
async def test_no_way_out_of_a_page_leads_to_an_address_that_the_guard_refuses(
    chromium: Chromium, stage: Stage, way: str
):
    stage.script("/", REACHES[way].replace("{}", stage.url("/tajna", INNER)))
    found = await shown(chromium, stage)
    assert found.outcome is Outcome.OK
    assert [host for host, *_ in stage.asked] == [HOME]


async def test_images_of_a_picture_come_by_the_same_guard(chromium: Chromium, stage: Stage):
    """Without a picture no image is asked for at all."""
    inner, own = stage.url("/tajna.png", INNER), stage.url("/grb.svg")
    stage.pages["/"] = ("text/html", f"<h1>Propisi</h1><img src='{inner}'><img src='{own}'>")
    stage.pages["/grb.svg"] = ("image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg'/>")
    plain = await chromium.fetcher.fetch(FetchRequest(url=stage.url("/"), settings=settings(stage)))
    assert (await chromium.render(plain, settings(stage))).screenshot is None
    assert stage.paths() == ["/"]
    found = await chromium.render(plain, settings(stage), with_screenshot=True)
    assert found.screenshot is not None
    assert found.screenshot.png.startswith(b"\x89PNG")
    assert [(host, path) for host, _, path, _ in stage.asked[1:]] == [(HOME, "/grb.svg")]


async def test_a_page_without_end_is_cut_in_its_picture(chromium: Chromium, stage: Stage):
    stage.pages["/"] = ("text/html", "<div style='height:90000px'>Propisi</div>")
    plain = await chromium.fetcher.fetch(FetchRequest(url=stage.url("/"), settings=settings(stage)))
    shot = (await chromium.render(plain, settings(stage), with_screenshot=True)).screenshot
    assert shot is not None
    assert (shot.width, shot.height, shot.problem) == (1280, 8000, "")
    assert shot.page_height > 90_000


@pytest.mark.parametrize("said", ["Infinity", "1e300", "-5", "'tall'", "NaN"])
async def test_a_page_that_lies_about_its_height_breaks_nothing(chromium: Chromium, stage: Stage, said: str):
    """No database takes such a number, and it came from a stranger."""
    stage.script("/", f"Math.max = () => {said}")
    plain = await chromium.fetcher.fetch(FetchRequest(url=stage.url("/"), settings=settings(stage)))
    shot = (await chromium.render(plain, settings(stage), with_screenshot=True)).screenshot
    assert shot is not None
    assert shot.problem == ""
    assert 1 <= shot.height <= shot.page_height <= module.TALLEST < 2**31


async def test_a_redirect_of_a_pages_own_request_meets_the_guard_too(chromium: Chromium, stage: Stage):
    stage.moved["/dalje"] = stage.url("/tajna", INNER)
    stage.script("/", "fetch('/dalje').then(() => root.append('stiglo'), () => root.append('odbijeno'))")
    assert "odbijeno" in (await shown(chromium, stage)).body.decode()
    assert stage.paths() == ["/", "/dalje"]


async def test_a_page_is_looked_at_and_never_used(chromium: Chromium, stage: Stage):
    stage.script(
        "/",
        "fetch('/brisi', {method: 'POST'}).catch(() => 0); fetch('/brisi', {method: 'DELETE'}).catch(() => 0)",
    )
    await shown(chromium, stage)
    assert stage.paths() == ["/"]


async def test_nothing_of_one_page_is_there_for_the_next(chromium: Chromium, stage: Stage):
    stage.script("/", "document.cookie = 'a=1'; localStorage.a = 1; root.append('postavljeno')")
    stage.script("/2", "root.append(`[${document.cookie}][${localStorage.a}]`)")
    assert "postavljeno" in (await shown(chromium, stage)).body.decode()
    assert "[][undefined]" in (await shown(chromium, stage, "/2")).body.decode()


async def test_a_page_without_end_is_given_up_and_the_next_one_shown(chromium: Chromium, stage: Stage):
    stage.script("/", "while (true) {}")
    stage.script("/2", "root.append('radi')")
    chromium.render_s = 2.0
    found = await shown(chromium, stage)
    assert found.outcome is Outcome.PARSE_FAILED
    assert "could not show it" in found.detail
    chromium.render_s = 20.0
    assert "radi" in (await shown(chromium, stage, "/2")).body.decode()


async def test_a_browser_that_was_killed_is_started_again(chromium: Chromium, stage: Stage):
    stage.script("/", "root.append('radi')")
    await shown(chromium, stage)
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # the first that dies takes others with it
            if "chrom" in child.name():
                child.kill()
    await asyncio.sleep(0.1)
    results = [await shown(chromium, stage) for _ in range(2)]
    assert results[-1].outcome is Outcome.OK


async def test_a_browser_is_recycled_after_so_many_pages(
    chromium: Chromium, stage: Stage, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "RECYCLED_AFTER", 2)
    stage.script("/", "root.append('radi')")
    browsers = []
    for _ in range(3):
        await shown(chromium, stage)
        browsers.append(chromium._browser)
    assert browsers[0] is browsers[1]
    assert browsers[1] is not browsers[2]


async def test_a_page_that_asks_for_more_than_a_page_needs_is_cut_short(
    chromium: Chromium, stage: Stage, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "REQUESTS", 10)
    stage.script("/", "for (let n = 0; n < 100; n++) fetch('/n?' + n).catch(() => 0)")
    await shown(chromium, stage)
    assert len(stage.asked) == 11


def test_the_agent_says_once_that_it_is_a_browser():
    once = FetchSettings(user_agent="Vedette/1")
    assert agent_of(once) == agent_of(FetchSettings(user_agent=agent_of(once))) == "Vedette/1 HeadlessFetcher"


def test_the_program_is_found_by_its_absolute_path():
    program, problem = find_browser()
    assert (program.startswith("/"), problem, MISSING) == (True, "", "")


async def test_a_page_that_eats_memory_is_given_up_and_the_next_one_shown(chromium: Chromium, stage: Stage):
    stage.script("/", "let a = []; while (true) a.push(new Array(1e5).fill(Math.random()))")
    stage.script("/2", "root.append('radi')")
    chromium.render_s = 10.0
    assert (await shown(chromium, stage)).outcome is Outcome.PARSE_FAILED
    assert "radi" in (await shown(chromium, stage, "/2")).body.decode()


async def test_a_shell_that_is_tried_by_hand_is_shown_as_a_run_would(stage: Stage, tmp_path: Path):
    stage.script("/", "root.append('Pravilnik o čuđenju šume. '.repeat(20))")
    fetch = {"allow_networks": [f"{HOME}/32"], "allow_ports": [stage.port]}
    loaded = Loaded(config=parse({"fetch": fetch}), path=None, data=tmp_path, digest="d")
    fetched, found, refused = await asyncio.to_thread(look_once, loaded, stage.url())
    assert (fetched.outcome, refused) == (Outcome.OK, ())
    assert found.text.startswith("Pravilnik o čuđenju šume.")
