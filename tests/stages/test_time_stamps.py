"""Time stamps of HEADS: made by a real authority, checked offline, and never in the way of looks."""

from __future__ import annotations

import asyncio
import base64
from datetime import timedelta
from pathlib import Path

import pytest
from tsa_kit import Authority, authority

from vedette.app.head_stamps import keep_stamping, stamp_now
from vedette.config.model import Loaded, parse
from vedette.contracts.errors import ConfigError, InputError, RefusedError, VedetteError
from vedette.contracts.watch import Segment
from vedette.core.evidence import chain
from vedette.evidence.files import files_of
from vedette.evidence.heads import HeadEvent, Heads
from vedette.evidence.time_stamps import (
    STAMPS,
    CheckedStamps,
    TimeStamp,
    check_stamps,
    last_stamp_at,
    next_stamp_in,
    stamps,
)
from vedette.telemetry.clock import SystemClock

CLOCK = SystemClock()


@pytest.fixture(scope="module")
def tsa(tmp_path_factory):
    with authority(tmp_path_factory.mktemp("tsa") / "one") as made:
        yield made


@pytest.fixture
def loaded(tmp_path: Path, tsa: Authority) -> Loaded:
    tsa.is_away = False
    raw = {
        "evidence": {"time_stamps": tsa.url},
        "fetch": {"allow_networks": ["127.0.0.0/8"], "allow_ports": [tsa.port]},
    }
    found = Loaded(config=parse(raw), path=None, data=tmp_path, digest="")
    found.archive.mkdir(parents=True)
    heads = Heads(found.archive, files_of(found.archive))
    heads.begin(CLOCK.now())
    note(heads, 1)
    return found


def note(heads: Heads, count: int) -> None:
    name = "standard-20261115-0001"
    one = Segment(name=name, retention="standard", day="2026-11-15", size=9, count=count, head=chain.GENESIS)
    heads.note([(HeadEvent.ANCHOR, one)], CLOCK.now())


def test_heads_are_stamped_once_and_again_when_they_have_moved_on(loaded: Loaded, tsa: Authority):
    assert asyncio.run(stamp_now(loaded, CLOCK)) == 1
    assert asyncio.run(stamp_now(loaded, CLOCK)) == 0
    note(Heads(loaded.archive, files_of(loaded.archive)), 2)
    assert asyncio.run(stamp_now(loaded, CLOCK)) == 1
    found = check_stamps(loaded.archive, tsa.ca.read_bytes())
    assert (found.count, found.problems, found.note) == (2, (), "")
    assert found.until is not None
    assert abs(found.until - CLOCK.now()) < timedelta(minutes=1)
    assert "--tsa-ca" in check_stamps(loaded.archive, None).note


async def test_of_two_that_stamp_at_once_one_writes(loaded: Loaded, tsa: Authority):
    found = await asyncio.gather(*(stamp_now(loaded, CLOCK) for _ in range(2)), return_exceptions=True)
    assert [one for one in found if isinstance(one, int)] == [1]
    assert [f"{one}" for one in found if isinstance(one, RefusedError)] == [
        "another process asks for time stamps just now; nothing was written"
    ]
    assert len(list(stamps(loaded.archive))) == 1
    assert await stamp_now(loaded, CLOCK) == 0


def test_an_altered_head_is_told(loaded: Loaded, tsa: Authority):
    asyncio.run(stamp_now(loaded, CLOCK))
    path = loaded.archive / "HEADS"
    heads, stamp = path.read_text(), (loaded.archive / STAMPS).read_bytes()
    path.unlink()
    forged = Heads(loaded.archive, files_of(loaded.archive))  # a whole new history, with a chain of its own
    forged.begin(CLOCK.now())
    note(forged, 1)
    assert path.read_text() != heads
    assert (loaded.archive / STAMPS).read_bytes() == stamp
    (words,) = check_stamps(loaded.archive, tsa.ca.read_bytes()).problems
    assert "HEADS has no line that ends in" in words
    assert "changed since" in words


