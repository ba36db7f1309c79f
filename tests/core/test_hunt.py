"""Where to hunt next: 004's novelty and yield, host budgets, and what a made-up path costs."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yield_world import BATCH, LOOKS, World, found_by_choice, found_uniformly, world_of

from vedette.contracts.errors import InputError
from vedette.contracts.hunt import HuntRecord
from vedette.core.evidence.hunt_ledger import hunt_decision
from vedette.core.evidence.ledger import InForce, adds_up, difference
from vedette.core.hunt import Turn, choose
from vedette.core.hunt_worth import HuntParams, Prospect, Yields, prospect_of, room_of, said_by, weigh
from vedette.core.urls.link_words import path_words, said_links

SEEDS = (1, 2, 3, 4, 5)
MANY = 1000
ONLY_NEW = HuntParams(share=1.0, at_host=MANY)
ONLY_YIELD = HuntParams(share=0.0, at_host=MANY)


@pytest.fixture(scope="module")
def worlds() -> dict[int, World]:
    return {seed: world_of(seed) for seed in SEEDS}


def pages(host: str, *paths: str) -> list[Prospect]:
    return [prospect_of(f"https://{host}/{path}") for path in paths]


def test_it_finds_three_times_what_even_choice_finds_with_the_same_looks(worlds: dict[int, World]) -> None:
    ratios = []
    for seed, world in worlds.items():
        ours, even = (
            found_by_choice(world, HuntParams(seed=seed, at_host=BATCH)),
            found_uniformly(world, seed),
        )
        assert ours.whole.looks == even.whole.looks == LOOKS
        ratios.append(ours.whole.found / even.whole.found)
    assert min(ratios) > 2.0
    assert sum(ratios) / len(ratios) > 3.0


def test_a_host_that_fails_half_of_the_time_is_left_alone_after_a_third_of_the_looks() -> None:
    params = HuntParams(host_budget=60, share=0.2)
    yields, seen = Yields(), set[str]()
    known = [prospect_of(f"https://{host}.example/x/{n}") for host in ("well", "ill") for n in range(100)]
    for turn in range(200):
        for one in choose([p for p in known if p.url not in seen], yields, 1, turn=Turn(turn), params=params):
            seen.add(one.prospect.url)
            is_error = one.prospect.host == "ill.example" and len(seen) % 2 == 0
            yields.note(one.prospect, None if is_error else 0.5)
    assert yields.hosts["well.example"].looks == 60
    assert 12 <= yields.hosts["ill.example"].looks <= 30


def test_the_same_seed_chooses_the_same_and_a_restart_goes_on_alike(worlds: dict[int, World]) -> None:
    known = [prospect_of(url) for url in worlds[1].known(0)]
    yields = Yields()
    for one in choose(known, yields, 50, turn=Turn(0)):
        yields.note(one.prospect, worlds[1].pages[one.prospect.url])
    again = replace(yields, hosts=dict(yields.hosts), neighbourhoods=dict(yields.neighbourhoods))
    assert choose(known, again, 50, turn=Turn(50)) == choose(reversed(known), yields, 50, turn=Turn(50))
    other = HuntParams(seed=8)
    assert choose(known, yields, 50, turn=Turn(50), params=other) != choose(known, yields, 50, turn=Turn(50))


@given(st.floats(0, 1), st.lists(st.integers(0, 40), max_size=6))
def test_the_share_for_what_is_new_holds_over_all_calls(share: float, sizes: list[int]) -> None:
    params = HuntParams(share=share, known_after=10**6, at_host=MANY)
    known = [prospect_of(f"https://h{n}.example/a/{m}") for n in range(10) for m in range(24)]
    turn = new = 0
    for size in sizes:
        chosen = choose(known, Yields(), size, turn=Turn(turn), params=params)
        assert len(chosen) == size
        turn, new = turn + size, new + sum(one.is_new for one in chosen)
    assert new == math.floor(turn * share)


def test_new_hosts_come_first_then_new_neighbourhoods() -> None:
    yields = Yields()
    old = pages("old.example", "a/1", *(f"part{n}/1" for n in range(20)))
    yields.note(old[0], 1.0)
    fresh = [one for n in range(5) for one in pages(f"new{n}.example", "a/1", "a/2")]
    chosen = choose([*old, *fresh], yields, 6, turn=Turn(0), params=ONLY_NEW)
    assert {one.prospect.host for one in chosen[:5]} == {f"new{n}.example" for n in range(5)}
    assert chosen[5].prospect.neighbourhood.startswith("old.example/part")  # new there, on a known host
    assert all(one.is_new for one in chosen)


def test_a_neighbourhood_that_is_known_leaves_its_turn_to_yield() -> None:
    yields = Yields()
    places = pages("a.example", "x/1", "x/2", "x/3")
    for _ in range(3):
        yields.note(places[0], 0.0)
    chosen = choose(places, yields, 2, turn=Turn(0), params=ONLY_NEW)
    assert [one.is_new for one in chosen] == [False, False]


def test_what_gave_most_is_chosen_and_its_host_lends_belief_to_a_new_part() -> None:
    yields = Yields()
    rich, poor = pages("rich.example", "a/1", "a/2", "b/1"), pages("poor.example", "a/1", "b/1")
    for _ in range(10):
        yields.note(rich[0], 1.0)
        yields.note(poor[0], 0.0)
    unknown = pages("unknown.example", "a/1")
    chosen = choose([*poor, *unknown, *rich], yields, 6, turn=Turn(0), params=ONLY_YIELD)
    assert [one.prospect.neighbourhood for one in chosen] == [
        "rich.example/a", "rich.example/a", "rich.example/b", "unknown.example/a", "poor.example/b", "poor.example/a",
    ]  # fmt: skip
    assert not any(one.is_new for one in chosen)


def test_a_deep_or_repeating_path_costs_and_a_plain_one_of_the_same_place_goes_first() -> None:
    plain, deep, loop = pages("a.example", "x/1", "x/a/b/c/d/e", "x/b/x/b/x/b")
    assert plain.costs == ()
    assert [(c.code, c.points) for c in deep.costs] == [("deep_path", -6.0)]
    assert [(c.code, c.points) for c in loop.costs] == [("deep_path", -6.0), ("repeating_path", -40.0)]
    for params in (ONLY_NEW, ONLY_YIELD):
        chosen = choose([loop, deep, plain], Yields(), 3, turn=Turn(0), params=params)
        assert [one.prospect for one in chosen] == [plain, deep, loop]


def test_an_error_costs_the_room_of_several_pages() -> None:
    assert room_of(HuntRecord()) == 200
    assert room_of(HuntRecord(looks=10)) == 190
    assert room_of(HuntRecord(looks=10, errors=10)) == 150
    assert room_of(HuntRecord(looks=40, errors=40)) == room_of(HuntRecord(looks=400)) == 0


def test_a_host_is_asked_for_no_more_than_its_room() -> None:
    params = HuntParams(host_budget=10, share=0.3, at_host=MANY)
    yields = Yields()
    known = [prospect_of(f"https://a.example/x/{n}") for n in range(50)]
    yields.note(known[0], None)
    assert len(choose(known[1:], yields, 50, turn=Turn(0), params=params)) == 5
    yields.note(known[0], None)
    assert choose(known[1:], yields, 50, turn=Turn(0), params=params) == []


def test_only_a_few_looks_wait_at_one_host_and_those_that_do_count_as_looks() -> None:
    params = HuntParams(at_host=8, share=0.0)
    known = [prospect_of(f"https://{host}.example/x/{n}") for host in ("a", "b") for n in range(20)]
    waiting = {"a.example": 6, "a.example/x": 6}
    chosen = choose(known, Yields(), 50, turn=Turn(6, waiting), params=params)
    assert [one.prospect.host for one in chosen].count("a.example") == 2
    assert [one.prospect.host for one in chosen].count("b.example") == 8
    assert [one.prospect.host for one in chosen[:6]] == ["b.example"] * 6  # a is as well known for six looks
    new = choose(known, Yields(), 1, turn=Turn(6, waiting), params=ONLY_NEW)
    assert new[0].prospect.host == "b.example"


def test_a_choice_is_weighed_again_from_its_figures_alone(worlds: dict[int, World]) -> None:
    known = [prospect_of(url) for url in worlds[2].known(0)]
    yields = Yields()
    for one in choose(known, yields, 80, turn=Turn(0)):
        yields.note(one.prospect, worlds[2].pages[one.prospect.url])
    for one in choose(known, yields, 80, turn=Turn(80)):
        again = weigh(prospect_of(one.prospect.url), one.figures, is_new=one.is_new)
        assert again == one.reasons


@pytest.mark.parametrize(
    ("url", "neighbourhood"),
    [
        ("https://a.example/", "a.example/"),
        ("https://a.example/page.html", "a.example/"),
        ("https://a.example/~ana/", "a.example/~ana"),
        ("https://a.example/~ana/x/y?z=1/2", "a.example/~ana"),
        ("https://a.example:8443/~ana/x", "a.example/~ana"),
    ],
)
def test_a_neighbourhood_is_the_host_and_its_first_folder(url: str, neighbourhood: str) -> None:
    assert prospect_of(url).neighbourhood == neighbourhood


PLACES = st.lists(
    st.builds(
        "https://h{}.example/{}/{}".format,
        st.integers(0, 4), st.sampled_from(["a", "b", "c/d/e/f/g"]), st.integers(0, 9),
    ).map(prospect_of),
    max_size=40,
)  # fmt: skip
NOTES = st.lists(st.none() | st.floats(0, 1), max_size=40)


@given(PLACES, PLACES, NOTES, st.integers(0, 50), st.integers(0, 1000), st.floats(0, 1))
def test_whatever_happened_choices_are_unique_bounded_explained_and_best_first(
    seen: list[Prospect], known: list[Prospect], notes: list[float | None], most: int, turn: int, share: float
) -> None:
    yields = Yields()
    for prospect, found in zip(seen, notes, strict=False):
        yields.note(prospect, found)
    params = HuntParams(share=share, host_budget=20, at_host=MANY)
    chosen = choose(known, yields, most, turn=Turn(turn), params=params)
    assert len({one.prospect.url for one in chosen}) == len(chosen) <= most
    assert all(adds_up(one.reasons, one.value) for one in chosen)
    for is_new in (True, False):
        values = [one.value for one in chosen if one.is_new is is_new]
        assert values == sorted(values, reverse=True)
    by_host = [one.prospect.host for one in chosen]
    for host in set(by_host):
        assert by_host.count(host) <= room_of(yields.hosts.get(host, HuntRecord()), params)
    if len(chosen) < most:  # it stops only when there is nothing left that may be asked
        taken = {one.prospect.url for one in chosen}
        left = {one.host for one in known if one.url not in taken}
        assert all(by_host.count(h) == room_of(yields.hosts.get(h, HuntRecord()), params) for h in left)


def test_nothing_to_choose_from_gives_nothing() -> None:
    assert choose([], Yields(), 10, turn=Turn(0)) == []
    assert choose(pages("a.example", "x"), Yields(), 0, turn=Turn(0)) == []


@pytest.mark.parametrize(
    "bad", [{"share": 1.1}, {"share": math.nan}, {"error_cost": 0.5}, {"prior_looks": 0.0}]
)
def test_a_knob_that_makes_no_sense_is_refused_by_name(bad: dict[str, float]) -> None:
    with pytest.raises(InputError, match=f"hunt.{next(iter(bad))}"):
        HuntParams(**bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan])
def test_a_find_outside_zero_to_one_is_refused_and_counts_nothing(bad: float) -> None:
    yields = Yields()
    with pytest.raises(InputError, match="found"):
        yields.note(prospect_of("https://a.example/"), bad)
    assert yields == Yields()


def test_a_turn_or_number_below_zero_is_refused() -> None:
    with pytest.raises(InputError, match="turn"):
        choose([], Yields(), 1, turn=Turn(-1))


def linked(url: str, *words: str) -> Prospect:
    return replace(prospect_of(url), words=words)


def taught() -> Yields:
    """Links that say `shrine` led to finds, links that say `contact` never did, at places that are all alike."""
    yields = Yields()
    for n in range(30):
        yields.note(linked(f"https://h{n}.example/", "shrine", "page"), 0.6 if n % 2 else 0.0)
        yields.note(linked(f"https://k{n}.example/", "contact", "page"), 0.0)
    return yields


def test_what_links_say_counts_by_what_such_links_gave_and_the_reason_names_it() -> None:
    open_pages = [
        linked("https://a.example/1", "contact", "page"),
        linked("https://a.example/2", "shrine", "page"),
        linked("https://a.example/3", "unheard"),
    ]
    chosen = choose(open_pages, taught(), 3, turn=Turn(), params=ONLY_YIELD)
    assert [one.prospect.url[-1] for one in chosen] == ["2", "3", "1"]
    said = [next(r for r in one.reasons if r.code == "words_of_link") for one in chosen]
    assert said[0].points > 4 > 0 == said[1].points > said[2].points
    assert said[0].note.startswith("shrine +")
    assert all(adds_up(one.reasons, one.value) for one in chosen)


def test_words_never_weigh_more_than_their_bound_however_many_speak() -> None:
    many = tuple((f"w{n}", HuntRecord(500, 400.0)) for n in range(14))
    assert said_by(many, 0.01, HuntParams()) < 0.2
    assert said_by(many, 0.0, HuntParams()) >= 0.0
    assert said_by(many, 1.0, HuntParams()) == 0.0


def test_a_choice_by_words_is_replayed_and_a_bent_count_or_knob_is_found() -> None:
    (chosen,) = choose([linked("https://a.example/2", "shrine")], taught(), 1, turn=Turn(), params=ONLY_YIELD)
    decision = hunt_decision(chosen)
    in_force = InForce(hunt=ONLY_YIELD)
    assert difference(decision, in_force) is None
    word, looks, found, errors = decision.inputs["words"][0]  # type: ignore[index]
    bent = {**decision.inputs, "words": [[word, looks, found + 1.0, errors]]}
    assert difference(replace(decision, inputs=bent), in_force) is not None
    assert difference(decision, InForce(hunt=replace(ONLY_YIELD, trust=0.6))) is not None


def test_links_are_read_with_their_words_and_without_personal_data() -> None:
    page = (
        '<a href="/a"><b>The SHRINE</b> of 1997 &amp; more</a> <A class=x HREF=b.html title="x>y">Dva</A> '
        '<a href="/c"><img src="x.png"></a> <a href="/d">ana.horvat@mail.example pisma</a> <a href="/a">again</a>'
    )
    said = said_links(page)
    assert said["/a"] == ("the", "shrine", "more")
    assert said["b.html"][-1] == "dva"
    assert "/c" not in said
    assert "pisma" in said["/d"]
    assert not {"ana", "horvat"} & set(said["/d"])
    assert path_words("https://a.example/~Ana/zvu%C4%8Dnik-2/x.html") == ("/ana", "/zvučnik", "/html")
    assert said_links("<a href=x " * 20_000) == {}
