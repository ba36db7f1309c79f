"""RFC 9309, and robots.txt files written to hurt."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.fetch import Fetched, RobotsRules
from vedette.contracts.words import Outcome
from vedette.core.urls.canonical import canonical
from vedette.fetch.robots import (
    CACHED_CHARS,
    PATH_SIZE,
    SPECIALS,
    RobotsJudge,
    merge_robots,
    parse_robots,
    read_robots,
)

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
ORIGIN = "https://hgk.hr"


TWICE = "User-agent: vedette\nDisallow: /a\n\nUser-agent: x\nAllow: /\n\nUser-agent: vedette\nDisallow: /b"


def answer(body: bytes | str = b"", outcome: Outcome = Outcome.OK, **fields: object) -> Fetched:
    raw = body.encode() if isinstance(body, str) else body
    known = {
        "url": ORIGIN + "/robots.txt",
        "outcome": outcome,
        "at": NOW,
        "took": HOUR,
        "status": 200,
        "body": raw,
    }
    return Fetched(**known | fields)  # type: ignore[arg-type]


def rules_of(body: bytes | str, **fields: object) -> RobotsRules:
    return parse_robots(answer(body, **fields), origin=ORIGIN, agent="vedette", now=NOW)  # type: ignore[arg-type]


def may(body: bytes | str, path: str) -> bool:
    return RobotsJudge().allows(rules_of(body), ORIGIN + path, "vedette") is None


@pytest.mark.parametrize(
    ("text", "path", "allowed"),
    [
        ("User-agent: *\nDisallow: /a", "/a", False),
        ("User-agent: *\nDisallow: /a", "/abc", False),
        ("User-agent: *\nDisallow: /a", "/b", True),
        ("User-agent: *\nDisallow:", "/a", True),
        ("User-agent: *\nDisallow: /", "/robots.txt", True),
        ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("User-agent: *\nAllow: /a/b\nDisallow: /a", "/a/c", False),
        ("User-agent: *\nDisallow: /a\nAllow: /a", "/a", True),
        ("User-agent: *\nDisallow: /a$", "/a", False),
        ("User-agent: *\nDisallow: /a$", "/ab", True),
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf", False),
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf?z=1", True),
        ("User-agent: *\nDisallow: /*?", "/x?y", False),
        ("User-agent: *\nDisallow: /%7Ejoe", "/~joe", False),
        ("User-agent: *\nDisallow: /~joe", "/%7Ejoe", False),
        ("User-agent: *\nDisallow: /ž", "/%C5%BE", False),
        ("User-agent: *\nDisallow: /%c5%be", "/%C5%BE", False),
        ("User-agent: *\nDisallow: /a%2fb", "/a/b", True),
        ("User-agent: VEDETTE\nDisallow: /\n\nUser-agent: *\nAllow: /", "/a", False),
        ("User-agent: Vedette/1.0\nDisallow: /\n\nUser-agent: *\nAllow: /", "/a", False),
        ("User-agent: vedette bot\nDisallow: /", "/a", False),
        ("User-agent: ved\nDisallow: /", "/a", True),
        ("User-agent: vedette-news\nDisallow: /", "/a", True),
        (TWICE, "/b", False),
        ("User-agent: vedette\nDisallow: /a\n\nUser-agent: *\nDisallow: /b", "/b", True),
        ("User-agent: vedette\nDisallow:\n\nUser-agent: *\nDisallow: /", "/b", True),
        ("User-agent: x\nUser-agent: vedette\nDisallow: /", "/b", False),
        ("User-agent: vedette\n\nUser-agent: x\nDisallow: /", "/b", False),
        ("User-agent: *\nCrawl-delay: 9\n\nUser-agent: x\nDisallow: /", "/b", True),
        ("User-agent: vedette\nSitemap: /s.xml\nUser-agent: x\nDisallow: /", "/b", False),
        ("User-agent: vedette\nCrawl-delay: 9\nUser-agent: x\nDisallow: /", "/b", False),
        ("User-agent: vedette\nCrawl-delay: 9\nDisallow: /a\nUser-agent: x\nDisallow: /", "/b", True),
        ("User-agent: vedette\nNoindex: /s\nUser-agent: x\nDisallow: /", "/b", False),
        ("User-agent: vedette\nNoindex: /s\n\nUser-agent: x\nDisallow: /", "/b", False),
        ("User-agent: vedette\n# a word\nUser-agent: x\nDisallow: /", "/b", False),
        ("User-agent: vedette\nDisallow: /a\nNoindex: /s\nUser-agent: x\nDisallow: /", "/b", True),
        ("User-agent: x\nNoindex: /s\nDisallow: /a\nUser-agent: vedette\nDisallow: /b", "/a", True),
        ("User-agent: *SomeBot*\nDisallow: /", "/b", True),
        ("User-agent: *bot\nDisallow: /", "/b", True),
        ("User-agent: **\nDisallow: /", "/b", True),
        ("User-agent: */1.0\nDisallow: /", "/b", True),
        ("User-agent: * all of you\nDisallow: /", "/b", False),
        ("User-agent: *\tall\nDisallow: /", "/b", False),
        ("<!-- of the web team -->\nUser-agent: *\nDisallow: /", "/b", False),
        ("<pre>\nUser-agent: *\nDisallow: /\n</pre>", "/b", False),
        ("<p>User-agent: *</p>\nDisallow: /", "/b", True),
        ("Disallow: /", "/b", True),
        ("\ufeffUser-agent: *\nDisallow: /", "/b", False),
        ("User-agent: *\rDisallow: /", "/b", False),
        ("User-agent: *\r\nDisallow: /", "/b", False),
        ("USER-AGENT:*\nDISALLOW:/", "/b", False),
        ("User-agent: * # all\nDisallow: /x # not this", "/x", False),
        ("User-agent *\nDisallow /x", "/x", False),
        ("User-agent: *\nDissallow: /x", "/x", False),
        ("User-agent: *\nDisallow: /a\x0bb", "/zzz", True),
        ("User-agent: *\nDisallow: /x\x0bUser-agent: vedette\nAllow: /", "/x", True),
    ],
)  # fmt: skip
def test_a_rule_means_what_the_standard_says(text: str, path: str, allowed: bool) -> None:
    assert may(text, path) is allowed


@pytest.mark.parametrize(
    ("outcome", "status", "verdict"),
    [
        (Outcome.GONE, 404, "allow_all"),
        (Outcome.CLIENT_ERROR, 403, "allow_all"),
        (Outcome.LOGIN_WALL, 401, "allow_all"),
        (Outcome.LOGIN_WALL, 407, "allow_all"),
        (Outcome.TIMEOUT, 408, "allow_all"),
        (Outcome.LOGIN_WALL, 511, "deny_all"),
        (Outcome.EMPTY, 200, "allow_all"),
        (Outcome.REDIRECT_ERROR, 302, "allow_all"),
        (Outcome.THROTTLED, 429, "deny_all"),
        (Outcome.THROTTLED, 503, "deny_all"),
        (Outcome.SERVER_ERROR, 500, "deny_all"),
        (Outcome.TIMEOUT, None, "deny_all"),
        (Outcome.DNS_ERROR, None, "deny_all"),
        (Outcome.CONNECT_ERROR, None, "deny_all"),
        (Outcome.TLS_ERROR, None, "deny_all"),
        (Outcome.TRUNCATED, 200, "deny_all"),
        (Outcome.ADDRESS_REFUSED, None, "deny_all"),
    ],
)
def test_unavailable_is_leave_and_unreachable_is_none(
    outcome: Outcome, status: int | None, verdict: str
) -> None:
    rules = rules_of(b"User-agent: *\nDisallow: /a", outcome=outcome, status=status)
    assert (rules.verdict, rules.text) == (verdict, "")
    reason = RobotsJudge().allows(rules, ORIGIN + "/b", "vedette")
    assert (reason is None) == (verdict == "allow_all")
    assert reason is None or (reason.code == "robots_unreachable" and outcome.value in reason.note)


@pytest.mark.parametrize("page", [b"<!doctype html><p>404", b"\n  <html>", b"\xef\xbb\xbf<?xml", b"", b" \n"])
def test_a_page_in_place_of_robots_txt_forbids_nothing(page: bytes) -> None:
    assert rules_of(page).verdict == "allow_all"


@pytest.mark.parametrize(
    ("control", "hours"),
    [
        ("", 24),
        ("max-age=7200", 2),
        ("max-age=60", 1),
        ("public, max-age=999999", 24),
        ("no-cache", 1),
        ("max-age=x", 24),
    ],
)
def test_rules_hold_as_long_as_the_site_says_within_bounds(control: str, hours: int) -> None:
    rules = rules_of("User-agent: *\nDisallow: /", headers=(("Cache-Control", control),))
    assert rules.expires_at - NOW == hours * HOUR


def test_the_reason_names_the_line_that_forbids() -> None:
    text = "# hgk\nUser-agent: *\nDisallow: /a\nDisallow: /a/private\n"
    reason = RobotsJudge().allows(rules_of(text), ORIGIN + "/a/private/x", "vedette")
    assert reason is not None
    assert (reason.code, reason.note) == ("robots_rule", "line 4: Disallow: /a/private")


def test_crawl_delay_and_sitemaps_are_read_out() -> None:
    groups = "User-agent: vedette\nCrawl-delay: 2.5\n\nUser-agent: *\nCrawl-delay: 9\n"
    text = "Sitemap: /map.xml\nSitemap: ftp://x/y\n" + groups
    rules = rules_of(text)
    assert (rules.crawl_delay, rules.sitemaps) == (2.5, (ORIGIN + "/map.xml",))
    assert RobotsJudge().crawl_delay(rules, "other") == 9.0


@pytest.mark.parametrize("delay", ["-1", "nan", "inf", "soon", "1e999"])
def test_a_senseless_crawl_delay_is_none(delay: str) -> None:
    assert rules_of(f"User-agent: *\nCrawl-delay: {delay}\nDisallow: /a").crawl_delay is None


def test_a_failed_refresh_keeps_the_old_rules_for_a_time() -> None:
    old = rules_of("User-agent: *\nDisallow: /a")
    failed = parse_robots(
        answer(outcome=Outcome.TIMEOUT, status=None), origin=ORIGIN, agent="vedette", now=NOW
    )
    kept = merge_robots(old, failed, NOW + 30 * HOUR)
    assert (kept.text, kept.expires_at) == (old.text, NOW + 30 * HOUR + timedelta(minutes=10))
    assert merge_robots(old, failed, NOW + 49 * HOUR) is failed


def test_an_origin_that_stays_unreachable_is_asked_less_and_less() -> None:
    now, rules = NOW, None
    waits = []
    for _ in range(5):
        failed = parse_robots(answer(outcome=Outcome.SERVER_ERROR), origin=ORIGIN, agent="vedette", now=now)
        rules = merge_robots(rules, failed, now)
        waits.append((rules.expires_at - now).total_seconds() / 60)
        now = rules.expires_at
    assert waits == [10, 20, 40, 60, 60]


def test_not_modified_renews_what_we_have() -> None:
    old = rules_of("User-agent: *\nDisallow: /a")
    same = parse_robots(
        answer(outcome=Outcome.NOT_MODIFIED, status=304), origin=ORIGIN, agent="vedette", now=NOW
    )
    renewed = merge_robots(old, same, NOW + 24 * HOUR)
    assert (renewed.text, renewed.expires_at) == (old.text, NOW + 48 * HOUR)


def test_what_is_behind_500_kib_is_not_read_and_no_rule_is_cut_in_half() -> None:
    rules = rules_of(b"User-agent: *\n" + b"Disallow: /abcdefgh\n" * 40_000, outcome=Outcome.TOO_LARGE)
    assert len(rules.text) <= 500 * 1024
    assert rules.text.endswith("Disallow: /abcdefgh\n")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_an_odd_charset_is_read(encoding: str) -> None:
    assert not may("User-agent: *\nDisallow: /a\n# ž".replace("ž", "z").encode(encoding), "/a")


def many(line: str) -> str:
    return "User-agent: *\n" + "\n".join(line % n for n in range(512_000 // len(line)))


BAIT = {
    "many agents over many rules": "\n".join(f"User-agent: b{n}" for n in range(12_000))
    + "\n"
    + many("Disallow: /a%d"),
    "wildcards": many("Disallow: /*a*a*a*a*a*a*a*b%d"),
    "stars": "User-agent: *\n" + ("Disallow: /" + "*a" * 2000 + "b\n") * 120,
    "dollars": "User-agent: *\nDisallow: /" + "$" * 500_000,
    "one long rule": "User-agent: *\nAllow: /\nDisallow: /" + "*a" * 250_000 + "b",
    "plain": many("Disallow: /p%d/"),
    "empty lines": "\n" * 512_000,
}


@pytest.mark.parametrize("name", BAIT)
def test_a_hostile_file_becomes_a_bounded_amount_of_work(name: str) -> None:
    own = read_robots(BAIT[name], "vedette")
    assert sum(rule.path.count("*") + rule.path.count("$") for rule in own.rules) <= SPECIALS
    assert all(len(rule.path) <= PATH_SIZE for rule in own.rules)
    rules, judge = rules_of(BAIT[name]), RobotsJudge()
    for n in range(3):
        judge.allows(rules, f"{ORIGIN}/{'a' * 2000}{n}", "vedette")


def test_past_the_budget_a_wildcard_refuses_rather_than_allows() -> None:
    text = many("Disallow: /x/*a%d") + "\nAllow: /x/*ok"
    assert may(text, "/y")
    assert not may(text, "/x/ok")


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=300), st.text(max_size=40))
def test_no_text_breaks_the_judge(text: str, path: str) -> None:
    url = canonical("/" + path, ORIGIN + "/")
    rules = rules_of("User-agent: *\nDisallow: " + text)
    reason = RobotsJudge().allows(rules, url, "vedette") if url else None
    assert reason is None or reason.code == "robots_rule"


def test_the_judge_forgets_what_was_asked_longest_ago() -> None:
    judge = RobotsJudge()
    big = "User-agent: *\n" + "\n".join(f"Disallow: /{'x' * 2000}{n}" for n in range(200))
    for n in range(120):
        rules = parse_robots(answer(big), origin=f"https://h{n}.hr", agent="vedette", now=NOW)
        assert judge.allows(rules, f"https://h{n}.hr/a", "vedette") is None
    assert sum(parsed.chars for parsed in judge._parsed.values()) <= CACHED_CHARS
