"""`vedette sources check` against a small living web: what moved is found, politely."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml
from cli_call import Cli

from vedette.livingweb import FaultRule, HostSpec, LivingWeb, Robots, World
from vedette.livingweb.world import real_time

HOP = FaultRule("redirect_chain", on="listings", amount=1)
SPECS = (
    HostSpec(name="fine.example", listing="rss", pages=3),
    HostSpec(name="moved.example", listing="rss", pages=3, faults=(HOP,)),
    HostSpec(name="other.example", listing="atom", pages=3),
    HostSpec(name="closed.example", listing="rss", pages=3, robots=Robots("rules", rules=(("/", False),))),
    HostSpec(name="down.example", listing="rss", pages=3, robots=Robots("error")),
)  # fmt: skip


@pytest.fixture
def web():
    """A living web in a thread of its own: the command line brings its own loop."""
    ready, stop = threading.Event(), threading.Event()
    held: dict[str, Any] = {}

    async def serve() -> None:
        async with LivingWeb(World(SPECS, seed=3), now=real_time) as web:
            held["web"] = web
            ready.set()
            while not stop.is_set():
                await asyncio.sleep(0.02)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(10)
    yield held["web"]
    stop.set()
    thread.join()


@pytest.fixture
def cli(web, tmp_path: Path) -> Cli:
    urls = {source["name"]: source["url"] for source in web.sources()}
    rows = [
        {"id": "fine", "url": urls["fine.example"], "lister": "feed"},
        {"id": "moved", "url": urls["moved.example"], "lister": "feed"},
        {"id": "other", "url": urls["other.example"], "lister": "hnb"},
        {"id": "closed", "url": urls["closed.example"], "lister": "feed"},
        {"id": "down", "url": urls["down.example"], "lister": "feed"},
        {"id": "gone", "url": web.url("fine.example") + "nema", "lister": "page"},
        {"id": "browser", "url": web.url("other.example"), "lister": "page", "requires_headless": True},
    ]
    config = {
        "fetch": {
            "allow_networks": ["127.0.0.0/8"],
            "allow_ports": [web.port],
            "nameservers": [web.nameserver],
        },
        "lanes": {"default": {"gap_min": "10ms", "gap_max": "10ms", "per_minute": 0}},
    }
    (tmp_path / "vedette.yaml").write_text(yaml.safe_dump(config))
    (tmp_path / "rows.yaml").write_text(yaml.safe_dump({"sources": rows}))
    cli = Cli(tmp_path / "data")
    assert cli("--config", str(tmp_path / "vedette.yaml"), "import", str(tmp_path / "rows.yaml")).code == 0
    return cli


def test_every_source_is_looked_at_once_and_what_moved_is_named(
    cli: Cli, web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", "")  # no browser
    told = cli("--config", str(tmp_path / "vedette.yaml"), "sources", "check", "--json")
    found = {row["id"]: row for row in told.json["sources"]}
    assert {name: row["finding"] for name, row in found.items()} == {
        "fine": "fine",
        "moved": "moved",
        "other": "kind_changed",
        "closed": "refused",
        "down": "unreachable",  # its robots.txt is: that says nothing of what it allows
        "gone": "gone",
        "browser": "not_looked",
    }
    assert told.code == 6
    assert told.json["offline"] is False
    assert found["fine"]["items"] == 3
    assert "/hop/" not in found["moved"]["answered"] or found["moved"]["words"].startswith(
        "redirects for now"
    )
    pages = [seen.target for seen in web.journal.requests if seen.target != "/robots.txt"]
    assert len(pages) <= 6  # one each, and the hop
    assert web.stats()["forbidden"] == 0


def test_one_source_by_its_id_as_a_table(cli: Cli, tmp_path: Path):
    told = cli("--config", str(tmp_path / "vedette.yaml"), "sources", "check", "fine")
    assert told.code == 0
    assert "3 listed" in told.out
    assert "moved" not in told.out
    assert cli("sources", "check", "nobody").code == 2


def test_a_host_that_cannot_be_reached_is_asked_once_however_many_sources_it_has(tmp_path: Path):
    """Before, each of them waited for its turn in the lane, until the breaker opened."""
    rows = [{"id": f"s{n}", "url": f"http://away.example/{n}", "lister": "page"} for n in range(8)]
    config = {
        "fetch": {"nameservers": ["127.0.0.1:9"], "connect_timeout": "200ms", "total_timeout": "300ms"},
        "lanes": {"default": {"gap_min": "1h", "gap_max": "1h", "per_minute": 0}},
        "sources": rows,
    }
    (tmp_path / "vedette.yaml").write_text(yaml.safe_dump(config))
    told = Cli(tmp_path / "data")("--config", str(tmp_path / "vedette.yaml"), "sources", "check", "--json")
    found = [(row["id"], row["finding"], row["outcome"]) for row in told.json["sources"]]
    assert found == [(row["id"], "unreachable", "dns_error") for row in rows]


def test_without_a_network_it_says_so_and_judges_nothing(tmp_path: Path):
    """Names that cannot be resolved: the name server is a closed port of this machine."""
    nowhere = {"nameservers": ["127.0.0.1:9"], "connect_timeout": "200ms", "total_timeout": "300ms"}
    config = {
        "fetch": {"allow_networks": ["127.0.0.0/8"], **nowhere},
        "lanes": {"default": {"gap_min": "0ms", "gap_max": "0ms", "per_minute": 0}},
    }
    (tmp_path / "vedette.yaml").write_text(yaml.safe_dump(config))
    told = Cli(tmp_path / "data")(
        "--config", str(tmp_path / "vedette.yaml"), "sources", "check", "registry:croatia"
    )
    assert told.code == 1
    assert (
        told.out.strip() == "there is no network: none of the hosts could be reached, so nothing was checked"
    )
    assert not (tmp_path / "data").exists()
