"""One request, one answer, one value.  Nothing the far end does is an exception out of here."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_address

import ada_url
from aiohttp import ClientTimeout
from multidict import CIMultiDict
from yarl import URL

from vedette.contracts.errors import ConfigError
from vedette.contracts.fetching import MIB, Fetched, FetchRequest, FetchSettings
from vedette.contracts.ports import Clock
from vedette.contracts.words import Outcome
from vedette.core.outcomes import outcome_of_status
from vedette.core.urls import canonical, host_of, port_of
from vedette.fetch.connections import Client, Clients, FarResponse, tls_context
from vedette.fetch.decode import BodyDecoder, DecodeLimits, make_decoder
from vedette.fetch.faults import WEATHER, Fault, fault_of, plain
from vedette.fetch.guard import Guard
from vedette.fetch.heads import Head, read_head
from vedette.fetch.resolver import check_nameservers

ACCEPT_ENCODING = "gzip, deflate, br, zstd"
ERROR_BODY = 256 * 1024  # enough of an error page to tell a block page by
PLANS = 1024
REDIRECTS = frozenset((300, 301, 302, 303, 307, 308))
DEFAULT_ACCEPT = FetchRequest.__dataclass_fields__["accept"].default
# What an operator's own header may be and still go to a foreign origin; anything else may be a secret.
HARMLESS = frozenset("accept accept-language cache-control dnt pragma sec-gpc user-agent".split())
_BY_STATUS = {204: Outcome.EMPTY, 205: Outcome.EMPTY, 206: Outcome.TRUNCATED}


class HttpFetcher:
    """Asks over HTTP/1.1.  Implements `contracts.ports.Fetcher`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._clients: Clients | None = None
        self._plans: dict[FetchSettings, _Plan] = {}

    async def fetch(self, request: FetchRequest) -> Fetched:
        """One hop.  A redirect comes back with `redirect_to` filled and outcome ok."""
        exchange = _Exchange(request, self._clock.now(), asyncio.get_running_loop().time())
        plan = self._plans.get(request.settings) or await self._plan(request.settings)
        if plan.client.http.closed:
            plan = await self._plan(request.settings)
        fault = _refused_unasked(request.url, plan)
        if fault is not None:
            return exchange.failed(fault)
        plan.client.under_way += 1
        try:
            return await self._ask(exchange, plan)
        finally:
            plan.client.under_way -= 1

    async def close(self) -> None:
        self._plans.clear()
        if self._clients is not None:
            await self._clients.close()
            self._clients = None

    async def _ask(self, exchange: _Exchange, plan: _Plan) -> Fetched:
        request = exchange.request
        try:
            response = await plan.client.http.get(
                URL(request.url, encoded=True),
                headers=_headers_for(request, plan),
                timeout=plan.timeout,
                allow_redirects=False,
            )
        except WEATHER as error:
            return exchange.failed(fault_of(error, is_tls=request.url.startswith("https:")))
        assert isinstance(response, FarResponse)  # noqa: S101 - the session was told to make them
        try:
            return await exchange.read(response)
        finally:
            response.release()

    async def _plan(self, settings: FetchSettings) -> _Plan:
        if self._clients is None:
            self._clients = Clients()
        if len(self._plans) >= PLANS:
            self._plans.clear()
        plan = self._plans[settings] = _Plan(settings, await self._clients.of(settings))
        return plan


def check_settings(settings: FetchSettings) -> None:
    """Raises ConfigError when no fetch could ever be made with these settings."""
    Guard(settings.allow_networks, settings.allow_ports)
    check_nameservers(settings.nameservers)
    _base_headers(settings, is_foreign=False)
    if settings.ca_file:
        tls_context(settings.ca_file)
    if settings.proxy and not settings.proxy.startswith(("http://", "https://")):
        raise ConfigError(f"fetch.proxy: {settings.proxy!r} is not an http:// or https:// address")


class _Plan:
    """What all requests with the same settings share, made once."""

    __slots__ = ("client", "foreign_headers", "headers", "is_proxied", "timeout")

    def __init__(self, settings: FetchSettings, client: Client) -> None:
        self.client = client
        self.is_proxied = settings.proxy is not None
        self.timeout = ClientTimeout(
            total=settings.total_timeout.total_seconds(),
            connect=settings.connect_timeout.total_seconds(),
            sock_read=settings.read_timeout.total_seconds(),
        )
        self.headers = _base_headers(settings, is_foreign=False)
        self.foreign_headers = _base_headers(settings, is_foreign=True)


