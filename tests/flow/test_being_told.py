"""A page changes, and whoever is to hear of it hears of it: through the whole stream, over a real webhook."""

from __future__ import annotations

import json

import pytest
from cli_call import Cli
from receivers import SECRET, receiver
from scripted import life, page
from stocked import RULES, stocked

from vedette.contracts.alerts import ChannelName, ChannelPolicy, Message, Notice
from vedette.core.health.alarm import route
from vedette.engine.service.watchdog import WatchdogParams, check_health
from vedette.store.operator import operating

OPS = (ChannelPolicy(name=ChannelName("ops")),)
URL = "https://ured.hr/obavijest"
A, B = page("Stopa je 25 %."), page("Stopa je 24 %.")


def script(url: str, hours: float) -> tuple[int, str]:
    return (200, "") if url.endswith("robots.txt") else (200, B if 6 <= hours < 14 else A)


def to_ops(notice: Notice) -> list[Message]:
    return route(notice, OPS, (), now=notice.at)


async def test_every_change_is_told_once_to_those_whom_the_rules_name(tmp_path):
    async with receiver(answers=[500]) as far:
        hook = {
            "kind": "webhook",
            "url": far.url,
            "secret": SECRET,
            "allow_networks": ["127.0.0.0/8"],
            "allow_ports": [far.port],
        }
        notify = {
            "channels": {"all": hook, "grave": {"kind": "stdout"}},
            "rules": [{"channel": "all"}, {"channel": "grave", "risk": "CRITICAL"}],
            "shortest": "50ms",
            "longest": "50ms",
        }
        watched = life(tmp_path, script, {"url": URL, "lister": "page", "risk": "HIGH"}, notify=notify)
        await watched.run(seconds=30 * 3600)
    changes = [f"change-{number}" for (number,) in watched.rows("SELECT id FROM changes ORDER BY id")]
    assert len(changes) == 2
    assert sorted({number for number, _ in far.told}) == sorted(changes)
    assert len(far.told) == 3  # the first attempt was refused
    assert far.forged == 0
    assert watched.rows("SELECT DISTINCT channel, state FROM outbox") == [("all", "sent")]


def prices(rye: str) -> str:
    rows = (("Bread, 500 g", "1.65", "2.10"), ("Rye flour, 1 kg", rye, "1.90"), ("Milk, 1 l", "1.05", "1.20"))
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    head = "<tr><th>Product</th><th>Price</th><th>Before</th></tr>"
    return f"<html><body><main><h1>Prices</h1><table>{head}{lines}</table></main></body></html>"


async def test_a_price_that_changed_is_told_everywhere_with_its_row_and_its_heading(tmp_path):
    told = "! Rye flour, 1 kg | Price: [-1.45-] {+1.65+} | 1.90"
    async with receiver() as far:
        hook = {"kind": "webhook", "url": far.url, "secret": SECRET, "allow_networks": ["127.0.0.0/8"],
                "allow_ports": [far.port]}  # fmt: skip
        notify = {"channels": {"all": hook}, "rules": [{"channel": "all"}]}
        watched = life(
            tmp_path,
            lambda url, hours: (200, "" if url.endswith(".txt") else prices("1.45" if hours < 6 else "1.65")),
            {"url": URL, "lister": "page", "risk": "HIGH"},
            notify=notify,
        )  # fmt: skip
        await watched.run(seconds=30 * 3600)
    assert len(watched.reported()) == 1
    ((body,),) = watched.rows("SELECT body FROM outbox")
    assert told in json.loads(body)["excerpt"]
    cli = Cli(tmp_path)
    assert told in cli("diff", URL, "--words").out
    assert "  Product | Price | Before\n" in cli("diff", URL).out
    (op,) = [op for op in cli("diff", URL, "--json").json["diff"] if op["op"] == "replace"]
    assert op["headings"] == ["Product", "Price", "Before"]
    assert told in cli("changes", "--diff").out
    assert told in cli("diff", URL, "--from", "2026-01-05T10:00", "--to", "2026-01-06", "--words").out


