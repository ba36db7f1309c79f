"""What is asked of a provider, and what it answered (spec 003).

spec 003's words stay at this boundary: `ProviderResp` and its five fields, `prompt_type`, `batch_id`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any, Protocol

from vedette.contracts.words import Outcome


class QualityFlag(StrEnum):
    """What is wrong with an answer that did arrive."""

    OK = "ok"
    EMPTY = "empty"
    REFUSAL = "refusal"
    TRUNCATED = "truncated"
    OFF_TOPIC = "off-topic"
    DUPLICATE = "duplicate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One question.  `{domain}` in its text stands for the domain."""

    prompt_type: str
    text: str
    tier: int = 1  # 1 is asked first and dropped last
    version: str = "1"
    system: str = ""
    most_tokens: int = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderResp:
    """Spec 003's five fields.  `meta` holds `usage`, `citations`, `model` as the provider named it, `finish`."""

    text: str
    latency_ms: int
    retry_count: int = 0
    quality_flag: QualityFlag | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What the headers of an answer say about the key's limits; None: they do not say."""

    requests_per_minute: float | None = None
    requests_left: int | None = None
    requests_back_in: timedelta | None = None
    tokens_per_minute: float | None = None
    tokens_left: int | None = None
    tokens_back_in: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How one call ended.  `resp` is there when, and only when, the outcome is ok."""

    outcome: Outcome
    resp: ProviderResp | None = None
    allowance: Allowance | None = None
    retry_after: timedelta | None = None
    status: int | None = None
    took: timedelta = timedelta(0)
    tokens_in: int = 0
    tokens_out: int = 0
    detail: str = ""  # for people; never a key


class Provider(Protocol):
    """Spec 003's `ProviderAdapter`, bound to one key.  Never raises for weather."""

    def name(self) -> str:
        """As in spec 003: `openai/gpt-4o-mini`."""
        ...

    def supports_search_enhanced(self) -> bool: ...

    async def list_models(self) -> Sequence[str]:
        """What the provider says it has; empty when it does not say."""
        ...

    async def query(
        self, domain: str, prompt: Prompt, *, on_sent: Callable[[], None] | None = None
    ) -> Answer:
        """`on_sent` is called when the request is on the line: from then on the far end counts it."""
        ...