@dataclass(slots=True)
class _Body:
    wire: bytes = b""
    body: bytes = b""
    fault: Fault | None = None


class _Exchange:
    """One request on its way to a Fetched."""

    __slots__ = ("_at", "_begun", "_loop", "request")

    def __init__(self, request: FetchRequest, at: datetime, begun: float) -> None:
        self.request = request
        self._at = at
        self._begun = begun
        self._loop = asyncio.get_running_loop()

    def failed(self, fault: Fault) -> Fetched:
        """Nothing came back."""
        return Fetched(
            url=self.request.url, outcome=fault.outcome, at=self._at, took=self._took(), detail=fault.detail
        )

    async def read(self, response: FarResponse) -> Fetched:
        """The answer, its body read as far as it is worth it."""
        status = response.status
        head = read_head(response.raw_headers, self._at)
        if head.problem or status < 200:
            problem = head.problem or f"status {status} where an answer should be"
            return self._answered(response, head, _Body(fault=Fault(Outcome.PROTOCOL_ERROR, problem)))
        if 300 <= status < 400:
            return self._without_body(response, head)
        body = await self._read_body(response, head)
        return self._answered(response, head, body)

    def _answered(
        self, response: FarResponse, head: Head, body: _Body, redirect_to: str | None = None
    ) -> Fetched:
        outcome = _outcome(response.status, head, body) if redirect_to is None else Outcome.OK
        return Fetched(
            url=self.request.url,
            outcome=outcome,
            at=self._at,
            took=self._took(),
            status=response.status,
            phrase=plain(response.reason or "", 200),
            headers=head.headers,
            wire=body.wire,
            body=body.body,
            address=response.far.address if response.far is not None else "",
            redirect_to=redirect_to,
            retry_after=head.retry_after,
            etag=head.etag,
            last_modified=head.last_modified,
            content_type=head.content_type,
            detail=body.fault.detail if body.fault is not None else "",
        )

    def _without_body(self, response: FarResponse, head: Head) -> Fetched:
        """304 and redirects: the head says it all, so the body is not waited for."""
        if response.status == 304:
            is_asked = self.request.etag is not None or self.request.last_modified is not None
            fault = Fault(Outcome.NOT_MODIFIED, "") if is_asked else _UNASKED_304
            return self._answered(response, head, _Body(fault=fault))
        target = _redirect_target(response.status, head.locations, self.request.url)
        if isinstance(target, Fault):
            return self._answered(response, head, _Body(fault=target))
        return self._answered(response, head, _Body(), redirect_to=target)

    async def _read_body(self, response: FarResponse, head: Head) -> _Body:
        settings, request = self.request.settings, self.request
        is_success = response.status < 300
        limits = DecodeLimits(
            body=request.body_limit or settings.body_limit,
            ratio=settings.ratio_limit,
            layers=settings.encoding_layers,
        )
        length = head.content_length
        if is_success and request.body_limit is None and length is not None and length > settings.wire_limit:
            return _Body(fault=Fault(Outcome.TOO_LARGE, f"{length} bytes announced"))
        decoder = make_decoder(head.codings, limits)
        if isinstance(decoder, Fault):
            return _Body(fault=decoder)
        room = settings.wire_limit if is_success else min(ERROR_BODY, settings.wire_limit)
        reader = _BodyReader(response, decoder, room if decoder else min(room, limits.body))
        fault = await reader.read(is_tls=request.url.startswith("https:"))
        wire = reader.wire()
        return _Body(wire, decoder.body() if decoder is not None else wire, fault)

    def _took(self) -> timedelta:
        return timedelta(seconds=self._loop.time() - self._begun)


class _BodyReader:
    """Takes a body off the line in the chunks it comes in, decoding as it goes."""

    __slots__ = ("_chunks", "_decoder", "_response", "_room")

    def __init__(self, response: FarResponse, decoder: BodyDecoder | None, room: int) -> None:
        self._response = response
        self._decoder = decoder
        self._room = room
        self._chunks: list[bytes] = []

    async def read(self, *, is_tls: bool) -> Fault | None:
        far = self._response.far
        if far is not None:
            far.allow(2 * self._room + MIB)
        try:
            fault = await self._take()
        except WEATHER as error:
            return fault_of(error, is_tls=is_tls)
        if fault is None and far is not None and far.cut_by is not None:
            return Fault(Outcome.TRUNCATED, "the line was cut inside the body")
        return fault

    def wire(self) -> bytes:
        return self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)

    async def _take(self) -> Fault | None:
        stream, decoder = self._response.content, self._decoder
        size = 0
        while not stream.at_eof():
            chunk = await stream.readany()
            size += len(chunk)
            if size > self._room:
                chunk = chunk[: len(chunk) - (size - self._room)]
            self._chunks.append(chunk)
            fault = decoder.feed(chunk) if decoder is not None else None
            if fault is None and size > self._room:
                fault = Fault(Outcome.TOO_LARGE, f"body over {self._room} bytes")
            if fault is not None:
                return fault
        return decoder.finish() if decoder is not None else None


