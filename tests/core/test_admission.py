"""What may become a watch, and how soon each class of trap ends."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta

import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from vedette.contracts.errors import ConfigError
from vedette.contracts.source import ListerKind, ListerOptions, TrapBudgets
from vedette.contracts.words import Reason
from vedette.core.urls.admission import (
    AdmissionRules,
    Admitted,
    Candidate,
    admit,
    observe_content,
    rules_of,
)
from vedette.core.urls.canonical import canonical
from vedette.core.urls.trap_counters import SourceTally
from vedette.core.urls.url_shape import EXCLUDED, filters_of, is_document, shape_of

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
CRAWL = rules_of(ListerKind.CRAWL, ListerOptions(max_urls=100_000))
BUDGETS = TrapBudgets()


Crawled = tuple[int, SourceTally, list[str]]


def crawl(urls: Iterable[str], rules: AdmissionRules = CRAWL, tries: int = 20_000) -> Crawled:
    """Drives a site through admission as a crawl would: how many came in, and why the others did not."""
    tally, codes, taken = SourceTally(), [], 0
    for url in itertools.islice(urls, tries):
        answer = admit(rules, tally, Candidate(url=url, depth=1), now=NOW)
        if isinstance(answer, Admitted):
            tally.take(answer)
            taken += 1
        else:
            codes.append(answer.code)
    return taken, tally, codes


def token(n: int, size: int = 16) -> str:
    return f"{xxhash.xxh3_64_intdigest(str(n).encode()):016x}"[:size]


# Real sites are not cut.


def test_an_archive_of_two_thousand_numbered_articles_is_not_cut():
    taken, _, codes = crawl(f"https://h.hr/news/{n}.html" for n in range(1, 2001))
    assert (taken, codes) == (2000, [])


@pytest.mark.parametrize(
    "pattern",
    [
        "https://h.hr/2019/05/12/naslov-vijesti-broj-{n}",
        "https://h.hr/vijesti/naslov-jedne-vijesti-{n}/",
        "https://h.hr/clanci/sluzbeni/2026_05_12_{n}.html",
        "https://h.hr/index.php?option=com_content&view=article&id={n}&Itemid=7",
        "https://h.hr/novost.aspx?id={n}",
        "https://h.hr/news?page={n}",
        "https://h.hr/a?id={n}&print=1",
    ],
)
def test_common_forms_of_a_real_archive_are_not_cut(pattern):
    taken, _, codes = crawl(pattern.format(n=n) for n in range(1, 2001))
    assert (taken, codes) == (2000, [])


def test_an_archive_with_three_views_of_each_article_is_not_cut():
    views = ("", "&print=1", "&format=pdf")
    urls = [f"https://h.hr/a?id={n}&lang=hr{view}" for n in range(800) for view in views]
    assert crawl(urls)[0] == 2400


# Traps end within the budget that the table states.


def calendar_days() -> Iterable[str]:
    for n in itertools.count():
        day = date(2026, 11, 15) + timedelta(days=n if n % 2 else -n)
        yield f"https://h.hr/calendar/{day.year}/{day.month:02}/{day.day:02}"


def calendar_months() -> Iterable[str]:
    for n in itertools.count():
        yield f"https://h.hr/events?year={2026 + n // 12}&month={1 + n % 12}"


@pytest.mark.parametrize(
    "days",
    [
        calendar_days(),
        (f"https://h.hr/kalendar/{date(2026, 1, 1) + timedelta(days=n)}" for n in range(10_000)),
        (f"https://h.hr/e?date={date(2000, 1, 1) + timedelta(days=n)}&v=day" for n in range(10_000)),
        (f"https://h.hr/day/{(date(2010, 1, 1) + timedelta(days=n)):%Y%m%d}.html" for n in range(10_000)),
    ],
    ids=["paths", "iso", "query", "packed"],
)
def test_a_calendar_of_days_ends_within_its_budget(days):
    taken, _, codes = crawl(days, tries=8_000)
    assert taken <= BUDGETS.calendar
    assert set(codes) == {"trap_calendar"}


def test_a_calendar_of_months_ends_at_the_horizon():
    taken, _, codes = crawl(calendar_months(), tries=2_000)
    assert taken == 12 + 12  # to the end of 2027: 400 days from now
    assert set(codes) == {"trap_calendar"}


def test_an_article_filed_under_a_past_day_is_no_calendar_page():
    assert crawl(["https://h.hr/1989/05/12/naslov"])[0] == 1
    assert crawl(["https://h.hr/1989/05/12"])[2] == ["trap_calendar"]
    assert crawl(["https://h.hr/2031/05/12/naslov"])[2] == ["trap_calendar"]


def facet_grid() -> Iterable[str]:
    sizes = range(10)
    for a, b, c, d in itertools.product(sizes, sizes, sizes, sizes):
        yield f"https://shop.hr/shoes?color=c{a}&size={b}&brand=b{c}&sort={d}"


def test_a_facet_grid_ends_within_its_budget():
    taken, _, codes = crawl(facet_grid())
    assert taken == BUDGETS.facets
    assert set(codes) == {"trap_facets"}


def test_a_facet_grid_with_endless_pages_ends_at_its_budget():
    urls = (
        f"https://shop.hr/s?color={c}&size={s}&page={n}"
        for n in range(60)
        for c in range(10)
        for s in range(9)
    )
    assert crawl(urls)[0] <= BUDGETS.facets


def test_pages_of_the_same_site_outside_the_grid_still_come_in():
    _, tally, _ = crawl(facet_grid())
    assert isinstance(admit(CRAWL, tally, Candidate(url="https://shop.hr/about"), now=NOW), Admitted)
    assert isinstance(admit(CRAWL, tally, Candidate(url="https://shop.hr/shoes?id=5"), now=NOW), Admitted)


@pytest.mark.parametrize(
    "pattern",
    [
        "https://h.hr/s/{t}/page/{n}",
        "https://h.hr/{t}/news/{n}/title",
        "https://h.hr/(S({t}abcdefgh))/Default.aspx",
        "https://h.hr/page{n}?tok={t}",
        "https://h.hr/session/{s}/p{n}",
        "https://h.hr/p{n}?sid={s}",
    ],
)
def test_a_site_of_session_ids_ends_within_its_budget(pattern):
    urls = (pattern.format(t=token(n), s=token(n, 6), n=n % 40) for n in itertools.count())
    taken, _, codes = crawl(urls, tries=5_000)
    # Of short random words some look like plain words; those are few.
    assert taken <= BUDGETS.session * 1.25
    assert set(codes) <= {"trap_session", "trap_shape"}


def test_pages_named_by_tokens_end_at_their_own_larger_budget():
    taken, _, codes = crawl(f"https://h.hr/doc/{token(n)}" for n in itertools.count())
    assert BUDGETS.token_names <= taken <= BUDGETS.token_names * 1.15
    assert set(codes) == {"trap_token_names"}


def test_repeating_parts_of_a_path_are_refused_at_once():
    assert crawl(["https://h.hr/a/b/a/b/a/b"])[2] == ["trap_repeats"]
    assert crawl(["https://h.hr/x/img/img/img/a"])[2] == ["trap_repeats"]
    assert crawl(["https://h.hr/a/b/a/b", "https://h.hr/1/1/1", "https://h.hr/en/news/en/blog/en/x"])[0] == 3


def test_a_path_that_grows_for_ever_ends_at_the_path_depth():
    urls = ("https://h.hr/" + "/".join(f"x{n}y" for n in range(depth)) for depth in range(1, 200))
    taken, _, codes = crawl(urls)
    assert taken == BUDGETS.path_depth
    assert set(codes) == {"trap_path_depth"}


def test_one_shape_has_a_budget_of_its_own():
    rules = rules_of(ListerKind.CRAWL, ListerOptions(max_urls=10**9, traps=TrapBudgets(shape=50)))
    assert crawl((f"https://h.hr/n/{n}" for n in range(500)), rules)[0] == 50


def test_twenty_pages_with_one_text_close_their_shape_and_another_text_opens_it():
    _, tally, _ = crawl(f"https://h.hr/search/{n}" for n in range(30))
    key = shape_of("https://h.hr/search/1").key
    reasons = [observe_content(tally, key, 77) for _ in range(20)]
    assert [reason is not None for reason in reasons] == [False] * 19 + [True]
    candidate = Candidate(url="https://h.hr/search/999")
    for kept in (tally, SourceTally.from_json(json.loads(json.dumps(tally.to_json())))):
        refused = admit(CRAWL, kept, candidate, now=NOW)
        assert isinstance(refused, Reason)
        assert refused.code == "trap_content_repeat"
    observe_content(tally, key, 78)
    assert isinstance(admit(CRAWL, tally, candidate, now=NOW), Admitted)


def test_a_listing_that_its_owner_wrote_has_no_trap_budgets():
    rules = rules_of(ListerKind.SITEMAP, ListerOptions())
    assert crawl(facet_grid(), rules)[0] == 10_000


# Limits and filters.


def test_max_urls_is_two_thousand_for_a_crawl_and_any_number_for_the_others():
    assert rules_of(ListerKind.CRAWL, ListerOptions()).max_urls == 2000
    assert rules_of(ListerKind.FEED, ListerOptions(max_urls=7)).max_urls == 7


@pytest.mark.parametrize("kind", [kind for kind in ListerKind if kind is not ListerKind.CRAWL], ids=str)
def test_a_listing_that_lives_for_decades_never_ends_by_default(kind: ListerKind):
    """F8: a gazette with any number of acts takes the next one."""
    tally = SourceTally(admitted=10**9)
    candidate = Candidate(url="https://nn.hr/eli/sluzbeni/2050/1/1")
    assert isinstance(admit(rules_of(kind, ListerOptions()), tally, candidate, now=NOW), Admitted)


def test_what_a_limit_leaves_out_is_counted_per_listing_until_it_is_read_without():
    tally = SourceTally()
    assert [tally.note_capped("a", 3), tally.note_capped("a", 3), tally.note_capped("b", 2)] == [
        True,
        False,
        True,
    ]
    again = SourceTally.from_json(tally.to_json())
    assert again.capped == 5
    again.note_capped("a", 0)
    assert again.capped == 2


def test_the_source_stops_at_max_urls():
    rules = rules_of(ListerKind.CRAWL, ListerOptions(max_urls=10))
    taken, _, codes = crawl((f"https://h.hr/{n}" for n in range(20)), rules)
    assert (taken, set(codes)) == (10, {"max_urls"})


@pytest.mark.parametrize(
    ("path", "is_taken"),
    [
        ("docs/notice.png", True),
        ("DOKUMENTI/2026/01/obavijest.JPG", True),
        ("wp-content/uploads/2026/01/odluka-o-cijenama.jpeg", True),
        ("files/price-tariff_2026.webp?v=3", True),
        ("a/9731.tif", True),
        ("prilozi/stranica%201.gif", True),
        ("img/notice-of-hearing.png", True),
        ("docs/img/architecture.png", False),
        ("docs/assets/screenshots/start.png", False),
        ("doc.documents.png", True),
        ("wp-content/uploads/2026/01/team-at-work.jpg", False),
        ("img/header.png", False),
        ("docs/logo.png", False),
        ("documents/thumbs/report.jpg", False),
        ("galerija/odluka-sabora.jpg", False),
        ("notice.svg", False),
        ("docs/notice.avif", False),
        ("doctor.png", False),
        ("a.png?file=docs/notice", False),
        ("docs/style.css", False),
    ],
)
def test_a_link_to_an_image_is_taken_where_its_address_says_that_it_is_a_document(path, is_taken):
    url = canonical(f"https://docs.h.hr/{path}") or ""
    found = admit(rules_of(ListerKind.CRAWL, ListerOptions()), SourceTally(), Candidate(url=url), now=NOW)
    assert isinstance(found, Admitted) == is_taken
    assert is_document(url) == is_taken
    if not is_taken:
        assert found.code == "page_part"


@pytest.mark.parametrize(
    ("candidate", "code"),
    [
        (Candidate(url="ftp://h.hr/a"), "scheme"),
        (Candidate(url="https://h.hr/style.css?v=3"), "page_part"),
        (Candidate(url="https://test.h.hr/a"), "blocked"),
        (Candidate(url="https://h.hr/propisi/login/a"), "exclude"),
        (Candidate(url="https://h.hr/a"), "include"),
        (Candidate(url="https://h.hr/propisi/a", depth=5), "max_depth"),
        (Candidate(url="https://h.hr/propisi/a.pdf", depth=6), "max_depth"),
        (
            Candidate(url="https://h.hr/propisi/a", published_at=datetime(2020, 1, 1, tzinfo=UTC)),
            "before_start_date",
        ),
        (
            Candidate(url="https://h.hr/propisi/a", published_at=datetime(2027, 1, 1, tzinfo=UTC)),
            "after_end_date",
        ),
    ],
)
def test_each_rule_names_itself(candidate, code):
    options = ListerOptions(
        include=(r"/propisi/",),
        exclude=(r"/login/",),
        start_date=datetime(2021, 1, 1, tzinfo=UTC),
        end_date=datetime(2026, 12, 31, tzinfo=UTC),
    )
    rules = rules_of(ListerKind.CRAWL, options, blocked_words=("test",))
    answer = admit(rules, SourceTally(), candidate, now=NOW)
    assert isinstance(answer, Reason)
    assert answer.code == code
    assert answer.note


def test_a_document_one_step_below_the_deepest_page_is_taken():
    assert isinstance(
        admit(CRAWL, SourceTally(), Candidate(url="https://h.hr/a.pdf", depth=5), now=NOW), Admitted
    )


def test_a_run_that_has_taken_enough_takes_no_more():
    answer = admit(CRAWL, SourceTally(), Candidate(url="https://h.hr/a"), now=NOW, left_in_run=0)
    assert isinstance(answer, Reason)
    assert answer.code == "run_limit"


def test_the_end_date_includes_its_day():
    rules = rules_of(ListerKind.FEED, ListerOptions(end_date=datetime(2026, 5, 31, tzinfo=UTC)))
    late = Candidate(url="https://h.hr/a", published_at=datetime(2026, 5, 31, 23, 59, tzinfo=UTC))
    assert isinstance(admit(rules, SourceTally(), late, now=NOW), Admitted)


def test_an_end_date_at_the_end_of_time_is_no_limit():
    rules = rules_of(ListerKind.FEED, ListerOptions(end_date=datetime(9999, 12, 31)))
    candidate = Candidate(url="https://h.hr/a", published_at=NOW)
    assert isinstance(admit(rules, SourceTally(), candidate, now=NOW), Admitted)


def test_patterns_see_the_decoded_address_too():
    rules = rules_of(ListerKind.CRAWL, ListerOptions(include=("/općine/",)))
    assert crawl(["https://h.hr/op%C4%87ine/a"], rules)[0] == 1


def test_a_pattern_that_is_not_re2_is_refused_with_its_option():
    with pytest.raises(ConfigError, match=r"exclude: '\(\?=a\)' is not a valid RE2"):
        rules_of(ListerKind.CRAWL, ListerOptions(exclude=("(?=a)",)))


# Properties.

SEGMENT = st.one_of(
    st.integers(0, 3000).map(str),
    st.sampled_from(["news", "a", "b", "2026-11-15", "x.html", "%C5%A1"]),
    st.text("abc019-_.", min_size=1, max_size=24),
)
URL = st.builds(
    lambda path, query: "https://h.hr/" + "/".join(path) + ("?" + "&".join(query) if query else ""),
    st.lists(SEGMENT, max_size=6),
    st.lists(st.builds("{}={}".format, st.sampled_from("abpqs"), SEGMENT), max_size=4),
)


@settings(deadline=None)
@given(st.lists(URL, max_size=60), st.integers(0, 30))
def test_never_more_than_max_urls_and_a_restart_decides_the_same(urls, limit):
    traps = TrapBudgets(facets=2, session=1, shape=3, calendar=2)
    rules = rules_of(ListerKind.CRAWL, ListerOptions(max_urls=limit, traps=traps))
    tally = SourceTally()
    for url in urls:
        before = json.dumps(tally.to_json())
        restored = SourceTally.from_json(json.loads(before))
        answer = admit(rules, tally, Candidate(url=url), now=NOW)
        assert admit(rules, restored, Candidate(url=url), now=NOW) == answer
        assert json.dumps(tally.to_json()) == before, "admit only asks"
        if isinstance(answer, Admitted):
            tally.take(answer)
    assert tally.admitted <= limit


@settings(deadline=None)
@given(URL)
def test_every_address_has_a_shape_and_pages_that_differ_by_a_number_share_it(url):
    assert shape_of(url) == shape_of(url)
    assert shape_of("https://h.hr/n/17.html").key == shape_of("https://h.hr/n/4711.html").key


def test_the_tally_stays_small_however_many_shapes_a_site_invents():
    words = ("".join(letters) for letters in itertools.product("abcdefgh", repeat=5))
    _, tally, _ = crawl((f"https://h.hr/{word}/{word}?{word}=1&b=2" for word in words), tries=15_000)
    assert len(json.dumps(tally.to_json())) < 4_000_000
    assert tally.admitted == 15_000


def test_a_tally_from_damaged_json_starts_empty_rather_than_fails():
    damaged = {"admitted": "x", "counts": [1], "queries": {"p": 3}, "texts": {"s": "no"}}
    assert SourceTally.from_json(damaged).admitted == 0


def test_a_listing_is_excluded_by_its_words_however_they_are_written():
    filters = filters_of(ListerOptions(include=("/novo/",), exclude=("/članci/", "%C5%A1")))
    for url in ("https://h.hr/%C4%8Dlanci/2", "https://h.hr/članci/2", "https://h.hr/%C5%A1port"):
        assert filters.refuse_listing(url) == EXCLUDED, url
    assert filters.refuse_listing("https://h.hr/staro/%C4%8D") is None, "include chooses pages"
