"""A look that failed is seen: on the screen, in the summary, in health, sources and list, and by the exit code."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cli_call import Cli, Told

from vedette.telemetry.clock import SystemClock

ROBOTS = "User-agent: *\nDisallow: /private/\n"
QUICK = {"default": {"gap_min": "10ms", "gap_max": "20ms", "per_minute": 0}}
TEXT = "<p>The council of the town met and said a great deal about roads and water.</p>" * 8


class Site:
    """Pages by path: a status and a body.  Everything else is an ordinary page."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[int, str]] = {"/robots.txt": (200, ROBOTS)}
        self.host, self.port = "127.0.0.5", 0

    def url(self, path: str) -> str:
        return f"http://{self.host}:{self.port}{path}"

    @contextmanager
    def served(self) -> Iterator[Site]:
        pages = self.pages

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, text = pages.get(self.path, (200, f"<html><body>{TEXT}{self.path}</body></html>"))
                body = text.encode()
                self.send_response(status)
                kind = "text/plain" if self.path == "/robots.txt" else "text/html"
                for name, value in (("Content-Type", kind), ("Content-Length", str(len(body)))):
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        server = ThreadingHTTPServer((self.host, 0), Handler)
        self.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


class User:
    """Somebody with a folder, a configuration and a terminal."""

    def __init__(self, folder: Path, site: Site) -> None:
        self.folder, self.site = folder, site
        self.cli = Cli(folder / "data", clock=SystemClock())
        self.configure()

    def configure(self, *sources: dict[str, Any], allowed: bool = True, **sections: Any) -> None:
        fetch = {"allow_networks": ["127.0.0.0/8"], "allow_ports": [self.site.port]} if allowed else {}
        config = {"lanes": QUICK, "fetch": fetch, "sources": list(sources), **sections}
        (self.folder / "vedette.yaml").write_text(json.dumps(config))

    def __call__(self, *words: str) -> Told:
        return self.cli(*words, "--config", str(self.folder / "vedette.yaml"))

    def page(self, path: str, name: str, **options: Any) -> dict[str, Any]:
        return {"url": self.site.url(path), "id": name, "lister": "page", **options}


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with Site().served() as site:
        yield User(tmp_path, site)


def test_a_refused_address_is_told_everywhere_and_healed_by_the_line_that_is_given(user: User):
    """A4, A6, B5, C20: from the first word to the corrected configuration."""
    user.configure(allowed=False)
    url = user.site.url("/article.html")
    line = f'fetch: {{allow_networks: ["127.0.0.5/32"], allow_ports: [{user.site.port}]}}'
    assert line in user("add", url).err
    told = user("run", "--until-idle")
    assert told.code == 7
    assert f"not seen  {url}  address_refused" in told.out
    assert "robots.txt" not in told.out
    assert ("not seen: 1 page\n" in told.out, line in told.out) == (True, True)
    assert "1 look, 0 changes, 0 found, 1 host, 1 error," in told.err
    for verb in ("health", "sources"):
        said = user(verb)
        assert ("not seen: address_refused" in said.out, line in said.err) == (True, True)
    assert "well" not in user("health").out
    assert user("health", "--check").code == 6
    assert "1 of 1 was not seen at the last look" in user("list").err
    idle = user("run", "--once")
    assert (idle.code, "nothing was due; the next look is" in idle.err) == (0, True)
    assert "1 page not seen at the last look" in idle.err

    allowed = f'["127.0.0.5/32"], allow_ports: [{user.site.port}]'
    (user.folder / "vedette.yaml").write_text(f"fetch: {{allow_networks: {allowed}}}\n")
    healed = user("run", "--until-idle")
    assert (healed.code, "1 look," in healed.err, "not seen" in healed.out) == (0, True, False)
    assert "well" in user("health").out


