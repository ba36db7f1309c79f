"""A process beside the loop: it may hang or die, and others wait for their turn without running out of time."""

from __future__ import annotations

import asyncio
import enum
import os
import pickle
import random
import signal
import stat
import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from vedette.contracts.errors import ConfigError
from vedette.contracts.fetch import Extraction, TextKeys
from vedette.contracts.words import ContentClass, Outcome, Reason, Risk
from vedette.engine.workers.pool import MOST, BadAnswer, Pipe, Workers, read_answer
from vedette.extract.fields import Unreadable


@pytest.fixture
async def workers() -> AsyncIterator[Workers]:
    workers = Workers(wall_s=30.0)
    assert await workers.run(abs, -1) == 1  # its process is there from now on
    yield workers
    workers.close()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def test_what_takes_too_long_is_given_up_and_the_next_is_served(workers: Workers):
    workers._wall_s = 0.1
    assert await workers.run(time.sleep, 60) is None
    workers._wall_s = 30.0
    assert await workers.run(abs, -2) == 2


async def test_a_process_that_dies_takes_only_its_own_page_with_it(workers: Workers):
    given = await asyncio.gather(workers.run(abs, -1), workers.run(die), workers.run(abs, -3))
    assert given == [1, None, 3]


async def test_who_waits_for_a_turn_is_not_out_of_time(workers: Workers):
    await workers.run(_slow_abs, -1)  # it is there, and has loaded what it needs
    workers._wall_s = 2.0  # each takes 0.15 s, all of them longer than that
    given = await asyncio.gather(*(workers.run(_slow_abs, -n) for n in range(1, 17)))
    assert given == list(range(1, 17))


async def test_a_run_that_ends_while_a_page_is_parsed_says_nothing_on_the_way(workers: Workers, capfd):
    looks = [asyncio.create_task(workers.run(time.sleep, 60)) for _ in range(3)]
    await asyncio.sleep(0.05)
    for look in looks:
        look.cancel()
    await asyncio.wait(looks)
    workers.close()
    await asyncio.sleep(0.2)
    assert capfd.readouterr().err == ""


async def test_what_takes_too_much_memory_is_given_up_and_the_next_is_served(workers: Workers):
    assert await workers.run(_hoard, 1 << 31) is None
    assert await workers.run(_hoard, 1 << 20) == 1 << 20


async def test_what_takes_too_much_processor_time_is_ended_by_the_system(workers: Workers):
    workers._cpu_s = 0  # the second that is under way is still given
    assert await workers.run(_spin) is None
    workers._cpu_s = 10
    assert await workers.run(abs, -2) == 2


async def test_an_array_that_takes_too_much_memory_is_given_up_too(workers: Workers):
    assert await workers.run(_hoard_array, 1 << 31) is None
    assert await workers.run(_hoard_array, 1 << 20) == 1 << 20


def _hoard_array(size: int) -> int:
    return len(np.ones(size, np.uint8))


def _hoard(size: int) -> int:
    return len(bytearray(size))


def _spin() -> None:
    while True:
        pass


def _slow_abs(number: int) -> int:
    time.sleep(0.15)
    return abs(number)


class Call:
    """What a pickle runs when it is read."""

    def __init__(self, function: Callable[..., object], *args: object) -> None:
        self.function, self.args = function, args

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self.function, self.args


def _say(data: bytes, times: int = 1) -> None:
    """Writes these bytes where the answer goes, as a body that took the process over would."""
    (fd,) = (
        fd for fd in map(int, os.listdir("/proc/self/fd"))
        if fd > 2 and os.path.exists(f"/proc/self/fd/{fd}") and stat.S_ISFIFO(os.fstat(fd).st_mode)
    )  # fmt: skip
    for _ in range(times):
        with open(fd, "wb", closefd=False) as pipe:
            pipe.write(data)


def _say_and_stay(data: bytes) -> None:
    _say(data)
    time.sleep(600)


def _leave_the_pipe_to_another() -> None:
    if os.fork():
        die()
    time.sleep(30)
    os._exit(0)


def _built(target: object, state: object) -> bytes:
    """A pickle that sets something on what it names."""
    return b"\x80\x02\x88" + pickle.dumps(target, 2)[2:-1] + pickle.dumps(state, 2)[2:-1] + b"b\x86."


HARMFUL = {
    "a function of the system": lambda marker: Call(os.system, f"touch {marker}"),
    "a builtin": lambda marker: Call(open, str(marker), "w"),
    "a function of ours": lambda marker: Call(Path.touch, marker),
    "an attribute": lambda marker: Call(getattr, "", "join"),
    "a path": lambda marker: marker,
    "the end of the engine": lambda marker: SystemExit(0),
    "a class of ours that is no value": lambda marker: Call(Workers),
}


