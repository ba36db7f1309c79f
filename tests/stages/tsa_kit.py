"""A real time stamping authority on loopback: `openssl ts -reply` behind a small HTTP server."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

CONFIG = """
[req]
distinguished_name = name
[name]
[tsa]
default_tsa = one
[one]
serial = {folder}/serial
signer_cert = {folder}/tsa.pem
signer_key = {folder}/tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
accuracy = secs:1
ess_cert_id_chain = no
ess_cert_id_alg = sha256
[ca]
basicConstraints = critical,CA:true
keyUsage = critical,keyCertSign
[signer]
basicConstraints = CA:false
keyUsage = critical,digitalSignature
extendedKeyUsage = critical,timeStamping
"""


@dataclass
class Authority:
    folder: Path
    port: int = 0
    is_away: bool = False  # it answers 503

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/tsr"

    @property
    def ca(self) -> Path:
        return self.folder / "ca.pem"

    def reply(self, question: bytes) -> bytes:
        asked, answered = self.folder / "asked.tsq", self.folder / "answered.tsr"
        asked.write_bytes(question)
        _openssl(
            self.folder, "ts", "-reply", "-config", "tsa.cnf", "-queryfile", f"{asked}", "-out", f"{answered}"
        )
        return answered.read_bytes()


@contextmanager
def authority(folder: Path) -> Iterator[Authority]:
    folder.mkdir()
    made = Authority(folder)
    (folder / "tsa.cnf").write_text(CONFIG.format(folder=folder))
    (folder / "serial").write_text("01\n")
    new = ("-newkey", "rsa:2048", "-nodes", "-sha256")
    _openssl(folder, "req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Test CA", "-days", "30",
             "-extensions", "ca", "-config", "tsa.cnf")  # fmt: skip
    _openssl(
        folder,
        "req",
        *new,
        "-keyout",
        "tsa.key",
        "-out",
        "tsa.csr",
        "-subj",
        "/CN=Test TSA",
        "-config",
        "tsa.cnf",
    )
    _openssl(folder, "x509", "-req", "-in", "tsa.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out",
             "tsa.pem", "-days", "30", "-sha256", "-extfile", "tsa.cnf", "-extensions", "signer")  # fmt: skip

    class Door(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            question = self.rfile.read(int(self.headers["Content-Length"]))
            body = b"" if made.is_away else made.reply(question)
            self.send_response(503 if made.is_away else 200)
            self.send_header("Content-Type", "application/timestamp-reply")
            self.send_header("Content-Length", f"{len(body)}")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    made.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()


def _openssl(folder: Path, *words: str) -> None:
    done = subprocess.run(["openssl", *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
