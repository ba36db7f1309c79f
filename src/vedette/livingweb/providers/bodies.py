"""The wire formats, written from the providers' public pages: answers, errors, lists of models.

Every body carries fields that a client has no use for, as the real ones do.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vedette.livingweb.providers.specs import ANTHROPIC, COHERE, GEMINI, OPENAI, YOU

Body = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One answer, before it takes a wire format.  `finish`: stop, length or filter."""

    model: str
    text: str
    finish: str = "stop"
    tokens_in: int = 0
    tokens_out: int = 0
    citations: tuple[str, ...] = ()
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """One error, before it takes a wire format.  `kind` is a row of `TROUBLES`."""

    kind: str
    words: str
    retry_in: float | None = None


def answer(format_: str, told: Told) -> bytes:
    return json.dumps(_ANSWERS[format_](told), ensure_ascii=False).encode()


def trouble(format_: str, trouble: Trouble) -> tuple[int, bytes]:
    """Status and body."""
    status, make = _TROUBLES[format_]
    return status.get(trouble.kind, _STATUS[trouble.kind]), json.dumps(make(trouble)).encode()


def models(format_: str, names: list[str]) -> bytes:
    return json.dumps(_LISTS[format_](names)).encode()


def _openai(told: Told) -> Body:
    finish = {"filter": "content_filter"}.get(told.finish, told.finish)
    body: Body = {
        "id": f"chatcmpl-{told.number:08x}",
        "object": "chat.completion",
        "created": 1_700_000_000 + told.number,
        "model": told.model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": told.text, "refusal": None, "annotations": []},
                "logprobs": None,
                "finish_reason": finish,
            }
        ],
        "usage": {
            "prompt_tokens": told.tokens_in,
            "completion_tokens": told.tokens_out,
            "total_tokens": told.tokens_in + told.tokens_out,
            "prompt_tokens_details": {"cached_tokens": 0},
        },
        "system_fingerprint": "fp_livingweb",
    }
    if told.citations:  # as Perplexity does
        body["citations"] = list(told.citations)
        body["search_results"] = [
            {"title": f"Result {n}", "url": url, "date": "2026-11-01"} for n, url in enumerate(told.citations)
        ]
    return body


def _anthropic(told: Told) -> Body:
    stop = {"stop": "end_turn", "length": "max_tokens", "filter": "refusal"}[told.finish]
    return {
        "id": f"msg_{told.number:024x}",
        "type": "message",
        "role": "assistant",
        "model": told.model,
        "content": [{"type": "text", "text": told.text}] if told.text else [],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": told.tokens_in,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": told.tokens_out,
            "service_tier": "standard",
        },
    }


def _gemini(told: Told) -> Body:
    usage = {
        "promptTokenCount": told.tokens_in,
        "candidatesTokenCount": told.tokens_out,
        "totalTokenCount": told.tokens_in + told.tokens_out,
    }
    if told.finish == "filter":
        return {
            "promptFeedback": {"blockReason": "SAFETY", "safetyRatings": []},
            "usageMetadata": usage,
            "modelVersion": told.model,
        }
    candidate = {
        "content": {"parts": [{"text": told.text}] if told.text else [], "role": "model"},
        "finishReason": {"stop": "STOP", "length": "MAX_TOKENS"}[told.finish],
        "avgLogprobs": -0.12,
        "index": 0,
    }
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": f"{told.model}-002"}


def _cohere(told: Told) -> Body:
    counted = {"input_tokens": told.tokens_in, "output_tokens": told.tokens_out}
    return {
        "id": f"{told.number:032x}",
        "message": {
            "role": "assistant",
            "content": [{"type": "text", "text": told.text}] if told.text else [],
        },
        "finish_reason": {"stop": "COMPLETE", "length": "MAX_TOKENS", "filter": "ERROR"}[told.finish],
        "usage": {"billed_units": counted, "tokens": {**counted, "input_tokens": told.tokens_in + 66}},
    }


def _you(told: Told) -> Body:
    snippets = [part.strip() for part in told.text.split(". ") if part.strip()]
    hits = [
        {
            "url": url,
            "title": f"Result {n}",
            "description": snippets[0] if snippets else "",
            "snippets": snippets if n == 0 else [],
            "thumbnail_url": "",
            "page_age": "2026-11-01T00:00:00",
        }
        for n, url in enumerate(told.citations)
    ]
    return {
        "results": {"web": hits if told.text else [], "news": []},
        "metadata": {"search_uuid": f"{told.number:032x}", "query": "", "latency": 0.2},
    }


_ANSWERS: dict[str, Callable[[Told], Body]] = {
    OPENAI: _openai,
    ANTHROPIC: _anthropic,
    GEMINI: _gemini,
    COHERE: _cohere,
    YOU: _you,
}

