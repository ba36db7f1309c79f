"""What every call of the API and every page has: the installation, a few threads to ask it in, and short memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends
from starlette.requests import Request

from vedette.app.service import ServiceState
from vedette.contracts.errors import InputError
from vedette.operations import access_tokens
from vedette.operations.access_tokens import AuditEntry
from vedette.operations.change_feeds import feed_of_secret
from vedette.operations.freshness import Freshness
from vedette.operations.freshness_apart import FreshnessProcess
from vedette.operations.installation import Installation
from vedette.store.access_rows import AccessToken
from vedette.surface.http.access_check import WHO, Gate, Right, Visitor
from vedette.surface.http.long_work import WorkBoard

T = TypeVar("T")
THREADS = 4  # the engine has those of the event loop to itself
FRESH = timedelta(seconds=5)  # of real time, for figures that cost much,
SHARE = 20  # and so many times as long as they took: they are never worked out for more of the time
LONG_AGO_S = 60.0  # nobody asked for so long: who asks now is shown what holds now,
PATIENCE_S = 0.3  # where that is there in time
SHARED_S = 1.0  # that what many browsers ask for at once is made for all of them
LASTING = frozenset(("freshness",))  # figures that no single request changes
TRUST_S = 2.0  # that a token or a session is remembered: a revoked one is let in no longer


@dataclass(slots=True)
class Web:
    """One server's."""

    installation: Installation
    state: ServiceState
    static_token: str | None = None
    patience_s: float = PATIENCE_S
    gate: Gate | None = None
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(THREADS, "vedette-http"))
    figures: FreshnessProcess = field(default_factory=FreshnessProcess)
    trials: FreshnessProcess = field(default_factory=FreshnessProcess)  # what somebody asks for, beside it
    work: WorkBoard = field(default_factory=WorkBoard)
    _kept: dict[str, tuple[float, float, Any]] = field(default_factory=dict)  # when, how long it took, what
    _shared: dict[str, tuple[float, Any]] = field(default_factory=dict)  # when it was made, what
    _changed_at: float = 0.0
    _locks: dict[str, asyncio.Lock] = field(default_factory=dict)
    _renewals: dict[str, asyncio.Task[Any]] = field(default_factory=dict)

    async def ask(self, call: Callable[..., T], *given: Any, **named: Any) -> T:
        """An operation on the installation, in a thread."""
        work = partial(call, self.installation, *given, **named)
        return await asyncio.get_running_loop().run_in_executor(self.pool, work)

    async def remembered(self, name: str, call: Callable[[Installation], T]) -> T:
        """What it was a moment ago, at once; when that is old it is asked again behind the answer."""
        kept = self._kept.get(name)
        if kept is None:
            return await self._renewed(name, call)
        if self._is_old(kept):
            self._renew(name, call)
            if asyncio.get_running_loop().time() - kept[0] >= LONG_AGO_S:
                await asyncio.wait([self._renewals[name]], timeout=self.patience_s)
        return cast(T, self._kept.get(name, kept)[2])

    def at_hand(self, name: str, call: Callable[[Installation], T]) -> T | None:
        """The same without waiting for the first answer; None: it is being worked out."""
        kept = self._kept.get(name)
        if kept is None or self._is_old(kept):
            self._renew(name, call)
        return None if kept is None else cast(T, kept[2])

    async def shared(self, name: str, make: Callable[[], Awaitable[T]]) -> T:
        """Made once for all who ask within a second.

        A page that hears of news asks a second later (`vedette.js`), so what it is given was made after them.
        """
        clock = asyncio.get_running_loop().time
        asked = clock()  # who waits for the one before is given that, or ten would wait for ten
        async with self._locks.setdefault(name, asyncio.Lock()):
            made = self._shared.get(name)
            if made is None or made[0] < max(asked - SHARED_S, self._changed_at):
                begun = clock()  # what happens while it is made may be missing
                made = self._shared[name] = (begun, await make())
            return cast(T, made[1])

    def forget(self) -> None:
        """Something was changed here: lists are asked anew."""
        self._kept = {name: kept for name, kept in self._kept.items() if name in LASTING}
        self._shared.clear()
        self._changed_at = asyncio.get_running_loop().time()  # also of what is being made now

    def _is_old(self, kept: tuple[float, float, Any]) -> bool:
        at, took, _ = kept
        return asyncio.get_running_loop().time() - at >= max(FRESH.total_seconds(), SHARE * took)

    def _renew(self, name: str, call: Callable[[Installation], Any]) -> None:
        if name not in self._renewals:
            task = asyncio.get_running_loop().create_task(self._renewed(name, call, is_asked=False))
            self._renewals[name] = task
            task.add_done_callback(partial(self._ended, name))

    def _ended(self, name: str, task: asyncio.Task[Any]) -> None:
        self._renewals.pop(name, None)
        if not task.cancelled() and task.exception() is not None:
            self._kept.pop(name, None)  # who asks next hears why

    async def _renewed(self, name: str, call: Callable[[Installation], T], *, is_asked: bool = True) -> T:
        clock = asyncio.get_running_loop().time
        async with self._locks.setdefault(name, asyncio.Lock()):
            if is_asked and (kept := self._kept.get(name)) is not None:
                return cast(T, kept[2])  # another request waited for the same
            begun = clock()
            found = await self.ask(call)
            self._kept[name] = (clock(), clock() - begun, found)
            return found

    async def promise(self, *, patience: float = 0.0) -> Freshness | None:
        """How fresh we are; None: nothing is watched yet, or that of a large store is being worked out.

        `patience`: seconds that may be waited for the first answer of a large store.
        """
        if not self.figures.takes_long(self.installation):
            return await self.remembered("freshness", self._freshness)
        found = self.at_hand("freshness", self._freshness)
        if found is None and patience and (task := self._renewals.get("freshness")) is not None:
            await asyncio.wait({task}, timeout=patience)
            found = self.at_hand("freshness", self._freshness)
        return found

    def _freshness(self, installation: Installation) -> Freshness | None:
        try:
            return self.figures.ask(installation)
        except InputError:
            return None

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
        self.forget()
        if self.installation.has_store:
            await self.ask(access_tokens.note_request, entry)

    def close(self) -> None:
        self.state.events.close()
        self.figures.close()
        self.trials.close()
        self.work.close()
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
