"""Pages that scripts make, shown in Chromium.  The browser itself reaches nothing: we fetch all that a page asks for.

Every request of a page is answered from here, through the same guarded fetcher as everything else; whatever does
not come by that way (sockets, prefetching, WebRTC) ends at a proxy that is not there.  Only GET goes out: a
page is looked at, never used.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from math import isfinite
from typing import TYPE_CHECKING

from vedette.contracts.fetch import MIB, Fetched, FetchRequest, FetchSettings, Screenshot
from vedette.contracts.ports import Clock, Fetcher
from vedette.contracts.words import Outcome
from vedette.core.urls.canonical import canonical, origin_of
from vedette.fetch.faults import plain

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Page, Playwright, Request, Route

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
NO_PACKAGE = "playwright, which drives the browser, is not installed: pip install 'vedette[browser]'"
NO_PROGRAM = "chromium, which shows pages that scripts make, is not installed: apt-get install chromium"
AGENT = "HeadlessFetcher"  # spec 001/5.2
RENDER_S = 30.0  # spec 001/9.1
START_S = 30.0
QUIET_S = 5.0  # how long we wait for the last request to end
RECYCLED_AFTER = 50  # pages; memory of a browser only grows
REQUESTS, BYTES, REDIRECTS, AT_ONCE = 200, 32 * MIB, 5, 4  # of one page
VIEWPORT = (1280, 720)  # px, whether or not a picture is taken: pages may ask how wide they are
SHOT_HEIGHTS = (8000, VIEWPORT[1])  # px; the second where the first gives too many bytes
TALLEST = 40_000_000  # px; Chromium lays out no more than 2**25
SHOT_BYTES = 4 * MIB
SHOT_S = 10.0  # for the picture alone
IMAGES = "image"
UNSEEN = frozenset("image media font websocket eventsource manifest ping texttrack".split())
FRAMING = frozenset(
    "content-encoding content-length transfer-encoding connection keep-alive content-type".split()
)
ARGUMENTS = (
    "--proxy-server=http://127.0.0.1:9",  # discard: nothing listens
    "--proxy-bypass-list=<-loopback>",  # loopback goes by the proxy too
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--disable-background-networking",
    "--js-flags=--max-old-space-size=512",  # MB; a page that wants more is given up
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--no-first-run",
)


def find_browser() -> tuple[str, str]:
    """The program, absolute, and what is missing with the way to get it; one of the two is empty."""
    if find_spec("playwright") is None:
        return "", NO_PACKAGE
    found = next((path for name in PROGRAMS if (path := shutil.which(name))), "")
    return found, "" if found else NO_PROGRAM


@dataclass(slots=True)
class Chromium:
    """One browser at a time, a new context per page.  Implements `contracts.ports.Renderer`."""

    fetcher: Fetcher
    clock: Clock
    render_s: float = RENDER_S
    _turn: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    _driver: Playwright | None = None
    _browser: Browser | None = None
    _shown: int = 0

    def problem(self) -> str:
        return find_browser()[1]

    async def render(
        self, fetched: Fetched, settings: FetchSettings, *, with_screenshot: bool = False
    ) -> Fetched:
        """The page as scripts made it, in UTF-8; `parse_failed` when the browser could not show it."""
        from playwright.async_api import Error

        took = self.clock.stopwatch()
        async with self._turn:
            try:
                async with asyncio.timeout(START_S + self.render_s + (SHOT_S if with_screenshot else 0)):
                    browser = await self._ready()
                    supply = _Supply(self.fetcher, fetched, settings, with_images=with_screenshot)
                    text, shot = await self._show(browser, supply)
            except (Error, TimeoutError, OSError) as error:
                await self._recycle()
                words = f"the browser could not show it: {plain(str(error), 200) or 'it took too long'}"
                return replace(fetched, outcome=Outcome.PARSE_FAILED, detail=words)
        body = text.encode("utf-8", "replace")
        if len(body) > settings.body_limit:
            words = f"{len(body)} bytes as scripts made it"
            return replace(fetched, outcome=Outcome.TOO_LARGE, wire=b"", body=b"", detail=words)
        fetched = replace(fetched, took=fetched.took + took(), screenshot=shot)
        return _shown(fetched, body, f"chromium/{browser.version}")

    async def close(self) -> None:
        await self._recycle()
        if self._driver is not None:
            driver, self._driver = self._driver, None
            await _ended(driver.stop())

    async def _ready(self) -> Browser:
        if self._browser is not None and (self._shown >= RECYCLED_AFTER or not self._browser.is_connected()):
            await self._recycle()
        if self._browser is None:
            self._browser = await self._launch()
        self._shown += 1
        return self._browser

    async def _launch(self) -> Browser:
        from playwright.async_api import async_playwright

        if self._driver is None:
            self._driver = await async_playwright().start()
        program, _ = find_browser()
        return await self._driver.chromium.launch(
            executable_path=program,
            args=list(ARGUMENTS),
            chromium_sandbox=os.geteuid() != 0,  # the kernel gives root none
            env={"LC_ALL": "C.UTF-8"},  # nothing of ours goes along
            timeout=START_S * 1000,
        )

    async def _recycle(self) -> None:
        browser, self._browser, self._shown = self._browser, None, 0
        if browser is not None:
            await _ended(browser.close())

    async def _show(self, browser: Browser, supply: _Supply) -> tuple[str, Screenshot | None]:
        context = await browser.new_context(
            user_agent=agent_of(supply.settings),
            locale=supply.settings.accept_language.partition(",")[0],
            viewport={"width": VIEWPORT[0], "height": VIEWPORT[1]},
            service_workers="block",
            accept_downloads=False,
        )
        try:
            async with asyncio.timeout(self.render_s):
                page, text = await _seen(context, supply, self.render_s)
            return text, await _picture(page) if supply.with_images else None
        finally:
            await _ended(context.close())


async def _ended(closing: Awaitable[object]) -> None:
    """Whatever is closed may be gone already."""
    from playwright.async_api import Error

    with suppress(Error, TimeoutError, OSError):
        await asyncio.wait_for(closing, START_S)


def agent_of(settings: FetchSettings) -> str:
    """Who we say we are when we look with a browser."""
    return f"{settings.user_agent.removesuffix(AGENT).rstrip()} {AGENT}"


async def _seen(context: BrowserContext, supply: _Supply, render_s: float) -> tuple[Page, str]:
    from playwright.async_api import TimeoutError as Late

    page = await context.new_page()
    supply.page = page
    await context.route("**/*", supply.answer)
    await context.route_web_socket("**/*", lambda socket: socket.close())
    await page.goto(supply.first.url, wait_until="load", timeout=render_s * 1000)
    with suppress(Late):  # a page that never comes to rest is taken as it is
        await page.wait_for_load_state("networkidle", timeout=QUIET_S * 1000)
    return page, str(await page.content())


async def _picture(page: Page) -> Screenshot:
    """What a person would see.  Weather of any kind is told in `problem`: the text of the page is there already."""
    from playwright.async_api import Error

    try:
        async with asyncio.timeout(SHOT_S):
            page_height = _believable(await page.evaluate(_HEIGHT))
            for most in SHOT_HEIGHTS:
                height = min(page_height, most)
                png = await page.screenshot(
                    type="png",
                    full_page=True,
                    clip={"x": 0, "y": 0, "width": VIEWPORT[0], "height": height},
                    animations="disabled",
                    timeout=SHOT_S * 1000,
                )
                if len(png) <= SHOT_BYTES:
                    return Screenshot(png=png, width=VIEWPORT[0], height=height, page_height=page_height)
    except TimeoutError:
        return Screenshot(problem=f"the picture was not there after {SHOT_S:g} s")
    except (Error, OSError) as error:
        return Screenshot(problem=f"the browser gave none: {plain(str(error), 200) or type(error).__name__}")
    return Screenshot(problem=f"the picture is larger than {SHOT_BYTES // MIB} MiB")


def _believable(said: object) -> int:
    """How high a page is.  Its scripts may say anything: also what no row can hold."""
    if not isinstance(said, int | float) or not isfinite(said):
        return VIEWPORT[1]
    return int(min(max(said, 1), TALLEST))


_HEIGHT = """() => Math.max(
    document.documentElement ? document.documentElement.scrollHeight : 0, document.body ? document.body.scrollHeight : 0
)"""


class _Supply:
    """Answers what one page asks for: itself from what was fetched, the rest by the guarded fetcher."""

    def __init__(
        self, fetcher: Fetcher, first: Fetched, settings: FetchSettings, *, with_images: bool
    ) -> None:
        self.first = first
        self.page: Page | None = None
        self.with_images = with_images
        self._unseen = UNSEEN - {IMAGES} if with_images else UNSEEN
        self._fetcher = fetcher
        self.settings = replace(settings, user_agent=agent_of(settings), types=())
        self._is_begun = False
        self._asked = 0
        self._bytes = 0
        self._at_once = asyncio.Semaphore(AT_ONCE)

    async def answer(self, route: Route, request: Request) -> None:
        from playwright.async_api import Error

        with suppress(Error):  # the page was closed meanwhile
            found = await self._found(request)
            if found is None:
                await route.abort()
            else:
                headers = {name: value for name, value in found.headers if name.lower() not in FRAMING}
                headers["Content-Type"] = found.content_type or "application/octet-stream"
                await route.fulfill(status=found.status, headers=headers, body=found.body)

    async def _found(self, request: Request) -> Fetched | None:
        if (
            request.is_navigation_request()
            and self.page is not None
            and request.frame == self.page.main_frame
        ):
            is_first, self._is_begun = not self._is_begun, True
            return self.first if is_first else None  # a page that leads elsewhere stays where it is
        url = canonical(request.url)
        if request.method != "GET" or request.resource_type in self._unseen or url is None:
            return None
        async with self._at_once:
            return await self._fetch(url)

    async def _fetch(self, url: str) -> Fetched | None:
        for _ in range(REDIRECTS + 1):
            self._asked += 1
            if self._asked > REQUESTS or self._bytes > BYTES:
                return None
            is_foreign = origin_of(url) != origin_of(self.first.url)
            asked = FetchRequest(url=url, settings=self.settings, accept="*/*", is_foreign=is_foreign)
            found = await self._fetcher.fetch(asked)
            self._bytes += len(found.body)
            if found.redirect_to is None:
                return found if found.status is not None else None
            url = found.redirect_to
        return None


def _shown(fetched: Fetched, body: bytes, by: str) -> Fetched:
    """No validators: that the shell is the same says nothing of what scripts put into it."""
    kept = tuple((name, value) for name, value in fetched.headers if name.lower() not in FRAMING)
    kind = "text/html; charset=utf-8"
    return replace(
        fetched,
        wire=body,
        body=body,
        headers=(*kept, ("Content-Type", kind), ("Vedette-Rendered-By", by)),
        content_type=kind,
        etag=None,
        last_modified=None,
    )
