"""One request, one answer, one value.  Nothing the far end does is an exception out of here."""

from __future__ import annotations

import asyncio
import functools
import io
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_address

import ada_url
from aiohttp import ClientTimeout, hdrs
from multidict import CIMultiDict
from yarl import URL

from vedette.contracts.errors import ConfigError
from vedette.contracts.fetch import MIB, Fetched, FetchRequest, FetchSettings
from vedette.contracts.ports import Clock
from vedette.contracts.words import Outcome, Reason
from vedette.core.lanes.outcomes import outcome_of_status
from vedette.core.limits.memory_budget import FREE, body_claim
from vedette.core.text.media_types import refused_body, refused_header
from vedette.core.urls.canonical import canonical, host_of, too_long
from vedette.fetch.connections import Client, Clients, FarResponse, Origin, Sending, tls_context
from vedette.fetch.decode import BodyDecoder, DecodeLimits, make_decoder
from vedette.fetch.faults import WEATHER, Fault, fault_of, plain
from vedette.fetch.guard import check_addresses
from vedette.fetch.heads import Head, read_head
from vedette.fetch.proxy_address import ONION, is_socks

ACCEPT_ENCODING = "gzip, deflate, br, zstd"
ERROR_BODY = 256 * 1024  # enough of an error page to tell a block page by
PLANS = 1024
NO_ROOM = "there was no room in memory for its body; it is asked for again"
NO_TOR = "a name of Tor; only a socks5h:// proxy of its source takes it"
ACCEPTS = 16
REDIRECTS = frozenset((300, 301, 302, 303, 307, 308))
# What an operator's own header may be and still go to a foreign origin; anything else may be a secret.
HARMLESS = frozenset("accept accept-language cache-control dnt pragma sec-gpc user-agent".split())
FRAMING = frozenset("connection content-length expect host te trailer transfer-encoding upgrade".split())
_BY_STATUS = {204: Outcome.EMPTY, 205: Outcome.EMPTY, 206: Outcome.TRUNCATED}


