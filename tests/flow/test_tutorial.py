"""The tutorial, typed as it stands: every block of commands is run, and says what the page shows."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from machine import patient

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"```(sh|text)\n(.*?)```", re.DOTALL)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def ready(address: str) -> str:
    for _ in range(int(patient(100))):
        try:
            with urllib.request.urlopen(address, timeout=10) as answer:
                return answer.read().decode()
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"{address} never answered")


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_who_types_the_tutorial_sees_what_it_shows(tmp_path: Path):
    page_port, serve_port = free_port(), free_port()
    text = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
    text = text.replace("8000", str(page_port)).replace(
        "vedette serve", f"vedette serve --listen 127.0.0.1:{serve_port}"
    )
    blocks = [(match[1], match[2]) for match in BLOCK.finditer(text)]
    assert [kind for kind, _ in blocks].count("sh") == 7
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    folder, said, started = tmp_path, "", []
    try:
        for kind, block in blocks:
            if kind == "text":
                missing = [line for line in block.splitlines() if line not in said]
                assert missing == [], said
                continue
            if block.startswith("vedette serve"):
                words = block.split()
                started.append(subprocess.Popen(words, cwd=folder, env=env, stdout=-3, stderr=-3))
                assert "Prices" in ready(f"http://127.0.0.1:{serve_port}/")
                continue
            if "http.server" in block:
                block, _, server = block.rpartition("python3 -m ")
                words = [sys.executable, "-m", *server.partition(" >")[0].split()]
                subprocess.run(["bash", "-ec", block], cwd=folder, env=env, check=True, timeout=patient(60))
                folder = tmp_path / "watching"
                started.append(subprocess.Popen(words, cwd=folder, env=env, stdout=-3, stderr=-3))
                ready(f"http://127.0.0.1:{page_port}/prices.html")
                continue
            done = subprocess.run(
                ["bash", "-ec", block], cwd=folder, env=env, capture_output=True, text=True, timeout=patient(90),
                check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stdout + done.stderr
            said = done.stdout
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(patient(30))
