"""Hands a body to a URL: webhooks.  A fetch like every other, of which only how it ended is of interest."""

from __future__ import annotations

from dataclasses import replace

from vedette.contracts.alerts import Delivery
from vedette.contracts.fetch import Fetched, FetchRequest, PostRequest
from vedette.contracts.ports import Clock
from vedette.contracts.words import Outcome
from vedette.core.lanes.outcomes import outcome_of_status
from vedette.fetch.faults import plain
from vedette.fetch.http import HttpFetcher

ANSWER = 4096  # bytes of the answer that are worth reading
WORDS = 200


class HttpPoster:
    """Implements `contracts.ports.Poster`.  A redirect is a failure: nobody may send our words elsewhere."""

    def __init__(self, clock: Clock) -> None:
        self._fetcher = HttpFetcher(clock)

    async def post(self, request: PostRequest) -> Delivery:
        headers = (("Content-Type", request.content_type), *request.headers)
        fetched = await self._fetcher.fetch(
            FetchRequest(
                url=request.url,
                settings=replace(request.settings, headers=headers),
                accept="*/*",
                body_limit=ANSWER,
                post=request.body,
            )
        )
        return _delivery(fetched)

    async def close(self) -> None:
        await self._fetcher.close()


def _delivery(fetched: Fetched) -> Delivery:
    """The status decides.  What the receiver says beside it is for people, and may be cut or broken."""
    status = fetched.status
    if status is None:
        return Delivery(outcome=fetched.outcome, detail=fetched.detail)
    if 200 <= status < 300:
        return Delivery(outcome=Outcome.OK)
    words = plain(fetched.body.decode("utf-8", "replace"), WORDS)
    return Delivery(
        outcome=outcome_of_status(status, fetched.retry_after is not None),
        detail=f"status {status}: {words}" if words else f"status {status}",
        retry_after=fetched.retry_after,
    )
