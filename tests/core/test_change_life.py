from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from vedette.contracts.change import ChangeKind, Comparison, Noise
from vedette.contracts.words import Outcome, Risk
from vedette.core.change.life import (
    TRUSTED,
    Confirm,
    LookState,
    Nothing,
    Observe,
    Past,
    Pending,
    Reject,
    advance,
)
from vedette.core.change.recognise import STAYED
from vedette.core.change.weigh import MAX_LOOKS

NOON = datetime(2026, 1, 14, 12, tzinfo=UTC)
STEP = timedelta(seconds=5)
LAW = "Zakon o porezu na dohodak uređuje obveze građana i rokove prijave."
KNOWN = Noise(agreed=TRUSTED)


def page(*lines: str) -> tuple[tuple[str, str], ...]:
    return tuple((f"main/p[{n}]", line) for n, line in enumerate((LAW, *lines), 1))


def look(*lines: str, outcome: Outcome = Outcome.OK) -> LookState:
    return LookState(outcome=outcome, at=NOON, blocks=page(*lines))


def past(*lines: str, **known) -> Past:
    return Past(before=page(*lines), before_at=NOON - timedelta(days=2), **{"age": 30, **known})


def observed(*looks: tuple[tuple[str, str], ...]) -> Pending:
    ats = tuple(NOON - STEP * back for back in range(len(looks), 0, -1))
    return Pending(kind=ChangeKind.CHANGED, looks=looks, ats=ats)


def test_the_first_difference_on_a_target_gets_a_second_look():
    step = advance(look("PDV 24 %"), past("PDV 25 %"))
    assert isinstance(step, Observe)
    assert step.reasons[0].code == "first_difference"
    assert step.again_in <= timedelta(seconds=30)


def test_a_difference_seen_twice_is_confirmed_and_counted():
    step = advance(look("PDV 24 %"), past("PDV 25 %", pending=observed(page("PDV 24 %"))))
    assert isinstance(step, Confirm)
    assert step.comparison.summary == "1 line changed: '25 %' -> '24 %'"
    assert step.noise.agreed == 1


def test_where_differences_were_always_confirmed_one_look_is_enough_but_never_for_a_critical_page():
    assert isinstance(advance(look("PDV 24 %"), past("PDV 25 %", noise=KNOWN)), Confirm)
    critical = advance(look("PDV 24 %"), past("PDV 25 %", noise=KNOWN, risk=Risk.CRITICAL))
    assert isinstance(critical, Observe)
    assert critical.reasons[0].code == "critical"
    refuted = replace(KNOWN, refuted=1)
    assert isinstance(advance(look("PDV 24 %"), past("PDV 25 %", noise=refuted)), Observe)


def test_a_counter_is_noise_by_the_second_look_that_shows_it_rise_and_stays_noise():
    step, looks = lived(past("Posjeta 99"), page("Posjeta 120"), page("Posjeta 133"))
    assert isinstance(step, Reject)
    assert looks == 2
    later = advance(look("Posjeta 9000"), past("Posjeta 133", noise=step.noise))
    assert isinstance(later, Nothing)
    assert later.is_known


def test_a_real_change_among_noise_is_confirmed_without_the_noise():
    looks = [page(f"Oznaka {mark}", "PDV 24 %") for mark in ("a1b2", "c3d4", "e5f6", "a7b8")]
    step, _ = lived(past("Oznaka 9f9f", "PDV 25 %"), *looks)
    assert isinstance(step, Confirm)
    assert step.comparison.summary == "1 line changed: '25 %' -> '24 %'"


def test_a_difference_that_went_away_is_rejected():
    equal = LookState(outcome=Outcome.OK, at=NOON, is_equal=True)
    step = advance(equal, past("PDV 25 %", pending=observed(page("Oglas dana"))))
    assert isinstance(step, Reject)
    assert step.reasons[0].code == "went_away"


def test_one_odd_answer_does_not_teach_that_the_whole_page_is_noise():
    odd = (("main/p", "Nešto sasvim drugo na cijeloj stranici, bez ijedne riječi zakona."),)
    equal = LookState(outcome=Outcome.OK, at=NOON, is_equal=True)
    before = Past(before=page("PDV 25 %"), before_at=NOON - timedelta(hours=1), pending=observed(odd), age=30)
    step = advance(equal, before)
    assert isinstance(step, Reject)
    again, looks = lived(past("PDV 25 %", noise=step.noise), page("PDV 24 %"), page("PDV 24 %"))
    assert isinstance(again, Confirm)
    assert looks == 2


