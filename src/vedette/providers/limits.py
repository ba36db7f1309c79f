"""What the headers of an answer say about the key's limits.  One row of names per provider that tells them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from vedette.contracts.fetch import Headers
from vedette.contracts.panel import Allowance

MOST = 1e9  # a limit beyond it, or below one, is not a limit
LONGEST = timedelta(days=1)
_GO = re.compile(
    r"(?:(\d{1,6})h)?(?:(\d{1,6})m(?!s))?(?:(\d{1,6}(?:\.\d{1,9})?)s)?(?:(\d{1,9}(?:\.\d{1,9})?)ms)?"
)
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderNames:
    """Lower case; each triple is limit, left, back in.  "" where the provider does not tell."""

    requests: tuple[str, str, str] = ("", "", "")
    tokens: tuple[str, str, str] = ("", "", "")
    by_the_minute: bool = True  # False: requests are counted by the day, so they say nothing about a rate
    all_of_them: frozenset[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "all_of_them", frozenset((*self.requests, *self.tokens)) - {""})


UNTOLD = HeaderNames()
BY_OPENAI = HeaderNames(
    requests=("x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    tokens=("x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
)
# Groq: "x-ratelimit-limit-requests always refers to Requests Per Day", tokens to a minute.
BY_GROQ = HeaderNames(requests=BY_OPENAI.requests, tokens=BY_OPENAI.tokens, by_the_minute=False)
BY_ANTHROPIC = HeaderNames(
    requests=(
        "anthropic-ratelimit-requests-limit",
        "anthropic-ratelimit-requests-remaining",
        "anthropic-ratelimit-requests-reset",
    ),
    tokens=(
        "anthropic-ratelimit-tokens-limit",
        "anthropic-ratelimit-tokens-remaining",
        "anthropic-ratelimit-tokens-reset",
    ),
)
BY_MISTRAL = HeaderNames(
    requests=("x-ratelimit-limit-req-minute", "x-ratelimit-remaining-req-minute", ""),
    tokens=("x-ratelimit-limit-tokens-minute", "x-ratelimit-remaining-tokens-minute", ""),
)
BY_COHERE = HeaderNames(requests=("x-trial-endpoint-call-limit", "x-trial-endpoint-call-remaining", ""))


def allowance(headers: Headers, names: HeaderNames, now: datetime) -> Allowance | None:
    """None: the answer does not say."""
    if names is UNTOLD:
        return None
    found = {low: value for name, value in headers if (low := name.lower()) in names.all_of_them}
    if not found:
        return None
    limit, left, back = (found.get(name, "") for name in names.requests)
    tokens, tokens_left, tokens_back = (found.get(name, "") for name in names.tokens)
    return Allowance(
        requests_per_minute=_rate(limit) if names.by_the_minute else None,
        requests_left=_count(left),
        requests_back_in=read_span(back, now),
        tokens_per_minute=_rate(tokens),
        tokens_left=_count(tokens_left),
        tokens_back_in=read_span(tokens_back, now),
    )


def retry_after(headers: Headers) -> timedelta | None:
    """What fetch does not read: `retry-after-ms` (OpenAI), and a Retry-After with a fraction."""
    found: Mapping[str, str] = {name.lower(): value.strip() for name, value in headers}
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = found.get(name, "")
        if _NUMBER.fullmatch(value):
            return min(timedelta(seconds=float(value) * unit), LONGEST)
    return None


def read_span(text: str, now: datetime) -> timedelta | None:
    """`6m0s`, `120ms`, `7.66`, or a time in ISO form.  Never negative, at most a day."""
    text = text.strip()
    if not text or len(text) > 40:
        return None
    if _NUMBER.fullmatch(text):
        return min(timedelta(seconds=float(text)), LONGEST)
    match = _GO.fullmatch(text)
    if match is not None:
        hours, minutes, seconds, milliseconds = (float(part or 0) for part in match.groups())
        span = timedelta(hours=hours, minutes=minutes, seconds=seconds, milliseconds=milliseconds)
        return min(span, LONGEST)
    try:
        at = datetime.fromisoformat(text)
        wait = (at if at.tzinfo is not None else at.replace(tzinfo=UTC)) - now
    except (ValueError, OverflowError):
        return None
    return min(max(wait, timedelta()), LONGEST)


def _rate(text: str) -> float | None:
    number = float(text) if _NUMBER.fullmatch(text) else 0.0
    return number if 1 <= number <= MOST else None


def _count(text: str) -> int | None:
    return int(float(text)) if _NUMBER.fullmatch(text) else None
