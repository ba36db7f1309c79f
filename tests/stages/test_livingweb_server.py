"""What is served is the truth; what is asked is counted."""

from __future__ import annotations

import asyncio
import io
import json
import zipfile
from collections.abc import AsyncIterator
from dataclasses import replace
from email.utils import formatdate

import aiohttp
import pytest
from protego import Protego
from selectolax.lexbor import LexborHTMLParser

from vedette.livingweb import EPOCH, HostSpec, Limits, LivingWeb, Robots, World, WorldClock, grid_world
from vedette.livingweb.process import DAY, At, Poisson
from vedette.livingweb.robots import RULES
from vedette.livingweb.world import VALIDATORS

T0 = EPOCH + 30 * DAY
BUSY = At((EPOCH + 40 * DAY,))


class Stopped:
    """A clock that the test moves."""

    def __init__(self, t: float = T0) -> None:
        self.t = t

    def __call__(self) -> float:
        return self.t


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(auto_decompress=True) as session:
        yield session


async def get(
    client: aiohttp.ClientSession, url: str, **headers: str
) -> tuple[int, aiohttp.ClientResponse, bytes]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with client.get(url, headers=named, allow_redirects=False) as response:
        return response.status, response, await response.read()


def words(html: str) -> str:
    body = LexborHTMLParser(html).body
    assert body is not None
    return " ".join(body.text(separator=" ").split())


async def test_every_html_page_says_exactly_what_the_truth_says(client: aiohttp.ClientSession) -> None:
    world, clock = grid_world(24, 8, 11), Stopped()
    async with LivingWeb(world, now=clock) as web:
        for clock.t in (T0, T0 + 20 * DAY):
            for host in world.hosts:
                for page in host.pages:
                    if page.kind != "html":
                        continue
                    status, response, body = await get(client, web.url(host.index, page.index, by="address"))
                    assert status == 200
                    shown = words(body.decode(response.charset or ""))
                    state = world.state(host.index, page.index, clock.t)
                    rest = shown
                    for paragraph in state.paragraphs:
                        _, found, rest = rest.partition(paragraph)
                        assert found, paragraph
                    assert state.title in shown


async def test_a_page_without_noise_is_the_same_bytes_until_it_changes(client: aiohttp.ClientSession) -> None:
    world, clock = World([HostSpec(changes=BUSY)], seed=1), Stopped()
    async with LivingWeb(world, now=clock) as web:
        first = (await get(client, web.url(0, 0, by="address")))[2]
        clock.t = EPOCH + 40 * DAY - 1
        assert (await get(client, web.url(0, 0, by="address")))[2] == first
        clock.t += 1
        assert (await get(client, web.url(0, 0, by="address")))[2] != first


@pytest.mark.parametrize("kind", VALIDATORS)
async def test_validators_answer_304_only_while_nothing_changed(
    client: aiohttp.ClientSession, kind: str
) -> None:
    world, clock = World([HostSpec(changes=BUSY, validators=kind)], seed=1), Stopped()
    async with LivingWeb(world, now=clock) as web:
        url = web.url(0, 0, by="address")
        _, response, _ = await get(client, url)
        given = {"ETag": "If_None_Match", "Last-Modified": "If_Modified_Since"}
        asked = {asks: response.headers[says] for says, asks in given.items() if says in response.headers}
        clock.t += 60
        is_honest = kind in ("etag", "weak_etag", "last_modified", "both")
        status, response, body = await get(client, url, **asked)
        assert (status, body == b"") == ((304, True) if is_honest else (200, False))
        clock.t = EPOCH + 40 * DAY
        status, response, _ = await get(client, url, **asked)
        assert status == 200
        assert all(response.headers[says] != asked[asks] for says, asks in given.items() if asks in asked)


async def test_an_etag_counts_more_than_a_date(client: aiohttp.ClientSession) -> None:
    world = World([HostSpec(validators="both")], seed=1)
    async with LivingWeb(world, now=Stopped()) as web:
        future = formatdate(T0 + 900 * DAY, usegmt=True)
        status, _, _ = await get(
            client, web.url(0, 0, by="address"), If_None_Match='"x"', If_Modified_Since=future
        )
        assert status == 200


async def test_the_links_of_a_page_follow_the_name_by_which_it_was_asked(
    client: aiohttp.ClientSession,
) -> None:
    async with LivingWeb(World([HostSpec(name="a.example")], seed=1), now=Stopped()) as web:
        by_address = (await get(client, web.url(0, 0, by="address")))[2]
        by_name = (await get(client, web.url(0, 0, by="address"), Host=f"a.example:{web.port}"))[2]
        assert f"http://127.20.0.1:{web.port}/".encode() in by_address
        assert f"http://a.example:{web.port}/".encode() in by_name