def lived(before: Past, *states: tuple[tuple[str, str], ...]):
    """The step that ends the looks at these states, one after another, and how many of them it took."""
    known, looks, ats = before, (), ()
    for number, state in enumerate(states, 1):
        at = NOON + STEP * number
        step = advance(LookState(outcome=Outcome.OK, at=at, blocks=state), known)
        if not isinstance(step, Observe):
            return step, number
        looks, ats = (*looks, state), (*ats, at)
        known = replace(before, pending=Pending(kind=ChangeKind.CHANGED, looks=looks, ats=ats))
    raise AssertionError("still observed")


def test_a_page_that_was_replaced_between_two_looks_is_confirmed_once_it_stays():
    old = (("main/p", "Stara stranica o porezu i o rokovima koji su prošli."),)
    half = (("main/p", "Stranica se upravo preuređuje, molimo pričekajte trenutak."),)
    new = (("main/p", "Uredba donosi potpuno drukčije stope i nove obrasce."),)
    before = Past(before=old, before_at=NOON - timedelta(hours=4), age=30)
    step, looks = lived(before, half, *[new] * 9)
    assert isinstance(step, Confirm)
    assert looks <= MAX_LOOKS
    assert step.comparison.diff[-1].after == ("Uredba donosi potpuno drukčije stope i nove obrasce.",)


@pytest.mark.parametrize("edited_at", [1, 2])
def test_an_edit_between_any_two_of_the_looks_that_learn_noise_is_no_noise(edited_at):
    """The mark is noise; the rate is not, though it too differs between two of the looks."""
    rates = ["PDV 25 %"] * edited_at + ["PDV 24 %"] * 9
    looks = (page(f"Oznaka {n}f{7 * n}", rate) for n, rate in enumerate(rates))
    step, number = lived(past("Oznaka 99a", "PDV 25 %"), *looks)
    assert isinstance(step, Confirm)
    assert (step.comparison.summary, number) == ("1 line changed: '25 %' -> '24 %'", edited_at + STAYED)
    again = [page(f"Oznaka {n}b8", "PDV 23 %") for n in (1, 2)]
    last = number - 1
    later, looks_later = lived(past(f"Oznaka {last}f{7 * last}", "PDV 24 %", noise=step.noise), *again)
    assert isinstance(later, Confirm)
    assert looks_later == 2


@pytest.mark.parametrize("draws", ["abcabcabc", "ababababa", "abbabbabb", "abbcbacba", "abcccabab"])
def test_a_text_that_is_drawn_from_a_few_is_noise_in_whatever_order_it_comes(draws):
    texts = {"a": "Kupite knjigu danas", "b": "Prijavite se na novosti", "c": "Pitajte našu službu"}
    step, looks = lived(past(texts["c"], "PDV 25 %", age=1), *(page(texts[one], "PDV 25 %") for one in draws))
    assert isinstance(step, Reject)
    assert looks <= MAX_LOOKS


def test_two_edits_in_one_place_within_seconds_are_two_changes():
    step, _ = lived(past("PDV 25 %"), page("PDV 24 %"), *[page("PDV 23 %")] * 9)
    assert isinstance(step, Confirm)
    assert step.comparison.summary == "1 line changed: '25 %' -> '24 %'"
    assert step.then is not None
    assert step.then.summary == "1 line changed: '24 %' -> '23 %'"


def test_a_line_that_is_added_after_another_one_is_a_change_of_its_own():
    step, _ = lived(past(LAW), page(LAW, "PDV 24 %"), *[page(LAW, "PDV 24 %", "Porez 9 %")] * 9)
    assert isinstance(step, Confirm)
    assert step.comparison.summary == "1 line added: 'PDV 24 %'"
    assert step.then is not None
    assert step.then.summary == "1 line added: 'Porez 9 %'"


def _shown(told: Comparison | None) -> str:
    ops = told.diff if told else ()
    return " ".join(text for op in ops if op.op != "equal" for text in (*op.before, *op.after))


@pytest.mark.parametrize("then", ["Vrijedi od 9. svibnja", "Vrijedi od 2. svibnja", "Vrijedi odmah", ""])
@pytest.mark.parametrize("is_taken_back", [False, True])
def test_an_edit_that_falls_between_the_two_looks_at_another_one_is_told_too(then, is_taken_back):
    """It was taken for noise, and of a page that then stood still nobody heard of it."""
    old, first = ("PDV 25 %", "Vrijedi od 7. svibnja"), page("PDV 24 %", "Vrijedi od 7. svibnja")
    lines = ("PDV 25 %" if is_taken_back else "PDV 24 %", *([then] if then else []))
    step, looks = lived(past(*old), first, *[page(*lines)] * 9)
    assert isinstance(step, Confirm)
    assert looks <= MAX_LOOKS
    assert old[1] in _shown(step.then or step.comparison)
    assert then in _shown(step.then or step.comparison)
    if not is_taken_back:
        assert step.comparison.summary == "1 line changed: '25 %' -> '24 %'"
        assert "24 %" not in _shown(step.then)


