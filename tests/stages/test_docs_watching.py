"""docs/how-to/filters.md and behind-a-login.md, typed as they stand against a real server."""

from __future__ import annotations

import base64
import json
import re
import shlex
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
from cli_call import Cli
from leaks import leaks
from web_kit import an_installation, serving

from vedette.config.model import parse
from vedette.config.policies import check_config, sources_of
from vedette.contracts.filters import FilterKind, step_text
from vedette.core.filters.filter_steps import read_filters
from vedette.extract.element_filters import check_elements
from vedette.extract.filter_trial import steps_left
from vedette.extract.page import Page
from vedette.telemetry.clock import SystemClock

HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to"
BLOCK = re.compile(r"```(sh|text|yaml|json)\n(.*?)```", re.DOTALL)
TEXT = "Dostava traje tri dana, a povrat je moguć u roku od četrnaest dana. " * 8
KETTLE = (
    "<html><head><title>Kettle</title><meta property='product:price:amount' "
    "content='119.90'><meta property='product:price:currency' content='EUR'></head>"
    "<body><h1>Kettle</h1><p class='price'>Price: 119,90 EUR</p>"
    "<p class='stock'>Sold out</p><ul class='rows'><li>Beta</li><li>Alpha</li><li>Beta</li></ul>"
    f"<div class='advert'>Buy now</div><p>17 visitors today</p><p>{TEXT}</p><footer>Contact</footer></body></html>"
)
ITEMS = '{"items": [{"name": "kettle", "price": 19.5}, {"name": "pot", "price": 7}]}'
STOCK = "<?xml version='1.0'?><stock><item><name>kettle</name><left>12</left></item></stock>"
WORDS = ("correct-horse", "abc123def456", "5f2c9a71b0", "key-20b1c4")


