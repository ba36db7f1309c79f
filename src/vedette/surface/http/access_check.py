"""Every request passes here before any route: whose it is, and what that one may do.  Default deny.

Nobody is let in by a name that is not ours (DNS rebinding), no page of another site may change anything (CSRF: what a
browser says of the origin is checked, `Sec-Fetch-Site` first), and a wrong token is answered late.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol
from urllib.parse import quote, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vedette.surface.http.access_rules import TokenCheck, comes_by_a_proxy, is_ours
from vedette.surface.http.server import ListenOptions, refused

SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
OPEN = frozenset(("/healthz", "/readyz"))  # what a load balancer may ask without a token
COOKIE = "vedette_session"
LOGIN, LOGOUT = "/login", "/logout"
FEEDS = "/feeds/"  # what follows is a secret: it is the credential of this one feed
WHO = "vedette.who"  # in the scope: whose request it is
ADMIN_PATHS = ("/kill-switch", "/api/v1/tokens", "/api/v1/feeds", "/api/v1/audit")


class Right(StrEnum):
    """What a token allows; each includes those before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


_RANK = {right: rank for rank, right in enumerate(Right)}


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who asks, and the most they may do."""

    name: str
    right: Right

    def may(self, wanted: Right) -> bool:
        return _RANK[self.right] >= _RANK[wanted]


class Credentials(Protocol):
    """Tokens and sessions that are kept in the store."""

    async def has_tokens(self) -> bool:
        """Whether anybody must show one."""

    async def of_token(self, token: str) -> Visitor | None: ...
    async def of_session(self, session: str) -> Visitor | None: ...
    async def of_feed(self, secret: str) -> Visitor | None: ...


class NoCredentials:
    """Only the token of the configuration counts."""

    async def has_tokens(self) -> bool:
        return False

    async def of_token(self, token: str) -> Visitor | None:
        return None

    async def of_session(self, session: str) -> Visitor | None:
        return None

    async def of_feed(self, secret: str) -> Visitor | None:
        return None


RightFor = Callable[[str, str], Right]  # of a method and a path


@dataclass(frozen=True, slots=True)
class Gate:
    """Who is let in at this address.  `open_paths`, with what begins by one of `open_prefixes`, ask for nothing."""

    way: ListenOptions
    check: TokenCheck
    kept: Credentials = NoCredentials()
    open_paths: frozenset[str] = OPEN
    open_prefixes: tuple[str, ...] = ()
    has_login: bool = False
    right_for: RightFor | None = None  # None: by method and path, as `right_for` says

    async def refuses(self, request: Request) -> Response | None:
        """None: the request may go on, and the scope says whose it is."""
        if not is_ours(request.headers.get("host"), self.way.hosts):
            return refused(421, f"this name is not one of ours; add it to {self.way.section}.hosts\n")
        if request.method not in SAFE and is_foreign(request):
            return refused(403, "a page of another site may change nothing here\n")
        path = request.url.path
        if path in self.open_paths or path.startswith(self.open_prefixes or ("\0",)):
            return None
        visitor = await self._visitor(request)
        if isinstance(visitor, Response):
            return visitor
        if not visitor.may(wanted := (self.right_for or right_for)(request.method, path)):
            return refused(403, f"this needs a token with the scope {wanted}; yours has {visitor.right}\n")
        request.scope[WHO] = visitor
        return None

    async def token_visitor(self, request: Request, token: str) -> Visitor | None:
        """Whose token this is."""

        async def known() -> Visitor | None:
            is_right = self.check.is_right(f"Bearer {token}")
            return Visitor("serve.token", Right.ADMIN) if is_right else await self.kept.of_token(token)

        return await self._in_turn(request, known)

    async def _in_turn(
        self, request: Request, known: Callable[[], Awaitable[Visitor | None]]
    ) -> Visitor | None:
        """One after another while many are wrong; who does not wait for it has no turn."""
        address = request.client.host if request.client else ""
        if self.check.turn(address):
            async with self.check.turns:
                if request.scope["state"]["line"].is_closing:
                    return None
                await asyncio.sleep(self.check.turn(address))
        visitor = await known()
        self.check.heard(address, is_right=visitor is not None)
        if visitor is None:
            await asyncio.sleep(self.check.delay())
        return visitor

    async def _visitor(self, request: Request) -> Visitor | Response:
        given = request.headers.get("authorization", "")
        session = request.cookies.get(COOKIE, "")
        if request.url.path.startswith(FEEDS):
            secret = request.url.path.removeprefix(FEEDS).partition("/")[0]
            reader = await self._in_turn(request, lambda: self.kept.of_feed(secret))
            return reader or refused(401, "there is no such feed, or it was revoked\n")
        if self.way.token is None and not await self.kept.has_tokens():
            if request.url.path in self.way.locked:
                return refused(403, f"this needs {self.way.section}.token to be set\n")
            if comes_by_a_proxy(request.headers):
                return refused(
                    403,
                    "there is no token yet, so only this machine is let in; make one: vedette token add NAME\n",
                )
            return Visitor("this machine", Right.ADMIN)
        if given:
            kind, _, token = given.partition(" ")
            found = await self.token_visitor(request, token if kind == "Bearer" else "")
        else:
            found = await self.kept.of_session(session) if session else None
        return found or self._unknown(request, has_token=bool(given))

    def _unknown(self, request: Request, *, has_token: bool) -> Response:
        """A browser is shown where to log in; a program is told what is missing."""
        is_person = self.has_login and not has_token and "text/html" in request.headers.get("accept", "")
        if is_person and request.method in SAFE and not request.url.path.startswith("/api/"):
            there = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            return RedirectResponse(f"{LOGIN}?next={quote(there, safe='')}", status_code=303)
        return refused(401, "a token is needed\n")


def right_for(method: str, path: str) -> Right:
    """What a request needs: reading is the least, and what is not known to be reading is writing."""
    if path.startswith(ADMIN_PATHS):
        return Right.ADMIN
    return Right.READ if method in SAFE or path == LOGOUT else Right.WRITE


def is_foreign(request: Request) -> bool:
    """True where a browser says that another site asks.  Programs say nothing of an origin."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = request.headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != request.headers.get("host")


OnChanged = Callable[[Request, int], Awaitable[None]]


def guarded(gate: Gate, app: ASGIApp, on_changed: OnChanged | None = None) -> ASGIApp:
    """The whole application behind the gate.  `on_changed` hears of every request that may have changed something."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)

        async def noted(message: Message) -> None:
            if (
                message["type"] == "http.response.start"
                and request.method not in SAFE
                and on_changed is not None
            ):
                await on_changed(request, message["status"])  # before whoever asked can ask for what follows
            await send(message)

        no = await gate.refuses(request)
        if no is not None:
            await no(scope, receive, noted)
        else:
            await app(scope, receive, noted)

    return answer
