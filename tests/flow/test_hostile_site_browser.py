"""A site that writes payloads wherever it can, watched by the engine and read in a browser: all of it is text."""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

import feedparser
import pytest
from aiohttp import web
from browser_kit import needs_chromium
from cli_call import Cli
from machine import patient
from test_dashboard_browser import a_browser, a_page
from web_kit import serving

from vedette.app.run import RunRequest, run_async
from vedette.config.model import Loaded, parse
from vedette.contracts.events import Changed, Event
from vedette.engine.crawl.loop import Mode
from vedette.operations.installation import Installation
from vedette.surface.http.page_frame import NAV
from vedette.telemetry.wall_clock import SystemClock

pytestmark = [pytest.mark.slow, needs_chromium, pytest.mark.timeout(600)]
ALERT = "<script>window.owned=1;alert(1)</script>"
IMAGE = '"><img src=x onerror="window.owned=1;alert(2)">'
LINK = "javascript:window.owned=1"
FORMULA = '=HYPERLINK("http://evil.example","x")'
EVIL = f"{ALERT} {IMAGE} {{{{7*7}}}} [x](javascript:alert(3)) \x1b]0;owned\x07 \u202egnp.exe"
TEXT = EVIL.replace("&", "&amp;").replace("<", "&lt;").replace("\x1b", "").replace("\x07", "")
RSS = """<?xml version="1.0"?><rss version="2.0"><channel><title>{evil}</title><link>{base}/</link>
<item><title>{evil}</title><link>{base}/item/%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E?q=%3Csvg%2Fonload%3Dalert(1)%3E</link></item>
<item><title>{formula}</title><link>{base}/item/2</link></item>
<item><title>x</title><link>{link}</link></item></channel></rss>"""
HEADERS = {"ETag": f'"{ALERT}"', "Server": EVIL[:60], "X-Robots-Tag": ALERT, "Content-Language": IMAGE}


class HostileSite:
    """Every page differs once it was told to; titles, texts, addresses, headers and entries carry payloads."""

    def __init__(self) -> None:
        self.port, self.version = 0, 1

    async def answer(self, request: web.Request) -> web.Response:
        base = f"http://127.0.0.1:{self.port}"
        safe = {name: value.replace("\x1b", "").replace("\x07", "") for name, value in HEADERS.items()}
        if request.path == "/robots.txt":
            return web.Response(text=f"# {EVIL}\nUser-agent: *\nDisallow: /{ALERT}\n")
        if request.path == "/feed":
            rss = RSS.format(evil=TEXT, formula=FORMULA, base=base, link=LINK)
            return web.Response(text=rss, content_type="application/rss+xml")
        if request.path == "/broken":
            return web.Response(status=500, reason="<script>alert(1)</script>", text=EVIL)
        rows = "".join(f"<p>{TEXT} line {n} of version {self.version}</p>" for n in range(4))
        live = f"<script>window.owned=1</script><img src=x onerror=alert(1)><a href='{LINK}'>{FORMULA}</a>"
        page = f"<html><head><title>{TEXT} {self.version}</title></head><body><main>{rows}{live}</main></body></html>"
        return web.Response(text=page, content_type="text/html", headers=safe)


@asynccontextmanager
async def hostile() -> AsyncIterator[HostileSite]:
    site, app = HostileSite(), web.Application()
    app.router.add_get("/{rest:.*}", site.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    site.port = runner.addresses[0][1]
    try:
        yield site
    finally:
        await runner.cleanup()


async def watched(site: HostileSite, data: Path) -> Installation:
    """Looked at, changed, and looked at until the change is told."""
    base = f"http://127.0.0.1:{site.port}"
    config = parse(
        {
            "sources": [
                {
                    "id": "feed",
                    "url": f"{base}/feed",
                    "lister": "feed",
                    "name": EVIL[:80],
                    "tags": [ALERT[:40]],
                },
                {"id": "page", "url": f"{base}/page?q={quote(ALERT)}", "lister": "page"},
                {"id": "broken", "url": f"{base}/broken", "lister": "page"},
            ],
            "fetch": {"allow_networks": ["127.0.0.0/8"], "allow_ports": [site.port]},
            "lanes": {"default": {"gap_min": "0s", "gap_max": "0s", "per_minute": 0}},
            "schedule": {"policy": "fixed", "interval": "1s"},
            "run": {"confirm_after": "0s"},
        }
    )
    loaded = Loaded(config=config, path=None, data=data, digest="hostile")
    installation = Installation(loaded, SystemClock())
    told: list[Event] = []
    for version in [1] + [2] * 60:
        site.version = version
        ended = await run_async(loaded, RunRequest(mode=Mode.ONCE, takes_orders=False), on_event=told.append)
        assert ended.error is None
        if any(isinstance(event, Changed) for event in told):
            break
        await asyncio.sleep(0.5)  # until the page is due again
    return installation


async def test_no_payload_of_a_site_runs_anywhere(tmp_path: Path):
    async with hostile() as site:
        installation = await watched(site, tmp_path)
        async with serving(installation) as client, a_browser() as browser, a_page(browser) as (page, errors):
            page.set_default_timeout(patient(30) * 1000)
            dialogs: list[str] = []
            page.on("dialog", lambda dialog: dialogs.append(dialog.message))
            changes = (await client.ask("/api/v1/changes?state=all")).json["items"]
            urls = [one["url"] for one in (await client.ask("/api/v1/watches")).json["items"]]
            assert len(changes) >= 1, "the changed pages were told"
            paths = [path for path, _ in NAV] + ["/search?text=version", "/lane?host=127.0.0.1"]
            paths += [
                f"/changes/{n + 1}?view={view}" for n in range(len(changes)) for view in ("side", "words")
            ]
            for url in urls:
                paths += [f"/{name}?url={quote(url, safe='')}" for name in ("watch", "filters", "access")]
                kept = await client.ask(f"/api/v1/watch/evidence?url={quote(url, safe='')}")
                paths += [f"/evidence/{one['evidence']}" for one in kept.json["items"][:1]]
            shown = 0
            for path in paths:
                await page.goto(client.address + path, wait_until="load")
                assert await page.evaluate("window.owned") is None, path
                assert (
                    await page.locator(
                        "main script, main img, a[href^='javascript:' i]:not([data-bookmarklet])"
                    ).count()
                    == 0
                ), path
                shown += "window.owned=1;alert(1)" in await page.inner_text("body")
            feeds = [await client.ask(f"/api/v1/feed.{form}") for form in ("atom", "json")]
        assert dialogs == []
        assert [one for one in errors if "404" not in one] == []
        assert shown >= 5, "the payloads were there to be read"
        assert [feed.status for feed in feeds] == [200, 200]
        assert "<script>window" not in feeds[0].text
        for entry in feedparser.parse(feeds[0].text).entries:
            assert not entry.link.startswith("javascript:")
        cells = [
            cell
            for what in ("changes", "watches", "sources")
            for row in csv.reader(io.StringIO(Cli(tmp_path)("export", "--what", what, "--format", "csv").out))
            for cell in row
        ]
        assert any("alert" in cell for cell in cells)
        assert [cell for cell in cells if cell[:1] in ("=", "+", "@", "\t", "\r")] == []
        for verb in ("changes --diff", "list", "health", "lanes show", "search version"):
            told = Cli(tmp_path)(*verb.split())
            assert not set("\x1b\x07\x9b\u202e") & set(told.out + told.err), verb