@pytest.mark.parametrize("name", HARMFUL)
async def test_an_answer_that_names_what_is_no_value_of_ours_is_not_run_and_is_told(
    workers: Workers, tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
):
    marker = tmp_path / "was-run"
    answer = pickle.dumps((True, HARMFUL[name](marker)))
    assert await workers.run(_say_and_stay, answer) is None
    assert not marker.exists()
    assert "was ended: it names" in caplog.text
    assert await workers.run(abs, -2) == 2


@pytest.mark.parametrize("target", [Outcome, Outcome.OK, Extraction, Reason, ConfigError])
@pytest.mark.parametrize("name", ["__str__", "_value_", "text", "points"])
def test_no_answer_sets_anything_on_what_the_engine_shares(target: object, name: str):
    before = getattr(target, name, None)
    for state in ({name: "other"}, (None, {name: "other"}), ({}, {name: "other"})):
        ours, theirs = os.pipe()
        os.write(theirs, _built(target, state))
        with pytest.raises(BadAnswer):
            read_answer(Pipe(ours, lambda: True))
        os.close(ours)
        os.close(theirs)
        assert getattr(target, name, None) == before
    assert Outcome("ok") is Outcome.OK
    assert Outcome.OK.value == "ok"


GARBAGE = {
    "half a value": (pickle.dumps((True, "x" * 1000))[:500], None),
    "a length that is not there": (b"\x80\x05\x8e" + b"\xff" * 7 + b"\x0f", "ended"),
    "random bytes": (random.Random(5).randbytes(5000), "ended"),
    "text": (b"<html><body>it is mine now</body></html>", "ended"),
    "nothing of an answer": (pickle.dumps("only a text"), "ended"),
    "an error that is none": (pickle.dumps((False, "a text")), "ended"),
}


@pytest.mark.parametrize("name", GARBAGE)
async def test_an_answer_that_is_none_costs_its_own_page(
    workers: Workers, caplog: pytest.LogCaptureFixture, name: str
):
    data, told = GARBAGE[name]
    workers._wall_s = 30.0 if told else 3.0  # half of a value is waited for
    assert await workers.run(_say_and_stay, data) is None
    assert (told or "") in caplog.text
    workers._wall_s = 30.0
    assert await workers.run(abs, -2) == 2


@pytest.mark.parametrize("piece", [b"B\x00\x00\x10\x00" + bytes(1 << 20) + b"0", b"N0" * (1 << 19)])
async def test_an_answer_without_end_is_cut_at_the_limit(
    workers: Workers, caplog: pytest.LogCaptureFixture, piece: bytes
):
    assert await workers.run(_say, b"\x80\x05" + piece, 1 << 20) is None
    assert f"more than {MOST} bytes" in caplog.text
    assert await workers.run(abs, -2) == 2


async def test_a_process_that_leaves_its_pipe_to_another_does_not_hold_up_the_next(workers: Workers):
    workers._wall_s = 2.0
    assert await workers.run(_leave_the_pipe_to_another) is None
    assert await workers.run(abs, -2) == 2


async def test_values_and_errors_of_ours_come_back_as_they_are(workers: Workers):
    value = Extraction(
        content_class=ContentClass.HTML, text="š" * 3, published_at=datetime(2026, 1, 2, tzinfo=UTC),
        metadata={"a": "b"}, keys=TextKeys(1, 2),
    )  # fmt: skip
    assert await workers.run(_itself, value) == value
    for error in (ConfigError("settings"), UnicodeDecodeError("utf-8", b"x", 0, 1, "bad"), KeyError("x")):
        with pytest.raises(type(error)) as raised:
            await workers.run(_raise, error)
        assert raised.value.args == error.args
    with pytest.raises(RuntimeError, match="Unreadable: no such page"):
        await workers.run(_raise, Unreadable("no such page"))
    with pytest.raises(RuntimeError, match="ValueError: "):
        await workers.run(_raise, ValueError(Path("x")))


async def test_words_come_back_whatever_way_this_python_pickles_an_enum(workers: Workers):
    assert await workers.run(_pickled_as_debian_does, Risk.HIGH) is Risk.HIGH
    assert await workers.run(_pickled_as_debian_does, {"a": [ContentClass.HTML]}) == {
        "a": [ContentClass.HTML]
    }


def _pickled_as_debian_does(value: object) -> object:
    """Python 3.11.2 of Debian 12 names `getattr` for each member."""
    enum.Enum.__reduce_ex__ = lambda self, _: (getattr, (type(self), self._name_))  # type: ignore[method-assign]
    return value


def _itself(value: object) -> object:
    return value


def _raise(error: Exception) -> None:
    raise error
