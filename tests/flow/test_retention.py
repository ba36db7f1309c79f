"""What has had its time goes, and what is damaged is set aside: by the verbs that people use."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from cli_call import Cli
from scripted import START, Life, life, page
from stocked import FixedClock

from vedette.config.model import Loaded, parse
from vedette.contracts.errors import StoreError
from vedette.core.evidence.segments import SegmentName
from vedette.evidence import recovery as evidence_retention
from vedette.operations.installation import Installation
from vedette.operations.maintenance import collect
from vedette.store.operator import operating
from vedette.store.sqlite import StoreLock

SHORT, LONG = "https://kratko.hr/obavijest", "https://trajno.hr/obavijest"
SOURCES = [{"url": SHORT, "lister": "page", "retention": "short"}, {"url": LONG, "lister": "page"}]
KEEP = {"evidence": {"retention": {"short": "7d", "standard": None}, "ledger": "7d"}}
DAY = 24 * 3600


def script(url, hours):
    """Robots are missing; each page says the same for ever, and the server knows conditional requests."""
    return (200, "") if url.endswith("robots.txt") else (200, page(f"Stopa na {url} je 25 %."))


@pytest.fixture
async def watched(tmp_path: Path) -> Life:
    """Three days of looks, then a month of nothing."""
    made = life(tmp_path / "data", script, *SOURCES, **KEEP)
    await made.run(seconds=3 * DAY)
    made.clock.advance(timedelta(days=30))
    return made


def cli_of(watched: Life) -> Cli:
    config = watched.data.parent / "vedette.yaml"
    config.write_text(yaml.safe_dump({"sources": SOURCES} | KEEP))
    told = Cli(watched.data, clock=FixedClock(watched.clock.now()))
    return lambda *words: told(*words, "--config", str(config))  # type: ignore[return-value]


def files(watched: Life) -> dict[str, list[str]]:
    names = sorted(path.name.removesuffix(".warc.gz") for path in (watched.data / "archive").glob("*.gz"))
    return {kind: [name for name in names if name.startswith(kind)] for kind in ("short", "standard")}


async def test_gc_drops_whole_files_and_verify_says_expired(watched: Life):
    cli, before = cli_of(watched), files(watched)
    assert len(before["short"]) == 4
    trial = cli("gc", "--dry-run", "--json").json
    assert [one["segment"] for one in trial["segments"]] == before["short"]
    assert files(watched) == before
    told = cli("gc", "--json")
    assert told.code == 0
    assert told.json == trial | {"dry_run": False}
    assert files(watched) == {"short": [], "standard": before["standard"]}
    verified = cli("evidence", "verify", "--json")
    assert verified.code == 0
    assert verified.json["expired"] == 4
    again = cli("gc", "--json").json
    assert (again["segments"], again["ledger"]) == ([], 0)
    assert "dropped: 0 archive files" in cli("gc").out


async def test_after_gc_the_next_look_keeps_the_whole_page_anew_and_reports_nothing(watched: Life):
    with operating(watched.data / "vedette.db") as db:
        db.execute("UPDATE watches SET etag = 'x', last_modified = 'y'")
    cli_of(watched)("gc")
    asked = dict(watched.rows("SELECT url, etag || last_modified FROM watches"))
    assert asked == {SHORT: None, LONG: "xy"}  # without condition, so that the body comes
    assert watched.rows("SELECT COUNT(*) FROM evidence") == [(1,)]
    watched.config = parse({"sources": SOURCES, "schedule": {"policy": "fixed", "interval": "4h"}} | KEEP)
    await watched.run(seconds=DAY)
    kinds = dict(
        watched.rows(
            "SELECT w.url, GROUP_CONCAT(v.kind) FROM (SELECT * FROM visits ORDER BY id) v JOIN watches w "
            f"ON w.id = v.watch_id WHERE v.at > {(START + timedelta(days=20)).timestamp() * 1000} GROUP BY 1"
        )
    )
    assert kinds[SHORT].startswith("response,identical,identical")
    assert set(kinds[LONG].split(",")) == {"identical"}
    assert watched.reported() == []
    assert watched.rows("SELECT COUNT(*) FROM evidence") == [(2,)]
    seen = watched.rows("SELECT COUNT(*) FROM watches w JOIN evidence e ON e.id = w.seen_evidence")
    assert seen == [(2,)]
    assert cli_of(watched)("evidence", "verify").code == 0


async def test_the_newest_decision_about_a_url_outlives_its_age(watched: Life):
    cli = cli_of(watched)
    decisions = watched.rows("SELECT COUNT(*) FROM ledger WHERE kind = 'visit'")[0][0]
    assert decisions > 20
    assert cli("gc", "--json").json["ledger"] == decisions - 2
    kept = watched.rows("SELECT kind, COUNT(DISTINCT watch_id), COUNT(*) FROM ledger GROUP BY 1 ORDER BY 1")
    assert kept == [("verdict", 2, 2), ("visit", 2, 2)]
    assert cli("explain", SHORT, "--json").json["reasons"]


async def test_nothing_goes_before_its_time_nor_from_the_day_that_is_written(tmp_path: Path):
    watched = life(tmp_path / "data", script, *SOURCES, **KEEP)
    await watched.run(seconds=9 * DAY)
    told = cli_of(watched)("gc", "--json").json
    days = {one["day"] for one in told["segments"]}
    assert max(days) == (watched.clock.now() - timedelta(days=8)).date().isoformat()
    assert all(SegmentName.parse(name) for name in files(watched)["short"])
    assert len(files(watched)["short"]) == 8


async def test_gc_leaves_a_store_that_is_in_use_alone_but_may_be_tried(watched: Life):
    before = files(watched)
    lock = StoreLock(watched.data / "lock")
    lock.take("pid 4711 on hermes")
    try:
        told = cli_of(watched)("gc")
        assert (told.code, files(watched)) == (3, before)
        assert "pid 4711" in told.err
        assert cli_of(watched)("gc", "--dry-run").code == 0
    finally:
        lock.release()


class Stopped(Exception):
    pass


@pytest.mark.parametrize("at", ["tombstone", "rows", "file"])
async def test_gc_that_is_stopped_anywhere_leaves_nothing_that_names_what_is_gone(
    watched: Life, monkeypatch: pytest.MonkeyPatch, at: str
):
    """The machine stops right after this step of the first file."""
    first = files(watched)["short"][0]
    loaded = Loaded(config=watched.config, path=None, data=watched.data, digest="d")
    real = evidence_retention.expire

    def stopping(segment, *, heads, now, commit):
        def commits(state):
            if at == "tombstone":
                raise Stopped
            commit(state)
            if at == "rows":
                raise Stopped

        real(segment, heads=heads, now=now, commit=commits)
        raise Stopped

    monkeypatch.setattr("vedette.operations.maintenance.expire", stopping)
    with pytest.raises(Stopped):
        collect(Installation(loaded, watched.clock))
    monkeypatch.undo()
    cli = cli_of(watched)
    assert cli("evidence", "verify").code == 0
    named = {segment for (segment,) in watched.rows("SELECT DISTINCT segment FROM evidence")}
    there = {name for names in files(watched).values() for name in names}
    assert named <= there
    assert (first in there) is (at != "file")
    assert cli("gc").code == 0
    assert files(watched)["short"] == []
    assert cli("evidence", "verify", "--json").json["expired"] == 4
    await watched.run(seconds=3600)
    assert cli("evidence", "verify").code == 0


async def test_what_a_start_refuses_is_set_aside_by_the_verb_that_the_refusal_names(watched: Life):
    cli = cli_of(watched)
    last = watched.data / "archive" / f"{files(watched)['standard'][-1]}.warc.gz"
    last.write_bytes(last.read_bytes()[:-10])
    with pytest.raises(StoreError, match="`vedette evidence set-aside`"):
        await watched.run(seconds=3600)
    told = cli("evidence", "set-aside", "--json")
    assert told.code == 0
    assert [one["segment"] for one in told.json["set_aside"]] == [last.name.removesuffix(".warc.gz")]
    await watched.run(seconds=3600)
    verified = cli("evidence", "verify", "--json")
    assert verified.code == 6
    assert {one["segment"] for one in verified.json["problems"]} == {last.name.removesuffix(".warc.gz")}
    again = cli("evidence", "set-aside").out
    assert again == f"set aside before, and still damaged: {last.name.removesuffix('.warc.gz')}\n"


async def test_an_altered_record_is_set_aside_and_its_page_kept_anew(watched: Life):
    """What `verify` calls altered is never called undamaged; the run goes on in a new file."""
    cli = cli_of(watched)
    assert cli("evidence", "set-aside").out == "nothing is damaged\n"
    first = files(watched)["standard"][0]
    path = watched.data / "archive" / f"{first}.warc.gz"
    place = watched.rows("SELECT offset + length / 2 FROM evidence WHERE segment = ?", first)[0][0]
    whole = bytearray(path.read_bytes())
    whole[place] ^= 1
    path.write_bytes(whole)
    altered = [(p["kind"], p["segment"]) for p in cli("evidence", "verify", "--json").json["problems"]]
    assert altered == [("altered", first)]
    told = cli("evidence", "set-aside")
    assert (told.code, told.out) == (
        0,
        f"{first}: 1 of its records is not what was written\n"
        "1 set aside; 1 lost page is kept anew at the next look\n",
    )
    assert cli("evidence", "set-aside").out == f"set aside before, and still damaged: {first}\n"
    await watched.run(seconds=DAY)
    kept = watched.rows("SELECT segment FROM evidence WHERE url = ?", LONG)
    assert len(kept) == 1
    assert kept[0][0] != first
    again = [(p["kind"], p["segment"]) for p in cli("evidence", "verify", "--json").json["problems"]]
    assert again == [("altered", first)]


async def test_when_evidence_expires_what_differed_by_noise_alone_takes_its_place(tmp_path: Path):
    """The content is still there and was judged: the view goes on showing it, and no stage hears of it again."""

    def noisy(url, hours):
        if url.endswith("robots.txt"):
            return 200, ""
        return 200, page("Stopa je 25 %.", head=f'<meta name="csrf-token" content="{hours:032.20f}">')

    made = life(tmp_path / "data", noisy, SOURCES[0], **KEEP)
    await made.run(seconds=3 * DAY)
    made.clock.advance(timedelta(days=6))
    await made.run(seconds=3600)
    view = 'SELECT id FROM "RegulatoryEvidence"'
    before, jobs = made.rows(view), made.rows("SELECT COUNT(*) FROM jobs WHERE queue = 'scout'")
    verdict = made.rows("SELECT word, score FROM verdicts WHERE word IS NOT NULL")
    assert len(before) == len(verdict) == 1
    cli = cli_of(made)
    assert cli("gc", "--json").json["segments"]
    after = made.rows(view)
    assert len(after) == 1
    assert after != before
    assert made.rows("SELECT word, score FROM verdicts WHERE word IS NOT NULL") == verdict
    assert made.rows("SELECT COUNT(*) FROM jobs WHERE queue = 'scout'") == jobs
    assert made.rows('SELECT evidenceId, status FROM "DiscoveredItem"') == [(after[0][0], "PROCESSED")]
    assert cli("evidence", "verify", "--json").json["problems"] == []


async def test_rows_that_were_edited_cannot_be_set_aside_and_that_is_said(watched: Life):
    with operating(watched.data / "vedette.db") as db:
        db.execute("UPDATE evidence SET url = 'https://elsewhere.example/'")
    told = cli_of(watched)("evidence", "set-aside")
    assert "nothing is damaged" not in told.out
    assert "2 problems in rows of the database" in told.out
    assert "from one backup" in told.out


async def test_a_run_says_which_archive_file_is_lost_and_goes_on(watched: Life):
    lost = files(watched)["standard"][0]
    (watched.data / "archive" / f"{lost}.warc.gz").unlink()
    ended = await watched.run(seconds=3600)
    assert ended.error is None
    (told,) = [event.fields["what"] for event in watched.events if event.name == "problem"]
    assert str(told).startswith(f"archive file {lost}: the file is missing; the run goes on")
    assert "vedette evidence set-aside" in str(told)
    watched.events.clear()
    assert cli_of(watched)("evidence", "set-aside").code == 0
    await watched.run(seconds=3600)
    assert [event for event in watched.events if event.name == "problem"] == []


async def test_a_page_whose_bytes_were_lost_is_kept_anew_after_setting_aside(tmp_path: Path):
    watched = life(tmp_path / "data", script, SOURCES[1], **KEEP)
    await watched.run(seconds=3600)
    (lost,) = (watched.data / "archive").glob("standard-*.warc.gz")
    lost.unlink()
    assert cli_of(watched)("evidence", "set-aside").code == 0
    await watched.run(seconds=8 * 3600)
    kinds = [kind for (kind,) in watched.rows("SELECT kind FROM visits ORDER BY id")]
    assert kinds[:3] == ["response", "response", "identical"]
