"""Runs and looks as traces of OpenTelemetry, the extra `otel`.  Made of the same events as logs and metrics.

A span has no URL.  It names a host, or a source, only where the configuration names it.
"""

from __future__ import annotations

import importlib
import threading
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from vedette.contracts.errors import ConfigError
from vedette.contracts.events import Event, LedgerNoted, RunEnded, RunStarted, Visited
from vedette.contracts.watch import Decision
from vedette.contracts.words import Outcome

MISSING = "opentelemetry, which `log.traces` needs, is not installed: pip install 'vedette[otel]'"
_GOOD = frozenset({Outcome.OK, Outcome.NOT_MODIFIED})
_PARTS = (
    "trace",
    "sdk.trace",
    "sdk.trace.export",
    "sdk.resources",
    "exporter.otlp.proto.http.trace_exporter",
)
_DECIDED = {"hunt": "hunt choice", "oddness": "hunt judgement"}  # decisions of a hunt, by their actions
SECONDS = 5.0  # that a receiver has for each message,
LAST_SECONDS = 3.0  # and for all that is left at the end of a run


class Traces:
    """Hears the events of a run: the run is a span, each look and each decision of a hunt a span in it."""

    def __init__(
        self, exporter: Any, *, version: str, hunting: frozenset[str], named: frozenset[str]
    ) -> None:
        """`named`: hosts and ids of sources of the configuration; `hunting`: ids of those that hunt."""
        self._api, sdk, export, resources, _ = _library()
        resource = resources.Resource.create({"service.name": "vedette", "service.version": version})
        self._provider = sdk.TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(export.BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("vedette", version)
        self._hunting, self._named = hunting, named
        self._run: Any = None

    def hear(self, event: Event) -> None:
        match event:
            case RunStarted():
                self._run = self._tracer.start_span("run", start_time=_ns(event.at))
                self._run.set_attribute("vedette.run", event.run)
            case Visited():
                self._look(event)
            case LedgerNoted(decision=decision) if decision.action in _DECIDED:
                self._decision(event.at, decision)
            case RunEnded() if self._run is not None:
                self._end_run(event)

    def close(self) -> None:
        """What is known so far goes out, to a receiver that takes it in time."""
        if self._run is not None:
            self._run.end()
        last = threading.Thread(target=self._provider.shutdown, name="traces-end", daemon=True)
        last.start()
        last.join(LAST_SECONDS)

    def _look(self, event: Visited) -> None:
        is_hunt = event.source is not None and event.source in self._hunting
        span = self._begun("hunt look" if is_hunt else "look", event.at - event.seconds)
        span.set_attributes(self._attributes(event))
        if event.outcome not in _GOOD:
            span.set_status(self._api.StatusCode.ERROR, event.outcome.value)
        span.end(end_time=_ns(event.at))

    def _decision(self, at: datetime, decision: Decision) -> None:
        """Where a hunt looks next, and what a page was held for."""
        span = self._begun(_DECIDED[decision.action], at)
        said = decision.output if isinstance(decision.output, dict) else {}
        span.set_attributes({f"vedette.{name}": said[name] for name in ("value", "action") if name in said})
        span.end(end_time=_ns(at))

    def _begun(self, name: str, at: datetime) -> Any:
        context = None if self._run is None else self._api.set_span_in_context(self._run)
        return self._tracer.start_span(name, context=context, start_time=_ns(at))

    def _attributes(self, event: Visited) -> dict[str, Any]:
        host = urlsplit(event.url).hostname or ""
        known = {
            "vedette.outcome": event.outcome.value,
            "vedette.changed": event.changed,
            "http.response.status_code": event.status,
            "server.address": host if host in self._named else None,
            "vedette.source": event.source if event.source in self._named else None,
        }
        return {name: value for name, value in known.items() if value is not None}

    def _end_run(self, event: RunEnded) -> None:
        self._run.set_attributes(
            {"vedette.ended_by": event.by, "vedette.looks": event.visits, "vedette.errors": event.errors}
        )
        if event.error is not None:
            self._run.set_status(self._api.StatusCode.ERROR)
        self._run.end(end_time=_ns(event.at))
        self._run = None


def otlp_exporter(address: str) -> Any:
    """Sends spans to a receiver of OTLP over HTTP."""
    *_, otlp = _library()
    return otlp.OTLPSpanExporter(endpoint=address, timeout=SECONDS)


def _library() -> list[Any]:
    try:
        return [importlib.import_module(f"opentelemetry.{part}") for part in _PARTS]
    except ImportError:
        raise ConfigError(MISSING) from None


def _ns(at: datetime) -> int:
    return int(at.timestamp() * 1_000_000) * 1_000
