"""What people read is what was stored, and nothing of it moves their terminal."""

from __future__ import annotations

import json
import random
import re
from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stocked import DIFF, EVIL, NOW, RULES, a_change

from vedette.contracts.change import Change, DiffOp
from vedette.contracts.words import Outcome, Risk, VisitId, WatchId
from vedette.core.change.diff import diff_words
from vedette.report.changes import change_json, change_lines
from vedette.report.diffs import by_words, diff_json, unified
from vedette.report.plain import as_text, dump, plain, safe_json, span, when

OBEYED = set(range(0x20)) | set(range(0x7F, 0xA0)) | {0x202E, 0x2066, 0x2028, 0x200F, 0xFEFF}
CHANGE: Change = a_change()(WatchId(1), VisitId(2))  # type: ignore[operator]


@given(st.text())
def test_no_text_reaches_a_terminal_with_a_control_character(text: str):
    assert not OBEYED & set(map(ord, plain(text)))


@given(st.text())
def test_printed_json_is_ascii_safe_and_reads_back_the_same(text: str):
    printed = dump({"text": text})
    assert not (OBEYED - {10}) & set(map(ord, printed))
    assert len(printed.splitlines()) == 1
    assert json.loads(printed) == {"text": text}


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec=None))
    | st.binary(max_size=5)
    | st.datetimes(timezones=st.just(UTC))
    | st.timedeltas()
    | st.sampled_from([*Risk, *Outcome]),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(), inner) | st.lists(inner).map(tuple)
    ),
    max_leaves=20,
)  # fmt: skip


@given(value=JSON_VALUES)
def test_indented_json_says_what_the_line_of_a_stream_says(value: object):
    indented = dump({"found": [value]}, indent=2)
    assert json.loads(indented) == json.loads(dump({"found": [value]}))
    assert not (OBEYED - {10}) & set(map(ord, indented))


def test_an_event_line_is_made_safe_without_changing_what_it_says():
    raw = json.dumps({"title": EVIL}, ensure_ascii=False)
    assert json.loads(safe_json(raw)) == {"title": EVIL}
    assert "\x9b" not in safe_json(raw)


def test_a_limit_cuts_with_an_ellipsis():
    assert plain("a" * 10, 5) == "aaaa…"
    assert plain("  a\n\tb  ") == "a b"


def test_a_unified_diff_marks_every_kind_of_step_and_folds_what_is_equal():
    text = as_text(unified(DIFF, before="old", after="new"))
    assert text.splitlines()[:2] == ["--- old", "+++ new"]
    assert "  … 4 equal lines" in text
    assert "- PDV je 25 % od 2013." in text
    assert "+ PDV je 24 % od 2013." in text
    assert "- stari redak" in text
    assert "~ kontakt" in text
    assert "\x1b" not in text


def test_words_stand_in_their_place():
    assert "! PDV je [-25-] {+24+} % od 2013." in as_text(by_words(DIFF))


@pytest.mark.parametrize(
    ("before", "after", "words", "shown"),
    [
        ("a b", "a x b", (("", "x"),), "! a {+x+} b"),
        ("a x b", "a b", (("x", ""),), "! a [-x-] b"),
        ("a b c", "z b y", (("a", "z"), ("c", "y")), "! [-a-] {+z+} b [-c-] {+y+}"),
    ],
)
def test_pure_insertions_and_deletions_are_placed(before, after, words, shown):
    op = DiffOp("replace", (before,), (after,), words)
    assert as_text(by_words((op,))) == shown


def test_words_that_are_not_there_fall_back_to_lines():
    op = DiffOp("replace", ("a b",), ("c d",), (("x", "y"),))
    assert as_text(by_words((op,))).splitlines() == ["- a b", "+ c d"]


