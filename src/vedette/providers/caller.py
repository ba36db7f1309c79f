"""One provider by one key: a question goes out, one `Answer` comes back.  Nothing the provider does is an exception."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from vedette.contracts.errors import ConfigError
from vedette.contracts.fetch import MIB, Fetched, FetchRequest, FetchSettings
from vedette.contracts.panel_run import Answer, Prompt, ProviderResp
from vedette.contracts.ports import Fetcher
from vedette.contracts.words import LaneKey, Outcome, Secret
from vedette.core.lanes.outcomes import outcome_of_status
from vedette.core.panel.quality import AskedAnswer, flag_of
from vedette.providers.formats import (
    COHERE,
    FAILED,
    FILTER,
    FORMATS,
    GEMINI,
    Question,
    Said,
    at,
    parse,
    rows,
    text_of,
)
from vedette.providers.provider_table import ProviderRow, allowance, retry_after

BODY_LIMIT = 2 * MIB
DETAIL_SIZE = 300
TIMEOUT = timedelta(seconds=15)  # PROVIDER_TIMEOUT_MS of spec 003
KEEP_ALIVE = timedelta(seconds=15)
# How an answer without text ended, where that is not the model's own silence.
_UNSAID = {
    FILTER: (Outcome.REFUSED_CONTENT, "the answer was held back by a filter"),
    FAILED: (Outcome.MALFORMED_ANSWER, "the provider gave up within the answer"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelListing:
    """What a provider says it has; `names` is empty when it does not say, and `outcome` says why."""

    names: tuple[str, ...] = ()
    outcome: Outcome = Outcome.OK
    detail: str = ""


class HttpProvider:
    """Implements `contracts.panel.Provider`.  Follows no redirect: the key is for one origin."""

    def __init__(
        self,
        row: ProviderRow,
        key: Secret,
        *,
        fetcher: Fetcher,
        settings: FetchSettings,
        number: int = 1,
    ) -> None:
        if not key.isprintable() or " " in key:
            raise ConfigError(f"{row.key_env}: the key holds a character that no key has")
        self.row = row
        self.lane = LaneKey(f"provider:{row.lane}/k{number}")
        self._format = FORMATS[row.format]
        self._fetcher = fetcher
        self._scrubber = KeyScrubber(key)
        # Only our own headers: what the operator sends to sites is none of a provider's business.
        self._settings = replace(settings, headers=self._format.headers(key), keep_alive=KEEP_ALIVE)
        self._base = row.base_url.rstrip("/")

    def __repr__(self) -> str:
        return f"HttpProvider({self.row.name!r}, {self.lane!r})"

    def name(self) -> str:
        return self.row.name

    def supports_search_enhanced(self) -> bool:
        return self.row.is_search

    async def list_models(self) -> Sequence[str]:
        return (await self.listing()).names

    async def listing(self) -> ModelListing:
        """What the provider says it has, and why where it says nothing."""
        if not self.row.models_path:
            return ModelListing(detail="the provider does not tell its models")
        fetched = await self._fetch(self.row.models_path, None, None)
        if fetched.outcome is not Outcome.OK or fetched.redirect_to is not None:
            outcome, detail = self._wrong(fetched)
            return ModelListing(outcome=outcome, detail=detail)
        names = self._format.models(parse(fetched.body))
        if not names:
            return ModelListing(
                outcome=Outcome.MALFORMED_ANSWER, detail="no whole list of models in the answer"
            )
        return ModelListing(names=tuple(map(self._scrubber.clean, names)))

    async def query(
        self, domain: str, prompt: Prompt, *, on_sent: Callable[[], None] | None = None
    ) -> Answer:
        question = Question(
            model=self.row.model,
            text=prompt.text.replace("{domain}", domain),
            system=prompt.system.replace("{domain}", domain),
            most_tokens=prompt.most_tokens,
            tokens_field=self.row.tokens_field,
        )
        path, body = self._format.ask(self.row.path, question)
        fetched = await self._fetch(path, body, on_sent)
        if fetched.outcome is not Outcome.OK or fetched.redirect_to is not None:
            return self._failed(fetched)
        answer = self._format.read(parsed := parse(fetched.body))
        used = self._format.used(parsed)
        if answer is None:
            outcome = error_in_answer(self.row.format, parsed)
            return self._answer(fetched, outcome, used, detail=self._told(fetched, said(parsed)))
        if answer.finish in _UNSAID and not answer.text.strip():
            outcome, words = _UNSAID[answer.finish]
            return self._answer(fetched, outcome, used, detail=words)
        made = self._answered(fetched, answer, AskedAnswer(domain=domain, text=question.text))
        return replace(made, tokens_in=used[0], tokens_out=used[1])

    async def _fetch(self, path: str, body: bytes | None, on_sent: Callable[[], None] | None) -> Fetched:
        return await self._fetcher.fetch(
            FetchRequest(
                url=self._base + path,
                settings=self._settings,
                accept="application/json",
                body_limit=BODY_LIMIT,
                post=body,
                on_sent=on_sent,
            )
        )

    def _answered(self, fetched: Fetched, answer: Said, asked: AskedAnswer) -> Answer:
        text = answer.text
        meta: Mapping[str, Any] = {
            "model": answer.model,
            "finish": answer.finish,
            "usage": answer.usage,
            "citations": answer.citations,
        }
        if self._scrubber.may_hold(fetched.body):
            text, meta = self._scrubber.clean(text), self._scrubber.clean_value(meta)
        return Answer(
            outcome=Outcome.OK,
            resp=ProviderResp(
                text=text,
                latency_ms=round(fetched.took.total_seconds() * 1000),
                quality_flag=flag_of(text, asked, finish=answer.finish),
                meta=meta,
            ),
            allowance=allowance(fetched.headers, self.row.headers, fetched.at),
            retry_after=fetched.retry_after,
            status=fetched.status,
            took=fetched.took,
        )

    def _failed(self, fetched: Fetched) -> Answer:
        outcome, detail = self._wrong(fetched)
        answer = self._answer(fetched, outcome, self._format.used(parse(fetched.body)), detail=detail)
        if answer.retry_after is None and fetched.status is not None:
            wait = retry_after(fetched.headers) or told_wait(parse(fetched.body))
            answer = replace(answer, retry_after=wait)
        return answer

    def _wrong(self, fetched: Fetched) -> tuple[Outcome, str]:
        """The outcome of an exchange that gave no answer, and words for people."""
        if fetched.redirect_to is not None:
            return Outcome.REDIRECT_ERROR, "a redirect, which is not followed with a key"
        status = fetched.status
        if status is None or status < 400:
            empty = fetched.outcome is Outcome.EMPTY
            return Outcome.MALFORMED_ANSWER if empty else fetched.outcome, self._told(fetched, fetched.detail)
        body = parse(fetched.body)
        outcome = judge(self.row.format, status, body, has_retry_after=fetched.retry_after is not None)
        return outcome, self._told(fetched, said(body))

    def _told(self, fetched: Fetched, words: str) -> str:
        status = f"status {fetched.status}" if fetched.status is not None else ""
        told = words or (
            f"not an answer: {fetched.content_type or 'no content type'}" if status else fetched.detail
        )
        line = f"{status}: {told}" if status and not told.startswith("status ") else told
        clean = self._scrubber.clean_words(line)
        return "".join(char if char.isprintable() else "?" for char in clean)[:DETAIL_SIZE]

    def _answer(
        self, fetched: Fetched, outcome: Outcome, used: tuple[int, int], *, detail: str = ""
    ) -> Answer:
        return Answer(
            outcome=outcome,
            allowance=allowance(fetched.headers, self.row.headers, fetched.at),
            retry_after=fetched.retry_after,
            status=fetched.status,
            took=fetched.took,
            tokens_in=used[0],
            tokens_out=used[1],
            detail=detail,
        )


# Keys are removed from answers.  Providers quote keys in errors; a hostile one may quote them anywhere.

MASK = "***"
PIECE = 8  # so many characters of a key in a row are as good as the key: masked echoes keep both ends
SHORT = 8  # a key shorter than that is a word; only the whole of it is masked


class KeyScrubber:
    """Takes one key, and every longer piece of it, out of text."""

    def __init__(self, key: Secret) -> None:
        self._key = str(key)
        self._bytes = self._key.encode()
        ends = {self._key[:6], self._key[-6:]} if len(self._key) >= 2 * SHORT else set()
        inner = {self._key[n : n + PIECE] for n in range(len(self._key) - PIECE + 1)}
        self._pieces = (ends | inner) if len(self._key) >= SHORT else set()

    def may_hold(self, body: bytes) -> bool:
        """False: nothing read from this JSON can hold the key, plain or written with escapes."""
        return self._bytes in body or b"\\u" in body or b"\\/" in body

    def clean(self, text: str) -> str:
        """The text with the key masked.  For answers, which must otherwise stay as they are."""
        return text.replace(self._key, MASK) if self._key and self._key in text else text

    def clean_words(self, text: str) -> str:
        """For errors: every word that holds a piece of the key is masked whole."""
        text = self.clean(text)
        if not any(piece in text for piece in self._pieces):
            return text
        words = text.split(" ")
        return " ".join(MASK if any(piece in word for piece in self._pieces) else word for word in words)

    def clean_value(self, value: Any) -> Any:
        """Text within tuples and mappings too."""
        if isinstance(value, str):
            return self.clean(value)
        if isinstance(value, tuple):
            return tuple(self.clean_value(one) for one in value)
        if isinstance(value, Mapping):
            return {self.clean(str(name)): self.clean_value(one) for name, one in value.items()}
        return value


# From an answer that is an error to an Outcome.  One table, first match wins; words are matched in lower case.
#
# Spent keys are told apart from hurried ones, because waiting heals only the second (LiteLLM issue 37592).

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
