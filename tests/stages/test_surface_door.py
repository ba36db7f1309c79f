"""What the service shows over HTTP, and to whom."""

from __future__ import annotations

import asyncio
import resource
from contextlib import suppress

import aiohttp
import pytest
from machine import patient
from stocked import FixedClock
from test_store_panel import NOW, batch_of, filled, row_of

from vedette.app.panel import Panel
from vedette.app.service import ServiceState
from vedette.config.model import Loaded, parse
from vedette.contracts.errors import ConfigError
from vedette.contracts.panel_run import PanelGroup, Progress, ProviderTally
from vedette.store.migrate import prepare
from vedette.surface.http.access_check import OPEN
from vedette.surface.http.access_rules import (
    HEAD_S,
    LINES,
    REQUEST_S,
    TURN_S,
    WRONG_FEW,
    WRONG_MOST_S,
    Lines,
    TokenCheck,
    is_ours,
)
from vedette.surface.http.panel_admin import PanelAdmin
from vedette.surface.http.service_pages import opened

PATHS = ("/healthz", "/readyz", "/metrics", "/", "/api/v1/watches", "/metrics/../healthz", "/nothing")


async def metrics() -> str:
    return "vedette_x 1\n"


def pages(is_ready: bool = True) -> ServiceState:
    return ServiceState(metrics, lambda: is_ready)


async def asked(
    token: str | None, *paths: str, given: str | None = None, is_ready: bool = True
) -> dict[str, int]:
    headers = {} if given is None else {"Authorization": given, "X-Forwarded-For": "127.0.0.1"}
    async with opened("127.0.0.1:0", token)(pages(is_ready)) as address, aiohttp.ClientSession() as session:

        async def status(path: str) -> int:
            async with session.get(address + path, headers=headers) as answer:
                return answer.status

        return dict(zip(paths, await asyncio.gather(*map(status, paths)), strict=True))


async def test_on_loopback_three_pages_are_there_and_nothing_else():
    assert await asked(None, "/healthz", "/readyz", "/metrics", "/") == {
        "/healthz": 200,
        "/readyz": 200,
        "/metrics": 200,
        "/": 200,
    }


async def test_with_a_token_everything_but_the_probes_asks_for_it_also_what_is_not_there():
    for given in (None, "Bearer wrong", "Basic dG9rZW4=", "Bearer tökén"):
        found = await asked("token", *PATHS, given=given)
        assert {path for path, status in found.items() if status == 401} == {
            path for path in PATHS if path not in OPEN and ".." not in path
        }
    assert (await asked("token", "/metrics", given="Bearer token"))["/metrics"] == 200


async def test_a_service_that_is_not_ready_says_so():
    assert await asked(None, "/readyz", "/healthz", is_ready=False) == {"/readyz": 503, "/healthz": 200}


async def test_metrics_come_as_prometheus_reads_them_and_are_kept_nowhere():
    async with opened("127.0.0.1:0", None)(pages()) as address, aiohttp.ClientSession() as session:
        async with session.get(address + "/metrics") as answer:
            assert await answer.text() == "vedette_x 1\n"
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert answer.headers["Cache-Control"] == "no-store"
        async with session.post(address + "/metrics") as answer:
            assert answer.status == 405


@pytest.mark.parametrize("listen", ["0.0.0.0:9464", "[::]:9464", "192.0.2.1:80"])
def test_beyond_loopback_a_token_is_asked_for(listen: str):
    with pytest.raises(ConfigError, match=r"serve\.token"):
        opened(listen, None)
    assert opened(listen, "token")


