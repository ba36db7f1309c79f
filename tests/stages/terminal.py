"""A command in a real pseudo-terminal, and what a person saw of it: every line, and every state of the status line."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from machine import patient

SIZES = ((80, 24), (100, 30), (200, 50))
_SEQUENCE = re.compile(r"\x1b\[([0-?]*)[ -/]*([@-~])|\x1b\][^\x07]*\x07|\x1b.")


@dataclass
class Shot:
    """`lines` stay on the screen or scrolled away; `states` are lines that were overwritten."""

    code: int
    raw: str
    lines: list[str]
    states: list[str]
    too_wide: list[str]  # lines that the terminal had to break

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass
class Screen:
    """As much of a terminal as programs that print lines and move one of them need."""

    columns: int
    rows: list[str] = field(default_factory=lambda: [""])
    row: int = 0
    column: int = 0
    states: list[str] = field(default_factory=list)
    too_wide: list[str] = field(default_factory=list)

    def feed(self, raw: str) -> None:
        at = 0
        while at < len(raw):
            found = _SEQUENCE.match(raw, at)
            if found is not None:
                self._obey(found[1] or "", found[2] or "")
                at = found.end()
                continue
            self._put(raw[at])
            at += 1

    def _obey(self, numbers: str, word: str) -> None:
        count = int(numbers) if numbers.isdigit() else 1
        if word == "A":
            self.row = max(0, self.row - count)
        elif word == "K":
            self.states.append(self.rows[self.row])
            self.rows[self.row] = ""

    def _put(self, char: str) -> None:
        if char == "\r":
            self.column = 0
        elif char == "\n":
            self.row += 1
            self.column = 0
            if self.row == len(self.rows):
                self.rows.append("")
        elif char >= " ":
            if self.column == self.columns:
                self.too_wide.append(self.rows[self.row])
                self._put("\n")
            line = self.rows[self.row].ljust(self.column)
            self.rows[self.row] = line[: self.column] + char + line[self.column + 1 :]
            self.column += 1


def in_terminal(
    command: Sequence[str],
    size: tuple[int, int],
    *,
    cwd: Path,
    seconds: float = 60.0,
    interrupt_after: float | None = None,
) -> Shot:
    """Runs it to its end.  Limits stand against hanging only."""
    columns, rows = size
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        env = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "HOME": str(cwd), "LANG": "C.UTF-8"}
        paths = [str(Path(__file__).parents[2] / "src"), str(Path(__file__).parent)]
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # also where we were started in the background
        os.execve(command[0], list(command), {**env, "PYTHONPATH": os.pathsep.join(paths)})
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    raw = _read(pid, fd, time.monotonic() + patient(seconds), interrupt_after)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    screen = Screen(columns)
    screen.feed(raw)
    return Shot(code, raw, screen.rows, screen.states, screen.too_wide)


def _read(pid: int, fd: int, until: float, interrupt_after: float | None) -> str:
    raw = b""
    stop_at = None if interrupt_after is None else time.monotonic() + interrupt_after
    while time.monotonic() < until:
        if stop_at is not None and time.monotonic() >= stop_at:
            os.write(fd, b"\x03")  # as a person does it
            stop_at = None
        if not select.select([fd], [], [], 0.05)[0]:
            continue
        try:
            chunk = os.read(fd, 65536)
        except OSError:
            break
        if not chunk:
            break
        raw += chunk
    else:
        os.kill(pid, signal.SIGKILL)
    return raw.decode("utf-8", "replace")
