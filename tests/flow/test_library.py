"""`import vedette` watches pages for a Python program: the example of the docs runs, in both ways."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import vedette
from vedette.contracts.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/how-to/library.md"
FILLER = "<p>The office publishes notices for those who must file forms every year.</p>" * 6
CONFIG = """
fetch: {{allow_networks: [127.0.0.0/8], allow_ports: [{port}]}}
lanes: {{default: {{gap_min: 10ms, gap_max: 20ms, per_minute: 0}}}}
schedule: {{policy: fixed, interval: 1s}}
"""


class Page(BaseHTTPRequestHandler):
    rate = "25"

    def do_GET(self) -> None:
        body = f"<html><title>Rules</title><body><h1>Rules</h1><p>The rate is {self.rate} %.</p>{FILLER}".encode()
        is_page = self.path == "/rules"
        self.send_response(200 if is_page else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *given: object) -> None:
        """Quiet."""


@pytest.fixture
def port() -> Iterator[int]:
    Page.rate = "25"
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@pytest.fixture
def config(tmp_path: Path, port: int) -> Path:
    path = tmp_path / "vedette.yaml"
    path.write_text(CONFIG.format(port=port))
    return path


def examples() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


def edited() -> None:
    Page.rate = "24"


def test_the_examples_of_the_docs_run(tmp_path: Path, config: Path, port: int):
    first, second = examples()
    names = {
        "config": config,
        "URL": f"http://127.0.0.1:{port}/rules",
        "data": tmp_path / "data",
        "edited": edited,
    }
    exec(compile(first, str(PAGE), "exec"), names)
    (change,) = names["watcher"].changes()
    assert "24" in change.view.change.comparison.summary
    exec(compile(second, str(PAGE), "exec"), names)
    assert asyncio.run(names["main"]()) == 1


def test_a_loop_that_is_left_early_ends_the_run_and_the_store_can_be_used_again(
    config: Path, tmp_path: Path, port: int
):
    watcher = vedette.open_store(tmp_path / "data", config)
    watcher.add(f"http://127.0.0.1:{port}/rules", lister="page")
    for event in watcher.events(for_ever=True):
        if isinstance(event, vedette.Visited):
            break
    assert event.outcome == "ok"
    assert [one.url for one in watcher.watches().watches] == [event.url]
    (looked,) = watcher.look(event.url)
    assert (looked.watch.url, looked.visit is not None) == (event.url, True)
    assert watcher.verify().is_whole


def test_wrong_input_is_told_in_words_and_nothing_is_made(tmp_path: Path, config: Path):
    watcher = vedette.open_store(tmp_path / "data", config)
    with pytest.raises(InputError, match="no scheme"):
        watcher.add("example.org/rules")
    with pytest.raises(InputError, match="there is no option 'allow_networks'"):
        watcher.add("https://example.org/", allow_networks=["10.0.0.0/8"])
    with pytest.raises(vedette.VedetteError, match="no change 7"):
        watcher.diff(7)
    assert not watcher.watches().watches


def test_importing_the_package_loads_none_of_it():
    found = "[m for m in sys.modules if m.startswith('vedette.')]"
    code = f"import sys, vedette; print(len({found}), 'asyncio' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["0", "False"]
