"""`vedette demo`: a small country on loopback, a hundred pages, one hour of it per second."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vedette.contracts.errors import InputError
from vedette.core.nearest import unknown
from vedette.surface.cli.exits import Exit
from vedette.surface.cli.live import watching
from vedette.surface.cli.session import Session

if TYPE_CHECKING:
    from vedette.config import Loaded
    from vedette.engine.loop import Ended
    from vedette.livingweb import LivingWeb, World
    from vedette.telemetry.events import Event

SPEED = 3600.0  # an hour of the living web in a second
TEMPO = 3.0  # a lively country: a reader should not wait long for the first change
FOREWORD = (
    "A living web on this machine: {hosts} hosts, about {pages} pages, an hour of theirs in a second of yours.",
    "Vedette finds the pages, learns how often each changes, looks politely and reports what changed.",
    "",
)


TWIN_PAGES, TWIN_CHILDREN = 12, 60  # small enough to be read within a minute


def run_demo(session: Session, *, seconds: float | None, twin: str | None = None) -> int:
    """Watch the living web, or the twin of a registry, for so many seconds, or until Ctrl-C."""
    from vedette.telemetry.clock import FastClock

    world = _world(twin)
    clock = FastClock(datetime.fromtimestamp(world.epoch, UTC), speed=SPEED)
    with tempfile.TemporaryDirectory(prefix="vedette-demo-", ignore_cleanup_errors=True) as folder:
        data = session.given.data or Path(folder)
        stage = replace(session, clock=clock, given=replace(session.given, data=data), _loaded=None)
        pages = round(sum(host.spec.pages for host in world.hosts), -1)
        for words in FOREWORD:
            session.out.note(words.format(hosts=len(world.hosts), pages=pages))
        with watching(stage) as on_event:
            ended = asyncio.run(_watch(stage, world, seconds, on_event))
        if ended.error is not None:
            session.out.note(f"the demonstration ended early: {ended.error}")
            return Exit.FAILED
        _afterword(session, stage)
    return Exit.OK


def _world(twin: str | None) -> World:
    from vedette.livingweb import croatia_world, demo_world

    twins = {"croatia": lambda: croatia_world(pages=TWIN_PAGES, children=TWIN_CHILDREN)}
    if twin is None:
        return demo_world(tempo=TEMPO)
    if twin not in twins:
        raise InputError(unknown("twin", twin, twins))
    return twins[twin]()


async def _watch(
    stage: Session, world: Any, seconds: float | None, on_event: Callable[[Event], None]
) -> Ended:
    from vedette.app import RunRequest, run_async
    from vedette.livingweb import LivingWeb

    clock = stage.clock
    async with LivingWeb(world, now=lambda: clock.now().timestamp()) as web:
        request = RunRequest(seconds=None if seconds is None else seconds * SPEED, takes_orders=False)
        return await run_async(_loaded(web, stage.loaded.data), request, on_event=on_event, clock=clock)


def _loaded(web: LivingWeb, data: Path) -> Loaded:
    from vedette.config import Loaded, parse

    sources = [
        {"name": source["name"], "url": source["url"], "lister": source["lister"], **source["options"]}
        for source in web.sources()
    ]
    raw = {
        "sources": sources,
        "fetch": {
            "allow_networks": ["127.0.0.0/8"],
            "allow_ports": [web.port],
            "nameservers": [web.nameserver],
            "user_agent": "Vedette-demo/0.1 (+https://vedette.example/bot)",
        },
    }
    return Loaded(config=parse(raw), path=None, data=data, digest="demo")


def _afterword(session: Session, stage: Session) -> None:
    """What to try next, with words that really work."""
    kept = session.given.data
    session.out.note("")
    if kept is None:
        session.out.note(
            "Nothing was kept.  With `vedette --data DIR demo` it stays: try `explain`, `diff`, `evidence verify`."
        )
    else:
        session.out.note(
            f"Kept in {kept}.  Try: vedette --data {kept} changes; ... explain URL; ... evidence verify"
        )
    session.out.note("Your own web: vedette init, vedette add URL, vedette run")
