"""A run is a trace: looks and decisions of a hunt are its spans, sent to a receiver, without URLs."""

from __future__ import annotations

import importlib
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from machine import patient
from scripted import START, life

from vedette.app.run_listeners import heard_by_all
from vedette.config.model import parse
from vedette.contracts.errors import ConfigError
from vedette.contracts.events import RunEnded, RunStarted
from vedette.contracts.words import RunId
from vedette.core.urls.canonical import host_of
from vedette.telemetry.clock import SystemClock
from vedette.telemetry.traces import LAST_SECONDS, Traces, otlp_exporter

SEED = "http://first.example/"
OTHERS = [f"http://h{n}.example/" for n in range(5)]


class Receiver(HTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[bytes] = []
        self.keys: list[str | None] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1/traces"

    def spans(self) -> list[Any]:
        service = importlib.import_module("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
        sent = [service.ExportTraceServiceRequest.FromString(body) for body in self.bodies]
        return [
            span for one in sent for part in one.resource_spans for scope in part.scope_spans for span in scope.spans
        ]  # fmt: skip


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = importlib.import_module("gzip").decompress(body)
        self.server.bodies.append(body)
        self.server.keys.append(self.headers.get("api-key"))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    yield server
    server.shutdown()
    server.server_close()


def answer(url: str, hours: float) -> tuple[int, str]:
    if url.endswith("/robots.txt"):
        return 404, ""
    links = "".join(f'<a href="{one}">to {one}</a> ' for one in OTHERS)
    return 200, f"<html><body><p>{links} What {url} says of the harbour.</p></body></html>"


async def test_a_hunt_is_a_trace_of_looks_and_decisions_without_urls(tmp_path: Path, receiver: Receiver):
    source = {"id": "first", "url": SEED, "lister": "crawl", "hunt": True, "follow_hosts": ["*"]}
    lane = {"gap_min": "0s", "gap_max": "0s", "per_minute": 0}
    hunt = life(tmp_path / "data", answer, source, lanes={"default": lane}, log={"traces": receiver.address})
    ended = await hunt.run(max_visits=6, seconds=86_400.0)
    assert ended.error is None
    spans = receiver.spans()
    names = Counter(span.name for span in spans)
    assert (names["run"], names["hunt look"]) == (1, 6)
    assert names["hunt judgement"] >= 1
    assert names["hunt choice"] >= 5
    (run,) = [span for span in spans if span.name == "run"]
    assert {span.parent_span_id for span in spans if span is not run} == {run.span_id}
    assert {span.trace_id for span in spans} == {run.trace_id}
    text = b"".join(receiver.bodies)
    assert b"http://" not in text
    assert host_of(SEED).encode() in text  # it is a source of the configuration
    assert not any(host_of(one).encode() in text for one in OTHERS)


async def test_a_receiver_that_is_down_stops_nothing(tmp_path: Path):
    page, traces = {"url": SEED, "lister": "page"}, {"traces": "http://127.0.0.1:1/v1/traces"}
    lost = life(tmp_path / "data", answer, page, log=traces)
    ended = await lost.run(max_visits=1, seconds=60.0)
    assert (ended.error, ended.tally.visits) == (None, 1)


def test_a_receiver_that_never_answers_does_not_hold_up_the_end_of_a_run():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        exporter = otlp_exporter(f"http://127.0.0.1:{silent.getsockname()[1]}/v1/traces")
        traces = Traces(exporter, version="1", hunting=frozenset(), named=frozenset())
        for _ in range(1000):  # two messages
            traces.hear(RunStarted(at=START, run=RunId("r")))
            traces.hear(
                RunEnded(at=START, run=RunId("r"), by="idle", visits=1, sightings=0, wire_bytes=0, errors=0)
            )
        began = time.monotonic()
        traces.close()
        assert time.monotonic() - began < patient(LAST_SECONDS + 1)


def test_nothing_is_loaded_unless_it_is_configured():
    told = subprocess.run(
        [sys.executable, "-c", "import sys, vedette.app.run; print([m for m in sys.modules if m.split('.')[0] in "
         "('opentelemetry', 'stem', 'sklearn', 'qdrant_client', 'faiss')])"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert told.stdout.strip() == "[]"


async def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    config = parse({"log": {"traces": "http://127.0.0.1:4318/v1/traces"}})
    with pytest.raises(ConfigError, match=r"pip install 'vedette\[otel\]'"):
        async with heard_by_all(config, print, SystemClock()):
            pass


@pytest.mark.parametrize(
    "address", ["http://t.example/v1?key=hidden", "http://u:hidden@t.example/", "http://t.example/#hidden", 7]
)
def test_a_receiver_is_named_without_secrets_because_its_library_logs_the_address(address: object):
    with pytest.raises(ConfigError, match="OTEL_EXPORTER_OTLP_HEADERS") as told:
        parse({"log": {"traces": address}})
    assert "hidden" not in str(told.value)


def test_a_key_of_the_receiver_goes_as_a_header_from_the_environment(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=k1")
    traces = Traces(otlp_exporter(receiver.address), version="1", hunting=frozenset(), named=frozenset())
    traces.hear(RunStarted(at=START, run=RunId("r")))
    traces.close()
    assert receiver.keys == ["k1"]
