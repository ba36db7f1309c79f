"""The panel against a plain aiohttp loop that makes the same calls in the same run: CPU per call, memory, rows.

    python bench/panel.py --domains 10000

The providers run in a process of their own with 50 ms latency and no limits, so that only our own cost is seen.  The
plain loop posts the same bytes to the same addresses with the same number of calls at once, and parses the JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import psutil
import uvloop

from vedette.app.configured_providers import panellists
from vedette.app.panel import Panel, PanelRequest
from vedette.config.model import Loaded, parse
from vedette.contracts.panel_run import Progress
from vedette.providers.formats import FORMATS, Question
from vedette.providers.provider_table import PROVIDERS
from vedette.telemetry.clock import SystemClock

MOST_RATIO = 2.5
AT_ONCE = 96
KEY = "BENCH_PANEL_KEY"
TEXT = "What is {domain} known for?  Answer in three sentences."


def main() -> int:
    given = argparse.ArgumentParser()
    given.add_argument("--domains", type=int, default=2000)
    given.add_argument("--latency", type=float, default=0.05)
    options = given.parse_args()
    os.environ[KEY] = "sk-bench"
    with _providers(options.latency) as origins:
        loaded_config = _config(origins)
        names = [f"site{n:05d}.example" for n in range(options.domains)]
        some = names[: max(200, options.domains // 5)]
        before = _plain(loaded_config, some)
        ours, memory, rows = _ours(loaded_config, names)
        plain = (
            before + _plain(loaded_config, some)
        ) / 2  # before and after: the machine may be busy with others
    ratio = ours / plain
    calls = options.domains * len(PROVIDERS)
    print(f"calls {calls}, rows {rows}")
    print(
        f"plain aiohttp: {plain * 1e6:.0f} us of CPU per call; panel: {ours * 1e6:.0f} us; ratio {ratio:.2f}"
    )
    print(f"memory: {memory[0] / 2**20:.0f} MiB at a fifth, {memory[1] / 2**20:.0f} MiB at the end")
    return 0 if ratio <= MOST_RATIO and rows == calls else 1


def _config(origins: dict[str, str]) -> object:
    rows = {
        row.name: {
            "base_url": origins[row.name] + _path(row.base_url),
            "keys": [f"env:{KEY}"],
            "per_minute": 1_000_000,
            "at_once": 64,
            "price": {"tokens_in": 1.0, "tokens_out": 1.0},
        }
        for row in PROVIDERS
    }
    port = int(next(iter(origins.values())).rpartition(":")[2])
    fetch = {"allow_networks": ["127.0.0.0/8"], "allow_ports": [port]}
    panel = {"prompts": [{"type": "brand", "text": TEXT}], "at_once": AT_ONCE}
    return parse({"providers": rows, "fetch": fetch, "panel": panel})


def _path(url: str) -> str:
    rest = url.partition("://")[2]
    return rest[rest.index("/") :] if "/" in rest else ""


def _plain(config: object, names: list[str]) -> float:
    """Seconds of CPU per call of the loop that one would write by hand."""

    async def whole() -> float:
        rows = [one.row for one in panellists(config)]  # type: ignore[arg-type]
        gate = asyncio.Semaphore(AT_ONCE)
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def one(row, name: str) -> None:  # type: ignore[no-untyped-def]
                format_ = FORMATS[row.format]
                text = TEXT.replace("{domain}", name)
                path, body = format_.ask(row.path, Question(model=row.model, text=text))
                headers = dict(format_.headers(os.environ[KEY]))  # type: ignore[arg-type]
                call = session.post if body is not None else session.get
                more = {"data": body} if body is not None else {}
                async with gate, call(row.base_url + path, headers=headers, **more) as answer:
                    json.loads(await answer.read())

            await asyncio.gather(*(one(row, name) for row in rows for name in names[:20]))
            begun = time.process_time()
            await asyncio.gather(*(one(row, name) for row in rows for name in names))
            return (time.process_time() - begun) / (len(rows) * len(names))

    return uvloop.run(whole())


def _ours(config: object, names: list[str]) -> tuple[float, tuple[int, int], int]:
    memory: list[int] = []
    whole = len(names) * len(PROVIDERS)
    process = psutil.Process()

    def on_progress(progress: Progress) -> None:
        if not memory and progress.settled >= whole / 5:
            memory.append(process.memory_info().rss)

    with tempfile.TemporaryDirectory() as folder:
        loaded = Loaded(config=config, path=None, data=Path(folder), digest="bench")  # type: ignore[arg-type]
        panel = Panel(loaded, clock=SystemClock())
        asked = PanelRequest(domains=[(str(n), name) for n, name in enumerate(names)])
        begun, at = time.process_time(), time.perf_counter()
        end = panel.run(asked, on_progress)
        spent = time.process_time() - begun
        print(f"panel: {end.by}, {whole / (time.perf_counter() - at):.0f} calls a second")
        with panel.store() as store:
            rows = store.view(end.batch).answered
    memory.append(process.memory_info().rss)
    return spent / whole, (memory[0], memory[-1]), rows


@contextmanager
def _providers(latency: float) -> Iterator[dict[str, str]]:
    command = [
        sys.executable,
        "-m",
        "vedette.livingweb.providers",
        "--latency",
        str(latency),
        "--per-minute",
        "0",
    ]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield json.loads(server.stdout.readline())["origins"]
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    sys.exit(main())
