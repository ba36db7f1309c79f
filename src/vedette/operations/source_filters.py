"""The filters of a source: what they are, what they leave of its page, and others in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vedette.config.policies import sources_of
from vedette.contracts.errors import InputError, RefusedError
from vedette.contracts.source import Source
from vedette.operations.arguments import a_url
from vedette.operations.installation import Installation
from vedette.operations.page_trials import watching_source
from vedette.operations.source_keys import source_of
from vedette.operations.sources import SourceAdded, add_source


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFilters:
    """What stands between the pages of a source and their comparison."""

    url: str  # that was asked for
    source: Source
    is_written: bool  # in vedette.yaml, which says what holds


def filters_of_page(installation: Installation, url: str) -> SourceFilters:
    """Those of the source that watches this address."""
    wanted = a_url(url)
    source = watching_source(installation, wanted)
    if source is None:
        raise InputError(f"{wanted} is not watched; `vedette list` shows what is")
    written = {one.id for one in sources_of(installation.loaded.config)}
    return SourceFilters(url=wanted, source=source, is_written=source.id in written)


def filters_of_source(installation: Installation, what: str) -> SourceFilters:
    """The same of a source by its id or its address."""
    if "://" in what:
        return filters_of_page(installation, what)
    installation.check_source(what, "")
    with installation.queries() as queries:
        view = queries.source(what)
    if view is None:
        raise InputError(f"there is no source {what} in the store yet; it is taken in with the next run")
    return filters_of_page(installation, view.source.url)


def set_filters(installation: Installation, what: str, steps: Sequence[object]) -> SourceAdded:
    """These from the next look on; none: the pages are compared as they are.  What was seen is read by them too.

    RefusedError where vedette.yaml says what holds: the next run would take it back.
    """
    now = filters_of_source(installation, what)
    checked = source_of({"url": now.source.url, "filters": list(steps)}, origin="cli").options.filters
    if now.is_written:
        raise RefusedError(
            f"--filters: source {now.source.id} stands in vedette.yaml, which says what holds; write them there"
        )
    return add_source(installation, now.source.url, {"filters": list(checked)}, {})


def filters_json(found: SourceFilters) -> dict[str, object]:
    return {
        "source": found.source.id,
        "url": found.source.url,
        "filters": list(found.source.options.filters),
        "is_written": found.is_written,
    }
