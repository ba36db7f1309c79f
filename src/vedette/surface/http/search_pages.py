"""Full-text search as a page and as a call, and the task that keeps its index up with the looks."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from vedette.contracts.errors import InputError, VedetteError
from vedette.operations.search import SearchPage, count_waiting, index_evidence, search, search_json
from vedette.surface.http.api_answers import PROBLEMS, answer
from vedette.surface.http.page_frame import page
from vedette.surface.http.web_context import Web, WebDep

router = APIRouter()
api = APIRouter(responses=PROBLEMS)
HITS = 20  # of a page
EVERY_S = 10.0
AT_ONCE = timedelta(seconds=1)  # of work, and then
REST = 9.0  # times as long nothing: a tenth of the time at most
TROUBLE_S = 60.0  # after a failure
log = logging.getLogger(__name__)
Typed = Annotated[str, Query(max_length=500, description='Words; "side by side"; begun*; -unwanted.')]
After = Annotated[str | None, Query(pattern="^[0-9]{1,18}$", description="`next` of the page before.")]


@router.get("/search")
async def get_search(request: Request, web: WebDep, text: str = "", cursor: str = "") -> Response:
    """All evidence that says it; without words, how to ask."""
    found: SearchPage | None = None
    problem: dict[str, str] = {}
    after = int(cursor) if cursor.isascii() and cursor.isdigit() and len(cursor) < 19 else None
    if text.strip():
        try:
            found = await web.ask(search, text[:500], limit=HITS, after=after)
        except InputError as error:
            problem = {"text": str(error)}
    waiting = await web.remembered("waiting", count_waiting) if web.installation.has_store else 0
    name = "search_list.html" if request.headers.get("hx-target") == "results" else "search.html"
    return page(request, name, found=found, text=text[:500], waiting=waiting, problem=problem)


@api.get("/search", response_model=dict[str, object], tags=["evidence"])
async def get_search_call(
    request: Request,
    web: WebDep,
    text: Typed,
    limit: Annotated[int, Query(ge=1, le=100)] = HITS,
    cursor: After = None,
) -> Response:
    """Pages that say all of it, the one that was seen last first; `waiting`: pieces that are not indexed yet."""
    found = await web.ask(search, text, limit=limit, after=None if cursor is None else int(cursor))
    return answer(request, search_json(found, await web.remembered("waiting", count_waiting)))


async def keep_indexed(web: Web) -> None:
    """Until it is cancelled.  Looks never wait for it."""
    clock = asyncio.get_running_loop().time
    pause = EVERY_S
    while True:
        await asyncio.sleep(pause)
        if not web.installation.has_store:
            continue
        begun = clock()
        try:
            await web.ask(index_evidence, limit=AT_ONCE)
            pause = max(EVERY_S, REST * (clock() - begun))
        except VedetteError as error:
            log.warning("the search index waits: %s", error)
            pause = TROUBLE_S