def test_every_way_to_fail_is_named_with_its_reason_and_remedy_for_people_and_programs(user: User):
    user.site.pages |= {"/gone": (404, ""), "/broken": (500, ""), "/login": (401, "")}
    bad = {name: user.page(f"/{name}", name) for name in ("gone", "broken", "login")}
    bad["private"] = user.page("/private/x", "private")
    bad["down"] = {"url": "http://127.0.0.6:8080/", "id": "down", "lister": "page"}
    user.configure(*bad.values(), user.page("/fine", "fine"))
    outcomes = {
        "gone": "gone", "broken": "server_error", "login": "login_wall", "private": "robots_refused",
        "down": "connect_error",
    }  # fmt: skip
    lines = [json.loads(line) for line in user("run", "--until-idle", "--json").out.splitlines()]
    missed = {line["source"]: line for line in lines if line["event"] == "not_seen"}
    assert {name: line["outcome"] for name, line in missed.items()} == outcomes
    assert all(line["remedy"] and line["again_at"] for line in missed.values())
    assert [line["event"] for line in lines[-2:]] == ["run_result", "run_ended"]
    sick = {one["id"]: one for one in user("health", "--json").json["trouble"]}
    assert {name: one["outcome"] for name, one in sick.items()} == outcomes
    assert all(one["remedy"] for one in sick.values())
    sources = {one["id"]: one for one in user("sources", "--json").json["sources"]}
    assert {name: one["outcome"] for name, one in sources.items()} == outcomes | {"fine": "ok"}
    assert sources["fine"]["last_success_at"]  # B6: a page, not a listing
    assert sources["gone"]["last_success_at"] is None
    watches = {one["source"]: one for one in user("list", "--json").json["watches"]}
    assert [name for name, one in watches.items() if not one["why"]] == ["fine"]


def test_many_failures_of_one_host_are_counted_and_not_five_hundred_lines(user: User):
    links = "".join(f"<li><a href='/bad/{n}'>A page that is not there, {n}</a></li>" for n in range(60))
    user.site.pages |= {"/list": (200, f"<html><body><main><ul>{links}</ul></main></body></html>")}
    user.site.pages |= {f"/bad/{n}": (404, "") for n in range(60)}
    user.configure(user.page("/list", "many", lister="html_list"))
    told = user("run", "--until-idle")
    assert (told.code, "not seen: 60 pages" in told.out) == (7, True)
    assert "... and 57 pages more of 127.0.0.5" in told.out
    assert len(told.out.splitlines()) < 25


def test_links_of_a_crawl_that_lead_to_nothing_are_told_and_are_no_failure_of_the_run(user: User):
    links = "<a href='/dead'>A page that is not there</a> <a href='/private/a'>A page that is not for us</a>"
    user.site.pages |= {"/": (200, f"<html><body>{TEXT}{links}</body></html>"), "/dead": (404, "")}
    user.configure(user.page("/", "site", lister="crawl"))
    told = user("run", "--until-idle")
    assert (told.code, "2 links of crawled pages led to nothing" in told.out) == (0, True)
    user.site.pages["/dead"] = (500, "")
    user.configure(user.page("/dead", "asked for"))
    user("add", user.site.url("/dead"))
    assert user("run", "--once").code == 7


def test_pages_that_wait_behind_a_closed_lane_are_not_seen_either(user: User):
    user.site.pages |= {f"/{n}": (500, "") for n in range(8)}
    user.configure(*(user.page(f"/{n}", f"p{n}") for n in range(8)))
    told = user("run", "--until-idle")
    assert told.code == 7
    assert "not seen: 8 pages" in told.out
    assert "lane_closed: the breaker of the lane is open (host:127.0.0.5: breaker open until" in told.out


def closing_list(told: Told) -> str:
    return told.out.partition("not seen: ")[2]


def test_each_failure_of_one_host_has_its_own_reason_and_no_source_is_hidden(user: User):
    """N5."""
    plain = f"<html><body>{TEXT}</body></html>"
    user.site.pages |= {f"/{name}": (200, plain) for name in ("list", "feed", "feed2", "map")}
    user.site.pages |= {"/500": (500, ""), "/503": (503, "")}
    listers = {"list": "html_list", "feed": "feed", "feed2": "feed", "map": "sitemap"}
    user.configure(
        *(user.page(f"/{name}", name, lister=lister) for name, lister in listers.items()),
        *(user.page(f"/{status}", f"s{status}") for status in (500, 503)),
        lanes={"default": {**QUICK["default"], "trips_after": 50}},
    )
    told = closing_list(user("run", "--until-idle"))
    assert all(user.site.url(f"/{name}\n") in told for name in (*listers, "500", "503"))
    reasons = [line for line in told.splitlines() if line.startswith("    why:")]
    assert len(reasons) == len(set(reasons)) == 5
    assert ("server_error" in told, "more of" in told) == (True, False)