async def test_a_page_is_missing_before_its_birth_and_after_its_end(client: aiohttp.ClientSession) -> None:
    spec = HostSpec(pages=2, born_later=1, births=At((T0 + 10,)), departures=((0, T0 + 20),))
    clock = Stopped()
    async with LivingWeb(World([spec], seed=1), now=clock) as web:
        seen = []
        for clock.t in (T0, T0 + 10, T0 + 20):
            seen.append([(await get(client, web.url(0, page, by="address")))[0] for page in (0, 1)])
        assert seen == [[200, 404], [200, 200], [404, 200]]


async def test_gzip_is_sent_to_those_who_take_it(client: aiohttp.ClientSession) -> None:
    async with LivingWeb(World([HostSpec(gzip=True)], seed=1), now=Stopped()) as web:
        _, packed, unpacked = await get(client, web.url(0, 0, by="address"), Accept_Encoding="gzip")
        _, plain, body = await get(client, web.url(0, 0, by="address"), Accept_Encoding="identity")
        assert packed.headers["Content-Encoding"] == "gzip"
        assert "Content-Encoding" not in plain.headers
        assert unpacked == body


@pytest.mark.parametrize("charset", ["utf-8", "windows-1250", "iso-8859-2"])
async def test_croatian_survives_every_charset(client: aiohttp.ClientSession, charset: str) -> None:
    async with LivingWeb(World([HostSpec(charset=charset, paragraphs=9)], seed=1), now=Stopped()) as web:
        _, response, body = await get(client, web.url(0, 0, by="address"))
        assert response.charset == charset
        text = body.decode(charset)
        assert any(letter in text for letter in "čćđšž")
        assert web.world.state(0, 0, T0).paragraphs[3] in text


async def test_documents_are_real_files_that_change_with_the_truth(client: aiohttp.ClientSession) -> None:
    world, clock = World([HostSpec(pages=5, documents=4, changes=BUSY, lang="en")], seed=1), Stopped()
    async with LivingWeb(world, now=clock) as web:
        for page in world.hosts[0].pages[1:]:
            url = web.url(0, page.index, by="address")
            old = (await get(client, url))[2]
            assert (await get(client, url))[2] == old
            clock.t = EPOCH + 40 * DAY
            new, clock.t = (await get(client, url))[2], T0
            assert old != new
            line = world.state(0, page.index, T0).paragraphs[0]
            assert line.split()[1] in _file_text(page.kind, old)


def _file_text(kind: str, data: bytes) -> str:
    if kind == "pdf":
        start = int(data.rpartition(b"startxref\n")[2].split()[0])
        assert data[start:].startswith(b"xref")
        for number, row in enumerate(data[start:].split(b"\n")[3:8], 1):
            assert data[int(row[:10]) :].startswith(b"%d 0 obj" % number)
        return data.decode("latin-1")
    if kind == "json":
        return str(json.loads(data))
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        assert package.testzip() is None
        return " ".join(package.read(name).decode() for name in package.namelist())


async def test_head_keep_alive_and_pipelining_work_on_a_bare_socket() -> None:
    async with LivingWeb(World([HostSpec()], seed=1), now=Stopped()) as web:
        reader, writer = await asyncio.open_connection("127.20.0.1", web.port)
        path = web.world.page(0, 0).path
        one = f"HEAD {path} HTTP/1.1\r\nHost: x\r\n\r\n"
        last = f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        writer.write((one * 3 + last).encode())
        raw = await reader.read()
        assert raw.count(b"HTTP/1.1 200 OK\r\n") == 4
        assert raw.count(b"</html>") == 1
        writer.close()


async def test_a_request_may_arrive_byte_by_byte() -> None:
    async with LivingWeb(World([HostSpec()], seed=1), now=Stopped()) as web:
        reader, writer = await asyncio.open_connection("127.20.0.1", web.port)
        for byte in b"GET /robots.txt HTTP/1.0\r\n\r\n":
            writer.write(bytes([byte]))
            await writer.drain()
        assert b"200 OK" in await reader.read()
        writer.close()


async def test_other_methods_are_refused(client: aiohttp.ClientSession) -> None:
    async with (
        LivingWeb(World([HostSpec()], seed=1), now=Stopped()) as web,
        client.post(web.url(0, 0, by="address"), data=b"x") as response,
    ):
        assert response.status == 405


async def _ask(web: LivingWeb, clock: Stopped, client: aiohttp.ClientSession, *gaps: float) -> dict[str, int]:
    for gap in gaps:
        clock.t += gap
        await get(client, web.url(0, 0, by="address"))
    return dict(web.journal.violation_counts)