class HttpFetcher:
    """Asks over HTTP/1.1.  Implements `contracts.ports.Fetcher`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._clients: Clients | None = None
        self._plans: dict[int, tuple[FetchSettings, _Plan]] = {}  # by identity: hashing settings costs 5 us

    async def fetch(self, request: FetchRequest) -> Fetched:
        """One hop.  A redirect comes back with `redirect_to` filled and outcome ok."""
        exchange = _Exchange(request, self._clock)
        known = self._plans.get(id(request.settings))
        plan = known[1] if known and not known[1].client.is_closed else await self._plan(request.settings)
        place = _place(request.url, plan)
        if isinstance(place, Fault):
            return exchange.failed(place)
        plan.client.under_way += 1
        try:
            return await self._ask(exchange, place, plan)
        finally:
            plan.client.under_way -= 1

    async def close(self) -> None:
        self._plans.clear()
        if self._clients is not None:
            await self._clients.close()
            self._clients = None

    async def _ask(self, exchange: _Exchange, place: tuple[Origin, str], plan: _Plan) -> Fetched:
        origin, target = place
        request = exchange.request
        sending = Sending(target, plan.lines_for(request), request.post, exchange.deadline)
        try:
            response = await plan.client.send(origin, sending, plan.timeout, exchange.sent)
        except WEATHER as error:
            return exchange.failed(fault_of(error, is_tls=origin.is_tls))
        try:
            return await exchange.read(response)
        finally:
            response.release()

    async def _plan(self, settings: FetchSettings) -> _Plan:
        if self._clients is None:
            self._clients = Clients()
        if len(self._plans) >= PLANS:
            self._plans.clear()
        plan = _Plan(settings, await self._clients.of(settings))
        self._plans[id(settings)] = (settings, plan)  # kept with it, so that no other gets its id
        return plan


def check_settings(settings: FetchSettings) -> None:
    """Raises ConfigError when no fetch could ever be made with these settings."""
    check_addresses(settings.allow_networks, settings.allow_ports, settings.nameservers, settings.proxy)
    _make_headers(settings, "*/*", is_foreign=False)
    if settings.ca_file:
        tls_context(settings.ca_file)


class _Plan:
    """What all requests with the same settings share, made once."""

    __slots__ = ("_made", "_settings", "client", "is_proxied", "takes_onions", "timeout")

    def __init__(self, settings: FetchSettings, client: Client) -> None:
        self.client = client
        self.is_proxied = settings.proxy is not None
        self.takes_onions = is_socks(settings.proxy)
        self.timeout = ClientTimeout(
            connect=settings.connect_timeout.total_seconds(),
            sock_read=settings.read_timeout.total_seconds(),
        )
        self._settings = settings
        self._made: dict[tuple[str, bool, bool, bool, bool], bytes] = {}

    def lines_for(self, request: FetchRequest) -> bytes:
        """The header lines of one request, but for those that follow from its origin and its body."""
        etag = request.etag if request.etag and request.etag.isprintable() else None
        date = request.last_modified
        date = date if date and date.isprintable() else None
        key = (request.accept, request.is_foreign, etag is not None, date is not None, bool(request.cookies))
        lines = self._made.get(key)
        if lines is None:
            if len(self._made) >= ACCEPTS:
                self._made.clear()
            lines = self._made[key] = self._make(*key)
        if etag is not None:
            lines += b"If-None-Match: %b\r\n" % etag.encode()
        if date is not None:
            lines += b"If-Modified-Since: %b\r\n" % date.encode()
        if request.cookies and not request.is_foreign:
            lines += b"Cookie: %b\r\n" % request.cookies.encode()
        if request.is_fresh and b"cache-control:" not in lines.lower():
            lines += b"Cache-Control: no-cache\r\n"
        if request.post is not None and request.post_type:
            lines += b"Content-Type: %b\r\n" % request.post_type.encode()
        return lines

    def _make(self, accept: str, is_foreign: bool, *ours: bool) -> bytes:
        headers = _make_headers(self._settings, accept, is_foreign)
        for name, is_ours in zip(("If-None-Match", "If-Modified-Since", "Cookie"), ours, strict=True):
            if is_ours:
                headers.popall(name, None)
        return "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode()


@dataclass(slots=True)
class _Body:
    wire: bytes = b""
    body: bytes = b""
    fault: Fault | None = None


class _Exchange:
    """One request on its way to a Fetched."""

    __slots__ = ("_at", "deadline", "request", "took")

    def __init__(self, request: FetchRequest, clock: Clock) -> None:
        self.request = request
        self._at = clock.now()
        self.took = clock.stopwatch()
        self.deadline = asyncio.get_running_loop().time() + request.settings.total_timeout.total_seconds()

    def failed(self, fault: Fault) -> Fetched:
        """Nothing came back.  The request may have been out until the last moment."""
        took = self.took()
        return Fetched(
            url=self.request.url,
            outcome=fault.outcome,
            at=self._at,
            took=took,
            sent_after=took,
            detail=fault.detail,
        )

    def sent(self) -> timedelta:
        """The request is on the line: says so, and how long that took."""
        if self.request.on_sent is not None:
            self.request.on_sent()
        return self.took()

    async def read(self, response: FarResponse) -> Fetched:
        """The answer, its body read as far as it is worth it."""
        if self.request.on_heard is not None:
            self.request.on_heard()
        status = response.status
        head = read_head(response.headers, response.raw_headers, self._at)
        if head.problem or status < 200:
            problem = head.problem or f"status {status} where an answer should be"
            return self._answered(response, head, _Body(fault=Fault(Outcome.PROTOCOL_ERROR, problem)))
        if 300 <= status < 400:
            return self._without_body(response, head)
        refused = refused_header(head.content_type, self._types)
        body = _refused(refused) if refused is not None else await self._read_body(response, head)
        wrong = refused_body(head.content_type, body.body, self._types)
        return self._answered(response, head, _refused(wrong) if wrong is not None else body)

    @property
    def _types(self) -> tuple[str, ...]:
        """robots.txt has a limit of its own and is text whatever it is called."""
        return self.request.settings.types if self.request.body_limit is None else ()

    def _answered(
        self, response: FarResponse, head: Head, body: _Body, redirect_to: str | None = None
    ) -> Fetched:
        outcome = _outcome(response.status, head, body) if redirect_to is None else Outcome.OK
        return Fetched(
            url=self.request.url,
            outcome=outcome,
            at=self._at,
            took=self.took(),
            sent_after=response.sent_after,
            status=response.status,
            phrase=plain(response.reason or "", 200),
            headers=head.headers,
            wire=body.wire,
            body=body.body,
            address=response.far.address,
            redirect_to=redirect_to,
            retry_after=head.retry_after,
            etag=head.etag,
            last_modified=head.last_modified,
            content_type=head.content_type,
            detail=body.fault.detail if body.fault is not None else _words(response, outcome),
        )

    def _without_body(self, response: FarResponse, head: Head) -> Fetched:
        """304 and redirects: the head says it all, so the body is not waited for."""
        if response.status == 304:
            is_asked = self.request.etag is not None or self.request.last_modified is not None
            fault = Fault(Outcome.NOT_MODIFIED, "") if is_asked else _UNASKED_304
            return self._answered(response, head, _Body(fault=fault))
        target = _redirect_target(response.status, head.locations, self.request.url)
        if not isinstance(target, Fault) and _is_hidden(target) and not is_socks(self.request.settings.proxy):
            target = Fault(Outcome.ADDRESS_REFUSED, f"redirect to {NO_TOR}")
        if isinstance(target, Fault):
            return self._answered(response, head, _Body(fault=target))
        return self._answered(response, head, _Body(), redirect_to=target)

    async def _read_body(self, response: FarResponse, head: Head) -> _Body:
        settings, own_limit = self.request.settings, self.request.body_limit
        is_success = response.status < 300
        length = head.content_length
        if is_success and own_limit is None and length is not None and length > settings.wire_limit:
            return _Body(fault=Fault(Outcome.TOO_LARGE, f"{length} bytes announced"))
        room = settings.wire_limit if is_success else min(ERROR_BODY, settings.wire_limit)
        limit = own_limit or settings.body_limit
        decoder = self._decoder(head.codings, limit) if head.codings else None
        if isinstance(decoder, Fault):
            return _Body(fault=decoder)
        reader = _BodyReader(response, decoder, room if decoder else min(room, limit))
        if self.request.reserve is not None:
            claim = body_claim(length, wire_limit=room, body_limit=limit, is_coded=decoder is not None)
            reader.reserve = functools.partial(self.request.reserve, claim)
        fault = await reader.read(self.deadline)
        wire = reader.wire()
        return _Body(wire, decoder.body() if decoder is not None else wire, fault)

    def _decoder(self, codings: tuple[str, ...], limit: int) -> BodyDecoder | Fault | None:
        settings = self.request.settings
        limits = DecodeLimits(body=limit, ratio=settings.ratio_limit, layers=settings.encoding_layers)
        return make_decoder(codings, limits)


class _NoRoom(Exception):
    """In memory, and not for long enough."""


class _BodyReader:
    """Takes a body off the line in the chunks it comes in, decoding as it goes."""

    __slots__ = ("_decoder", "_response", "_room", "_size", "_wire", "reserve")

    def __init__(self, response: FarResponse, decoder: BodyDecoder | None, room: int) -> None:
        self._response = response
        self._decoder = decoder
        self._room = room
        self._size = 0
        self._wire = io.BytesIO()  # one copy: its buffer becomes the body
        self.reserve: Callable[[], Awaitable[bool]] | None = (
            None  # waits for room, once the body turns out large
        )

    async def read(self, deadline: float) -> Fault | None:
        stream, far = self._response.content, self._response.far
        far.allow(2 * self._room + MIB)
        fault: Fault | None = None
        try:
            if stream.is_eof():  # the common case: it came with the head, there is nothing to wait for
                fault = None if stream.at_eof() else self._take(stream.read_nowait())
            else:
                async with asyncio.timeout_at(deadline) as limit:
                    while fault is None and not stream.at_eof():
                        fault = self._take(await stream.readany())
                        if self.reserve is not None and self._held() > FREE:
                            await self._wait_for_room(limit, self.reserve)
        except _NoRoom:
            return Fault(Outcome.LANE_CLOSED, NO_ROOM)  # no look: the watch is as due as it was
        except WEATHER as error:
            return fault_of(error, is_tls=self._response.is_tls)
        if fault is None and far.cut_by is not None and self._ends_with_line():
            return Fault(Outcome.TRUNCATED, "the line was cut inside the body")
        return fault or (self._decoder.finish() if self._decoder is not None else None)

    def _held(self) -> int:
        return self._size if self._decoder is None else max(self._size, self._decoder.size)

    async def _wait_for_room(self, limit: asyncio.Timeout, reserve: Callable[[], Awaitable[bool]]) -> None:
        """The far end is not blamed for the time that we have no room, nor when we give up."""
        self.reserve = None
        loop, left = asyncio.get_running_loop(), (limit.when() or 0.0) - asyncio.get_running_loop().time()
        limit.reschedule(None)
        if not await reserve():
            raise _NoRoom
        limit.reschedule(loop.time() + left)

    def wire(self) -> bytes:
        return self._wire.getvalue()

    def _ends_with_line(self) -> bool:
        """Neither a length nor chunks: then only a clean close tells that the body is whole."""
        headers = self._response.headers
        return hdrs.CONTENT_LENGTH not in headers and hdrs.TRANSFER_ENCODING not in headers

    def _take(self, chunk: bytes) -> Fault | None:
        self._size += len(chunk)
        over = self._size - self._room
        if over > 0:
            chunk = chunk[:-over]
        self._wire.write(chunk)
        fault = self._decoder.feed(chunk) if self._decoder is not None else None
        if fault is None and over > 0:
            return Fault(Outcome.TOO_LARGE, f"body over {self._room} bytes")
        return fault


def _words(response: FarResponse, outcome: Outcome) -> str:
    """What an answer that is no page said, for people."""
    if outcome is Outcome.OK:
        return ""
    said = plain(f"status {response.status} {response.reason or ''}", 200).rstrip()
    return f"{said} without a body" if outcome is Outcome.EMPTY else said


def _refused(reason: Reason) -> _Body:
    """Nothing of it is handed on."""
    return _Body(fault=Fault(Outcome.TYPE_REFUSED, reason.note))


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


def _is_hidden(url: str) -> bool:
    return ONION in url and host_of(url).rstrip(".").endswith(ONION)


def readable(text: str) -> URL | Fault:
    """Takes a canonical URL as it is; anything else is not ours to mend."""
    if not text.startswith(("http://", "https://")):
        return Fault(Outcome.SCHEME_REFUSED, f"only http and https, not {plain(text, 60)!r}")
    words = too_long(text)
    if words:
        return Fault(Outcome.SCHEME_REFUSED, f"the URL is too long: {words}")
    try:
        url = URL(text, encoded=True)
        if url.raw_host and url.port is not None:
            return url
    except ValueError:
        pass
    return Fault(Outcome.SCHEME_REFUSED, f"not a URL: {plain(text, 60)!r}")


def _place(text: str, plan: _Plan) -> tuple[Origin, str] | Fault:
    """Where to connect and what to ask for there, or why not.  Of an origin this is worked out once."""
    start = text.find("/", 8)  # past https://
    origin = plan.client.origin(text[:start]) if start > 0 else None
    if origin is None or too_long(text) or not _is_plain(text):
        url = readable(text)
        if isinstance(url, Fault):
            return url
        target = url.raw_path_qs
        if not _is_plain(target):
            return Fault(Outcome.SCHEME_REFUSED, f"not a URL: {plain(text, 60)!r}")
        try:
            origin = plan.client.meet(text[: max(start, 0)], url)
        except ValueError as error:
            return fault_of(error, is_tls=False)
        origin.refused = _refused_unasked(url, plan)
    else:
        target = text[start:]
    if origin.refused is not None:
        return Fault(Outcome.ADDRESS_REFUSED, origin.refused.note)
    return origin, target


def _is_plain(text: str) -> bool:
    """As a canonical URL is: it can go into a request as it stands."""
    return text.isascii() and text.isprintable() and " " not in text and "#" not in text


def _refused_unasked(url: URL, plan: _Plan) -> Reason | None:
    """What can be refused without a look-up: the port, an address that is written out, and behind a proxy localhost.

    A proxy resolves names itself, so there the guard sees only the proxy; the operator answers for it.
    """
    host = url.raw_host or ""
    if not plan.takes_onions and host.rstrip(".").lower().endswith(ONION):
        return Reason("address_refused", note=NO_TOR)
    address = host if _is_address(host) else _SOME_PUBLIC_ADDRESS
    reason = plan.client.guard.refuses(address, url.port or 0)
    if reason is None and plan.is_proxied and host.rstrip(".").endswith("localhost"):
        return Reason("address_refused", note="localhost, as seen from the proxy")
    return reason


_SOME_PUBLIC_ADDRESS = "9.9.9.9"  # stands for a name not looked up yet, so that only the port is judged


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _make_headers(settings: FetchSettings, accept: str, is_foreign: bool) -> CIMultiDict[str]:
    headers = CIMultiDict(
        {
            "User-Agent": settings.user_agent,
            "Accept": accept,
            "Accept-Language": settings.accept_language,
            "Accept-Encoding": ACCEPT_ENCODING,
        }
    )
    for name, value in settings.headers:
        if name.lower() in FRAMING:
            raise ConfigError(f"fetch.headers: {name} is not yours to set, it follows from the request")
        if name.lower().startswith("proxy-"):
            continue  # credentials of a proxy belong into its address, or they would reach the site
        if not is_foreign or name.lower() in HARMLESS:
            headers[name] = value
    for name, value in headers.items():
        if not (name.isascii() and name.isprintable() and value.isprintable()) or ":" in name or " " in name:
            raise ConfigError(f"fetch.headers: {name!r} holds a character that a header cannot carry")
    return headers
