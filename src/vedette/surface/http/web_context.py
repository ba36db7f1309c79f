"""What every call of the API and every page has: the installation, a few threads to ask it in, and short memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends
from starlette.requests import Request

from vedette.app.service import ServiceState
from vedette.operations import access_tokens
from vedette.operations.access_tokens import AuditEntry
from vedette.operations.change_feeds import feed_of_secret
from vedette.operations.installation import Installation
from vedette.store.access_rows import AccessToken
from vedette.surface.http.access_check import WHO, Gate, Right, Visitor

T = TypeVar("T")
THREADS = 4  # the engine has those of the event loop to itself
FRESH = timedelta(seconds=5)  # of real time, for figures that cost much
TRUST_S = 2.0  # that a token or a session is remembered: a revoked one is let in no longer


@dataclass(slots=True)
class Web:
    """One server's."""

    installation: Installation
    state: ServiceState
    static_token: str | None = None
    gate: Gate | None = None
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(THREADS, "vedette-http"))
    _kept: dict[str, tuple[float, float, Any]] = field(default_factory=dict)
    _locks: dict[str, asyncio.Lock] = field(default_factory=dict)

    async def ask(self, call: Callable[..., T], *given: Any, **named: Any) -> T:
        """An operation on the installation, in a thread."""
        work = partial(call, self.installation, *given, **named)
        return await asyncio.get_running_loop().run_in_executor(self.pool, work)

    async def remembered(self, name: str, call: Callable[[Installation], T]) -> T:
        """The same, asked again after FRESH, and never for more than a fifth of the time."""
        clock = asyncio.get_running_loop().time
        async with self._locks.setdefault(name, asyncio.Lock()):
            kept = self._kept.get(name)
            if kept is not None and clock() - kept[0] < max(FRESH.total_seconds(), 5 * kept[1]):
                return cast(T, kept[2])
            begun = clock()
            found = await self.ask(call)
            self._kept[name] = (clock(), clock() - begun, found)
            return found

    async def noted(self, request: Request, status: int) -> None:
        """Who changed something, or tried to."""
        visitor = request.scope.get(WHO)
        who = visitor.name if isinstance(visitor, Visitor) else "nobody yet"
        entry = AuditEntry(
            at=self.installation.now(),
            who=who,
            method=request.method,
            path=request.url.path[:300],
            status=status,
        )
        if self.installation.has_store:
            await self.ask(access_tokens.note_request, entry)

    def close(self) -> None:
        self.state.events.close()
        self.pool.shutdown(wait=False, cancel_futures=True)


@dataclass(slots=True)
class KeptCredentials:
    """Tokens and sessions of the store, remembered for a moment: a page asks many times."""

    web: Web
    _known: dict[str, tuple[float, Any]] = field(default_factory=dict)

    async def has_tokens(self) -> bool:
        return bool(await self._remembered("", access_tokens.has_tokens))

    async def of_token(self, token: str) -> Visitor | None:
        if not self.web.installation.has_store or not token:
            return None
        found = await self._remembered(
            f"token {token}", partial(_swapped, access_tokens.owner_of_token, token)
        )
        return _visitor(found)

    async def of_session(self, session: str) -> Visitor | None:
        if not self.web.installation.has_store:
            return None
        call = partial(_swapped, access_tokens.owner_of_session, session, self.web.static_token)
        return _visitor(await self._remembered(f"session {session}", call))

    async def of_feed(self, secret: str) -> Visitor | None:
        found = await self._remembered(f"feed {secret}", partial(_swapped, feed_of_secret, secret))
        return None if found is None else Visitor(f"feed {found.name}", Right.READ)

    def forget(self) -> None:
        """Something changed: ask the store again."""
        self._known.clear()

    async def _remembered(self, key: str, call: Callable[[Installation], Any]) -> Any:
        now = asyncio.get_running_loop().time()
        kept = self._known.get(key)
        if kept is not None and now - kept[0] < TRUST_S:
            return kept[1]
        found = await self.web.ask(call)
        if len(self._known) > 256:
            self._known.clear()
        self._known[key] = (now, found)
        return found


def _swapped(call: Callable[..., Any], *given: Any) -> Any:
    """`call(installation, *given)` where the installation comes last."""
    *rest, installation = given
    return call(installation, *rest)


def _visitor(found: AccessToken | None) -> Visitor | None:
    return None if found is None else Visitor(found.name, Right(found.scope))


def web_of(request: Request) -> Web:
    return cast(Web, request.app.state.web)


WebDep = Annotated[Web, Depends(web_of)]
