"""The files that start Vedette elsewhere: container, compose, Kubernetes, systemd, proxies.

Each is read by the program, or by the schema, of those who take it.  Nothing is pulled and no cluster is asked.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from compose_spec import PyCompose
from machine import patient
from stocked import stocked
from web_kit import Client, an_installation, serving

from vedette.config.model import parse
from vedette.operations.access_tokens import make_token

ROOT = Path(__file__).resolve().parents[2]
OPS = ROOT / "ops"
UNITS = sorted((OPS / "systemd").iterdir())
MANIFESTS = sorted((OPS / "kubernetes").glob("*.yaml"))
UNAVAILABLE = 69
ROLES = {"crawl", "stages", "panel", "scheduler", "serve"}
NAME = "watch.example.org"


def done(*words: str | Path, **given: Any) -> subprocess.CompletedProcess[str]:
    found = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        timeout=patient(60),
        check=False,
        **given,
    )
    if found.returncode == UNAVAILABLE:
        pytest.skip(found.stderr.strip())
    return found


def documents() -> list[dict[str, Any]]:
    return [one for path in MANIFESTS for one in yaml.safe_load_all(path.read_text("utf-8"))]


def pods() -> list[dict[str, Any]]:
    return [one["spec"]["template"]["spec"] for one in documents() if "template" in one.get("spec", {})]


def compose() -> dict[str, Any]:
    return yaml.safe_load((OPS / "compose" / "docker-compose.yml").read_text("utf-8"))


def test_hadolint_takes_the_dockerfile():
    found = done(Path(sys.executable).parent / "hadolint", OPS / "Dockerfile")
    assert (found.returncode, found.stdout) == (0, "")


def test_the_image_runs_without_root_and_copies_only_what_is_there():
    text = (OPS / "Dockerfile").read_text("utf-8")
    last = text.rpartition("\nFROM ")[2]
    assert "\nUSER 10001:10001\n" in last
    ignored = (ROOT / ".dockerignore").read_text("utf-8")
    copied = [
        word
        for line in text.splitlines()
        if line.startswith("COPY ") and "--from" not in line
        for word in line.split()[1:-1]
    ]
    assert len(copied) >= 7
    for word in copied:
        assert (ROOT / word).exists(), word
        assert any(f"!{part}\n" in ignored for part in (word, word.partition("/")[0])), word


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.stem)
def test_the_schemas_of_kubernetes_take_the_manifests(manifest: Path):
    found = done(Path(sys.executable).parent / "kubernetes-validate", "--strict", manifest)
    assert found.returncode == 0, found.stdout + found.stderr


def test_every_pod_runs_without_root_on_a_file_system_that_it_cannot_write():
    assert len(pods()) == 4
    for pod in pods():
        assert pod["securityContext"]["runAsNonRoot"] is True
        for container in pod["containers"]:
            held = container["securityContext"]
            assert held["readOnlyRootFilesystem"] is True
            assert held["allowPrivilegeEscalation"] is False
            assert held["capabilities"] == {"drop": ["ALL"]}
            mounts = {mount["name"] for mount in container["volumeMounts"]}
            assert mounts <= {volume["name"] for volume in pod["volumes"]} | {"data"}


def test_the_compose_specification_takes_the_compose_file_and_every_file_that_it_mounts_is_there():
    made = compose()
    PyCompose.from_json(json.dumps(made))  # anchors and merges are resolved, as Docker does it
    wanted = {"crawl", "panel", "scheduler", "serve", "postgres", "redis", "prometheus", "grafana"}
    assert set(made["services"]) == wanted
    assert made["services"]["crawl"]["deploy"]["replicas"] == 2
    for service in made["services"].values():
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            assert source in made["volumes"] or (OPS / "compose" / source).exists(), volume
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), "nothing is open to others by itself"


def test_our_services_of_the_compose_file_can_write_nothing_but_their_volume():
    for name in ("crawl", "panel", "scheduler", "serve"):
        service = compose()["services"][name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]


def test_workers_are_given_roles_that_there_are():
    commands = [compose()["services"][name]["command"] for name in ("crawl", "panel", "scheduler", "serve")]
    commands += [container["args"] for pod in pods() for container in pod["containers"]]
    asked = [command[2] for command in commands if command[0] == "worker"]
    assert len(asked) == 7
    assert {role for roles in asked for role in roles.split(",")} <= ROLES


def test_every_secret_of_the_compose_file_is_in_the_example_and_none_has_a_value():
    text = (OPS / "compose" / "docker-compose.yml").read_text("utf-8")
    example = (OPS / "compose" / "env.example").read_text("utf-8")
    named = {part.partition(":?")[0] for part in text.split("${")[1:]}
    assert named == {"POSTGRES_PASSWORD", "VEDETTE_TOKEN", "GRAFANA_PASSWORD"}
    for name in named:
        assert f"\n{name}=\n" in example


def test_the_settings_that_are_mounted_are_ones_that_vedette_takes():
    settings = [yaml.safe_load((OPS / "compose" / "vedette.yaml").read_text("utf-8"))]
    settings += [
        yaml.safe_load(one["data"]["vedette.yaml"]) for one in documents() if one["kind"] == "ConfigMap"
    ]
    assert len(settings) == 3
    for one in settings:
        assert parse(one).serve.token == "env:VEDETTE_TOKEN"


def test_systemd_takes_the_units(tmp_path: Path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze: NOT RUN.  Install Debian's package systemd.")
    here = Path(sys.executable).parent / "vedette"
    for unit in UNITS:
        text = unit.read_text("utf-8").replace("/opt/vedette/bin/vedette", str(here))
        (tmp_path / unit.name).write_text(text, "utf-8")
    found = done("systemd-analyze", "verify", "--man=no", *(tmp_path / unit.name for unit in UNITS))
    mine = [line for line in (found.stdout + found.stderr).splitlines() if "vedette" in line]
    assert (found.returncode, mine) == (0, [])


def test_systemd_holds_the_service_for_well_fenced():
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze: NOT RUN.  Install Debian's package systemd.")
    found = done(
        "systemd-analyze", "security", "--offline=yes", "--no-pager", OPS / "systemd" / "vedette.service"
    )
    level = float(found.stdout.rpartition("vedette.service: ")[2].split()[0])
    assert level < 2.5


def test_what_the_units_run_is_a_command_that_there_is():
    from vedette.surface.cli.program import VERBS

    verbs = {row[0] for _, rows in VERBS for row in rows}
    lines = [
        line for unit in UNITS for line in unit.read_text("utf-8").splitlines() if "bin/vedette --" in line
    ]
    assert len(lines) == 3
    for line in lines:
        words = line.partition("--data /var/lib/vedette ")[2].split()
        assert words[0] in verbs


@asynccontextmanager
async def in_front(command: list[str], port: int) -> AsyncIterator[None]:
    """A proxy as a process, ended by its id."""
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    try:
        for _ in range(int(patient(100))):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                assert process.returncode is None, (await process.communicate())[1].decode()
                await asyncio.sleep(0.1)
            else:
                writer.close()
                break
        yield
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def free_port() -> int:
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def nginx_command(folder: Path, port: int, upstream: str) -> list[str]:
    cert, key = folder / "fullchain.pem", folder / "privkey.pem"
    made = done(
        "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
        "-subj", f"/CN={NAME}", "-keyout", key, "-out", cert,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    server = (OPS / "proxy" / "nginx.conf").read_text("utf-8")
    server = server.replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl").replace(
        "127.0.0.1:9464", upstream
    )
    server = server.replace("/etc/ssl/vedette", str(folder))
    places = "".join(
        f"{kind}_temp_path {folder};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    whole = (
        f"daemon off; pid {folder}/pid; error_log stderr warn; worker_processes 1;\n"
        f"events {{}}\nhttp {{ access_log off; {places} {server} }}\n"
    )
    (folder / "nginx.conf").write_text(whole, "utf-8")
    command = [str(ROOT / "tools" / "from-debian"), "nginx", "nginx", "-p", str(folder), "-c", "nginx.conf"]
    tried = done(*command, "-t")
    assert tried.returncode == 0, tried.stderr
    return command


def caddy_command(folder: Path, port: int, upstream: str) -> list[str]:
    text = (OPS / "proxy" / "Caddyfile").read_text("utf-8").replace("127.0.0.1:9464", upstream)
    command = [str(ROOT / "tools" / "from-debian"), "caddy", "caddy"]
    (folder / "Caddyfile").write_text(text, "utf-8")
    tried = done(*command, "validate", "--adapter", "caddyfile", "--config", folder / "Caddyfile")
    assert tried.returncode == 0, tried.stderr
    # No certificate authority is asked here, and no store of the machine is touched: its own, for this once.
    options = ("admin off", f"storage file_system {folder}", "skip_install_trust", "grace_period 1s")
    quiet = "{\n\t" + "\n\t".join((*options, "auto_https disable_redirects")) + "\n}\n"
    site = f"{NAME}:{port} {{\n\tbind 127.0.0.1\n\ttls internal\n"
    (folder / "Caddyfile").write_text(quiet + text.replace(f"{NAME} {{\n", site), "utf-8")
    return [*command, "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


@pytest.mark.parametrize("made", [nginx_command, caddy_command])
async def test_a_proxy_as_we_describe_it_lets_people_in_by_their_token_and_hands_events_on(
    made, tmp_path: Path
):
    stocked(tmp_path / "data")
    installation = an_installation(tmp_path / "data")
    port = free_port()
    async with serving(installation, hosts=(NAME,)) as direct:
        command = made(tmp_path, port, direct.address.removeprefix("http://"))
        async with in_front(command, port), through(port) as client:
            assert (await client.ask("/")).status == 403, "no token yet: nobody comes in by a proxy"
            assert (await client.ask("/healthz")).status == 200
    token = make_token(installation, "ana", "write").token
    async with serving(installation, hosts=(NAME,)) as direct:
        command = made(tmp_path, port, direct.address.removeprefix("http://"))
        async with in_front(command, port), through(port) as client:
            assert (await client.ask("/changes")).status == 401
            ours = {"Authorization": f"Bearer {token}"}
            assert (await client.ask("/changes", headers=ours)).status == 200
            form = {"token": token}
            same = {"Sec-Fetch-Site": "same-origin"}
            signed = await client.post("/login", data=form, headers=same)
            assert signed.status == 303
            assert "Secure" in signed.headers["Set-Cookie"], "the cookie is for TLS only"
            await follows_events(client, direct, ours)


async def follows_events(client: Client, direct: Client, ours: dict[str, str]) -> None:
    from datetime import UTC, datetime

    from vedette.contracts.events import ProblemTold

    url = client.address + "/api/v1/events"
    async with client.session.get(url, headers={**client.headers, **ours}) as answer:
        assert answer.status == 200
        direct.state.events.emit(ProblemTold(at=datetime.now(UTC), what="a disk is full"))
        async with asyncio.timeout(patient(10)):
            while b"a disk is full" not in await answer.content.readline():
                pass


@asynccontextmanager
async def through(port: int) -> AsyncIterator[Client]:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # made a second ago, by ourselves
    connector = aiohttp.TCPConnector(ssl=context, resolver=ToHere())
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield Client(session, f"https://{NAME}:{port}", None, {})  # type: ignore[arg-type]


class ToHere(aiohttp.abc.AbstractResolver):
    """Every name is this machine."""

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[Any]:
        return [{"hostname": host, "host": "127.0.0.1", "port": port, "family": 2, "proto": 0, "flags": 0}]

    async def close(self) -> None: ...