@given(st.lists(st.sampled_from(["equal", "insert", "delete", "replace", "move", "odd"])), st.text())
def test_any_stored_diff_can_be_shown(ops: list[str], text: str):
    diff = tuple(DiffOp(op, (text,), (text[::-1],), ((text, ""), ("", text))) for op in ops)
    assert not (OBEYED - {10}) & set(map(ord, as_text(unified(diff, before=text, after=text))))
    assert not (OBEYED - {10}) & set(map(ord, as_text(by_words(diff))))
    json.loads(dump(diff_json(diff)))


def test_a_change_is_a_summary_line_and_an_excerpt():
    text = as_text(change_lines(CHANGE, url=RULES, risk=Risk.CRITICAL, most=2))
    first, *rest = text.splitlines()
    assert first.startswith(
        "2026-11-15 11:00:00Z  CRITICAL  changed  https://example.org/zakon/pdv  1 line changed"
    )
    assert rest[0] == "    ! PDV je [-25-] {+24+} % od 2013."
    assert "more; `vedette diff` shows all" in rest[-1]
    assert change_json(CHANGE, url=RULES, risk=Risk.HIGH, decided_at=None, with_diff=True)["diff"]


def test_times_are_said_with_their_distance():
    from datetime import timedelta

    assert span(timedelta(seconds=0.25)) == "0.2 s"
    assert span(timedelta(hours=4)) == "4 h"
    assert span(timedelta(days=3, hours=4, minutes=5)) == "3 d 4 h"
    assert span(timedelta(hours=19, seconds=58)) == "19 h", "hours and seconds would be a riddle"
    assert when(NOW + timedelta(hours=2), NOW) == "2026-11-15 14:00:00Z (in 2 h)"
    assert when(None, NOW) == "never"


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (
            "Works end in March, at a cost of 12,400 euros.",
            "Works end in May, at a cost of 14,900 euros.",
            "! Works end in [-March-] {+May+}, at a cost of [-12,400-] {+14,900+} euros.",
        ),
        ("The (old) rule", "The (new) rule", "! The ([-old-] {+new+}) rule"),
        ('"Yes", he said', '"No", he said', '! "[-Yes-] {+No+}", he said'),
        ("rate: 5%.", "rate: 6%.", "! rate: [-5%-] {+6%+}."),
        (
            "do 15. siječnja 2026.",
            "do 31. siječnja 2026. godine",
            "! do [-15-] {+31+}. siječnja 2026. {+godine+}",
        ),
        ("a b c", "a c", "! a [-b-] c"),
        ("a c", "a b c", "! a {+b+} c"),
        ("one two", "one, two", "! one{+,+} two"),
        ("It is so.", "It is so!", "! It is so[-.-] {+!+}"),
        ("stara/nova cijena", "stara/niža cijena", "! stara/[-nova-] {+niža+} cijena"),
    ],
)
def test_words_beside_punctuation_are_shown_as_words(before, after, shown):
    op = DiffOp("replace", (before,), (after,), diff_words(before, after))
    assert as_text(by_words((op,))).rstrip("\n") == shown


@given(st.integers(0, 10**6))
def test_any_edit_of_a_sentence_is_shown_in_its_place(seed):
    chance = random.Random(seed)
    words = [
        chance.choice(("PDV", "25 %", "(stopa)", "od,", "2013.", '"da"', "1.250,00", "kn/kg"))
        for _ in range(9)
    ]
    other = [
        word if chance.random() < 0.7 else chance.choice(("novo", "26 %", "(iznos)", "do,")) for word in words
    ]
    before, after = " ".join(words), " ".join(other)
    pairs = diff_words(before, after)
    if not pairs:
        return
    text = as_text(by_words((DiffOp("replace", (before,), (after,), pairs),)))
    if not text.startswith("! "):  # rewritten: both lines are shown whole
        assert text.splitlines() == [f"- {before}", f"+ {after}"]
        return
    text = text.removeprefix("! ")
    plain_before = re.sub(r"\[-(.*?)-\] ?", r"\1", re.sub(r" ?\{\+.*?\+\}", "", text))
    assert "".join(plain_before.split()) == "".join(before.split())
