"""Names of models, and what became of those that went."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.errors import InputError
from vedette.contracts.words import Outcome
from vedette.core.panel.models import (
    ModelFinding,
    ModelRow,
    canonical_name,
    is_failure,
    nearest,
    refresh,
    reliability,
    resolve_alias,
    stem,
)

NOON = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
LATER = NOON + timedelta(days=1)
NOBODY: frozenset[str] = frozenset()


def rows(*names: str) -> tuple[ModelRow, ...]:
    found, _ = refresh((), "openai", names, now=NOON, asked=NOBODY)
    return found


def kinds(findings: tuple[ModelFinding, ...]) -> list[tuple[str, str, str]]:
    return [(finding.kind, finding.name, finding.successor) for finding in findings]


NAMES = [
    ("google", "models/Gemini-1.5-Flash", "google/gemini-1.5-flash"),
    ("perplexity/sonar", "sonar", "perplexity/sonar"),
    ("groq", "meta-llama/llama-4-scout", "groq/meta-llama/llama-4-scout"),
    ("ai21/jamba", " jamba-mini ", "ai21/jamba-mini"),
    ("openai", "openai/gpt-4o", "openai/gpt-4o"),
]


@pytest.mark.parametrize(("provider", "wire", "name"), NAMES)
def test_a_canonical_name_is_the_house_and_the_model(provider: str, wire: str, name: str):
    assert canonical_name(provider, wire) == name
    assert canonical_name(provider, name) == name


STEMS = {
    "gpt-4o-mini-2024-07-18": "gpt-4o-mini", "claude-3-haiku-20240307": "claude-3-haiku",
    "mistral-small-latest": "mistral-small", "mistral-small-2503": "mistral-small", "gpt-4o": "gpt-4o",
    "command-r-08-2024": "command-r", "gemini-1.5-flash-002": "gemini-1.5-flash", "sonar": "sonar",
}  # fmt: skip


@pytest.mark.parametrize(("name", "bare"), STEMS.items())
def test_an_edition_is_no_part_of_the_model(name: str, bare: str):
    assert stem(name) == bare


def test_an_alias_is_resolved_by_name_alias_spelling_or_stem():
    known = (
        ModelRow(name="anthropic/claude-3-haiku-20240307", provider="anthropic", wire_name="claude-3-haiku-20240307",
                 aliases=("anthropic/claude-3-haiku", "Haiku")),
        ModelRow(name="openai/gpt-4o-mini-2024-07-18", provider="openai", wire_name="gpt-4o-mini-2024-07-18"),
    )  # fmt: skip
    for word in ("anthropic/claude-3-haiku-20240307", "anthropic/claude-3-haiku", "haiku", "CLAUDE-3-haiku"):
        assert resolve_alias(word, known) is known[0]
    assert resolve_alias("openai/gpt-4o-mini", known) is known[1]
    with pytest.raises(InputError, match="did you mean 'openai/gpt-4o-mini-2024-07-18'"):
        resolve_alias("openai/gpt-4o-mini-2024-07-19", known)


def test_a_word_that_may_be_two_models_asks_which_and_one_that_is_gone_gives_way():
    old, new = rows("gpt-4o-2024-05-13", "gpt-4o-2024-11-20")
    with pytest.raises(InputError, match="say which one"):
        resolve_alias("gpt-4o", (old, new))
    gone = ModelRow(name=old.name, provider="openai", wire_name=old.wire_name, retired_at=NOON)
    assert resolve_alias("gpt-4o", (gone, new)) is new


def test_a_first_listing_is_all_new():
    after, findings = refresh(
        (), "openai", ["gpt-4o", "gpt-4o-mini"], now=NOON, asked=frozenset({"openai/gpt-4o"})
    )
    assert [row.name for row in after] == ["openai/gpt-4o", "openai/gpt-4o-mini"]
    assert kinds(findings) == [("new", "openai/gpt-4o", ""), ("new", "openai/gpt-4o-mini", "")]
    assert [finding.is_asked for finding in findings] == [True, False]
    assert all(row.first_seen_at == row.last_seen_at == NOON for row in after)


def test_the_same_listing_again_says_nothing():
    before = rows("gpt-4o", "gpt-4o-mini")
    after, findings = refresh(before, "openai", ["gpt-4o-mini", "gpt-4o"], now=LATER, asked=NOBODY)
    assert findings == ()
    assert {row.last_seen_at for row in after} == {LATER}
    assert {row.first_seen_at for row in after} == {NOON}


def test_an_empty_listing_removes_nothing():
    before = rows("gpt-4o")
    assert refresh(before, "openai", [], now=LATER, asked=NOBODY) == (before, ())


def test_a_model_that_vanished_as_another_edition_appeared_was_renamed():
    before = rows("gpt-4o-mini-2024-07-18", "gpt-4o")
    after, findings = refresh(before, "openai", ["gpt-4o-mini-2025-01-01", "gpt-4o"], now=LATER, asked=NOBODY)
    assert ("renamed", "openai/gpt-4o-mini-2024-07-18", "openai/gpt-4o-mini-2025-01-01") in kinds(findings)
    gone = next(row for row in after if row.retired_at is not None)
    assert (gone.name, gone.successor) == ("openai/gpt-4o-mini-2024-07-18", "openai/gpt-4o-mini-2025-01-01")


def test_a_model_that_vanished_is_retired_with_the_nearest_left():
    before = rows("gemini-1.5-flash", "gemini-1.5-pro", "gemini-2.0-flash", "text-bison")
    left = ["gemini-1.5-pro", "gemini-2.0-flash", "gemini-2.5-flash"]
    after, findings = refresh(before, "openai", left, now=LATER, asked=frozenset({"openai/gemini-1.5-flash"}))
    told = {finding.name: finding for finding in findings if finding.kind == "retired"}
    assert told["openai/gemini-1.5-flash"].successor == "openai/gemini-2.5-flash"
    assert told["openai/gemini-1.5-flash"].is_asked
    assert told["openai/text-bison"].successor == ""
    again, nothing = refresh(after, "openai", left, now=LATER, asked=NOBODY)
    assert nothing == ()
    assert again == after


def test_a_model_that_comes_back_is_told_and_is_no_longer_retired():
    gone, _ = refresh(rows("a-one", "b-two"), "openai", ["a-one"], now=LATER, asked=NOBODY)
    after, findings = refresh(gone, "openai", ["a-one", "b-two"], now=LATER, asked=NOBODY)
    assert kinds(findings) == [("back", "openai/b-two", "")]
    assert all(row.retired_at is None for row in after)


def test_a_model_of_our_table_that_no_listing_ever_had_is_told_only_when_it_is_asked():
    ours = ModelRow(name="openai/sonar-large", provider="openai", wire_name="sonar-large")
    _, quiet = refresh((ours,), "openai", ["sonar-pro"], now=NOON, asked=NOBODY)
    assert kinds(quiet) == [("new", "openai/sonar-pro", "")]
    _, loud = refresh((ours,), "openai", ["sonar-pro"], now=NOON, asked=frozenset({ours.name}))
    assert ("retired", "openai/sonar-large", "openai/sonar-pro") in kinds(loud)


def test_what_was_counted_stays_through_a_refresh():
    row = ModelRow(name="openai/a", provider="openai", wire_name="a", answered=90, failed=10, aliases=("x",))
    (after,), _ = refresh((row,), "openai", ["A"], now=NOON, asked=NOBODY)
    assert (after.answered, after.failed, after.aliases, after.wire_name) == (90, 10, ("x",), "A")


WIRE_NAMES = st.lists(st.sampled_from(sorted(STEMS)), unique=True)


@given(WIRE_NAMES, WIRE_NAMES)
def test_no_model_is_ever_forgotten_and_those_listed_are_alive(before: list[str], listed: list[str]):
    known = rows(*before)
    after, findings = refresh(known, "openai", listed, now=LATER, asked=NOBODY)
    assert {row.name for row in after} == {f"openai/{name}" for name in {*before, *listed}}
    if listed:
        alive = {row.wire_name for row in after if row.retired_at is None}
        assert alive == set(listed)
        assert len(findings) == len(set(before) ^ set(listed))


def test_nothing_like_it_is_no_successor():
    assert nearest("openai/whisper", ["openai/gpt-4o"]) == ""
    assert nearest("openai/gpt-4o-mini", []) == ""


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_reliability_is_a_share_that_more_answers_raise_and_more_failures_lower(answered: int, failed: int):
    weight = reliability(answered, failed)
    assert 0 < weight < 1
    assert reliability(answered + 1, failed) > weight > reliability(answered, failed + 1)


def test_a_new_model_is_trusted_and_only_the_providers_own_failures_count():
    assert reliability(0, 0) == 0.9
    assert reliability(0, 100) < 0.1
    counts = [
        is_failure(o)
        for o in (Outcome.OK, Outcome.REFUSED_CONTENT, Outcome.TIMEOUT, Outcome.MALFORMED_ANSWER)
    ]
    assert counts == [False, False, True, True]
    assert is_failure(Outcome.ADDRESS_REFUSED) is None