@pytest.mark.parametrize(
    "listen", ["", "9464", "localhost:9464", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:99999"]
)
def test_what_is_no_address_is_refused(listen: str):
    with pytest.raises(ConfigError, match=r"serve\.listen"):
        opened(listen, "token")


async def test_a_port_that_is_taken_is_told_as_such():
    async with opened("127.0.0.1:0", None)(pages()) as address:
        taken = opened(address.removeprefix("http://"), None)
        with pytest.raises(ConfigError, match="cannot listen"):
            async with taken(pages()):
                pass


async def test_the_service_shows_the_batches_of_the_panel_too(tmp_path):
    loaded = Loaded(config=parse({}), path=None, data=tmp_path, digest="x")
    panel = Panel(loaded, clock=FixedClock(NOW))
    admin = PanelAdmin(lambda writes: panel.view(read_only=not writes), FixedClock(NOW))
    way = opened("127.0.0.1:0", "let-me-in", admin)
    headers = {"Authorization": "Bearer let-me-in"}
    async with way(pages()) as address, aiohttp.ClientSession(address, headers=headers) as session:

        async def ask(path, method="GET"):
            async with session.request(method, path) as answer:
                return answer.status, await answer.text()

        assert (await ask("/batch/b1"))[0] == 404, "no store yet, and none is made"
        assert not list(tmp_path.iterdir())
        assert "vedette_x 1" in (await ask("/metrics"))[1]
        store, batch = filled(f"sqlite:///{prepare(tmp_path)}", batch_of(5))
        said = Progress(
            at=NOW, waiting=9, providers=(ProviderTally(model="a", calls=2, ok=2, breaker="open"),)
        )
        store.write(PanelGroup(batch=batch.id, rows=(row_of(batch),), progress=said))
        assert '"settled": 1' in (await ask("/batch/b1"))[1]
        assert '"breaker": "open"' in (await ask("/provider/a/state"))[1]
        text = (await ask("/metrics"))[1]
        assert "vedette_x 1" in text
        assert 'vedette_provider_breaker_state{provider="a"} 2' in text
        assert "vedette_panel_db_write_seconds_sum" not in text, "this process writes no batch"
        assert (await ask("/kill-switch", "POST"))[0] == 200
        assert store.is_stopped("b1")
        store.close()


OURS = ["127.0.0.1", "127.0.0.1:9464", "127.8.9.1:80", "localhost", "LOCALHOST:9464", "localhost.", "a.localhost",
        "[::1]:9464", "[::1]", "10.0.0.7:9464", "vedette.corp:9464", "Vedette.Corp"]  # fmt: skip
FOREIGN = [None, "", "evil.example", "evil.example:9464", "127.0.0.1.evil.example", "localhost.evil.example",
           "evillocalhost", "127.0.0.1@evil.example", "evil.example#localhost", "0x7f.1", "[evil.example]", ":9464",
           "evil.example, localhost"]  # fmt: skip


@pytest.mark.parametrize("host", OURS)
def test_names_of_loopback_addresses_and_configured_names_are_ours(host: str):
    assert is_ours(host, ("vedette.corp",))


@pytest.mark.parametrize("host", FOREIGN)
def test_any_other_name_is_a_foreign_page_that_points_its_name_at_us(host: str | None):
    assert not is_ours(host, ("vedette.corp",))


@pytest.mark.parametrize("token", [None, "long-token"])
@pytest.mark.parametrize("path", ["/metrics", "/healthz", "/nothing"])
async def test_a_foreign_name_reads_nothing(path: str, token: str | None):
    given = {"Host": "evil.example:9464", "Authorization": "Bearer long-token"}
    async with opened("127.0.0.1:0", token)(pages()) as address, aiohttp.ClientSession() as session:
        async with session.get(address + path, headers=given) as answer:
            assert answer.status == 421
            assert "vedette_x" not in await answer.text()
        async with session.get(address + "/healthz") as answer:
            assert answer.status == 200


@pytest.mark.parametrize("token", ["", "x", "ab", "aaaa", "aaaaaaaaaaaaaaaaaaaaaaaa", "abababababab"])
def test_a_token_that_is_easily_guessed_is_refused(token: str):
    with pytest.raises(ConfigError, match=r"serve\.token"):
        opened("127.0.0.1:9464" if token else "0.0.0.0:9464", token)


def test_wrong_tokens_wait_longer_and_longer_and_a_minute_of_peace_forgives():
    now = [0.0]
    check = TokenCheck("long-token", lambda: now[0])
    delays = [check.delay() for _ in range(50)]
    assert delays == sorted(delays)
    assert 0 < delays[0] < delays[-1] == WRONG_MOST_S
    now[0] += 61
    assert check.delay() == delays[0]


async def test_the_right_token_has_its_turn_among_wrong_ones():
    async with opened("127.0.0.1:0", "long-token")(pages()) as address, aiohttp.ClientSession() as session:

        async def ask(token: str) -> int:
            async with session.get(
                address + "/metrics", headers={"Authorization": f"Bearer {token}"}
            ) as answer:
                return answer.status

        guesses = [asyncio.create_task(ask(f"guess{n}")) for n in range(20)]
        await asyncio.sleep(0.1)
        assert await ask("long-token") == 200
        assert not all(guess.done() for guess in guesses), "a wrong token is answered late"
        assert set(await asyncio.gather(*guesses)) == {401}


def test_guessers_from_many_addresses_share_one_pace_and_whoever_was_right_keeps_their_own():
    now = [0.0]
    check = TokenCheck("long-token", lambda: now[0])
    check.heard("10.0.0.1", is_right=True)
    for number in range(WRONG_FEW):
        assert check.turn(f"10.1.0.{number}") == 0.0, "a few mistakes cost nobody anything"
        check.heard(f"10.1.0.{number}", is_right=False)
        check.delay()
    assert check.turn("10.2.0.1") == TURN_S, "nobody knows who comes from there"
    assert check.turn("10.0.0.1") == 0.0
    check.heard("10.0.0.1", is_right=False)
    assert check.turn("10.0.0.1") == TURN_S
    assert TURN_S * LINES < REQUEST_S, "the last of all lines has its turn before its time is over"
    now[0] += 61
    assert check.turn("10.2.0.1") == 0.0


async def test_guessers_that_wait_for_no_answer_have_no_turn_and_the_right_token_has_one():
    async with opened("127.0.0.1:0", "long-token")(pages()) as address, aiohttp.ClientSession() as session:
        host, port = address.removeprefix("http://").split(":")
        for number in range(300):  # 30 s of turns, if they had one
            _, writer = await asyncio.open_connection(host, int(port))
            head = f"GET /metrics HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer guess{number}\r\n\r\n"
            writer.write(head.encode())
            await writer.drain()
            await asyncio.sleep(0.002)
            writer.close()
        async with session.get(
            address + "/metrics", headers={"Authorization": "Bearer long-token"}
        ) as answer:
            assert answer.status == 200


async def test_a_thousand_half_open_connections_leave_room_for_a_whole_request():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    async with opened("127.0.0.1:0", None)(pages()) as address:
        host, port = address.removeprefix("http://").split(":")
        lines = []
        for number in range(1000):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write([b"", b"GET /metr", b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n"][number % 3])
            lines.append((reader, writer))
            if number % 250 == 249:
                async with aiohttp.ClientSession() as session, session.get(address + "/metrics") as answer:
                    assert answer.status == 200
        cut = sum(reader.at_eof() or reader.exception() is not None for reader, _ in lines)
        for _, writer in lines:
            writer.transport.abort()
        assert cut >= 1000 - LINES


def test_the_line_that_owes_a_request_for_longest_makes_room_and_one_that_is_served_never_does():
    cut: list[str] = []
    lines = Lines(lambda: 0.0, most=3)
    for name in "abc":
        assert lines.open(name, lambda name=name: cut.append(name))
    lines.asked("a")
    assert lines.open("d", lambda: cut.append("d"))
    assert cut == ["b"]
    for name in ("c", "d"):
        lines.asked(name)
    assert not lines.open("e", lambda: cut.append("e"))
    lines.answered("a", lambda: cut.append("a"))
    assert lines.open("f", lambda: cut.append("f"))
    assert cut == ["b", "a"]


async def test_a_line_that_never_ends_its_request_is_cut():
    async with opened("127.0.0.1:0", None)(pages()) as address:
        host, port = address.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /metrics HTTP/1.1\r\nX: ")
        async with asyncio.timeout(patient(2 * HEAD_S)):
            with suppress(ConnectionError):
                assert await reader.read() == b""
        writer.close()
