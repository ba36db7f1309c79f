"""The world knows the truth without a server, the same truth in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise, takewhile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vedette.livingweb import EPOCH, HostSpec, World, demo_world, fault_world, grid_world, trap_world
from vedette.livingweb.chance import Chance
from vedette.livingweb.process import DAY, At, Bursts, Every, History, Never, OfficeHours, Poisson
from vedette.livingweb.words import EDITS, Story, make_story, slug

SEEDS = st.integers(0, 10**6)
_FINGERPRINT = """
from hashlib import sha256
from vedette.livingweb import EPOCH, grid_world
world, digest = grid_world(24, 12, 5), sha256()
for host in world.hosts:
    for page in host.pages:
        state = world.state(host.index, page.index, EPOCH + 20 * 86400.0)
        digest.update(repr((host.address, page.path, state, host.spec.validators)).encode())
print(digest.hexdigest())
"""


@given(seed=SEEDS, version=st.integers(0, 400), lang=st.sampled_from(["hr", "en"]))
def test_every_edit_shows_in_exactly_one_paragraph(seed: int, version: int, lang: str) -> None:
    story = make_story((seed,), lang)
    before, after = story.paragraphs(version), story.paragraphs(version + 1)
    touched = [place for place, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]]
    assert len(touched) == 1
    assert story.edit(version + 1) == story.plan[touched[0]]


@given(seed=SEEDS, version=st.integers(0, 400))
def test_an_edited_number_turns_from_even_to_odd_or_back(seed: int, version: int) -> None:
    story = Story((seed,), "en", ("number",))
    (before,), (after,) = (story.paragraphs(v) for v in (version, version + 1))
    (pair,) = [pair for pair in zip(before.split(), after.split(), strict=True) if pair[0] != pair[1]]
    first, second = (int(word.strip(".").replace(",", "")) for word in pair)
    assert (first + second) % 2


@given(seed=SEEDS)
def test_all_kinds_of_edit_happen_within_a_few_versions(seed: int) -> None:
    story = make_story((seed,), "hr", length=5)
    assert {story.edit(version) for version in range(1, 6)} == set(EDITS)


@given(seed=SEEDS, version=st.integers(0, 50))
def test_a_page_that_flips_goes_back_to_what_it_said(seed: int, version: int) -> None:
    story = make_story((seed,), "en", flips=True)
    assert story.paragraphs(version) == story.paragraphs(version + 2) != story.paragraphs(version + 1)


@given(seed=SEEDS, start=st.floats(0, 40), length=st.floats(0, 40))
@settings(max_examples=50)
def test_versions_count_the_changes_between_two_moments(seed: int, start: float, length: float) -> None:
    world = World([HostSpec(pages=1, changes=Poisson(3.0))], seed=seed)
    t0, t1 = EPOCH + start * DAY, EPOCH + (start + length) * DAY
    changes = world.changes(0, 0, t0, t1)
    assert world.state(0, 0, t1).version - world.state(0, 0, t0).version == len(changes)
    assert all(world.state(0, 0, moment).changed_at == moment for moment in changes)


def test_the_order_of_questions_does_not_change_the_answers() -> None:
    ahead, back = grid_world(3, 5, 9), grid_world(3, 5, 9)
    moments = [EPOCH + day * DAY for day in range(0, 60, 7)]
    forward = [ahead.state(2, 4, t) for t in moments]
    assert forward == [back.state(2, 4, t) for t in reversed(moments)][::-1]


def test_preparing_a_world_changes_no_answer() -> None:
    prepared, other = grid_world(3, 5, 9), grid_world(3, 5, 9)
    prepared.prepare(EPOCH + 30 * DAY)
    for t in (EPOCH + 10 * DAY, EPOCH + 50 * DAY):
        assert prepared.state(1, 2, t) == other.state(1, 2, t)


def test_the_truth_is_the_same_in_another_process() -> None:
    def fingerprint(hash_seed: str) -> str:
        env = os.environ | {"PYTHONHASHSEED": hash_seed}
        run = subprocess.run(
            [sys.executable, "-c", _FINGERPRINT], env=env, capture_output=True, text=True, check=True
        )
        return run.stdout

    assert fingerprint("1") == fingerprint("2") != ""


@pytest.mark.parametrize(
    "process", [Poisson(50_000.0), Bursts(500.0, gap=0.2), Every(0.3), At((EPOCH + 1.2, EPOCH + 1.7))]
)
def test_change_times_are_distinct_whole_seconds(process: Poisson | Bursts | Every | At) -> None:
    times = History(process, Chance("x"), EPOCH, EPOCH).between(EPOCH, EPOCH + 3600)
    assert times
    assert all(moment == int(moment) for moment in times)
    assert all(before < after for before, after in pairwise(times))


def test_nothing_changes_at_the_epoch_or_before_it() -> None:
    world = World([HostSpec(pages=1, changes=Poisson(1000.0))], seed=1)
    assert world.state(0, 0, EPOCH).version == 0
    assert world.changes(0, 0, EPOCH - 10 * DAY, EPOCH) == []


def test_a_poisson_page_changes_about_as_often_as_it_says() -> None:
    times = History(Poisson(4.0), Chance("p"), EPOCH, EPOCH).between(EPOCH, EPOCH + 500 * DAY)
    assert 1850 < len(times) < 2150  # 2000 expected, standard deviation 45


def test_an_office_changes_on_working_days() -> None:
    times = History(OfficeHours(4.0), Chance("o"), EPOCH, EPOCH).between(EPOCH, EPOCH + 364 * DAY)
    at_work = [t for t in times if (t - EPOCH) % (7 * DAY) < 5 * DAY and 8 <= (t - EPOCH) % DAY / 3600 < 17]
    assert len(at_work) / len(times) > 0.9
    assert 1300 < len(times) < 1620


def test_a_burst_is_many_changes_after_a_long_silence() -> None:
    times = History(Bursts(0.1), Chance("b"), EPOCH, EPOCH).between(EPOCH, EPOCH + 1000 * DAY)
    gaps = [after - before for before, after in pairwise(times)]
    assert sum(gap < 3600 for gap in gaps) > len(gaps) / 2
    assert max(gaps) > 10 * DAY


def test_never_is_never() -> None:
    assert History(Never(), Chance("n"), EPOCH, EPOCH).between(EPOCH, EPOCH + 10_000 * DAY) == []


def test_a_few_pages_make_most_of_the_changes_and_many_make_none() -> None:
    world = grid_world(20, 50, 3)
    counts = sorted(
        len(world.changes(h.index, p.index, EPOCH, EPOCH + 30 * DAY)) for h in world.hosts for p in h.pages
    )
    assert sum(counts[-100:]) > sum(counts) / 2
    assert len(list(takewhile(lambda count: count == 0, counts))) > 150


def test_later_pages_are_born_and_departed_ones_are_gone() -> None:
    spec = HostSpec(pages=3, born_later=1, births=At((EPOCH + 100.4,)), departures=((0, EPOCH + 50.0),))
    world = World([spec], seed=1)
    alive = [[world.state(0, page, EPOCH + t).exists for page in range(3)] for t in (0, 50, 100)]
    assert alive == [[True, True, False], [False, True, False], [False, True, True]]


def test_a_page_whose_birth_never_comes_never_exists() -> None:
    world = World([HostSpec(pages=2, born_later=1)], seed=1)
    assert not world.state(0, 1, EPOCH + 10_000 * DAY).exists


def test_a_thousand_hosts_have_a_thousand_addresses_and_names() -> None:
    world = grid_world(1200, 1, 1)
    assert len({host.address for host in world.hosts}) == len({host.name for host in world.hosts}) == 1200
    assert world.hosts[0].address == "127.20.0.1"
    assert all(host.address.startswith("127.") for host in world.hosts)


@pytest.mark.parametrize("world", [demo_world(), grid_world(48, 30), trap_world(), fault_world()])
def test_no_two_pages_share_an_address_and_every_address_is_found(world: World) -> None:
    for host in world.hosts:
        assert len(host.by_path) == len(host.pages)
        assert [world.locate(world.url(host.name, page.index, 8080)) for page in host.pages] == [
            (host.index, page.index) for page in host.pages
        ]


def test_other_spellings_of_a_page_are_that_page() -> None:
    world = World([HostSpec(name="a.example", layout="aspnet", lang="en", pages=2)], seed=1)
    path = world.page(0, 1).path
    head, _, query = path.partition("?")
    turned = head + "?" + "&".join(reversed(query.split("&")))
    for spelling in (
        turned,
        path + "&utm_source=x",
        path.replace("?", ";jsessionid=0A1B?"),
        path + "&PHPSESSID=77",
    ):
        assert world.locate(f"http://a.example:99{spelling}") == (0, 1)
    assert world.locate("http://a.example:99/nothing") is None
    assert world.locate("http://b.example:99" + path) is None


def test_a_spec_that_cannot_be_served_is_refused_at_once() -> None:
    for broken in (
        HostSpec(listing="telex"),
        HostSpec(layout="papyrus"),
        HostSpec(validators="maybe"),
        HostSpec(pages=2, documents=2, forbidden=1),
        HostSpec(listing="crawl", born_later=1),
    ):
        with pytest.raises(ValueError, match="host"):
            World([broken], seed=1)


def test_croatian_letters_become_plain_ones_in_an_address() -> None:
    assert slug("Odluka o đačkoj žetvi u Čćšž 7/2025") == "odluka-o-dackoj-zetvi-u-ccsz-7-2025"
