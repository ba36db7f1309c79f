"""Selectors and filters of a source that only a parser knows to be right.

A module of its own, because the parsers take a tenth of a second to load and few sources need them.
"""

from __future__ import annotations

from vedette.contracts.errors import ConfigError
from vedette.contracts.filters import FilterKind
from vedette.contracts.source import ListerOptions
from vedette.core.filters.filter_steps import read_filters
from vedette.discover.tree import check_selectors
from vedette.extract.element_filters import check_elements


def check_markup(options: ListerOptions) -> None:
    """Raises ConfigError that names the first one that cannot be used."""
    if options.selectors is not None:
        check_selectors(options.selectors)
    filters = read_filters(options.filters)
    check_elements(filters)
    if options.hunt and any(step.kind in _OF_ONE_PAGE for step in filters.steps):
        raise ConfigError("filters: what a hunt finds has no number in common; filter a source of its own")


# Rules about a number suit one page, or pages that are built alike.
_OF_ONE_PAGE = frozenset({FilterKind.BELOW, FilterKind.ABOVE, FilterKind.CHANGED_BY, FilterKind.DECIMAL})
