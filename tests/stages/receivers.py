"""Far ends on loopback that are told things: an HTTP receiver that checks signatures, an SMTP server."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage

from aiohttp import web

KEY = bytes(range(32))
SECRET = "whsec_" + base64.b64encode(KEY).decode()


@dataclass
class Receiver:
    """Keeps what it was told; answers as it is told to, 200 unless told otherwise."""

    answers: list[int] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    told: list[tuple[str, dict[str, object]]] = field(default_factory=list)  # webhook-id, body
    forged: int = 0
    hangs: bool = False
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        if self.hangs:
            await asyncio.sleep(30)
        given = request.headers.get("webhook-signature")
        if given is not None and given != self._signature(request, body):
            self.forged += 1
        self.told.append((request.headers.get("webhook-id", ""), json.loads(body)))
        status = self.answers.pop(0) if self.answers else 200
        return web.Response(status=status, text="heard", headers=self.headers if status != 200 else {})

    def _signature(self, request: web.Request, body: bytes) -> str:
        """By the specification's own words, sharing no code with ours."""
        content = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}.".encode() + body
        return "v1," + base64.b64encode(hmac.new(KEY, content, hashlib.sha256).digest()).decode()


@asynccontextmanager
async def receiver(**given: object) -> AsyncIterator[Receiver]:
    async with receiving(Receiver(**given)) as made:  # type: ignore[arg-type]
        yield made


@asynccontextmanager
async def receiving(made: Receiver) -> AsyncIterator[Receiver]:
    app = web.Application()
    app.router.add_post("/hook", made.take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.port = runner.addresses[0][1]
    try:
        yield made
    finally:
        await runner.cleanup()


@dataclass
class Postman:
    """As much of RFC 5321 as a client needs; `answers` are given to DATA, in order."""

    answers: list[str] = field(default_factory=list)
    letters: list[EmailMessage] = field(default_factory=list)
    password: str | None = None
    port: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def say(line: str) -> None:
            writer.write(line.encode() + b"\r\n")

        say("220 here")
        while line := (await reader.readline()).decode().strip():
            verb = line.split()[0].upper()
            if verb == "EHLO":
                say("250-here")
                say("250 AUTH PLAIN" if self.password else "250 8BITMIME")
            elif verb == "AUTH":
                is_right = base64.b64decode(line.split()[-1]).endswith(f"\0{self.password}".encode())
                say("235 in" if is_right else "535 no")
            elif verb == "DATA":
                say("354 go on")
                body = await reader.readuntil(b"\r\n.\r\n")
                answer = self.answers.pop(0) if self.answers else "250 kept"
                if answer.startswith("250"):
                    self.letters.append(message_from_bytes(body[:-5], policy=policy.default))  # type: ignore[arg-type]
                say(answer)
            elif verb == "QUIT":
                say("221 bye")
                break
            else:
                say("250 yes")
        writer.close()


@asynccontextmanager
async def postman(**given: object) -> AsyncIterator[Postman]:
    made = Postman(**given)  # type: ignore[arg-type]
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
