"""One call of the command line, in this process."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any

from stocked import FixedClock

from vedette.contracts.ports import Clock
from vedette.report.plain import show_times_in
from vedette.surface.cli import main


@dataclass(frozen=True)
class Told:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Cli:
    data: Path
    app: Any = None
    clock: Clock | None = None

    def __call__(self, *words: str, stdin: bytes = b"") -> Told:
        out, err = io.StringIO(), io.StringIO()
        before = sys.stdin
        sys.stdin = io.TextIOWrapper(io.BytesIO(stdin))
        try:
            with redirect_stdout(out), redirect_stderr(err):
                code = main(
                    [*words, "--data", str(self.data)], clock=self.clock or FixedClock(), app=self.app
                )
        finally:
            sys.stdin = before
            show_times_in(UTC)  # as a process begins: a zone of the configuration ends with the call
        return Told(code, out.getvalue(), err.getvalue())