_UNASKED_304 = Fault(Outcome.PROTOCOL_ERROR, "304 to a request without a condition")


def _outcome(status: int, head: Head, body: _Body) -> Outcome:
    """A body that failed decides for a success; an error status stands whatever its page was like."""
    if body.fault is not None and status < 400:
        return body.fault.outcome
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    outcome = outcome_of_status(status, head.has_retry_after)
    return Outcome.EMPTY if outcome is Outcome.OK and not body.body else outcome


def _redirect_target(status: int, locations: tuple[str, ...], base: str) -> str | Fault:
    """Where a redirect points, absolute and canonical, or what is wrong with it."""
    if status not in REDIRECTS:
        return Fault(Outcome.REDIRECT_ERROR, f"status {status} names no place to go")
    if len(locations) != 1 or not locations[0].strip():
        words = "several different Locations" if len(locations) > 1 else "no Location"
        return Fault(Outcome.REDIRECT_ERROR, f"redirect with {words}")
    target = canonical(locations[0], base)
    if target is not None:
        return target
    try:
        scheme = str(ada_url.join_url(base, locations[0])).partition(":")[0]
    except (ValueError, UnicodeError):
        return Fault(Outcome.REDIRECT_ERROR, f"unusable Location {plain(locations[0], 100)!r}")
    if scheme in ("http", "https"):
        return Fault(Outcome.REDIRECT_ERROR, "Location too long")
    return Fault(Outcome.SCHEME_REFUSED, f"redirect to {plain(scheme, 40)}:")


def _refused_unasked(url: str, plan: _Plan) -> Fault | None:
    """What can be refused without a look-up.  The guard in the connector has the last word."""
    if not url.startswith(("http://", "https://")):
        return Fault(Outcome.SCHEME_REFUSED, f"only http and https, not {plain(url, 60)!r}")
    try:
        host, port = host_of(url), port_of(url)
    except ValueError:
        return Fault(Outcome.SCHEME_REFUSED, f"not a URL: {plain(url, 60)!r}")
    address = host if plan.is_proxied and _is_address(host) else _SOME_PUBLIC_ADDRESS
    reason = plan.client.guard.refuses(address, port)
    if reason is None and plan.is_proxied and host.rstrip(".").endswith("localhost"):
        return Fault(Outcome.ADDRESS_REFUSED, "localhost, seen from the proxy")
    return Fault(Outcome.ADDRESS_REFUSED, reason.note) if reason is not None else None


_SOME_PUBLIC_ADDRESS = "9.9.9.9"  # stands for a name not looked up yet, so that only the port is judged


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _headers_for(request: FetchRequest, plan: _Plan) -> CIMultiDict[str]:
    headers = plan.foreign_headers if request.is_foreign else plan.headers
    etag, last_modified = request.etag, request.last_modified
    if etag is None and last_modified is None and request.accept == DEFAULT_ACCEPT:
        return headers
    headers = headers.copy()
    headers["Accept"] = request.accept
    if etag and etag.isprintable():
        headers["If-None-Match"] = etag
    if last_modified and last_modified.isprintable():
        headers["If-Modified-Since"] = last_modified
    return headers


def _base_headers(settings: FetchSettings, *, is_foreign: bool) -> CIMultiDict[str]:
    headers = CIMultiDict(
        {
            "User-Agent": settings.user_agent,
            "Accept": DEFAULT_ACCEPT,
            "Accept-Language": settings.accept_language,
            "Accept-Encoding": ACCEPT_ENCODING,
        }
    )
    for name, value in settings.headers:
        if name.lower().startswith("proxy-"):
            continue  # credentials of a proxy belong into its address, or they would reach the site
        if not is_foreign or name.lower() in HARMLESS:
            headers[name] = value
    for name, value in headers.items():
        if not (name.isascii() and name.isprintable() and value.isprintable()) or ":" in name or " " in name:
            raise ConfigError(f"fetch.headers: {name!r} holds a character that a header cannot carry")
    return headers
