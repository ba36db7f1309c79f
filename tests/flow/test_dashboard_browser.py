"""The dashboard in a browser: the main ways through it, nothing that breaks a rule of accessibility, no error."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from browser_kit import needs_chromium
from playwright.async_api import Browser, Page, async_playwright
from stocked import RULES, stocked
from web_kit import Client, an_installation, serving

from vedette.operations.access_tokens import make_token
from vedette.operations.installation import Installation
from vedette.surface.http.page_frame import NAV

AXE = Path(__file__).parents[2] / ".venv/node/node_modules/axe-core/axe.min.js"
FOUND = "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']}).then(r => r.violations)"
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1440, "height": 900}
TABLET = {"width": 820, "height": 1100}
NEWS = "<html><head><title>Office news</title></head><body><main><ul>{}</ul></main></body></html>"
REFUSED = "the server responded with a status of"  # a page that says what is wrong is a page too
pytestmark = [pytest.mark.slow, needs_chromium]


@asynccontextmanager
async def a_browser() -> AsyncIterator[Browser]:
    async with async_playwright() as driver:
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = await driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def a_page(browser: Browser, **options: Any) -> AsyncIterator[tuple[Page, list[str]]]:
    context = await browser.new_context(**{"viewport": DESK, **options})
    page, errors = await context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    try:
        yield page, errors
    finally:
        await context.close()


@asynccontextmanager
async def visited(
    installation: Installation, **options: Any
) -> AsyncIterator[tuple[Client, Page, list[str]]]:
    async with (
        serving(installation) as client,
        a_browser() as browser,
        a_page(browser, **options) as (page, errors),
    ):
        yield client, page, errors


def all_pages() -> list[str]:
    return [
        *(path for path, _ in NAV),
        "/changes/1",
        "/changes/1?view=words",
        f"/watch?url={RULES}",
        "/login",
        "/changes/1/noise",
        "/add?url=https://example.org/",
        f"/filters?url={RULES}",
        f"/access?url={RULES}",
        "/lane?host=example.org",
        "/freshness/what-if",
        "/search?text=pdv",
        "/evidence/1001",
        "/changes?state=all&mark=noise",
        "/nothing-like-it",
    ]


@pytest.mark.timeout(900)
@pytest.mark.skipif(not AXE.exists(), reason="NOT RUN: axe-core is not installed (tools/bootstrap dev)")
async def test_no_page_breaks_a_serious_rule_of_accessibility_nor_a_policy_nor_its_width(tmp_path: Path):
    stocked(tmp_path)
    async with serving(an_installation(tmp_path)) as client, a_browser() as browser:
        for size, scheme in product((DESK, TABLET, PHONE), ("light", "dark")):
            async with a_page(browser, viewport=size, color_scheme=scheme, bypass_csp=True) as (page, errors):
                for path in all_pages():
                    await page.goto(client.address + path, wait_until="load")
                    await page.add_script_tag(path=str(AXE))
                    found = await page.evaluate(FOUND)
                    serious = [
                        (one["id"], one["nodes"][0]["html"][:200])
                        for one in found
                        if one["impact"] in ("serious", "critical")
                    ]
                    assert serious == [], (path, scheme)
                    over = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
                    assert over <= 0, f"{path} is wider than {size['width']}"
                assert [one for one in errors if REFUSED not in one] == []


async def test_a_reader_filters_opens_a_change_turns_its_diff_and_orders_a_look(tmp_path: Path):
    stock = stocked(tmp_path)
    async with visited(an_installation(tmp_path)) as (client, page, errors):
        await page.goto(client.address + "/changes")
        await page.fill("#text", "nothing like it")
        await page.wait_for_selector("text=No change fits.")
        assert "text=nothing" in page.url
        await page.fill("#text", "pdv")
        await page.wait_for_selector("[data-row]")
        await page.locator("#text").blur()
        await page.keyboard.press("j")
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/changes/1")
        assert await page.locator("table.diff mark.new").count() >= 1
        await page.click("text=By word")
        await page.wait_for_selector(".lines .s-new")
        await page.click("text=Timeline and reasons")
        await page.wait_for_selector("text=Why it is looked at then")
        await page.click("text=Look now")
        await page.wait_for_selector("text=A look is ordered")
        assert await page.locator(".live:not([hidden])").count() == 1, "it follows the event stream"
        assert errors == []
    assert "look" in {action for action, _ in stock.orders()}


async def test_the_first_tab_leads_to_the_content_and_filters_stay_short_in_the_address(tmp_path: Path):
    stocked(tmp_path)
    async with visited(an_installation(tmp_path), viewport=PHONE) as (client, page, errors):
        for path in ("/", "/watches", "/settings"):
            await page.goto(client.address + path)
            await page.keyboard.press("Tab")
            assert await page.evaluate("document.activeElement.textContent") == "To the content", path
            place = "document.querySelector('.bar [aria-current]').getBoundingClientRect()"
            assert await page.evaluate(f"{place}.left >= 0 && {place}.right <= innerWidth"), path
        await page.goto(client.address + "/watches")
        await page.select_option("#risk", "LOW")
        await page.wait_for_url("**/watches?risk=LOW")
        assert errors == []


async def test_what_was_chosen_in_a_list_stays_chosen_while_an_order_for_it_is_put_together(tmp_path: Path):
    stock = stocked(tmp_path)
    async with visited(an_installation(tmp_path)) as (client, page, errors):
        await page.goto(client.address + "/watches")
        await page.locator("[data-pick]").first.check()
        assert not await page.locator("#for").is_visible(), "only what the order needs is asked for"
        await page.select_option("#order", "mute")
        await page.wait_for_timeout(700)  # a list that is asked for again is there by then
        assert await page.locator("[data-pick]").first.is_checked()
        assert await page.locator("#for").is_visible()
        assert not await page.locator("#group").is_visible()
        await page.select_option("#risk", "LOW")
        await page.wait_for_url("**risk=LOW**")
        await page.select_option("#risk", "")
        await page.wait_for_selector("[data-pick]")
        await page.locator("[data-all]").check()
        await page.select_option("#order", "look")
        await page.click("button:has-text('Apply')")
        await page.wait_for_selector("text=Back to the watches")
        assert errors == []
    assert "look" in {action for action, _ in stock.orders()}


async def test_without_javascript_everything_is_there(tmp_path: Path):
    stocked(tmp_path)
    async with visited(an_installation(tmp_path), java_script_enabled=False) as (client, page, _):
        await page.goto(client.address + "/changes")
        await page.fill("#text", "pdv")
        await page.click("text=Filter")
        await page.click("[data-row]")
        assert "/changes/1" in page.url
        await page.click("text=Unified")
        assert "25" in await page.inner_text(".lines")


async def test_a_person_logs_in_with_a_token_and_comes_to_the_page_that_was_asked_for(tmp_path: Path):
    stocked(tmp_path)
    installation = an_installation(tmp_path)
    token = make_token(installation, "ana", "read").token
    async with visited(installation) as (client, page, errors):
        await page.goto(client.address + "/lanes")
        await page.fill("#token", "vdt_wrong")
        await page.click("button")
        await page.wait_for_selector("#problem-token")
        await page.fill("#token", token)
        await page.click("button")
        await page.wait_for_url("**/lanes")
        assert await page.locator("text=ana").count() == 1
        await page.click("text=Log out")
        await page.wait_for_url("**/login")
        assert [one for one in errors if "401" not in one] == []


async def test_a_source_is_previewed_before_it_is_watched(tmp_path: Path):
    async with a_site() as port:
        allowed = {"fetch": {"allow_networks": ["127.0.0.0/8"], "allow_ports": [port]}}
        stocked(tmp_path)
        async with visited(an_installation(tmp_path, **allowed)) as (client, page, errors):
            await page.goto(client.address + "/sources")
            await page.fill("#url", f"http://127.0.0.1:{port}/news")
            await page.click("text=Preview")
            await page.wait_for_selector(".preview >> text=Office news")
            assert await page.locator(".preview >> text=Notice 3").count() >= 1
            assert await _sources(client) == 3, "nothing is saved yet"
            await page.click("text=Watch it")
            await page.wait_for_selector("text=It is watched now")
            assert await _sources(client) == 4
            assert errors == []


async def _sources(client: Client) -> int:
    return int((await client.ask("/api/v1/sources")).json["total"])


@asynccontextmanager
async def a_site() -> AsyncIterator[int]:
    async def answer(request: web.Request) -> web.Response:
        if request.path == "/robots.txt":
            return web.Response(status=404)
        rows = "".join(f'<li><a href="/news/{n}">Notice {n} on the opening hours</a></li>' for n in range(9))
        return web.Response(text=NEWS.format(rows), content_type="text/html")

    app = web.Application()
    app.router.add_get("/{rest:.*}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
