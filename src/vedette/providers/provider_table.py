"""The providers.  A thirteenth is one row here; only a new wire format needs an adapter (`formats`).

Limits are what a plain paid key gets, below them until the answers' headers say otherwise.  Prices are list prices
as the providers' pages gave them in 2025, in US dollars; `providers.NAME.price` in the configuration replaces them, and
a provider without a price refuses to start under a cost ceiling.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from vedette.contracts.fetch import Headers
from vedette.contracts.panel_run import Allowance
from vedette.providers.formats import ANTHROPIC, COHERE, GEMINI, OPENAI, YOU

# What the headers of an answer say about the key's limits.  One row of names per provider that tells them.

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


CHAT, MODELS = "/chat/completions", "/models"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRow:
    """One provider of spec 003: where it is, how it talks, what it allows."""

    name: str  # spec 003's: openai/gpt-4o-mini
    format: str  # of `formats.FORMATS`
    base_url: str
    path: str  # {model} stands for the model
    model: str  # as the provider spells it
    key_env: str  # the key; NAME_2, NAME_3 ... are further keys
    lane: str  # "provider:<lane>/k1"; models that share a limit share it
    models_path: str = ""  # "": it does not tell its models
    is_search: bool = False
    per_minute: float = 84.0  # requests of one key; 84 carries 10,000 domains in two hours
    at_once: int = 16
    headers: HeaderNames = UNTOLD
    tokens_field: str = "max_tokens"
    price: tuple[float, float, float] | None = None  # per million tokens in, out; per request


PROVIDERS: tuple[ProviderRow, ...] = (
    ProviderRow(
        name="openai/gpt-4o-mini", format=OPENAI, base_url="https://api.openai.com/v1", path=CHAT,
        model="gpt-4o-mini", key_env="OPENAI_API_KEY", lane="openai", models_path=MODELS,
        per_minute=500, headers=BY_OPENAI, price=(0.15, 0.60, 0.0),
        tokens_field="max_completion_tokens",  # its newer models refuse the old name
    ),
    ProviderRow(
        name="anthropic/claude-3-haiku", format=ANTHROPIC, base_url="https://api.anthropic.com/v1",
        path="/messages", model="claude-3-haiku-20240307", key_env="ANTHROPIC_API_KEY", lane="anthropic",
        models_path="/models?limit=1000", per_minute=1000, headers=BY_ANTHROPIC, price=(0.25, 1.25, 0.0),
    ),
    ProviderRow(
        name="google/gemini-1.5-flash", format=GEMINI,
        base_url="https://generativelanguage.googleapis.com/v1beta", path="/models/{model}:generateContent",
        model="gemini-1.5-flash", key_env="GEMINI_API_KEY", lane="google",
        models_path="/models?pageSize=1000", per_minute=1000, price=(0.075, 0.30, 0.0),
    ),
    ProviderRow(
        name="deepseek", format=OPENAI, base_url="https://api.deepseek.com", path=CHAT, lane="deepseek",
        model="deepseek-chat", key_env="DEEPSEEK_API_KEY", models_path=MODELS, per_minute=300,
        price=(0.28, 0.42, 0.0),
    ),
    ProviderRow(
        name="mistral", format=OPENAI, base_url="https://api.mistral.ai/v1", path=CHAT, lane="mistral",
        model="mistral-small-latest", key_env="MISTRAL_API_KEY", models_path=MODELS, per_minute=300,
        headers=BY_MISTRAL, price=(0.10, 0.30, 0.0),
    ),
    ProviderRow(
        name="cohere", format=COHERE, base_url="https://api.cohere.com", path="/v2/chat", lane="cohere",
        model="command-r-08-2024", key_env="COHERE_API_KEY", per_minute=500, headers=BY_COHERE,
        models_path="/v1/models?page_size=1000&endpoint=chat", price=(0.15, 0.60, 0.0),
    ),
    ProviderRow(
        name="groq", format=OPENAI, base_url="https://api.groq.com/openai/v1", path=CHAT, lane="groq",
        model="llama-3.3-70b-versatile", key_env="GROQ_API_KEY", models_path=MODELS, per_minute=500,
        headers=BY_GROQ, price=(0.59, 0.79, 0.0),
    ),
    ProviderRow(
        name="ai21/jamba", format=OPENAI, base_url="https://api.ai21.com/studio/v1", path=CHAT, lane="ai21",
        model="jamba-mini", key_env="AI21_API_KEY", per_minute=200, price=(0.20, 0.40, 0.0),
    ),
    ProviderRow(
        name="perplexity/sonar", format=OPENAI, base_url="https://api.perplexity.ai", path=CHAT,
        lane="perplexity-sonar", model="sonar", key_env="PERPLEXITY_API_KEY", is_search=True, per_minute=100,
        price=(1.0, 1.0, 0.005),
    ),
    ProviderRow(
        name="perplexity/sonar-pro", format=OPENAI, base_url="https://api.perplexity.ai", path=CHAT,
        lane="perplexity-sonar-pro", model="sonar-pro", key_env="PERPLEXITY_API_KEY", is_search=True,
        per_minute=100, price=(3.0, 15.0, 0.006),
    ),
    ProviderRow(  # spec 003's sonar-large is this model; Perplexity ended it; sonar-pro is next to it
        name="perplexity/sonar-large", format=OPENAI, base_url="https://api.perplexity.ai", path=CHAT,
        lane="perplexity-sonar-large", model="llama-3.1-sonar-large-128k-online", is_search=True,
        key_env="PERPLEXITY_API_KEY", per_minute=100,
    ),
    ProviderRow(
        name="you/search", format=YOU, base_url="https://ydc-index.io", path="/v1/search", lane="you",
        model="search", key_env="YOU_API_KEY", is_search=True, per_minute=300,
    ),
)  # fmt: skip
BY_NAME = {row.name: row for row in PROVIDERS}
