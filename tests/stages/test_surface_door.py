"""What the service shows over HTTP, and to whom."""

from __future__ import annotations

import aiohttp
import pytest
from stocked import FixedClock
from test_store_panel import NOW, batch_of, filled, row_of

from vedette.config import Loaded, parse
from vedette.contracts.errors import ConfigError
from vedette.contracts.panel_run import PanelGroup, Progress, ProviderTally
from vedette.panel_runs import Panel
from vedette.service import Pages
from vedette.store.migrate import prepare
from vedette.surface.api.panel import Office
from vedette.surface.api.serving import opened
from vedette.surface.door import OPEN

PATHS = ("/healthz", "/readyz", "/metrics", "/", "/api/v1/watches", "/metrics/../healthz", "/nothing")


async def metrics() -> str:
    return "vedette_x 1\n"


def pages(is_ready: bool = True) -> Pages:
    return Pages(metrics, lambda: is_ready)


async def asked(
    token: str | None, *paths: str, given: str | None = None, is_ready: bool = True
) -> dict[str, int]:
    headers = {} if given is None else {"Authorization": given, "X-Forwarded-For": "127.0.0.1"}
    async with opened("127.0.0.1:0", token)(pages(is_ready)) as address, aiohttp.ClientSession() as session:
        found = {}
        for path in paths:
            async with session.get(address + path, headers=headers) as answer:
                found[path] = answer.status
        return found


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
    office = Office(lambda writes: panel.view(read_only=not writes), FixedClock(NOW))
    way = opened("127.0.0.1:0", "let-me-in", office)
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
