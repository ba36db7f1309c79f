"""Pages on which much varies by itself: no false reports, no missed edits, and nothing shown but what the page said."""

from __future__ import annotations

import random
import re
from html import unescape

import pytest
from change_lives import Life
from restless_pages import KINDS, RestlessPage, edit_steady, end_unit, make_page

from vedette.store.text_columns import read_noise

SEEDS = range(60)  # of pages; `bench/restless.py` runs as many as one likes


def life_of(seed: int) -> tuple[RestlessPage, Life]:
    page = make_page(seed)
    return page, Life(page.look, random.Random(f"chance {seed}"))


def test_where_nobody_edits_next_to_nothing_is_reported():
    looks = reports = 0
    for seed in SEEDS:
        _, life = life_of(seed)
        for _ in range(25):
            life.visit()
        looks, reports = looks + life.looks, reports + len(life.reports)
    assert looks > 1_500
    assert reports <= looks / 1_000, f"{reports} reports in {looks} looks"


@pytest.mark.parametrize("kind", KINDS)
def test_noise_of_one_kind_is_not_reported_once_it_is_known(kind):
    """Alone on its page two looks may agree by chance, so what the first differences report is not counted."""
    reports = 0
    for seed in range(6):
        page = make_page(seed, only=kind)
        life = Life(page.look, random.Random(f"chance {kind} {seed}"))
        for _ in range(12):
            life.visit()
        known = len(life.reports)
        for _ in range(20):
            life.visit()
        reports += len(life.reports) - known
    assert reports <= 1


def test_an_edit_of_a_steady_line_is_reported_by_the_second_look():
    late = []
    for seed in SEEDS:
        page, life = life_of(seed)
        r = random.Random(f"edit {seed}")
        for _ in range(r.randint(6, 16)):
            life.visit()
        edited = edit_steady(page, r)
        looks = life.looks
        told = life.visit()
        if not told or life.looks - looks > 2:
            late.append((seed, life.looks - looks))
        else:
            assert edited in shown(told[0]), (seed, edited, shown(told[0]))
    assert len(late) <= 0.02 * len(SEEDS), late


def test_an_edit_right_after_the_first_look_is_reported_by_the_same_visit():
    missed = []
    for seed in SEEDS:
        page, life = life_of(seed)
        life.visit()
        edited = edit_steady(page, random.Random(f"edit {seed}"))
        told = life.visit()
        if not any(edited in shown(one) for one in told):
            missed.append(seed)
    assert len(missed) <= 0.03 * len(SEEDS), missed


def test_what_varied_and_is_replaced_for_good_is_reported_within_twenty_looks():
    late = []
    for seed in SEEDS:
        page, life = life_of(seed)
        for _ in range(30):
            life.visit()
        text = end_unit(page, random.Random(f"end {seed}"))
        looks, told = life.looks, []
        while life.looks - looks < 20 and not any(text in shown(one) for one in told):
            told += life.visit()
        if not any(text in shown(one) for one in told):
            late.append((seed, text))
    assert len(late) <= 0.05 * len(SEEDS), late


def test_a_report_shows_whole_lines_of_the_page_and_nothing_of_ours():
    reports = 0
    for seed in SEEDS:
        page, life = life_of(seed)
        lines: set[str] = set()
        render = life.show

        def keep(chance: random.Random, hour: float, render=render, lines=lines) -> str:
            html = render(chance, hour)
            rows = re.findall(r"<tr><td>(.*?)</td><td>(.*?)</td></tr>", html)
            lines.update(" ".join(f"{label} | {value}".split()) for label, value in rows)
            lines.update(" ".join(unescape(text).split()) for text in re.findall(r">([^<>]+)<", html))
            return html

        life.show = keep
        r = random.Random(f"shown {seed}")
        for visit in range(14):
            if visit in (5, 9):
                edit_steady(page, r)
            for told in life.visit():
                reports += 1
                assert any(op.op != "equal" for op in told.diff)
                for op in told.diff:
                    assert {*op.before, *op.after} <= lines, seed
                assert not re.search(r"[⟨⟩â]|<\w+>", told.summary)
    assert reports > len(SEEDS)


