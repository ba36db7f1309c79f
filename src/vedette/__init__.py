"""Vedette: an adaptive, polite crawl-and-watch engine.

Everything here is imported on first use, so `import vedette` costs nothing.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as a type checker reads it; `typing` itself costs a third of the start
if TYPE_CHECKING:
    from typing import Any

    from vedette.contracts.errors import VedetteError
    from vedette.contracts.events import Changed, Event, Visited
    from vedette.contracts.words import Risk
    from vedette.core.priority.score import (
        ScoredUrl,
        ScoredUrlSchema,
        UrlSignals,
        UrlSignalsSchema,
        rank_urls_for_crawling,
        score_url_priority,
    )
    from vedette.core.schedule import make_policy
    from vedette.core.schedule.ewma import calculate_next_scan, update_velocity
    from vedette.core.urls.classify import classify_url

__version__ = "0.1.0"
__all__ = [
    "AsyncWatcher",
    "Changed",
    "Event",
    "Risk",
    "ScoredUrl",
    "ScoredUrlSchema",
    "UrlSignals",
    "UrlSignalsSchema",
    "VedetteError",
    "Visited",
    "Watcher",
    "__version__",
    "calculate_next_scan",
    "classify_url",
    "make_policy",
    "open_store",
    "open_store_async",
    "rank_urls_for_crawling",
    "score_url_priority",
    "update_velocity",
]

_HOMES = {
    "AsyncWatcher": "vedette.surface.library",
    "Changed": "vedette.contracts.events",
    "Event": "vedette.contracts.events",
    "Risk": "vedette.contracts.words",
    "ScoredUrl": "vedette.core.priority.score",
    "ScoredUrlSchema": "vedette.core.priority.score",
    "UrlSignals": "vedette.core.priority.score",
    "UrlSignalsSchema": "vedette.core.priority.score",
    "VedetteError": "vedette.contracts.errors",
    "Visited": "vedette.contracts.events",
    "Watcher": "vedette.surface.library",
    "calculate_next_scan": "vedette.core.schedule.ewma",
    "classify_url": "vedette.core.urls.classify",
    "make_policy": "vedette.core.schedule",
    "open_store": "vedette.surface.library",
    "open_store_async": "vedette.surface.library",
    "rank_urls_for_crawling": "vedette.core.priority.score",
    "score_url_priority": "vedette.core.priority.score",
    "update_velocity": "vedette.core.schedule.ewma",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'vedette' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
