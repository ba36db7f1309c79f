"""Agreement over repeats, canaries, shadow against legacy, and which domains a list means."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.core.panel.agreement import (
    CanarySeen,
    CanaryVerdict,
    agreement,
    at_least,
    drift,
    interval,
    judge,
    similarity,
    wilson_low,
    words,
)
from vedette.core.panel.compare import AnswerRow, CompareParams, Match, compare, pairs_needed
from vedette.core.panel.domains import Domain, DomainProblem, normalise, read_domains

SAME = "Example Org keeps registers of companies and publishes notices."
OTHER = "A recipe for apple pie needs butter, flour, sugar and patience."


@given(st.integers(0, 40), st.integers(0, 40), st.floats(0.001, 0.999))
def test_the_tail_is_the_sum_of_its_terms(hits, trials, rate):
    exact = math.fsum(
        math.comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in range(hits, trials + 1)
    )
    assert at_least(hits, trials, rate) == pytest.approx(exact, abs=1e-9)


@given(st.integers(0, 60), st.integers(1, 60))
def test_the_interval_holds_the_share_and_its_ends_are_exact(hits, trials):
    hits = min(hits, trials)
    low, high = interval(hits, trials)
    assert low <= hits / trials <= high
    if hits:
        assert at_least(hits, trials, low) == pytest.approx(0.025, abs=1e-6)


def test_equal_answers_agree_and_few_of_them_prove_little():
    found = agreement([SAME, SAME.upper(), SAME])
    assert (found.agreement, found.largest) == (1.0, 3)
    assert found.confidence == pytest.approx(wilson_low(3, 3))
    assert found.confidence < agreement([SAME] * 10).confidence < 1


def test_the_largest_group_speaks_and_its_spokesman_is_one_of_it():
    found = agreement([OTHER, SAME, SAME, SAME])
    assert (found.largest, found.spokesman) == (3, 1)
    assert 0.4 < found.agreement < 0.6
    assert agreement([]).repeats == 0
    assert agreement([SAME]).agreement == 1.0


@given(st.text(), st.text())
def test_likeness_is_symmetric_and_between_nothing_and_all(a, b):
    assert 0 <= similarity(words(a), words(b)) <= 1
    assert similarity(words(a), words(b)) == similarity(words(b), words(a))
    assert similarity(words(a), words(a)) == 1


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        (CanarySeen(canaries=20, canaries_differ=0, answers=1000, answers_differ=20), CanaryVerdict.STEADY),
        (
            CanarySeen(canaries=20, canaries_differ=0, answers=1000, answers_differ=90),
            CanaryVerdict.WORLD_CHANGED,
        ),
        (
            CanarySeen(canaries=20, canaries_differ=5, answers=1000, answers_differ=400),
            CanaryVerdict.MODEL_CHANGED,
        ),
        (CanarySeen(canaries=20, canaries_differ=1, answers=1000, answers_differ=10), CanaryVerdict.STEADY),
        (CanarySeen(canaries=0, canaries_differ=0, answers=1000, answers_differ=400), CanaryVerdict.UNKNOWN),
        (CanarySeen(canaries=1, canaries_differ=0, answers=1000, answers_differ=400), CanaryVerdict.UNKNOWN),
        (CanarySeen(canaries=0, canaries_differ=0, answers=0, answers_differ=0), CanaryVerdict.STEADY),
    ],
)
def test_canaries_tell_a_changed_model_from_a_changed_world(seen, verdict):
    assert judge(seen)[0] is verdict


def cohort(pairs: int, planted: float, seed: int = 1) -> tuple[dict, dict]:
    """Two samples of one pipeline, and a share of rows that say something else."""
    chance = random.Random(seed)
    legacy = {(f"d{n}", "m", "brand"): AnswerRow(f"{SAME} It is number {n}.") for n in range(pairs)}
    shadow = {key: AnswerRow(row.text.replace("keeps", "has kept")) for key, row in legacy.items()}
    for key in chance.sample(sorted(shadow), round(pairs * planted)):
        shadow[key] = AnswerRow(OTHER)
    return shadow, legacy


@pytest.mark.parametrize("pairs", [500, 1000, 10_000])
def test_two_percent_of_planted_divergence_are_found_and_none_is_not(pairs):
    assert compare(*cohort(pairs, 0.02)).match is Match.DIFFER
    clean = compare(*cohort(pairs, 0.0))
    assert clean.diverging == 0
    assert clean.match is not Match.DIFFER


def test_a_cohort_that_is_large_enough_agrees_and_a_small_one_says_how_many_it_needs():
    needed = pairs_needed(CompareParams())
    assert compare(*cohort(needed + 10, 0.0)).match is Match.AGREE
    small = compare(*cohort(50, 0.0))
    assert (small.match, small.needed) == (Match.TOO_FEW, needed)
    assert 500 <= needed <= 1000, "003's cohort of 500 to 1,000 domains is enough"


def test_the_rule_keeps_its_error_rates():
    """Exact, not simulated: false alarms at the tolerated share, and misses at the share that matters."""
    rule = CompareParams()
    needed = pairs_needed(rule)
    alarm = next(k for k in range(needed) if at_least(k, needed, rule.tolerated) < rule.sure)
    assert at_least(alarm, needed, rule.tolerated) < 0.01
    assert at_least(alarm, needed, rule.matters) >= 0.95


def test_a_row_that_is_missing_or_useless_on_one_side_diverges_and_is_named():
    legacy = {
        ("d1", "a", "x"): AnswerRow(SAME),
        ("d2", "a", "x"): AnswerRow(SAME),
        ("d3", "b", "x"): AnswerRow(SAME),
    }
    shadow = {
        ("d1", "a", "x"): AnswerRow(SAME),
        ("d2", "a", "x"): AnswerRow("", False),
        ("d4", "b", "x"): AnswerRow(SAME),
    }
    found = compare(shadow, legacy)
    told = [(d.key[0], d.why) for d in found.examples]
    assert told == [
        ("d2", "usable"),
        ("d3", "only_legacy"),
        ("d4", "only_shadow"),
    ]
    assert found.by_model == {"a": (1, 2), "b": (2, 2)}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("example.org", "example.org"),
        ("  HTTPS://User-Agent.Example.ORG:8443/path?q#f ", "user-agent.example.org"),
        ("//example.org", "example.org"),
        ("example.org.", "example.org"),
        ("žalba.hr", "xn--alba-kbb.hr"),
        ("http://Žalba.HR/x", "xn--alba-kbb.hr"),
        ("xn--alba-kbb.hr", "xn--alba-kbb.hr"),
        ("пример.рф", "xn--e1afmkfd.xn--p1ai"),
    ],
)
def test_a_domain_in_any_spelling_is_one_name(text, name):
    assert normalise(text) == (name, "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("localhost", "single label"),
        ("127.0.0.1", "an address"),
        ("http://[::1]/", "address"),
        ("user:pass@example.org", "credentials"),
        ("exa mple.org", "characters"),
        ("a..b.org", "empty label"),
        ("-a.org", "characters"),
        ("a_b.org", "characters"),
        ("*.example.org", "characters"),
        ("x" * 64 + ".org", "at most 63"),
        (".".join(["abcdefgh"] * 32), "at most 253"),
        ("https:///", "no host"),
        ("example.123", "number"),
        ("a" * 3000, "too many"),
    ],
)
def test_what_is_no_domain_says_what_is_wrong(text, why):
    name, said = normalise(text)
    assert name is None
    assert why in said or "not a host name" in said


@given(st.text())
def test_no_row_raises_and_a_name_is_stable(text):
    name, why = normalise(text)
    assert (name is None) == bool(why)
    if name is not None:
        assert normalise(name) == (name, "")


def test_duplicates_are_told_with_the_row_they_repeat():
    rows = list(read_domains(["# list", "", "example.org", "http://EXAMPLE.org/", "b ad", "other.org"]))
    assert rows == [
        Domain(3, "example.org"),
        DomainProblem(4, "http://EXAMPLE.org/", "the same domain as row 3"),
        DomainProblem(5, "b ad", rows[2].why),
        Domain(6, "other.org"),
    ]


def answers(texts, canaries=20, others=400):
    """By question: the repeats of `texts`, with the number of the domain in them."""
    kinds = [("canary", n) for n in range(canaries)] + [("brand", n) for n in range(others)]
    return {(f"d{n}", kind): [f"{text} Number {n}." for text in texts[kind]] for kind, n in kinds}


@pytest.mark.parametrize(
    ("now", "verdict"),
    [
        ({"canary": [SAME] * 3, "brand": [SAME] * 3}, CanaryVerdict.STEADY),
        ({"canary": [SAME] * 3, "brand": [OTHER] * 3}, CanaryVerdict.WORLD_CHANGED),
        ({"canary": [OTHER] * 3, "brand": [OTHER] * 3}, CanaryVerdict.MODEL_CHANGED),
    ],
)
def test_between_two_batches_the_canaries_say_whose_change_it_is(now, verdict):
    before = answers({"canary": [SAME] * 3, "brand": [SAME] * 3})
    found = drift("m", answers(now), before, frozenset(("canary",)))
    assert found.verdict is verdict
    assert found.agreement == 1.0


def test_a_model_that_differs_from_itself_is_not_said_to_have_changed():
    """Half of its repeats differ: the noise is measured, and the differences are within it."""
    texts = {"canary": [SAME, OTHER], "brand": [SAME, OTHER]}
    turned = {"canary": [OTHER, SAME], "brand": [OTHER, SAME]}
    found = drift("m", answers(turned), answers(texts), frozenset(("canary",)))
    assert found.seen.noise > 0.5
    assert found.verdict is not CanaryVerdict.WORLD_CHANGED


def test_without_a_batch_before_nothing_is_said_to_have_changed():
    found = drift("m", answers({"canary": [SAME], "brand": [SAME]}), {}, frozenset())
    assert (found.verdict, found.agreement) == (CanaryVerdict.STEADY, None)
