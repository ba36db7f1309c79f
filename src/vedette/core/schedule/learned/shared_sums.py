"""The scheduler's sums, where several workers learn at the same time: each adds what it learned itself."""

from __future__ import annotations

import json
from typing import Any

ADDED = ("looks", "planned", "found")  # counters of looks; the others are the word of who reviews


def merged(stored: str, before: str, mine: str) -> str:
    """What is stored, with what one worker learned between `before` and `mine`."""
    if not stored or not before:
        return mine
    there, was, now = json.loads(stored), json.loads(before), json.loads(mine)
    made = {name: _moved(there[name], was[name], now[name]) for name in now if name != "running"}
    counters = {
        name: there["running"].get(name, value) if value == was["running"].get(name) else value
        for name, value in now["running"].items()
    }
    for name in ADDED:
        counters[name] = there["running"][name] + now["running"][name] - was["running"][name]
    counters["started_at"] = min(there["running"]["started_at"], now["running"]["started_at"])
    return json.dumps({"running": counters, **made}, separators=(",", ":"))


def _moved(there: Any, was: Any, now: Any) -> Any:
    """Element by element: `there` and as much more as `now` has over `was`."""
    if isinstance(now, list):
        return [_moved(*three) for three in zip(there, was, now, strict=True)]
    return there + now - was
