"""Who is let in over HTTP, what each may do, and what is written down of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from stocked import RULES, stocked
from web_kit import an_installation, no_metrics, serving
from yarl import URL

from vedette.app.service import ServiceState
from vedette.contracts.errors import ConfigError, InputError
from vedette.operations.access_tokens import list_audit, list_tokens, make_token, revoke_token
from vedette.operations.simulate import replay
from vedette.store.connection import connect
from vedette.store.migrate import DATABASE
from vedette.surface.http.access_check import COOKIE, Right, right_for
from vedette.surface.http.page_frame import ASSETS
from vedette.surface.http.service_pages import OPEN_PATHS, assembled, opened
from vedette.surface.http.web_context import Web

SAME = {"Sec-Fetch-Site": "same-origin"}
LET_IN_WITHOUT = {"/healthz", "/readyz", "/login", ASSETS}  # the written list


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def walked(app) -> list[tuple[str, str]]:
    """Every path with every method, whatever it is included by."""
    found = []

    def walk(routes, prefix=""):
        for route in routes:
            inner = getattr(route, "original_router", None)
            if inner is not None:
                walk(inner.routes, prefix + getattr(route.include_context, "prefix", ""))
            else:
                path = prefix + route.path
                found.extend((method, path) for method in getattr(route, "methods", None) or ["GET"])

    walk(app.routes)
    return found


async def test_every_route_is_refused_without_credentials_except_a_written_list(tmp_path: Path):
    stocked(tmp_path)
    installation = an_installation(tmp_path)
    make_token(installation, "ana", "read")
    app = assembled(
        ServiceState(no_metrics, lambda: True), None, Web(installation, ServiceState(no_metrics, bool))
    )
    ways = walked(app)
    assert len(ways) > 60, "the walk found the routes"
    assert {path for _, path in ways if path in LET_IN_WITHOUT} == LET_IN_WITHOUT
    assert OPEN_PATHS | {ASSETS} == LET_IN_WITHOUT
    async with serving(installation) as client:
        for method, path in ways:
            if path in LET_IN_WITHOUT:
                continue
            there = re.sub(r"\{[^}]*\}", "1", path)
            assert (await client.ask(there, method)).status == 401, (method, path)
            assert (await client.ask(there, method, headers={"Cookie": f"{COOKIE}=guess"})).status == 401
        assert (await client.ask("/nothing")).status == 401, "also what is not there"
        for path in (f"{ASSETS}/../settings", f"{ASSETS}/%2e%2e/access_check.py", f"{ASSETS}//settings"):
            raw = URL(client.address + path, encoded=True)
            async with client.session.get(raw, allow_redirects=False) as answer:
                assert answer.status in (401, 404)


@pytest.mark.parametrize(
    ("scope", "reads", "writes", "rules"),
    [("read", 200, 403, 403), ("write", 200, 200, 403), ("admin", 200, 200, 200)],
)
async def test_a_scope_allows_what_it_says_and_those_before_it(tmp_path, scope, reads, writes, rules):
    stocked(tmp_path)
    installation = an_installation(tmp_path)
    token = make_token(installation, "ana", scope).token
    async with serving(installation, **bearer(token)) as client:
        assert (await client.ask("/api/v1/watches")).status == reads
        assert (await client.post("/api/v1/sources/rules/pause")).status == writes
        assert (await client.ask("/api/v1/tokens")).status == rules
        assert (await client.ask("/api/v1/audit")).status == rules


def test_what_is_not_known_to_be_reading_is_writing():
    assert right_for("GET", "/api/v1/watches") is Right.READ
    assert {right_for(method, "/x") for method in ("POST", "PUT", "PATCH", "DELETE", "BREW")} == {Right.WRITE}
    assert right_for("GET", "/api/v1/tokens") is Right.ADMIN
    assert right_for("POST", "/logout") is Right.READ, "who came in may go out"


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "watch.example.org"},
        {"X-Forwarded-For": "203.0.113.9"},
        {"Forwarded": "for=203.0.113.9"},
        {"X-Real-IP": "203.0.113.9"},
        {"Via": "1.1 proxy"},
    ],
)
async def test_without_a_token_a_proxy_on_this_machine_lets_nobody_in(
    tmp_path: Path, headers: dict[str, str]
):
    stocked(tmp_path)
    installation = an_installation(tmp_path)
    async with serving(installation, hosts=("watch.example.org",)) as client:
        assert (await client.ask("/")).status == 200, "a browser on this machine"
        for path in ("/", "/changes", "/metrics", "/api/v1/watches"):
            answer = await client.ask(path, headers=headers)
            assert answer.status == 403
            assert "vedette token add" in answer.text
        assert (await client.ask("/healthz", headers=headers)).status == 200
    token = make_token(installation, "ana", "read").token
    async with serving(installation, hosts=("watch.example.org",)) as client:
        assert (await client.ask("/changes", headers={**headers, **bearer(token)})).status == 200


async def test_a_token_is_kept_as_a_hash_shown_once_and_let_in_no_more_once_revoked(tmp_path: Path):
    stocked(tmp_path)
    installation = an_installation(tmp_path)
    token = make_token(installation, "ana", "read").token
    other = make_token(installation, "bo", "read").token
    assert token.encode() not in (tmp_path / DATABASE).read_bytes()
    with pytest.raises(InputError, match="there is a token"):
        make_token(installation, "ana", "read")
    with pytest.raises(InputError, match="unknown scope"):
        make_token(installation, "cy", "root")
    async with serving(installation) as client:
        assert (await client.ask("/", headers=bearer(other))).status == 200
        revoke_token(installation, "ana")
        assert (await client.ask("/", headers=bearer(token))).status == 401
        assert (await client.ask("/", headers=bearer(other))).status == 200
    assert [one.name for one in list_tokens(installation)] == ["bo"]


async def test_people_log_in_with_a_token_and_out_again(tmp_path: Path):
    stocked(tmp_path)
    installation = an_installation(tmp_path)
    token = make_token(installation, "ana", "write").token
    person = {"Accept": "text/html"}
    async with serving(installation) as client:
        sent = await client.ask("/changes?risk=HIGH", headers=person)
        assert (sent.status, sent.headers["Location"]) == (303, "/login?next=%2Fchanges%3Frisk%3DHIGH")
        wrong = await client.post("/login", data={"token": "vdt_wrong", "next": "/"}, headers=SAME)
        assert wrong.status == 401
        assert "lets nobody in" in wrong.text
        right = await client.post("/login", data={"token": token, "next": "/changes?risk=HIGH"}, headers=SAME)
        assert (right.status, right.headers["Location"]) == (303, "/changes?risk=HIGH")
        said = right.headers["Set-Cookie"]
        assert "HttpOnly" in said
        assert "SameSite=strict" in said
        cookie = {"Cookie": f"{COOKIE}={right.cookies[COOKIE]}"}
        assert right.cookies[COOKIE].encode() not in (tmp_path / DATABASE).read_bytes()
        assert (await client.ask("/changes", headers=cookie)).status == 200
        assert (await client.post("/logout", headers=cookie | SAME)).status == 303
        assert (await client.ask("/changes", headers=cookie)).status == 401


async def test_a_session_ends_with_its_token_and_the_static_token_opens_one_too(tmp_path: Path):
    stocked(tmp_path)
    installation = an_installation(tmp_path)
    token = make_token(installation, "ana", "read").token
    async with serving(installation, "static-token") as client:
        for shown in (token, "static-token"):
            answer = await client.post("/login", data={"token": shown}, headers=SAME)
            cookie = {"Cookie": f"{COOKIE}={answer.cookies[COOKIE]}"}
            assert (await client.ask("/", headers=cookie)).status == 200
            if shown == token:
                gone = cookie
        revoke_token(installation, "ana")
    async with serving(installation, "static-token") as client:
        assert (await client.ask("/", headers=gone)).status == 401
        assert (await client.ask("/", headers=cookie)).status == 200
    async with serving(installation, "another-token") as client:
        assert (await client.ask("/", headers=cookie)).status == 401, "the configured token was changed"


@pytest.mark.parametrize(
    "there", ["//evil.example", "https://evil.example/", "/\\evil.example", "javascript:x", ""]
)
async def test_the_login_page_sends_nobody_elsewhere(tmp_path: Path, there: str):
    stocked(tmp_path)
    installation = an_installation(tmp_path)
    token = make_token(installation, "ana", "read").token
    async with serving(installation) as client:
        answer = await client.post("/login", data={"token": token, "next": there}, headers=SAME)
        assert answer.headers["Location"] == "/"


@pytest.mark.parametrize(
    "foreign",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
    ],
)
async def test_a_page_of_another_site_changes_nothing_also_where_nobody_needs_a_token(tmp_path, foreign):
    stocked(tmp_path)
    installation = an_installation(tmp_path)
    async with serving(installation) as client:
        for path in ("/api/v1/sources/rules/pause", "/sources/order", "/look", "/login", "/logout"):
            given = {"source": "rules", "order": "pause", "url": RULES}
            assert (await client.post(path, data=given, headers=foreign)).status == 403
        read = await client.ask("/api/v1/watches", headers=foreign)
        assert "Access-Control-Allow-Origin" not in read.headers
        assert read.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert (await client.post("/api/v1/sources/rules/pause", headers=SAME)).status == 200


async def test_what_changes_something_is_written_into_the_sealed_ledger_with_who_it_was(tmp_path: Path):
    stocked(tmp_path)
    installation = an_installation(tmp_path)
    token = make_token(installation, "ana", "read").token
    async with serving(installation, "static-token") as client:
        await client.post("/api/v1/sources/rules/pause", headers=bearer("static-token"))
        await client.post("/api/v1/sources/rules/pause", headers=bearer(token))
        await client.ask("/api/v1/watches", headers=bearer(token))
    said = [(one.who, one.method, one.path, one.status) for one in list_audit(installation, most=10)]
    assert said == [
        ("nobody yet", "POST", "/api/v1/sources/rules/pause", 403),
        ("serve.token", "POST", "/api/v1/sources/rules/pause", 200),
    ]
    with connect(tmp_path / DATABASE, read_only=True) as db:
        entries = db.execute("SELECT COUNT(*) FROM seals").fetchone()[0]
    assert entries >= 2
    assert replay(installation).not_recomputed["request"] == 2, "it is no decision that is made again"


def test_beyond_loopback_a_token_of_the_store_is_enough(tmp_path: Path):
    stocked(tmp_path)
    installation = an_installation(tmp_path)
    with pytest.raises(ConfigError, match="open to others"):
        opened("0.0.0.0:9464", None, None, (), installation)
    make_token(installation, "ana", "read")
    assert opened("0.0.0.0:9464", None, None, (), installation)


async def test_a_foreign_name_reads_no_page(tmp_path: Path):
    stocked(tmp_path)
    async with serving(an_installation(tmp_path)) as client:
        for path in ("/", "/api/v1/watches", "/login", f"{ASSETS}/vedette.css"):
            assert (await client.ask(path, headers={"Host": "evil.example"})).status == 421


async def test_a_request_of_any_size_costs_no_memory(tmp_path: Path):
    stocked(tmp_path)
    async with serving(an_installation(tmp_path)) as client:
        assert (await client.post("/sources/preview", data=b"x" * 100_000)).status == 413

        async def endless():
            for _ in range(100):
                yield b"x" * 10_000

        assert (await client.post("/api/v1/look", data=endless())).status == 413
