"""An S3-compatible server of the tests' own: moto's, real HTTP on loopback, as a process that can be stopped."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from machine import patient

from vedette.contracts.words import Bucket, ObjectPlace, Secret


@dataclass
class BucketServer:
    """Where it listens.  It keeps everything in memory."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def bucket(self, name: str) -> ObjectPlace:
        """A new bucket, and a place in it."""
        self.ask("PUT", name)
        made = Bucket(name=name, endpoint=self.endpoint, key_id=Secret("who"), key=Secret("let us in"))
        return ObjectPlace(made, "evidence/of us")

    def ask(self, method: str, path: str) -> int:
        request = urllib.request.Request(f"{self.endpoint}/{path}", method=method)
        try:
            with urllib.request.urlopen(request, timeout=patient(30)) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    def pause(self) -> None:
        """It takes connections, and answers nobody."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)


@contextmanager
def bucket_server() -> Iterator[BucketServer]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server = BucketServer(port, process)
    try:
        _wait(server)
        yield server
    finally:
        process.kill()
        process.wait()


def _wait(server: BucketServer) -> None:
    until = time.monotonic() + patient(60)
    while True:
        try:
            server.ask("GET", "")
            return
        except OSError:
            if server.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError("moto's server does not start") from None
            time.sleep(0.1)
