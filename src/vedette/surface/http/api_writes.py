"""POST and DELETE /api/v1: what an operator can do.  Each call is the operation of a verb, and is in the audit log."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from vedette.operations import look_now, probe
from vedette.operations.access_tokens import make_token, revoke_token, token_json
from vedette.operations.arguments import a_duration, a_filter, a_lane, a_url
from vedette.operations.change_feeds import feed_address_json, make_feed_address, revoke_feed_address
from vedette.operations.health import acknowledge_alert
from vedette.operations.installation import Installation
from vedette.operations.lanes import block_lane, drop_work, reset_lane, retry_work
from vedette.operations.maintenance import report_json, verify_evidence
from vedette.operations.page_trials import PageTrial, try_page
from vedette.operations.sources import (
    FOREVER,
    SourceOrdered,
    add_source,
    group_source,
    mute_source,
    note_source,
    pause_source,
    remove_source,
    reset_source,
    resume_source,
    source_added_json,
    unmute_source,
)
from vedette.report.feed_documents import WRITERS
from vedette.report.health import alert_json
from vedette.report.lanes import lane_json
from vedette.report.probes import tried_json
from vedette.surface.http.access_check import FEEDS
from vedette.surface.http.api_answers import PROBLEMS, answer
from vedette.surface.http.feed_routes import FeedQuery
from vedette.surface.http.filter_pages import FilterList
from vedette.surface.http.login_fields import SourceLogin
from vedette.surface.http.web_context import WebDep

Key = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=200)]
SourceId = Annotated[str, Path(max_length=2000)]
Entry = dict[str, Any]


async def _takes_key(key: Key = None) -> None:
    """The header is documented for every write; `DoneOnce` obeys it."""


router = APIRouter(responses=PROBLEMS, dependencies=[Depends(_takes_key)])


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NewSource(_Body):
    """What is at this address; `lister` auto finds out what it lists."""

    url: str = Field(min_length=1, max_length=8000)
    name: str | None = Field(default=None, max_length=200)
    lister: str | None = Field(default=None, max_length=40)
    risk: str | None = Field(default=None, pattern="^(CRITICAL|HIGH|MEDIUM|LOW)$")
    every: str | None = Field(default=None, max_length=40, description="10m, 4h, 1d; not set: it is learned.")
    tags: list[Annotated[str, Field(min_length=1, max_length=60)]] = Field(
        default_factory=list, max_length=20
    )

    filters: FilterList | None = None
    fetch: SourceLogin | None = None

    def keys(self) -> dict[str, object]:
        """As a `sources` section has them."""
        said = self.model_dump(exclude={"url", "fetch"}, exclude_none=True, exclude_defaults=True)
        login = {} if self.fetch is None else {"fetch": self.fetch.keys()}
        return {**said, **login, **({"risk": self.risk.lower()} if self.risk else {})}


class PageAddress(_Body):
    url: str = Field(min_length=1, max_length=8000)
    lister: str | None = Field(default=None, max_length=40)
    filters: FilterList | None = None


class LookOrder(_Body):
    """URLs, or all that is watched of a source."""

    urls: list[Annotated[str, Field(min_length=1, max_length=8000)]] = Field(
        default_factory=list, max_length=100
    )
    source: str | None = Field(default=None, max_length=2000)


class Quiet(_Body):
    length: str | None = Field(
        default=None, max_length=40, alias="for", description="8h, 7d; not set: until unmuted."
    )


class NoteWords(_Body):
    words: str = Field(default="", max_length=2000)


class GroupNames(_Body):
    groups: list[Annotated[str, Field(min_length=1, max_length=60, pattern="^[^,]+$")]] = Field(max_length=20)


class NewToken(_Body):
    name: str = Field(min_length=1, max_length=60)
    scope: str = Field(default="read", pattern="^(read|write|admin)$")


@router.post("/sources", status_code=201, response_model=Entry, tags=["sources"])
async def post_source(request: Request, web: WebDep, given: NewSource) -> Response:
    """Watch what is at this address; it is due at once.  What is known of it stays."""
    done = await web.ask(add_source, given.url, given.keys(), {})
    said = {**source_added_json(done), "warnings": list(done.warnings)}
    return answer(request, said, status=201 if done.is_new else 200)


@router.post("/sources/preview", response_model=Entry, tags=["sources"])
async def post_preview(request: Request, web: WebDep, given: PageAddress) -> Response:
    """One look by hand: what would be compared, and what a source would find there.  Nothing is saved."""
    steps = None if given.filters is None else tuple(map(a_filter, given.filters))
    trial = PageTrial(url=given.url, lister=given.lister, filters=steps)
    return answer(request, tried_json(await web.ask(try_page, trial, probe.look_once, probe.filter_steps)))


@router.post("/sources/{source}/pause", response_model=Entry, tags=["sources"])
async def post_pause(request: Request, web: WebDep, source: SourceId) -> Response:
    """Look at it no more until it is resumed."""
    return answer(request, ordered_json(await web.ask(pause_source, source)))


@router.post("/sources/{source}/resume", response_model=Entry, tags=["sources"])
async def post_resume(request: Request, web: WebDep, source: SourceId) -> Response:
    return answer(request, ordered_json(await web.ask(resume_source, source)))


@router.post("/sources/{source}/reset", response_model=Entry, tags=["sources"])
async def post_reset(request: Request, web: WebDep, source: SourceId) -> Response:
    """Forget its failures and read its listing now."""
    return answer(request, ordered_json(await web.ask(reset_source, source)))


@router.post("/sources/{source}/mute", response_model=Entry, tags=["sources"])
async def post_mute(request: Request, web: WebDep, source: SourceId, given: Quiet) -> Response:
    """No message about its changes for a while."""
    length = None if given.length is None else a_duration(given.length, "--for")
    return answer(request, ordered_json(await web.ask(mute_for, source, length)))


@router.post("/sources/{source}/unmute", response_model=Entry, tags=["sources"])
async def post_unmute(request: Request, web: WebDep, source: SourceId) -> Response:
    return answer(request, ordered_json(await web.ask(unmute_source, source)))


@router.post("/sources/{source}/note", response_model=Entry, tags=["sources"])
async def post_note(request: Request, web: WebDep, source: SourceId, given: NoteWords) -> Response:
    """A note of the operator's own; empty: the note goes."""
    return answer(request, ordered_json(await web.ask(note_source, source, given.words)))


