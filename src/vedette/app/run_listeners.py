"""Who hears the events of a run beside those who asked for it: traces, and Tor.  Nothing is loaded for what is off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from vedette import __version__
from vedette.config.model import Config, secret
from vedette.config.policies import sources_of
from vedette.contracts.events import Event, ProblemTold
from vedette.contracts.ports import Clock
from vedette.core.urls.canonical import host_of
from vedette.fetch.tor_circuits import ControlPort, TorCircuits
from vedette.telemetry.traces import Traces, otlp_exporter

OnEvent = Callable[[Event], None]


@asynccontextmanager
async def heard_by_all(config: Config, on_event: OnEvent, clock: Clock) -> AsyncIterator[OnEvent]:
    """Tells an event to whoever the configuration names, then to `on_event`.  Nothing in the loop waits for them."""
    async with AsyncExitStack() as stack:
        listeners: list[OnEvent] = []
        if config.log.traces is not None:
            traces = _traces(config, config.log.traces)
            stack.push_async_callback(asyncio.to_thread, traces.close)
            listeners.append(traces.hear)
        if config.tor.control is not None:
            loop = asyncio.get_running_loop()

            def problem(what: str) -> None:
                loop.call_soon_threadsafe(on_event, ProblemTold(at=clock.now(), what=what))

            circuits = TorCircuits(_control_port(config, config.tor.control), problem)
            stack.push_async_callback(asyncio.to_thread, circuits.close)
            listeners.append(circuits.hear)
        yield _all_of((*listeners, on_event)) if listeners else on_event


def _all_of(listeners: tuple[OnEvent, ...]) -> OnEvent:
    def hear(event: Event) -> None:
        for listener in listeners:
            listener(event)

    return hear


def _traces(config: Config, address: str) -> Traces:
    sources = [one for one in sources_of(config) if ".onion" not in one.url.lower()]
    return Traces(
        otlp_exporter(address),
        version=__version__,
        hunting=frozenset(str(one.id) for one in sources if one.options.hunt),
        named=frozenset([*(host_of(one.url) for one in sources), *(str(one.id) for one in sources)]),
    )


def _control_port(config: Config, control: str) -> ControlPort:
    address, _, port = control.rpartition(":")
    password = config.tor.password
    return ControlPort(
        address=address,
        port=int(port),
        password=None if password is None else secret(password, "`tor.password`"),
    )
