"""Changes as Atom and JSON Feed: under the API with a token, and under a secret address of their own."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response

from vedette.contracts.errors import VedetteError
from vedette.operations.arguments import a_risk
from vedette.operations.change_feeds import (
    change_feed,
    check_scope,
    feed_address_json,
    feed_of_secret,
    list_feed_addresses,
)
from vedette.operations.installation import Installation
from vedette.report.feed_documents import WRITERS, ChangeFeed, FeedPlace
from vedette.store.access_rows import FeedScope
from vedette.surface.http.access_check import FEEDS
from vedette.surface.http.api_answers import PROBLEMS, ListPage, answer, document
from vedette.surface.http.list_queries import RiskWord, Word
from vedette.surface.http.web_context import WebDep

router = APIRouter()
api = APIRouter(responses=PROBLEMS)
Form = Literal["atom", "json"]
_CONTENT: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {
            kind: {"schema": {"type": "object" if form == "json" else "string"}}
            for form, (kind, _) in WRITERS.items()
        }
    }
}


class FeedQuery(BaseModel):
    """Which changes; what is not given does not filter."""

    model_config = ConfigDict(extra="forbid")

    tag: Word = None
    source: Word = None
    url: Word = None
    risk: RiskWord = None

    def scope(self) -> FeedScope:
        risk = a_risk(self.risk, "--risk")
        return FeedScope(tag=self.tag or None, source=self.source or None, url=self.url or None, risk=risk)


@router.get(f"{FEEDS}{{secret}}/changes.{{form}}")
async def get_secret_feed(request: Request, web: WebDep, secret: str, form: Form) -> Response:
    """The gate has checked the secret; the feed is what it was made for."""
    kept = await web.ask(feed_of_secret, secret)
    if kept is None:
        raise VedetteError("there is no such feed, or it was revoked")
    return _written(request, await web.ask(change_feed, kept.scope), form)


@api.get("/feed.{form}", response_class=Response, responses=_CONTENT, tags=["changes"])
async def get_feed(
    request: Request, web: WebDep, form: Form, which: Annotated[FeedQuery, Query()]
) -> Response:
    """The newest changes as Atom or JSON Feed."""
    return _written(request, await web.ask(_checked, which.scope()), form)


@api.get("/feeds", response_model=ListPage, tags=["access"])
async def get_feeds(request: Request, web: WebDep, every: bool = False) -> Response:
    """Secret addresses of feeds by name; what they are is not kept."""
    found = await web.ask(list_feed_addresses, every=every)
    items = [feed_address_json(one) for one in found]
    return answer(request, {"items": items, "next": None, "total": len(items)})


def _checked(installation: Installation, scope: FeedScope) -> ChangeFeed:
    return change_feed(installation, check_scope(installation, scope))


def _written(request: Request, feed: ChangeFeed, form: Form) -> Response:
    kind, write = WRITERS[form]
    home = f"{request.url.scheme}://{request.url.netloc}"
    text = write(feed, FeedPlace(home, str(request.url)))
    return document(request, text, kind, feed.updated_at)
