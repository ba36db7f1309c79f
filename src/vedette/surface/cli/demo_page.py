"""The dashboard beside the demonstration: its address is known before anything runs, its code is loaded beside it."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from socket import socket

from vedette.app.service import ServiceState
from vedette.contracts.errors import ConfigError
from vedette.engine.service.event_stream import EventStream
from vedette.operations.installation import Installation

USUAL, ANY = ("127.0.0.1", 9464), ("127.0.0.1", 0)
PAGES = "vedette.surface.http.service_pages"  # FastAPI and all operations: half a second that the show need not wait


@dataclass(slots=True)
class DemoPage:
    """A socket that is taken, and what is shown on it."""

    socket: socket
    events: EventStream = field(default_factory=EventStream)

    @classmethod
    def bound(cls) -> DemoPage:
        """On the usual port, or on any where that is taken."""
        for place in (USUAL, ANY):
            made = socket()
            try:
                made.bind(place)
            except OSError:
                made.close()
                continue
            made.listen()
            return cls(made)
        raise ConfigError("nothing can listen on 127.0.0.1; `--no-serve` shows it in the terminal alone")

    @property
    def address(self) -> str:
        return "http://{}:{}/".format(*self.socket.getsockname()[:2])

    @asynccontextmanager
    async def shown(self, installation: Installation) -> AsyncIterator[None]:
        """Serves while the block runs.  A browser that comes early waits until the pages are loaded."""
        ended = asyncio.Event()
        task = asyncio.create_task(self._serve(installation, ended))
        try:
            yield
        finally:
            self.events.close()
            ended.set()
            await task
            self.socket.close()

    async def _serve(self, installation: Installation, ended: asyncio.Event) -> None:
        pages = await asyncio.to_thread(importlib.import_module, PAGES)
        if ended.is_set():
            return
        state = ServiceState(_no_metrics, lambda: True, self.events)
        async with pages.opened_on(self.socket, installation)(state):
            await ended.wait()


async def _no_metrics() -> str:
    return ""
