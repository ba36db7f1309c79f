"""Every fault can be seen on the wire, and only where its rule says."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

import pytest

from vedette.livingweb import EPOCH, FaultRule, HostSpec, LivingWeb, World, fault_world
from vedette.livingweb.faults import FAULTS

AMOUNTS = {
    "slow_headers": 0.1, "slow_body": 0.1, "never_answers": 30.0, "huge_body": 300_000.0,
    "gzip_bomb": 3_000_000.0, "endless_body": 0.001,
}  # fmt: skip
T0 = EPOCH + 1000.0


@dataclass
class Raw:
    """What came over the wire."""

    data: bytes
    ended: str  # closed | reset | open

    @property
    def status(self) -> int:
        return int(self.data.split(b" ", 2)[1]) if self.data.startswith(b"HTTP/") else 0

    @property
    def head(self) -> bytes:
        return self.data.partition(b"\r\n\r\n")[0]

    @property
    def body(self) -> bytes:
        return self.data.partition(b"\r\n\r\n")[2]

    def header(self, name: str) -> str:
        lines = (line.partition(b":") for line in self.head.split(b"\r\n")[1:])
        return next((value.strip().decode() for key, _, value in lines if key.decode("latin-1") == name), "")


async def fetch(
    web: LivingWeb, host: str, target: str, *, most: int = 500_000, patience: float = 20.0
) -> Raw:
    reader, writer = await asyncio.open_connection(web.world.host(host).address, web.port)
    writer.write(f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    data, ended = b"", "open"
    try:
        async with asyncio.timeout(patience):
            while len(data) < most:
                part = await reader.read(65_536)
                if not part:
                    ended = "closed"
                    break
                data += part
    except TimeoutError:
        ended = "open"
    except ConnectionResetError:
        ended = "reset"
    writer.close()
    return Raw(data, ended)


def _inflated(raw: Raw) -> bytes:
    return zlib.decompressobj(wbits=31).decompress(raw.body)


def _is_cut_gzip(raw: Raw) -> bool:
    with pytest.raises(EOFError):
        gzip.decompress(raw.body)
    return len(_inflated(raw)) > 100


def _has(text: str) -> Callable[[Raw], bool]:
    return lambda raw: text.encode() in raw.body


def _location(start: str) -> Callable[[Raw], bool]:
    return lambda raw: raw.status == 302 and raw.header("Location").startswith(start)


SEEN: dict[str, Callable[[Raw], bool]] = {
    "throttled": lambda raw: (raw.status, raw.header("Retry-After")) == (429, "120"),
    "throttled_date": lambda raw: parsedate_to_datetime(raw.header("Retry-After")).timestamp() == T0 + 120,
    "throttled_silent": lambda raw: raw.status == 429 and not raw.header("Retry-After"),
    "server_error": lambda raw: raw.status == 500,
    "bad_gateway": lambda raw: raw.status == 502,
    "unavailable": lambda raw: (raw.status, raw.header("Retry-After")) == (503, "60"),
    "not_found": lambda raw: raw.status == 404,
    "gone": lambda raw: raw.status == 410,
    "forbidden": lambda raw: raw.status == 403,
    "reset": lambda raw: (raw.data, raw.ended) == (b"", "reset"),
    "reset_midway": lambda raw: raw.ended == "reset" and raw.status == 200,
    "closed_early": lambda raw: (raw.data, raw.ended) == (b"", "closed"),
    "never_answers": lambda raw: (raw.data, raw.ended) == (b"", "open"),
    "slow_headers": lambda raw: raw.status == 200 and b"</html>" in raw.body,
    "slow_body": lambda raw: raw.status == 200 and b"</html>" in raw.body,
    "truncated_body": lambda raw: raw.ended == "closed" and len(raw.body) < int(raw.header("Content-Length")),
    "truncated_chunks": lambda raw: raw.ended == "closed" and not raw.body.endswith(b"0\r\n\r\n"),
    "truncated_gzip": _is_cut_gzip,
    "gzip_bomb": lambda raw: len(_inflated(raw)) == 3_000_000 > 500 * len(raw.body),
    "gzip_layers": lambda raw: _inflated(raw)[:2] == b"\x1f\x8b",
    "not_gzip": lambda raw: raw.header("Content-Encoding") == "gzip" and b"</html>" in raw.body,
    "unknown_coding": lambda raw: raw.header("Content-Encoding") == "x-own",
    "wrong_charset": lambda raw: (
        "utf-8" in raw.header("Content-Type") and "\ufffd" in raw.body.decode("utf-8", "replace")
    ),
    "nul_bytes": lambda raw: b"\0" in raw.body,
    "huge_body": lambda raw: len(raw.body) == int(raw.header("Content-Length")) > 300_000,
    "endless_body": lambda raw: raw.ended == "open" and len(raw.body) > 10_000,
    "huge_headers": lambda raw: len(raw.head) > 200_000,
    "header_garbage": lambda raw: b"no colon here" in raw.head,
    "not_http": lambda raw: raw.data.startswith(b"SSH-"),
    "bytes_after_body": lambda raw: len(raw.body) > int(raw.header("Content-Length")),
    "redirect_chain": _location("/hop/12/vijesti/"),
    "redirect_loop": _location("/vijesti/"),
    "redirect_private": _location("http://10."),
    "redirect_loopback": _location("http://127.0.0.1:"),
    "redirect_metadata": _location("http://169.254.169.254/"),
    "redirect_file": _location("file:///"),
    "redirect_nowhere": lambda raw: raw.status == 302 and not raw.header("Location"),
    "soft_404": lambda raw: raw.status == 200 and _has("ne postoji")(raw),
    "login_wall": lambda raw: raw.status == 200 and _has("type=password")(raw),
    "login_redirect": _location("/prijava?return=/"),
    "block_page": lambda raw: raw.status == 403 and _has("have been blocked")(raw),
    "block_page_200": lambda raw: raw.status == 200 and _has("have been blocked")(raw),
    "captcha": lambda raw: raw.status == 200 and _has("g-recaptcha")(raw),
    "empty_body": lambda raw: (raw.status, raw.body) == (200, b""),
    "no_content": lambda raw: (raw.status, raw.body) == (204, b""),
    "wrong_type": lambda raw: raw.header("Content-Type") == "image/png" and b"</html>" in raw.body,
    "no_type": lambda raw: raw.status == 200 and not raw.header("Content-Type"),
}


def test_every_fault_has_its_sign() -> None:
    assert set(SEEN) == set(FAULTS)


@pytest.mark.parametrize("name", FAULTS)
async def test_the_fault_is_seen_on_its_page_and_on_no_other(name: str) -> None:
    world, host = fault_world(amounts=AMOUNTS), f"{name.replace('_', '-')}.example"
    async with LivingWeb(world, now=lambda: T0) as web:
        paths = [page.path for page in world.host(host).pages]
        patience = 0.15 if name == "never_answers" else 20.0
        assert SEEN[name](await fetch(web, host, paths[0], most=500_000, patience=patience))
        good = await fetch(web, host, paths[2])
        assert (good.status, good.ended) == (200, "closed")
        assert world.state(host, 2, T0).paragraphs[0].encode() in good.body


async def test_a_page_recovers_after_its_first_requests() -> None:
    world = World([HostSpec(faults=(FaultRule("server_error", pages=(1,), first=2),))], seed=1)
    async with LivingWeb(world, now=lambda: T0) as web:
        path = world.page(0, 1).path
        assert [(await fetch(web, "host-0.example", path)).status for _ in range(4)] == [500, 500, 200, 200]


async def test_a_fault_by_schedule_comes_and_goes() -> None:
    rule, clock = FaultRule("unavailable", on="all", since=T0 + 10, until=T0 + 20), [T0]
    async with LivingWeb(World([HostSpec(faults=(rule,))], seed=1), now=lambda: clock[0]) as web:
        seen = []
        for clock[0] in (T0, T0 + 10, T0 + 19, T0 + 20):
            seen.append((await fetch(web, "host-0.example", "/rss.xml")).status)
        assert seen == [200, 503, 503, 200]


async def test_a_fault_by_rate_strikes_that_share_of_requests_and_again_the_same_ones() -> None:
    async def statuses() -> list[int]:
        world = World([HostSpec(faults=(FaultRule("server_error", rate=0.3),))], seed=1)
        async with LivingWeb(world, now=lambda: T0) as web:
            path = world.page(0, 0).path
            return [(await fetch(web, "host-0.example", path)).status for _ in range(100)]

    first = await statuses()
    assert 15 < first.count(500) < 45
    assert first == await statuses()


async def test_a_redirect_chain_ends_at_the_page_and_a_loop_does_not() -> None:
    async with LivingWeb(fault_world(), now=lambda: T0) as web:
        ends = []
        for host in ("redirect-chain.example", "redirect-loop.example"):
            target, raw = web.world.page(host, 0).path, Raw(b"", "")
            for _ in range(20):
                raw = await fetch(web, host, target)
                if raw.status != 302:
                    break
                target = raw.header("Location")
            ends.append(raw.status)
        assert ends == [200, 302]


async def test_robots_txt_can_be_broken_on_its_own() -> None:
    async with LivingWeb(fault_world(amounts=AMOUNTS), now=lambda: T0) as web:
        assert (await fetch(web, "robots-throttled.example", "/robots.txt")).status == 429
        assert (await fetch(web, "robots-reset.example", "/robots.txt")).ended == "reset"
        path = web.world.page("robots-throttled.example", 0).path
        assert (await fetch(web, "robots-throttled.example", path)).status == 200


async def test_a_slow_reader_of_an_endless_body_is_let_go() -> None:
    async with LivingWeb(fault_world(amounts=AMOUNTS), now=lambda: T0) as web:
        host = web.world.host("endless-body.example")
        await fetch(web, host.name, host.pages[0].path, most=50_000)
        site = web._sites[host.index]
        while site.count.under_way:
            await asyncio.sleep(0.005)
