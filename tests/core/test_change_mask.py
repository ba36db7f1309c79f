"""Noise of kinds made up at test time is masked after two looks; a real edit still shows."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noisy_pages import MAKE, Block, add_noise, page, sentence

from vedette.contracts.changing import MaskRegion
from vedette.core.change.kinds import accepts, kind_of
from vedette.core.change.mask import apply, carry, learn, masked_key

Edit = Callable[[list[Block]], list[Block]]


def blocks(*texts: str) -> list[Block]:
    return [(f"main/p[{n}]" if n > 1 else "main/p", text) for n, text in enumerate(texts, 1)]


def an_edit(r: random.Random, at: int) -> Edit:
    """A change that an editor could make at this block."""
    how, new = r.choice(["rewrite", "word", "rate"]), sentence(r)

    def edit(content: list[Block]) -> list[Block]:
        path, text = content[at]
        words = text.split()
        words[len(words) // 4] = "izmijenjeno"
        changed = {"rewrite": new, "word": " ".join(words), "rate": text[:-1] + " 24 %."}[how]
        return [*content[:at], (path, changed), *content[at + 1 :]]

    return edit


def trial(seed: int) -> tuple[bool, bool, tuple[str, ...]]:
    """(is the noise of later looks masked, does an edit show, kinds of noise) on one random page."""
    r, chance = random.Random(seed), random.Random(seed + 1_000_000)
    target = page(r, r.randint(6, 40))
    kinds = tuple(r.choice(list(MAKE)) for _ in range(r.randint(1, 3)))
    add_noise(target, r, kinds)
    first, second = target.two_looks(chance)
    mask = learn(first, second).mask
    key = masked_key(second, mask)
    is_quiet = all(masked_key(target.look(chance), mask) == key for _ in range(3))
    edited = target.look(chance, an_edit(r, r.randrange(len(target.content))))
    return is_quiet, masked_key(edited, mask) != key, kinds


def test_made_up_noise_is_masked_after_two_looks_and_edits_still_show():
    trials = [trial(seed) for seed in range(250)]
    assert sum(quiet for quiet, _, _ in trials) >= 0.99 * len(trials), [t for t in trials if not t[0]]
    assert all(shows for _, shows, _ in trials)


@settings(max_examples=25, deadline=None)
@given(st.integers(1_000_000, 2_000_000))
def test_an_edit_outside_the_noise_always_shows(seed):
    assert trial(seed)[1]


@settings(max_examples=25, deadline=None)
@given(st.integers(3_000_000, 4_000_000))
def test_the_looks_a_mask_was_learned_from_are_equal_under_it(seed):
    r, chance = random.Random(seed), random.Random(seed + 1)
    target = page(r, 20)
    add_noise(target, r, tuple(r.choices(list(MAKE), k=3)))
    first, second = target.two_looks(chance)
    mask = learn(first, second).mask
    assert masked_key(first, mask) == masked_key(second, mask)


NOISE = [
    ("Posjeta: 1.204 danas", "Posjeta: 1.311 danas", "Posjeta: 9.000 danas"),
    ("Ref a8f3-22b1 vrijedi", "Ref 99ce-1f00 vrijedi", "Ref 0b0b-7777 vrijedi"),
    ("U 10:30 je 14.01.2026.", "U 10:31 je 14.01.2026.", "U 23:59 je 14.01.2026."),
    ("Citat: more je duboko", "Citat: nebo je visoko i plavo", "Citat: tko rano rani"),
    ("12 korisnika, 7 gostiju", "15 korisnika, 9 gostiju", "3 korisnika, 1 gostiju"),
    ("https://a.hr/dl/8f3a11/f.pdf", "https://a.hr/dl/77bb00/f.pdf", "https://a.hr/dl/01cd9e/f.pdf"),
]


@pytest.mark.parametrize(("first", "second", "third"), NOISE)
def test_noise_inside_a_block_is_found_again_in_a_third_look(first, second, third):
    mask = learn(blocks("Zakon.", first, "Kraj."), blocks("Zakon.", second, "Kraj.")).mask
    assert masked_key(blocks("Zakon.", third, "Kraj."), mask) == masked_key(
        blocks("Zakon.", first, "Kraj."), mask
    )


def test_a_change_beside_the_noise_in_the_same_block_shows():
    mask = learn(blocks("Posjeta 120, stopa PDV-a 25 %"), blocks("Posjeta 133, stopa PDV-a 25 %")).mask
    before = masked_key(blocks("Posjeta 140, stopa PDV-a 25 %"), mask)
    assert masked_key(blocks("Posjeta 151, stopa PDV-a 24 %"), mask) != before


@pytest.mark.parametrize("shown", ["12.5 %", "uskoro", "14.01.2026."])
def test_a_masked_number_that_becomes_a_rate_words_or_a_date_is_visible_again(shown):
    mask = learn(blocks("Vrijednost: 120"), blocks("Vrijednost: 133")).mask
    assert apply(blocks("Vrijednost: 150"), mask)[0][1] == "Vrijednost: ⟨number⟩"
    assert apply(blocks(f"Vrijednost: {shown}"), mask)[0][1] == f"Vrijednost: {shown}"


def test_a_masked_date_that_becomes_a_rate_is_visible_again():
    mask = learn(blocks("Stanje 14.01.2026."), blocks("Stanje 15.01.2026.")).mask
    assert apply(blocks("Stanje 12.5 %"), mask)[0][1] == "Stanje 12.5 %"


def test_shuffled_siblings_are_sorted_and_a_new_one_shows():
    def items(*texts: str) -> list[Block]:
        return [("main/p", "Uvod."), *((f"main/ul/li[{n}]", text) for n, text in enumerate(texts, 1))]

    mask = learn(items("a b", "c d", "e f"), items("e f", "a b", "c d")).mask
    assert [region.kind for region in mask] == ["order"]
    key = masked_key(items("a b", "c d", "e f"), mask)
    assert masked_key(items("c d", "e f", "a b"), mask) == key
    assert masked_key(items("c d", "e f", "novo"), mask) != key


def test_json_fields_that_differ_are_masked_by_their_pointer():
    def answer(nonce: str, rate: str) -> list[Block]:
        return [("/meta/nonce", nonce), ("/rates/0/name", "EUR"), ("/rates/0/value", rate)]

    mask = learn(answer("a8f3", "7.53"), answer("99ce", "7.53")).mask
    key = masked_key(answer("1f2e", "7.53"), mask)
    assert key == masked_key(answer("a8f3", "7.53"), mask)
    assert key != masked_key(answer("a8f3", "7.54"), mask)


def test_a_mask_moves_with_its_block_when_content_is_inserted_above():
    before = blocks("Naslov stranice.", "Posjeta 120", "Kraj stranice.")
    mask = learn(before, blocks("Naslov stranice.", "Posjeta 133", "Kraj stranice.")).mask
    after = blocks("Naslov stranice.", "Nova obavijest za obveznike.", "Posjeta 150", "Kraj stranice.")
    moved = carry(mask, before, after)
    assert apply(after, moved)[2][1] == "Posjeta ⟨number⟩"


def test_containers_may_not_swallow_the_page():
    first = [("main/p", "Kratko."), *((f"main/div/p[{n}]", f"Odlomak {n} " * 9) for n in range(1, 9))]
    second = [("main/p", "Kratko."), *((f"main/div/p[{n}]", f"Stavak {n} " * 9) for n in range(1, 6))]
    learned = learn(first, second)
    assert not any(region.path.endswith("/*") for region in learned.mask)
    assert [reason.code for reason in learned.reasons] == ["mask_narrowed"]


def test_learning_again_keeps_what_was_known():
    mask = learn(blocks("Posjeta 1, gostiju 7"), blocks("Posjeta 2, gostiju 7")).mask
    mask = learn(blocks("Posjeta 3, gostiju 7"), blocks("Posjeta 3, gostiju 8"), mask).mask
    assert apply(blocks("Posjeta 9, gostiju 99"), mask)[0][1] == "Posjeta ⟨number⟩, gostiju ⟨number⟩"


def test_equal_looks_teach_nothing():
    assert learn(blocks("a", "b"), blocks("a", "b")).mask == ()


texts = st.lists(st.text(max_size=30), max_size=8)


@given(texts, texts, texts)
def test_any_three_looks_give_a_mask_and_a_key(a, b, c):
    mask = learn(blocks(*a), blocks(*b)).mask
    assert isinstance(masked_key(blocks(*c), mask), int)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("120", "number"),
        ("1.204,50", "number"),
        ("45710106", "number"),
        ("14.01.2026.", "date"),
        ("14. siječnja 2026.", "date"),
        ("2026-01-14", "date"),
        ("10:30", "time"),
        ("12.5 %", "rate"),
        ("12,50 EUR", "rate"),
        ("€ 5", "rate"),
        ("a8f3-22b1", "token"),
        ("zakon", "words"),
        ("Zakon o porezu na dohodak", "words"),
        ("", "none"),
    ],
)
def test_kinds(text, kind):
    assert kind_of(text) == kind


def test_an_optional_place_may_be_empty_and_another_may_not():
    assert accepts("number?", "")
    assert not accepts("number", "")


def test_a_region_of_an_unknown_page_hides_nothing():
    mask = (MaskRegion("main/p", "Posjeta ", " danas", "number"),)
    assert apply(blocks("Nešto sasvim drugo"), mask) == (("main/p", "Nešto sasvim drugo"),)
