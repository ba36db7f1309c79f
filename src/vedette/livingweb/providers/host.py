"""One provider being served: who asks, within which limit, what is answered, what was seen."""

from __future__ import annotations

import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from vedette.livingweb.chance import Chance
from vedette.livingweb.providers.bodies import Told, models
from vedette.livingweb.providers.faults import FAULTS, Asked, Played, Scene, good, reply, troubled
from vedette.livingweb.providers.specs import (
    ANTHROPIC,
    COHERE,
    GEMINI,
    OPENAI,
    YOU,
    FaultRule,
    KeyCount,
    ProviderSpec,
    limit_headers,
)

NORMAL_95 = 1.645  # quantile of the normal distribution
DOMAIN = re.compile(r"(?<![\w.@-])(?:[\w-]+\.)+[a-z][\w-]+", re.IGNORECASE)
SAID = (
    "{d} is a well known address in its field.", "The organisation behind {d} publishes news and guidance.",
    "Readers of {d} find registers, forms and contact details there.", "{d} has been online for many years.",
    "Its pages are kept in more than one language.", "Independent sources describe {d} as reliable.",
    "Recent changes on {d} concern fees, deadlines and opening hours.", "Nothing alarming is known about {d}.",
)  # fmt: skip
SAID_IN_CROATIAN = (
    "{d} je poznata adresa u svojem području.", "Ustanova koja stoji iza {d} objavljuje vijesti i upute.",
    "Čitatelji na {d} nalaze registre, obrasce i kontakte.", "{d} postoji već mnogo godina.",
    "Stranice se vode na više jezika.", "Neovisni izvori opisuju {d} kao pouzdan izvor.",
    "Nedavne promjene na {d} tiču se naknada, rokova i radnog vremena.", "O {d} nije poznato ništa sporno.",
)  # fmt: skip


class Question(NamedTuple):
    text: str
    model: str
    domain: str
    prompt: str  # the text with {domain} in place of the domain


class ProviderHost:
    """Answers for one provider.  Everything that it counts is by its own clock."""

    def __init__(
        self, spec: ProviderSpec, *, seed: int, now: Callable[[], float], latency: float | None
    ) -> None:
        self.spec = spec
        self.models = list(spec.models)
        self.faults = list(spec.faults)
        self.limit = spec.limit
        self.keys: dict[str, KeyCount] = {}
        self.statuses: Counter[int] = Counter()
        self.struck: Counter[str] = Counter()  # faults played
        self.asks: Counter[tuple[str, str]] = Counter()  # (domain, prompt)
        self.answers: Counter[tuple[str, str]] = Counter()
        self.under_way = 0
        self.most_at_once = 0
        self.tokens = 0
        self._now = now
        self._began = now()
        self._latency = latency
        self._chance = Chance(seed, spec.name)
        self._number = 0
        median, p95 = spec.latency
        self._median, self._sigma = median, math.log(p95 / median) / NORMAL_95

    def answer(self, asked: Asked) -> Played:
        self._number += 1
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        played = self._answer(asked)
        if played.data:
            self.statuses[int(played.data[9:12])] += 1
        return played

    def done(self) -> None:
        self.under_way -= 1

    def set_limit(self, per_minute: float) -> None:
        """From now on every key may do so much."""
        self.limit = replace(self.limit, per_minute=per_minute)
        for count in self.keys.values():
            count.limit = self.limit

    def strike(self, rule: FaultRule) -> None:
        """From now on: `start` and `end` count from this moment."""
        since = self._now() - self._began
        self.faults.append(replace(rule, start=rule.start + since, end=rule.end + since))

    @property
    def violations(self) -> int:
        return sum(sum(count.violations.values()) for count in self.keys.values())

    def seen(self) -> dict[str, object]:
        """Plain values for JSON; a key is named by a digest."""
        return {
            "requests": sum(count.requests for count in self.keys.values()),
            "answers": sum(self.answers.values()),
            "asked_twice": sum(1 for count in self.asks.values() if count > 1),
            "answered_twice": sum(1 for count in self.answers.values() if count > 1),
            "violations": self.violations,
            "most_at_once": self.most_at_once,
            "statuses": {str(status): count for status, count in sorted(self.statuses.items())},
            "faults": dict(self.struck),
            "keys": {
                blake2b(key.encode(), digest_size=4).hexdigest(): {
                    "requests": count.requests,
                    "violations": dict(count.violations),
                    "most_in_a_minute": count.most_in_a_minute,
                    "by_minute": {str(minute): n for minute, n in sorted(count.by_minute.items())},
                }
                for key, count in self.keys.items()
            },
        }

    def _answer(self, asked: Asked) -> Played:
        spec, at = self.spec, self._now()
        self._move_models(at)
        path, _, query = asked.target.partition("?")
        key = _key_of(asked.headers)
        scene = self._scene(key)
        if not key or (spec.keys and key not in spec.keys):
            return troubled(scene, "auth", "Incorrect API key provided.")
        if spec.models_path and path == spec.models_path and asked.method == b"GET":
            fault = self._fault(path, 0, at) if self.faults else ""
            return FAULTS[fault](scene) if fault else Played(reply(200, models(spec.format, self.models)))
        question = self._question(asked, path, query)
        if question is None:
            return troubled(scene, "bad_request", "There is no such path, or the request cannot be read.")
        return self._judge(scene, question, key, at)

    def _judge(self, scene: Scene, question: Question, key: str, at: float) -> Played:
        spec, place = self.spec, (question.domain, question.prompt)
        told = self._tell(question)
        count = self.keys.get(key)
        if count is None:
            count = self.keys[key] = KeyCount(self.limit)
        broken = count.take(at, told.tokens_in + told.tokens_out)
        scene = replace(
            scene,
            told=told,
            limits=limit_headers(spec.headers, count, at),
            wait=count.back_in(at),
            is_croatian=_is_croatian(question.text),
        )
        nth = self.asks[place]
        self.asks[place] = nth + 1
        if broken:
            kind = "tokens" if broken == "tokens" else "throttled"
            return troubled(scene, kind, f"Rate limit reached for {broken}.", waits=_waits(spec))
        fault = self._fault(question.text, nth, at) if self.faults else ""
        if fault:
            self.struck[fault] += 1
            return FAULTS[fault](scene)
        if question.model not in self.models:
            return troubled(scene, "no_model", f"The model `{question.model}` does not exist.")
        self.answers[place] += 1
        self.tokens += told.tokens_in + told.tokens_out
        return good(scene)

    def _scene(self, key: str) -> Scene:
        delay = self._latency
        if delay is None:
            chance = self._chance.branch(self._number)
            delay = self._median * math.exp(self._sigma * chance.normal())
        return Scene(format=self.spec.format, told=_NOTHING, key=key, delay=delay, limits=b"")

    def _fault(self, question: str, nth: int, at: float) -> str:
        """By the question and how often it was asked, so that the order of arrival does not matter."""
        since = at - self._began
        number = zlib.crc32(question.encode())
        for row, rule in enumerate(self.faults):
            is_on = rule.start <= since < rule.end
            if is_on and self._chance.branch(row, number, nth).unit() < rule.share:
                return rule.kind
        return ""

    def _question(self, asked: Asked, path: str, query: str) -> Question | None:
        try:
            text, model = _READERS[self.spec.format](self.spec, asked, path, query)
        except (ValueError, KeyError, IndexError, TypeError):
            return None
        found = DOMAIN.search(text)
        domain = found[0] if found else ""
        return Question(text, model, domain, text.replace(domain, "{domain}") if domain else text)

    def _tell(self, question: Question) -> Told:
        chance = self._chance.branch(zlib.crc32(question.text.encode()))
        lines = SAID_IN_CROATIAN if _is_croatian(question.text) else SAID
        first, step = chance.below(len(lines)), 1 + 2 * chance.below(2)
        text = " ".join(lines[(first + n * step) % len(lines)] for n in range(5))
        text = text.replace("{d}", question.domain or "it")
        cited = (f"https://{question.domain or 'example.org'}/", "https://en.wikipedia.org/wiki/Website")
        return Told(
            model=question.model,
            text=text,
            tokens_in=8 + len(question.text) // 4,
            tokens_out=len(text) // 4,
            citations=cited if self.spec.cites else (),
            number=self._number,
        )

    def _move_models(self, at: float) -> None:
        for change in self.spec.model_changes:
            if at - self._began >= change.at:
                if change.dropped in self.models:
                    self.models.remove(change.dropped)
                if change.added and change.added not in self.models:
                    self.models.append(change.added)