@pytest.mark.slow
async def test_a_host_that_flaps_ten_times_in_the_stream_is_one_alert_and_one_recovery(tmp_path):
    """Down for two hours, up for two, ten times; then up for good.  The engine looks, the watchdog checks hourly."""

    def flapping(url: str, hours: float) -> tuple[int, str]:
        is_down = hours < 40 and hours % 4 < 2
        return (500, "") if is_down else (200, "") if url.endswith("robots.txt") else (200, A)

    schedule = {"policy": "fixed", "interval": "1h"}
    sources = [{"url": f"https://ured.hr/{n}", "lister": "page", "tier": "HIGH"} for n in range(3)]
    watched = life(tmp_path, flapping, *sources, schedule=schedule, lanes={"default": {"closed_for": "10m"}})
    states = set()
    for _ in range(85):
        await watched.run(seconds=3600)
        with operating(tmp_path / "vedette.db") as db:
            checked = check_health(db, now=watched.clock.now(), params=WatchdogParams(), route=to_ops)
        states |= {one.is_breaker_open for one in checked.healths}
    assert states == {True, False}
    assert watched.rows("SELECT notice_id FROM outbox ORDER BY id") == [("alert-1",), ("recovery-1",)]
    assert watched.rows("SELECT subject, recovered_at IS NULL FROM alerts") == [("host:ured.hr", 0)]


async def test_who_is_muted_is_looked_at_and_recorded_and_told_to_nobody_until_then(tmp_path):
    """The page changes after 6 hours and after 14; it is muted for the first 10, whatever is configured again."""
    notify = {"channels": {"ops": {"kind": "stdout"}}}
    source = {"id": "page", "url": URL, "lister": "page", "risk": "HIGH"}
    watched = life(tmp_path, script, source, notify=notify)
    await watched.run(seconds=3600)
    cli = Cli(tmp_path, clock=watched.clock)
    told = cli("mute", URL, "--for", "9h")
    assert told.code == 0, told
    assert "muted until" in told.out
    assert "muted" in cli("explain", URL).out
    await watched.run(seconds=29 * 3600)
    changes = watched.rows("SELECT id FROM changes ORDER BY id")
    assert len(changes) == 2
    assert watched.rows("SELECT notice_id FROM outbox") == [(f"change-{changes[1][0]}",)]
    assert len(cli("changes", "--json").json["changes"]) == 2


def test_what_is_unmuted_is_told_of_again_and_a_note_stays_whatever_is_configured(tmp_path):
    cli = Cli(tmp_path)
    assert cli("add", URL, "--name", "page").code == 0
    assert cli("mute", URL).code == 0
    assert "until it is unmuted" in cli("explain", URL).out
    assert ", muted" in cli("sources").out, "whoever looks over the sources sees which of them are silent"
    assert cli("note", URL, "ask Ana  first").code == 0
    assert cli("add", URL, "--every", "2h").code == 0  # another word about the same source
    (source,) = cli("sources", "--json").json["sources"]
    assert (source["note"], source["muted_until"][:4]) == ("ask Ana first", "9999")
    assert "ask Ana first" in cli("explain", URL).out
    told = cli("unmute", URL)
    assert (told.code, "it was not muted" in told.out + told.err) == (0, False)
    assert "muted" not in cli("sources").out
    told = cli("unmute", URL)
    assert (told.code, "it was not muted" in told.out + told.err) == (0, True)
    assert cli("note", "page", "").code == 0
    (source,) = cli("sources", "--json").json["sources"]
    assert (source["note"], source["muted_until"]) == (None, None)
    assert cli("mute", URL, "--for", "soon").code == 2
    assert cli("note", URL, "x" * 501).code == 2
    assert cli("mute", "https://nowhere.example/").code == 2


def test_a_page_that_a_listing_found_is_muted_alone(tmp_path):
    data = stocked(tmp_path).data
    cli = Cli(data)
    assert cli("mute", RULES, "--for", "3d").code == 0
    muted = [one["url"] for one in cli("sources", "--json").json["sources"] if one["muted_until"]]
    assert muted == [RULES]
