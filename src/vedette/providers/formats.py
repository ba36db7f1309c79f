"""The wire formats: how a question is put, and what an answer says.  Each is four pure functions in one row.

`read` gives None for a body that is not an answer in the format; unknown fields are passed over.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from pydantic_core import from_json

from vedette.contracts.fetch import Headers
from vedette.contracts.words import Secret

OPENAI, ANTHROPIC, GEMINI, COHERE, YOU = "openai", "anthropic", "gemini", "cohere", "you"
STOP, LENGTH, FILTER, FAILED = "stop", "length", "filter", "error"
ANTHROPIC_VERSION = "2023-06-01"
YOU_RESULTS = 10
_JSON = ("Content-Type", "application/json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    model: str
    text: str
    system: str = ""
    most_tokens: int = 512
    tokens_field: str = "max_tokens"  # of the OpenAI format


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """An answer, out of its wire format.  `finish`: stop, length, filter, or the provider's own word."""

    text: str
    finish: str = ""
    model: str = ""
    usage: Mapping[str, int | float] = field(default_factory=dict)
    citations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Format:
    headers: Callable[[Secret], Headers]
    ask: Callable[[str, Question], tuple[str, bytes | None]]  # path -> path, body to POST (None: a GET)
    read: Callable[[Any], Said | None]
    models: Callable[[Any], tuple[str, ...]]
    used: Callable[[Any], tuple[int, int]]  # tokens in and out, of any body that says so; 0: it does not


# The providers' words for how an answer ended.
_FINISH = {
    "stop": STOP, "end_turn": STOP, "stop_sequence": STOP, "complete": STOP,
    "length": LENGTH, "max_tokens": LENGTH, "model_length": LENGTH, "model_context_window_exceeded": LENGTH,
    "content_filter": FILTER, "refusal": FILTER, "safety": FILTER, "recitation": FILTER, "blocklist": FILTER,
    "prohibited_content": FILTER, "spii": FILTER, "error_toxic": FILTER,
}  # fmt: skip


def _finish(value: Any) -> str:
    word = text_of(value, NAME_SIZE).lower()
    return _FINISH.get(word, word)


def _bearer(key: Secret) -> Headers:
    return (("Authorization", Secret(f"Bearer {key}")), _JSON)


def _post(path: str, body: Mapping[str, Any]) -> tuple[str, bytes]:
    return path, json.dumps(body).encode()


def _turns(question: Question) -> list[dict[str, str]]:
    turns = [{"role": "user", "content": question.text}]
    return [{"role": "system", "content": question.system}, *turns] if question.system else turns


def _ask_chat(path: str, question: Question) -> tuple[str, bytes]:
    """OpenAI's and Cohere's, which agree on this much."""
    body = {"model": question.model, "messages": _turns(question)}
    return _post(path, {**body, question.tokens_field: question.most_tokens})


def _read_openai(body: Any) -> Said | None:
    choice = at(body, "choices", 0)
    message = at(choice, "message")
    if not isinstance(message, dict) or not ("content" in message or "refusal" in message):
        return None
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(text_of(part.get("text")) for part in rows(content))
    elif not isinstance(content, str | None):
        return None
    usage = at(body, "usage")
    noted = (at(note, "url_citation", "url") for note in rows(message.get("annotations")))
    results = (row.get("url") for row in rows(at(body, "search_results")))
    listed = at(body, "citations")
    return Said(
        text=text_of(content or message.get("refusal")),
        finish=_finish(at(choice, "finish_reason")),
        model=text_of(at(body, "model"), NAME_SIZE),
        usage=usage_of(usage),
        citations=citations_of(*(listed if isinstance(listed, list) else ()), *results, *noted),
    )


def _models_openai(body: Any) -> tuple[str, ...]:
    """Also Anthropic's.  A listing that says it goes on is not whole, so it says nothing."""
    if at(body, "has_more") is True:
        return ()
    listed = body if isinstance(body, list) else at(body, "data")
    return _names(row.get("id") for row in rows(listed))


def _ask_anthropic(path: str, question: Question) -> tuple[str, bytes]:
    turns = [{"role": "user", "content": question.text}]
    body: dict[str, Any] = {"model": question.model, "max_tokens": question.most_tokens, "messages": turns}
    return _post(path, {**body, "system": question.system} if question.system else body)