RAISED = (
    ("Naknada 25", "Naknada 27"), ("Rok je 15 dana", "Rok je 30 dana"), ("Broj mjesta: 1200", "Broj mjesta: 1450"),
    ("Ukupno 12 od 30", "Ukupno 13 od 30"), ("Prijavljeno 99 ljudi", "Prijavljeno 100 ljudi"),
)  # fmt: skip


@pytest.mark.parametrize("age", [1, 2, 4, 7, 30])
@pytest.mark.parametrize(("old", "new"), RAISED)
def test_a_number_that_is_raised_between_the_two_looks_at_another_edit_is_no_counter(age, old, new):
    """It stood for hours; one that counts within seconds would not have."""
    first, then = page(old, "PDV 24 %"), page(new, "PDV 24 %")
    step, looks = lived(past(old, "PDV 25 %", age=age), first, *[then] * 9)
    assert isinstance(step, Confirm)
    assert looks <= MAX_LOOKS
    edits = [op for told in (step.comparison, step.then) if told for op in told.diff if op.op != "equal"]
    assert any(old in op.before and new in op.after for op in edits)


@pytest.mark.parametrize("age", [1, 2, 4, 7])
def test_a_number_that_goes_on_to_rise_between_close_looks_counts(age):
    """Also where the answer of the first look came from a cache."""
    counts = (page(f"Pregleda {n}", "PDV 24 %") for n in (100, 101, 103, 104, 107, 108, 110, 111))
    step, _ = lived(past("Pregleda 100", "PDV 25 %", age=age), *counts)
    assert isinstance(step, Confirm)
    assert step.then is None
    assert step.comparison.summary == "1 line changed: '25 %' -> '24 %'"


def test_a_second_look_that_comes_late_teaches_no_noise():
    """Hours after the first difference the page shows a third state: somebody edits it, and the next look tells."""
    pending = Pending(kind=ChangeKind.CHANGED, looks=(page("PDV 24 %"),), ats=(NOON - timedelta(hours=3),))
    step = advance(look("PDV 23 %"), past("PDV 25 %", pending=pending))
    assert isinstance(step, Observe)
    looks, ats = (page("PDV 24 %"), page("PDV 23 %")), (NOON - timedelta(hours=3), NOON)
    waiting = Pending(kind=ChangeKind.CHANGED, looks=looks, ats=ats)
    after = LookState(outcome=Outcome.OK, at=NOON + STEP, blocks=page("PDV 23 %"))
    confirmed = advance(after, past("PDV 25 %", pending=waiting))
    assert isinstance(confirmed, Confirm)
    assert confirmed.then is not None
    assert (confirmed.comparison.diff[-1].after, confirmed.then.diff[-1].after) == (
        ("PDV 24 %",),
        ("PDV 23 %",),
    )


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
        look("PDV 24 %"), past("PDV 25 %", noise=KNOWN, pending=Pending(kind=ChangeKind.REMOVED))
    )
    assert isinstance(changed, Confirm)
    assert changed.drops_pending


def test_there_and_back_again_is_two_changes():
    there, _ = lived(past("PDV 25 %"), page("PDV 24 %"), page("PDV 24 %"))
    back, _ = lived(past("PDV 24 %", noise=there.noise, age=40), page("PDV 25 %"), page("PDV 25 %"))
    assert isinstance(there, Confirm)
    assert isinstance(back, Confirm)


def test_a_clock_on_the_page_is_not_a_change():
    then, now = NOON - timedelta(hours=3, minutes=7), NOON
    known = Past(before=page("Sada je 9:53 sati"), before_at=then)
    step = advance(LookState(outcome=Outcome.OK, at=now, blocks=page("Sada je 13:00 sati")), known)
    assert isinstance(step, Nothing)
    assert step.reasons[0].code == "shows_the_time"


