"""`vedette panel demo`: the panel against twelve played providers on this machine.  No keys, no money, no network."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from vedette.app.panel import Panel, PanelRequest
from vedette.config.model import Loaded, lend, parse
from vedette.contracts.errors import VedetteError
from vedette.engine.panel.provider_lanes import PROVIDER_LANE
from vedette.livingweb.providers import TWELVE, FaultRule, KeyLimit, LivingProviders
from vedette.operations.panel_runs import end_json
from vedette.providers.provider_table import PROVIDERS
from vedette.surface.cli.panel_runs import showing
from vedette.surface.cli.panel_text import answers_lines, view_lines
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

KEY = "VEDETTE_DEMO_KEY"
LATENCY = 0.3  # seconds of every answer
PER_MINUTE = 1200
NAMES = tuple(f"{name}.example" for name in "harbour mill orchard foundry library bakery".split())
START_S = 10.0
FAILS_S = 2.2  # of one provider: its breaker opens within the first second, and asks again when that is over
PROBED_AFTER = timedelta(seconds=2)  # 15 s for real ones (spec 003), in which nothing is to be seen


def register(app: typer.Typer) -> None:
    verb(app, "demo", example="vedette panel demo")(demo)


def demo(
    session: Session,
    domains: Annotated[int, typer.Option("--domains", min=1, max=5000, metavar="N", help="So many.")] = 24,
) -> None:
    """Try the panel on this machine: twelve played providers, no keys, no money.

    Asks about made-up domains, one provider failing for a while, and shows the batch and some answers.  Nothing of
    your configuration or environment is used, and nothing is kept unless --data names a folder.
    """
    session.out.note("Twelve played providers on this machine; cohere fails at first, and its breaker opens.")
    folder = tempfile.TemporaryDirectory(prefix="vedette-panel-", ignore_cleanup_errors=True)
    with folder as name, _providers() as town:
        loaded = _loaded(town, session.given.data or Path(name))
        lane = replace(PROVIDER_LANE, closed_for=PROBED_AFTER)
        panel = Panel(loaded, clock=session.clock, lane=lane, reads_environment=False)
        names = [NAMES[n] if n < len(NAMES) else f"site{n}.example" for n in range(domains)]
        asked = PanelRequest(domains=[(str(n), one) for n, one in enumerate(names, start=1)])
        with showing(session) as on_progress:
            end = panel.run(asked, on_progress)
        if end.error is not None:
            raise VedetteError(f"the demonstration ended early: {end.error}")
        if session.given.as_json:
            session.out.stream(end_json(end))
            return
        with panel.view() as store:
            view_lines(session.out, store.view(end.batch), session.now())
            session.out.say(f"What four of them answered about {names[0]}:")
            answers_lines(session.out, store.about(names[0])[:4], names[0])
    _afterword(session)


def _afterword(session: Session) -> None:
    kept = session.given.data
    if kept is not None:
        session.out.note(f"Kept in {kept}.  Try: vedette --data {kept} panel answers {NAMES[0]}")
    session.out.note(
        "With real keys: export OPENAI_API_KEY=..., vedette panel plan --domains FILE, "
        "vedette panel run --domains FILE"
    )


@contextmanager
def _providers() -> Iterator[LivingProviders]:
    """In an event loop of their own, as real providers are."""
    ready, stop = threading.Event(), threading.Event()
    failing = FaultRule(kind="server_error", end=FAILS_S)
    quick = KeyLimit(per_minute=PER_MINUTE)  # it has to catch up
    specs = [
        replace(spec, faults=(failing,), limit=quick) if spec.name == "cohere" else spec for spec in TWELVE
    ]
    towns: list[LivingProviders] = []

    async def serve() -> None:
        async with LivingProviders(specs, latency=LATENCY) as town:
            towns.append(town)
            ready.set()
            while not stop.is_set():
                await asyncio.sleep(0.05)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="providers", daemon=True)
    thread.start()
    if not ready.wait(START_S):
        raise VedetteError("the played providers do not start on 127.9.0.1; is loopback limited here?")
    try:
        yield towns[0]
    finally:
        stop.set()
        thread.join()


def _loaded(town: LivingProviders, data: Path) -> Loaded:
    lend(KEY, "played")
    rows = {
        row.name: {
            "base_url": town.origin(row.name) + urlsplit(row.base_url).path,
            "keys": [f"env:{KEY}"],
            "per_minute": PER_MINUTE,
            "price": {"tokens_in": 1.0, "tokens_out": 2.0},
        }
        for row in PROVIDERS
    }
    fetch = {"allow_networks": ["127.0.0.0/8"], "allow_ports": [town.port]}
    return Loaded(config=parse({"providers": rows, "fetch": fetch}), path=None, data=data, digest="demo")
