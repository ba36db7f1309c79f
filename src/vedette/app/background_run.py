"""A run in a thread of its own, for a program that does something else meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager

from vedette.app.run import RunHooks, run_with, telling
from vedette.config.model import Loaded
from vedette.contracts.events import Event
from vedette.contracts.ports import Clock
from vedette.engine.crawl.loop import Ended
from vedette.engine.crawl.run import CrawlRun, RunRequest


class BackgroundRun:
    """Begins at once.  `on_event` is called in its threads; `on_end` once, whatever happened."""

    def __init__(
        self,
        loaded: Loaded,
        request: RunRequest,
        clock: Clock,
        on_event: Callable[[Event], None],
        on_end: Callable[[], None],
    ) -> None:
        self._loaded, self._request, self._clock = loaded, request, clock
        self._on_event, self._on_end = on_event, on_end
        self._future: Future[Ended] = Future()
        self._is_stopped = threading.Event()
        self._end: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=self._work, name="vedette-run", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends it cleanly: what is under way is settled.  Does nothing where it has ended."""
        self._is_stopped.set()
        self._end()
        self._thread.join()

    def result(self) -> Ended:
        """How it ended; raises what kept it from running."""
        return self._future.result()

    def _work(self) -> None:
        try:
            asyncio.run(self._run())
        finally:
            self._end = lambda: None
            self._on_end()

    async def _run(self) -> None:
        """What kept it from running is for whoever asks for the result."""
        hooks = RunHooks(on_event=self._on_event, clock=self._clock, beside=self._beside)
        task = asyncio.create_task(run_with(self._loaded, self._request, hooks))
        await asyncio.wait([task])
        error = task.exception()
        if error is not None:
            self._future.set_exception(error)
        else:
            self._future.set_result(task.result())

    @asynccontextmanager
    async def _beside(self, run: CrawlRun) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()

        def end() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(run.engine.stop, "stopped")

        self._end = end
        if self._is_stopped.is_set():
            run.engine.stop("stopped")
        async with telling(run, self._loaded):
            yield