_NOTHING = Told(model="", text="")


def _waits(spec: ProviderSpec) -> bool:
    return spec.retry_after or spec.format == GEMINI  # Gemini says it in the body


def _is_croatian(text: str) -> bool:
    return any(letter in text for letter in "čćžšđ")


def _key_of(headers: dict[bytes, bytes]) -> str:
    for name in (b"authorization", b"x-api-key", b"x-goog-api-key"):
        value = headers.get(name)
        if value:
            return value.decode("latin-1").removeprefix("Bearer ")
    return ""


def _read_chat(spec: ProviderSpec, asked: Asked, path: str, query: str) -> tuple[str, str]:
    if path != spec.path or asked.method != b"POST":
        raise ValueError(path)
    body: dict[str, Any] = json.loads(asked.body)
    last = body["messages"][-1]
    if last["role"] != "user" or (spec.format == ANTHROPIC and int(body["max_tokens"]) < 1):
        raise ValueError("a question, please")
    if spec.format == ANTHROPIC and not asked.headers.get(b"anthropic-version"):
        raise ValueError("anthropic-version: header is required")
    return str(last["content"]), str(body["model"])


def _read_gemini(spec: ProviderSpec, asked: Asked, path: str, query: str) -> tuple[str, str]:
    head, _, tail = spec.path.partition("{model}")
    if not (path.startswith(head) and path.endswith(tail) and asked.method == b"POST"):
        raise ValueError(path)
    body: dict[str, Any] = json.loads(asked.body)
    return str(body["contents"][-1]["parts"][0]["text"]), path[len(head) : -len(tail)]


def _read_search(spec: ProviderSpec, asked: Asked, path: str, query: str) -> tuple[str, str]:
    if path != spec.path or asked.method != b"GET":
        raise ValueError(path)
    return parse_qs(urlsplit(asked.target).query)["query"][0], "search"


_READERS: dict[str, Callable[[ProviderSpec, Asked, str, str], tuple[str, str]]] = {
    OPENAI: _read_chat,
    ANTHROPIC: _read_chat,
    COHERE: _read_chat,
    GEMINI: _read_gemini,
    YOU: _read_search,
}
