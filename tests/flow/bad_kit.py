"""Bad far ends in numbers: one loopback address per case, one store for all, and the program as users run it."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from hostile import Hostile, Step
from machine import patient

from vedette.contracts.words import Outcome
from vedette.surface.cli import main

ROOT = Path(__file__).resolve().parents[2]
NO_ROBOTS = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
FREE = b"User-agent: *\nDisallow:\n"
PROSE = "Odluka o visini naknade stupa na snagu osmog dana od objave u sluzbenom glasniku. " * 8
VISIT = frozenset("at outcome status seconds changed digest text_chars".split())
QUIET = frozenset((Outcome.OK, Outcome.NOT_MODIFIED))
MOST_MIB = 600
SECONDS = 100  # a run that takes this long does not end by itself

Script = tuple[Step, ...]


@dataclass(frozen=True)
class Case:
    """One bad far end, and what `explain` may call it."""

    name: str
    steps: Script
    outcomes: frozenset[str]
    robots: Script = (NO_ROBOTS,)
    path: str = "/"
    source: dict[str, Any] = field(default_factory=dict)
    others: tuple[tuple[str, Script], ...] = ()  # what further paths answer
    speaks_first: bool = False
    then: Script | None = None  # what the page answers from the second look on


def case(name: str, outcomes: str, *steps: Step, **fields: Any) -> Case:
    """`outcomes`: one word, or several that are all right, separated by spaces."""
    words = frozenset(outcomes.split())
    assert words <= set(Outcome), name
    return Case(name, steps, words, **fields)


def page(
    body: str | bytes,
    kind: str | None = "text/html; charset=utf-8",
    *headers: str | bytes,
    status: str = "200 OK",
) -> bytes:
    """A whole answer with a true length."""
    data = body.encode() if isinstance(body, str) else body
    lines: list[str | bytes] = [f"HTTP/1.1 {status}", f"Content-Length: {len(data)}", "Connection: close"]
    if kind is not None:
        lines.append(f"Content-Type: {kind}")
    return head(*lines, *headers) + data


def head(*lines: str | bytes) -> bytes:
    """Lines as they are, and the blank one."""
    whole = [line if isinstance(line, bytes) else line.encode("latin-1") for line in lines]
    return b"\r\n".join([*whole, b"", b""])


def html(inner: str = f"<p>{PROSE}</p>", title: str = "Odluka", more_head: str = "") -> str:
    return (
        f"<!doctype html><html><head><title>{title}</title>{more_head}</head>"
        f"<body><main>{inner}</main></body></html>"
    )


GOOD = page(html())


def coded(coding: str, body: bytes) -> bytes:
    return page(body, "text/html; charset=utf-8", f"Content-Encoding: {coding}")


def redirect(*locations: str | bytes, status: str = "302 Found") -> bytes:
    lines = [b"Location: " + (x if isinstance(x, bytes) else x.encode("latin-1")) for x in locations]
    return page("", None, *lines, status=status)


def packed(body: bytes, times: int = 1) -> bytes:
    for _ in range(times):
        body = gzip.compress(body, mtime=0)
    return body


class BadHost(Hostile):
    """One case on an address of its own.  robots.txt is served apart unless the case is about it."""

    def __init__(self, bad: Case, address: str, port: int) -> None:
        super().__init__(*bad.steps, speaks_first=bad.speaks_first)
        self.case = bad
        self.address = address
        self.port = port
        self.then = bad.then
        self.looks = 0
        self._scripts = {"/robots.txt": bad.robots, **dict(bad.others)}

    async def __aenter__(self) -> BadHost:
        self._server = await asyncio.start_server(self._serve, self.address, self.port, limit=2**20)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def url(self, path: str = "", host: str = "") -> str:
        return super().url(path or self.case.path, host or self.address)

    def fill(self, places: dict[str, str]) -> None:
        """`{port}`, `{self}` and `{name of a case}` in what the host says become addresses."""
        known = {**places, "self": places[self.case.name], "port": str(self.port)}
        self._scripts = {path: _filled(script, known) for path, script in self._scripts.items()}
        self.steps = _filled(self.steps, known)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._lines.add(task)
        try:
            for step in self.steps if self.case.speaks_first else await self._script(reader):
                await self._play(step, reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass
        finally:
            self._lines.discard(task)
            writer.close()

    async def _script(self, reader: asyncio.StreamReader) -> Script:
        await self._hear(reader)
        path = self.requests[-1].split(b" ")[1].decode("latin-1")
        if path in self._scripts:
            return self._scripts[path]
        self.looks += 1
        return self.then if self.then is not None and self.looks > 1 else self.steps


def _filled(script: Script, known: dict[str, str]) -> Script:
    return tuple(_filled_step(step, known) if isinstance(step, bytes) else step for step in script)


def _filled_step(step: bytes, known: dict[str, str]) -> bytes:
    """With addresses filled in; a length that was true stays true."""
    filled = _PLACE.sub(lambda found: known.get(found[1].decode(), found[0].decode()).encode(), step)
    start, _, body = step.partition(b"\r\n\r\n")
    length = b"Content-Length: %d\r\n" % len(body)
    if filled == step or length not in start:
        return filled
    now = len(filled.partition(b"\r\n\r\n")[2])
    return filled.replace(length, b"Content-Length: %d\r\n" % now, 1)


_PLACE = re.compile(rb"\{([a-z_0-9]+)\}")


@dataclass
class Told:
    code: int
    out: str
    err: str
    mib: int = 0  # what it took at most, where it was a process of its own

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Field:
    """All bad hosts of one test, and one store that watches them."""

    folder: Path
    config: dict[str, Any]
    hosts: dict[str, BadHost] = field(default_factory=dict)
    ended: list[Told] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.config_file = self.folder / "vedette.yaml"
        self.config_file.write_text(yaml.safe_dump(self.config, sort_keys=False), encoding="utf-8")

    async def run(self, *words: str) -> Told:
        """`vedette run` in a process of its own."""
        told = await program(self.folder, "run", *words, "--json", config=self.config_file)
        self.ended.append(told)
        return told

    def tell(self, *words: str) -> Told:
        """Another verb, in this process."""
        return tell(*words, "--config", str(self.config_file))

    def explain(self, name: str) -> dict[str, Any]:
        """Of a case by its name, or of any URL."""
        url = name if "//" in name else self.hosts[name].url()
        told = tell("explain", "--json", url, "--data", str(self.folder / "data"))  # spares reading the file
        assert (told.code, told.err) == (0, ""), url
        said: dict[str, Any] = told.json
        return said


async def watched(cases: Sequence[Case], folder: Path, **config: Any) -> dict[str, object]:
    """Looks at every case as users do, twice; gives what is not as promised, by name of the case."""
    async with field_of(cases, folder, **config) as field:
        await field.run("--once")
        for host in field.hosts.values():
            if host.case.then is not None:
                assert field.tell("add", host.url()).code == 0  # due at once
        await field.run("--until-idle")
        wrong: dict[str, object] = {
            f"run {number}": told
            for number, told in enumerate(field.ended)
            if told.code not in (0, 7) or told.err
        }
        wrong |= {bad.name: why for bad in cases if (why := _wrong(field.explain(bad.name), bad))}
        verified = field.tell("evidence", "verify", "--json")
        if verified.code or verified.json["visits"] < len(cases):
            wrong["evidence"] = verified
        most = max(told.mib for told in field.ended)
        if not 0 < most <= MOST_MIB:
            wrong["memory"] = f"{most} MiB"
        return wrong


def _wrong(said: dict[str, Any], bad: Case) -> str:
    """Why this explanation will not do; empty when it does."""
    visits = said["visits"]
    problems = {
        f"outcome {said['outcome']}": said["outcome"] in bad.outcomes,
        "no next look": said["due_at"] is not None,
        "no reasons": bool(said["reasons"]),
        "a bug": all(visit["outcome"] != Outcome.BUG for visit in visits),
        "fields": all(visit.keys() >= VISIT for visit in visits),
        "no detail": all(visit["detail"] or visit["outcome"] in QUIET for visit in visits),
    }
    found = [words for words, is_right in problems.items() if not is_right]
    return f"{', '.join(found)}: {visits[:1]}" if found else ""


def tell(*words: str) -> Told:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([*words])
    return Told(code, out.getvalue(), err.getvalue())


async def program(folder: Path, *words: str, config: Path | None = None, stdin: bytes | None = None) -> Told:
    """The program as a user runs it.  A run that does not end is ended, and tells so by its code."""
    given = [*words, *(("--config", str(config)) if config else ())]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("VEDETTE_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "vedette",
        *given,
        cwd=folder,
        env=environment | {"PYTHONPATH": str(ROOT / "src")},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    watch = asyncio.create_task(_watch_memory(process.pid))
    try:
        out, err = await asyncio.wait_for(process.communicate(stdin), patient(SECONDS))
    except TimeoutError:
        process.kill()
        await process.wait()
        return Told(-1, "", f"did not end within {SECONDS} s")
    return Told(process.returncode or 0, out.decode(), err.decode(), await watch)


async def _watch_memory(pid: int) -> int:
    """MiB that the process took at most.  `ru_maxrss` would count what its parent had when it was begun."""
    most = 0
    while (now := _peak_mib(pid)) is not None:
        most = now
        await asyncio.sleep(0.05)
    return most


def _peak_mib(pid: int) -> int | None:
    """None: it has ended."""
    try:
        said = Path(f"/proc/{pid}/status").read_text("ascii", "replace").partition("VmHWM:")[2].split()
    except OSError:
        return None
    return int(said[0]) // 1024 if said else None


@asynccontextmanager
async def field_of(cases: Sequence[Case], folder: Path, **config: Any) -> AsyncIterator[Field]:
    """Serves every case and writes the configuration that watches them all."""
    async with AsyncExitStack() as stack:
        hosts: dict[str, BadHost] = {}
        port = 0
        for number, bad in enumerate(cases):
            address = f"127.80.{number // 200}.{number % 200 + 1}"
            host = await stack.enter_async_context(BadHost(bad, address, port))
            port = host.port
            assert bad.name not in hosts, bad.name
            hosts[bad.name] = host
        places = {name: f"{host.address}:{port}" for name, host in hosts.items()}
        for host in hosts.values():
            host.fill(places)
        whole = quick_config(port) | {"sources": [_source(host) for host in hosts.values()]} | config
        yield Field(folder, whole, hosts)


def quick_config(*ports: int) -> dict[str, Any]:
    """Reaches the bad hosts, waits for nobody, gives up early."""
    return {
        "data": "data",
        "fetch": {
            "allow_networks": ["127.0.0.0/8"],
            "allow_ports": list(ports),
            "connect_timeout": "3s",
            "read_timeout": "1500ms",
            "total_timeout": "5s",
        },
        "lanes": {
            "default": {"gap_min": "0s", "gap_max": "0s", "per_minute": 0, "trips_after": 50},
            "engine:browser": {"gap_min": "0s", "gap_max": "0s", "per_minute": 0},
        },
        "retry": {"attempts": 2, "shortest": "20ms", "longest": "50ms"},
        "run": {"at_once": 48, "confirm_after": "500ms"},
    }


def _source(host: BadHost) -> dict[str, Any]:
    return {"url": host.url(), "name": host.case.name, "lister": "page", "risk": "LOW", **host.case.source}
