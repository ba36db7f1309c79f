"""Keys are planted wherever a key may come from, providers quote them back, and everything written is searched."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from machine import patient
from panel_town import HOME, Town, town
from postgres_kit import postgresql_server
from redis_kit import own_redis

from vedette.providers.provider_table import PROVIDERS
from vedette.store.dialect import open_sql

OWN_VARIABLE = {row.name: row.key_env for row in PROVIDERS}
SEVERAL = ("openai/gpt-4o-mini", "google/gemini-1.5-flash")  # three keys each
NAMED = ("cohere", "groq")  # by `keys:` of the configuration
FAULTS = {
    "openai/gpt-4o-mini": "echo_in_answer",
    "google/gemini-1.5-flash": "echo_header",
    "anthropic/claude-3-haiku": "echo_key",
    "cohere": "echo_header",
    "groq": "echo_in_answer",
    "deepseek": "echo_key",
    "mistral": "echo_in_answer",
    "you/search": "echo_header",
    "perplexity/sonar": "echo_in_answer",
}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


PORT = free_port()
SLOW = "ai21/jamba"  # keeps the batch going while its pages are read
# What a program could do instead of masking: the search has to find it.
CARELESS = """
from vedette.providers import caller as secrecy
secrecy.KeyScrubber.clean = secrecy.KeyScrubber.clean_words = lambda self, text: text
secrecy.KeyScrubber.clean_value = lambda self, value: value
"""


def key_of(word: str) -> str:
    return f"sk-{word}/Planted+{base64.b16encode(word.encode())[:12].decode()}-7Qf3xZ9bL2vN8wK4mR6t"


def planted() -> dict[str, str]:
    """Environment variables with a secret each."""
    found = {name: key_of(name.lower()) for name in set(OWN_VARIABLE.values())}
    for name in SEVERAL:
        variable = OWN_VARIABLE[name]
        found |= {f"{variable}_{n}": key_of(f"{variable.lower()}{n}") for n in (2, 3)}
    found |= {f"MY_{name.upper()}_{n}": key_of(f"my{name}{n}") for name in NAMED for n in (1, 2)}
    return found | {"PANEL_TOKEN": key_of("token")}


def forms(secret: str) -> Iterable[bytes]:
    """The secret as it may be written: plain, in a URL, in JSON, in base64."""
    yield secret.encode()
    yield quote(secret, safe="").encode()
    yield json.dumps(secret)[1:-1].replace("/", "\\/").encode()
    for shift in range(3):
        whole = base64.b64encode(b"x" * shift + secret.encode())
        yield whole[4:-4]


def leaks(written: dict[str, bytes], secrets: Iterable[str]) -> set[tuple[str, str]]:
    return {
        (place, secret)
        for place, data in written.items()
        for secret in secrets
        if any(form in data for form in forms(secret))
    }


@pytest.fixture(scope="module")
def database() -> Iterator[tuple[str, Path]]:
    with postgresql_server() as (uri, folder):
        yield uri, folder


def configure(place: Town, **panel) -> None:
    rows = {
        row.name: {
            "base_url": place.origins[row.name] + urlsplit(row.base_url).path,
            "per_minute": 120 if row.name == SLOW else 3000,
            **({"keys": [f"env:MY_{row.name.upper()}_{n}" for n in (1, 2)]} if row.name in NAMED else {}),
        }
        for row in PROVIDERS
    }
    port = urlsplit(next(iter(place.origins.values()))).port
    whole = {
        "providers": rows,
        "fetch": {"allow_networks": ["127.0.0.0/8"], "allow_ports": [port, place.control]},
        "panel": {
            "listen": f"127.0.0.1:{PORT}",
            "token": "env:PANEL_TOKEN",
            "hard": "20s",
            "target": "10s",
            **panel,
        },
    }
    (place.folder / "vedette.yaml").write_text(json.dumps(whole))


def start(place: Town, *words: str, **environment: str) -> subprocess.Popen[str]:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": HOME, **planted(), **environment}
    command = [sys.executable, "-m", "vedette", "panel", *words]
    return subprocess.Popen(
        command, cwd=place.folder, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def pages(secret: str) -> bytes:
    """Everything that the admin says, to who has the token and to who has not."""
    said = b""
    for path in (
        "/healthz",
        "/readyz",
        "/metrics",
        "/batch/nope",
        *(f"/provider/{n}/state" for n in OWN_VARIABLE),
    ):
        right, wrong = {"Authorization": f"Bearer {secret}"}, {"Authorization": "Bearer wrong"}
        for headers in (
            ({}, right, wrong) if path == "/metrics" else ({}, right)
        ):  # a wrong one is answered late
            request = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", headers=headers)
            try:
                with urllib.request.urlopen(request, timeout=patient(10)) as answer:
                    said += answer.read() + str(answer.headers).encode()
            except urllib.error.HTTPError as error:
                said += error.read() + str(error.headers).encode()
    return said


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != "vedette.yaml")
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def rows_of(url: str) -> bytes:
    db = open_sql(url)
    names = [name for (name,) in db.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
    said = {name: repr(db.rows(f'SELECT * FROM "{name}"')).encode() for name in names}
    db.close()
    assert len(said["panel_answers"]) > 1000
    return b"".join(said.values())


def run_everything(place: Town, **environment: str) -> dict[str, bytes]:
    """A run that is killed, a resume with the admin open, and all verbs that tell something."""
    (place.folder / "domains.txt").write_text("".join(f"d{n}.example\n" for n in range(12)))
    for name, kind in FAULTS.items():
        place.act("fault", provider=name, kind=kind, share=0.6)
    first = start(place, "run", "--domains", "domains.txt", "--json", **environment)
    for line in first.stdout:
        if json.loads(line).get("settled", 0) > 5:
            break
    first.send_signal(signal.SIGKILL)
    written = {"killed": "".join(first.communicate()).encode(), **files(place.folder)}
    second = start(place, "resume", "--listen", "--json", "--take-over", **environment)
    said = second.stdout.readline()
    written["pages"] = pages(planted()["PANEL_TOKEN"])
    written["resumed"] = (said + "".join(second.communicate(timeout=patient(60)))).encode()
    verbs = (
        ("status",),
        ("status", "--json"),
        ("models", "--json"),
        ("drift",),
        ("resume", "--parked"),
        ("status",),
    )
    for verb in verbs:
        written[" ".join(verb)] = "".join(
            start(place, *verb, **environment).communicate(timeout=patient(60))
        ).encode()
    return written | files(place.folder)


@pytest.mark.slow
def test_no_secret_is_in_anything_that_is_written_said_or_stored(tmp_path, database):
    secrets = planted().values()
    with town(tmp_path, latency=0.02) as place, own_redis() as redis:
        configure(place)
        written = run_everything(place, DATABASE_URL=database[0], REDIS_URL=redis.url)
        asked = place.act("stats")["providers"]
        written["rows"] = rows_of(database[0])
        written["redis"] = b"".join(
            key + (redis.client.dump(key) or b"") for key in redis.client.scan_iter("*")
        )
    written |= {f"pg/{name}": data for name, data in files(database[1]).items()}
    for name, kind in FAULTS.items():
        assert asked[name]["faults"].get(kind, 0) > 0, f"{name} did quote the key"
    assert {len(asked[name]["keys"]) for name in SEVERAL} == {3}, "every key was used"
    assert {len(asked[name]["keys"]) for name in NAMED} == {2}
    assert b"***" in written["rows"], "what was quoted is masked, and the rest of the answer kept"
    assert b"vedette_provider_success_ratio" in written["pages"]
    assert leaks(written, secrets) == set()


@pytest.mark.slow
def test_the_search_finds_what_a_careless_program_leaves(tmp_path):
    (tmp_path / "careless").mkdir()
    (tmp_path / "careless" / "sitecustomize.py").write_text(CARELESS)
    (tmp_path / "place").mkdir()
    with town(tmp_path / "place", latency=0.02) as place:
        configure(place)
        found = leaks(run_everything(place, PYTHONPATH=f"{HOME}:{tmp_path / 'careless'}"), planted().values())
    assert any("vedette.db" in name for name, _ in found)
    assert {secret for _, secret in found} >= {key_of("openai_api_key"), key_of("mygroq1")}


@pytest.mark.parametrize(
    ("section", "environment"),
    [
        ({"providers": {"cohere": {"keys": ["SECRET"]}}}, {}),
        ({"providers": {"cohere": {"keys": "SECRET"}}}, {}),
        ({"providers": {"cohere": {"key": "SECRET"}}}, {}),
        ({"providers": {"cohere": {"base_url": "https://u:SECRET@h.example/v1"}}}, {}),
        ({"providers": {"cohere": {"base_url": "https://h.example/v1?key=SECRET"}}}, {}),
        ({"panel": {"registry": "https://u:SECRET@127.0.0.1:9/x?key=SECRET"}}, {}),
        ({"panel": {"registry": "ftp://u:SECRET@127.0.0.1/x?key=SECRET"}}, {}),
        ({}, {"DATABASE_URL": "postgresql://u:SECRET@127.0.0.1:1/x"}),
        ({}, {"DATABASE_URL": "postgresql://u:SECRET@127.0.0.1:port/x"}),
        ({}, {"DATABASE_URL": "mysql://u:SECRET@127.0.0.1/x"}),
        ({}, {"DATABASE_URL": "u:SECRET@127.0.0.1"}),
        ({}, {"REDIS_URL": "redis://u:SECRET@127.0.0.1:port/x"}),
        ({}, {"REDIS_URL": "u:SECRET@127.0.0.1"}),
        ({}, {"COHERE_API_KEY": "SECRET with a space"}),
        ({}, {"COHERE_API_KEY": "SECRET\x1b"}),
    ],
)
def test_a_secret_in_the_wrong_place_is_refused_and_not_shown(tmp_path, section, environment):
    secret = "wX7planted-Q2f9"
    text = json.dumps(section).replace("SECRET", secret)
    (tmp_path / "vedette.yaml").write_text(text)
    given = {name: value.replace("SECRET", secret) for name, value in environment.items()}
    place = Town({}, 0, tmp_path)
    words = ["run"] if "registry" in text else ["run", "--domains", "d.txt"]
    (tmp_path / "d.txt").write_text("a.example\n")
    env = {"COHERE_API_KEY": "sk-fine", **given}
    process = start(place, *words, "--model", "cohere", **env)
    out, err = process.communicate(timeout=patient(60))
    assert process.returncode > 0, (out, err)
    assert "Traceback" not in err
    assert secret not in out + err
    assert (
        leaks(files(tmp_path / "vedette-data") if (tmp_path / "vedette-data").exists() else {}, [secret])
        == set()
    )
