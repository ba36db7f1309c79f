"""A quote stands in the stored text sign by sign, or it is none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.findings import FindingCluster, FindingText, OddCard, PageReport
from vedette.contracts.oddness import Action, Contribution, Family, OddFinding
from vedette.contracts.words import SourceId, WatchId
from vedette.core.findings.digest_entries import DigestTime, digest_of, stands_out
from vedette.core.findings.offline_report import offline_report
from vedette.core.findings.quotes import LEAST, MOST, find_quote, segments, tidy
from vedette.report.digest_letter import digest_html, digest_markdown

NOW = datetime(2026, 11, 15, tzinfo=UTC)


def finding(place: str = "h.example", **fields: object) -> OddFinding:
    given = {
        "watch": WatchId(1), "number": 1, "url": f"https://{place}/p", "place": place, "source": SourceId("s"),
        "score": 60.0, "action": Action.LLM, "weights": "w", "found_at": NOW,
        "reasons": (
            Contribution(feature="digits", version=1, family=Family.FORM, points=12.0),
            Contribution(feature="strange_phrases", version=1, family=Family.PHRASES, points=20.0),
            Contribution(feature="capitals", version=1, family=Family.FORM, points=3.0),
        ),
    }  # fmt: skip
    return OddFinding(**{**given, **fields})  # type: ignore[arg-type]


def card(place: str = "h.example", *, linked_from: tuple[str, ...] = (), **fields: object) -> OddCard:
    said = PageReport(summary="said", why=(), tags=(), confidence=0.5)
    return OddCard(
        finding=finding(place, **fields), title="A page", report=said, linked_from=linked_from, cluster=1
    )


@given(st.text())
def test_every_passage_stands_where_it_says_it_does(text):
    whole = tidy(text)
    for at, part in segments(text):
        assert whole[at : at + len(part)] == part
        assert len(part) <= MOST
    if whole:
        assert list(segments(text))


@given(st.text(), st.integers(0, 400), st.integers(0, 60))
def test_a_quote_is_found_exactly_where_the_text_has_it(text, start, size):
    whole = tidy(text)
    quote = tidy(whole[start : start + size])
    found = find_quote(quote, whole)
    assert (found is None) == (len(quote) < LEAST)
    if found:
        assert whole[found.at : found.at + len(found.text)] == quote


def test_words_that_nearly_stand_there_are_no_quote():
    text = tidy("The crow counts\n the  seventh tooth at dawn.")
    assert find_quote("crow counts the seventh tooth", text)
    assert find_quote("Crow counts the seventh tooth", text) is None
    assert find_quote("crow counted the seventh tooth", text) is None
    assert find_quote("crow", text) is None


def test_the_offline_analyst_quotes_for_every_claim_and_says_that_no_model_was_asked():
    text = "Welcome to my page.\n7 3 9 9 1 4 2 2 8 1 0 5\nAnd never the tooth of no lantern hums at noon.\n"
    report = offline_report(finding(), FindingText("T", text), {"welcome": 9, "page": 9})
    assert [claim.words for claim in report.why] == [
        "usual words, put together as nobody else does",
        "numbers instead of words",
    ]
    assert [claim.quote.text for claim in report.why] == [
        "And never the tooth of no lantern hums at noon.",
        "7 3 9 9 1 4 2 2 8 1 0 5",
    ]
    assert "no model was asked" in report.note
    gone = offline_report(finding(), None, {})
    assert gone.why == ()
    assert "not stored any more" in gone.note


def test_a_digest_has_one_page_of_each_host_and_none_that_is_marked_plain():
    cards = [
        card("a.example"), card("a.example", url="https://b.a.example/x"), card("b.example", mark="plain"),
        card("c.example"), card("d.example", found_at=NOW - timedelta(days=9)),
    ]  # fmt: skip
    digest = digest_of(cards, (), DigestTime(NOW - timedelta(days=7), NOW, 100))
    assert [one.finding.place for one in digest.cards] == ["a.example", "c.example"]
    assert not digest.is_nothing


def test_a_digest_says_that_there_was_nothing():
    weak = [card(f"h{n}.example", action=Action.PERSIST, score=45.0) for n in range(8)]
    for cards in ([], weak, [card()]):
        digest = digest_of(cards, (), DigestTime(NOW - timedelta(days=7), NOW, 1000))
        assert digest.is_nothing
        assert "There was nothing" in digest_markdown(digest)
        assert "There was nothing" in digest_html(digest)
    assert stands_out([card(linked_from=("https://other.example/",))])
    assert stands_out([card(mark="odd", action=Action.PERSIST)])


def test_a_digest_says_from_how_many_finds_a_page_is_linked():
    links = ("https://one.example/", "https://two.example/")
    for many, words in ((1, "linked from 1 other find."), (2, "linked from 2 other finds.")):
        digest = digest_of([card(linked_from=links[:many])], (), DigestTime(NOW, NOW, 1))
        assert words in digest_html(digest)


def test_what_a_page_says_is_no_markup_in_a_digest():
    evil = "<img src=x onerror=1> [a](javascript:1) **b** `c`\n# d"
    one = OddCard(
        finding=finding(), title=evil,
        report=PageReport(summary=evil, why=(), tags=(evil,), confidence=0.5, danger=evil, author=evil, note=evil),
    )  # fmt: skip
    group = FindingCluster(
        number=0, findings=(), places=("a", "b"), words=(), reasons=(), links=0, answered=0, brief=evil
    )
    digest = digest_of([one, one], [group], DigestTime(NOW, NOW, 1))
    html, text = digest_html(digest), digest_markdown(digest)
    assert "<img" not in html
    assert "<img" not in text.replace(r"\<img", "")
    assert "\n# d" not in text
    assert "[a](" not in text
