"""Digests of changes: daily, weekly, by tag, with the diffs in them; and signatures that another library checks."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from cli_call import Cli
from receivers import KEY, SECRET, Postman, postman
from standardwebhooks import Webhook, WebhookVerificationError
from stocked import HOUR, NEWS, NOW, a_change, stocked
from test_notify_channels import NOTICE

from vedette.app.channels import _digests
from vedette.config.alert_policies import channel_policies, rules
from vedette.config.model import parse
from vedette.contracts.alerts import ChannelName, ChannelPolicy, NoticeKind, Rule
from vedette.contracts.change import DiffOp
from vedette.contracts.source import Registered
from vedette.core.health.alarm import fits, next_window
from vedette.notify import templates
from vedette.notify.channels import headers
from vedette.store.outbox import _dump_notice, _read_notice

DESK = ChannelName("desk")
EVIL = "<script>alert(1)</script> [x](javascript:alert(1)) =1+1 \x1b[2J"


def test_a_weekly_digest_goes_out_on_its_day_whatever_the_clocks_do():
    policy = ChannelPolicy(name=DESK, digest="weekly", digest_on=4)
    now = datetime(2026, 11, 15, 12, tzinfo=UTC)
    windows = []
    for _ in range(30):
        now = next_window(policy, now)
        windows.append(now)
    assert {one.weekday() for one in windows} == {4}
    assert {b - a for a, b in pairwise(windows)} == {timedelta(days=7)}
    config = parse(
        {"notify": {"channels": {"desk": {"kind": "stdout", "digest": "weekly", "digest_on": "friday"}}}}
    )
    assert channel_policies(config)[0].digest_on == 4


def test_a_rule_with_tags_hears_of_changes_of_sources_that_have_one():
    (rule,) = rules(
        parse(
            {
                "notify": {
                    "channels": {"desk": {"kind": "stdout"}},
                    "rules": [{"channel": "desk", "tags": ["tax"]}],
                }
            }
        )
    )
    assert rule == Rule(channel=DESK, tags=("tax",))
    assert fits(rule, replace(NOTICE, tags=("law", "tax")))
    assert not fits(rule, replace(NOTICE, tags=("law",)))
    assert not fits(rule, NOTICE)
    assert _read_notice(_dump_notice(replace(NOTICE, tags=("tax",)))).tags == ("tax",)


def test_a_digest_has_the_diffs_in_it_where_there_is_room():
    config = parse(
        {
            "notify": {
                "channels": {
                    "desk": {"kind": "stdout"},
                    "chat": {"kind": "slack", "url": "https://chat.example/x"},
                }
            }
        }
    )
    made = _digests(config)
    long = made("d", DESK, [NOTICE, replace(NOTICE, id="change-78")], NOW)
    short = made("d", ChannelName("chat"), [NOTICE], NOW)
    assert long.excerpt.count("- PDV je 25 %") == 2
    assert len(short.excerpt) == 1
    assert long.kind is NoticeKind.DIGEST
    shown = templates.html(long)
    assert 'background:#fdd;color:#700">- PDV je 25 %' in shown


@contextmanager
def a_mail_server():
    """In a thread of its own: the verb blocks."""
    made: list[Postman] = []
    is_up, is_over = threading.Event(), threading.Event()

    async def serve() -> None:
        async with postman() as one:
            made.append(one)
            is_up.set()
            await asyncio.to_thread(is_over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    is_up.wait()
    try:
        yield made[0]
    finally:
        is_over.set()
        thread.join()


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    stock = stocked(tmp_path)
    stock.source(NEWS, name="news", registered=Registered(tags=("tax",)))

    def hostile(watch, after):
        made = a_change(number=200)(watch, after)
        return replace(
            made, comparison=replace(made.comparison, summary=EVIL, diff=(DiffOp("insert", (), (EVIL,)),))
        )

    stock.visit(NEWS, body="x", title=EVIL, change=hostile, at=NOW - HOUR)
    return Cli(tmp_path)


def test_a_digest_of_a_tag_is_mailed_with_its_diffs_as_text(cli: Cli, tmp_path: Path):
    with a_mail_server() as server:
        config = tmp_path / "vedette.yaml"
        config.write_text(
            "notify: {channels: {desk: {kind: smtp, host: 127.0.0.1, tls: none, from: v@example.org, "
            f"to: [d@example.org], port: {server.port}}}}}}}\n"
        )
        told = cli(
            "alerts", "digest", "--since", "7d", "--tag", "tax", "--send", "desk", "--config", str(config)
        )
        assert (told.code, told.out) == (0, "desk: delivered\n"), told.err
        every = cli("alerts", "digest", "--since", "7d", "--send", "desk", "--config", str(config))
        assert every.code == 0
    first, second = server.letters
    assert "1 change since" in first["Subject"]
    assert "2 changes since" in second["Subject"]
    plain = second.get_body(("plain",)).get_content()
    shown = second.get_body(("html",)).get_content()
    assert "[-25-]" in plain
    assert "<del" in shown
    for text in (first.get_body(("html",)).get_content(), shown):
        assert "&lt;script&gt;" in text
        assert "<script" not in text
        assert 'href="javascript' not in text
    assert "\x1b" not in plain + shown
    assert "PDV" not in first.get_body(("plain",)).get_content()


def test_a_digest_is_printed_and_nothing_is_said_where_nothing_changed(cli: Cli):
    told = cli("alerts", "digest", "--since", "7d")
    assert told.out.startswith("2 changes since 2026-11-08 12:00 UTC\nall changes, the gravest first")
    assert "+ novi redak" in told.out
    assert cli("alerts", "digest", "--html").out.startswith("<!doctype html>")
    assert cli("alerts", "digest", "--json").json["title"].startswith("2 changes")
    assert cli("alerts", "digest", "--since", "1m").code == 1
    assert cli("alerts", "digest", "--tag", "none").code == 2
    assert cli("alerts", "digest", "--send", "nobody").code == 2


def test_the_library_of_standard_webhooks_verifies_what_we_sign():
    body, now = templates.document(NOTICE), datetime.now(UTC)
    signed = headers(KEY, NOTICE.id, body, at=now)
    assert Webhook(SECRET).verify(body, signed)["data"]["id"] == NOTICE.id
    for wrong in (body + b" ", body.replace(b"25", b"26")):
        with pytest.raises(WebhookVerificationError):
            Webhook(SECRET).verify(wrong, signed)
    late = headers(KEY, NOTICE.id, body, at=now - timedelta(hours=1))
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(body, late)
