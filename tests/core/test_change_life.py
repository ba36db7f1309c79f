from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from vedette.contracts.changing import ChangeKind
from vedette.contracts.words import Outcome, Risk
from vedette.core.change.life import (
    LOOKED,
    MAX_LOOKS,
    STAYED,
    Confirm,
    Look,
    Nothing,
    Observe,
    Past,
    Pending,
    Reject,
    advance,
    is_established,
)

NOON = datetime(2026, 1, 14, 12, tzinfo=UTC)
LAW = "Zakon o porezu na dohodak uređuje obveze građana i rokove prijave."


def page(*lines: str) -> tuple[tuple[str, str], ...]:
    return tuple((f"main/p[{n}]", line) for n, line in enumerate((LAW, *lines), 1))


def look(*lines: str, outcome: Outcome = Outcome.OK) -> Look:
    return Look(outcome=outcome, at=NOON, blocks=page(*lines))


def past(*lines: str, **known) -> Past:
    return Past(before=page(*lines), before_at=NOON - timedelta(days=2), **known)


def observed(*looks: tuple[tuple[str, str], ...]) -> Pending:
    return Pending(kind=ChangeKind.CHANGED, looks=looks)


def test_the_first_difference_on_a_target_gets_a_second_look():
    step = advance(look("PDV 24 %"), past("PDV 25 %"))
    assert isinstance(step, Observe)
    assert step.reasons[0].code == "first_difference"
    assert step.again_in <= timedelta(seconds=30)


def test_a_difference_seen_twice_is_confirmed_and_the_target_is_known_from_then_on():
    step = advance(look("PDV 24 %"), past("PDV 25 %", pending=observed(page("PDV 24 %"))))
    assert isinstance(step, Confirm)
    assert step.comparison.summary == "1 line changed: '25 %' -> '24 %'"
    assert is_established(step.mask)


def test_once_noise_is_known_a_change_is_confirmed_at_once_but_never_a_critical_one():
    assert isinstance(advance(look("PDV 24 %"), past("PDV 25 %", mask=(LOOKED,))), Confirm)
    critical = advance(look("PDV 24 %"), past("PDV 25 %", mask=(LOOKED,), risk=Risk.CRITICAL))
    assert isinstance(critical, Observe)
    assert critical.reasons[0].code == "critical"


def test_noise_alone_is_rejected_and_masked_for_good():
    second = advance(look("Posjeta 133"), past("Posjeta 99", pending=observed(page("Posjeta 120"))))
    assert isinstance(second, Observe)
    waiting = observed(page("Posjeta 120"), page("Posjeta 133"))
    step = advance(look("Posjeta 140"), past("Posjeta 99", mask=second.mask, pending=waiting))
    assert isinstance(step, Reject)
    later = advance(look("Posjeta 9000"), past("Posjeta 133", mask=step.mask))
    assert isinstance(later, Nothing)
    assert later.is_known


def test_a_real_change_among_noise_is_confirmed_without_the_noise():
    looks = (page("Posjeta 120", "PDV 24 %"), page("Posjeta 133", "PDV 24 %"))
    step = advance(look("Posjeta 140", "PDV 24 %"), past("Posjeta 99", "PDV 25 %", pending=observed(*looks)))
    assert isinstance(step, Confirm)
    assert step.comparison.summary == "1 line changed: '25 %' -> '24 %'"


def test_a_difference_that_went_away_is_rejected():
    equal = Look(outcome=Outcome.OK, at=NOON, is_equal=True)
    step = advance(equal, past("PDV 25 %", pending=observed(page("Oglas dana"))))
    assert isinstance(step, Reject)
    assert step.reasons[0].code == "went_away"


def test_one_odd_answer_does_not_teach_that_the_whole_page_is_noise():
    odd = (("main/p", "Nešto sasvim drugo na cijeloj stranici, bez ijedne riječi zakona."),)
    equal = Look(outcome=Outcome.OK, at=NOON, is_equal=True)
    step = advance(equal, Past(before=page("PDV 25 %"), before_at=NOON, pending=observed(odd)))
    assert isinstance(step, Reject)
    later = advance(look("PDV 24 %"), past("PDV 25 %", mask=step.mask))
    assert isinstance(later, Confirm)


def lived(before: Past, *states: tuple[tuple[str, str], ...]):
    """The step that ends the looks at these states, one after another, and how many of them it took."""
    known, looks = before, ()
    for number, state in enumerate(states, 1):
        step = advance(Look(outcome=Outcome.OK, at=NOON, blocks=state), known)
        if not isinstance(step, Observe):
            return step, number
        looks = (*looks, state)
        known = replace(before, mask=step.mask, pending=observed(*looks))
    raise AssertionError("still observed")