async def test_a_gap_that_is_too_short_is_a_violation_and_a_right_one_is_not(
    client: aiohttp.ClientSession,
) -> None:
    world, clock = World([HostSpec(limits=Limits(min_gap=2.0))], seed=1), Stopped()
    async with LivingWeb(world, now=clock) as web:
        assert await _ask(web, clock, client, 0, 2.0, 2.0, 5.0) == {}
        assert await _ask(web, clock, client, 1.9) == {"gap": 1}
        violation = web.journal.violations[0]
        assert (violation.host, violation.limit, violation.allowed) == ("host-0.example", "gap", 2.0)
        assert violation.measured == pytest.approx(1.9)


async def test_slack_forgives_the_wobble_of_arrival(client: aiohttp.ClientSession) -> None:
    world, clock = World([HostSpec(limits=Limits(min_gap=2.0, slack=0.05))], seed=1), Stopped()
    async with LivingWeb(world, now=clock) as web:
        assert await _ask(web, clock, client, 0, 1.96, 1.94) == {"gap": 1}


async def test_too_many_in_a_minute_are_counted_in_any_minute(client: aiohttp.ClientSession) -> None:
    world, clock = World([HostSpec(limits=Limits(per_minute=3))], seed=1), Stopped()
    async with LivingWeb(world, now=clock) as web:
        assert await _ask(web, clock, client, 0, 20, 20, 20, 20, 20) == {}
        assert await _ask(web, clock, client, 19.9) == {"per_minute": 1}


async def test_two_at_once_are_a_violation_where_one_is_allowed(client: aiohttp.ClientSession) -> None:
    world = World([HostSpec(limits=Limits(at_once=1), latency=0.03), HostSpec(latency=0.03)], seed=1)
    async with LivingWeb(world, now=Stopped()) as web:
        url = web.url(0, 0, by="address")
        await get(client, url)
        await get(client, url)
        assert web.journal.violation_counts == {}
        await asyncio.gather(get(client, url), get(client, url), get(client, web.url(1, 0, by="address")))
        assert web.journal.violation_counts == {"at_once": 1}
        assert web.stats()["hosts"]["host-0.example"]["most_at_once"] == 2  # type: ignore[index]
        assert max(seen.at_once for seen in web.journal.requests) == 2


async def test_limits_can_be_counted_by_another_clock_than_the_world_s(client: aiohttp.ClientSession) -> None:
    world, pace = World([HostSpec(limits=Limits(min_gap=2.0))], seed=1), Stopped(0.0)
    async with LivingWeb(world, now=Stopped(), pace=pace) as web:
        assert await _ask(web, pace, client, 0, 2.0, 1.0) == {"gap": 1}


