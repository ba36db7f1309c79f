"""One key's own limit, counted by the provider: an exact sliding minute, and how each provider tells it."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from datetime import UTC, datetime

from vedette.livingweb.providers.specs import KeyLimit

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