def test_a_page_that_was_replaced_between_two_looks_is_confirmed_once_it_stays():
    old = (("main/p", "Stara stranica o porezu i o rokovima koji su prošli."),)
    half = (("main/p", "Stranica se upravo preuređuje, molimo pričekajte trenutak."),)
    new = (("main/p", "Uredba donosi potpuno drukčije stope i nove obrasce."),)
    step, looks = lived(Past(before=old, before_at=NOON), half, *[new] * 9)
    assert isinstance(step, Confirm)
    assert looks == 1 + STAYED


@pytest.mark.parametrize("edited_at", [1, 2])
def test_an_edit_between_any_two_of_the_looks_that_learn_noise_is_no_noise(edited_at):
    """The counter is noise; the rate is not, though it too differs between two of the looks."""
    rates = ["PDV 25 %"] * edited_at + ["PDV 24 %"] * 9
    looks = (page(f"Posjeta {120 + 7 * n}", rate) for n, rate in enumerate(rates))
    step, number = lived(past("Posjeta 99", "PDV 25 %"), *looks)
    assert isinstance(step, Confirm)
    assert (step.comparison.summary, number) == ("1 line changed: '25 %' -> '24 %'", edited_at + STAYED)
    later = advance(look("Posjeta 300", "PDV 23 %"), past("Posjeta 200", "PDV 24 %", mask=step.mask))
    assert isinstance(later, Confirm)


@pytest.mark.parametrize("draws", ["abcabcabc", "ababababa", "abbabbabb", "abbcbacba", "abcccabab"])
def test_a_text_that_is_drawn_from_a_few_is_noise_in_whatever_order_it_comes(draws):
    texts = {"a": "Kupite knjigu danas", "b": "Prijavite se na novosti", "c": "Pitajte našu službu"}
    before = past(texts["c"], "PDV 25 %")
    step, looks = lived(before, *(page(texts[one], "PDV 25 %") for one in draws))
    assert isinstance(step, Reject)
    assert looks <= MAX_LOOKS


def test_an_edit_between_two_looks_is_seen_beside_noise_and_its_place_is_not_masked():
    before = past("Posjeta 99", "PDV 25 %")
    looks = (page("Posjeta 120", "PDV 25 %"), *(page(f"Posjeta {n}", "PDV 24 %") for n in range(150, 159)))
    step, _ = lived(before, *looks)
    assert isinstance(step, Confirm)
    assert step.comparison.summary == "1 line changed: '25 %' -> '24 %'"
    later = advance(look("Posjeta 9000", "PDV 23 %"), past("Posjeta 153", "PDV 24 %", mask=step.mask))
    assert isinstance(later, Confirm)
    assert later.comparison.summary == "1 line changed: '24 %' -> '23 %'"


def test_two_edits_in_one_place_within_seconds_are_two_changes():
    step, _ = lived(past("PDV 25 %"), page("PDV 24 %"), *[page("PDV 23 %")] * 9)
    assert isinstance(step, Confirm)
    assert step.comparison.summary == "1 line changed: '25 %' -> '24 %'"
    assert step.then is not None
    assert step.then.summary == "1 line changed: '24 %' -> '23 %'"


def test_a_text_that_came_back_twice_is_looked_at_again_and_is_a_change_when_it_stays():
    kept, gone = page("Rok je 15 dana."), page("Rok je 30 dana.")
    known = Past(before=kept, before_at=NOON, mask=(LOOKED,), history=(gone, kept, gone))
    step = advance(Look(outcome=Outcome.OK, at=NOON, blocks=gone), known)
    assert isinstance(step, Observe)
    assert step.reasons[0].code == "returned"
    again = replace(known, pending=observed(gone), history=())
    assert isinstance(advance(Look(outcome=Outcome.OK, at=NOON, blocks=gone), again), Confirm)


@pytest.mark.parametrize("outcome", [Outcome.TIMEOUT, Outcome.BLOCKED_PAGE, Outcome.SOFT_404, Outcome.EMPTY])
@pytest.mark.parametrize("pending", [None, observed(page("PDV 24 %")), Pending(kind=ChangeKind.REMOVED)])
def test_unknown_is_never_unchanged_and_never_removed(outcome, pending):
    step = advance(look(outcome=outcome), past("PDV 25 %", pending=pending))
    assert isinstance(step, Nothing)
    assert not step.is_known


def test_gone_twice_is_a_removal_and_content_afterwards_a_restoration():
    first = advance(look(outcome=Outcome.GONE), past("PDV 25 %"))
    assert isinstance(first, Observe)
    assert first.kind is ChangeKind.REMOVED
    second = advance(look(outcome=Outcome.GONE), past("PDV 25 %", pending=Pending(kind=ChangeKind.REMOVED)))
    assert isinstance(second, Confirm)
    assert isinstance(advance(look(outcome=Outcome.GONE), past("PDV 25 %", is_removed=True)), Nothing)
    back = advance(look("PDV 24 %"), past("PDV 25 %", is_removed=True))
    assert isinstance(back, Confirm)
    assert back.kind is ChangeKind.RESTORED


