"""Builds the analyst: a provider of the panel with its keys, prices and lanes, under the lock of the panel."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

from vedette.app.configured_providers import ConfiguredProvider
from vedette.app.panel import Panel, prices_of
from vedette.contracts.errors import RefusedError
from vedette.contracts.findings import FindingText
from vedette.contracts.oddness import OddFinding
from vedette.contracts.panel_run import Price
from vedette.core.panel.plan import unpriced
from vedette.engine.panel.report_caller import Analysed, Analyst, AnalystParts, worst_case
from vedette.store.connection import operating
from vedette.store.finding_rows import save_lanes
from vedette.store.migrate import prepare
from vedette.store.sqlite import Reader
from vedette.telemetry.clock import SteadyClock

Page = tuple[OddFinding, FindingText]
OnAnalysed = Callable[[OddFinding, Analysed], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalystTerms:
    """Who is asked, and what it may cost."""

    model: str | None
    most_usd: float
    price: Price | None = None


def analyst_of(panel: Panel, named: str | None, most_usd: float) -> AnalystTerms:
    """The provider that is asked: the named one, else the first that has a key; none: nobody can be asked."""
    wanted = [named] if named else []
    found = panel.members(wanted, needs_keys=False)
    members: list[ConfiguredProvider] = [one for one in found if one.keys]
    if not members:
        return AnalystTerms(model=None, most_usd=most_usd)
    name, prices = members[0].row.name, prices_of(members[:1])
    if unpriced([name], prices):
        raise RefusedError(
            f"the price of {name} is not known, so a budget cannot be held; set providers.{name}.price"
        )
    return AnalystTerms(model=name, most_usd=most_usd, price=prices[name])


def most_usd(pages: Sequence[Page], terms: AnalystTerms) -> float:
    """The worst case: never more than the budget."""
    return min(terms.most_usd, worst_case(pages, terms.price))


def analyse_pages(panel: Panel, pages: Sequence[Page], terms: AnalystTerms, on_analysed: OnAnalysed) -> None:
    """One page after the other; each result is handed over when it is there.  Blocking."""
    if terms.model is None:
        return
    path = prepare(panel.loaded.data)
    with panel.locked(), closing(Reader(path)) as lanes:
        asyncio.run(_analyse(panel, lanes, (pages, terms), on_analysed))


async def _analyse(
    panel: Panel, lanes: Reader, given: tuple[Sequence[Page], AnalystTerms], on_analysed: OnAnalysed
) -> None:
    pages, terms = given
    clock = SteadyClock(panel.clock)
    fetcher = panel.make_fetcher(clock)
    try:
        keys = panel.keys([terms.model or ""], fetcher)
        keeper = panel.keeper(lanes, clock, keys)
        parts = AnalystParts(
            keys=keys, keeper=keeper, clock=clock, price=terms.price, most_usd=terms.most_usd
        )
        analyst = Analyst(parts)
        for finding, text in pages:
            done = await analyst.analyse(finding, text)
            on_analysed(finding, done)
            if done.is_end:
                break
        with operating(panel.loaded.data / "vedette.db") as db:
            save_lanes(db, keeper.take_dirty())
    finally:
        await fetcher.close()
