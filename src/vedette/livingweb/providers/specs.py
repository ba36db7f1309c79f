"""The twelve providers as they are played: address, wire format, models, latency, limits, faults."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

OPENAI, ANTHROPIC, GEMINI, COHERE, YOU = "openai", "anthropic", "gemini", "cohere", "you"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLimit:
    """What one key may do; 0: no such limit.  The window is `slack` seconds short of a minute: lines jitter."""

    per_minute: float = 0.0
    tokens_per_minute: float = 0.0
    slack: float = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRule:
    """A share of the requests that arrive in [start, end), seconds after the server began, meets `kind`."""

    kind: str
    share: float = 1.0
    start: float = 0.0
    end: float = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChange:
    """At that second a model appears, vanishes, or both: then it is renamed."""

    at: float
    added: str = ""
    dropped: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSpec:
    """One provider.  `headers` names the style in which it tells its limits; "" says nothing."""

    name: str
    format: str
    path: str
    models: tuple[str, ...]  # the first is the one the panel asks
    models_path: str = ""
    headers: str = ""
    retry_after: bool = False  # its 429 carries the header
    latency: tuple[float, float] = (0.8, 2.0)  # seconds: median, 95 %
    limit: KeyLimit = KeyLimit()
    keys: tuple[str, ...] = ()  # that it accepts; none named: any
    faults: tuple[FaultRule, ...] = ()
    model_changes: tuple[ModelChange, ...] = ()
    cites: bool = False


CHAT = "/v1/chat/completions"

# Rates: what a usual paid key gets, per the providers' pages as of 2025; `limited` gives others.
TWELVE: tuple[ProviderSpec, ...] = (
    ProviderSpec(
        name="openai/gpt-4o-mini", format=OPENAI, path=CHAT, models_path="/v1/models", headers="openai",
        models=("gpt-4o-mini", "gpt-4o-mini-2024-07-18", "gpt-4o", "gpt-4.1-mini"), retry_after=True,
        latency=(0.7, 1.8), limit=KeyLimit(per_minute=500, tokens_per_minute=200_000),
    ),
    ProviderSpec(
        name="anthropic/claude-3-haiku", format=ANTHROPIC, path="/v1/messages", models_path="/v1/models",
        models=("claude-3-haiku-20240307", "claude-3-5-haiku-20241022", "claude-sonnet-4-20250514"),
        headers="anthropic", retry_after=True, latency=(0.6, 1.5),
        limit=KeyLimit(per_minute=1000, tokens_per_minute=450_000),
    ),
    ProviderSpec(
        name="google/gemini-1.5-flash", format=GEMINI, path="/v1beta/models/{model}:generateContent",
        models=("gemini-1.5-flash", "gemini-1.5-flash-8b", "gemini-1.5-pro", "gemini-2.0-flash"),
        models_path="/v1beta/models", latency=(0.5, 1.3), limit=KeyLimit(per_minute=2000),
    ),
    ProviderSpec(
        name="deepseek", format=OPENAI, path="/chat/completions", models_path="/models",
        models=("deepseek-chat", "deepseek-reasoner"), latency=(1.5, 4.0), limit=KeyLimit(per_minute=600),
    ),
    ProviderSpec(
        name="mistral", format=OPENAI, path=CHAT, models_path="/v1/models", headers="mistral",
        models=("mistral-small-latest", "mistral-small-2503", "mistral-large-latest"), latency=(0.6, 1.6),
        limit=KeyLimit(per_minute=360, tokens_per_minute=2_000_000),
    ),
    ProviderSpec(
        name="cohere", format=COHERE, path="/v2/chat", models_path="/v1/models", headers="cohere",
        models=("command-r-08-2024", "command-r-plus-08-2024", "command-a-03-2025"), latency=(0.8, 2.0),
        limit=KeyLimit(per_minute=500),
    ),
    ProviderSpec(
        name="groq", format=OPENAI, path="/openai/v1/chat/completions", models_path="/openai/v1/models",
        models=("llama-3.3-70b-versatile", "llama-3.1-8b-instant"), headers="groq", retry_after=True,
        latency=(0.25, 0.6), limit=KeyLimit(per_minute=1000, tokens_per_minute=300_000),
    ),
    ProviderSpec(
        name="ai21/jamba", format=OPENAI, path="/studio/v1/chat/completions", latency=(1.0, 2.5),
        models=("jamba-mini", "jamba-large"), limit=KeyLimit(per_minute=200),
    ),
    ProviderSpec(
        name="perplexity/sonar", format=OPENAI, path="/chat/completions", cites=True,
        models=("sonar", "sonar-pro", "llama-3.1-sonar-large-128k-online"), latency=(1.8, 4.0),
        limit=KeyLimit(per_minute=500),
    ),
    ProviderSpec(
        name="perplexity/sonar-pro", format=OPENAI, path="/chat/completions", cites=True,
        models=("sonar-pro", "sonar", "llama-3.1-sonar-large-128k-online"), latency=(2.5, 6.0),
        limit=KeyLimit(per_minute=500),
    ),
    ProviderSpec(
        name="perplexity/sonar-large", format=OPENAI, path="/chat/completions", cites=True,
        models=("llama-3.1-sonar-large-128k-online", "sonar", "sonar-pro"), latency=(2.2, 5.0),
        limit=KeyLimit(per_minute=500),
    ),
    ProviderSpec(
        name="you/search", format=YOU, path="/v1/search", models=("search",), cites=True,
        latency=(0.4, 0.9), limit=KeyLimit(per_minute=600),
    ),
)  # fmt: skip


# One key's own limit, counted by the provider: an exact sliding minute, and how each provider tells it.

DAY_REQUESTS = 500_000  # of the one provider that tells requests by the day
MINUTE = 60.0


class KeyCount:
    """What one key did.  A call beyond the limit is a violation, is refused, and takes no room."""

    def __init__(self, limit: KeyLimit) -> None:
        self.limit = limit
        self.requests = 0
        self.violations: Counter[str] = Counter()  # requests | tokens
        self.most_in_a_minute = 0
        self.by_minute: Counter[int] = Counter()
        self._taken: deque[tuple[float, int]] = deque()  # when, tokens
        self._tokens = 0

    def take(self, at: float, tokens: int) -> str:
        """Let one call in: "", or the limit that it breaks."""
        self.requests += 1
        self.by_minute[int(at // MINUTE)] += 1
        self._expire(at)
        limit = self.limit
        broken = ""
        if limit.per_minute and len(self._taken) >= limit.per_minute:
            broken = "requests"
        elif limit.tokens_per_minute and self._tokens + tokens > limit.tokens_per_minute:
            broken = "tokens"
        if broken:
            self.violations[broken] += 1
            return broken
        self._taken.append((at, tokens))
        self._tokens += tokens
        self.most_in_a_minute = max(self.most_in_a_minute, len(self._taken))
        return ""

    def left(self) -> tuple[int, int]:
        """Requests and tokens."""
        requests = int(self.limit.per_minute) - len(self._taken)
        return max(0, requests), max(0, int(self.limit.tokens_per_minute) - self._tokens)

    def back_in(self, at: float) -> float:
        """Seconds until the oldest call has had its minute."""
        return max(0.0, self._taken[0][0] + MINUTE - at) if self._taken else 0.0

    def _expire(self, at: float) -> None:
        taken, ago = self._taken, at - MINUTE + self.limit.slack
        while taken and taken[0][0] <= ago:
            self._tokens -= taken.popleft()[1]


def limit_headers(style: str, count: KeyCount, at: float) -> bytes:
    """The header lines by which a provider of this style tells the key's limits."""
    return _STYLES[style](count, at) if style else b""