def test_a_page_that_came_back_at_the_second_look_was_not_removed():
    step = advance(look("PDV 25 %"), past("PDV 25 %", pending=Pending(kind=ChangeKind.REMOVED)))
    assert isinstance(step, Reject)
    changed = advance(
        look("PDV 24 %"), past("PDV 25 %", mask=(LOOKED,), pending=Pending(kind=ChangeKind.REMOVED))
    )
    assert isinstance(changed, Confirm)
    assert changed.drops_pending


def test_there_and_back_again_is_two_changes():
    there = advance(look("PDV 24 %"), past("PDV 25 %", mask=(LOOKED,)))
    back = advance(look("PDV 25 %"), past("PDV 24 %", mask=there.mask))
    assert isinstance(there, Confirm)
    assert isinstance(back, Confirm)


def test_a_clock_on_the_page_is_not_a_change():
    then, now = NOON - timedelta(hours=3, minutes=7), NOON
    known = Past(before=page("Sada je 9:53 sati"), before_at=then)
    step = advance(Look(outcome=Outcome.OK, at=now, blocks=page("Sada je 13:00 sati")), known)
    assert isinstance(step, Nothing)
    assert step.reasons[0].code == "shows_the_time"


def test_the_fifth_new_value_of_a_counter_is_noise_by_history():
    earlier = tuple(page(f"Preuzeto {n} puta") for n in (101, 109, 120))
    known = past("Preuzeto 133 puta", mask=(LOOKED,), history=earlier)
    step = advance(look("Preuzeto 180 puta"), known)
    assert isinstance(step, Nothing)
    assert step.reasons[0].code == "noise_by_history"


def test_a_known_number_that_shows_letters_for_once_is_looked_at_twice_and_stays_noise():
    known = past("Oznaka 4411", "Kraj.", mask=advance_to_mask("Oznaka 1234", "Oznaka 9876"))
    step = advance(look("Oznaka 7f3a", "Kraj."), known)
    assert isinstance(step, Observe)
    assert step.reasons[0].code == "noise_of_another_kind"
    waiting = past("Oznaka 4411", "Kraj.", mask=step.mask, pending=observed(page("Oznaka 7f3a", "Kraj.")))
    assert isinstance(advance(look("Oznaka 0b1c", "Kraj."), waiting), Reject)


def test_a_known_number_that_becomes_a_rate_for_good_is_confirmed():
    known = past("Oznaka 4411", mask=advance_to_mask("Oznaka 1234", "Oznaka 9876"))
    first = advance(look("Oznaka 12.5 %"), known)
    assert isinstance(first, Observe)
    waiting = past("Oznaka 4411", mask=first.mask, pending=observed(page("Oznaka 12.5 %")))
    assert isinstance(advance(look("Oznaka 12.5 %"), waiting), Confirm)


def test_noise_that_agreed_by_chance_is_told_by_a_third_look():
    first, second = page("Kod 215 503 74 vrijedi."), page("Kod 334 184 74 vrijedi.")
    step = advance(
        Look(outcome=Outcome.OK, at=NOON, blocks=second),
        past("Kod 496 663 15 vrijedi.", pending=observed(first)),
    )
    assert isinstance(step, Observe)
    waiting = past("Kod 496 663 15 vrijedi.", mask=step.mask, pending=observed(first, second))
    assert isinstance(advance(look("Kod 593 155 38 vrijedi."), waiting), Reject)


def test_when_content_moves_unclear_noise_a_second_look_finds_it_again():
    quote = "Citat dana: tko rano rani dvije sreće grabi."
    mask = advance_to_mask(quote, "Tri svijeta i more, kaže stara pjesma s otoka.")
    moved = page("Nova odredba o rokovima plaćanja poreza.", "Nebo je visoko, a polje široko i zeleno.")
    step = advance(Look(outcome=Outcome.OK, at=NOON, blocks=moved), past(quote, mask=mask))
    assert isinstance(step, Observe)
    assert step.reasons[0].code == "noise_moved"


def advance_to_mask(first: str, second: str):
    """The mask after looks at one line of noise."""
    states = [page(text, "Kraj.") for text in (second, first, second)]
    step, _ = lived(past(first, "Kraj."), *states)
    return step.mask


def test_a_noisy_block_that_drew_another_text_is_not_a_change_but_an_edit_in_it_is():
    from vedette.core.change.mask import learn, redrawn

    def state(text):
        return (("p[1]", "Stopa je 25 %."), ("p[2]", text))

    one, two = (
        state("Nadzor u Splitu je nenajavljen i čest. abc"),
        state("Nadzor u Zadru je nenajavljen i čest. xyz"),
    )
    mask = learn(one, two).mask
    drawn = redrawn(mask, state("Rok teče od dana objave novog pravilnika"), two)
    assert [region.path for region in drawn if region.kind == "any"] == ["p[2]"]
    assert redrawn(mask, state("Nadzor u Rijeci je najavljen i čest. qqq"), two) == mask