def test_what_an_open_breaker_holds_back_is_not_tried_again_before_it_closes(user: User):
    """N5: five refused connections, and two sources that wait behind them."""
    pages = [{"url": f"http://127.0.0.6:8080/{n}", "id": f"p{n}", "lister": "page"} for n in range(7)]
    user.configure(*pages)
    told = closing_list(user("run", "--until-idle"))
    assert ("breaker open until" in told, "tried again now" in told) == (True, False)
    again = [line.partition("tried again ")[2] for line in told.splitlines() if "    why:" in line]
    assert len(again) >= 2
    assert all(words.startswith(("in 1 h", "in 59 min")) for words in again), again
    assert all(page["url"] in told for page in pages)


def test_an_empty_folder_is_told_what_to_type(user: User):
    told = user("run", "--once")
    assert (told.code, "nothing to watch yet; type: vedette add URL" in told.err) == (0, True)


def test_a_run_without_end_says_at_its_start_what_to_type_or_when_the_next_look_is(user: User):
    """N3: nothing would ever tell it otherwise."""
    assert "nothing to watch yet; type: vedette add URL" in user("run", "--seconds", "0.3").err
    assert "nothing to watch yet" in user("run", "--seconds", "0.3").err  # with a store, too
    user.configure(user.page("/page", "prices"))
    assert "nothing" not in user("run", "--seconds", "3", "--max-visits", "1").err
    told = user("run", "--seconds", "0.3").err
    assert ("nothing is due now; the next look is" in told, user.site.url("/page") in told) == (True, True)
    assert user("sources", "pause", "prices").code == 0
    user.configure()
    assert "nothing is scheduled here" in user("run", "--seconds", "0.3").err
    assert user("run", "--seconds", "0.3", "--json").err == ""


def test_a_mistyped_source_lane_or_tier_is_an_error_with_the_nearest_name(user: User):
    """B14."""
    user.configure(user.page("/page", "prices"))
    assert user("run", "--once", "--source", "prices").code == 0
    for words, near in (
        (("run", "--once", "--source", "prizes"), "did you mean 'prices'?"),
        (("run", "--queued", "--source", "prizes"), "did you mean 'prices'?"),
        (("list", "--source", "prizes"), "did you mean 'prices'?"),
        (("due", "--source", "prizes"), "did you mean 'prices'?"),
        (("changes", "--source", "prizes"), "did you mean 'prices'?"),
        (("run", "--once", "--tier", "hihg"), "did you mean 'HIGH'?"),
        (("lanes", "reset", "127.0.0.55"), "did you mean 'host:127.0.0.5'?"),
        (("lanes", "block", "127.0.0.55"), "did you mean 'host:127.0.0.5'?"),
    ):
        told = user(*words)
        assert (words, told.code, near in told.err) == (words, 2, True)


UNUSABLE = {
    "ports": {"fetch": {"allow_ports": [99999]}},
    "networks": {"fetch": {"allow_networks": ["300.1.1.1/8"]}},
    "nameservers": {"fetch": {"nameservers": ["no server"]}},
    "proxy": {"fetch": {"proxy": "ftp://x"}},
    "policy": {"schedule": {"policy": "foo"}},
    "interval": {"schedule": {"interval": 0}},
    "lane": {"lanes": {"host:": {}}},
    "a lane without a kind": {"lanes": {"example.org": {}}},
    "retention": {"evidence": {"retention": {"No class": "1d"}}},
    "cron": {"cron": {"runs": "x"}},
    "zone": {"cron": {"timezone": "Nowhere"}},
    "screen": {"screen": [{"category": "x", "pattern": "("}]},
    "packs": {"classify": {"packs": ["xx"]}},
    "channel": {"notify": {"channels": {"mail": {"kind": "smtp"}}}},
    "rule": {"notify": {"rules": [{"channel": "nobody"}]}},
    "one address twice": {"sources": [{"url": "https://a.example/"}, {"url": "https://a.example/"}]},
    "ports of a source": {"sources": [{"url": "https://a.example/", "fetch": {"allow_ports": [0]}}]},
    "ca_file": {"fetch": {"ca_file": "/no/such/file"}},
    "headers": {"fetch": {"headers": {"Host": "x"}}},
}
BY_ENVIRONMENT = ("ca_file", "headers")  # what settings name elsewhere: `run` and `doctor` look at it