def test_an_altered_token_is_told(loaded: Loaded, tsa: Authority):
    asyncio.run(stamp_now(loaded, CLOCK))
    path = loaded.archive / STAMPS
    (stamp,) = stamps(loaded.archive)
    assert isinstance(stamp, TimeStamp)
    token = bytearray(stamp.token)
    token[-8] ^= 1  # in the signature
    path.write_text(f"{TimeStamp(stamp.at, stamp.file, stamp.chain, bytes(token))}\n")
    (words,) = check_stamps(loaded.archive, tsa.ca.read_bytes()).problems
    assert "signature" in words
    path.write_text(path.read_text().replace(base64.b64encode(bytes(token)).decode()[:40], "x" * 40))
    assert check_stamps(loaded.archive, tsa.ca.read_bytes()).problems


def test_another_ca_is_told(loaded: Loaded, tsa: Authority, tmp_path: Path):
    asyncio.run(stamp_now(loaded, CLOCK))
    with authority(tmp_path / "other") as other:
        (words,) = check_stamps(loaded.archive, other.ca.read_bytes()).problems
    assert "does not lead to the given CA" in words
    with pytest.raises(InputError, match="no certificate"):
        check_stamps(loaded.archive, b"")  # a file without a CA is not the same as none


async def test_an_authority_that_is_away_is_told_once_and_tried_again(
    loaded: Loaded, tsa: Authority, monkeypatch
):
    tsa.is_away = True
    monkeypatch.setattr("vedette.app.head_stamps.AGAIN", timedelta(milliseconds=50))
    told: list[str] = []
    keeping = asyncio.create_task(keep_stamping(loaded, CLOCK, told.append))
    async with asyncio.timeout(30):
        while not told:
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.3)
        tsa.is_away = False
        while not check_stamps(loaded.archive, None).count:
            await asyncio.sleep(0.02)
    keeping.cancel()
    assert len(told) == 1
    assert "gave no time stamp" in told[0]
    assert "tried again" in told[0]


def test_without_an_authority_nothing_is_stamped_and_nothing_is_checked(tmp_path: Path):
    loaded = Loaded(config=parse({}), path=None, data=tmp_path, digest="")
    asyncio.run(asyncio.wait_for(keep_stamping(loaded, CLOCK, pytest.fail), 5))
    with pytest.raises(ConfigError, match=r"evidence\.time_stamps"):
        asyncio.run(stamp_now(loaded, CLOCK))
    assert check_stamps(tmp_path, None) == CheckedStamps()


def test_an_answer_that_is_no_time_stamp_is_not_kept(loaded: Loaded, tsa: Authority, monkeypatch):
    monkeypatch.setattr(tsa, "reply", lambda question: b"<html>busy</html>")
    with pytest.raises(VedetteError):
        asyncio.run(stamp_now(loaded, CLOCK))
    assert not (loaded.archive / STAMPS).exists()


def test_a_line_that_a_full_disk_or_a_crash_cut_off_is_cut_before_the_next_one(
    loaded: Loaded, tsa: Authority
):
    path = loaded.archive / STAMPS
    asyncio.run(stamp_now(loaded, CLOCK))
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 2])
    assert check_stamps(loaded.archive, None).problems
    note(Heads(loaded.archive, files_of(loaded.archive)), 2)
    asyncio.run(stamp_now(loaded, CLOCK))
    found = check_stamps(loaded.archive, tsa.ca.read_bytes())
    assert (found.count, found.problems) == (2, ())
    assert path.read_bytes().startswith(whole)


def test_a_time_stamp_of_a_clock_that_stood_ahead_does_not_put_off_the_next(loaded: Loaded):
    now, day, year = CLOCK.now(), timedelta(days=1), timedelta(days=365)
    assert next_stamp_in(now + year, day, now) == timedelta(0)
    lines = [TimeStamp(at, "HEADS", "0" * 64, b"x") for at in (now + year, now)]
    (loaded.archive / STAMPS).write_text("".join(f"{line}\n" for line in lines))
    assert last_stamp_at(loaded.archive) == now


def test_the_next_time_stamp_is_due_a_day_after_the_last():
    now, day = CLOCK.now(), timedelta(days=1)
    assert next_stamp_in(None, day, now) == timedelta(0)
    assert next_stamp_in(now - day, day, now) == timedelta(0)
    assert next_stamp_in(now - timedelta(hours=1), day, now) == timedelta(hours=23)
