"""Far ends that misbehave on purpose: a scripted HTTP server, a name server, certificates that are wrong."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
import struct
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Any

from vedette.contracts.fetch import Fetched, FetchRequest, FetchSettings
from vedette.contracts.ports import Fetcher
from vedette.telemetry.clock import SystemClock


class Do(Enum):
    """Steps that are not bytes."""

    RESET = "send a TCP reset"
    HOLD = "say nothing more, keep the line"
    NEXT = "wait for the next request on this line, then go on"


NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
Step = bytes | float | Do | Iterator[bytes] | Callable[[], Iterator[bytes]]
OK = b"HTTP/1.1 200 OK\r\n"
HELLO = OK + b"Content-Length: 5\r\n\r\nhello"


class Hostile:
    """A server on 127.0.0.1 that plays one script per connection, whatever it is asked.

    The script begins after the first request's head is in; with `speaks_first` right away.
    """

    def __init__(self, *steps: Step, tls: ssl.SSLContext | None = None, speaks_first: bool = False) -> None:
        self.steps = steps
        self.requests: list[bytes] = []
        self.connections = 0
        self._tls = tls
        self._speaks_first = speaks_first
        self._lines: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Hostile:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls, limit=2**20)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for line in list(self._lines):
            line.cancel()
        await asyncio.gather(*self._lines, return_exceptions=True)

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{path}"

    def settings(self, **changes: Any) -> FetchSettings:
        return quick_settings(self.port, **changes)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._lines.add(task)
        self.connections += 1
        try:
            if not self._speaks_first:
                await self._hear(reader)
            for step in self.steps:
                await self._play(step, reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._lines.discard(task)
            writer.close()

    async def _hear(self, reader: asyncio.StreamReader) -> None:
        self.requests.append(await reader.readuntil(b"\r\n\r\n"))

    async def _play(self, step: Step, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if isinstance(step, bytes):
            writer.write(step)
            await writer.drain()
        elif isinstance(step, float):
            await asyncio.sleep(step)
        elif step is Do.NEXT:
            await self._hear(reader)
        elif step is Do.HOLD:
            await reader.read()
        elif step is Do.RESET:
            line: socket.socket = writer.get_extra_info("socket")
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            raise ConnectionResetError
        else:
            for part in step() if callable(step) else step:
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(0)


class StoppedClock(SystemClock):
    def now(self) -> datetime:
        return NOON

    def chance(self) -> float:
        return 0.5


def answer(*headers: str, status: str = "200 OK", body: bytes = b"hello") -> bytes:
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


async def ask(fetcher: Fetcher, url: str, settings: FetchSettings, **fields: Any) -> Fetched:
    return await fetcher.fetch(FetchRequest(url=url, settings=settings, **fields))


def quick_settings(*ports: int, **changes: Any) -> FetchSettings:
    """Settings that reach the test servers and give up early."""
    fields: dict[str, Any] = {
        "allow_networks": ("127.0.0.1/32",),
        "allow_ports": ports,
        "connect_timeout": timedelta(seconds=2),
        "read_timeout": timedelta(seconds=0.15),
        "total_timeout": timedelta(seconds=2),
    }
    return FetchSettings(**fields | changes)


Zone = Mapping[str, Sequence[str] | str | Callable[[], Sequence[str]]]


class FakeDns(asyncio.DatagramProtocol):
    """A name server with a zone: addresses, "nxdomain", "servfail", "silent", "garbage"; a callable turns."""

    def __init__(self, zone: Zone) -> None:
        self.zone = zone
        self.asked: list[str] = []

    async def __aenter__(self) -> FakeDns:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=("127.0.0.1", 0))
        self.place = f"127.0.0.1:{self._transport.get_extra_info('sockname')[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._transport.close()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        labels, end = [], 12
        while data[end]:
            labels.append(data[end + 1 : end + 1 + data[end]].decode())
            end += data[end] + 1
        name, question = ".".join(labels).lower(), data[12 : end + 5]
        kind = struct.unpack(">H", data[end + 1 : end + 3])[0]
        found = self.zone.get(name, "nxdomain")
        if kind == 1:
            self.asked.append(name)
        answer = found() if callable(found) and kind == 1 else found
        if answer == "silent":
            return
        if answer == "garbage":
            self._transport.sendto(b"\xff" * 40, addr)
            return
        code = {"nxdomain": 3, "servfail": 2}.get(answer if isinstance(answer, str) else "", 0)
        records = [] if isinstance(answer, str) or callable(answer) else _records(answer, kind)
        head = data[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(records), 0, 0)
        self._transport.sendto(head + question + b"".join(records), addr)


def _records(addresses: Sequence[str], kind: int) -> list[bytes]:
    records = []
    for address in addresses:
        family, number = (socket.AF_INET6, 28) if ":" in address else (socket.AF_INET, 1)
        if number == kind:
            packed = socket.inet_pton(family, address)
            records.append(b"\xc0\x0c" + struct.pack(">HHIH", number, 1, 0, len(packed)) + packed)
    return records


class Authority:
    """A certificate authority for tests, made with `openssl` (on Debian it comes with ca-certificates)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.ca_file = str(folder / "ca.pem")
        self._run(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
            "-subj /CN=Test-Authority -keyout ca.key -out ca.pem"
        )

    def server(self, name: str, *, days: int = 2, is_signed: bool = True) -> ssl.SSLContext:
        """A server context whose certificate is for `name`; a negative `days` has run out."""
        stem = f"{name}{days}{is_signed}".replace(":", "_")
        kind = "IP" if name.replace(".", "").isdigit() else "DNS"
        (self._folder / f"{stem}.ext").write_text(f"subjectAltName={kind}:{name}\n")
        self._run(
            "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=test "
            f"-keyout {stem}.key -out {stem}.csr"
        )
        signer = "-CA ca.pem -CAkey ca.key -CAcreateserial" if is_signed else f"-signkey {stem}.key"
        self._run(f"x509 -req -in {stem}.csr {signer} -days {days} -extfile {stem}.ext -out {stem}.pem")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._folder / f"{stem}.pem", self._folder / f"{stem}.key")
        return context

    def _run(self, arguments: str) -> None:
        openssl = shutil.which("openssl")
        assert openssl, "the TLS tests need the openssl program"
        done = subprocess.run([openssl, *arguments.split()], cwd=self._folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