@router.post("/sources/{source}/groups", response_model=Entry, tags=["sources"])
async def post_groups(request: Request, web: WebDep, source: SourceId, given: GroupNames) -> Response:
    """The groups (tags) that it is in, in place of those that it was in."""
    return answer(request, ordered_json(await web.ask(group_source, source, ",".join(given.groups))))


@router.delete("/sources/{source}", response_model=Entry, tags=["sources"])
async def delete_source(request: Request, web: WebDep, source: SourceId) -> Response:
    """Stop watching it; its history stays."""
    return answer(request, ordered_json(await web.ask(remove_source, source)))


@router.post("/look", status_code=202, response_model=Entry, tags=["watches"])
async def post_look(request: Request, web: WebDep, given: LookOrder) -> Response:
    """Look now.  The engine takes the order within a second; the answer says when the turn of each lane comes."""
    said = await web.ask(order_look, given.urls, given.source)
    return answer(request, said, status=202)


@router.post("/lanes/{lane}/reset", response_model=Entry, tags=["politeness"])
async def post_lane_reset(request: Request, web: WebDep, lane: SourceId) -> Response:
    """Lift the breaker, a Retry-After hold and a block.  The gap between requests stays."""
    state = await web.ask(reset_lane, a_lane(lane))
    return answer(request, lane_json(lane, state, web.installation.now()))


@router.post("/lanes/{lane}/block", response_model=Entry, tags=["politeness"])
async def post_lane_block(request: Request, web: WebDep, lane: SourceId, given: NoteWords) -> Response:
    """Start nothing in this lane until it is reset."""
    state = await web.ask(block_lane, a_lane(lane), given.words or "by the operator")
    return answer(request, lane_json(lane, state, web.installation.now()))


@router.post("/alerts/{number}/ack", response_model=Entry, tags=["alerts"])
async def post_ack(
    request: Request, web: WebDep, number: Annotated[int, Path(ge=1, lt=2**31)], given: NoteWords
) -> Response:
    """Say that someone has seen it.  It stays open until its subject has recovered."""
    return answer(request, alert_json(await web.ask(acknowledge_alert, number, note=given.words)))


@router.post("/parked/retry", response_model=Entry, tags=["alerts"])
async def post_retry(request: Request, web: WebDep, given: PageAddress | None = None) -> Response:
    """Of one URL, or of all that is parked."""
    return answer(request, {"retried": await web.ask(retry_work, given.url if given else None)})


@router.post("/parked/drop", response_model=Entry, tags=["alerts"])
async def post_drop(request: Request, web: WebDep, given: PageAddress) -> Response:
    """Take it off the list; the watch keeps its long interval."""
    return answer(request, {"dropped": await web.ask(drop_work, a_url(given.url))})


@router.post("/evidence/verify", response_model=Entry, tags=["evidence"])
async def post_verify(request: Request, web: WebDep, quick: bool = False) -> Response:
    """Reads all evidence again; `quick`: rows, sizes and heads, not the records."""
    return answer(request, report_json(await web.ask(verify_evidence, quick=quick)))


@router.post("/tokens", status_code=201, response_model=Entry, tags=["access"])
async def post_token(request: Request, web: WebDep, given: NewToken) -> Response:
    """Make a token.  It is shown in this answer alone."""
    made = await web.ask(make_token, given.name, given.scope)
    return answer(request, {**token_json(made.kept), "token": made.token}, status=201)


@router.delete("/tokens/{name}", response_model=Entry, tags=["access"])
async def delete_token(request: Request, web: WebDep, name: Annotated[str, Path(max_length=60)]) -> Response:
    """Let it in no more."""
    return answer(request, token_json(await web.ask(revoke_token, name)))


class NewFeed(FeedQuery):
    """A feed for readers that cannot send a token."""

    name: str = Field(min_length=1, max_length=60)


@router.post("/feeds", status_code=201, response_model=Entry, tags=["access"])
async def post_feed(request: Request, web: WebDep, given: NewFeed) -> Response:
    """Make a secret address of a feed.  It is shown in this answer alone."""
    made = await web.ask(make_feed_address, given.name, given.scope())
    paths = {form: f"{FEEDS}{made.secret}/changes.{form}" for form in WRITERS}
    return answer(request, {**feed_address_json(made.kept), **paths}, status=201)


@router.delete("/feeds/{name}", response_model=Entry, tags=["access"])
async def delete_feed(request: Request, web: WebDep, name: Annotated[str, Path(max_length=60)]) -> Response:
    """Nobody reads it from now on."""
    return answer(request, feed_address_json(await web.ask(revoke_feed_address, name)))


def ordered_json(done: SourceOrdered) -> dict[str, object]:
    return {"source": done.source, "watches": done.watches, "comes_back": done.comes_back}


def mute_for(installation: Installation, source: str, length: timedelta | None) -> SourceOrdered:
    until = FOREVER if length is None else installation.now() + length
    return mute_source(installation, source, until)


def order_look(installation: Installation, urls: list[str], source: str | None) -> dict[str, object]:
    """The order alone: the engine of this process makes the looks."""
    return look_now.order_look(installation, urls, source)
