"""Pages behind a login, through the whole stream against real servers; and where their secrets are: nowhere."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from leaks import leaks

from vedette.app.run import RunRequest, run_async
from vedette.config.model import Loaded, parse
from vedette.config.policies import check_config, fetch_settings, sources_of
from vedette.contracts.errors import ConfigError
from vedette.engine.crawl.loop import Mode
from vedette.operations.source_keys import keys_of

PASSWORD, TOKEN, SESSION, PROXY_WORD = "pw-7kX2vQ9zLm", "tok-Jw83hPq0Rt", "ses-b41Zy6NnKd", "prx-Cc5TtEo2Wa"
GIVEN = "given-Qm3v8ZxT1pLk"  # a cookie that the site draws
USER = "compliance"
SECRETS = [PASSWORD, TOKEN, SESSION, PROXY_WORD]
TEXT = "Obveznici predaju obrazac do petnaestog u mjesecu, a porez plaćaju u roku od osam dana. " * 4
BASIC = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"SITE_PASSWORD": PASSWORD, "SITE_TOKEN": TOKEN, "SITE_SESSION": SESSION}
    for name, value in names.items():
        monkeypatch.setenv(name, value)


@dataclass
class Site:
    """A site that lets nobody in without the right word, and remembers who asked how."""

    seen: list[tuple[str, str, dict[str, str], bytes]] = field(
        default_factory=list
    )  # method, path, headers, body
    away: str = ""  # where /away leads
    port: int = 0

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def asked(self, path: str) -> list[dict[str, str]]:
        return [headers for _, there, headers, _ in self.seen if there == path]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.seen.append((request.method, request.path, headers, await request.read()))
        return self._answer(request.path, headers, self.seen[-1][3], request.method)

    def _answer(self, path: str, headers: dict[str, str], body: bytes, method: str) -> web.StreamResponse:
        cookies = headers.get("cookie", "")
        lets_in = {
            "/basic": headers.get("authorization") == f"Basic {BASIC}",
            "/token": headers.get("authorization") == f"Bearer {TOKEN}",
            "/cookie": f"sid={SESSION}" in cookies,
            "/form": method == "POST" and body == f"q=rules&key={TOKEN}".encode(),
            "/json": method == "POST" and body == json.dumps({"query": {"key": TOKEN, "n": 5}}).encode(),
            "/inside": GIVEN in cookies,
        }
        if path == "/robots.txt":
            return web.Response(status=404)
        if path in ("/away", "/away307"):
            raise (web.HTTPFound if path == "/away" else web.HTTPTemporaryRedirect)(self.away)
        if path == "/kept":  # as shops do: it sets a cookie and leads on
            found = web.HTTPFound("/inside")
            found.set_cookie("seen", GIVEN)
            raise found
        if (
            path == "/wall" and f"seen={GIVEN}" not in cookies
        ):  # as consent walls do: back to itself, with a cookie
            found = web.HTTPFound("/wall")
            found.set_cookie("seen", GIVEN)
            raise found
        if path == "/circle":
            raise web.HTTPFound("/circle")
        if path == "/echo":
            return _page(f"You sent {headers.get('authorization')}")
        if path == "/named":
            page = _page("Welcome")
            page.headers["X-You-Are"] = headers.get("authorization", "")
            page.set_cookie("sid", SESSION)
            return page
        if path in lets_in and not lets_in[path]:
            return web.Response(status=401, text="who are you?")
        return _page(f"Let in to {path}")


def _page(words: str) -> web.Response:
    body = f"<html><head><title>Ured</title></head><body><p>{words}</p><p>{TEXT}</p></body></html>"
    return web.Response(text=body, content_type="text/html")


@asynccontextmanager
async def a_site() -> AsyncIterator[Site]:
    site = Site()
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", site.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    listener = web.TCPSite(runner, "127.0.0.1", 0)
    await listener.start()
    site.port = runner.addresses[0][1]
    try:
        yield site
    finally:
        await runner.cleanup()


def a_config(ports: list[int], *sources: dict[str, Any], **more: Any) -> Any:
    return parse(
        {
            "sources": list(sources),
            "fetch": {"allow_networks": ["127.0.0.0/8"], "allow_ports": ports, "total_timeout": "10s"},
            "lanes": {
                key: {"gap_min": "0s", "gap_max": "0s", "per_minute": 0} for key in ("default", "engine:tor")
            },
            **more,
        }
    )


async def looked(folder: Path, config: Any, mode: Mode = Mode.ONCE) -> list[tuple[str, str, str]]:
    """One run; (path, outcome, detail) of every look so far."""
    check_config(config)
    loaded = Loaded(config=config, path=None, data=folder, digest="login")
    ended = await run_async(loaded, RunRequest(mode=mode, takes_orders=False), on_event=lambda event: None)
    assert ended.error is None
    db = sqlite3.connect(folder / "vedette.db")
    rows = db.execute(
        "SELECT w.url, v.outcome, v.detail FROM visits v JOIN watches w ON w.id = v.watch_id ORDER BY v.at"
    ).fetchall()
    db.close()
    return [(url.partition("//")[2].partition("/")[2], outcome, detail) for url, outcome, detail in rows]


WAYS = [
    ("/basic", {"basic_auth": {"user": USER, "password": "env:SITE_PASSWORD"}}),
    ("/token", {"headers": {"Authorization": "env:SITE_BEARER"}}),
    ("/cookie", {"cookies": {"sid": "env:SITE_SESSION"}}),
    ("/form", {"post": {"form": {"q": "rules", "key": "env:SITE_TOKEN"}}}),
    ("/json", {"post": {"json": {"query": {"key": "env:SITE_TOKEN", "n": 5}}}}),
]


async def test_every_way_in_opens_the_page_and_leaves_no_secret_in_any_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SITE_BEARER", f"Bearer {TOKEN}")
    caplog.set_level(logging.DEBUG)
    async with a_site() as site:
        sources = [
            {"id": path[1:], "url": site.url(path), "lister": "page", "fetch": way} for path, way in WAYS
        ]
        config = a_config([site.port], *sources)
        found = await looked(tmp_path, config)
    assert sorted((path, outcome) for path, outcome, _ in found) == sorted(
        (path[1:], "ok") for path, _ in WAYS
    )
    assert leaks(tmp_path, [*SECRETS, BASIC]) == []
    said = caplog.text + json.dumps([keys_of(one) for one in sources_of(config)], default=str)
    assert not [secret for secret in (*SECRETS, BASIC) if secret in said]
    headers = [fetch_settings(config, one).headers for one in sources_of(config)]
    assert not [secret for secret in (*SECRETS, BASIC) if secret in repr(headers)]


@pytest.mark.parametrize(("path", "way"), WAYS)
@pytest.mark.parametrize("leads", ["/away", "/away307"])
async def test_no_credential_goes_to_another_origin(tmp_path, monkeypatch, path, way, leads) -> None:
    """The same host on another port is another origin."""
    monkeypatch.setenv("SITE_BEARER", f"Bearer {TOKEN}")
    async with a_site() as site, a_site() as other:
        site.away = other.url("/elsewhere")
        source = {"id": "one", "url": site.url(leads), "lister": "page", "fetch": way}
        await looked(tmp_path, a_config([site.port, other.port], source))
    method, _, headers, body = next(one for one in other.seen if one[1] == "/elsewhere")
    assert method == "GET"
    assert body == b""
    assert not {"authorization", "cookie", "content-type", "proxy-authorization"} & headers.keys()
    told = json.dumps(other.seen, default=str)
    assert not [secret for secret in (*SECRETS, BASIC) if secret in told]
    assert leaks(tmp_path, [*SECRETS, BASIC]) == []


async def test_a_post_is_repeated_on_its_own_origin_only_where_the_site_says_so(tmp_path: Path) -> None:
    async with a_site() as site:
        site.away = "/form"
        way = {"post": {"form": {"q": "rules", "key": "env:SITE_TOKEN"}}}
        sources = [
            {"id": p[1:], "url": site.url(p), "lister": "page", "fetch": way} for p in ("/away", "/away307")
        ]
        found = await looked(tmp_path, a_config([site.port], *sources))
    assert {path: outcome for path, outcome, _ in found} == {"away": "login_wall", "away307": "ok"}


async def test_without_the_word_the_page_is_a_login_wall(tmp_path: Path) -> None:
    async with a_site() as site:
        found = await looked(
            tmp_path, a_config([site.port], {"id": "one", "url": site.url("/basic"), "lister": "page"})
        )
    assert [outcome for _, outcome, _ in found] == ["login_wall"]


async def test_a_variable_that_is_missing_is_named_and_nothing_is_asked(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("SITE_PASSWORD")
    async with a_site() as site:
        way = {"basic_auth": f"{USER}:env:SITE_PASSWORD"}
        config = a_config(
            [site.port], {"id": "one", "url": site.url("/basic"), "lister": "page", "fetch": way}
        )
        with pytest.raises(ConfigError, match="SITE_PASSWORD is not set; the password of"):
            await looked(tmp_path, config)
    assert site.seen == []


async def test_cookies_that_the_site_sets_are_kept_where_that_is_asked_and_in_no_file(tmp_path: Path) -> None:
    async with a_site() as site:
        for name, keeps in (("kept", True), ("plain", False)):
            site.seen.clear()
            folder = tmp_path / name
            way = {"keep_cookies": keeps, "cookies": {"sid": "env:SITE_SESSION"}}
            source = {"id": name, "url": site.url("/kept"), "lister": "page", "fetch": way}
            found = await looked(folder, a_config([site.port], source))
            assert [outcome for _, outcome, _ in found] == ["ok" if keeps else "login_wall"]
            assert [GIVEN in one.get("cookie", "") for one in site.asked("/inside")] == [keeps]
            assert all(f"sid={SESSION}" in one["cookie"] for one in site.asked("/inside"))
            assert leaks(folder, [SESSION, GIVEN]) == []


async def test_a_site_that_sends_back_to_itself_with_a_cookie_is_seen_where_cookies_are_kept(
    tmp_path: Path,
) -> None:
    async with a_site() as site:
        for name, keeps in (("kept", True), ("plain", False)):
            sources = [
                {"id": p[1:], "url": site.url(p), "lister": "page", "fetch": {"keep_cookies": keeps}}
                for p in ("/wall", "/circle")
            ]
            found = await looked(tmp_path / name, a_config([site.port], *sources))
            told = {path: (outcome, detail) for path, outcome, detail in found}
            assert told["circle"] == ("redirect_error", "redirect comes back to itself")
            set_one = ("redirect_error", "redirect comes back to itself after it set a cookie")
            assert told["wall"] == (("ok", "") if keeps else set_one)
            assert len(site.asked("/circle")) == 1
            assert len(site.asked("/wall")) == (2 if keeps else 1)
            site.seen.clear()


async def test_an_answer_that_repeats_a_secret_is_not_kept(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("SITE_BEARER", f"Bearer {TOKEN}")
    way = {"headers": {"Authorization": "env:SITE_BEARER"}, "cookies": {"sid": "env:SITE_SESSION"}}
    async with a_site() as site:
        site.away = f"/somewhere?key={SESSION}"
        sources = [
            {"id": p[1:], "url": site.url(p), "lister": "page", "fetch": way}
            for p in ("/echo", "/named", "/away")
        ]
        found = await looked(tmp_path, a_config([site.port], *sources))
    told = {path: (outcome, detail) for path, outcome, detail in found}
    assert told["echo"][0] == "screened"
    assert "repeats a secret" in told["echo"][1]
    assert told["named"][0] == "ok"  # its head is kept without them
    assert told["away"][0] == "screened"
    assert leaks(tmp_path, [*SECRETS, BASIC]) == []


# Proxies: real ones, which carry what they are given to the site.


@dataclass
class Carrier:
    """A small HTTP proxy, or a SOCKS5 server with a password, in front of one site."""

    site: Site
    heads: list[bytes] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    words: list[tuple[str, str]] = field(default_factory=list)

    @asynccontextmanager
    async def running(self, *, socks: bool) -> AsyncIterator[int]:
        server = await asyncio.start_server(self._socks if socks else self._http, "127.0.0.1", 0)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()

    async def _http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head)
            line, rest = head.split(b"\r\n", 1)
            method, target, version = line.split(b" ")
            path = b"/" + target.split(b"/", 3)[3]
            own = b"\r\n".join(one for one in rest.split(b"\r\n") if not one.lower().startswith(b"proxy-"))
            first = b" ".join((method, path, version)) + b"\r\nConnection: close\r\n"
            await self._carry(first + own, reader, writer)

    async def _socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            _, count = await reader.readexactly(2)
            await reader.readexactly(count)
            writer.write(b"\x05\x02")
            _, size = await reader.readexactly(2)
            user = (await reader.readexactly(size)).decode()
            word = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
            self.words.append((user, word))
            writer.write(b"\x01\x00" if word == PROXY_WORD else b"\x01\x01")
            *_, _kind = await reader.readexactly(4)
            name = await reader.readexactly((await reader.readexactly(1))[0])
            self.names.append(name.decode())
            await reader.readexactly(2)
            writer.write(b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")
            await self._carry(b"", reader, writer)

    async def _carry(self, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self.site.port)
        back.write(first)

        async def pipe(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()
            sink.close()

        await asyncio.gather(pipe(reader, back), pipe(there, writer), return_exceptions=True)


@pytest.mark.parametrize("socks", [False, True])
async def test_a_proxy_carries_the_looks_and_its_password_is_nowhere(tmp_path, monkeypatch, socks) -> None:
    async with a_site() as site:
        carrier = Carrier(site)
        async with carrier.running(socks=socks) as port:
            scheme = "socks5h" if socks else "http"
            monkeypatch.setenv("SITE_PROXY", f"{scheme}://{USER}:{PROXY_WORD}@127.0.0.1:{port}")
            way = {"proxy": "env:SITE_PROXY", "basic_auth": f"{USER}:env:SITE_PASSWORD"}
            source = {"id": "one", "url": "http://intranet.example/basic", "lister": "page", "fetch": way}
            found = await looked(tmp_path, a_config([port, 80], source))
    assert found == [("basic", "ok", "")]
    if socks:
        assert set(carrier.names) == {"intranet.example"}
        assert set(carrier.words) == {(USER, PROXY_WORD)}
    else:
        assert all(b"Proxy-Authorization: Basic " in head for head in carrier.heads)
    assert not any("proxy-authorization" in headers for _, _, headers, _ in site.seen)
    assert leaks(tmp_path, [*SECRETS, BASIC]) == []


async def test_a_proxy_opens_no_address_that_the_guard_refuses(tmp_path: Path, monkeypatch) -> None:
    async with a_site() as site:
        carrier = Carrier(site)
        async with carrier.running(socks=False) as port:
            monkeypatch.setenv("SITE_PROXY", f"http://127.0.0.1:{port}")
            sources = [
                {"id": f"n{number}", "url": url, "lister": "page", "fetch": {"proxy": "env:SITE_PROXY"}}
                for number, url in enumerate(
                    ("http://10.0.0.1/", "http://169.254.169.254/latest", "http://localhost/")
                )
            ]
            found = await looked(tmp_path, a_config([port, 80], *sources))
    assert {outcome for _, outcome, _ in found} == {"address_refused"}
    assert carrier.heads == []


BAD = [
    ({"headers": {"Authorization": "Bearer abc"}}, "fetch.headers.Authorization: it lets somebody in"),
    ({"cookies": {"sid": "abc"}}, "fetch.cookies.sid: its value comes from the environment"),
    ({"cookies": {"s;d": "env:SITE_SESSION"}}, "no cookie can have this name"),
    ({"basic_auth": {"user": "me", "password": "abc"}}, "the password comes from the environment"),
    ({"basic_auth": "me"}, "write {user: NAME, password: env:VARIABLE}"),
    ({"post": {"form": {"a": 1}, "json": {}}}, "write one of"),
    ({"post": {"form": {"a": {"b": 1}}}}, "names and texts are needed"),
    ({"proxy": "http://me:abc@proxy.example:3128"}, "a password in it would be in the store"),
]


@pytest.mark.parametrize(("way", "words"), BAD)
def test_a_secret_that_is_written_out_is_refused_by_the_name_of_its_field(way, words) -> None:
    with pytest.raises(ConfigError) as caught:
        check_config(a_config([80], {"url": "http://site.example/", "fetch": way}))
    assert words in str(caught.value)
    assert "abc" not in str(caught.value)