def _read_anthropic(body: Any) -> Said | None:
    blocks = at(body, "content")
    if not isinstance(blocks, list):
        return None
    usage = at(body, "usage")
    cited = (cite.get("url") for block in rows(blocks) for cite in rows(block.get("citations")))
    return Said(
        text="".join(text_of(block.get("text")) for block in rows(blocks) if block.get("type") == "text"),
        finish=_finish(at(body, "stop_reason")),
        model=text_of(at(body, "model"), NAME_SIZE),
        usage=usage_of(usage),
        citations=citations_of(*cited),
    )


def _ask_gemini(path: str, question: Question) -> tuple[str, bytes]:
    body: dict[str, Any] = {
        "contents": [{"role": "user", "parts": [{"text": question.text}]}],
        "generationConfig": {"maxOutputTokens": question.most_tokens},
    }
    if question.system:
        body["systemInstruction"] = {"parts": [{"text": question.system}]}
    return _post(path.replace("{model}", quote(question.model, safe="-._~")), body)


def _read_gemini(body: Any) -> Said | None:
    usage = at(body, "usageMetadata")
    candidate = at(body, "candidates", 0)
    is_blocked = bool(text_of(at(body, "promptFeedback", "blockReason")))
    if not isinstance(candidate, dict) and not is_blocked:
        return None
    parts = rows(at(candidate, "content", "parts"))
    chunks = rows(at(candidate, "groundingMetadata", "groundingChunks"))
    return Said(
        text="".join(text_of(part.get("text")) for part in parts if part.get("thought") is not True),
        finish=FILTER if is_blocked else _finish(at(candidate, "finishReason")),
        model=text_of(at(body, "modelVersion"), NAME_SIZE),
        usage=usage_of(usage),
        citations=citations_of(*(at(chunk, "web", "uri") for chunk in chunks)),
    )


def _models_gemini(body: Any) -> tuple[str, ...]:
    if at(body, "nextPageToken"):
        return ()
    talking = (
        row
        for row in rows(at(body, "models"))
        if "generateContent" in (row.get("supportedGenerationMethods") or ())
    )
    return _names(text_of(row.get("name")).removeprefix("models/") for row in talking)


def _read_cohere(body: Any) -> Said | None:
    message = at(body, "message")
    if not isinstance(message, dict) or "content" not in message:
        return None
    content, usage = message["content"], at(body, "usage")
    said = (
        content if isinstance(content, str) else "".join(text_of(part.get("text")) for part in rows(content))
    )
    counted = at(usage, "tokens") or at(usage, "billed_units")
    sources = (source for cite in rows(message.get("citations")) for source in rows(cite.get("sources")))
    return Said(
        text=text_of(said),
        finish=_finish(at(body, "finish_reason")),
        usage=usage_of(counted),
        citations=citations_of(*(at(source, "document", "url") for source in sources)),
    )


def _models_cohere(body: Any) -> tuple[str, ...]:
    if at(body, "next_page_token"):
        return ()
    talking = (row for row in rows(at(body, "models")) if "chat" in (row.get("endpoints") or ("chat",)))
    return _names(row.get("name") for row in talking)


def _ask_you(path: str, question: Question) -> tuple[str, None]:
    return f"{path}?{urlencode({'query': question.text, 'count': YOU_RESULTS})}", None


def _read_you(body: Any) -> Said | None:
    """A search has no answer of its own: the text is what its results say, in their order."""
    results = at(body, "results")
    if isinstance(results, dict):
        hits = [*rows(results.get("web")), *rows(results.get("news"))]
    elif isinstance(at(body, "hits"), list):  # the older form
        hits = [*rows(at(body, "hits"))]
    else:
        return None
    return Said(
        text="\n\n".join(filter(None, map(_hit, hits))),
        finish=STOP,
        citations=citations_of(*(hit.get("url") for hit in hits)),
    )


def _hit(hit: dict[str, Any]) -> str:
    snippets = hit.get("snippets")
    parts = [text_of(hit.get("title")), text_of(hit.get("description"))]
    parts += [text_of(part) for part in snippets] if isinstance(snippets, list) else []
    return "\n".join(dict.fromkeys(filter(None, parts)))


