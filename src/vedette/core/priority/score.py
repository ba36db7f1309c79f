"""The score of a URL, 0 to 100, with its reasons: what a look at it is worth.

It explains and ranks for people and for `vedette rank`; the frontier orders by the schedule policy. The score starts
at 50 and every row of `RULES` that holds adds its points; relevance adds 0 to 15.

What spec 002 leaves open, and what stands here:
- Bounds are strict, as spec 002's table writes them: a visit 60 minutes ago is "today", one 24 h or 7 days ago to the
  microsecond has no points.  "Changed within 24 hours" means less than 24 h, as in the row of the visits.
- An absent date has no points: a URL that was never visited is neither fresh nor stale.
- A date up to an hour after `now` counts as now, because clocks differ.  A later one is an InputError.
- `visits` is carried and has no points.
- Equal scores keep the order they came in, and a URL that is given twice is scored twice.

`score_columns.py` has the same rules for arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

from vedette.contracts.errors import InputError
from vedette.contracts.words import Reason
from vedette.core.text.nearest import unknown
from vedette.core.urls.canonical import canonical

BASE, LOWEST, HIGHEST = 50, 0, 100
RELEVANCE_POINTS = 15
MICROSECOND = timedelta(microseconds=1)
HOUR = 3600 * 1_000_000  # ages are whole microseconds: the same numbers for one URL and for a column
DAY, WEEK = 24 * HOUR, 7 * 24 * HOUR
MOST_AHEAD = HOUR
MOST_COUNT = 2**31 - 1  # of visits, and of depth

# Their names (spec 002) and ours.
NAMES: Mapping[str, str] = MappingProxyType(
    {
        "url": "url",
        "visits": "visits",
        "last_visited": "last_visited",
        "last_changed": "last_changed",
        "topic_relevance": "topic_relevance",
        "hub_depth": "hub_depth",
        "is_hub": "is_hub",
        "lastVisited": "last_visited",
        "lastChanged": "last_changed",
        "topicRelevance": "topic_relevance",
        "hubDepth": "hub_depth",
        "isHub": "is_hub",
    }
)
_DATES = ("last_visited", "last_changed")


class Facts(NamedTuple):
    """What the rules read, of one URL or of a column of them.  Ages in microseconds; NaN: no date."""

    visited: Any
    changed: Any
    relevance: Any
    depth: Any
    is_hub: Any


class ScoreRule(NamedTuple):
    """One row of spec 002's tables."""

    code: str
    points: int
    words: str  # spec 002's reason, letter by letter
    holds: Callable[[Facts], Any]  # comparisons only, so that it reads numbers and columns alike; NaN: False


RULES = (
    ScoreRule("visited_1h", -30, "Recently visited (<1h)", lambda of: of.visited < HOUR),
    ScoreRule("visited_24h", -10, "Visited today", lambda of: (of.visited >= HOUR) & (of.visited < DAY)),
    ScoreRule("not_visited_7d", 15, "Not visited in 7+ days", lambda of: of.visited > WEEK),
    ScoreRule("changed_24h", 20, "Changed in last 24h", lambda of: of.changed < DAY),
    ScoreRule("relevance", 0, "High topic relevance", lambda of: of.relevance > 0.8),  # points: `half_up`
    ScoreRule("hub", 10, "Is a hub page", lambda of: of.is_hub),
    ScoreRule("deep", -5, "Deep URL", lambda of: of.depth > 3),
)


class Level(NamedTuple):
    """From this score on, the name and what it means for a crawl."""

    least: int
    name: str
    advice: str


