"""The sender on a real outbox: once under one id, later, parked, gathered; nobody waits for anybody."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest
from receivers import SECRET, Receiver, receiving
from stocked import blank

from vedette.app.channels import senders
from vedette.contracts.alerts import ChannelName, ChannelPolicy, Delivery, Message, Notice, NoticeKind
from vedette.contracts.words import LaneKey, Outcome, Risk
from vedette.core.lanes.outcomes import RetryParams
from vedette.engine.stages.queue_worker import QueueWorkers
from vedette.notify.sender import ChannelRoute, Sender
from vedette.report.notices import digest_notice
from vedette.store.operator import operating
from vedette.store.outbox import SqliteOutbox, WaitingNotice, listing, put, resend, trim
from vedette.telemetry.clock import JumpingClock

START = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
OPS, MAIL = ChannelName("ops"), ChannelName("mail")
OK, DOWN, NEVER = (Delivery(outcome=o) for o in (Outcome.OK, Outcome.TIMEOUT, Outcome.GONE))


@dataclass
class Told:
    """A channel that keeps what it was told, and answers as it is told to."""

    name: str = "ops"
    answers: list[Delivery] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    whole: list[Notice] = field(default_factory=list)
    otherwise: Delivery = OK
    hangs: bool = False
    bug: bool = False

    @property
    def lane(self) -> LaneKey:
        return LaneKey(f"notify:{self.name}")

    async def send(self, notice: Notice, *, at: datetime) -> Delivery:
        if self.hangs:
            await asyncio.Event().wait()
        if self.bug:
            raise RuntimeError("a bug of ours")
        await asyncio.sleep(0)  # others may go on while something is sent
        self.heard.append(notice.id)
        self.whole.append(notice)
        return self.answers.pop(0) if self.answers else self.otherwise


@dataclass
class Desk:
    path: Path
    clock: JumpingClock
    outbox: SqliteOutbox
    bugs: list[str] = field(default_factory=list)

    def put(self, *numbers: int, risk: Risk = Risk.MEDIUM, channel: ChannelName = OPS) -> None:
        with operating(self.path) as db:
            put(
                db,
                [
                    Message(notice=self.notice(n, risk), channel=channel, due_at=self.clock.now())
                    for n in numbers
                ],
            )

    def notice(self, number: int, risk: Risk) -> Notice:
        return Notice(
            id=f"change-{number}",
            kind=NoticeKind.CHANGE,
            at=self.clock.now(),
            risk=risk,
            title=f"change {number}",
        )

    def parked(self) -> list[WaitingNotice]:
        with operating(self.path) as db:
            return listing(db, states=("parked",), most=0)

    def sender(self, *channels: Told, **policy: Any) -> QueueWorkers:
        ways = [ChannelRoute(one, ChannelPolicy(name=ChannelName(one.name), **policy)) for one in channels]
        sender = Sender(
            outbox=self.outbox,
            clock=self.clock,
            retry=RetryParams(attempts=4, shortest=MINUTE, longest=HOUR),
            make_digest=lambda name, channel, notices, now: digest_notice(name, channel, notices, now=now),
            on_bug=lambda channel, error: self.bugs.append(f"{channel}: {error}"),
        )
        return senders(sender, ways)

    def states(self) -> dict[str, str]:
        with operating(self.path) as db:
            rows = listing(db, states=("waiting", "digest", "sent", "parked"), most=0)
        return {one.message.notice.id: one.state for one in rows}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    path = blank(tmp_path)
    outbox = SqliteOutbox(path)
    yield Desk(path, JumpingClock(START), outbox)
    outbox.close()


async def test_a_message_is_sent_once_and_the_gravest_first(desk: Desk):
    desk.put(1, 2)
    desk.put(3, risk=Risk.CRITICAL)
    desk.put(1)  # told before
    channel = Told()
    await desk.sender(channel).drain()
    await desk.sender(channel).drain()
    assert channel.heard == ["change-3", "change-1", "change-2"]


async def test_two_who_drain_at_once_send_nothing_twice(desk: Desk):
    desk.put(*range(5))
    channel = Told()
    sender = desk.sender(channel)
    await asyncio.gather(sender.drain(), sender.drain(), sender.drain())
    assert channel.heard == [f"change-{n}" for n in range(5)]


async def test_what_fails_is_tried_again_under_the_same_id_until_it_arrives(desk: Desk):
    desk.put(1)
    channel = Told(answers=[DOWN, DOWN])
    for _ in range(4):
        await desk.sender(channel).drain()
        desk.clock.advance(HOUR)
    assert channel.heard == ["change-1"] * 3
    assert desk.states() == {"change-1": "sent"}


async def test_what_used_up_its_attempts_or_is_refused_for_good_waits_for_a_person(desk: Desk):
    desk.put(1, 2)
    channel = Told(answers=[NEVER], otherwise=DOWN)
    for _ in range(6):
        await desk.sender(channel).drain()
        desk.clock.advance(3 * HOUR)
    assert desk.states() == {"change-1": "parked", "change-2": "parked"}
    assert channel.heard.count("change-2") == 4
    channel.otherwise = OK
    with operating(desk.path) as db:
        assert resend(db, now=desk.clock.now()) == 2
    await desk.sender(channel).drain()
    assert desk.states() == {"change-1": "sent", "change-2": "sent"}


async def test_retry_after_holds_the_whole_lane_and_is_remembered_by_the_next_process(desk: Desk):
    desk.put(1, 2)
    busy = Delivery(outcome=Outcome.THROTTLED, retry_after=10 * MINUTE)
    channel = Told(answers=[busy])
    await desk.sender(channel).drain()
    desk.clock.advance(9 * MINUTE)
    await desk.sender(channel).drain()
    assert channel.heard == ["change-1"]
    desk.clock.advance(2 * MINUTE)
    await desk.sender(channel).drain()
    assert sorted(channel.heard) == ["change-1", "change-1", "change-2"]


async def test_a_dead_channel_is_probed_and_not_stormed(desk: Desk):
    desk.put(*range(50))
    channel = Told(otherwise=DOWN)
    await desk.sender(channel).drain()
    assert len(channel.heard) == 5  # then its lane is closed


async def test_a_channel_that_hangs_or_breaks_keeps_no_other_waiting(desk: Desk):
    channels = (Told("ops"), Told("mail", hangs=True), Told("pager", bug=True))
    for one in channels:
        desk.put(1, 2, channel=ChannelName(one.name))
    task = asyncio.create_task(desk.sender(*channels).run())
    for _ in range(200):
        if len(channels[0].heard) == 2 and len(parked := desk.parked()) == 2:
            break
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert channels[0].heard == ["change-1", "change-2"]
    assert desk.bugs == ["pager: a bug of ours"] * 2
    assert [(one.message.channel, one.error) for one in parked] == [
        ("pager", "bug: RuntimeError('a bug of ours')")
    ] * 2


async def test_beyond_the_budget_notices_wait_for_one_digest_and_critical_does_not(desk: Desk):
    desk.put(*range(1, 6))
    desk.put(9, risk=Risk.CRITICAL)
    channel = Told()
    sender = desk.sender(channel, per_day=3, digest_at=time(8, 0))
    await sender.drain()
    assert channel.heard == ["change-9", "change-1", "change-2"]
    desk.put(10, risk=Risk.CRITICAL)
    await sender.drain()
    desk.clock.advance(24 * HOUR)
    await sender.drain()
    assert channel.heard[3:] == ["change-10", "digest-ops-20261116T080000Z"]
    assert channel.whole[-1].facts["notices"] == ["change-3", "change-4", "change-5"]
    desk.clock.advance(24 * HOUR)
    await sender.drain()
    assert len(channel.heard) == 5
    assert set(desk.states().values()) == {"sent"}


async def test_a_digest_that_fails_is_sent_again_as_the_same_digest(desk: Desk):
    desk.put(1)
    channel = Told(answers=[DOWN])
    sender = desk.sender(channel, digest="hourly")
    await sender.drain()
    desk.clock.advance(HOUR)
    await sender.drain()
    desk.put(2)  # comes while the digest waits for its second attempt
    for _ in range(2):
        desk.clock.advance(HOUR)
        await sender.drain()
    digests = [notice for notice in channel.whole if notice.kind is NoticeKind.DIGEST]
    assert [(one.id, one.facts["notices"]) for one in digests] == [
        ("digest-ops-20261115T130000Z", ["change-1"]),
        ("digest-ops-20261115T130000Z", ["change-1"]),
        ("digest-ops-20261115T150000Z", ["change-2"]),
    ]


async def test_what_was_sent_long_ago_is_forgotten_and_what_waits_is_not(desk: Desk):
    desk.put(1)
    await desk.sender(Told()).drain()
    desk.put(2, channel=MAIL)
    with operating(desk.path) as db:
        assert trim(db, before=START) == 0
        assert trim(db, before=START + HOUR) == 1
    assert desk.states() == {"change-2": "waiting"}


async def test_a_channel_that_is_gone_from_the_configuration_keeps_its_messages(desk: Desk):
    desk.put(1, channel=MAIL)
    await desk.sender(Told()).drain()
    assert desk.states() == {"change-1": "waiting"}


KILLED = """
import asyncio, sys
from pathlib import Path
from vedette.config.model import parse
from vedette.telemetry.clock import SystemClock
from vedette.app.channels import sending

