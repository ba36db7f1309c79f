"""Ways through the dashboard in a browser, on stores that an engine wrote: noise, what-if, evidence, the panel."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import pytest
from browser_kit import needs_chromium
from machine import patient
from playwright.async_api import expect
from test_dashboard_browser import visited
from test_noise_rules import noise_of, shop_store, stocked_shop
from web_kit import an_installation

from vedette.operations.source_filters import filters_of_page

__all__ = ["shop_store", "stocked_shop"]
URL = "https://shop.example/item"
pytestmark = [pytest.mark.slow, needs_chromium, pytest.mark.timeout(600)]


async def test_a_change_is_marked_as_noise_after_its_rule_was_tried(shop_store):
    number = noise_of(shop_store)
    async with visited(shop_store) as (client, page, errors):
        page.set_default_timeout(patient(15) * 1000)
        await page.goto(f"{client.address}/changes/{number}")
        await page.click("text=Mark as noise")
        best = page.locator(".rule").first
        await expect(best).to_contain_text(
            re.compile(r"Would have hidden \d+ reports?, 0 that you marked useful")
        )
        await best.locator("summary").click()
        assert await best.locator("li").count() >= 1
        rule = (await best.locator("pre").inner_text()).strip()
        await best.locator("text=Apply this rule").click()
        await page.wait_for_selector("text=The rule holds from the next look on")
        await page.goto(f"{client.address}/changes?mark=noise")
        assert await page.locator(".mark-noise").count() == 1
        await page.goto(f"{client.address}/filters?url={URL}")
        assert await page.input_value("#filters") == rule
        assert errors == []
    assert filters_of_page(shop_store, URL).source.options.filters == (rule,)


async def test_evidence_is_read_in_a_frame_that_runs_nothing_downloaded_and_verified(shop_store):
    async with visited(shop_store, accept_downloads=True) as (client, page, errors):
        page.set_default_timeout(patient(15) * 1000)
        await page.goto(f"{client.address}/changes/1")
        await page.click("a[href^='/evidence/']")
        await page.locator("iframe.raw").scroll_into_view_if_needed()
        frame = page.frame_locator("iframe.raw").locator("body")
        await expect(frame).to_contain_text("<h1>Kettle</h1>", timeout=patient(20) * 1000)
        for name, start in (("WARC", b"\x1f\x8b"), ("WACZ", b"PK")):
            async with page.expect_download() as coming:
                await page.locator(f".actions a:has-text('{name}')").first.click()
            path = await (await coming.value).path()
            assert (await asyncio.to_thread(Path(path).read_bytes)).startswith(start)
        await page.click("text=Verify it")
        await page.click("text=Verify everything now")
        await page.wait_for_selector("text=All whole")
        assert errors == []


async def test_a_what_if_is_tried_with_sliders_and_its_work_is_shown(shop_store):
    async with visited(shop_store) as (client, page, errors):
        page.set_default_timeout(patient(120) * 1000)
        await page.goto(f"{client.address}/freshness")
        await page.locator("#budget").focus()
        await page.keyboard.press("ArrowRight")
        assert await page.inner_text("#budget-at") == "1.25×"
        await page.click("text=Try it on the record")
        await page.wait_for_selector("text=looks a day are on record")
        assert errors == []


async def test_groups_narrow_lists_and_the_receipt_of_a_host_says_what_it_was_asked(shop_store):
    async with visited(shop_store) as (client, page, errors):
        page.set_default_timeout(patient(15) * 1000)
        await page.goto(f"{client.address}/watch?url={URL}")
        await page.locator("details.groups summary").click()
        await page.fill("#groups", "kitchen, prices")
        await page.click("details.groups button")
        await page.wait_for_selector("text=Its groups are kept")
        await page.click(".facts a.mark-chip >> text=kitchen")
        assert "tag=kitchen" in page.url
        assert await page.locator("[data-row]").count() == 1
        await page.goto(f"{client.address}/changes?tag=prices")
        assert await page.locator("[data-row]").count() >= 3
        await page.goto(f"{client.address}/lane?host=shop.example")
        await page.wait_for_selector("text=What its robots.txt said")
        assert await page.locator("tbody tr").count() >= 3
        assert errors == []


async def test_the_panel_shows_its_progress_and_the_answers_about_a_domain_side_by_side(tmp_path: Path):
    words = ["-m", "vedette", "panel", "demo", "--domains", "12", "--data", str(tmp_path)]
    process = await asyncio.create_subprocess_exec(sys.executable, *words, stdout=-3, stderr=-3)
    try:
        while not (tmp_path / "vedette.db").exists():
            await asyncio.sleep(0.05)
        async with visited(an_installation(tmp_path)) as (client, page, _):
            page.set_default_timeout(patient(120) * 1000)
            states: set[str] = set()
            while "complete" not in states:
                await page.goto(f"{client.address}/panel")
                if await page.locator("progress").count():
                    states |= set((await page.inner_text(".facts")).split())
                assert process.returncode in (None, 0)
                await asyncio.sleep(0.2)
            assert await page.get_attribute("progress", "value") == await page.get_attribute(
                "progress", "max"
            )
            await page.fill("#domain", "harbour.example")
            await page.click("text=Show side by side")
            await page.wait_for_selector("table.answers")
            assert await page.locator("table.answers >> nth=0").locator("th").count() >= 8
            await page.fill("#domain", "no domain at all")
            await page.click("text=Show side by side")
            await page.wait_for_selector("#problem-domain")
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def test_a_bookmark_brings_an_address_into_the_form(shop_store):
    async with visited(shop_store) as (client, page, errors):
        await page.goto(f"{client.address}/sources")
        link = await page.get_attribute("[data-bookmarklet]", "href")
        assert link.startswith("javascript:")
        assert client.address in link
        await page.goto(f"{client.address}/add?url=https%3A%2F%2Fexample.org%2Fa%3Fb%3D1%26c%3D2")
        assert await page.input_value("#url") == "https://example.org/a?b=1&c=2"
        assert errors == []
