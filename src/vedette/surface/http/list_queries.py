"""Filters of lists as a URL has them, for the API and for pages: words into the filters of the store."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field

from vedette.contracts.change import ChangeState
from vedette.contracts.words import Outcome, Risk
from vedette.operations.arguments import a_moment, a_risk, an_outcome, some_states
from vedette.operations.installation import Installation
from vedette.operations.list_pages import MOST
from vedette.operations.watches import known_watch, watched_host
from vedette.store.views import ChangeFilter, WatchFilter

RISKS = "|".join(risk.name for risk in Risk)
STATES = "|".join((*(state.value for state in ChangeState), "all"))
OUTCOMES = "|".join(outcome.value for outcome in Outcome)
Word = Annotated[str | None, Field(max_length=2000)]
RiskWord = Annotated[str | None, Field(pattern=f"^({RISKS})$")]


class _ListQuery(BaseModel):
    """What every list takes."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(default=50, ge=1, le=MOST)
    cursor: str | None = Field(default=None, max_length=12_000, description="`next` of the page before.")

    def link(self, **other: object) -> str:
        """The same list with something else, from its first page on unless a cursor is given."""
        said = {**self.model_dump(exclude_defaults=True, exclude={"cursor"}), **other}
        return "?" + urlencode(
            {name: value for name, value in said.items() if value not in (None, "", False)}
        )


class LaneQuery(_ListQuery):
    """Which lanes."""

    limit: int = Field(default=100, ge=1, le=MOST)
    text: Word = Field(default=None, description="Part of its key.")


class SourceQuery(_ListQuery):
    """Which sources."""

    limit: int = Field(default=MOST, ge=1, le=MOST)
    tag: Word = None
    text: Word = Field(default=None, description="Part of the id, name, address or a tag.")


class WatchQuery(_ListQuery):
    """Which watches; what is not given does not filter."""

    text: Word = Field(default=None, description="Part of the URL or the title.")
    source: Word = None
    host: Word = None
    risk: RiskWord = None
    outcome: str | None = Field(default=None, pattern=f"^({OUTCOMES})$")
    tag: Word = None
    unseen: bool = Field(default=False, description="Only those that the last look did not show.")
    listings: bool = Field(default=False, description="Only those that list others.")

    def as_filter(self, installation: Installation) -> WatchFilter:
        """InputError names the field, as on the command line."""
        installation.check_source(self.source or None)
        return WatchFilter(
            source=self.source or None,
            host=watched_host(installation, self.host) if self.host else None,
            risk=a_risk(self.risk, "--risk"),
            outcome=an_outcome(self.outcome, "--outcome"),
            text=self.text or None,
            only_listings=self.listings,
            only_unseen=self.unseen,
            sources=installation.tagged(self.tag or None),
            only_kept=True,
        )


class ChangeQuery(_ListQuery):
    """Which changes."""

    text: Word = Field(default=None, description="Part of the URL, the title or the summary.")
    source: Word = None
    tag: Word = Field(default=None, description="Of sources with this tag.")
    url: Word = Field(default=None, description="Of this watch.")
    risk: RiskWord = Field(default=None, description="This and graver.")
    state: str | None = Field(default=None, pattern=f"^({STATES})$")
    since: Word = Field(default=None, description="24h, 7d, or a date.")
    until: Word = None
    mark: str | None = Field(
        default=None, pattern="^(useful|noise|none)$", description="What people say of it."
    )
    diff: bool = Field(default=False, description="With what differs.")

    def as_filter(self, installation: Installation) -> ChangeFilter:
        installation.check_source(self.source or None)
        now, watch = installation.now(), None
        if self.url:
            with installation.queries() as queries:
                watch = known_watch(installation, queries, self.url).id
        return ChangeFilter(
            source=self.source or None,
            sources=installation.tagged(self.tag or None),
            risk=a_risk(self.risk, "--risk"),
            states=some_states(self.state, "--state"),
            since=a_moment(self.since or None, "--since", now),
            until=a_moment(self.until or None, "--until", now),
            text=self.text or None,
            watch=watch,
            mark=self.mark or None,
        )
