"""STAMPS: time stamps (RFC 3161) of HEADS, in a file beside it.

A time stamp is an authority's signature over the digest of a line of HEADS and the moment at which it saw it.  The line
stands on all lines before it, so whoever trusts the authority knows that all of them were there by then.

    2026-11-15T10:00:00.000000Z HEADS-w1 <chain> <the authority's answer, base64>
"""

from __future__ import annotations

import asyncio
import base64
import importlib
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import Any

from vedette.contracts.errors import ConfigError, StoreError, VedetteError
from vedette.evidence.files import ArchivePlace, Files, files_of, write_all
from vedette.evidence.heads import HeadLine, head_files, newest_heads, read_heads

STAMPS = "STAMPS"
LINE_LIMIT = 1024 * 1024  # an answer has 256 KiB at most
MISSING = "time stamps need the package rfc3161-client: pip install 'vedette[timestamps]'"
Ask = Callable[[bytes], Coroutine[Any, Any, bytes]]  # the authority: a question, its answer


@dataclass(frozen=True, slots=True)
class TimeStamp:
    """One line of STAMPS.  `chain`: how the stamped line of the file of heads ends."""

    at: datetime
    file: str
    chain: str
    token: bytes

    def __str__(self) -> str:
        token = base64.b64encode(self.token).decode()
        return f"{self.at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z {self.file} {self.chain} {token}"


async def stamp_heads(directory: ArchivePlace, ask: Ask, now: datetime) -> int:
    """Stamps the newest line of every file of heads that has none yet.  How many; VedetteError: it did not work."""
    made = 0
    for file, line in await asyncio.to_thread(_unstamped, directory):
        message = _message(line)
        token = await ask(_tokens().question(message))
        if wrong := _tokens().refusal(token, message):
            raise VedetteError(f"the time stamp of {file} cannot be used: {wrong}")
        await asyncio.to_thread(_append, directory, TimeStamp(now, file, line.chain.hex(), token))
        made += 1
    return made


def _unstamped(directory: ArchivePlace) -> list[tuple[str, HeadLine]]:
    known = {(stamp.file, stamp.chain) for stamp in stamps(directory) if isinstance(stamp, TimeStamp)}
    newest = {file: newest_heads(directory, worker)[-1:] for worker, file in head_files(directory).items()}
    return [
        (file, line)
        for file, lines in newest.items()
        for line in lines
        if (file, line.chain.hex()) not in known
    ]


def stamps(directory: ArchivePlace) -> Iterator[TimeStamp | str]:
    """All that were kept, in order; words for a line that cannot be read."""
    with suppress(FileNotFoundError), files_of(directory).reader(directory / STAMPS) as file:
        for number, raw in enumerate(file, start=1):
            try:
                at, name, chain, token = raw.decode("ascii").split()
                found = TimeStamp(
                    datetime.fromisoformat(at), name, chain, base64.b64decode(token, validate=True)
                )
            except ValueError:
                yield f"line {number} of {STAMPS} cannot be read"
                continue
            yield (
                found
                if f"{found}\n".encode() == raw
                else f"line {number} of {STAMPS} is not as it was written"
            )


def last_stamp_at(directory: ArchivePlace) -> datetime | None:
    """When the newest was made, by our clock of that moment."""
    return next((one.at for one in reversed(list(stamps(directory))) if isinstance(one, TimeStamp)), None)


def next_stamp_in(last: datetime | None, every: timedelta, now: datetime) -> timedelta:
    """How long until heads are stamped again.  A last one that is yet to come was made by a clock that stood ahead."""
    return timedelta(0) if last is None or last > now else max(timedelta(0), last + every - now)


@dataclass(frozen=True, slots=True)
class CheckedStamps:
    """What `evidence verify` found: how many there are, and what is wrong."""

    count: int = 0
    until: datetime | None = None  # the newest moment that a good one proves
    problems: tuple[str, ...] = ()
    note: str = ""


def check_stamps(directory: ArchivePlace, roots: bytes | None) -> CheckedStamps:
    """Offline.  Without the roots of the authority only what was stamped is checked, not by whom."""
    found, problems = [], []
    for one in stamps(directory):
        if isinstance(one, TimeStamp):
            found.append(one)
        else:
            problems.append(one)
    if not found:
        return CheckedStamps(problems=tuple(problems))
    lines = {
        (file, line.chain.hex()): line
        for worker, file in head_files(directory).items()
        for line in read_heads(directory, worker)
        if isinstance(line, HeadLine)
    }
    until: datetime | None = None
    for one in found:
        wrong, at = _wrong(one, lines.get((one.file, one.chain)), roots)
        if wrong:
            problems.append(f"the time stamp of {one.at:%Y-%m-%d %H:%M}: {wrong}")
        elif at is not None:
            until = at if until is None else max(until, at)
    note = (
        ""
        if roots is not None
        else "who signed the time stamps was not checked: name the CA of the authority with --tsa-ca"
    )
    return CheckedStamps(len(found), until, tuple(problems), note)


def _wrong(stamp: TimeStamp, line: HeadLine | None, roots: bytes | None) -> tuple[str, datetime | None]:
    if line is None:
        return f"{stamp.file} has no line that ends in {stamp.chain[:16]}...: it was changed since", None
    tokens, message = _tokens(), _message(line)
    wrong = (
        tokens.fault(stamp.token, message, roots)
        if roots is not None
        else tokens.refusal(stamp.token, message)
    )
    return wrong, None if wrong else tokens.moment(stamp.token)


def _message(line: HeadLine) -> bytes:
    """What is stamped: the line without its end, so that `openssl ts -verify -data` takes it too."""
    return str(line).encode()


def _append(directory: ArchivePlace, stamp: TimeStamp) -> None:
    """All of the line, lasting, or nothing of it.  What is left of one that a crash cut off goes."""
    files, path = files_of(directory), directory / STAMPS
    try:
        size = files.size(path)
        handle = files.create(path) if size is None else files.open(path)
        try:
            _write(files, handle, _whole(files, path, size or 0), f"{stamp}\n".encode())
        finally:
            files.close(handle)
        if size is None:
            files.fsync_directory(directory)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error}") from error


def _write(files: Files, handle: int, size: int, data: bytes) -> None:
    try:
        files.truncate(handle, size)
        write_all(files, handle, data, size)
        files.fdatasync(handle)
    except OSError:
        files.truncate(handle, size)
        raise


def _whole(files: Files, path: ArchivePlace, size: int) -> int:
    """How far whole lines go."""
    tail = files.read_at(path, max(0, size - LINE_LIMIT), LINE_LIMIT) if size else b""
    return size - (len(tail) - tail.rfind(b"\n") - 1)


def _tokens() -> ModuleType:
    try:
        return importlib.import_module("vedette.evidence.rfc3161_tokens")
    except ImportError:
        raise ConfigError(MISSING) from None