@pytest.mark.parametrize("case", UNUSABLE)
def test_what_run_refuses_every_verb_refuses_with_the_same_words(user: User, case: str):
    """N8."""
    assert user("run", "--once").code == 0  # there is a store
    path = user.folder / "vedette.yaml"
    path.write_text(json.dumps(UNUSABLE[case]))
    refused = user("run", "--once")
    words = refused.err.removeprefix("vedette: ").strip()
    assert (refused.code, len(words) > 20) == (4, True)
    doctor = {one["check"]: one for one in user("doctor", "--json").json["checks"]}
    assert (doctor["config"]["state"], doctor["config"]["found"]) == ("bad", words)
    for verb in ("list", "changes", "health", "sources", "config show"):
        said = user(*verb.split())
        if case not in BY_ENVIRONMENT:
            assert (verb, said.code, said.err) == (verb, 4, refused.err)
        else:
            assert said.code in (0, 6)


@pytest.mark.parametrize("part", ["item", "link", "title", "date"])
def test_a_selector_that_is_not_css_is_an_error_of_the_configuration(user: User, part: str):
    """B7."""
    user.configure(user.page("/", "list", lister="html_list", selectors={part: "ul..news["}))
    told = user("run", "--once")
    assert (told.code, f"`sources.0`: selectors.{part}: 'ul..news[' is not a CSS selector" in told.err) == (
        4,
        True,
    )


def test_a_limit_that_stops_discovery_is_in_health_and_an_alert_until_it_is_raised(user: User):
    """F8."""
    links = "".join(f"<li><a href='/news/{n}'>Number {n} of the town's news</a></li>" for n in range(9))
    user.site.pages["/news"] = (200, f"<html><body><main><ul>{links}</ul></main></body></html>")
    news = user.page("/news", "news", lister="html_list")
    user.configure(news | {"max_urls": 4})
    assert user("run", "--until-idle").code == 0
    assert "finds no more: 5 addresses over its limit" in user("health").out
    assert user("health", "--raise", "--check").code == 6
    assert [one["type"] for one in user("alerts", "--json").json["alerts"]] == ["DISCOVERY_CAPPED"]
    user.configure(news | {"max_urls": 40})
    user("run", "--until-idle")
    assert "well" in user("health").out
    assert len(user("list", "--json").json["watches"]) == 10


def test_a_selector_that_matches_nothing_is_told_by_run_health_and_test_until_it_does(user: User):
    """N10."""
    links = "".join(f"<li><a href='/news/{n}'>Number {n} of the town's news</a></li>" for n in range(9))
    user.site.pages["/news"] = (200, f"<html><body><main><ul>{links}</ul></main></body></html>")
    news = user.page("/news", "news", lister="html_list")
    user.configure(news | {"selectors": {"item": "ol.none li"}})
    words = "the selector 'ol.none li' matched nothing; the largest group of links was read (9)"
    told = user("run", "--until-idle")
    assert (told.code, f"warning  {user.site.url('/news')}  selector_unmatched: {words}" in told.out) == (
        0,
        True,
    )
    said = user("health")
    assert (words in " ".join(said.out.split()), "Mend its selectors" in said.err) == (True, True)
    tried = ("test", user.site.url("/news"), "--lister", "html_list")
    assert f"warning   {words}" in user(*tried, "--item", "ol.none li").out
    assert user(*tried, "--item", "ol.none li", "--json").json["listing"]["warning"] == words
    assert "warning" not in user(*tried, "--item", "ul li").out
    user.configure(news | {"selectors": {"item": "ul li"}})
    user("run", "--until-idle")
    assert "well" in user("health").out


def test_a_page_that_fails_beside_pages_that_answer_alerts_for_itself(user: User):
    """F10: three errors in a row on a host that answers in between."""
    user.site.pages["/broken"] = (500, "")
    user.configure(user.page("/broken", "broken"), user.page("/fine", "fine"))
    user("run", "--once")
    for _ in range(4):
        for path in ("/broken", "/fine"):
            user("add", user.site.url(path))
            user("run", "--once")
    assert user("health", "--raise").code == 0
    alerts = user("alerts", "--json").json["alerts"]
    assert [(one["type"], one["subject"]) for one in alerts] == [
        ("ENDPOINT_CONSECUTIVE_ERRORS", "source:broken")
    ]
