"""Sentences that people get: mails, the log, times.  They say what holds, and nothing that is no reason."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from cli_call import Cli
from settlements import a_watch
from stocked import RULES, Stock, a_change, stocked

import vedette
from vedette.contracts.alerts import ChannelName, ChannelPolicy, Notice
from vedette.contracts.change import Change
from vedette.contracts.events import Event, NoticeTold, Serving, Visited
from vedette.contracts.words import ChangeId, NodeRole, Outcome, Reason, Risk, VisitId
from vedette.core.health.alarm import route
from vedette.notify import templates
from vedette.report.changes import BECAUSE, because, change_lines, reason_words
from vedette.report.notices import ROLE_WORDS, change_notice
from vedette.report.plain import as_text
from vedette.store.outbox import SqliteOutbox
from vedette.telemetry.logs import Log

AT = datetime(2026, 11, 15, 11, 0, tzinfo=UTC)


def a_report(*reasons: Reason) -> Change:
    made: Change = a_change()(a_watch().id, VisitId(5))  # type: ignore[operator]
    return replace(made, comparison=replace(made.comparison, reasons=reasons))


def mail_of(*reasons: Reason) -> str:
    watch = a_watch(risk=Risk.HIGH, title="Price list", node_role=NodeRole.NEWS_FEED)
    return templates.text(change_notice(a_report(*reasons), watch, at=AT))


def test_a_mail_names_reasons_that_are_reasons_and_the_words_that_show_more():
    mail = mail_of(Reason("differs_near", 0.9375), Reason("seen_twice"))
    assert "Why you are told: its risk is HIGH; it is a page of news; confirmed by a second look." in mail
    assert set(ROLE_WORDS) == set(NodeRole)
    assert "similarity" not in mail
    assert "as before" not in mail
    assert mail.splitlines()[0] == "HIGH changed: Price list"


LONG = 312_345_678_901_234_567  # as ids are in a store that has run


def sent_of(data: Path, *, is_stored: bool, order: tuple[int, ...] = (LONG - 9, LONG - 5, LONG)) -> Notice:
    """The notice of one change of a store, as a channel gets it.  `order`: in which changes were stored."""
    stock = Stock(data)
    stock.source(RULES)
    for number in (one for one in order if is_stored or one != LONG):
        stock.visit(RULES, change=a_change(number=number))
    change = replace(a_report(), id=ChangeId(LONG))
    notice = change_notice(change, stock.watch(RULES), at=AT)
    stock.group(messages=tuple(route(notice, (ChannelPolicy(name=ChannelName("ops")),), (), now=AT)))
    outbox = SqliteOutbox(stock.path)
    message = outbox.due(ChannelName("ops"), now=AT)
    outbox.close()
    assert message is not None
    return message.notice


@pytest.mark.parametrize("tell", [templates.text, templates.html, templates.chat])
def test_a_message_names_a_change_by_the_number_that_diff_takes(
    tmp_path: Path, tell: Callable[[Notice], str]
):
    words = tell(sent_of(tmp_path, is_stored=True))
    assert "vedette diff 3" in words
    assert str(LONG) not in words
    shown = Cli(tmp_path)("diff", "3", "--json").json
    assert shown["change"] == LONG


def test_a_message_gives_the_number_of_its_own_change_in_whatever_order_changes_were_stored(tmp_path: Path):
    words = templates.text(sent_of(tmp_path, is_stored=True, order=(LONG - 9, LONG, LONG - 5)))
    assert "vedette diff 2" in words
    assert Cli(tmp_path)("diff", "2", "--json").json["change"] == LONG


@pytest.mark.parametrize("tell", [templates.text, templates.html, templates.chat])
def test_a_change_without_a_number_is_named_by_its_address(tmp_path: Path, tell: Callable[[Notice], str]):
    words = tell(sent_of(tmp_path, is_stored=False))
    assert f"vedette diff {RULES}" in words
    assert str(LONG) not in words


def test_a_program_gets_the_id_of_a_change_as_before(tmp_path: Path):
    data = json.loads(templates.document(sent_of(tmp_path, is_stored=True)))["data"]
    assert (data["id"], data["change"], data["number"]) == (f"change-{LONG}", str(LONG), 3)


@pytest.mark.parametrize("code", BECAUSE)
def test_no_reason_makes_a_sentence_that_contradicts_the_report(code: str):
    words = because(a_report(Reason(code, 3)))
    assert words
    assert "because" not in words


def test_a_change_says_how_sure_it_is_and_how_much_differs():
    report = a_report(Reason("differs_near", 0.9375), Reason("seen_twice"))
    text = as_text(change_lines(report, url=RULES, risk=Risk.HIGH))
    assert text.splitlines()[-1].strip() == "confirmed by a second look; about 6 % of the text differs"


def test_the_docs_template_says_the_risk_once():
    notice = change_notice(a_report(), a_watch(risk=Risk.HIGH, title="Price list"), at=AT)
    assert templates.of_operator("$risk $title", notice) == "HIGH changed: Price list"
    assert templates.of_operator("$title", notice) == "changed: Price list"


def told(*events: Event, **given: object) -> list[str]:
    stream = io.StringIO()
    log = Log(stream, is_json=False, **given)  # type: ignore[arg-type]
    for event in events:
        log.hear(event)
    return stream.getvalue().splitlines()


def look(outcome: Outcome, **fields: Any) -> Event:
    return Visited(at=AT, url="https://a.example/", outcome=outcome, **fields)


def test_a_line_of_the_log_begins_with_its_time():
    (line,) = told(Serving(at=AT, listen="127.0.0.1:9464"))
    assert line == "2026-11-15T11:00:00Z [serve:listen] Serving on 127.0.0.1:9464"


def test_a_look_that_failed_is_named_with_its_status_and_why():
    (line,) = told(look(Outcome.SERVER_ERROR, status=503, detail="try later"), look(Outcome.OK, status=200))
    assert line.endswith("[sentinel:fetch] Not seen: server_error 503 try later (https://a.example/)")


def test_a_message_that_was_not_delivered_is_told_with_the_answer():
    refused = NoticeTold(
        at=AT,
        notice="change-1",
        channel=ChannelName("bad"),
        outcome=Outcome.SERVER_ERROR,
        detail="503 Service Unavailable",
    )
    (line,) = told(refused)
    assert line.endswith("change-1 to bad: server_error, 503 Service Unavailable")
    (line,) = told(replace(refused, outcome=Outcome.OK, detail=None))
    assert line.endswith("change-1 to bad: ok")


@pytest.fixture
def in_zagreb() -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Europe/Zagreb"
    time.tzset()
    yield
    os.environ.pop("TZ")
    if before is not None:
        os.environ["TZ"] = before
    time.tzset()


@pytest.fixture
def stock(tmp_path: Path) -> Stock:
    return stocked(tmp_path / "data")


TIMES = (["changes"], ["history", RULES], ["diff", RULES], ["explain", RULES], ["evidence", "show", RULES])


@pytest.mark.parametrize("words", TIMES, ids=" ".join)
def test_every_time_says_its_zone_and_is_local_on_request(stock: Stock, in_zagreb: None, words: list[str]):
    cli = Cli(stock.data)
    assert "2026-11-15 11:00:00Z" in cli(*words).out
    assert "2026-11-15 12:00:00+0100" in cli(*words, "--local-time").out
    assert "2026-11-15 11:00:00Z" in cli(*words).out


def test_a_zone_can_be_set(stock: Stock, tmp_path: Path):
    path = tmp_path / "vedette.yaml"
    path.write_text("report: {timezone: Asia/Tokyo}\n")
    assert "2026-11-15 20:00:00+0900" in Cli(stock.data)("changes", "--config", str(path)).out
    assert (
        Cli(stock.data)("changes", "--config", str(path), "--json").json["changes"][0]["observed_at"]
        == AT.isoformat()
    )
    path.write_text("report: {timezone: Asia/Tokio}\n")
    bad = Cli(stock.data)("changes", "--config", str(path))
    assert (bad.code, "did you mean 'Asia/Tokyo'?" in bad.err) == (4, True)


NOUNS = re.compile(
    r" (looks|changes|errors|sources|segments|failures|times|pages|watches|files|records|rows|attempts|visits|jobs|"
    r"problems|lines|relapses|notices|characters|bytes|decisions|items|(further|new|more) [a-z]+s)\b"
)
PAGES = [
    page
    for folder in ("report", "surface/cli")
    for page in sorted((Path(vedette.__file__).parent / folder).glob("*.py"))
    if not page.name.startswith(("panel", "demo", "freshness", "simulate", "hunt"))
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_number_before_a_noun_is_written_by_the_one_helper_that_knows_singular_and_plural(page: Path):
    found = [
        ast.unparse(part)
        for node in ast.walk(ast.parse(page.read_text("utf-8")))
        if isinstance(node, ast.JoinedStr)
        for part, after in pairwise(node.values)
        if isinstance(part, ast.FormattedValue) and isinstance(after, ast.Constant)
        if NOUNS.match(str(after.value)) and _may_be_one(part)
    ]
    assert not found, "use `count` of report/plain.py"


def _may_be_one(part: ast.FormattedValue) -> bool:
    """Not a constant, not a rate or a large number, not a URL."""
    words = ast.unparse(part.value)
    return part.format_spec is None and not words.isupper() and words not in KNOWN


KNOWN = {
    "number",
    "one.times",
    "facts.url",
    "len(word)",
    "len(cells)",
    "rows",
    "gathered.bad",
    "repeated",
    "many",
}


@pytest.mark.parametrize(("points", "words"), [(1.0, "confirmed by 1 look"), (4.0, "confirmed by 4 looks")])
def test_looks_that_confirmed_a_change_are_counted_in_english(points: float, words: str):
    assert reason_words(Reason("seen_again", points)) == words
