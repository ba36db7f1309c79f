"""The log: the document's fields, for machines and for people, and never a secret."""

from __future__ import annotations

import io
import json
import logging
import re
from datetime import UTC, datetime, timedelta
from string import Formatter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.config.alert_policies import secrets_of
from vedette.config.model import parse
from vedette.contracts.events import (
    NAMES,
    BreakerOpened,
    Changed,
    CronQueued,
    Event,
    JobFailed,
    LedgerNoted,
    NotSeen,
    PagesFound,
    ProblemTold,
    RunEnded,
    Visited,
)
from vedette.contracts.watch import Decision
from vedette.contracts.words import (
    ChangeId,
    EvidenceId,
    LaneKey,
    Outcome,
    Reason,
    Risk,
    RunId,
    SourceId,
    VisitId,
)
from vedette.telemetry.clock import JumpingClock
from vedette.telemetry.logs import FORMS, LEVELS, Form, LibraryLog, Log, LogScrubber, _said, _sentence, _Words

AT = datetime(2026, 1, 14, 6, 0, tzinfo=UTC)
FOUND = PagesFound(at=AT, url="https://porezna.example/", count=50, source=SourceId("Porezna uprava"))


def lines(*events: Event, **given: object) -> list[str]:
    stream = io.StringIO()
    log = Log(stream, **given)  # type: ignore[arg-type]
    for event in events:
        log.hear(event)
    return stream.getvalue().splitlines()


def test_in_production_a_line_has_the_fields_of_the_document():
    (line,) = lines(FOUND)
    assert json.loads(line) == {
        "timestamp": "2026-01-14T06:00:00.000Z",
        "level": "info",
        "component": "sentinel",
        "message": "Discovered 50 new items from Porezna uprava",
        "operation": "discover",
        "endpointId": "Porezna uprava",
        "metadata": FOUND.fields,
    }


def test_in_development_a_person_can_read_it():
    expected = "2026-01-14T06:00:00Z [sentinel:discover] Discovered 50 new items from Porezna uprava (https://porezna.example/)"
    assert lines(FOUND, is_json=False) == [expected]


def test_looks_are_told_only_to_those_who_debug():
    look = Visited(at=AT, url="https://a.example/", outcome=Outcome.OK, status=200)
    assert lines(look) == []
    assert len(lines(look, level="debug")) == 1


@pytest.mark.parametrize("is_json", [True, False])
def test_no_secret_reaches_a_line_whatever_field_it_stands_in(is_json: bool):
    secrets = ('pa"ss\\word', "https://hooks.example/T0/B0/xyz")
    event = Visited(
        at=AT, url=secrets[1], outcome=Outcome.TIMEOUT, detail=f"refused {secrets[0]} and {secrets[1]}"
    )
    text = "".join(lines(event, is_json=is_json, scrubber=LogScrubber(secrets)))
    assert "***" in text
    assert "word" not in text
    assert "B0/xyz" not in text


def test_credentials_in_any_url_are_hidden():
    event = ProblemTold(at=AT, what="proxy http://me:secret@proxy.example:3128/ refused")
    assert "secret" not in lines(event)[0]
    assert "***@proxy.example" in lines(event)[0]


def test_everything_that_came_from_the_environment_is_a_secret(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("A_TOKEN", "t0ken-value")
    monkeypatch.setenv("A_HEADER", "header-value")
    raw = {
        "fetch": {"headers": {"Authorization": "env:A_HEADER"}},
        "serve": {"token": "env:A_TOKEN"},
        "notify": {"channels": {"m": {"kind": "smtp", "password": "plain-password"}}},
    }
    assert {"t0ken-value", "header-value", "plain-password"} <= secrets_of(parse(raw))


@given(
    st.sampled_from([*FORMS, "unheard_of"]), st.dictionaries(st.text(min_size=1), st.text()), st.booleans()
)
def test_any_event_is_one_line_without_control_characters(name: str, fields: dict[str, str], is_json: bool):
    event = LedgerNoted(at=AT, decision=Decision(action=name, reasons=(), inputs=fields))
    (line,) = lines(event, is_json=is_json, level="debug")
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in line)
    if is_json:
        assert json.loads(line)["metadata"] == {"reasons": [], **fields}


@given(st.text(), st.booleans())
def test_a_problem_in_any_words_is_one_line_without_control_characters(what: str, is_json: bool):
    (line,) = lines(ProblemTold(at=AT, what=what), is_json=is_json)
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in line)
    if is_json:
        assert json.loads(line)["metadata"] == {"what": what}


def test_every_form_is_of_an_event_that_exists():
    assert set(FORMS) <= set(NAMES.values())


def test_a_page_that_was_not_seen_is_a_sentence_without_empty_words():
    """N14."""
    look = {"url": "https://a.example/", "source": SourceId("a"), "outcome": Outcome.ADDRESS_REFUSED}
    missed = NotSeen(
        at=AT, detail="10.1.1.1 is private", count=1, again_at=None, is_dead_link=False, remedy="", **look
    )  # type: ignore[arg-type]
    out = io.StringIO()
    Log(out, is_json=False).hear(missed)
    assert "Not seen: address_refused 10.1.1.1 is private" in out.getvalue()
    assert _sentence(missed, Form("info", "x", "y", "{outcome} {again_at} {detail}")).split() == [
        "address_refused", "10.1.1.1", "is", "private"
    ]  # fmt: skip


