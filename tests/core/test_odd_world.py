"""The world of the hunt: what it promises about its pages, its links and its truth."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections import Counter, deque
from urllib.parse import urlsplit

import pytest
from odd_measures import single_features

from vedette.livingweb.odd import (
    DECOYS,
    FARM_DOMAIN,
    KINDS,
    TEMPLATES,
    OddPlan,
    OddWorld,
    every_page,
    odd_world,
)

SMALL = {"hosts": 60, "pages": 2400, "odd": 50, "decoys": 2 * len(DECOYS)}
DIGEST = """
import hashlib
from vedette.livingweb.odd import OddPlan, OddWorld
world = OddWorld(OddPlan(hosts=40, pages=900, odd=30, decoys=42, seed=3))
text = "".join(site.html(page, 80) for site in world.sites for page in range(0, site.ground.pages, 7))
print(hashlib.sha256((text + repr(world.known(80))).encode()).hexdigest())
"""


def small(seed: int = 5, **more: object) -> OddWorld:
    return OddWorld(OddPlan(**(SMALL | {"seed": seed} | more)))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def world() -> OddWorld:
    return small()


def reached(world: OddWorld) -> set[tuple[int, int]]:
    """Every page that can be had by following links from the seeds."""
    waiting, seen, found = deque(world.seeds(80)), set(world.seeds(80)), set()
    while waiting:
        where = world.locate(waiting.popleft())
        if where is None or world.sites[where[0]].ground.health == "failing":
            continue
        found.add(where)
        for url in world.links(*where, 80):
            if url not in seen:
                seen.add(url)
                waiting.append(url)
    return found


def test_the_committed_world_has_the_sizes_that_were_asked_for():
    world = odd_world()
    known = world.known(80)
    assert len(world.hosts) == 400
    assert known["pages"] == 20_000
    assert len(known["odd"]) == 200
    assert len(known["decoys"]) >= 200
    kinds = Counter(facts["kind"] for facts in known["odd"].values())
    assert len(kinds) >= 12
    assert min(kinds.values()) >= 4
    alone = sum(facts["neighbourhood"] < 0 for facts in known["odd"].values())
    assert alone == 80
    assert sum(map(len, known["neighbourhoods"].values())) == 120
    assert {world.sites[host].ground.lang for host, _ in world.specials} == {"en", "hr", "de"}
    assert len({site.ground.template for site in world.sites}) >= 8


def test_the_world_is_the_same_in_every_process():
    found = set()
    for hash_seed in ("0", "1", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        ran = subprocess.run(
            [sys.executable, "-c", DIGEST], capture_output=True, text=True, env=environment, check=True
        )
        found.add(ran.stdout)
    assert len(found) == 1


def test_another_seed_is_another_world(world):
    other = small(seed=6)
    assert {host.name for host in world.hosts} != {host.name for host in other.hosts}
    assert set(world.known(80)["odd"]).isdisjoint(other.known(80)["odd"])


def test_every_odd_page_and_every_decoy_is_reached_from_the_seeds(world):
    found = reached(world)
    assert set(world.specials) <= found
    assert len(found) > 0.9 * world.known(80)["pages"]
    assert len(world.seeds(80)) == 10


def test_odd_pages_are_reached_by_ordinary_pages_too(world):
    odd = {where for where in world.specials if world.sites[where[0]].special(where[1]).kind}
    linked = {
        world.locate(url)
        for where in every_page(world)
        if where not in odd
        for url in world.links(*where, 80)
    }
    assert len(odd & linked) > 0.95 * len(odd)


def test_what_is_served_has_the_links_of_the_truth(world):
    for host, page in [*world.specials[:20], (0, 0), (1, 1), (30, 4)]:
        html = world.sites[host].html(page, 80)
        for url in world.links(host, page, 80):
            parts = urlsplit(url)
            path = parts.path + (f"?{parts.query}" if parts.query else "")
            assert f'"{path}"' in html or f'"{url}"' in html


def test_neighbours_link_to_each_other(world):
    groups = world.known(80)["neighbourhoods"]
    for group in groups.values():
        inside = 0
        for url in group:
            where = world.locate(url)
            assert where is not None
            inside += bool(set(world.links(*where, 80)) & (set(group) - {url}))
        assert inside >= 0.8 * len(group)
        assert len({urlsplit(url).hostname for url in group}) >= 2


def test_every_kind_template_and_decoy_is_written_in_every_language(world):
    for lang in ("en", "hr", "de"):
        site = next(site for site in world.sites if site.ground.lang == lang)
        for make in (*KINDS.values(), *DECOYS.values(), *(template.body for template in TEMPLATES.values())):
            blocks = make(site.voice("any", make.__name__), 2)
            assert "".join(blocks)
            assert not re.search(r"\{[a-z]\}|\[[^\]]*\|", "".join(blocks))


def test_no_two_odd_pages_say_the_same(world):
    texts = [
        hashlib.sha256("".join(world.sites[host].body(page)).encode()).digest()
        for host, page in world.specials
        if world.sites[host].special(page).kind
    ]
    assert len(set(texts)) == len(texts)


def test_some_ordinary_pages_are_near_copies_and_most_are_not(world):
    texts = Counter("".join(world.sites[host].body(page)) for host, page in every_page(world))
    assert 0.85 < len(texts) / sum(texts.values()) < 0.995


def test_paths_of_a_host_are_its_own(world):
    for site in world.sites:
        assert len(set(site.paths)) == site.ground.pages
        assert site.paths[0] == "/"


def test_a_world_without_odd_pages_has_none():
    empty = small(odd=0)
    known = empty.known(80)
    assert not known["odd"]
    assert not known["neighbourhoods"]
    assert known["decoys"]
    assert known["pages"] == SMALL["pages"]


def test_swapped_pages_have_the_same_addresses_and_links_and_are_ordinary(world):
    swapped = small(is_swapped=True)
    known = swapped.known(80)
    assert not known["odd"]
    assert known["was_odd"] == sorted(world.known(80)["odd"], key=known["was_odd"].index)
    for host, page in world.specials:
        assert swapped.links(host, page, 80) == world.links(host, page, 80)
    host, page = world.locate(known["was_odd"][0]) or (0, 0)
    assert swapped.sites[host].html(page, 80) != world.sites[host].html(page, 80)


def test_odd_pages_in_ordinary_folders_have_paths_like_their_host():
    plain = small(folders=True)
    for host, page in plain.specials:
        site = plain.sites[host]
        if site.special(page).kind:
            shape = site.ground.kind_of_site.paths[site.ground.lang].partition("{")[0]
            assert site.paths[page].startswith(shape)


def test_a_farm_is_many_hosts_of_one_domain_and_none_of_them_is_odd(world):
    farmed = small(farm=300)
    names = [host.name for host in farmed.hosts if host.name.endswith(FARM_DOMAIN)]
    assert len(set(names)) == 300
    assert len(farmed.known(80)["odd"]) == SMALL["odd"]
    assert sum(where[0] >= len(world.hosts) for where in reached(farmed)) > 250


def test_more_odd_pages_than_the_world_can_hold_are_refused():
    with pytest.raises(ValueError, match="too many"):
        small(odd=2000)


@pytest.mark.parametrize("seed", [21, 22])
def test_no_naive_feature_alone_finds_the_odd_pages(seed):
    found = single_features(small(seed=seed))
    best = max(found, key=found.__getitem__)
    assert found[best] <= 0.80, (best, found[best])


def test_kinds_can_be_left_out():
    world = small(kinds=("dream_log", "webring"))
    assert {facts["kind"] for facts in world.known(80)["odd"].values()} == {"dream_log", "webring"}
    with pytest.raises(ValueError, match="no such kinds"):
        small(kinds=("nonsense",))
