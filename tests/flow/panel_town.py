"""The real program against played providers in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from machine import patient

import vedette
from vedette.providers.provider_table import PROVIDERS
from vedette.store.dialect import SqliteSql

HOME = str(Path(vedette.__file__).parents[1])  # the same code, from any folder
KEY = "sk-planted-A1b2C3d4E5f6G7h8"
THREE = ("openai/gpt-4o-mini", "anthropic/claude-3-haiku", "cohere")


@dataclass
class Town:
    """Twelve providers on loopback, and a folder to run the program in."""

    origins: dict[str, str]
    control: int
    folder: Path

    def configure(self, models=THREE, **panel) -> None:
        """`per_minute` of every key, and anything of the section `panel`."""
        rate = panel.pop("per_minute", 6000)
        rows = {
            row.name: {
                "base_url": self.origins[row.name] + urlsplit(row.base_url).path,
                "keys": ["env:PANEL_TEST_KEY"],
                "per_minute": rate,
            }
            for row in PROVIDERS
        }
        port = urlsplit(next(iter(self.origins.values()))).port
        whole = {
            "providers": rows,
            "fetch": {"allow_networks": ["127.0.0.0/8"], "allow_ports": [port, self.control]},
            "panel": {"models": list(models), **panel},
        }
        (self.folder / "vedette.yaml").write_text(json.dumps(whole))

    def price(self, model: str, tokens_in: float, tokens_out: float) -> None:
        path = self.folder / "vedette.yaml"
        whole = json.loads(path.read_text())
        whole["providers"][model]["price"] = {"tokens_in": tokens_in, "tokens_out": tokens_out}
        path.write_text(json.dumps(whole))

    def domains(self, count: int) -> None:
        (self.folder / "domains.txt").write_text("".join(f"https://D{n}.example/x\n" for n in range(count)))

    def start(self, *words: str, **environment: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "vedette", "panel", *words]
        env = {**os.environ, "PYTHONPATH": HOME, "PANEL_TEST_KEY": KEY, **environment}
        return subprocess.Popen(
            command, cwd=self.folder, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def call(self, *words: str, **environment: str) -> tuple[int, str, str]:
        process = self.start(*words, **environment)
        out, err = process.communicate(timeout=patient(100))
        return process.returncode, out, err

    def json(self, *words: str):
        code, out, err = self.call(*words, "--json")
        assert out, err
        return code, json.loads(out)

    def act(self, what: str, **query: object):
        address = f"http://127.0.0.1:{self.control}/_/{what}?{urlencode(query)}"
        with urllib.request.urlopen(address, timeout=patient(10)) as answer:
            return json.loads(answer.read())

    def rows(self, statement: str) -> list[tuple]:
        db = SqliteSql(self.folder / "vedette-data" / "vedette.db")
        try:
            return db.rows(statement)
        finally:
            db.close()

    def run(self, statement: str) -> None:
        """A hand in the store."""
        db = SqliteSql(self.folder / "vedette-data" / "vedette.db")
        try:
            db.run(statement)
        finally:
            db.close()

    def written(self) -> bytes:
        """Every byte that the program left in its folder, but for its configuration."""
        files = (path for path in self.folder.rglob("*") if path.is_file() and path.name != "vedette.yaml")
        return b"".join(path.read_bytes() for path in files)


@contextmanager
def town(folder: Path, *, latency: float = 0.05, per_minute: float = 0) -> Iterator[Town]:
    command = [sys.executable, "-m", "vedette.livingweb.providers"]
    command += ["--latency", str(latency), "--per-minute", str(per_minute)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        told = json.loads(server.stdout.readline())
        yield Town(told["origins"], told["control"], folder)
    finally:
        server.kill()
        server.communicate()
