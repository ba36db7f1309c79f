"""A server on a stocked store, and a client that asks it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from stocked import FixedClock

from vedette.app.service import ServiceState
from vedette.config.model import Loaded, parse
from vedette.operations.installation import Installation
from vedette.surface.http.service_pages import opened


async def no_metrics() -> str:
    return "vedette_x 1\n"


def an_installation(data: Path, **sections: Any) -> Installation:
    return Installation(Loaded(config=parse(sections), path=None, data=data, digest="x"), FixedClock())


@dataclass
class Answer:
    status: int
    text: str
    headers: Any
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass
class Client:
    session: aiohttp.ClientSession
    address: str
    state: ServiceState
    headers: dict[str, str] = field(default_factory=dict)

    async def ask(self, path: str, method: str = "GET", **given: Any) -> Answer:
        headers = {**self.headers, **given.pop("headers", {})}
        given.setdefault("allow_redirects", False)
        async with self.session.request(method, self.address + path, headers=headers, **given) as answer:
            cookies = {name: morsel.value for name, morsel in answer.cookies.items()}
            return Answer(answer.status, await answer.text(errors="replace"), answer.headers, cookies)

    async def post(self, path: str, **given: Any) -> Answer:
        return await self.ask(path, "POST", **given)


@asynccontextmanager
async def serving(
    installation: Installation, token: str | None = None, hosts: tuple[str, ...] = (), **headers: str
) -> AsyncIterator[Client]:
    state = ServiceState(no_metrics, lambda: True)
    door = opened("127.0.0.1:0", token, None, hosts, installation)
    jar = aiohttp.DummyCookieJar()
    async with door(state) as address, aiohttp.ClientSession(cookie_jar=jar) as session:
        yield Client(session, address, state, headers)
