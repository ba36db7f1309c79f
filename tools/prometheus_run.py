"""Asks a real Prometheus every query of the Grafana dashboard, of a real `vedette serve`, and draws the answers.

    python tools/prometheus_run.py --seconds 60 --picture dashboard.png

A living web with changing pages, hosts that fail and hosts that throttle; a channel that is told and one that is dead;
`vedette serve` on them; Prometheus with the files of ops/prometheus, at a scrape a second.  Everything is on loopback,
and everything that is started is ended.  Exit 69: there is no Prometheus to be had here.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
DASHBOARD = ROOT / "ops" / "grafana" / "vedette.json"
RULES = ROOT / "ops" / "prometheus"
UNAVAILABLE = 69
PATIENCE = 180.0  # seconds, for a machine that is busy
THROTTLING = ("throttled.example", "throttled-silent.example")
FAILING = ("server-error.example", "reset.example")


@dataclass(frozen=True, slots=True)
class Answer:
    """What Prometheus says to one query of one panel: a list of values over time for each series."""

    panel: str
    kind: str
    unit: str
    query: str
    series: tuple[tuple[str, tuple[tuple[float, float], ...]], ...]


class NoPrometheus(Exception):
    """It is neither installed nor can it be unpacked here."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="how long it is scraped")
    parser.add_argument("--picture", type=Path, help="draw the answers here")
    options = parser.parse_args()
    try:
        found = scraped(options.seconds)
    except NoPrometheus as error:
        print(error, file=sys.stderr)
        return UNAVAILABLE
    for one in found.answers:
        print(f"{len(one.series):3} series  {one.panel}: {one.query}")
    print(f"alerts: {', '.join(sorted(found.alerts)) or 'none'}; broken rules: {len(found.broken_rules)}")
    if options.picture:
        draw(found.answers, options.picture)
    return 0 if all(one.series for one in found.answers) and not found.broken_rules else 1


@dataclass(frozen=True, slots=True)
class Scraped:
    answers: tuple[Answer, ...]
    alerts: frozenset[str]  # rules whose condition holds, also those that still wait for their `for`
    broken_rules: frozenset[str]  # that Prometheus could not evaluate


def scraped(seconds: float) -> Scraped:
    """Every query of the dashboard, answered after a run of so many seconds."""
    with ExitStack() as open_now, tempfile.TemporaryDirectory(prefix="vedette-prometheus-") as folder:
        place = Path(folder)
        calm = open_now.enter_context(_living_web("--hosts", "10", "--pages", "8", "--tempo", "6"))
        rough = open_now.enter_context(_living_web("--world", "faults"))
        listener = open_now.enter_context(_listener())
        ports = {name: _free_port() for name in ("serve", "prometheus", "dead")}
        config = _config(calm, rough, listener=listener, dead=ports["dead"], serve=ports["serve"])
        (place / "vedette.yaml").write_text(json.dumps(config))
        open_now.enter_context(_started("-m", "vedette", "serve", cwd=place))
        _until(lambda: _get(ports["serve"], "/readyz"), "vedette serve is ready")
        began = time.time()
        open_now.enter_context(_prometheus(place, ports["prometheus"], ports["serve"]))
        _until(lambda: _get(ports["prometheus"], "/-/ready"), "Prometheus is ready")
        # A slow machine sees little in that time: it goes on looking.
        while time.time() - began < seconds or not _alerts_are_there(ports["serve"]):
            if time.time() - began > seconds + PATIENCE:
                raise RuntimeError("never: a figure of every kind")
            _look_at_all(place)
        time.sleep(3)  # the last figures are scraped too
        answers = [_asked(ports["prometheus"], target, began) for target in _targets()]
        rules = _rules(ports["prometheus"])
        return Scraped(
            tuple(answers),
            frozenset(rule["name"] for rule in rules if rule["state"] != "inactive"),
            frozenset(rule["name"] for rule in rules if rule["health"] != "ok"),
        )


def _look_at_all(place: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "vedette", "look", "--all", "--patience", "5s", "-q"],
        cwd=place, capture_output=True, timeout=120, check=False,
    )  # fmt: skip


def _rules(port: int) -> list[dict[str, Any]]:
    found = json.loads(_get(port, "/api/v1/rules") or b"{}")
    return [rule for group in found["data"]["groups"] for rule in group["rules"]]


def _targets() -> Iterator[tuple[str, str, str, str, str]]:
    for panel in json.loads(DASHBOARD.read_text("utf-8"))["panels"]:
        for target in panel["targets"]:
            unit = panel["fieldConfig"]["defaults"]["unit"]
            yield panel["title"], panel["type"], unit, target["expr"], target["legendFormat"]


def _asked(port: int, target: tuple[str, str, str, str, str], began: float) -> Answer:
    panel, kind, unit, query, legend = target
    words = urllib.parse.urlencode({"query": query, "start": began, "end": time.time(), "step": 1})
    found = json.loads(_get(port, f"/api/v1/query_range?{words}") or b"{}")
    if found.get("status") != "success":
        raise RuntimeError(f"{query}: {found}")
    series = []
    for one in found["data"]["result"]:
        points = tuple((at, float(value)) for at, value in one["values"] if math.isfinite(float(value)))
        name = legend
        for label, value in one["metric"].items():
            name = name.replace("{{" + label + "}}", value)
        if points:
            series.append((name, points))
    return Answer(panel, kind, unit, query, tuple(series))