def test_a_log_that_nobody_reads_stops_nothing():
    stream = io.StringIO()
    log = Log(stream)
    stream.close()
    log.hear(FOUND)
    log.hear(FOUND)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_one_of_something_is_singular_in_every_line(form: Form):
    told = form.words.format_map(_Words({name: _said(1) for name in _fields(form)}))
    assert not re.search(r"\b1 (new )?(?!is\b)\w+s\b", told), told
    assert "|" not in form.words.format_map(_Words({}))


def test_counts_are_told_with_their_nouns():
    def ended(visits: int) -> str:
        told = RunEnded(at=AT, run=RunId("r"), by="limit", visits=visits, sightings=0, wire_bytes=0, errors=0)
        return lines(told, is_json=False)[0]

    assert "ended by limit: 1 look, 0 found" in ended(1)
    assert "ended by limit: 20 looks, 0 found" in ended(20)


def _fields(form: Form) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(form.words) if name]


def test_every_form_has_a_level():
    assert {form.level for form in FORMS.values()} <= set(LEVELS)


def test_what_a_library_warns_of_is_a_line_of_the_log_and_secrets_are_hidden_in_it_too():
    stream = io.StringIO()
    log = Log(stream, is_json=True, scrubber=LogScrubber(["s3cret-key"]))
    with LibraryLog(log, JumpingClock(AT)):
        logging.getLogger("aiohttp.client").warning("Unclosed %s with s3cret-key", "session")
        logging.getLogger("asyncio").error("Task failed", exc_info=ValueError("broken\x1b[2J"))
        logging.getLogger("asyncio").info("of no interest")
    logging.getLogger("aiohttp.client").warning("after it ended")
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (first["component"], first["message"]) == ("library", "aiohttp.client: Unclosed session with ***")
    assert "ValueError" in second["message"]
    assert "\x1b" not in stream.getvalue()


# Lines that other programs read: keys, their order and their form.  A change here breaks them.
LINES = {
    Visited(
        at=AT,
        url="https://a.example/",
        visit=VisitId(7),
        outcome=Outcome.OK,
        status=200,
        seconds=timedelta(seconds=0.12345),
        changed=True,
        digest=b"\xab\xcd",
        evidence=EvidenceId(3),
        segment="s-1",
        offset=1,
        length=2,
        source=SourceId("s"),
    ): '{"event":"visited","at":"2026-01-14T06:00:00+00:00","url":"https://a.example/","visit":7,"outcome":"ok",'
    '"status":200,"seconds":0.123,"changed":true,"digest":"abcd","evidence":3,"segment":"s-1","offset":1,"length":2,'
    '"source":"s","detail":""}',
    Changed(
        at=AT, url="https://a.example/", change=ChangeId(9), kind="changed", risk=Risk.HIGH, observed_at=AT
    ): '{"event":"changed","at":"2026-01-14T06:00:00+00:00","url":"https://a.example/","change":9,"kind":"changed",'
    '"risk":"HIGH","summary":"","layer":"","before":null,"after":null,"observed_at":"2026-01-14T06:00:00+00:00"}',
    BreakerOpened(
        at=AT, reasons=(Reason("breaker_open", note="until noon"),), lane=LaneKey("host:a.example")
    ): '{"event":"breaker","at":"2026-01-14T06:00:00+00:00","reasons":[["breaker_open","until noon"]],'
    '"lane":"host:a.example"}',
    RunEnded(
        at=AT, run=RunId("r"), by="idle", visits=1, sightings=2, wire_bytes=3, errors=4
    ): '{"event":"run_ended","at":"2026-01-14T06:00:00+00:00","run":"r","by":"idle","visits":1,"sightings":2,'
    '"wire_bytes":3,"errors":4}',
    RunEnded(
        at=AT, run=RunId("r"), by="failed", visits=0, sightings=0, wire_bytes=0, errors=0, error="disk"
    ): '{"event":"run_ended","at":"2026-01-14T06:00:00+00:00","run":"r","by":"failed","visits":0,"sightings":0,'
    '"wire_bytes":0,"errors":0,"error":"disk"}',
    CronQueued(
        at=AT, job="sentinel-high", run=RunId("r")
    ): '{"event":"queued","at":"2026-01-14T06:00:00+00:00","name":"sentinel-high","run":"r"}',
    JobFailed(
        at=AT, job="scout-1", queue="scout", error="x", attempt=3, again_at=None
    ): '{"event":"job_failed","at":"2026-01-14T06:00:00+00:00","job":"scout-1","queue":"scout","error":"x",'
    '"attempt":3,"again_at":null}',
}


@pytest.mark.parametrize("event", LINES, ids=lambda event: f"{event.name}")
def test_a_line_for_programs_keeps_its_keys_and_their_order(event: Event):
    assert event.line() == LINES[event]
