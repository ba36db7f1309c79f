"""Node, and the BullMQ of Node, as `tools/bootstrap` installs them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from machine import patient

HOME = Path(os.environ.get("NODE_HOME", str(Path(sys.prefix) / "node"))) / "node_modules"
SCRIPT = Path(__file__).with_name("bullmq_node.cjs")
SECONDS = 100


def ask_node(url: str, order: dict[str, Any]) -> Any:
    """What `bullmq_node.cjs` answers to this order."""
    with start_node(url, order) as node:
        return answer_of(node)


@contextmanager
def start_node(url: str, order: dict[str, Any]) -> Iterator[subprocess.Popen[str]]:
    """The same, beside the test; closing its stdin ends what it does."""
    pipe = subprocess.PIPE
    node = subprocess.Popen(_command(url, order), env=_env(), stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    try:
        yield node
    finally:
        assert node.stdin is not None
        node.stdin.close()  # node is the child of a script: a signal would end only that
        with suppress(subprocess.TimeoutExpired):
            node.wait(patient(SECONDS))


def answer_of(node: subprocess.Popen[str]) -> Any:
    """When it has done what was ordered."""
    assert node.stdout is not None
    assert node.stderr is not None
    out = node.stdout.read()
    assert node.wait(patient(SECONDS)) == 0, node.stderr.read()[-3000:]
    return json.loads(out)


def stop_node(node: subprocess.Popen[str]) -> Any:
    """Now; what it did."""
    assert node.stdin is not None
    node.stdin.close()
    return answer_of(node)


def _command(url: str, order: dict[str, Any]) -> list[str]:
    node = shutil.which("node", path=f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}")
    if node is None or not (HOME / "bullmq").exists():
        words = f"NOT RUN: bullmq for Node is not in {HOME}; install node and run `make setup-dev`"
        if os.environ.get("CI"):
            pytest.fail(words)
        pytest.skip(words)
    return [node, str(SCRIPT), url, json.dumps(order)]


def _env() -> dict[str, str]:
    return {**os.environ, "NODE_PATH": str(HOME)}