# kind -> the status that most providers answer it with
_STATUS = {
    "throttled": 429,
    "tokens": 429,
    "quota": 429,
    "balance": 402,
    "auth": 401,
    "forbidden": 403,
    "server_error": 500,
    "overloaded": 503,
    "refused": 400,
    "bad_request": 400,
    "no_model": 404,
}
_OPENAI_CODES = {
    "throttled": ("requests", "rate_limit_exceeded"),
    "tokens": ("tokens", "rate_limit_exceeded"),
    "quota": ("insufficient_quota", "insufficient_quota"),
    "balance": ("unknown_error", "invalid_request_error"),  # DeepSeek's 402
    "auth": ("invalid_request_error", "invalid_api_key"),
    "forbidden": ("invalid_request_error", "unsupported_country_region_territory"),
    "server_error": ("server_error", None),
    "overloaded": ("server_error", "engine_overloaded"),
    "refused": ("invalid_request_error", "content_policy_violation"),
    "bad_request": ("invalid_request_error", None),
    "no_model": ("invalid_request_error", "model_not_found"),
}
_ANTHROPIC_TYPES = {
    "throttled": "rate_limit_error",
    "tokens": "rate_limit_error",
    "quota": "invalid_request_error",  # "Your credit balance is too low to access the Anthropic API."
    "balance": "billing_error",
    "auth": "authentication_error",
    "forbidden": "permission_error",
    "server_error": "api_error",
    "overloaded": "overloaded_error",
    "refused": "invalid_request_error",
    "bad_request": "invalid_request_error",
    "no_model": "not_found_error",
}
_GEMINI_STATES = {
    "throttled": "RESOURCE_EXHAUSTED",
    "tokens": "RESOURCE_EXHAUSTED",
    "quota": "RESOURCE_EXHAUSTED",
    "balance": "FAILED_PRECONDITION",
    "auth": "INVALID_ARGUMENT",
    "forbidden": "PERMISSION_DENIED",
    "server_error": "INTERNAL",
    "overloaded": "UNAVAILABLE",
    "refused": "INVALID_ARGUMENT",
    "bad_request": "INVALID_ARGUMENT",
    "no_model": "NOT_FOUND",
}


def _openai_trouble(trouble: Trouble) -> Body:
    kind, code = _OPENAI_CODES[trouble.kind]
    return {"error": {"message": trouble.words, "type": kind, "param": None, "code": code}}


def _anthropic_trouble(trouble: Trouble) -> Body:
    error = {"type": _ANTHROPIC_TYPES[trouble.kind], "message": trouble.words}
    return {"type": "error", "error": error, "request_id": "req_living"}


def _gemini_trouble(trouble: Trouble) -> Body:
    prefix = "type.googleapis.com/google.rpc"
    details: list[Body] = []
    if trouble.kind == "auth":
        details.append({"@type": f"{prefix}.ErrorInfo", "reason": "API_KEY_INVALID"})
    if trouble.kind in ("throttled", "tokens", "quota"):
        span = "Day" if trouble.kind == "quota" else "Minute"
        failed = {"quotaId": f"GenerateRequestsPer{span}PerProjectPerModel", "quotaValue": "10"}
        details.append({"@type": f"{prefix}.QuotaFailure", "violations": [failed]})
    if trouble.retry_in is not None:
        details.append({"@type": f"{prefix}.RetryInfo", "retryDelay": f"{trouble.retry_in:.3f}s"})
    state = _GEMINI_STATES[trouble.kind]
    return {
        "error": {
            "code": _STATUS[trouble.kind],
            "message": trouble.words,
            "status": state,
            "details": details,
        }
    }


def _cohere_trouble(trouble: Trouble) -> Body:
    return {"id": "living", "message": trouble.words}


def _you_trouble(trouble: Trouble) -> Body:
    return {"detail": trouble.words}


_TROUBLES: dict[str, tuple[dict[str, int], Callable[[Trouble], Body]]] = {
    OPENAI: ({}, _openai_trouble),
    ANTHROPIC: ({"quota": 400, "overloaded": 529}, _anthropic_trouble),
    GEMINI: ({"auth": 400, "balance": 400}, _gemini_trouble),
    COHERE: ({}, _cohere_trouble),
    YOU: ({"quota": 402}, _you_trouble),
}


def _openai_list(names: list[str]) -> Body:
    rows = [{"id": name, "object": "model", "created": 1_700_000_000, "owned_by": "living"} for name in names]
    return {"object": "list", "data": rows}


def _anthropic_list(names: list[str]) -> Body:
    rows = [{"type": "model", "id": name, "display_name": name.title()} for name in names]
    return {"data": rows, "has_more": False, "first_id": names[0] if names else None, "last_id": None}


def _gemini_list(names: list[str]) -> Body:
    rows = [
        {"name": f"models/{name}", "version": "001", "supportedGenerationMethods": ["generateContent"]}
        for name in names
    ]
    embedder = {"name": "models/text-embedding-004", "supportedGenerationMethods": ["embedContent"]}
    return {"models": [*rows, embedder]}


def _cohere_list(names: list[str]) -> Body:
    rows: list[Body] = [{"name": name, "endpoints": ["chat"], "context_length": 128_000} for name in names]
    return {"models": [*rows, {"name": "embed-v4.0", "endpoints": ["embed"]}]}


_LISTS: dict[str, Callable[[list[str]], Body]] = {
    OPENAI: _openai_list,
    ANTHROPIC: _anthropic_list,
    GEMINI: _gemini_list,
    COHERE: _cohere_list,
    YOU: _openai_list,
}
