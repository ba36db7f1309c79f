"""Freshness of a large store, worked out in a process of its own: a million looks would hold up engine and pages."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from vedette.config.model import Config, Loaded
from vedette.contracts.errors import InputError, StoreError
from vedette.contracts.ports import Clock
from vedette.operations.freshness import Freshness, FreshnessQuestion, freshness
from vedette.operations.installation import Installation
from vedette.store.migrate import DATABASE

LARGE = 64 * 1024 * 1024  # bytes of a database; below that the answer takes less time than a process
NICE = 10  # the engine goes first
_PROGRAM = (sys.executable, "-P", "-c", "from vedette.operations.freshness_apart import main; main()")


@dataclass(slots=True)
class FreshnessProcess:
    """At most one at a time, which ends with us."""

    large: int = LARGE
    _child: subprocess.Popen[bytes] | None = None
    _is_closed: bool = False

    def takes_long(self, installation: Installation) -> bool:
        path = installation.loaded.data / DATABASE
        return path.exists() and path.stat().st_size >= self.large

    def ask(self, installation: Installation) -> Freshness:
        """As `freshness` says, with the configured policy.  InputError: nothing is watched yet."""
        if not self.takes_long(installation):
            return freshness(installation, FreshnessQuestion())
        path = installation.store()
        asked = (installation.loaded.config, path.parent, installation.now())
        said = self._answer(pickle.dumps(asked))
        if isinstance(said, str):
            raise InputError(said)
        return cast(Freshness, said)

    def close(self) -> None:
        self._is_closed = True
        if self._child is not None:
            self._child.kill()

    def _answer(self, asked: bytes) -> Any:
        if self._is_closed:
            raise StoreError("the server ends")
        with subprocess.Popen(_PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:  # noqa: S603  ourselves
            self._child = child
            answer, _ = child.communicate(asked)
        self._child = None
        if child.returncode:
            raise StoreError("freshness could not be worked out; `vedette freshness` says why")
        return pickle.loads(answer)  # noqa: S301  of our own process


@dataclass(frozen=True, slots=True)
class _Moment:
    """A clock that stands."""

    at: datetime

    def now(self) -> datetime:
        return self.at


def main() -> None:
    """The process: one question in, one answer out; words instead of figures where there is nothing to say."""
    os.nice(NICE)
    asked: tuple[Config, Path, datetime] = pickle.load(sys.stdin.buffer)  # noqa: S301  of our own server
    config, data, now = asked
    loaded = Loaded(config=config, path=None, data=data, digest="")
    installation = Installation(loaded, cast(Clock, _Moment(now)))
    said: Freshness | str
    try:
        said = freshness(installation, FreshnessQuestion())
    except InputError as error:
        said = str(error)
    sys.stdout.buffer.write(pickle.dumps(said))
    sys.stdout.buffer.flush()