class Site(BaseHTTPRequestHandler):
    """The shop and the portal of the two pages."""

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("content-length", 0))))

    def _answer(self, body: bytes) -> None:
        inside = "text/html", f"<title>Portal</title><p>{TEXT}</p>"
        basic = base64.b64encode(b"compliance:correct-horse").decode()
        pages = {"/kettle": ("text/html", KETTLE), "/api": ("application/json", ITEMS)}
        pages["/stock.xml"] = ("application/xml", STOCK)
        lets_in = {
            "/notices": self.headers.get("authorization") == f"Basic {basic}",
            "/api/notices": self.headers.get("authorization") == "Bearer abc123def456",
            "/inbox": self.headers.get("cookie") == "sid=5f2c9a71b0",
            "/search": body == b"q=rules&key=key-20b1c4",
            "/query": body == b'{"query": "rules", "key": "key-20b1c4"}',
        }
        status = 200 if self.path in pages or lets_in.get(self.path) else 401 if self.path in lets_in else 404
        kind, text = pages.get(self.path, inside) if status == 200 else ("text/plain", "no")
        self.send_response(status)
        self.send_header("content-type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    opened = {"fetch": {"allow_networks": ["127.0.0.0/8"], "allow_ports": [server.server_port]}}
    quick = {"lanes": {"default": {"gap_min": "0s", "gap_max": "0s", "per_minute": 0}}}
    (tmp_path / "vedette.yaml").write_text(json.dumps(opened | quick), "utf-8")
    monkeypatch.chdir(tmp_path)
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def blocks(page: str) -> list[tuple[str, str]]:
    return [(match[1], match[2]) for match in BLOCK.finditer((HOW_TO / page).read_text("utf-8"))]


@pytest.mark.parametrize("page", ["filters.md", "behind-a-login.md"])
def test_who_types_the_page_sees_what_it_shows(page, address, tmp_path, monkeypatch):
    cli, said, count = Cli(tmp_path / "data"), "", 0
    for kind, block in blocks(page):
        if kind == "text":
            assert [line for line in block.splitlines() if line not in said] == [], said
        if kind != "sh":
            continue
        said = ""
        for line in block.splitlines():
            words = shlex.split(re.sub(r"https://(shop|portal)\.example", address, line))
            if words[0] == "export":
                for word in words[1:]:
                    monkeypatch.setenv(*word.split("=", 1))
                continue
            told = cli(*words[1:])
            assert told.code == 0, (line, told.out, told.err)
            said, count = said + told.out, count + 1
    assert count >= 7
    assert leaks(tmp_path, list(WORDS)) == []


@pytest.mark.parametrize("page", ["filters.md", "behind-a-login.md"])
def test_the_configuration_of_the_page_is_one(page, monkeypatch):
    for name in ("PORTAL_PASSWORD", "PORTAL_TOKEN", "PORTAL_SESSION", "API_KEY"):
        monkeypatch.setenv(name, "word-of-a-test")
    files = [parse(yaml.safe_load(block)) for kind, block in blocks(page) if kind == "yaml"]
    assert len(files) == 1
    check_config(files[0])
    assert len(list(sources_of(files[0]))) in (1, 4)


EXAMPLES = [
    step_text(row.split("|")[2].strip(" `"))
    for row in (HOW_TO / "filters.md").read_text("utf-8").splitlines()
    if re.match(r"\| `\w+` \| `", row)
]


def test_the_page_has_an_example_of_every_kind():
    assert [text.partition(":")[0] for text in EXAMPLES] == [kind.value for kind in FilterKind]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_of_a_step_works(example):
    filters = read_filters((example,))
    check_elements(filters)
    body, kind = (ITEMS, "application/json") if example.startswith("jsonpath") else (KETTLE, "text/html")
    page = Page.of(body.encode(), url="https://shop.example/kettle", content_type=kind)
    (left,) = steps_left(page, None, (example,), "main")
    assert left.problem == ""
    assert left.lines or left.now


async def test_the_bodies_of_the_pages_are_taken_by_the_api(tmp_path, monkeypatch):
    monkeypatch.setenv("VEDETTE_LOGIN_SESSION", "5f2c9a71b0")
    (steps,) = [json.loads(block) for kind, block in blocks("filters.md") if kind == "json"]
    (login,) = [json.loads(block) for kind, block in blocks("behind-a-login.md") if kind == "json"]
    async with serving(an_installation(tmp_path)) as client:
        made = await client.post("/api/v1/sources", json=login)
        assert made.status in (200, 201), made.text
        path = f"/api/v1/sources/{made.json['source']}/filters"
        saved = await client.post(path, json=steps)
        assert saved.json["filters"] == ["css: .price", "below: 90"]
    assert leaks(tmp_path, ["5f2c9a71b0"]) == []


def test_a_variable_that_is_not_set_is_told_of_and_heals_once_it_is(address, tmp_path, monkeypatch):
    monkeypatch.delenv("PORTAL_PASSWORD", raising=False)
    cli = Cli(tmp_path / "data", clock=SystemClock())
    added = cli("add", f"{address}/notices", "--basic-auth", "compliance:env:PORTAL_PASSWORD")
    assert added.code == 0
    assert "the environment variable PORTAL_PASSWORD is not set here" in added.err
    assert "bad_settings" in cli("run", "--until-idle").out
    monkeypatch.setenv("PORTAL_PASSWORD", "correct-horse")
    assert "1 look, 0 changes, 0 found, 1 host, 0 errors" in cli("run", "--until-idle").err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--proxy", "ftp://x"), "is not an http://, https:// or socks5h:// address"),
        (("--cookie", "sid=abc"), "--cookie: write 'NAME: env:VARIABLE'"),
        (("--filter", "css .price"), "a filter is one line `kind: value`, as in `css: .price`"),
        (("--filter", "cs: .price"), "unknown filter 'cs'; did you mean 'css'?"),
        (("--filter", "decimal: ;"), "write a dot or a comma"),
    ],
)
@pytest.mark.parametrize("verb", ["add", "test"])
def test_what_is_wrong_is_said_before_anything_is_asked_or_saved(verb, words, told, address, tmp_path):
    said = Cli(tmp_path / "data")(verb, f"{address}/kettle", *words)
    assert said.code == 2
    assert told in said.err
    assert not (tmp_path / "data").exists()


def test_a_filter_that_matches_nothing_is_told_by_the_exit_code(address, tmp_path):
    said = Cli(tmp_path / "data")("test", f"{address}/kettle", "--filter", "css: .gone")
    assert said.code == 1
    assert "filter_unmatched" in said.out
