"""What is odd about a page: features, score, families that must agree, marks, the background that is learned."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.errors import InputError
from vedette.contracts.fetch import Extraction
from vedette.contracts.oddness import Action, Family, FeatureSet, FeatureValue, OddFacts, Provenance, Triage
from vedette.contracts.words import ContentClass, WatchId
from vedette.core.oddness.background import Background, Twins
from vedette.core.oddness.features import FEATURES, PROFILE
from vedette.core.oddness.figure_bytes import pack_figures, unpack_figures
from vedette.core.oddness.level import kept_from, risen
from vedette.core.oddness.mark_weights import LEAST, fitted
from vedette.core.oddness.odd_score import (
    DEFAULT,
    LARGEST_CAP,
    RELEASED,
    configured,
    decided,
    read_weights,
    written_weights,
)
from vedette.core.oddness.old_customs import customs_in
from vedette.core.oddness.page_figures import NAMES, measure_page
from vedette.engine.settle.odd_pages import OddJudge, packed_background, read_background

AT = datetime(2026, 3, 1, tzinfo=UTC)
SMALL = "the of a in is and to it for on".split()
WORDS = (
    "rent garden price school week report council street water number office family market building".split()
)
ODD = "crow static tooth hymn lantern marrow seventh drowned whisper orchard hollow ash mirror tide".split()


def plain(n: int) -> tuple[str, str]:
    draw = Random(f"plain {n}")
    one = draw.choice
    text = " ".join(
        f"The {one(WORDS)} of the {one(WORDS)} is for a {one(WORDS)} in the {one(WORDS)}." for _ in range(14)
    )
    head = '<html><head><meta name="viewport"></head><body class="p"><nav class="n"></nav>'
    return f'{head}<p class="t">{text}</p>', text


def odd(n: int) -> tuple[str, str]:
    draw = Random(f"odd {n}")
    one = draw.choice
    tale = " ".join(f"It and to {one(ODD)} on of {one(ODD)} is a {one(ODD)} for the" for _ in range(12))
    text = f"{tale} guestbook webring 1997 {'~*~' * 30}"
    drawn = "/#| " * 60
    return f"<HTML><BODY BGCOLOR=black><CENTER><FONT>{text}<BR>x<BR>y<BR></CENTER><PRE>{drawn}</PRE>", text


def facts(n: int, page: tuple[str, str], place: str = "", pull: float = 0.0) -> OddFacts:
    markup, text = page
    extraction = Extraction(content_class=ContentClass.HTML, text=text, visible_chars=len(text))
    url = f"https://{place or f'h{n % 40}.example'}/p{n}"
    figures = measure_page(markup.encode(), extraction, url, lambda host: host)
    place = place or f"h{n % 40}.example"
    return OddFacts(number=n, watch=WatchId(n), place=place, at=AT, digest=b"%d" % n, pull=pull, page=figures)


def judged(count: int = 240, every: int = 60) -> list[tuple[int, FeatureSet, float, Action]]:
    judge, found = OddJudge(DEFAULT), []
    for n in range(1, count):
        features, decision = judge.judge(facts(n, odd(n) if n % every == 0 else plain(n)))
        found.append((n, features, decision.score, decision.action))
    return found


def value(name: str, evidence: float) -> FeatureValue:
    feature = next(one for one in FEATURES if one.name == name)
    return FeatureValue(
        name=name, version=feature.version, family=feature.family, value=1.0, rarity=1.0, evidence=evidence
    )


def test_odd_pages_are_scored_above_ordinary_ones():
    found = judged()
    strange = [score for n, _, score, _ in found if n % 60 == 0]
    usual = [score for n, _, score, _ in found if n % 60 and n > 60]
    assert min(strange) > max(usual)
    assert {action for n, _, _, action in found if n % 60} == {Action.SKIP}


def test_figures_and_scores_are_the_same_in_another_process_with_another_hash_seed():
    code = (
        "import test_oddness as t, hashlib; from vedette.core.oddness.figure_bytes import pack_figures;"
        "print(hashlib.sha256(pack_figures(t.facts(7, t.odd(7)).page) + repr(t.judged(150)).encode()).hexdigest())"
    )
    here = os.path.dirname(__file__)
    told = {
        subprocess.run(
            [sys.executable, "-c", code], cwd=here, env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, check=True, text=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(told) == 1


def test_figures_are_packed_and_read_back():
    page = facts(3, odd(3)).page
    assert unpack_figures(pack_figures(page)) == page
    assert len(page.figures) == len(NAMES)


@pytest.mark.parametrize("text", ["", " ", "x", "\x00\ud800" * 5, "<" * 5000, "<!--" * 5000, "ж" * 30000])
def test_any_page_can_be_measured_and_judged(text: str):
    features, decision = OddJudge(DEFAULT).judge(facts(1, (text.encode("utf-8", "replace").decode(), text)))
    assert len(features.features) == len(FEATURES)
    assert decision.adds_up


@given(st.lists(st.floats(0, 1), min_size=len(FEATURES), max_size=len(FEATURES)))
def test_contributions_add_up_and_each_names_feature_and_version(evidences: list[float]):
    values = [value(one.name, evidence) for one, evidence in zip(FEATURES, evidences, strict=True)]
    decision = decided(values, DEFAULT)
    assert decision.adds_up
    assert 0.0 <= decision.score <= 100.0
    versions = {one.name: one.version for one in FEATURES}
    assert all(versions[one.feature] == one.version for one in decision.reasons)


@pytest.mark.parametrize("family", list(Family))
def test_one_family_alone_is_never_a_finding(family: Family):
    values = [value(one.name, 1.0 if one.family is family else 0.0) for one in FEATURES]
    decision = decided(values, DEFAULT)
    assert decision.action is Action.SKIP
    assert decision.score <= DEFAULT.caps[family] + 1e-9


def test_addresses_carry_no_points():
    values = [value(name, 1.0) for name in ("deep_path", "personal_path")]
    assert decided(values, DEFAULT).score == 0.0


def test_a_near_duplicate_is_skipped_whatever_its_score():
    values = [value(one.name, 1.0) for one in FEATURES]
    assert decided(values, DEFAULT).action is Action.LLM
    assert decided(values, DEFAULT, twin=9).action is Action.SKIP
    assert decided(values, DEFAULT, twin=9).found == 0.0


def test_twins_are_texts_that_differ_in_few_bits_and_belong_to_another_page():
    twins = Twins([(0b1111, 1)])
    assert twins.twin(0b1011, 2) == 1
    assert twins.twin(0b1111, 1) == 0
    assert twins.twin(0xFFFF0000FFFF, 2) == 0
    twins.note(0xFFFF0000FFFF, 5)
    assert twins.twin(0xFFFF0000FFFE, 2) == 5


def test_the_points_of_a_family_that_is_switched_off_go_to_the_others():
    off = configured(DEFAULT, Triage(without=("age",)))
    assert Family.AGE not in off.caps
    assert sum(off.caps.values()) == pytest.approx(100.0)
    with pytest.raises(InputError, match="no family"):
        configured(DEFAULT, Triage(without=("agee",)))
    with pytest.raises(InputError, match="every family"):
        configured(DEFAULT, Triage(without=tuple(Family)))


@pytest.mark.parametrize("without", [["links"], ["words", "links"], ["age"]])
@pytest.mark.parametrize("family", list(Family))
def test_one_family_alone_is_no_finding_whichever_are_switched_off(without: list[str], family: Family):
    weights = configured(DEFAULT, Triage(without=tuple(without)))
    all_of_it = [
        FeatureValue(
            name=one.name, version=one.version, family=one.family, value=1.0, rarity=1.0, evidence=1.0
        )
        for one in FEATURES
        if one.family is family
    ]
    assert decided(all_of_it, weights).score < weights.persist_at - weights.lower
    assert sum(weights.caps.values()) == pytest.approx(100.0)


def test_thresholds_come_from_the_configuration():
    values = [value(one.name, 0.4) for one in FEATURES]
    score = decided(values, DEFAULT).score
    assert (
        decided(values, configured(DEFAULT, Triage(persist_at=score - 1, llm_at=99.0))).action
        is Action.PERSIST
    )
    assert (
        decided(values, configured(DEFAULT, Triage(persist_at=score + 1, llm_at=99.0))).action is Action.SKIP
    )


def test_the_background_goes_on_from_what_was_kept_as_if_there_had_been_no_stop():
    whole = OddJudge(DEFAULT)
    for n in range(1, 40):
        whole.judge(facts(n, plain(n)))
    again = OddJudge(DEFAULT, read_background(packed_background(whole.background)))
    again.twins = whole.twins
    assert again.background.dump() == whole.background.dump()
    one, other = whole.judge(facts(50, odd(50))), again.judge(facts(50, odd(50)))
    assert one == other
    assert PROFILE > 10


def test_a_place_that_is_looked_at_often_does_not_become_what_is_usual():
    judge = OddJudge(DEFAULT)
    for n in range(1, 60):
        judge.judge(facts(n, odd(n), place="farm.example"))
    assert judge.background.looks == 12
    assert judge.background.seen == 59


def marks(count: int) -> list[tuple[FeatureSet, bool]]:
    made = Provenance(page="", figures="", features="", embedding="", looks=0)
    rows = []
    for n in range(count):
        is_odd = n % 2 == 0
        names = ("hand_made", "customs") if is_odd else ("rare_words",)
        values = tuple(value(one.name, 0.9 if one.name in names else 0.1) for one in FEATURES)
        rows.append((FeatureSet(features=values, provenance=replace(made, page=str(n))), is_odd))
    return rows


def test_marks_move_the_families_that_tell_odd_from_plain_and_no_cap_grows_too_large():
    weights = fitted(marks(40), DEFAULT)
    assert weights.caps[Family.AGE] > DEFAULT.caps[Family.AGE]
    assert weights.caps[Family.WORDS] < DEFAULT.caps[Family.WORDS]
    assert sum(weights.caps.values()) == pytest.approx(100.0, abs=1e-4)
    assert max(weights.caps.values()) <= LARGEST_CAP
    assert weights.version.startswith("fitted-")
    assert fitted(marks(40), DEFAULT) == weights
    assert read_weights(written_weights(weights)) == weights


def test_too_few_marks_are_an_error_that_says_how_many_are_needed():
    with pytest.raises(InputError, match=f"{LEAST} of each"):
        fitted(marks(6), DEFAULT)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("sign my guestbook", 1),
        ("gästebuch und webring", 2),
        ("knjiga gostiju, zadnja izmjena", 2),
        ("prices", 0),
    ],
)
def test_customs_of_an_older_web_are_known_in_several_languages(text: str, count: int):
    assert customs_in(text) == count


def a_crawl(seed: int, pages: int, odd_pages: int) -> Background:
    """Scores as ordinary pages have them, and some that are higher."""
    draw, background = Random(seed), Background(len(FEATURES))
    for n in range(pages):
        score = draw.uniform(30.0, 60.0) if n < odd_pages else min(100.0, draw.expovariate(0.15))
        background.scores[int(2 * score)] += 1
        background.seen += 1
    return background


@pytest.mark.parametrize("seed", range(5))
def test_where_nothing_stands_out_the_level_stays_high_and_a_tail_brings_it_down(seed: int):
    high, low = DEFAULT.persist_at + DEFAULT.higher, DEFAULT.persist_at - DEFAULT.lower
    assert kept_from(a_crawl(seed, 4000, 0), DEFAULT) == high
    assert kept_from(a_crawl(seed, 4000, 160), DEFAULT) == low
    assert kept_from(a_crawl(seed, 100, 40), DEFAULT) is None  # too few to tell
    fixed = configured(DEFAULT, Triage(persist_at=40.0))
    assert kept_from(a_crawl(seed, 4000, 160), fixed) is None  # what the operator set stands


def test_a_page_that_was_not_kept_is_kept_when_the_level_falls_below_its_score():
    background = a_crawl(1, 4000, 0)
    background.keep_in_mind(7, 31.0)
    background.keep_in_mind(3, 35.0)
    assert risen(background, None) == []
    assert risen(background, 33.0) == [3]
    assert risen(background, 30.0) == [7]
    assert risen(background, 30.0) == []


def test_links_count_as_far_as_the_page_itself_is_odd():
    links = [value(one.name, 1.0) for one in FEATURES if one.family is Family.LINKS]
    assert decided(links, DEFAULT).score == 0.0
    some = [*links, value("strange_phrases", 0.5)]
    whole = [*links, *(value(one.name, 1.0) for one in FEATURES if one.family is Family.PHRASES)]
    points = [
        sum(one.points for one in decided(values, DEFAULT).reasons if one.family is Family.LINKS)
        for values in (some, whole)
    ]
    assert 0.0 < points[0] < points[1]


def test_what_was_decided_by_older_defaults_is_decided_again_by_them():
    values = [value(one.name, 0.5) for one in FEATURES]
    old = decided(values, RELEASED["default-1"])
    assert old.adds_up
    assert old.score != decided(values, DEFAULT).score


def test_numbers_are_no_rare_words():
    numbers = " ".join(str(n) for n in range(1000, 1200))
    one, other = (facts(n, ("<p>", f"the price of water {text}")).page for n, text in ((1, ""), (2, numbers)))
    assert one.words == other.words


def lived(count: int, links: dict[int, list[int]]) -> dict[int, list[float]]:
    """Scores of each page, one for each time that it was judged.  Page 60 is odd, others are as `links` says."""
    known: dict[int, OddFacts] = {}
    judge = OddJudge(DEFAULT, recall=lambda watch: known.get(watch))
    scores: dict[int, list[float]] = {}
    for n in range(1, count):
        page = odd(n) if n % 60 == 0 else plain(n)
        known[n] = replace(facts(n, page), links=np.array(links.get(n, []), "<i8").tobytes())
        scores[n] = [judge.judge(known[n])[1].score]
        for again in judge.again:
            scores[again.watch].append(again.decision.score)
    return scores


def test_a_finding_is_judged_again_by_what_the_crawl_knows_later():
    scores = lived(400, {})
    assert len(scores[60]) > 1
    assert all(len(found) == 1 for n, found in scores.items() if n % 60)
    assert scores[60][-1] != scores[60][0]


def test_finds_that_link_to_each_other_are_worth_more_once_both_are_seen():
    alone, linked = lived(400, {}), lived(400, {180: [60], 240: [60]})
    assert linked[60][0] == alone[60][0]  # at its look nobody knew
    assert linked[60][-1] > alone[60][-1] + 3.0


def test_whoever_links_to_himself_is_worth_no_more():
    background = Background(len(FEATURES))
    background.pull([7], place=1, found=0.6)
    assert background.pull_of(7, place=1) == 0.0
    assert background.pull_of(7, place=2) == 0.6


SUBJECTS = "baker tenant teacher mayor driver nurse farmer clerk child neighbour owner guest".split()
DOINGS = "pays opens visits repairs sells cleans paints orders plans builds rents moves".split()
FILLS = "new old small local cheap public green quiet second empty".split()


def prose(n: int, sentences: int) -> tuple[str, str]:
    """Ordinary sentences of a large vocabulary, and now and then what everybody says."""
    draw = Random(f"prose {n}")
    one = draw.choice

    def sentence() -> str:
        if draw.random() < 0.4:
            return "Please read the rules of the house and ask at the office for the price."
        thing, other = one(WORDS) + one(WORDS), one(WORDS) + one(WORDS)
        return (
            f"The {one(SUBJECTS)} {one(DOINGS)} the {one(FILLS)} {thing} of the {one(SUBJECTS)} in a {other}."
        )

    text = " ".join(sentence() for _ in range(sentences))
    return f"<html><body><p>{text}</p>", text


def phrases_of(page: tuple[str, str]) -> dict[str, float]:
    """What the phrases of a page say after a crawl of short ordinary pages."""
    judge = OddJudge(DEFAULT)
    for n in range(1, 400):
        judge.judge(facts(n, prose(n, 3 + n % 4)))
    features, _ = judge.judge(facts(400, page))
    return {one.name: one.evidence for one in features.family(Family.PHRASES)}


def test_a_long_page_is_no_stranger_than_the_short_ones_of_its_crawl():
    assert max(phrases_of(prose(1000, 150)).values()) < 0.6


def test_a_language_that_the_crawl_does_not_know_is_no_strange_english():
    draw = Random("lorem")
    lorem = (
        "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut".split()
    )
    text = " ".join(" ".join(draw.choice(lorem) for _ in range(12)) + "." for _ in range(12))
    text += " The baker pays in a market. The clerk of the school opens a street."
    assert max(phrases_of((f"<html><body><p>{text}</p>", text)).values()) < 0.7
