"""Asks Tor for new circuits when a lane through it backs off.  By stem, the extra `tor`, loaded when it is configured.

The way through may be at fault, not the far end.  New circuits change nothing about what a lane allows.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from vedette.contracts.errors import ConfigError
from vedette.contracts.events import BreakerOpened, Event
from vedette.contracts.lane import TOR
from vedette.contracts.words import LaneKey

MISSING = "stem, which `tor.control` needs, is not installed: pip install 'vedette[tor]'"
REST = timedelta(seconds=60)  # Tor itself takes one request in ten seconds
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
        """`problem` is told, from that thread, why Tor gave no new circuits."""
        self._place, self._problem = place, problem
        self._control, self._stem = _library()
        self._thread = ThreadPoolExecutor(1, "tor-circuits")
        self._asked_at: datetime | None = None

    def hear(self, event: Event) -> None:
        if not isinstance(event, BreakerOpened) or not goes_through_tor(event.lane):
            return
        if self._asked_at is not None and event.at - self._asked_at < REST:
            return
        self._asked_at = event.at
        self._thread.submit(self._ask)

    def close(self) -> None:
        self._thread.shutdown(wait=True)

    def _ask(self) -> None:
        place = self._place
        where = f"tor.control {place.address}:{place.port}"
        try:
            with self._control.Controller.from_port(place.address, place.port) as controller:
                controller.authenticate(password=place.password)
                controller.signal(self._stem.Signal.NEWNYM)
        except self._stem.SocketError:
            self._problem(f"{where} does not answer; there are no new circuits")
        except (self._stem.ControllerError, self._stem.connection.AuthenticationFailure):
            self._problem(f"{where} refused to make new circuits; is `tor.password` right?")


def goes_through_tor(lane: LaneKey) -> bool:
    """True of the lane of all that goes by a SOCKS proxy, and of onion services."""
    return lane == TOR or lane.endswith(HIDDEN)


def _library() -> tuple[Any, Any]:
    try:
        importlib.import_module("stem.connection")
        return importlib.import_module("stem.control"), importlib.import_module("stem")
    except ImportError:
        raise ConfigError(MISSING) from None
