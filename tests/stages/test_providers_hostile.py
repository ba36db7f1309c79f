"""Nothing that a provider says raises, and no key comes back: not in text, errors, logs, rows or on the screen."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from provider_kit import ABOUT, KEY, panel

from vedette.contracts.fetch import Fetched, FetchRequest, FetchSettings
from vedette.contracts.words import Outcome, Secret
from vedette.core.lanes.outcomes import MEANING, outcome_of_status
from vedette.livingweb.providers.bodies import Told, answer
from vedette.providers.caller import HttpProvider, KeyScrubber, error_in_answer, judge, said, told_wait
from vedette.providers.formats import ANTHROPIC, COHERE, FORMATS, GEMINI, OPENAI, YOU, parse, text_of
from vedette.providers.provider_table import (
    BY_ANTHROPIC,
    BY_GROQ,
    BY_MISTRAL,
    BY_OPENAI,
    PROVIDERS,
    allowance,
    read_span,
    retry_after,
)

NOON = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
ROWS = {row.format: row for row in reversed(PROVIDERS)}
NAMES = (
    "choices message content refusal finish_reason usage prompt_tokens citations search_results text type data id "
    "models "
    "candidates parts finishReason promptFeedback blockReason usageMetadata results web hits url snippets error code "
    "details retryDelay violations quotaId detail annotations has_more endpoints name supportedGenerationMethods"
).split()
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=12),
    st.just("\ud800"),
    st.just("a\0b"),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=25,
)
GOOD = Told(model="m", text="All is well.", tokens_in=3, tokens_out=4, citations=("https://hgk.hr/",))


class Playing:
    """A fetcher that answers what it is told to."""

    def __init__(self, fetched: Fetched) -> None:
        self.fetched = fetched

    async def fetch(self, request: FetchRequest) -> Fetched:
        return self.fetched

    async def close(self) -> None: ...


def asked(format_: str, body: bytes, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> Any:
    outcome = outcome_of_status(status) if body or status >= 300 else Outcome.EMPTY
    fetched = Fetched(
        url="https://x.example/", outcome=outcome, at=NOON, took=timedelta(seconds=1), status=status, body=body,
        headers=headers,
    )  # fmt: skip
    one = HttpProvider(ROWS[format_], KEY, fetcher=Playing(fetched), settings=FetchSettings())
    return asyncio.run(one.query("hgk.hr", ABOUT)), asyncio.run(one.listing())


def check(answered: Any) -> None:
    assert answered.outcome in MEANING
    assert (answered.resp is not None) == (answered.outcome is Outcome.OK)
    assert KEY not in repr(answered)
    assert answered.detail.isprintable()
    assert len(answered.detail) <= 300
    if answered.resp is not None:
        written = answered.resp.text + json.dumps(answered.resp.meta, ensure_ascii=False)
        written.encode()
        assert "\0" not in written
        assert 0 <= answered.tokens_in < 2**31
        assert 0 <= answered.tokens_out < 2**31


@settings(max_examples=150)
@given(
    st.sampled_from(sorted(FORMATS)),
    TREES,
    st.sampled_from([200, 200, 201, 400, 401, 403, 429, 500, 529, 299]),
)
def test_any_json_is_an_answer_or_an_outcome(format_: str, tree: Any, status: int):
    answered, listing = asked(format_, json.dumps(tree).encode(), status)
    check(answered)
    assert all(isinstance(name, str) for name in listing.names)


def mutated(value: Any, draw: Any) -> Any:
    """The same shape with a few places torn out and something else put in."""
    if draw(st.integers(0, 7)) == 0:
        return draw(TREES)
    if isinstance(value, dict):
        return {name: mutated(one, draw) for name, one in value.items() if draw(st.integers(0, 9))}
    return [mutated(one, draw) for one in value] if isinstance(value, list) else value


@settings(max_examples=150)
@given(st.sampled_from(sorted(FORMATS)), st.data())
def test_a_real_answer_with_anything_torn_out_never_raises(format_: str, data: Any):
    real = json.loads(answer(format_, GOOD))
    check(asked(format_, json.dumps(mutated(real, data.draw)).encode())[0])


@given(st.sampled_from(sorted(FORMATS)), st.binary(max_size=200))
@example(OPENAI, b"[" * 100_000)
@example(OPENAI, b'{"a":' * 50_000)
@example(OPENAI, b'["\\ud800",' * 50_000)
@example(GEMINI, b"1" * 20_000)
@example(COHERE, b"\xff\xfe{}")
@example(ANTHROPIC, b'{"content": "\\ud83d')
def test_bytes_that_are_nothing_are_malformed_and_never_raise(format_: str, body: bytes):
    answered, _ = asked(format_, body)
    check(answered)
    assert answered.outcome is Outcome.MALFORMED_ANSWER


def test_an_answer_cut_within_an_emoji_is_still_an_answer():
    body = json.dumps({"choices": [{"message": {"content": "hgk.hr \ud83d"}, "finish_reason": "length"}]})
    answered, _ = asked(OPENAI, body.encode())
    assert answered.resp.text == "hgk.hr \ufffd"


def test_a_pair_of_surrogates_written_apart_is_one_letter():
    assert text_of("\ud83d\ude00") == "😀"
    assert text_of("a\0b") == "a\ufffdb"


def test_text_comes_in_parts_too_and_thoughts_are_left_out():
    parts = [{"type": "text", "text": "hgk"}, {"type": "image"}, 7, {"text": ".hr"}]
    chat = {"choices": [{"message": {"content": parts}}]}
    assert FORMATS[OPENAI].read(chat).text == "hgk.hr"  # type: ignore[union-attr]
    thinking = {"candidates": [{"content": {"parts": [{"text": "hm", "thought": True}, {"text": "hgk.hr"}]}}]}
    assert FORMATS[GEMINI].read(thinking).text == "hgk.hr"  # type: ignore[union-attr]
    assert FORMATS[YOU].read({"hits": [{"url": "https://a/", "snippets": ["x"]}]}).text == "x"  # type: ignore[union-attr]


def test_blank_lines_before_the_answer_are_passed_over():
    """DeepSeek keeps a waiting line open with them."""
    assert asked(OPENAI, b"\n\n\n" + answer(OPENAI, GOOD))[0].outcome is Outcome.OK


@given(st.text(max_size=40))
@example("1e400")
@example("-5")
@example("١٢")
@example("999999999999999999999h")
@example("0001-01-01T00:00:00+23:59")
@example("9999-12-31T23:59:59-23:59")
def test_any_header_is_a_limit_or_nothing(text: str):
    span = read_span(text, NOON)
    assert span is None or timedelta(0) <= span <= timedelta(days=1)
    for names in (BY_OPENAI, BY_ANTHROPIC, BY_MISTRAL, BY_GROQ):
        headers = tuple((name, text) for name in (*names.requests, *names.tokens) if name)
        told = allowance(headers, names, NOON)
        assert told is None or told.requests_per_minute is None or 1 <= told.requests_per_minute <= 1e9
    wait = retry_after((("Retry-After", text), ("retry-after-ms", text)))
    assert wait is None or timedelta(0) <= wait <= timedelta(days=1)


SPANS = {
    "1s": 1, "6m0s": 360, "120ms": 0.12, "2m59.56s": 179.56, "1h2m3s": 3723, "7.66": 7.66, "0": 0,
    "2026-11-16T12:00:30Z": 30, "2026-11-16T13:00:30+01:00": 30, "2026-11-16T11:00:00Z": 0, "49h": 86400,
}  # fmt: skip


@pytest.mark.parametrize(("text", "seconds"), SPANS.items())
def test_times_are_read_as_providers_write_them(text: str, seconds: float):
    assert read_span(text, NOON) == timedelta(seconds=seconds)


def test_milliseconds_and_fractions_to_wait_are_read():
    assert retry_after((("Retry-After-Ms", "1500"), ("Retry-After", "2"))) == timedelta(seconds=1.5)
    assert retry_after((("retry-after", "7.66"),)) == timedelta(seconds=7.66)
    assert retry_after((("x", "1"),)) is None


ERRORS: list[tuple[str, int, Any, Outcome]] = [
    (OPENAI, 429, {"error": {"code": "insufficient_quota"}}, Outcome.QUOTA_SPENT),
    (OPENAI, 429, {"error": {"code": "rate_limit_exceeded"}}, Outcome.THROTTLED),
    (OPENAI, 401, {"error": {"type": "insufficient_quota", "code": 401}}, Outcome.QUOTA_SPENT),
    (OPENAI, 402, {"error": {"message": "Insufficient Balance"}}, Outcome.QUOTA_SPENT),
    (OPENAI, 429, {"message": "Requests rate limit exceeded"}, Outcome.THROTTLED),
    (OPENAI, 401, {"detail": "Unauthorized"}, Outcome.AUTH_ERROR),
    (OPENAI, 401, None, Outcome.AUTH_ERROR),
    (OPENAI, 403, {"error": {"message": "Country not supported"}}, Outcome.AUTH_ERROR),
    (OPENAI, 403, None, Outcome.BLOCKED_PAGE),
    (OPENAI, 498, {"error": {"message": "Flex tier capacity exceeded"}}, Outcome.OVERLOADED),
    (OPENAI, 422, {"detail": [{"msg": "field required"}]}, Outcome.CLIENT_ERROR),
    (OPENAI, 400, {"error": {"code": "content_filter"}}, Outcome.REFUSED_CONTENT),
    (OPENAI, 404, {"error": {"code": "model_not_found"}}, Outcome.GONE),
    (OPENAI, 408, None, Outcome.TIMEOUT),
    (OPENAI, 504, None, Outcome.SERVER_ERROR),
    (ANTHROPIC, 400, {"error": {"message": "Your credit balance is too low to access"}}, Outcome.QUOTA_SPENT),
    (ANTHROPIC, 529, {"error": {"type": "overloaded_error"}}, Outcome.OVERLOADED),
    (ANTHROPIC, 413, {"error": {"type": "request_too_large"}}, Outcome.CLIENT_ERROR),
    (GEMINI, 400, {"error": {"details": [{"reason": "API_KEY_INVALID"}]}}, Outcome.AUTH_ERROR),
    (GEMINI, 429, {"error": {"message": "You exceeded your current quota, please check your plan and billing",
                             "details": [{"violations": [{"quotaId": "GenerateRequestsPerMinutePerProject"}]}]}},
     Outcome.THROTTLED),
    (GEMINI, 429, {"error": {"details": [{"violations": [{"quotaId": "RequestsPerDayPerProject"}]}]}},
     Outcome.QUOTA_SPENT),
    (GEMINI, 503, {"error": {"status": "UNAVAILABLE"}}, Outcome.OVERLOADED),
    (COHERE, 429, {"message": "Trial key, which is limited to 1000 API calls / month"}, Outcome.QUOTA_SPENT),
    (COHERE, 429, {"message": "Trial key, which is limited to 10 API calls / minute"}, Outcome.THROTTLED),
    (COHERE, 498, {"message": "blocked"}, Outcome.REFUSED_CONTENT),
    (YOU, 402, {"detail": "no credits"}, Outcome.QUOTA_SPENT),
]  # fmt: skip


@pytest.mark.parametrize(("format_", "status", "body", "outcome"), ERRORS)
def test_a_spent_key_is_told_from_a_hurried_one(format_: str, status: int, body: Any, outcome: Outcome):
    assert judge(format_, status, body) is outcome


def test_an_error_hidden_in_an_answer_of_status_200_is_found():
    assert error_in_answer(OPENAI, {"error": {"code": 429, "message": "slow down"}}) is Outcome.THROTTLED
    assert error_in_answer(OPENAI, {"error": {"code": "odd"}}) is Outcome.MALFORMED_ANSWER
    assert error_in_answer(OPENAI, [1]) is Outcome.MALFORMED_ANSWER


def test_google_says_the_time_to_wait_in_the_body():
    assert told_wait({"error": {"details": [{"retryDelay": "34.5s"}]}}) == timedelta(seconds=34.5)
    assert told_wait({"error": {"details": [{"retryDelay": "soon"}, 3]}}) is None


def test_words_of_an_error_are_one_line():
    assert said({"error": {"code": "c", "message": "a\n  b"}, "message": "a\n  b"}) == "c a b"
    assert said("text") == ""
    assert parse(b"nope") is None


# ---- keys ----

ECHOES = ["echo_key", "echo_header", "echo_in_answer"]


@pytest.mark.parametrize("fault", ECHOES)
async def test_a_key_that_is_quoted_back_is_in_nothing_that_we_give_or_write(
    fault: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
):
    caplog.set_level(logging.DEBUG)
    async with panel(fault) as town:
        for one in town.by_name.values():
            answered = await one.query("hgk.hr", ABOUT)
            written = repr(answered) + json.dumps(asdict(answered), default=str)
            for piece in (KEY, KEY[:10], KEY[-6:]):
                assert piece not in written, answered
            assert "***" in written
            for shown in (one, one._settings, one._scrubber, one.row, town.town.stats()):
                assert KEY not in repr(shown)
    seen = capfd.readouterr()
    assert KEY not in caplog.text + seen.out + seen.err


@given(st.sampled_from(sorted(FORMATS)), st.sampled_from(["plain", "escaped", "halved", "slashed"]))
def test_a_key_that_is_hidden_in_an_answer_is_masked(format_: str, how: str):
    body = answer(
        format_, Told(model="m", text=f"about hgk.hr {KEY} and more", citations=(f"https://x/?k={KEY}",))
    )
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in KEY).encode()
    half = b"\\u0073" + KEY[1:].encode()
    slashed = KEY.replace("/", "\\/").encode()
    ways = {"plain": KEY.encode(), "escaped": escaped, "halved": half, "slashed": slashed}
    body = body.replace(KEY.encode(), ways[how])
    answered, _ = asked(format_, body)
    assert answered.resp is not None
    assert "***" in answered.resp.text
    check(answered)


@given(st.text(alphabet="abcdefgh-_0123456789", min_size=20, max_size=60), st.data())
def test_every_longer_piece_of_a_key_is_masked_in_errors(key: str, data: Any):
    start = data.draw(st.integers(0, len(key) - 8))
    piece = key[start : start + data.draw(st.integers(8, len(key)))]
    cleaned = KeyScrubber(Secret(key)).clean_words(f"Incorrect key: {piece}***, see the page.")
    assert piece not in cleaned
    assert cleaned.startswith("Incorrect ")


def test_a_secret_shows_itself_nowhere_but_on_the_line():
    assert repr(Secret("x" * 20)) == "'***'"
    assert "Bearer" not in repr(FORMATS[OPENAI].headers(KEY))
    assert dict(FORMATS[OPENAI].headers(KEY))["Authorization"] == f"Bearer {KEY}"