def _config(
    calm: dict[str, Any], rough: dict[str, Any], *, listener: int, dead: int, serve: int
) -> dict[str, Any]:
    """Quick lanes: the hosts are ours, and a minute has to show what a day shows elsewhere."""
    sources = [_source(calm, one, risk="CRITICAL") for one in calm["sources"]]
    trouble = (*THROTTLING, *FAILING)
    sources += [_source(rough, one, risk="HIGH") for one in rough["sources"] if one["name"] in trouble]
    opened = {
        "allow_networks": ["127.0.0.0/8"],
        "allow_ports": [calm["port"], rough["port"], listener, dead],
    }
    return {
        "sources": sources,
        "fetch": opened,
        "lanes": {"default": {"gap_min": "50ms", "gap_max": "100ms", "per_minute": 1000, "at_once": 1}},
        "health": {"every": "5s", "errors": 1},
        "serve": {"listen": f"127.0.0.1:{serve}"},
        "notify": {
            "channels": {
                name: {"kind": "webhook", "url": f"http://{where}/", "secret": "env:HOOK", **opened}
                for name, where in (("ops", f"127.0.0.1:{listener}"), ("dead", f"127.0.0.2:{dead}"))
            }
        },
    }


def _source(web: dict[str, Any], one: dict[str, Any], *, risk: str) -> dict[str, Any]:
    return {
        "url": one["url"],
        "name": one["name"],
        "lister": one["lister"],
        "risk": risk,
        "fetch": {"nameservers": [f"127.0.0.1:{web['dns_port']}"]},
    }


def _alerts_are_there(port: int) -> bool:
    text = (_get(port, "/metrics") or b"").decode()
    wanted = ("vedette_alerts_open{", "vedette_outbox_messages{", "vedette_changes_total{")
    return all(f"\n{name}" in text for name in wanted)


@contextmanager
def _living_web(*words: str) -> Iterator[dict[str, Any]]:
    """A process; what it says of itself, and its sources.  An hour of its pages takes a second."""
    command = ("-m", "vedette.livingweb", "--speed", "3600", *words)
    with _started(*command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        told["sources"] = json.loads(_get(told["control_port"], "/_/sources") or b"[]")
        yield told


@contextmanager
def _prometheus(place: Path, port: int, serve: int) -> Iterator[None]:
    """Debian's, with the files that we hand out; only the pace and the address of the scrape are other ones."""
    home = place / "prometheus"
    shutil.copytree(RULES, home)
    settings = yaml.safe_load((home / "prometheus.yml").read_text("utf-8"))
    settings["global"] = {"scrape_interval": "1s", "evaluation_interval": "5s"}
    settings["scrape_configs"][0]["static_configs"] = [{"targets": [f"127.0.0.1:{serve}"]}]
    (home / "prometheus.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    command = [str(ROOT / "tools" / "from-debian"), "prometheus", "prometheus"]
    tried = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=300, check=False)
    if tried.returncode == UNAVAILABLE:
        raise NoPrometheus(tried.stderr.strip())
    options = (
        f"--config.file={home}/prometheus.yml",
        f"--storage.tsdb.path={home}/data",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    )
    with _ended(subprocess.Popen([*command, *options], cwd=home, stderr=subprocess.DEVNULL)):
        yield


@contextmanager
def _listener() -> Iterator[int]:
    """Takes every message."""

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


@contextmanager
def _started(
    *words: str, cwd: Path | None = None, stdout: int = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[str]]:
    env = {**os.environ, "HOOK": "whsec_" + "Q" * 43 + "=", "VEDETTE_ENV": "production"}
    process = subprocess.Popen(
        [sys.executable, *words], cwd=cwd, env=env, stdout=stdout, stderr=subprocess.DEVNULL, text=True
    )
    with _ended(process):
        yield process


@contextmanager
def _ended(process: subprocess.Popen[Any]) -> Iterator[None]:
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def _get(port: int, path: str) -> bytes | None:
    """None: it does not answer, or not yet well."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
            body: bytes = answer.read()
            return body
    except OSError:
        return None


def _until(is_so: Any, what: str, patience: float = PATIENCE) -> None:
    end = time.monotonic() + patience
    while not is_so():
        if time.monotonic() > end:
            raise RuntimeError(f"never: {what}")
        time.sleep(0.25)


def draw(answers: Sequence[Answer], place: Path) -> None:
    """One picture, laid out as Grafana lays it out."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    panels: dict[str, list[Answer]] = {}
    for one in answers:
        panels.setdefault(one.panel, []).append(one)
    rows = math.ceil(len(panels) / 3)
    figure, cells = plt.subplots(rows, 3, figsize=(15, 2.7 * rows), layout="constrained")
    for cell in cells.flat[len(panels) :]:
        cell.axis("off")
    for cell, (title, found) in zip(cells.flat, panels.items(), strict=False):
        cell.set_title(title, fontsize=11, loc="left")
        _draw_panel(cell, found)
    figure.savefig(place, dpi=80)
    plt.close(figure)


def _draw_panel(cell: Any, found: list[Answer]) -> None:
    if found[0].kind == "stat":
        cell.axis("off")
        words = [f"{points[-1][1]:.3g}  {name}" for one in found for name, points in one.series]
        cell.text(0.02, 0.85, "\n".join(words), fontsize=15, va="top", transform=cell.transAxes)
        return
    began = min(points[0][0] for one in found for _, points in one.series)
    for one in found:
        for name, points in one.series:
            cell.plot([at - began for at, _ in points], [value for _, value in points], label=name)
    cell.set_ylim(bottom=0)
    cell.set_ylabel(found[0].unit, fontsize=8)
    cell.tick_params(labelsize=8)
    cell.legend(fontsize=7, loc="upper left", framealpha=0.5)


if __name__ == "__main__":
    sys.exit(main())
