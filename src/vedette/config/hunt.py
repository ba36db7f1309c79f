"""The section `hunt`: where sources that hunt look first (004)."""

from __future__ import annotations

from pydantic import Field

from vedette.config.values import MOST_LOOKS, Section


class HuntConfig(Section):
    """For sources with `hunt: true`.  The defaults are those of `core/hunt.py`, which costs numpy to import."""

    looks_per_day: float | None = Field(default=None, gt=0, le=MOST_LOOKS)  # first looks
    share: float = Field(default=0.15, ge=0, le=1)  # of them, for new hosts and neighbourhoods
    host_budget: float = Field(default=200.0, ge=0, le=MOST_LOOKS)  # units that one host may cost
    error_cost: float = Field(default=5.0, ge=1, le=MOST_LOOKS)  # units of an error; a page costs one
    at_host: int = Field(default=2, ge=1)  # chosen looks that wait at one host
    daring: float = Field(default=0.5, ge=0, le=100)
