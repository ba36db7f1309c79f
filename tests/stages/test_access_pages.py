"""Access behind a login, set on a page and by the API: tried on the real page, kept by name, never shown."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from aiohttp import web
from stocked import RULES, stocked
from test_dashboard_pages import PAYLOADS, SAME, Tags
from web_kit import an_installation, serving

from vedette.operations.source_access import access_keys
from vedette.operations.source_filters import filters_of_page
from vedette.operations.sources import add_source

SECRET = "correct-horse-battery"
BASIC = f"Basic {base64.b64encode(f'ana:{SECRET}'.encode()).decode()}"
PAGE = "<html><head><title>Inbox</title></head><body><main><p>{}</p></main></body></html>"
OPENED = PAGE.format(
    "You are in. Notice 12 on the opening hours of the office is here for those who may read it."
)


@asynccontextmanager
async def a_locked_site() -> AsyncIterator[tuple[str, int, list[str]]]:
    """Opens with the right name and password alone; notes what it was sent."""
    sent: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        if request.path == "/robots.txt":
            return web.Response(status=404)
        given = request.headers.get("Authorization", "")
        sent.append(given)
        if given != BASIC:
            return web.Response(status=401, text="no")
        return web.Response(text=OPENED, content_type="text/html")

    app = web.Application()
    app.router.add_get("/{rest:.*}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    try:
        yield f"http://127.0.0.1:{port}/inbox", port, sent
    finally:
        await runner.cleanup()


def form(url: str, **more: str) -> dict[str, str]:
    return {
        "url": url,
        "headers": "",
        "cookies": "",
        "user": "",
        "password": "",
        "post": "",
        "proxy": "",
        **more,
    }


async def test_a_password_is_tried_saved_by_its_name_and_sent(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("VEDETTE_LOGIN_PORTAL", SECRET)
    async with a_locked_site() as (url, port, sent):
        installation = an_installation(
            tmp_path, fetch={"allow_networks": ["127.0.0.0/8"], "allow_ports": [port]}
        )
        stocked(tmp_path)
        add_source(installation, url, {}, {})
        given = form(url, user="ana", password="env:VEDETTE_LOGIN_PORTAL")
        async with serving(installation) as client:
            shut = await client.post("/access/try", data=form(url), headers=SAME)
            opened = await client.post("/access/try", data=given, headers=SAME)
            unsaved = access_keys(filters_of_page(installation, url))
            saved = await client.post("/access/save", data=given, headers=SAME)
            shown = await client.ask(f"/access?url={quote(url, safe='')}")
            told = await client.ask(f"/api/v1/sources/{filters_of_page(installation, url).source.id}/access")
            taken = await client.post("/access/save", data=form(url), headers=SAME)
        after = access_keys(filters_of_page(installation, url))
    assert "You are not let in" in shut.text
    assert "You are let in" in opened.text
    assert unsaved == {}
    assert (saved.status, taken.status) == (303, 303)
    assert 'value="env:VEDETTE_LOGIN_PORTAL"' in shown.text
    assert told.json["variables"] == ["VEDETTE_LOGIN_PORTAL"]
    assert sent[-1] == BASIC
    assert SECRET not in opened.text + shown.text + told.text
    assert after == {}, "empty fields take all of it back"


BAD = [
    ({"headers": "no colon"}, "headers", "Name: value"),
    ({"headers": "Authorization: Bearer abc"}, "headers", "env:"),
    ({"headers": "X-Key: env:HOME"}, "headers", "VEDETTE_LOGIN_"),
    ({"cookies": "sid: plain"}, "cookies", "env:VARIABLE"),
    ({"cookies": "sid: env:AWS_SECRET_ACCESS_KEY"}, "cookies", "VEDETTE_LOGIN_"),
    ({"user": "ana"}, "basic_auth", "env:VARIABLE"),
    ({"user": "ana", "password": "hunter2"}, "basic_auth", "env:VARIABLE"),
    ({"password": "env:VEDETTE_LOGIN_X"}, "basic_auth", "user"),
    ({"post": '{"form": 3}'}, "post", "form"),
    ({"post": '{"form": {"key": "env:PATH"}}'}, "post", "VEDETTE_LOGIN_"),
    ({"proxy": "http://me:secret@proxy.example:8080"}, "proxy", "env:VARIABLE"),
    ({"proxy": "gopher://x"}, "proxy", "http"),
]


@pytest.mark.parametrize(("typed", "field", "words"), BAD)
@pytest.mark.parametrize("path", ["/access/try", "/access/save"])
async def test_what_cannot_be_used_is_told_beside_its_field_and_stays_there(
    tmp_path: Path, path: str, typed: dict[str, str], field: str, words: str
):
    stocked(tmp_path)
    async with serving(an_installation(tmp_path)) as client:
        answer = await client.post(path, data=form(RULES, **typed), headers=SAME)
    assert answer.status == 422
    _, mark, said = answer.text.partition(f'id="problem-{field}">')
    assert mark, answer.text[answer.text.find("problem-") :][:300]
    assert words in said.partition("</p>")[0]
    assert Tags(answer.text).bad == []
    assert all(value.split(":")[0].split('"')[0] in answer.text for value in typed.values())


async def test_a_variable_of_the_operator_stays_its_own_but_goes_no_other_way(tmp_path: Path):
    stocked(tmp_path)
    installation = an_installation(tmp_path)
    add_source(installation, RULES, {"fetch": {"basic_auth": "ana:env:PORTAL_PASSWORD"}}, {})
    kept = {"user": "ana", "password": "env:PORTAL_PASSWORD"}
    async with serving(installation) as client:
        same = await client.post("/access/save", data=form(RULES, **kept, keep_cookies="true"), headers=SAME)
        moved = await client.post(
            "/access/save", data=form(RULES, **kept, proxy="http://evil.example:8080"), headers=SAME
        )
        there = f"/api/v1/sources/{filters_of_page(installation, RULES).source.id}/access"
        foreign = await client.post(there, json={"headers": {"X": "env:HOME"}})
        empty = await client.post(there, json={})
        other = await client.post(
            "/access/save", data=form(RULES), headers={"Origin": "https://evil.example"}
        )
    assert same.status == 303
    assert moved.status == 422
    assert "VEDETTE_LOGIN_" in moved.text
    assert foreign.status == 422
    assert foreign.json["errors"][0]["message"]
    assert empty.json["fetch"] == {}
    assert other.status == 403


async def test_a_source_of_the_file_is_shown_and_not_written(tmp_path: Path):
    stocked(tmp_path)
    sources = [{"url": RULES, "fetch": {"cookies": {"sid": "env:PORTAL_SESSION"}}}]
    async with serving(an_installation(tmp_path, sources=sources)) as client:
        shown = await client.ask(f"/access?url={quote(RULES, safe='')}")
        answer = await client.post("/access/save", data=form(RULES), headers=SAME)
    assert "stands in vedette.yaml" in shown.text
    assert 'formaction="/access/save"' not in shown.text
    assert (answer.status, "stands in vedette.yaml" in answer.text) == (422, True)


async def test_payloads_in_the_form_are_text(tmp_path: Path):
    stocked(tmp_path)
    evil = " ".join(PAYLOADS)
    async with serving(an_installation(tmp_path)) as client:
        for name in form(RULES):
            answer = await client.post("/access/try", data=form(RULES) | {name: evil}, headers=SAME)
            tags = Tags(answer.text)
            assert answer.status < 500
            assert (tags.bad, "inline" in tags.scripts) == ([], False), name
