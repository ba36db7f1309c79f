"""Vedette: an adaptive, polite crawl-and-watch engine.

Everything here is imported on first use, so `import vedette` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vedette.core.classify import classify_url
    from vedette.core.schedule import make_policy
    from vedette.core.schedule.ewma import calculate_next_scan
    from vedette.core.velocity import update_velocity

__version__ = "0.1.0"
__all__ = ["__version__", "calculate_next_scan", "classify_url", "make_policy", "update_velocity"]

_HOMES = {
    "calculate_next_scan": "vedette.core.schedule.ewma",
    "classify_url": "vedette.core.classify",
    "make_policy": "vedette.core.schedule",
    "update_velocity": "vedette.core.velocity",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'vedette' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
