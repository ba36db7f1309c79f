"""From an answer that is an error to an Outcome.  One table, first match wins; words are matched in lower case.

Spent keys are told apart from hurried ones, because waiting heals only the second (LiteLLM issue 37592).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from vedette.contracts.words import Outcome
from vedette.core.lanes.outcomes import outcome_of_status
from vedette.providers.formats import COHERE, GEMINI, at, rows, text_of

WORDS_SIZE = 300
LONGEST = timedelta(days=1)
_SECONDS = re.compile(r"(\d{1,6}(?:\.\d{1,9})?)s")


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRow:
    """What an error of these statuses (none: any) with one of these words (none: any) means."""

    outcome: Outcome
    status: tuple[int, ...] = ()
    words: str = ""  # a regular expression
    format: str = ""


_SPENT = (
    r"insufficient_quota|insufficient.balance|insufficient.credits?|credit balance is too low|billing_error"
    r"|billing_hard_limit|exceeded your current quota|out of credits|(per|/) ?month|monthly"
)
_REFUSED = (
    r"content_policy|content.policy|content_filter|content filter|responsibleaipolicy|moderation|safety"
    r"|prohibited_content|blocked by|content management policy"
)
_BUSY = r"overloaded|capacity|unavailable"

ROWS: tuple[ErrorRow, ...] = (
    # Gemini says "exceeded your current quota" for a minute's limit too; only the id of the quota tells.
    ErrorRow(outcome=Outcome.QUOTA_SPENT, status=(429,), words=r"perday", format=GEMINI),
    ErrorRow(outcome=Outcome.THROTTLED, status=(429,), format=GEMINI),
    ErrorRow(
        outcome=Outcome.AUTH_ERROR, status=(400,), words=r"api_key_invalid|api key not valid", format=GEMINI
    ),
    ErrorRow(
        outcome=Outcome.QUOTA_SPENT, status=(400,), words=r"failed_precondition.*billing", format=GEMINI
    ),
    ErrorRow(outcome=Outcome.REFUSED_CONTENT, status=(498,), format=COHERE),
    ErrorRow(outcome=Outcome.QUOTA_SPENT, status=(402,)),
    ErrorRow(outcome=Outcome.QUOTA_SPENT, status=(400, 401, 403, 429), words=_SPENT),
    ErrorRow(outcome=Outcome.AUTH_ERROR, status=(401, 407, 511)),
    ErrorRow(outcome=Outcome.REFUSED_CONTENT, status=(400, 403, 422, 451), words=_REFUSED),
    ErrorRow(outcome=Outcome.AUTH_ERROR, status=(403,), words=r"."),
    ErrorRow(
        outcome=Outcome.BLOCKED_PAGE, status=(403,)
    ),  # a page for people: a wall in front of the provider
    ErrorRow(outcome=Outcome.OVERLOADED, status=(498, 503, 529)),
    ErrorRow(outcome=Outcome.OVERLOADED, status=(500, 502, 504), words=_BUSY),
)
_COMPILED = tuple((row, re.compile(row.words) if row.words else None) for row in ROWS)


def judge(format_: str, status: int, body: Any, *, has_retry_after: bool = False) -> Outcome:
    """What this error means.  `body` is the parsed JSON, or None."""
    words = said(body).lower()
    for row, pattern in _COMPILED:
        if row.status and status not in row.status:
            continue
        if row.format in ("", format_) and (pattern is None or pattern.search(words)):
            return row.outcome
    return outcome_of_status(status, has_retry_after)


def said(body: Any) -> str:
    """The codes and the message of an error, on one line, wherever the provider puts them."""
    if not isinstance(body, dict):
        return ""
    error = body.get("error")
    parts: list[Any] = [error] if isinstance(error, str) else []
    for home in (error, body):
        if isinstance(home, dict):
            parts += [home.get(name) for name in ("code", "type", "status", "message")]
    parts += [body.get("detail"), at(body, "detail", 0, "msg")]
    for detail in rows(at(error, "details")):
        parts.append(detail.get("reason"))
        parts += [row.get("quotaId") for row in rows(detail.get("violations"))]
    words = (text_of(part, WORDS_SIZE) for part in parts)
    return " ".join(" ".join(dict.fromkeys(filter(None, words))).split())[:WORDS_SIZE]


def told_wait(body: Any) -> timedelta | None:
    """Google's RetryInfo: the time to wait, said in the body."""
    for detail in rows(at(body, "error", "details")):
        match = _SECONDS.fullmatch(text_of(detail.get("retryDelay")))
        if match:
            return min(timedelta(seconds=float(match[1])), LONGEST)
    return None


def error_in_answer(format_: str, body: Any) -> Outcome:
    """A body of status 200 that is no answer: some proxies hide the error in it."""
    if not isinstance(at(body, "error"), Mapping):
        return Outcome.MALFORMED_ANSWER
    code = at(body, "error", "code")
    status = code if isinstance(code, int) and 400 <= code < 600 else 0
    return judge(format_, status, body) if status else Outcome.MALFORMED_ANSWER
