"""From the configuration to channels, and from a settled change to its message."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from cli_call import Cli
from receivers import SECRET
from settlements import NOON, a_look, a_place, a_watch
from stocked import NOW, Stock, a_change

from vedette.app.channels import channels
from vedette.config.alert_policies import check_notify
from vedette.config.model import parse
from vedette.contracts.alerts import ChannelName, ChannelPolicy, Message, Notice, NoticeKind
from vedette.contracts.change import Change
from vedette.contracts.errors import ConfigError, StoreError
from vedette.contracts.watch import Group
from vedette.contracts.words import Risk, RunId, VisitId
from vedette.core.health.alarm import route
from vedette.engine.settle.change_messages import messages_of
from vedette.report.notices import change_notice
from vedette.store.outbox import listing
from vedette.store.sqlite import Writer, connect

OPS = (ChannelPolicy(name=ChannelName("ops")),)
HOOK = {"kind": "webhook", "url": "https://hooks.example/x", "secret": SECRET}


def to_ops(notice: Notice) -> list[Message]:
    return route(notice, OPS, (), now=NOW)


def reported(**watch: Any) -> Change:
    return a_change()(a_watch(**watch).id, VisitId(5))  # type: ignore[operator]


def test_a_reported_change_becomes_a_message_with_its_diff_and_why_it_matters():
    watch = a_watch(risk=Risk.CRITICAL, title="Stope PDV-a")
    place = a_place(a_look(watch, 5, reports=(reported(),)))
    (message,) = messages_of([place], to_ops)
    notice = message.notice
    assert (notice.id, notice.risk, notice.kind) == ("change-77", Risk.CRITICAL, NoticeKind.CHANGE)
    assert notice.title == "CRITICAL changed: Stope PDV-a"
    assert "PDV je [-25-] {+24+} % od 2013." in notice.excerpt[0]
    assert "a late sighting costs most" in notice.why[0]
    assert "\x1b" not in notice.summary + "".join(notice.excerpt)


def test_a_look_without_a_change_tells_nobody():
    assert messages_of([a_place(a_look(a_watch(), 5))], to_ops) == ()


def test_messages_are_written_with_their_group_or_not_at_all(tmp_path: Path):
    stock = Stock(tmp_path)
    message = to_ops(change_notice(reported(), a_watch(), at=NOON))[0]
    stock.group(messages=(message,))
    stock.group(messages=(message,))
    broken = a_place(a_look(a_watch(), 5))
    other = to_ops(change_notice(reported(), a_watch(), at=NOON))[0]
    writer = Writer(stock.path, worker="test")
    stock.execute("DROP TABLE outbox")
    with pytest.raises(StoreError):
        writer.settle(Group(run=RunId("r"), placed=(broken,), messages=(other,)))
    writer.close()
    db = connect(stock.path, read_only=True)
    assert db.execute("SELECT COUNT(*) FROM visits").fetchone() == (0,)
    db.close()


def test_what_was_told_comes_back_from_the_outbox_as_it_was(tmp_path: Path):
    stock = Stock(tmp_path)
    message = to_ops(change_notice(reported(), a_watch(), at=NOON))[0]
    stock.group(messages=(message, message))
    db = connect(stock.path, read_only=True)
    (row,) = listing(db, states=("waiting",), most=0)
    db.close()
    assert row.message == message


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ({"ops": {"kind": "slack"}}, "needs url"),
        ({"ops": {"kind": "smtp", "host": "mail.example"}}, "needs from, to"),
        ({"ops": {"kind": "webhook", "url": "https://x.example/"}}, "needs secret"),
        ({"ops": HOOK | {"timezone": "Mars/Olympus"}}, "no time zone 'Mars/Olympus'"),
        ({"ops\r\nX-Evil: 1": HOOK}, "a channel's name is"),
    ],
)
def test_a_channel_that_could_never_send_is_refused_before_anything_runs(rows: dict[str, Any], words: str):
    with pytest.raises(ConfigError, match=words):
        check_notify(parse({"notify": {"channels": rows}}))


def test_a_rule_for_a_channel_that_is_not_there_names_the_nearest():
    raw = {"channels": {"ops": {"kind": "stdout"}}, "rules": [{"channel": "opps"}]}
    with pytest.raises(ConfigError, match="did you mean 'ops'"):
        check_notify(parse({"notify": raw}))


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (HOOK | {"url": "ftp://x"}, "not an http"),
        (HOOK | {"secret": "env:NO_SUCH_NAME"}, "NO_SUCH_NAME is not set; `notify.channels.ops` asks for it"),
        (HOOK | {"headers": {"Host": "evil"}}, "not yours to set"),
        ({"kind": "smtp", "host": "h", "from": "a@b.example", "to": ["x\r\nBcc: y@z"]}, "not a mail address"),
        ({"kind": "apprise", "urls": ["x://y"]}, "does not know"),
    ],
)
def test_what_a_channel_cannot_use_is_told_by_its_place(row: dict[str, Any], words: str):
    with pytest.raises(ConfigError, match=words):
        channels(parse({"notify": {"channels": {"ops": row}}}), poster=None)  # type: ignore[arg-type]


def test_a_secret_of_the_environment_never_prints(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOOK_URL", "https://hooks.example/T0/B0/verysecret")
    config = parse({"notify": {"channels": {"ops": {"kind": "slack", "url": "env:HOOK_URL"}}}})
    channel = channels(config, poster=None)[ChannelName("ops")]  # type: ignore[arg-type]
    assert channel.lane == "notify:hooks.example"
    assert "verysecret" not in repr(channel)


def test_a_test_goes_to_one_channel_and_says_whether_it_arrived(tmp_path: Path):
    Stock(tmp_path / "data")
    config = tmp_path / "vedette.yaml"
    config.write_text(
        "notify: {channels: {ops: {kind: stdout}, dead: {kind: slack, url: 'http://127.0.0.1:80/'}}}"
    )
    cli = Cli(tmp_path / "data")
    told = cli("alerts", "test", "ops", "--config", str(config))
    assert told.code == 0
    assert "a test of the channel ops" in told.out
    dead = cli("alerts", "test", "dead", "--config", str(config))
    assert dead.code == 1
    assert "loopback" in dead.out
    assert cli("alerts", "test", "nobody", "--config", str(config)).code == 2


def test_the_outbox_is_shown_and_what_is_parked_is_tried_again_by_hand(tmp_path: Path):
    stock = Stock(tmp_path)
    stock.group(messages=tuple(to_ops(change_notice(reported(), a_watch(), at=NOON))))
    stock.execute("UPDATE outbox SET state = 'parked', attempts = 4, error = 'gone: status 404'")
    cli = Cli(tmp_path)
    assert "gone: status 404" in cli("alerts", "outbox").out
    row = cli("alerts", "outbox", "--resend", "--json").json["outbox"][0]
    assert (row["state"], row["attempts"], row["notice"]) == ("waiting", 0, "change-77")
    assert datetime.fromisoformat(row["due_at"]) == NOW
