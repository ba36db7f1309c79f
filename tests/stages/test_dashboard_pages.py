"""The dashboard without a browser: every page is there, escapes what others wrote, and says what to do."""

from __future__ import annotations

import hashlib
import html
import re
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest
from stocked import HOUR, NEWS, NOW, RULES, Stock, a_change, blank, stocked
from web_kit import an_installation, serving

from vedette.contracts.alerts import AlertKind
from vedette.contracts.change import DiffOp
from vedette.contracts.lane import LaneState
from vedette.contracts.words import LaneKey, Outcome
from vedette.report.health import KIND_WORDS
from vedette.surface.http.diff_rows import lines_of, side_by_side
from vedette.surface.http.page_frame import (
    CSP,
    HERE,
    NAV,
    TEMPLATES,
    ago_words,
    counted,
    safe_link,
    set_value,
)

PAYLOADS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg/onload=alert(1)>",
    "{{7*7}}${7*7}",
    "javascript:alert(1)",
    "</title><script>alert(1)</script>",
    "&lt;script&gt;",
    "<!--",
    "\u202egnp.exe",
)
PLANTED = " ".join(PAYLOADS)
SAME = {"Sec-Fetch-Site": "same-origin"}


class Tags(HTMLParser):
    """What a browser would run: elements, handlers, styles and addresses."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.bad: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "script":
            self.scripts.append(given.get("src") or "inline")
        if tag in ("style", "base", "object", "embed", "math") or (tag == "img"):
            self.bad.append(tag)
        self.bad += [name for name in given if name.startswith("on") or name == "style"]
        for name in ("href", "src", "action"):
            if not re.match(r"(/(?!/)|https?://|\?|#)", given.get(name) or "/"):
                self.bad.append(f"{name}={given[name]}")


def planted(data: Path) -> Stock:
    """Payloads in titles, summaries, texts, details, notes, names and the URL itself."""
    stock = stocked(data)
    url = f"https://example.org/{quote(PAYLOADS[1], safe='')}?q={quote(PAYLOADS[0], safe='')}"
    stock.source(url, name=f"n{PAYLOADS[0]}")
    stock.visit(url, title=PLANTED, at=NOW - 3 * HOUR, body=PLANTED)

    def evil(watch, after):
        made = a_change(number=99)(watch, after)
        ops = (
            DiffOp("replace", (PLANTED,), (PLANTED + "!",), ((PAYLOADS[0], PAYLOADS[1]),)),
            DiffOp("insert", (), (PLANTED,)),
        )
        from dataclasses import replace

        return replace(made, comparison=replace(made.comparison, summary=PLANTED, diff=ops))

    stock.visit(url, title=PLANTED, change=evil, body=PLANTED + "!")
    stock.visit(url, outcome=Outcome.SERVER_ERROR, detail=PLANTED, at=NOW - HOUR / 2)
    stock.execute("INSERT INTO parked VALUES (1, ?, 'server_error', ?, 3, 0)", url + "&p", PLANTED)
    stock.execute(
        "INSERT INTO alerts (kind, kinds, subject, risk, sources, detail, opened_at, relapses) "
        "VALUES ('ENDPOINT_SLA_BREACH', '[]', ?, 3, '[]', ?, 0, 0)", f"host:{PAYLOADS[0]}", PLANTED,
    )  # fmt: skip
    return stock


async def test_payloads_render_as_text_on_every_page(tmp_path: Path):
    stock = planted(tmp_path)
    url = next(row for row in _urls(stock) if "%22" in row or "script" in row)
    evil, there = quote(PLANTED, safe=""), quote(url, safe="")
    paths = [path for path, _ in NAV] + [
        "/changes?state=all", "/changes/2", "/changes/2?view=unified", "/changes/2?view=words", f"/watch?url={there}",
        "/alerts?every=true", f"/changes?text={evil}", f"/watches?text={evil}", f"/watches?host={evil}",
        f"/changes?since={evil}", f"/login?next={evil}", f"/watch?url={evil}", f"/evidence/{evil}",
        f"/?done={evil}", f"/nothing/{evil}", "/evidence/1001",
    ]  # fmt: skip
    seen = 0
    async with serving(an_installation(tmp_path)) as client:
        for path in paths:
            answer = await client.ask(path, headers={"Accept": "text/html"})
            assert answer.status < 500, (path, answer.text[-800:])
            tags = Tags(answer.text)
            assert "inline" not in tags.scripts, path
            assert tags.bad == [], path
            assert all(one.startswith("/assets/") for one in tags.scripts)
            assert answer.headers["Content-Security-Policy"] == CSP, path
            assert "$49" not in answer.text
            shown = re.sub(r'value="[^"]*"', "", answer.text)  # what was typed stays in its field
            assert "\u202e" not in shown, "what turns text around is shown as what it is"
            seen += "&lt;script&gt;alert(1)" in answer.text
        shown = await client.post("/sources/preview", data={"url": PLANTED}, headers=SAME)
        assert (shown.status, Tags(shown.text).bad) == (422, [])
    assert seen >= 8, "the payloads were on the pages"
    assert "unsafe" not in CSP


def _urls(stock: Stock) -> list[str]:
    from vedette.store.queries import Queries
    from vedette.store.views import WatchFilter

    with Queries(stock.path) as queries:
        return [one.url for one in queries.watch_lines(WatchFilter())]


async def test_an_empty_store_says_on_every_page_what_to_do(tmp_path: Path):
    blank(tmp_path)
    async with serving(an_installation(tmp_path)) as client:
        for path, name in NAV:
            answer = await client.ask(path)
            assert answer.status == 200, (path, answer.text[-500:])
            assert 'class="empty"' in answer.text or path == "/settings", path
            assert f"<title>{name} " in answer.text


async def test_a_page_that_is_not_there_or_cannot_be_shown_says_so_and_leads_on(tmp_path: Path):
    stocked(tmp_path)
    async with serving(an_installation(tmp_path)) as client:
        for path, status in (
            ("/nothing", 404),
            ("/changes/99", 404),
            (f"/watch?url={NEWS}x", 404),
            ("/watch?url=x", 422),
            ("/changes/abc", 404),
            ("/watch", 422),
            ("/parked?nothing=1", 200),
            ("/alerts?every=perhaps", 422),
        ):
            answer = await client.ask(path, headers={"Accept": "text/html"})
            assert answer.status == status, path
            assert answer.text.lstrip().startswith("<!doctype html>"), "a person is shown a page, never JSON"
            if status != 200:
                assert "To the overview" in answer.text
                lead = re.search(r'<p class="lead">(.*?)</p>', answer.text, re.DOTALL)
                assert lead is not None
                assert len(lead[1].split()) > 4, "it says what to do, not the name of the status again"


@pytest.mark.parametrize("view", ["unified", "words"])
async def test_a_difference_in_one_column_has_each_line_on_a_line_of_its_own(tmp_path: Path, view: str):
    ops = (
        DiffOp("equal", ("Fees", "as of May"), ("Fees", "as of May")),
        DiffOp("replace", ("The fee is 25.",), ("The fee is 27.",), words=(("25", "27"),)),
        DiffOp("insert", (), ("A new line.",)),
    )
    lines = ["".join(text for _, text in line) for line in lines_of(ops, view)]
    assert len(lines) >= 4
    words = TEMPLATES.get_template("words.html").make_module({"now": NOW})
    shown = html.unescape(re.sub("<[^>]+>", "", words.lines(lines_of(ops, view))))
    assert shown.splitlines() == lines


def test_every_kind_of_alert_is_told_in_words_and_numbers_by_thousands():
    assert set(KIND_WORDS) == set(AlertKind)
    assert not any("_" in words or words.isupper() for words in KIND_WORDS.values())
    assert counted(33532, "look") == "33\u202f532 looks"
    assert counted(1, "watch", "watches") == "1 watch"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "now"), (42, "42 s ago"), (816, "13 min ago"), (-816, "in 13 min"), (8130, "2 h 15 min ago")],
)
def test_how_long_ago_it_was_is_said_without_seconds_from_a_minute_on(seconds: float, words: str):
    assert ago_words(NOW - timedelta(seconds=seconds), NOW) == words


@pytest.mark.parametrize(
    ("path", "given", "there"),
    [
        ("/sources/order", {"source": "rules", "order": "pause", "next": "/sources"}, "/sources?done=paused"),
        (
            "/sources/order",
            {"source": RULES, "order": "mute", "for": "7d", "next": "/changes/1"},
            "/changes/1?done=muted",
        ),
        ("/sources/order", {"source": "rules", "order": "note", "words": "mine"}, "/sources?done=noted"),
        ("/sources/order", {"source": "rules", "order": "remove", "next": "//evil"}, "/sources?done=removed"),
        ("/look", {"url": NEWS}, f"/watch?url={quote(NEWS, safe='')}&done=look"),
        ("/lanes/reset", {"lane": "host:example.org"}, "/lanes?done=reset"),
        ("/parked/order", {"order": "retry"}, "/parked?done=retried"),
    ],
)
async def test_a_form_does_what_its_verb_does_and_says_so(tmp_path: Path, path: str, given: dict, there: str):
    stocked(tmp_path)
    async with serving(an_installation(tmp_path)) as client:
        answer = await client.post(path, data=given, headers=SAME)
        assert (answer.status, answer.headers["Location"]) == (303, there)
        after = await client.ask(there)
        assert after.status == 200
        assert 'role="status"' in after.text


async def test_only_a_lane_that_can_be_opened_again_has_the_button(tmp_path: Path):
    stock = stocked(tmp_path)
    slow = LaneState(crawl_delay=24 * HOUR, next_start_at=NOW + 23 * HOUR)
    for state, has_button in ((slow, False), (LaneState(closed_until=NOW + HOUR, failures=5), True)):
        stock.group(lanes=((LaneKey("host:example.org"), state),))
        async with serving(an_installation(tmp_path)) as client:
            text = (await client.ask("/lanes")).text
        assert ("Open it again" in text) is has_button


async def test_a_wrong_address_is_told_beside_its_field_and_nothing_is_lost(tmp_path: Path):
    stocked(tmp_path)
    async with serving(an_installation(tmp_path)) as client:
        for path in ("/sources/preview", "/sources/add"):
            given = {"url": "example.org/nes", "lister": "feed"}
            answer = await client.post(path, data=given, headers=SAME)
            assert answer.status == 422
            assert 'id="problem-url"' in answer.text
            assert "did you mean https://example.org/nes" in answer.text
            assert 'value="example.org/nes"' in answer.text
        bad = await client.post(
            "/sources/add", data={"url": "https://e.example/", "every": "often"}, headers=SAME
        )
        assert bad.status == 422
        assert "often" in bad.text


async def test_who_may_only_read_is_shown_no_buttons(tmp_path: Path):
    from vedette.operations.access_tokens import make_token

    stocked(tmp_path)
    installation = an_installation(tmp_path)
    token = make_token(installation, "ana", "read").token
    async with serving(installation, Authorization=f"Bearer {token}") as client:
        for path in ("/sources", f"/watch?url={RULES}", "/changes/1", "/parked", "/lanes", "/evidence"):
            text = (await client.ask(path)).text
            assert [
                one for one in re.findall(r'method="post" action="([^"]+)"', text) if one != "/logout"
            ] == []


def test_what_is_vendored_is_what_the_list_says():
    rows = re.findall(
        r"\| `(\S+)` \|.*\| `([0-9a-f]{64})` \|", (HERE / "assets" / "README.md").read_text("utf-8")
    )
    assert {name for name, _ in rows} == {"htmx.js", "uplot.js", "uplot.css"}
    for name, digest in rows:
        assert hashlib.sha256((HERE / "assets" / name).read_bytes()).hexdigest() == digest
        assert (HERE / "assets" / f"{name.partition('.')[0]}.LICENSE").exists()


def test_only_addresses_of_the_web_become_links():
    assert safe_link("https://example.org/a")
    for url in (
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "//x",
        "http://[",
        "vbscript:x",
        "",
    ):
        assert safe_link(url) == ""


def test_words_that_differ_stand_apart_from_their_neighbours():
    op = DiffOp("replace", ("There are 60 open calls",), ("There are 78 open calls",), (("60", "78"),))
    (row,) = side_by_side([op])
    assert "".join(text for _, text in row.left) == "There are 60 open calls"
    assert ("gone", "60") in row.left
    assert ("new", "78") in row.right


def test_long_equal_parts_are_counted_not_shown():
    rows = side_by_side(
        [DiffOp("equal", tuple(map(str, range(50)))), DiffOp("insert", (), ("new",)), DiffOp("equal", ("z",))]
    )
    assert [row.kind for row in rows] == ["gap", "equal", "equal", "equal", "insert", "equal"]
    assert rows[0].left == (("", "47 equal lines"),)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("14400s", "14400s (4 h)"),
        ("30s", "30s"),
        ("news", "news"),
        (None, "–"),
        (0.5, "0.5"),
        ({"LOW": 0.5, "HIGH": 2.0}, "LOW: 0.5, HIGH: 2.0"),
        ("9" * 30 + "s", "9" * 30 + "s"),
    ],
)
def test_a_setting_is_shown_as_people_read_it(value, words):
    assert set_value(value) == words
