"""Makes small stores with the code of earlier commits, for the tests of upgrades:  tools/old_stores.py FOLDER COMMIT...

Each watches one page of a server on this machine over an edit.  Written is FOLDER/<revision>-<commit>.tar.xz.
"""

from __future__ import annotations

import http.server
import io
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
ADDRESS = "127.0.0.1"
CONFIG = """
fetch: {{allow_networks: [127.0.0.0/8], allow_ports: [{port}]}}
lanes: {{default: {{gap_min: 10ms, gap_max: 20ms, per_minute: 0}}}}
schedule: {{policy: fixed, interval: 1s}}
"""
FILLER = "<p>The office publishes notices for those who must file forms every year.</p>" * 6


class Page(http.server.BaseHTTPRequestHandler):
    rate = "25"

    def do_GET(self) -> None:
        is_page = self.path == "/rules"
        body = f"<html><title>Rules</title><body><h1>Rules</h1><p>The rate is {self.rate} %.</p>{FILLER}".encode()
        self.send_response(200 if is_page else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        pass


def main(folder: str, *commits: str) -> None:
    server = http.server.ThreadingHTTPServer((ADDRESS, 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    target = pathlib.Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for commit in commits:
        try:
            print(commit, _make(target, commit, server.server_port), flush=True)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired, sqlite3.Error, OSError) as error:
            words = getattr(error, "stderr", b"") or b""
            print(commit, "failed:", error, words.decode()[-300:], flush=True)


def _make(target: pathlib.Path, commit: str, port: int) -> str:
    with tempfile.TemporaryDirectory() as place:
        code, data = pathlib.Path(place, "code"), pathlib.Path(place, "data")
        packed = subprocess.run(
            ["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=True
        ).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(code)  # of our own making
        config = pathlib.Path(place, "vedette.yaml")
        config.write_text(CONFIG.format(port=port))

        def run(*words: str) -> None:
            subprocess.run(
                [sys.executable, "-m", "vedette", *words, "--config", str(config), "--data", str(data)],
                env={"PYTHONPATH": str(code / "src"), "PATH": "/usr/bin:/bin", "HOME": place},
                cwd=place,
                capture_output=True,
                check=True,
                timeout=120,
            )

        Page.rate = "25"
        run("add", f"http://{ADDRESS}:{port}/rules", "--risk", "high")
        run("add", f"http://{ADDRESS}:{port}/nothing")
        run("run", "--seconds", "3")
        Page.rate = "24"
        run("run", "--seconds", "8")
        return _pack(target, commit, data)


def _pack(target: pathlib.Path, commit: str, data: pathlib.Path) -> str:
    db = sqlite3.connect(data / "vedette.db")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    (revision,) = db.execute("SELECT version_num FROM alembic_version").fetchone()
    counts = [db.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] for name in ("visits", "changes")]
    db.execute("VACUUM")
    db.close()
    for name in ("lock", "vedette.db-wal", "vedette.db-shm"):
        (data / name).unlink(missing_ok=True)
    file = target / f"{revision}-{commit}.tar.xz"
    with tarfile.open(file, "w:xz") as archive:
        for path in sorted(data.rglob("*")):
            archive.add(path, str(path.relative_to(data)), recursive=False, filter=_anonymous)
    shutil.rmtree(data)
    return f"{file.name}: {counts[0]} visits, {counts[1]} changes, {file.stat().st_size} bytes"


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    main(*sys.argv[1:])
