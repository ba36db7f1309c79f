"""A small site on loopback, tried out as a user would: test, headers, diff between two times."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from browser_kit import needs_chromium
from cli_call import Cli, Told
from document_kit import needs_tesseract
from image_kit import NOTICE, notice, saved
from PIL import Image

from vedette.telemetry.clock import SystemClock

QUICK = {"default": {"gap_min": "10ms", "gap_max": "20ms", "per_minute": 0}}
PROSE = "".join(
    f"<p>Paragraph {n} says what the council decided about roads and water.</p>" for n in range(30)
)
ARTICLE = (
    "<html><body><nav><a href='/'>Home</a> <a href='/news/'>News</a></nav>"
    f"<main><h1>Decision</h1><p>Request id: 8f3a77c1d02b</p>{PROSE}</main><footer>Copyright 2026 the town</footer>"
    "</body></html>"
)
LIST = (
    "<html><body><ul>"
    + "".join(f"<li><a href='/news/{n}.html'>Item {n}</a></li>" for n in range(4))
    + "</ul></body></html>"
)
SCRIPTED = (
    "<!doctype html><title>T</title><div id=r></div><script>r.innerHTML = " + json.dumps(LIST) + "</script>"
)


class Site:
    def __init__(self, folder: Path) -> None:
        self.pages = {"/article.html": ARTICLE, "/news/": LIST, "/": LIST, "/app": SCRIPTED}
        self.files: dict[str, tuple[str, bytes]] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.folder = folder
        self.base = ""

    def cli(self, *words: str) -> Told:
        path = self.folder / "vedette.yaml"
        if not path.exists():
            self.configure()
        return Cli(self.folder / "data", clock=SystemClock())(*words, "--config", str(path))

    def configure(self, **sections: Any) -> None:
        fetch = {"allow_networks": ["127.0.0.0/8"], "allow_ports": [int(self.base.rpartition(":")[2])]}
        config = {"fetch": fetch, "lanes": QUICK, "run": {"confirm_after": "10ms"}, **sections}
        (self.folder / "vedette.yaml").write_text(json.dumps(config))

    @contextmanager
    def served(self) -> Iterator[Site]:
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append((self.path, dict(self.headers)))
                text = site.pages.get(self.path, f"<html><body>{PROSE}{self.path}</body></html>")
                body = b"" if self.path == "/robots.txt" else text.encode()
                kind, body = site.files.get(self.path, ("text/html; charset=utf-8", body))
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.6", 0), Handler)
        self.base = f"http://127.0.0.6:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with Site(tmp_path).served() as made:
        yield made


def test_test_shows_the_compared_text_by_lines_once_and_says_which_part_it_is(site: Site):
    url = f"{site.base}/article.html"
    told = site.cli("test", url).out
    assert "Paragraph 1 says" in told
    assert "Paragraph 29 says" not in told
    whole = site.cli("test", url, "--text").out
    assert whole.count("Paragraph 29 says") == 1
    assert max(len(line) for line in whole.splitlines()) < 200
    assert "compares" in told
    assert "the main part" in told
    assert "Copyright" not in whole
    body = site.cli("test", url, "--json").json
    assert body["scope"] == "main"
    assert body["text_chars"] < body["visible_chars"]
    assert "Decision" in body["lines"]


def test_test_says_when_all_of_a_page_is_compared(site: Site):
    site.pages["/search.html"] = (
        "<nav>Home</nav><main>Search</main><div><p>Bread costs 1.65 euros.</p><p>Milk costs 1.05 euros.</p></div>"
    )
    told = site.cli("test", f"{site.base}/search.html").out
    assert "all of the page" in told
    assert "the main part" not in told


@needs_tesseract
def test_test_reads_the_text_of_an_image(site: Site):
    site.files["/docs/notice.png"] = ("image/png", saved(notice(), "PNG"))
    told = site.cli("test", f"{site.base}/docs/notice.png", "--text")
    assert told.code == 0
    assert "image/png -> IMAGE" in told.out
    assert f"| {NOTICE[0]}\n" in told.out
    body = site.cli("test", f"{site.base}/docs/notice.png", "--json").json
    assert (body["content_class"], body["lines"][0]) == ("IMAGE", NOTICE[0])
    assert " ".join(body["lines"]) == " ".join(NOTICE)


def test_test_says_which_tool_an_image_needs(site: Site):
    site.files["/docs/notice.png"] = ("image/png", saved(notice(), "PNG"))
    site.configure(extract={"ocr_languages": "zzz"})
    told = site.cli("test", f"{site.base}/docs/notice.png")
    assert "tool_missing" in told.out + told.err
    assert "apt-get install" in told.out + told.err


def test_test_says_what_is_never_compared_and_tries_another_scope(site: Site):
    url = f"{site.base}/article.html"
    assert "<token>" in site.cli("test", url).out
    everything = site.cli("test", url, "--scope", "all", "--text").out
    assert "Copyright 2026 the town" in everything
    assert "all of the page" in everything
    told = site.cli("test", url, "--scope", "most")
    assert (told.code, "main" in told.err) == (2, True)


def test_headers_can_be_tried_and_kept_per_source(site: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TEAM_KEY", "s3cret")
    url = f"{site.base}/article.html"
    assert site.cli("test", url, "--header", "X-Team: law", "--header", "X-Key: env:TEAM_KEY").code == 0
    assert {"X-Team": "law", "X-Key": "s3cret"}.items() <= site.asked[-1][1].items()
    assert site.cli("add", url, "--header", "X-Team: law").code == 0
    assert site.cli("add", url, "--header", "X-Key: env:TEAM_KEY").code == 0
    site.asked.clear()
    assert site.cli("look", url).code == 0
    seen = next(headers for path, headers in site.asked if path == "/article.html")
    assert {"X-Team": "law", "X-Key": "s3cret"}.items() <= seen.items()
    assert "s3cret" not in site.cli("export", "--format", "jsonl").out
    bad = site.cli("add", url, "--header", "no colon")
    assert (bad.code, "Name: value" in bad.err) == (2, True)


def test_any_two_states_of_a_page_can_be_compared(site: Site):
    url = f"{site.base}/article.html"
    site.cli("add", url)
    assert site.cli("look", url).code == 0
    for number in (1, 2):
        site.pages["/article.html"] = ARTICLE.replace("Decision", f"Decision number {number}")
        assert site.cli("look", url).code == 0
    ids = [one["evidence"] for one in site.cli("evidence", "show", url, "--json").json["evidence"]]
    told = site.cli("diff", url, "--from", str(ids[-1]), "--to", str(ids[0]))
    assert "- Decision\n" in told.out.replace("-Decision", "- Decision")
    assert "Decision number 2" in told.out
    assert "number 1" not in told.out
    since = site.cli("diff", url, "--from", "1h")
    assert (since.code, "nothing was seen" in since.err) == (1, True)
    same = site.cli("diff", url, "--from", str(ids[0]), "--json").json
    assert same["diff"] == []
    whole = site.cli("diff", url, "--from", str(ids[-1]), "--json").json
    assert whole["summary"].startswith("1 line changed")
    assert site.cli("diff", "1", "--from", "1h").code == 2


def test_a_message_says_that_the_change_was_confirmed(site: Site):
    url = f"{site.base}/article.html"
    rows = [{"id": "a", "url": url, "lister": "page"}]
    site.configure(sources=rows, notify={"channels": {"out": {"kind": "stdout"}}})
    assert site.cli("look", url).code == 0
    site.pages["/article.html"] = ARTICLE.replace("Decision", "Decision of Monday")
    told = site.cli("look", url).out
    assert "Why you are told: its risk is MEDIUM; confirmed by a second look." in told


def test_without_a_store_the_sources_of_the_configuration_are_pointed_to(site: Site):
    site.configure(sources=[{"url": f"{site.base}/", "lister": "page"}])
    told = site.cli("list")
    assert (told.code, "vedette run" in told.err) == (5, True)


def test_sources_says_which_pages_of_a_source_are_watched_by_another(site: Site):
    rows = [
        {"id": "list", "url": f"{site.base}/news/", "lister": "html_list"},
        {"id": "site", "url": f"{site.base}/", "lister": "crawl"},
    ]
    site.configure(sources=rows)
    site.cli("look", "--source", "list")
    site.cli("run", "--until-idle")
    told = {one["id"]: one for one in site.cli("sources", "--json").json["sources"]}
    assert told["site"]["shares"] == {"list": told["list"]["watches"]}
    assert told["list"]["shares"] == {}
    number = told["list"]["watches"]
    words = f"site: {number} pages under its address watched by other sources: list {number}"
    assert words in site.cli("sources").err


@needs_chromium
@pytest.mark.slow
def test_sources_check_uses_the_browser_that_a_run_would_use(site: Site):
    rows = [{"id": "app", "url": f"{site.base}/app", "lister": "html_list", "requires_headless": True}]
    site.configure(sources=rows, lanes=QUICK | {"engine:browser": {"gap_min": "10ms", "gap_max": "20ms"}})
    told = site.cli("sources", "check", "--json")
    (one,) = told.json["sources"]
    assert (told.code, one["finding"], one["items"]) == (0, "fine", 4)


def test_test_says_that_an_image_was_read_and_has_no_text(site: Site):
    site.files["/logo.png"] = ("image/png", saved(Image.new("RGB", (40, 30), "red"), "PNG"))
    told = site.cli("test", f"{site.base}/logo.png").out
    assert "compares  nothing: no text was found in it" in told


def test_test_says_what_an_address_lists_and_how_to_watch_that(site: Site):
    urls = "".join(f"<url><loc>{site.base}/p{n}</loc></url>" for n in range(3))
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    site.files["/sitemap.xml"] = ("application/xml", f'<urlset xmlns="{space}">{urls}</urlset>'.encode())
    told = site.cli("test", f"{site.base}/sitemap.xml")
    assert (
        f"a sitemap of 3 pages; to watch them: vedette add {site.base}/sitemap.xml --lister sitemap"
        in told.out
    )
    assert site.cli("test", f"{site.base}/sitemap.xml", "--json").json["looks_like"] == "sitemap"
    assert "vedette add" not in site.cli("test", f"{site.base}/article.html").out