def shown(comparison) -> str:
    return "\n".join(line for op in comparison.diff if op.op != "equal" for line in (*op.before, *op.after))


LEGACY = '[["#","","","quiet",2],["main/ul/*","","","order",3],["main/p[4]","Posjeta","danas","number",5]]'


def test_pages_whose_masks_were_learned_by_an_earlier_version_are_learned_anew_without_a_burst_of_reports():
    looks = reports = 0
    for seed in SEEDS:
        _, life = life_of(seed)
        life.visit()
        life.noise, life.age = read_noise(LEGACY), 40
        for _ in range(12):
            life.visit()
        looks, reports = looks + life.looks, reports + len(life.reports)
    assert reports <= 1 + looks / 1_000, f"{reports} reports in {looks} looks"


def test_a_mask_of_an_earlier_version_says_where_texts_are_drawn_and_what_is_shuffled():
    noise = read_noise(LEGACY)
    assert [place.path for place in noise.places] == ["main/p"]
    assert noise.orders == ("main/ul",)
    assert noise.is_restless
    assert not read_noise('[["#","","","quiet",2]]').is_restless


@pytest.mark.parametrize(
    "text", ["{", '{"paths":[]}', "17", '[["a"]]', '{"paths":[],"lines":[[1,0]],"looks":[0]}', "null"]
)
def test_noise_that_cannot_be_read_is_learned_anew(text):
    noise = read_noise(text)
    assert noise.is_restless
    assert noise.begun_at < 0


def page_with_drawn_paragraphs(seed: int, drawn: int, pool: int, sometimes: int = 0, says: str = "") -> Life:
    """Paragraphs that stay among others of the same place that are drawn; one is replaced after the first visit.

    Those of before and those that are drawn may be alike: someone `says` the same in all of them.
    """
    r = random.Random(f"paragraphs {seed} {drawn} {pool} {sometimes}")
    steady = [f"{_words(r, 2)} {says} {_words(r)}" for _ in range(3)]
    edited = [*steady]
    edited[r.randrange(3)] = _words(r)
    texts = [f"{_words(r, 2)} {says if r.random() < 0.5 else ''} {_words(r)}" for _ in range(pool)]
    blocks = [(_words(r), r.uniform(0.2, 0.8)) for _ in range(sometimes)]

    def look(chance: random.Random, hours: float) -> str:
        shown = (edited if hours > 6 else steady) + chance.sample(texts, drawn)
        shown += [text for text, share in blocks if chance.random() < share]
        return f"<main><article><h1>Levy</h1>{''.join(f'<p>{text}</p>' for text in shown)}</article></main>"

    return Life(look, random.Random(f"chance {seed}"))


def _words(r: random.Random, count: int = 10) -> str:
    return " ".join("".join(r.choices("abdefgiklmnoprstuvz", k=r.randint(3, 9))) for _ in range(count))


@pytest.mark.parametrize("says", ["", "says that the deadlines stay and that the forms do not change."])
@pytest.mark.parametrize(("drawn", "pool"), [(1, 20), (1, 1000), (2, 1000)])
def test_a_paragraph_replaced_after_the_first_visit_is_reported_by_the_next_where_others_are_drawn(
    drawn, pool, says
):
    lives = [page_with_drawn_paragraphs(seed, drawn, pool, says=says) for seed in range(20)]
    told = sum(bool(life.visit() or life.visit()) for life in lives)
    assert told >= 16


@pytest.mark.parametrize(("drawn", "pool", "sometimes"), [(1, 3, 0), (2, 4, 0), (2, 20, 1), (3, 6, 2)])
def test_what_eight_looks_leave_in_doubt_is_reported_once_it_lasted_for_forty(drawn, pool, sometimes):
    late = []
    for seed in range(12):
        life = page_with_drawn_paragraphs(seed, drawn, pool, sometimes)
        while not life.reports and life.looks < 60:
            life.visit()
        if life.looks > 42:
            late.append((seed, life.looks))
    assert len(late) <= 1
