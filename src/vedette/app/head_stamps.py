"""Heads of the archive are stamped by the configured time stamping authority: daily by a service, or at a word."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from vedette.app.process import this_process
from vedette.config.model import Loaded
from vedette.config.policies import fetch_settings
from vedette.contracts.errors import ConfigError, RefusedError, VedetteError
from vedette.contracts.fetch import FetchRequest
from vedette.contracts.ports import Clock
from vedette.contracts.words import Outcome
from vedette.core.urls.canonical import canonical
from vedette.evidence.time_stamps import last_stamp_at, next_stamp_in, stamp_heads
from vedette.fetch.http import HttpFetcher
from vedette.store.sqlite import StoreLock

AGAIN = timedelta(minutes=5)  # after an authority that gave none
SOON = timedelta(seconds=10)  # after another process that stamps them meanwhile
LOCK = "lock-stamps"
LOOK = timedelta(hours=1)  # how often it is asked at least whether one is due: clocks are set
MOST_BYTES = 256 * 1024  # of an answer with its certificates
OFF = "no time stamping authority is configured: set `evidence.time_stamps` to its address"


class StampingError(RefusedError):
    """Another process stamps the heads of this archive."""


async def keep_stamping(loaded: Loaded, clock: Clock, problem: Callable[[str], None]) -> None:
    """Until cancelled; done at once where no authority is configured.  One that is away is told of and tried again."""
    config = loaded.config.evidence
    if config.time_stamps is None:
        return
    told = ""
    while True:
        try:
            last = await asyncio.to_thread(last_stamp_at, loaded.archive)
            wait = next_stamp_in(last, config.time_stamps_every, clock.now())
            if not wait:
                await stamp_now(loaded, clock)
                wait, told = config.time_stamps_every, ""
        except StampingError:
            wait = SOON
        except (VedetteError, OSError) as error:
            wait = AGAIN
            if str(error) != told:
                told = str(error)
                problem(f"{told}; it is tried again")
        await asyncio.sleep(min(wait, LOOK).total_seconds())


async def stamp_now(loaded: Loaded, clock: Clock) -> int:
    """How many files of heads have a new time stamp."""
    address = loaded.config.evidence.time_stamps
    if address is None:
        raise ConfigError(OFF)
    url = canonical(address)
    if url is None:
        raise ConfigError("`evidence.time_stamps` is not an http or https address")
    fetcher = HttpFetcher(clock)

    async def ask(question: bytes) -> bytes:
        request = FetchRequest(
            url=url,
            settings=fetch_settings(loaded.config),
            accept="application/timestamp-reply",
            body_limit=MOST_BYTES,
            post=question,
            post_type="application/timestamp-query",
        )
        fetched = await fetcher.fetch(request)
        if fetched.outcome is not Outcome.OK or fetched.redirect_to is not None:
            words = f"{fetched.outcome.value} {fetched.detail}".rstrip()
            raise VedetteError(f"the time stamping authority gave no time stamp: {words}")
        return fetched.body

    try:
        with _alone(loaded):
            return await stamp_heads(loaded.archive, ask, clock.now())
    finally:
        await fetcher.close()


@contextmanager
def _alone(loaded: Loaded) -> Iterator[None]:
    """One process at a time writes STAMPS.  In a bucket its pieces are written once, so there a second one fails."""
    lock = StoreLock(loaded.data / LOCK)
    try:
        lock.take(this_process())
    except RefusedError:
        raise StampingError("another process asks for time stamps just now; nothing was written") from None
    try:
        yield
    finally:
        lock.release()
