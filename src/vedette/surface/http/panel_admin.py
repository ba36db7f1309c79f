"""Spec 003's admin of the panel: /healthz, /readyz, /metrics, /batch/{id}, /provider/{name}/state, /kill-switch.

Behind the one door (surface/http/server.py); the kill switch always asks for a token, so without one it is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from vedette.contracts.errors import InputError, StoreError
from vedette.contracts.panel_run import BatchId, BatchView
from vedette.contracts.ports import Clock
from vedette.report.panel import view_json
from vedette.report.plain import dump
from vedette.store.panel.batches import PanelStore
from vedette.surface.http.access_check import Gate, guarded
from vedette.surface.http.access_rules import TokenCheck
from vedette.surface.http.server import METRICS_TYPE, ListenOptions, door
from vedette.telemetry.metrics import Counter, Gauge, Labels, Metric, Registry

if TYPE_CHECKING:
    from vedette.contracts.panel_run import BatchView

# spec 003's must-have metrics of a batch, as text for Prometheus (exposition format 0.0.4).

# How far from letting calls through.
BREAKER = {"closed": 0, "held": 0, "half-open": 1, "open": 2, "blocked": 3, "stopped": 3}
BREAKER_WORDS = "0 closed (fine), 1 half-open, 2 open (tripped), 3 asked no more in this run."
QUANTILES = (("0.5", "p50_ms"), ("0.95", "p95_ms"), ("0.99", "p99_ms"))


@dataclass(slots=True)
class Writes:
    """What the disk and Redis were asked for by this process."""

    groups: int = 0
    rows: int = 0
    seconds: float = 0.0
    redis: int = 0
    is_redis_away: bool = False


# What each provider has: name, words, column of `provider_metrics`.
GAUGES = (
    ("vedette_provider_success_ratio", "Calls of the batch that were answered.", "success_rate"),
    ("vedette_provider_throttle_ratio", "Calls that were told to slow down.", "throttle_rate"),
    ("vedette_provider_error_ratio", "Calls that failed otherwise.", "error_rate"),
    ("vedette_provider_active_calls", "Calls under way.", "under_way"),
    ("vedette_provider_width", "Calls at once that the lanes allow now.", "at_once"),
    ("vedette_provider_rate_per_minute", "Requests a minute that the lanes allow now.", "per_minute"),
)
COUNTERS = (
    ("vedette_provider_cost_usd_total", "Estimated cost.", "cost_usd"),
    ("vedette_provider_retries_total", "Calls that were asked again.", "retries"),
    ("vedette_provider_parked_total", "Cells that ended without an answer.", "parked"),
)
OUTCOMES = (("ok", "ok"), ("throttled", "throttled"), ("error", "errors"))
DIRECTIONS = (("in", "tokens_in"), ("out", "tokens_out"))


def metrics_text(view: BatchView | None, now: datetime, writes: Writes | None) -> str:
    """All of them; without a batch only what this process did, and nothing of that where it writes no batch."""
    metrics: list[Metric] = [] if view is None else [*_of_providers(view), *_of_batch(view, now)]
    if writes is not None:
        metrics += _of_process(writes)
    return Registry(tuple(metrics)).text()


def _of_process(writes: Writes) -> Iterator[Metric]:
    yield _count("vedette_panel_db_write_seconds_sum", "Time spent in writing groups.", writes.seconds)
    yield _count("vedette_panel_db_write_seconds_count", "Groups written.", writes.groups)
    yield _count("vedette_panel_rows_total", "Rows written; its rate is rows a second.", writes.rows)
    yield _count("vedette_panel_redis_ops_total", "Keys of Redis read or written.", writes.redis)
    yield _level("vedette_panel_redis_away", "1: Redis does not answer just now.", writes.is_redis_away)


def _of_providers(view: BatchView) -> Iterator[Metric]:
    rows = [(row["model"], row) for row in view.providers]
    label = ("provider",)
    for name, words, column in GAUGES:
        yield Gauge(name, words, label, {(one,): _number(row[column]) for one, row in rows})
    for name, words, column in COUNTERS:
        yield Counter(name, words, label, {(one,): _number(row[column]) for one, row in rows})
    states: dict[Labels, float] = {(one,): float(BREAKER.get(row["breaker"], 0)) for one, row in rows}
    yield Gauge("vedette_provider_breaker_state", BREAKER_WORDS, label, states)
    words = "Quantiles of answered calls."
    took = {key: value / 1000 for key, value in _split(view, QUANTILES).items()}
    yield Gauge("vedette_provider_latency_seconds", words, ("provider", "quantile"), took)
    words, ended = "Calls by how they ended.", _split(view, OUTCOMES)
    yield Counter("vedette_provider_requests_total", words, ("provider", "outcome"), ended)
    used = _split(view, DIRECTIONS)
    yield Counter("vedette_provider_tokens_total", "Tokens used.", ("provider", "direction"), used)


def _split(view: BatchView, parts: tuple[tuple[str, str], ...]) -> dict[Labels, float]:
    """By provider, and by a second label that tells columns of its row apart."""
    return {(row["model"], word): _number(row[column]) for row in view.providers for word, column in parts}


def _of_batch(view: BatchView, now: datetime) -> Iterator[Metric]:
    batch = view.batch
    yield _level("vedette_panel_queue_depth", "Cells that wait.", view.waiting)
    yield _level("vedette_panel_settled_cells", "Cells with a row.", view.settled)
    yield _level("vedette_panel_spent_usd", "Estimated cost of the batch.", batch.spent_usd)
    left = Gauge(
        "vedette_panel_eta_seconds", "Room before a deadline when the batch ends; < 0: late.", ("deadline",)
    )
    if view.eta is not None and view.status == "running":
        for word, at in (("target", batch.target_at), ("hard", batch.hard_at)):
            left.set((at - view.eta).total_seconds(), (word,))
    yield left
    words = "Cells that were dropped, by tier and reason."
    dropped = Counter("vedette_panel_dropped_total", words, ("tier", "reason"))
    for one in sorted(view.dropped, key=lambda one: (one.tier, one.reason)):
        dropped.add((str(one.tier), one.reason), one.cells)
    yield dropped
    age = 0.0 if view.heartbeat_at is None else (now - view.heartbeat_at).total_seconds()
    yield _level("vedette_panel_heartbeat_age_seconds", "Since the run last said something.", age)


def _count(name: str, words: str, value: float) -> Metric:
    return Counter(name, words, values={(): _number(value)})


def _level(name: str, words: str, value: float) -> Metric:
    return Gauge(name, words, values={(): _number(value)})


def _number(value: float | None) -> float:
    """Ten digits are enough, and a column may have none yet."""
    return float(f"{float(value or 0):.10g}")


# spec 003's admin of the panel: /healthz, /readyz, /metrics, /batch/{id}, /provider/{name}/state, /kill-switch.

KILL = "/kill-switch"
_Found = TypeVar("_Found")


@dataclass(slots=True)
class PanelAdmin:
    """What the pages are made from.  The store is opened for each answer, and used by one thread at a time."""

    store: Callable[[bool], AbstractContextManager[PanelStore]]  # True: to be written to
    clock: Clock
    writes: Callable[[], Writes | None] = lambda: None
    _gate: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def ask(self, call: Callable[[PanelStore], _Found], *, writes: bool = False) -> _Found:
        def asked() -> _Found:
            with self.store(writes) as store:
                return call(store)

        async with self._gate:
            return await asyncio.to_thread(asked)

    async def last(self) -> BatchView | None:
        def found(store: PanelStore) -> BatchView | None:
            batch = store.last_batch()
            return None if batch is None else store.view(batch)

        return await self.ask(found)


def routes(admin: PanelAdmin) -> list[Route]:
    """All that `panel run --listen` answers."""
    pages = _Pages(admin)
    return [
        Route("/healthz", pages.healthz),
        Route("/readyz", pages.readyz),
        Route("/metrics", pages.metrics),
        *batch_routes(admin),
    ]


def batch_routes(admin: PanelAdmin) -> list[Route]:
    """Those about batches, which `vedette serve` answers too."""
    pages = _Pages(admin)
    return [
        Route("/batch/{id}", pages.batch),
        Route("/provider/{name:path}/state", pages.provider),
        Route(KILL, pages.kill, methods=["POST"]),
    ]


def opened(
    admin: PanelAdmin, listen: str, token: str | None, hosts: tuple[str, ...] = ()
) -> AbstractAsyncContextManager[str]:
    """Serves while the block runs; gives the address."""
    way = ListenOptions(section="panel", listen=listen, token=token, locked=frozenset((KILL,)), hosts=hosts)
    made = door(way)

    @asynccontextmanager
    async def serving() -> AsyncIterator[str]:
        gate = Gate(way, TokenCheck(token, asyncio.get_running_loop().time))
        async with made(guarded(gate, Starlette(routes=routes(admin)))) as address:
            yield address

    return serving()


class _Pages:
    def __init__(self, admin: PanelAdmin) -> None:
        self._office = admin

    async def healthz(self, request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(self, request: Request) -> Response:
        """Ready means that the database answers."""
        try:
            await self._office.ask(lambda store: store.last_batch())
        except StoreError:
            return PlainTextResponse("the database does not answer\n", status_code=503)
        return PlainTextResponse("ready\n")

    async def metrics(self, request: Request) -> Response:
        admin = self._office
        text = metrics_text(await admin.last(), admin.clock.now(), admin.writes())
        return Response(text, media_type=METRICS_TYPE)

    async def batch(self, request: Request) -> Response:
        try:
            batch = BatchId(request.path_params["id"])
            view = await self._office.ask(lambda store: store.view(batch))
        except InputError as error:
            return _json({"error": str(error)}, status=404)
        return _json(view_json(view))

    async def provider(self, request: Request) -> Response:
        """As the last batch knows it."""
        name = request.path_params["name"]
        view = await self._office.last()
        rows = [] if view is None else [row for row in view.providers if row["model"] == name]
        if view is None or not rows:
            return _json({"error": f"no batch has asked {name}"}, status=404)
        return _json({"batch": view.batch.id, "status": view.status, **rows[0]})

    async def kill(self, request: Request) -> Response:
        """Of `?batch=ID`, or of every batch that runs.  New calls stop within a second."""
        admin = self._office
        wanted = request.query_params.get("batch")
        batch = BatchId(wanted) if wanted else None
        now = admin.clock.now()
        stopped = await admin.ask(lambda store: store.ask_stop(batch, now=now), writes=True)
        return _json({"stopped": stopped}, status=200 if stopped else 404)


def _json(value: object, *, status: int = 200) -> Response:
    return Response(dump(value) + "\n", status_code=status, media_type="application/json")
