"""docs/first-watch.md in a browser: who follows it adds a page, edits it and sees its change with a diff."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from browser_kit import needs_chromium
from machine import patient
from playwright.async_api import Page, expect
from test_dashboard_browser import a_browser, a_page

ROOT = Path(__file__).resolve().parents[2]
TRY = re.compile(r"Try it: watch (\S+) , then change that page at (\S+)")
PICTURES = os.environ.get("VEDETTE_PICTURES")  # a folder: the pictures of the page are taken
pytestmark = [pytest.mark.slow, needs_chromium, pytest.mark.timeout(600)]


class Demo:
    """`make run`, and what its first lines say."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "log"
        with self.log.open("w") as log:
            words = [sys.executable, "-m", "vedette", "demo", "--data", str(folder / "data")]
            self.process = subprocess.Popen(words, cwd=folder, stdout=log, stderr=log)

    def addresses(self) -> tuple[str, str, str]:
        for _ in range(int(patient(300))):
            text = self.log.read_text("utf-8", "replace")
            found = TRY.search(text.replace("\n", " "))
            if found:
                return text.splitlines()[0].partition(": ")[2].rstrip("/"), found[1], found[2]
            time.sleep(0.2)
        raise AssertionError(self.log.read_text("utf-8", "replace"))

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(patient(60))


async def shot(page: Page, name: str) -> None:
    if PICTURES:
        await page.screenshot(path=str(Path(PICTURES) / f"first-watch-{name}.png"))


async def seen(page: Page, text: str) -> None:
    """Until the page says it; it is loaded again, as a reader would."""
    for _ in range(int(patient(120))):
        if text in await page.inner_text("main"):
            return
        await page.wait_for_timeout(500)
        await page.reload()
    raise AssertionError(f"{text!r} never came: {(await page.inner_text('main'))[:600]}")


async def test_who_follows_the_page_sees_the_change_of_a_page_that_they_edited(tmp_path: Path):
    pressed: list[str] = []

    async def press(page: Page, name: str) -> None:
        link = page.locator("button, a", has_text=re.compile(f"^{name}$")).first
        await link.click(timeout=patient(60) * 1000)
        pressed.append(name)

    demo = Demo(tmp_path)
    try:
        address, add, edit = demo.addresses()
        size = {"width": 1100, "height": 760}
        async with a_browser() as browser, a_page(browser, viewport=size) as (page, errors):
            page.set_default_timeout(patient(60) * 1000)
            await page.goto(add)
            await press(page, "Preview")
            await expect(page.locator(".preview")).to_contain_text("40 EUR")
            await shot(page, "preview")
            await press(page, "Watch it")
            watch = page.url.partition("&done")[0]
            await page.goto(watch)
            await seen(page, "the same")
            await page.goto(edit)
            text = await page.input_value("textarea")
            await page.fill("textarea", text.replace("40 EUR", "55 EUR"))
            await press(page, "Save")
            await page.goto(watch)
            await press(page, "Look now")
            await page.goto(watch)
            await seen(page, "Change ")
            await press(page, "Changes")
            await page.locator("a[data-row]", has_text="Notice board").first.click()
            diff = page.locator("table.diff")
            await expect(diff.locator("td.old")).to_contain_text("40 EUR")
            await expect(diff.locator("td.new")).to_contain_text("55 EUR")
            await shot(page, "diff")
            await press(page, "Useful")
            await expect(page.locator(".facts .mark-useful")).to_be_visible()
            await page.get_by_text("Mark as noise", exact=True).click()
            await expect(page.locator(".rule").first).to_contain_text("1 that you marked useful")
            await shot(page, "noise")
            assert errors == []
            assert address.startswith("http://127.0.0.1:")
    finally:
        demo.end()
    said = (ROOT / "docs" / "first-watch.md").read_text("utf-8")
    assert pressed == re.findall(r"\*\*(.+?)\*\*", said), "the page names what is pressed, in this order"