LEVELS = (
    Level(80, "Very high", "crawl immediately"),
    Level(60, "High", "crawl soon"),
    Level(40, "Medium", "normal schedule"),
    Level(20, "Low", "defer"),
    Level(0, "Very low", "skip or deprioritize"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlSignals:
    """What is known of a URL before a look.  A value that cannot be used is an InputError that names the field."""

    url: str
    visits: int = 0
    last_visited: datetime | None = None
    last_changed: datetime | None = None
    topic_relevance: float = 0.0
    hub_depth: int = 0
    is_hub: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.url, str) or canonical(self.url) is None:
            raise InputError(f"url is {_short(self.url)}; it must be an http or https URL")
        _check_count("visits", self.visits)
        _check_count("hub_depth", self.hub_depth)
        _check_moment("last_visited", self.last_visited)
        _check_moment("last_changed", self.last_changed)
        if not _is_number(self.topic_relevance) or not 0.0 <= self.topic_relevance <= 1.0:
            raise InputError(
                f"topic_relevance is {_short(self.topic_relevance)}; it must be a number from 0 to 1"
            )
        if not isinstance(self.is_hub, bool):
            raise InputError(f"is_hub is {_short(self.is_hub)}; it must be true or false")

    @classmethod
    def from_mapping(cls, row: Mapping[str, object]) -> UrlSignals:
        """From names of ours or of spec 002.  Dates may be ISO 8601 text; without a zone they are UTC.

        A null, and a date of "", count as absent.  An unknown name is an InputError that names the nearest one.
        """
        given: dict[str, Any] = {}
        for name, value in row.items():
            field = NAMES.get(name)
            if field is None:
                raise InputError(unknown("field of a URL", str(name), NAMES))
            if field in given:
                raise InputError(f"{field} is there twice, once as {name!r}")
            given[field] = _moment(field, value) if field in _DATES else value
        if given.get("url") is None:
            raise InputError("url is missing")
        return cls(**{field: value for field, value in given.items() if value is not None})


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredUrl:
    """A URL with its score, spec 002's reasons, and the contributions that add up to the score."""

    url: str
    score: int
    reasons: tuple[str, ...] = ()
    contributions: tuple[Reason, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.score, bool) or not isinstance(self.score, int):
            raise InputError(f"score is {_short(self.score)}; it must be a whole number")
        if not LOWEST <= self.score <= HIGHEST:
            raise InputError(f"score is {self.score}; it must be from {LOWEST} to {HIGHEST}")
        total = sum(reason.points for reason in self.contributions)
        if self.contributions and total != self.score:
            raise InputError(f"the contributions add up to {total:g}, the score is {self.score}")

    @property
    def level(self) -> Level:
        return level_of(self.score)

    def as_mapping(self) -> dict[str, object]:
        """As JSON has it: spec 002's three fields, the level, and the contributions."""
        return {
            "url": self.url,
            "score": self.score,
            "level": self.level.name,
            "reasons": list(self.reasons),
            "contributions": [{"code": one.code, "points": one.points} for one in self.contributions],
        }


def score_url_priority(signals: UrlSignals | Mapping[str, object], *, now: datetime) -> ScoredUrl:
    """The score of one URL at `now`.  Raises InputError where a signal cannot be used."""
    check_now(now)
    known = signals if isinstance(signals, UrlSignals) else UrlSignals.from_mapping(signals)
    facts = Facts(
        visited=_age("last_visited", known.last_visited, now),
        changed=_age("last_changed", known.last_changed, now),
        relevance=known.topic_relevance,
        depth=known.hub_depth,
        is_hub=known.is_hub,
    )
    marks = [bool(rule.holds(facts)) for rule in RULES]
    return scored(known.url, marks, int(half_up(known.topic_relevance * RELEVANCE_POINTS)))


def rank_urls_for_crawling(
    urls: Iterable[UrlSignals | Mapping[str, object]], *, now: datetime
) -> list[ScoredUrl]:
    """All of them, highest score first; equal scores keep their order.  An InputError names the place."""
    check_now(now)
    ranked = []
    for at, signals in enumerate(urls):
        try:
            ranked.append(score_url_priority(signals, now=now))
        except InputError as error:
            raise InputError(f"urls[{at}]: {error}") from None
    return sorted(ranked, key=lambda one: -one.score)


def scored(url: str, marks: Iterable[bool], relevance: int) -> ScoredUrl:
    """The value of a URL for which these rows of `RULES` hold, and whose relevance has these points."""
    reasons: list[str] = []
    contributions = [Reason("base", BASE)]
    for rule, holds in zip(RULES, marks, strict=True):
        points = relevance if rule.code == "relevance" else rule.points * holds
        if holds:
            reasons.append(rule.words)
        if points:
            contributions.append(Reason(rule.code, points, rule.words if holds else ""))
    total = int(sum(one.points for one in contributions))
    score = max(LOWEST, min(HIGHEST, total))
    if score != total:
        contributions.append(Reason("clamp", score - total, f"{LOWEST} to {HIGHEST}"))
    return ScoredUrl(url=url, score=score, reasons=tuple(reasons), contributions=tuple(contributions))


def level_of(score: float) -> Level:
    """The row of `LEVELS` that a score falls in."""
    return next(level for level in LEVELS if score >= level.least)


def half_up(number: Any) -> Any:
    """`Math.round` of spec 002 for what is not negative, one number or a column: 4.5 gives 5, where `round` gives 4."""
    whole = number // 1
    return whole + (number - whole >= 0.5)


def check_not_ahead(signals: UrlSignals, *, now: datetime) -> None:
    """Raises the InputError that scoring would raise, so that a caller can name the line."""
    _age("last_visited", signals.last_visited, now)
    _age("last_changed", signals.last_changed, now)


def check_now(now: datetime) -> None:
    if not isinstance(now, datetime) or now.utcoffset() is None:
        raise InputError(f"now is {_short(now)}; it must be a datetime with a time zone")


def _age(field: str, then: datetime | None, now: datetime) -> float:
    if then is None:
        return float("nan")
    age = (now - then) // MICROSECOND
    if age < -MOST_AHEAD:
        raise InputError(
            f"{field} is {then.isoformat()}, {then - now} after now; it must not be in the future"
        )
    return age


def _moment(field: str, value: object) -> object:
    """Text as a moment; anything else is left for the check of the field."""
    if not isinstance(value, str):
        return value
    if not value.strip():
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        raise InputError(
            f"{field} is {_short(value)}; write it in ISO 8601, for example 2026-11-15T08:00:00Z"
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _check_count(field: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_COUNT:
        raise InputError(f"{field} is {_short(value)}; it must be a whole number from 0 to {MOST_COUNT}")


def _check_moment(field: str, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, datetime):
        raise InputError(f"{field} is {_short(value)}; it must be a date and time in ISO 8601, or null")
    if value.utcoffset() is None:
        raise InputError(f"{field} is {value.isoformat()}; it needs a time zone")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


# JSON Schemas of what `priority` takes and gives, for programs in other languages.
#
# `docs/reference/` has them as files, written by `tools/reference.py`.

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_COUNT = {"type": ["integer", "null"], "minimum": 0, "maximum": MOST_COUNT}
_DATE = {
    "anyOf": [{"type": "string", "format": "date-time"}, {"const": ""}, {"type": "null"}],
}
# By our names.  What is absent or null counts as its default.
_FIELDS: dict[str, dict[str, Any]] = {
    "url": {"type": "string", "format": "uri", "pattern": "^[Hh][Tt][Tt][Pp][Ss]?:", "description": "http or https."},
    "visits": {**_COUNT, "default": 0, "description": "Carried; has no points."},
    "last_visited": {**_DATE, "description": "Absent: no points."},
    "last_changed": {**_DATE, "description": "Absent: no points."},
    "topic_relevance": {"type": ["number", "null"], "minimum": 0, "maximum": 1, "default": 0},
    "hub_depth": {**_COUNT, "default": 0},
    "is_hub": {"type": ["boolean", "null"], "default": False},
}  # fmt: skip


def url_signals_schema() -> dict[str, Any]:
    """What `UrlSignals.from_mapping` takes: names of ours, or of spec 002 in camel case, never both of one field."""
    twice = [[name, field] for name, field in NAMES.items() if name != field]
    return {
        "$schema": DIALECT,
        "title": "UrlSignals",
        "description": "What is known of a URL before a look. Dates without a zone are UTC.",
        "type": "object",
        "properties": {name: _FIELDS[field] for name, field in NAMES.items()},
        "required": ["url"],
        "not": {"anyOf": [{"required": pair} for pair in twice]},
        "additionalProperties": False,
    }


def scored_url_schema() -> dict[str, Any]:
    """What `ScoredUrl.as_mapping` gives."""
    words = [rule.words for rule in RULES]
    codes = ["base", *(rule.code for rule in RULES), "clamp"]
    contribution = {
        "type": "object",
        "properties": {"code": {"enum": codes}, "points": {"type": "integer"}},
        "required": ["code", "points"],
        "additionalProperties": False,
    }
    return {
        "$schema": DIALECT,
        "title": "ScoredUrl",
        "description": "A URL with its score; the points of the contributions add up to it.",
        "type": "object",
        "properties": {
            "url": {"type": "string", "format": "uri"},
            "score": {"type": "integer", "minimum": LOWEST, "maximum": HIGHEST},
            "level": {"enum": [level.name for level in LEVELS]},
            "reasons": {"type": "array", "items": {"enum": words}, "uniqueItems": True},
            "contributions": {"type": "array", "items": contribution},
        },
        "required": ["url", "score", "level", "reasons", "contributions"],
        "additionalProperties": False,
    }


# The names of spec 002, as constants.
UrlSignalsSchema = url_signals_schema()
ScoredUrlSchema = scored_url_schema()
