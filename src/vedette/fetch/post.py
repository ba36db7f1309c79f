"""Hands a body to a URL: webhooks.  The same guard, the same line, the same table of faults as every fetch."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from aiohttp import ClientTimeout
from multidict import CIMultiDict

from vedette.contracts.alerting import Delivery
from vedette.contracts.fetching import FetchSettings, PostRequest
from vedette.contracts.ports import Clock
from vedette.contracts.words import Outcome
from vedette.core.outcomes import outcome_of_status
from vedette.fetch.connections import Client, Clients, FarResponse
from vedette.fetch.faults import WEATHER, Fault, fault_of, plain
from vedette.fetch.heads import read_head
from vedette.fetch.http import readable

ANSWER = 4096  # bytes of the answer that are worth reading
WORDS = 200


class HttpPoster:
    """Implements `contracts.ports.Poster`.  A redirect is a failure: nobody may send our words elsewhere."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._clients: Clients | None = None

    async def post(self, request: PostRequest) -> Delivery:
        client = await self._client(request.settings)
        url = readable(request.url)
        if isinstance(url, Fault):
            return _failed(url)
        client.under_way += 1
        try:
            async with asyncio.timeout(request.settings.total_timeout.total_seconds()):
                response = await client.post(
                    url, _headers(request), request.body, _timeout(request.settings), _untimed
                )
                try:
                    return await self._read(response)
                finally:
                    response.release()
        except WEATHER as error:
            return _failed(fault_of(error, is_tls=url.scheme == "https"))
        finally:
            client.under_way -= 1

    async def close(self) -> None:
        if self._clients is not None:
            await self._clients.close()
            self._clients = None

    async def _client(self, settings: FetchSettings) -> Client:
        if self._clients is None:
            self._clients = Clients()
        return await self._clients.of(settings)

    async def _read(self, response: FarResponse) -> Delivery:
        head = read_head(response.headers, response.raw_headers, self._clock.now())
        status = response.status
        if 200 <= status < 300:
            return Delivery(outcome=Outcome.OK)
        words = plain((await response.content.read(ANSWER)).decode("utf-8", "replace"), WORDS)
        outcome = outcome_of_status(status, head.retry_after is not None)
        return Delivery(
            outcome=outcome,
            detail=f"status {status}: {words}" if words else f"status {status}",
            retry_after=head.retry_after,
        )


def _untimed() -> timedelta:
    """Nobody measures how long a notice takes to leave."""
    return timedelta(0)


def _headers(request: PostRequest) -> CIMultiDict[str]:
    headers = CIMultiDict({"Content-Type": request.content_type, "User-Agent": request.settings.user_agent})
    headers.update(request.headers)
    return headers


def _timeout(settings: FetchSettings) -> ClientTimeout:
    return ClientTimeout(
        connect=settings.connect_timeout.total_seconds(), sock_read=settings.read_timeout.total_seconds()
    )


def _failed(fault: Fault) -> Delivery:
    return Delivery(outcome=fault.outcome, detail=fault.detail)