def _openai(count: KeyCount, at: float) -> bytes:
    requests, tokens = count.left()
    back = _go_duration(count.back_in(at))
    lines = _lines("x-ratelimit-%s-requests", int(count.limit.per_minute), requests, back)
    return lines + _lines("x-ratelimit-%s-tokens", int(count.limit.tokens_per_minute), tokens, back)


def _groq(count: KeyCount, at: float) -> bytes:
    """Groq tells requests by the day and tokens by the minute, under OpenAI's names."""
    _, tokens = count.left()
    left = max(0, DAY_REQUESTS - count.requests)
    lines = _lines("x-ratelimit-%s-requests", DAY_REQUESTS, left, _go_duration(172.8))
    back = _go_duration(count.back_in(at))
    return lines + _lines("x-ratelimit-%s-tokens", int(count.limit.tokens_per_minute), tokens, back)


def _anthropic(count: KeyCount, at: float) -> bytes:
    requests, tokens = count.left()
    back = datetime.fromtimestamp(at + count.back_in(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    lines = _lines("anthropic-ratelimit-requests-%s", int(count.limit.per_minute), requests, back)
    return lines + _lines("anthropic-ratelimit-tokens-%s", int(count.limit.tokens_per_minute), tokens, back)


def _mistral(count: KeyCount, at: float) -> bytes:
    requests, tokens = count.left()
    lines = _lines("x-ratelimit-%s-req-minute", int(count.limit.per_minute), requests, "")
    return lines + _lines("x-ratelimit-%s-tokens-minute", int(count.limit.tokens_per_minute), tokens, "")


def _cohere(count: KeyCount, at: float) -> bytes:
    return _lines("x-trial-endpoint-call-%s", int(count.limit.per_minute), count.left()[0], "")


def _lines(name: str, limit: int, left: int, reset: str) -> bytes:
    if limit <= 0:
        return b""
    text = f"{name % 'limit'}: {limit}\r\n{name % 'remaining'}: {left}\r\n"
    return (text + (f"{name % 'reset'}: {reset}\r\n" if reset else "")).encode()


def _go_duration(seconds: float) -> str:
    """As Go prints one: 120ms, 7.66s, 2m59.56s."""
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    minutes, rest = divmod(seconds, 60)
    return f"{minutes:.0f}m{rest:.2f}s" if minutes else f"{rest:.2f}s"


_STYLES: dict[str, Callable[[KeyCount, float], bytes]] = {
    "openai": _openai,
    "groq": _groq,
    "anthropic": _anthropic,
    "mistral": _mistral,
    "cohere": _cohere,
}