async def main():
    config = parse({"notify": {"channels": {"ops": {
        "kind": "webhook", "url": sys.argv[2], "secret": sys.argv[3],
        "allow_networks": ["127.0.0.0/8"], "allow_ports": [int(sys.argv[4])]}}}})
    with sending(config, Path(sys.argv[1]), clock=SystemClock()) as (sender, poster):
        await sender.run()

asyncio.run(main())
"""


async def test_a_sender_that_is_killed_loses_nothing_and_repeats_under_the_same_id(desk: Desk):
    """Killed while the far end has the message and has not answered; then started again."""
    desk.put(1, 2)

    def start(far: Receiver) -> subprocess.Popen[bytes]:
        words = (str(desk.path), far.url, SECRET, str(far.port))
        return subprocess.Popen([sys.executable, "-c", KILLED, *words], env={**os.environ})

    class Held(Receiver):
        first = True

        async def take(self, request):  # type: ignore[no-untyped-def]
            answer = await super().take(request)
            if self.first:
                self.first = False
                child.send_signal(signal.SIGKILL)
                await asyncio.sleep(0.1)
            return answer

    async with receiving(Held()) as far:
        child = start(far)
        await asyncio.to_thread(child.wait, 20)
        assert desk.states() == {"change-1": "waiting", "change-2": "waiting"}
        child = start(far)
        for _ in range(400):
            if len(far.told) >= 3:
                break
            await asyncio.sleep(0.02)
        child.kill()
        await asyncio.to_thread(child.wait, 20)
    assert [number for number, _ in far.told] == ["change-1", "change-1", "change-2"]
    assert far.forged == 0