def _names(found: Any) -> tuple[str, ...]:
    return tuple(sorted({text_of(name, NAME_SIZE) for name in found} - {""}))


def _used_openai(body: Any) -> tuple[int, int]:
    usage = at(body, "usage")
    return count_of(at(usage, "prompt_tokens")), count_of(at(usage, "completion_tokens"))


def _used_anthropic(body: Any) -> tuple[int, int]:
    usage = at(body, "usage")
    return count_of(at(usage, "input_tokens")), count_of(at(usage, "output_tokens"))


def _used_gemini(body: Any) -> tuple[int, int]:
    usage = at(body, "usageMetadata")
    said, thought = (count_of(at(usage, name)) for name in ("candidatesTokenCount", "thoughtsTokenCount"))
    return count_of(at(usage, "promptTokenCount")), min(MOST_COUNT, said + thought)


def _used_cohere(body: Any) -> tuple[int, int]:
    counted = at(body, "usage", "tokens") or at(body, "usage", "billed_units")
    return count_of(at(counted, "input_tokens")), count_of(at(counted, "output_tokens"))


FORMATS: Mapping[str, Format] = {
    OPENAI: Format(_bearer, _ask_chat, _read_openai, _models_openai, _used_openai),
    ANTHROPIC: Format(
        lambda key: (("x-api-key", key), ("anthropic-version", ANTHROPIC_VERSION), _JSON),
        _ask_anthropic,
        _read_anthropic,
        _models_openai,
        _used_anthropic,
    ),
    GEMINI: Format(
        lambda key: (("x-goog-api-key", key), _JSON), _ask_gemini, _read_gemini, _models_gemini, _used_gemini
    ),
    COHERE: Format(_bearer, _ask_chat, _read_cohere, _models_cohere, _used_cohere),
    YOU: Format(lambda key: (("X-API-Key", key),), _ask_you, _read_you, lambda body: (), lambda body: (0, 0)),
}


# Reading a body that a stranger wrote.  Nothing here raises.

MOST_COUNT = 2**31 - 1
NAME_SIZE, URL_SIZE = 200, 2000
MOST_CITATIONS = 100
MOST_USAGE = 40
_NUL, _REPLACED = "\0", "\ufffd"


def parse(body: bytes) -> Any:
    """The JSON value, or None.  Depth, size of numbers and encoding are bounded by the parsers."""
    try:
        return from_json(body)
    except ValueError:
        pass
    if b"\\ud" not in body.lower():
        return None
    try:  # half of a surrogate pair, as when an answer is cut within an emoji: the other parser takes it
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def at(value: Any, *path: str | int) -> Any:
    """What is at the end of the path, or None."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def rows(value: Any) -> Iterator[dict[str, Any]]:
    """The objects of a list; whatever else is in it is passed over."""
    if isinstance(value, list):
        yield from (row for row in value if isinstance(row, dict))


def text_of(value: Any, limit: int | None = None) -> str:
    """A string that every store and terminal takes: no NUL, no half surrogates.  Anything else is empty."""
    if not isinstance(value, str):
        return ""
    text: str = value if limit is None else value[:limit]
    if _NUL in text:
        text = text.replace(_NUL, _REPLACED)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def count_of(value: Any) -> int:
    """A number of tokens: whole, never negative."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= MOST_COUNT:  # also refuses NaN
        return 0
    return int(value)


def usage_of(value: Any) -> Mapping[str, int | float]:
    """The plain numbers of a usage object."""
    if not isinstance(value, dict):
        return {}
    kept: dict[str, int | float] = {}
    for name, number in value.items():
        is_number = isinstance(number, int | float) and not isinstance(number, bool)
        if is_number and 0 <= number <= MOST_COUNT and len(kept) < MOST_USAGE:
            kept[text_of(name, NAME_SIZE)] = number
    return kept


def citations_of(*values: Any) -> tuple[str, ...]:
    """Addresses, in order, each once."""
    found = (text_of(value, URL_SIZE) for value in values)
    kept = dict.fromkeys(url for url in found if url.startswith(("http://", "https://")))
    return tuple(kept)[:MOST_CITATIONS]