async def test_a_reader_that_leaves_is_not_counted_as_there_for_ever() -> None:
    world = World([HostSpec(latency=5.0)], seed=1)
    async with LivingWeb(world, now=Stopped()) as web:
        _, writer = await asyncio.open_connection("127.20.0.1", web.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await writer.drain()
        while not web._sites[0].count.under_way:
            await asyncio.sleep(0.005)
        writer.close()
        while web._sites[0].count.under_way:
            await asyncio.sleep(0.005)


async def test_every_request_is_in_the_journal(client: aiohttp.ClientSession) -> None:
    async with LivingWeb(World([HostSpec()], seed=1), now=Stopped()) as web:
        await get(client, web.url(0, 3, by="address"), User_Agent="Bot/1 (+mail@x.example)")
        await get(client, web.url(0, None, by="address") + "nothing")
        first, second = web.journal.requests
        assert first == (T0, "host-0.example", web.world.page(0, 3).path, 200, "Bot/1 (+mail@x.example)", 1)
        assert (second.target, second.status) == ("/nothing", 404)
        assert web.journal.page_fetches == {(0, 3): 1}


async def test_asking_for_a_forbidden_page_is_recorded(client: aiohttp.ClientSession) -> None:
    world = World([HostSpec(pages=4, forbidden=2, robots=Robots("rules"))], seed=1)
    async with LivingWeb(world, now=Stopped()) as web:
        await get(client, web.url(0, None, by="address") + "robots.txt")
        await get(client, web.url(0, 0, by="address"))
        assert web.stats()["forbidden"] == 0
        await get(client, web.url(0, 3, by="address"))
        await get(client, web.url(0, 0, by="address") + "?print=1")
        assert [seen.target for seen in web.journal.forbidden] == [
            world.page(0, 3).path,
            world.page(0, 0).path + "?print=1",
        ]


async def test_a_broken_robots_txt_forbids_everything_and_a_missing_one_nothing(
    client: aiohttp.ClientSession,
) -> None:
    world = World([HostSpec(robots=Robots("error")), HostSpec(robots=Robots("missing"))], seed=1)
    async with LivingWeb(world, now=Stopped()) as web:
        statuses = [(await get(client, web.url(h, None, by="address") + "robots.txt"))[0] for h in (0, 1)]
        assert statuses == [500, 404]
        for host in (0, 1):
            await get(client, web.url(host, 0, by="address"))
        assert [seen.host for seen in web.journal.forbidden] == ["host-0.example"]


def test_the_server_s_own_judgement_of_robots_txt_agrees_with_protego() -> None:
    more = (("/a/b/", True), ("/a/", False), ("/*.pdf$", False), ("/a/b/c", False))
    robots = Robots("rules", crawl_delay=2.5, rules=(*RULES, *more))
    rules = Protego.parse(robots.text("http://a.example/sitemap.xml"))
    assert rules.crawl_delay("VedetteBot") == 2.5
    assert list(rules.sitemaps) == ["http://a.example/sitemap.xml"]
    for target in (
        "/",
        "/interno/x",
        "/interno",
        "/interno/javno/x",
        "/a?print=1",
        "/a?b=1&print=1",
        "/a/",
        "/a/b/",
        "/a/b/x.pdf",
        "/x.pdf?y",
        "/a/b/cd",
        "/a?b=print",
    ):
        assert robots.forbids(target) is not rules.can_fetch(f"http://a.example{target}", "VedetteBot"), (
            target
        )
    assert not rules.can_fetch("http://a.example/", "GreedyBot")


async def test_the_control_address_tells_stats_truth_time_and_sources(client: aiohttp.ClientSession) -> None:
    world = World([HostSpec(changes=Poisson(2.0))], seed=1)
    async with LivingWeb(world, now=WorldClock(T0, speed=0)) as web:
        control = f"http://127.0.0.1:{web.control_port}/_"

        async def ask(path: str) -> dict[str, object]:
            return json.loads((await get(client, control + path))[2])

        await get(client, web.url(0, 0, by="address"))
        assert (await ask("/stats"))["requests"] == 1
        assert await ask("/time") == {"now": T0, "epoch": EPOCH}
        assert (await ask(f"/time?to={T0 + DAY}"))["now"] == web.now() == T0 + DAY
        truth = await ask(f"/truth?url={web.url(0, 2)}&t={T0}")
        assert truth["changes"] == world.changes(0, 2, EPOCH, T0)
        assert truth["state"]["paragraphs"] == list(world.state(0, 2, T0).paragraphs)  # type: ignore[index]
        assert len((await ask(f"/truth?t={T0}"))["changes"]) == sum(  # type: ignore[arg-type]
            len(world.changes(0, page, EPOCH, T0)) for page in range(10)
        )
        assert json.loads((await get(client, control + "/sources"))[2]) == web.sources()
        assert (await get(client, control + "/truth?url=http://no.example/"))[0] == 400
        assert (await get(client, control + "/other"))[0] == 404


async def test_a_clock_that_cannot_jump_says_so(client: aiohttp.ClientSession) -> None:
    async with LivingWeb(World([HostSpec()], seed=1), now=Stopped()) as web:
        assert (await get(client, f"http://127.0.0.1:{web.control_port}/_/time?to=1"))[0] == 400


def test_a_world_clock_runs_at_its_speed_and_never_back() -> None:
    clock = WorldClock(1000.0, speed=1e6)
    first = clock()
    assert first >= 1000.0
    clock.jump(first - 500)
    assert clock() >= first


async def test_only_loopback_is_bound() -> None:
    async with LivingWeb(grid_world(5, 2, 1), now=Stopped()) as web:
        names = [sock.getsockname()[0] for server in web._servers for sock in server.sockets]
        assert len(names) == 6
        assert all(name.startswith("127.") for name in names)


async def test_two_webs_at_the_same_time_do_not_disturb_each_other(client: aiohttp.ClientSession) -> None:
    spec = HostSpec(pages=1)
    async with (
        LivingWeb(World([spec], seed=1), now=Stopped()) as one,
        LivingWeb(World([replace(spec, lang="en")], seed=2), now=Stopped()) as other,
    ):
        bodies = {(await get(client, web.url(0, 0, by="address")))[2] for web in (one, other)}
        assert len(bodies) == 2


async def test_as_its_own_process_it_says_when_it_is_ready_and_stops_on_sigterm(
    client: aiohttp.ClientSession,
) -> None:
    import sys

    arguments = "--hosts 3 --pages 4 --seed 5 --speed 0 --start 1770000000 --epoch 1767571200".split()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "vedette.livingweb", *arguments, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    ready = json.loads(await process.stdout.readline())
    assert (ready["hosts"], ready["pages"]) == (3, 12)
    world = grid_world(3, 4, 5, epoch=ready["epoch"])
    _, response, body = await get(client, world.url(0, 1, ready["port"], by="address"))
    assert world.state(0, 1, 1_770_000_000.0).paragraphs[0] in words(body.decode(response.charset or ""))
    process.terminate()
    assert await process.wait() == 0
