"""Asks Tor for new circuits when a lane through it backs off.  By stem, the extra `tor`, loaded when it is configured.

The way through may be at fault, not the far end.  New circuits change nothing about what a lane allows.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from queue import SimpleQueue
from typing import Any

from vedette.contracts.errors import ConfigError
from vedette.contracts.events import BreakerOpened, Event
from vedette.contracts.lane import TOR
from vedette.contracts.words import LaneKey

MISSING = "stem, which `tor.control` needs, is not installed: pip install 'vedette[tor]'"
REST = timedelta(seconds=60)  # Tor itself takes one request in ten seconds
PATIENCE_S = 2.0  # with Tor, at the end of a run
HIDDEN = ".hidden.invalid"  # how hosts of aliases end (`engine/crawl/onion_names.py`)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPort:
    """Where Tor is controlled, an address and never a name.  Without a password: by cookie, or none is needed."""

    address: str
    port: int
    password: str | None = None


class TorCircuits:
    """Hears the events of a run.  Asks in a thread of its own: nothing waits for Tor."""

    def __init__(self, place: ControlPort, problem: Callable[[str], None]) -> None:
        """`problem` is told, from any thread, why Tor gave no new circuits."""
        self._place, self._problem = place, problem
        self._control, self._stem = _library()
        self._where = f"tor.control {place.address}:{place.port}"
        self._asks: SimpleQueue[bool] = SimpleQueue()  # False: the run is over
        self._thread = threading.Thread(target=self._serve, name="tor-circuits", daemon=True)
        self._thread.start()
        self._asked_at: datetime | None = None
        self._is_silent = self._is_closed = False

    def hear(self, event: Event) -> None:
        if not isinstance(event, BreakerOpened) or not goes_through_tor(event.lane):
            return
        if self._asked_at is not None and event.at - self._asked_at < REST:
            return
        self._asked_at = event.at
        if self._asks.qsize() > 1:  # the ones before are not through yet
            self._tell_silence()
        else:
            self._asks.put(True)

    def close(self) -> None:
        """Blocking, for as long as Tor is waited for: what it is asked has no time limit of its own."""
        self._asks.put(False)
        self._thread.join(PATIENCE_S)
        if self._thread.is_alive():
            self._tell_silence()
        self._is_closed = True

    def _serve(self) -> None:
        while self._asks.get():
            self._ask()

    def _tell_silence(self) -> None:
        if not self._is_silent:
            self._is_silent = True
            self._tell(f"{self._where} takes a connection and says nothing; is it the control port of Tor?")

    def _ask(self) -> None:
        place = self._place
        try:
            with self._control.Controller.from_port(place.address, place.port) as controller:
                controller.authenticate(password=place.password)
                controller.signal(self._stem.Signal.NEWNYM)
        except self._stem.SocketError:
            self._tell(f"{self._where} does not answer; there are no new circuits")
        except (self._stem.ControllerError, self._stem.connection.AuthenticationFailure):
            self._tell(f"{self._where} refused to make new circuits; is `tor.password` right?")

    def _tell(self, words: str) -> None:
        if not self._is_closed:
            self._problem(words)


def goes_through_tor(lane: LaneKey) -> bool:
    """True of the lane of all that goes by a SOCKS proxy, and of onion services."""
    return lane == TOR or lane.endswith(HIDDEN)


def _library() -> tuple[Any, Any]:
    try:
        importlib.import_module("stem.connection")
        return importlib.import_module("stem.control"), importlib.import_module("stem")
    except ImportError:
        raise ConfigError(MISSING) from None
