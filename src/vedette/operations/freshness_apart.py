"""Freshness of a large store, worked out in a process of its own: a million looks would hold up engine and pages."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Thread
from typing import Any, cast

from vedette.config.model import Config, Loaded
from vedette.contracts.errors import InputError, RefusedError, StoreError
from vedette.contracts.ports import Clock
from vedette.core.schedule import POLICIES
from vedette.core.text.nearest import unknown
from vedette.operations.freshness import Freshness, FreshnessQuestion, freshness
from vedette.operations.installation import Installation
from vedette.operations.simulate import WhatIf, simulate_record, simulation_json
from vedette.store.migrate import DATABASE

LARGE = 64 * 1024 * 1024  # bytes of a database; below that the answer takes less time than a process
DRAWS = 3  # of what the looks do not say
PATIENCE_S = 25.0  # a request has 30
NICE = 10  # the engine goes first
MARK = b"vedette-progress"  # begins a line of the process that says how far it is
FOLLOWED = "followed"  # argument of the process: somebody reads how far it is
Progress = Callable[[int, int], None]
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
        return cast(Freshness, self._asked(installation, FreshnessQuestion(), None))

    def what_if(
        self, installation: Installation, asked: WhatIf, *, progress: Progress | None = None
    ) -> dict[str, object]:
        """`simulate` over the looks on record, as its JSON.

        RefusedError: another one is under way.  StoreError: it takes longer than a page may.  Who follows its
        progress can wait, and end it.
        """
        if self._child is not None:
            raise RefusedError("another one is being worked out; try again in a moment")
        patience = PATIENCE_S if progress is None else None
        return cast(dict[str, object], self._asked(installation, asked, patience, progress))

    def stop(self) -> None:
        """Nobody waits for the answer any more."""
        if self._child is not None:
            self._child.kill()

    def _asked(
        self,
        installation: Installation,
        what: FreshnessQuestion | WhatIf,
        patience: float | None,
        progress: Progress | None = None,
    ) -> Any:
        installation.store()  # checked to be there
        loaded = installation.loaded
        asked = pickle.dumps((loaded.config, loaded.data, installation.now(), what))
        said = self._answer(asked, patience, progress)
        if isinstance(said, str):
            raise InputError(said)
        return said

    def close(self) -> None:
        self._is_closed = True
        if self._child is not None:
            self._child.kill()

    def _answer(self, asked: bytes, patience: float | None, progress: Progress | None) -> Any:
        if self._is_closed:
            raise StoreError("the server ends")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        pipes |= {} if progress is None else {"stderr": subprocess.PIPE}
        program = _PROGRAM if progress is None else (*_PROGRAM, FOLLOWED)
        with subprocess.Popen(program, **pipes) as child:  # type: ignore[call-overload]  # noqa: S603  ourselves
            self._child = child
            try:
                answer = (
                    child.communicate(asked, timeout=patience)[0]
                    if progress is None
                    else _followed(child, asked, progress)
                )
            except subprocess.TimeoutExpired:
                child.kill()
                raise StoreError(
                    "there are too many looks on record for a page; `vedette simulate` takes its time"
                ) from None
            finally:
                self._child = None
        if child.returncode:
            raise StoreError("freshness could not be worked out; `vedette freshness` says why")
        return pickle.loads(answer)  # noqa: S301  of our own process


def _followed(child: subprocess.Popen[bytes], asked: bytes, progress: Progress) -> bytes:
    """The answer; until it comes, the process says on its standard error how far it is."""
    said: list[bytes] = []
    reader = Thread(target=lambda: said.append(child.stdout.read() if child.stdout else b""), daemon=True)
    reader.start()
    if child.stdin is not None:
        with suppress(BrokenPipeError):
            child.stdin.write(asked)
            child.stdin.close()
    for line in child.stderr or ():
        parts = line.split()
        if len(parts) == 3 and parts[0] == MARK:
            progress(int(parts[1]), int(parts[2]))
    reader.join()
    child.wait()
    return said[0]


@dataclass(frozen=True, slots=True)
class _Moment:
    """A clock that stands."""

    at: datetime

    def now(self) -> datetime:
        return self.at


def main() -> None:
    """The process: one question in, one answer out; words instead of figures where there is nothing to say."""
    os.nice(NICE)
    asked: tuple[Config, Path, datetime, FreshnessQuestion | WhatIf] = pickle.load(  # noqa: S301  of our own server
        sys.stdin.buffer
    )
    config, data, now, what = asked
    loaded = Loaded(config=config, path=None, data=data, digest="")
    installation = Installation(loaded, cast(Clock, _Moment(now)))
    said: object
    try:
        said = _told(installation, what, _say if FOLLOWED in sys.argv else _say_nothing)
    except InputError as error:
        said = str(error)
    sys.stdout.buffer.write(pickle.dumps(said))
    sys.stdout.buffer.flush()


def _told(installation: Installation, what: FreshnessQuestion | WhatIf, progress: Progress) -> object:
    if isinstance(what, FreshnessQuestion):
        return freshness(installation, what)
    found = simulate_record(installation, what, since=None, draws=DRAWS, progress=progress)
    return simulation_json(found)


def _say(done: int, whole: int) -> None:
    sys.stderr.buffer.write(b"%s %d %d\n" % (MARK, done, whole))
    sys.stderr.buffer.flush()


def _say_nothing(done: int, whole: int) -> None:
    """What nobody reads would stand on the standard error of the server."""


def asked_what_if(*, budget: str, hours: str, policy: str) -> WhatIf:
    """As sliders give it; no policy: the configured one."""
    times = _number(budget, "budget", 0.05, 20.0)
    within = _number(hours, "hours", 0.25, 168.0)
    if policy and policy not in POLICIES:
        raise InputError(f"--policy: {unknown('schedule policy', policy, POLICIES)}")
    return WhatIf(
        policies=(policy,) if policy else (),
        budgets=(f"{times:g}x",),
        objectives=(f"CRITICAL={within * 60:.0f}m",),
    )


def _number(word: str, name: str, least: float, most: float) -> float:
    try:
        value = float(word)
    except ValueError:
        value = -1.0
    if not least <= value <= most:
        raise InputError(f"--{name}: a number from {least:g} to {most:g}")
    return value
