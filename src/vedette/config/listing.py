"""Parts of a source: what its lister reads, and how much of made-up addresses a crawl takes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from vedette.config.values import CurrencyCode, Duration, LanguageCode, Section
from vedette.contracts.source import TrapBudgets

_TRAPS = TrapBudgets()


class SelectorsConfig(Section):
    item: str = "article, .news-item, .vijest, .views-row, li"
    link: str = "a"
    title: str = "h1, h2, h3, h4, .title"
    date: str = "time, .date, .datum"


class TrapsConfig(Section):
    """How much of each class of made-up addresses a crawl takes; a refusal names the budget that it met."""

    path_depth: int = Field(default=_TRAPS.path_depth, ge=0)
    session: int = Field(default=_TRAPS.session, ge=0)
    token_names: int = Field(default=_TRAPS.token_names, ge=0)
    calendar: int = Field(default=_TRAPS.calendar, ge=0)
    calendar_ahead: Duration = _TRAPS.calendar_ahead
    calendar_back: Duration = _TRAPS.calendar_back
    facets: int = Field(default=_TRAPS.facets, ge=0)
    shape: int = Field(default=_TRAPS.shape, ge=0)
    content_repeat: int = Field(default=_TRAPS.content_repeat, ge=1)


class StructuredConfig(Section):
    """What the listers `hnb`, `nn` and `eurlex` take of their site."""

    currencies: tuple[CurrencyCode, ...] = ()
    formats: tuple[Literal["html", "json-ld", "pdf"], ...] = Field(default=("html",), min_length=1)
    celex: tuple[str, ...] = ()
    languages: tuple[LanguageCode, ...] = Field(default=("HR",), min_length=1)
