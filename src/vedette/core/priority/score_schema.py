"""JSON Schemas of what `priority` takes and gives, for programs in other languages.

`docs/reference/` has them as files, written by `tools/reference.py`.
"""

from __future__ import annotations

from typing import Any

from vedette.core.priority.score import HIGHEST, LEVELS, LOWEST, MOST_COUNT, NAMES, RULES

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
    """What `UrlSignals.from_mapping` takes: names of ours, or of 002 in camel case, never both of one field."""
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


# The names of 002, as constants.
UrlSignalsSchema = url_signals_schema()
ScoredUrlSchema = scored_url_schema()