def test_a_number_that_was_edited_upwards_three_times_is_a_counter():
    noise = Noise()
    for old, new in ((101, 109), (109, 120), (120, 133)):
        shown = page(f"Preuzeto {new} puta")
        step, _ = lived(past(f"Preuzeto {old} puta", noise=noise), *[shown] * 3)
        assert isinstance(step, Confirm)
        noise = step.noise
    step = advance(look("Preuzeto 180 puta"), past("Preuzeto 133 puta", noise=noise))
    assert isinstance(step, Nothing)
    assert step.reasons[0].code == "counts_up"


@pytest.mark.parametrize("shown", ["Oznaka 12.5 %", "Oznaka 14. siječnja 2026.", "Oznaka nije dodijeljena"])
def test_a_value_that_changes_its_kind_for_good_is_confirmed(shown):
    noise = learned(*(page(f"Oznaka {n}", "Kraj.") for n in (1234, 987, 4411, 17)))
    step, _ = lived(past("Oznaka 17", "Kraj.", noise=noise), *[page(shown, "Kraj.")] * 9)
    assert isinstance(step, Confirm)
    assert step.comparison.diff[-1].after == (shown,) or shown in str(step.comparison.diff)


def test_an_edit_of_the_words_beside_a_value_is_confirmed():
    noise = learned(*(page(f"Danas posjeta: {n}", "Kraj.") for n in (1234, 987, 4411, 17)))
    states = [page(f"Ovaj tjedan posjeta: {n}", "Kraj.") for n in (41, 12, 55, 13, 81, 19, 77, 30)]
    step, _ = lived(past("Danas posjeta: 17", "Kraj.", noise=noise), *states)
    assert isinstance(step, Confirm)
    assert "Danas posjeta: 17" in str(step.comparison.diff)


def test_an_edit_in_a_sentence_that_holds_a_value_is_seen_and_the_value_stays_noise():
    def sentence(number: int, rate: str) -> str:
        return f"Danas nas je posjetilo {number} građana, a stopa poreza na promet iznosi {rate} za sve."

    noise = learned(*(page(sentence(n, "25 %")) for n in (1234, 987, 4411, 17)))
    edited = [page(sentence(n, "24 %")) for n in (5, 71, 12, 90, 33, 8, 14, 6)]
    step, _ = lived(past(sentence(17, "25 %"), noise=noise), *edited)
    assert isinstance(step, Confirm)


def learned(*states: tuple[tuple[str, str], ...]) -> Noise:
    """What is known after a difference was looked at again, until it was told."""
    step, _ = lived(Past(before=states[0], before_at=NOON - timedelta(hours=4), age=30), *states[1:])
    assert isinstance(step, Reject)
    return step.noise


@pytest.mark.parametrize("passed", [timedelta(seconds=2), timedelta(minutes=1), timedelta(hours=9)])
@pytest.mark.parametrize("new", ["Rok je 16 dana.", "Rok je 14 dana.", "Rok je 18. siječnja 2026."])
def test_an_edit_is_confirmed_by_the_second_look_however_soon_after_the_last_one_it_came(passed, new):
    noise = learned(*(page(f"Posjeta {n}", "Rok je 15 dana.") for n in (99, 120, 133)))
    before = Past(before=page("Posjeta 133", "Rok je 15 dana."), before_at=NOON - passed, noise=noise, age=12)
    step, looks = lived(before, page("Posjeta 140", new), page("Posjeta 151", new))
    assert isinstance(step, Confirm)
    assert looks == 2
    assert {op.op for op in step.comparison.diff} <= {"equal", "replace"}


def test_a_line_that_shows_the_date_of_the_visit_is_no_news_for_a_week_and_another_date_is():
    noise, before, at = Noise(), page("Rok: 5. veljače 2026.", "14.01.2026."), NOON
    for day in range(14, 22):
        for hour in (0, 6, 12, 18):
            now = datetime(2026, 1, day, hour, 30, tzinfo=UTC)
            if now <= at:
                continue
            shown = page("Rok: 5. veljače 2026.", f"{day}.01.2026.")
            known = Past(before=before, before_at=at, noise=noise, age=4 * (day - 13))
            step = advance(LookState(outcome=Outcome.OK, at=now, blocks=shown), known)
            assert isinstance(step, Nothing), (day, hour)
            noise, before, at = step.noise, shown, now
    edited = page("Rok: 15. ožujka 2026.", "21.01.2026.")
    step, _ = lived(Past(before=before, before_at=at, noise=noise, age=40), edited, edited, edited)
    assert isinstance(step, Confirm)
    later = page("Rok: 5. veljače 2026.", "30.06.2026.")
    step, _ = lived(Past(before=before, before_at=at, noise=noise, age=40), later, later, later)
    assert isinstance(step, Confirm)
