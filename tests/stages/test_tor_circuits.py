"""When a lane through Tor backs off, Tor is asked for new circuits, at its control port."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from machine import patient

from vedette.app.run import run_async
from vedette.config.model import Loaded, parse
from vedette.contracts.errors import ConfigError
from vedette.contracts.events import BreakerOpened, ProblemTold
from vedette.contracts.lane import TOR
from vedette.contracts.words import LaneKey
from vedette.engine.crawl.loop import Mode
from vedette.engine.crawl.run import RunRequest
from vedette.fetch.tor_circuits import ControlPort, TorCircuits

AT = datetime(2026, 11, 18, 12, tzinfo=UTC)
PASSWORD = "correct horse"
HELLO = '250-PROTOCOLINFO 1\r\n250-AUTH METHODS=HASHEDPASSWORD\r\n250-VERSION Tor="0.4.9.11"\r\n250 OK\r\n'


class Control:
    """The few words of a control port that are needed, over a real socket."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._server.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            with client, client.makefile("rw", newline="") as lines:
                for line in lines:
                    word = line.strip()
                    self.said.append(word)
                    lines.write(self._answer(word))
                    lines.flush()

    def _answer(self, word: str) -> str:
        if word.startswith("PROTOCOLINFO"):
            return HELLO
        if word.startswith("AUTHENTICATE"):
            return "250 OK\r\n" if PASSWORD in word else "515 Authentication failed\r\n"
        return "250 OK\r\n" if word.startswith(("SIGNAL", "SETEVENTS", "QUIT")) else "510 Unrecognized\r\n"

    @property
    def circuits(self) -> int:
        return self.said.count("SIGNAL NEWNYM")


@pytest.fixture
def control() -> Iterator[Control]:
    server = Control()
    yield server
    server.close()


def closed(lane: str, seconds: float = 0.0) -> BreakerOpened:
    return BreakerOpened(at=AT + timedelta(seconds=seconds), reasons=(), lane=LaneKey(lane))


def heard(port: int, *events: BreakerOpened, password: str | None = PASSWORD) -> list[str]:
    problems: list[str] = []
    circuits = TorCircuits(ControlPort(address="127.0.0.1", port=port, password=password), problems.append)
    for event in events:
        circuits.hear(event)
    circuits.close()
    return problems


def test_a_lane_through_tor_that_closes_asks_for_new_circuits_once_a_minute(control: Control):
    onion = "host:0f3a0f3a0f3a0f3a0f3a.hidden.invalid"
    assert heard(control.port, closed(TOR), closed(onion, 30), closed(onion, 61)) == []
    assert control.circuits == 2


def test_a_lane_of_the_clear_web_asks_for_nothing(control: Control):
    assert heard(control.port, closed("host:example.org")) == []
    assert control.said == []


def test_a_wrong_password_and_a_port_that_is_down_are_problems_without_the_password(control: Control):
    (refused,) = heard(control.port, closed(TOR), password="wrong")
    assert "refused to make new circuits" in refused
    control.close()
    (down,) = heard(1, closed(TOR))
    assert "tor.control 127.0.0.1:1 does not answer" in down
    assert "wrong" not in refused + down
    assert control.circuits == 0


def test_a_port_that_says_nothing_holds_nobody_up_and_is_told():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        (words,) = heard(silent.getsockname()[1], closed(TOR), closed(TOR, 61))
        assert time.monotonic() - began < patient(10)
    assert "takes a connection and says nothing" in words


def test_without_stem_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "stem.control", None)
    with pytest.raises(ConfigError, match=r"pip install 'vedette\[tor\]'"):
        heard(1)


@pytest.mark.parametrize("place", ["localhost:9051", "127.0.0.1", "tor", "127.0.0.1:99999", "[::1]:9051"])
def test_the_control_port_is_an_address_and_its_password_a_variable(place: str):
    with pytest.raises(ConfigError, match=r"tor\.control"):
        parse({"tor": {"control": place}})
    with pytest.raises(ConfigError, match=r"tor\.password"):
        parse({"tor": {"password": "plain"}})


async def test_a_run_whose_proxy_is_down_asks_for_new_circuits(
    tmp_path: Path, control: Control, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("VEDETTE_TOR_PASSWORD", PASSWORD)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        proxy = taken.getsockname()[1]
    raw = {
        "lanes": {key: {"gap_min": "0s", "gap_max": "0s", "trips_after": 1} for key in ("default", "engine:tor")},
        "retry": {"attempts": 1},
        "tor": {"control": f"127.0.0.1:{control.port}", "password": "env:VEDETTE_TOR_PASSWORD"},
        "sources": [
            {"url": f"http://{'a' * 56}.onion/", "lister": "page", "fetch": {"proxy": f"socks5h://127.0.0.1:{proxy}"}}
        ],
    }  # fmt: skip
    events: list[Any] = []
    loaded = Loaded(config=parse(raw), path=None, data=tmp_path, digest="tor")
    request = RunRequest(takes_orders=False, mode=Mode.UNTIL_IDLE, seconds=3.0)
    await run_async(loaded, request, on_event=events.append)
    assert any(isinstance(event, BreakerOpened) for event in events)
    assert control.circuits == 1
    assert not [event for event in events if isinstance(event, ProblemTold)]
