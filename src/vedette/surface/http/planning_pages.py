"""What comes next and what was found by the way: due, hunt, and orders for many watches; as pages and as calls."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from vedette.contracts.errors import InputError, StoreError, VedetteError
from vedette.core.schedule import POLICIES
from vedette.operations.arguments import a_duration
from vedette.operations.bulk_edit import MOST as MOST_EDITED
from vedette.operations.bulk_edit import bulk_json, edit_watches
from vedette.operations.due_list import due_json, due_list
from vedette.operations.freshness_apart import asked_what_if
from vedette.operations.hunt import finding_json, findings, mark_page
from vedette.operations.installation import Installation
from vedette.operations.list_pages import MOST
from vedette.report.lanes import lane_words
from vedette.surface.http.api_answers import PROBLEMS, answer, field_of
from vedette.surface.http.dashboard import UNTRIED
from vedette.surface.http.long_work import LongWork, Progress, WorkCancelled
from vedette.surface.http.page_frame import page
from vedette.surface.http.sign_in import form_of
from vedette.surface.http.web_context import Web, WebDep

router = APIRouter()
api = APIRouter(responses=PROBLEMS)
ROWS = 50
FINDINGS = 100
SPANS = (
    ("", "now"),
    ("1h", "within an hour"),
    ("4h", "within 4 hours"),
    ("24h", "within a day"),
    ("7d", "within a week"),
)
Entry = dict[str, Any]


@router.get("/due")
async def get_due(request: Request, web: WebDep, within: str = "", cursor: str | None = None) -> Response:
    """What is next, and why then."""
    found, problem = None, {}
    try:
        found = await web.ask(due_list, _ahead(within), ROWS, cursor)
    except InputError as error:
        problem = {"within": str(error).partition(": ")[2] or str(error)}
    values: dict[str, Any] = {"found": found, "within": within, "spans": SPANS, "problem": problem}
    return page(request, "due.html", **values, words=lane_words)


@api.get("/due/why", response_model=Entry, tags=["watches"])
async def get_due_why(
    request: Request,
    web: WebDep,
    within: Annotated[str | None, Query(max_length=100)] = None,
    limit: Annotated[int, Query(ge=1, le=MOST)] = ROWS,
    cursor: Annotated[str | None, Query(max_length=12_000)] = None,
) -> Response:
    """What is due, most overdue first, each with the reasons of the decision that set its time."""
    found = await web.ask(due_list, _ahead(within or ""), limit, cursor)
    items = due_json(web.installation, found)
    return answer(request, {"items": items, "next": found.after, "total": found.total})


@router.get("/freshness/what-if")
async def get_what_if(request: Request, web: WebDep) -> Response:
    """What another budget, objective or policy would have done, over the looks on record."""
    given = {name: request.query_params.get(name, default) for name, default in UNTRIED.items()}
    work, problem, status = None, {}, 200
    try:
        if set(request.query_params) - {"done"}:
            work = await _replayed(request, web, given)
            if work.error is not None:
                raise work.error
    except InputError as error:
        said = field_of(error, "budget")
        problem, status = {said.field: said.message}, 422
    except VedetteError as error:
        problem, status = {"all": str(error)}, 503
    values: dict[str, Any] = {"given": given, "problem": problem, "policies": tuple(POLICIES)}
    shown = {
        "found": None if work is None else work.result,
        "work": work if work is not None and work.is_running else None,
        "is_cancelled": work is not None and work.is_cancelled,
    }
    return page(request, "what_if.html", **values, **shown, status=status)


async def _replayed(request: Request, web: Web, given: dict[str, str]) -> LongWork:
    """The looks on record played again, in a process that can be ended."""
    asked = asked_what_if(**given)
    work = LongWork(f"what-if {json.dumps(given)}", "Playing the looks on record again", end=web.trials.stop)

    def play(progress: Progress) -> dict[str, object]:
        try:
            return web.trials.what_if(web.installation, asked, progress=progress)
        except StoreError:
            if work.is_cancelled:
                raise WorkCancelled from None
            raise

    return await web.work.begun(work, play, request)


@api.get("/what-if", response_model=Entry, tags=["promises"])
async def get_what_if_call(
    request: Request,
    web: WebDep,
    budget: Annotated[float, Query(ge=0.05, le=20, description="Times what was spent.")] = 1.0,
    hours: Annotated[float, Query(ge=0.25, le=168, description="Within which CRITICAL is to be seen.")] = 4.0,
    policy: Annotated[str, Query(max_length=40)] = "",
) -> Response:
    """What another budget, objective or policy would have done, over the looks on record."""
    asked = asked_what_if(budget=str(budget), hours=str(hours), policy=policy)
    return answer(request, await web.ask(web.trials.what_if, asked))


@router.get("/hunt")
async def get_hunt(request: Request, web: WebDep, least: str = "") -> Response:
    """What hunts found, the oddest first, and what makes it odd."""
    problem: dict[str, str] = {}
    score = _score(least)
    if score is None:
        problem, score = {"least": "A number from 0 to 100."}, 0.0
    found = await web.ask(_findings, score, FINDINGS)
    return page(request, "hunt.html", found=found, least=least, most=FINDINGS, problem=problem)


@router.post("/hunt/mark")
async def post_mark(request: Request, web: WebDep) -> Response:
    given = await form_of(request)
    await web.ask(mark_page, given.get("url", ""), given.get("word", ""))
    return RedirectResponse("/hunt?done=marked", status_code=303)


@api.get("/hunt/findings", response_model=Entry, tags=["hunt"])
async def get_findings(
    request: Request,
    web: WebDep,
    least: Annotated[float, Query(ge=0, le=1000)] = 0.0,
    limit: Annotated[int, Query(ge=1, le=MOST)] = 100,
) -> Response:
    """What hunts found, the oddest first, with what each feature adds."""
    found = await web.ask(_findings, least, limit)
    return answer(request, {"items": [finding_json(one) for one in found], "next": None, "total": None})


class FindingMark(BaseModel):
    model_config = ConfigDict(extra="forbid")

    url: str = Field(min_length=1, max_length=8000)
    word: str = Field(pattern="^(odd|plain)$")


@api.post("/hunt/mark", response_model=Entry, tags=["hunt"])
async def post_mark_call(request: Request, web: WebDep, given: FindingMark) -> Response:
    """Say that a page is odd, or plain."""
    done = await web.ask(mark_page, given.url, given.word)
    return answer(request, {"url": done.url, "mark": done.word, "odd": done.odd, "plain": done.plain})


class BulkOrder(BaseModel):
    """One order for many watches."""

    model_config = ConfigDict(extra="forbid")

    order: str = Field(pattern="^(look|pause|resume|mute|unmute|group|remove)$")
    urls: list[Annotated[str, Field(max_length=8000)]] = Field(min_length=1, max_length=MOST_EDITED)
    length: str | None = Field(default=None, max_length=100, alias="for", description="Of a mute: 1d, 12h.")
    group: str = Field(default="", max_length=500, description="That they are put into, for `group`.")


@api.post("/watches/order", response_model=Entry, tags=["watches"])
async def post_bulk_call(request: Request, web: WebDep, given: BulkOrder) -> Response:
    """Look at, pause, resume, mute, group or remove many at once; what cannot be done is told by its address."""
    length = a_duration(given.length, "--for") if given.length else None
    done = await web.ask(edit_watches, given.order, given.urls, length=length, group=given.group)
    return answer(request, bulk_json(done))


@router.post("/watches/order")
async def post_bulk(request: Request, web: WebDep) -> Response:
    body = parse_qs((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)
    word = body.get("for", [""])[-1]
    length = a_duration(word, "--for") if word else None
    group = body.get("group", [""])[-1][:500]
    done = await web.ask(
        edit_watches, body.get("order", [""])[-1], body.get("url", []), length=length, group=group
    )
    return page(request, "bulk.html", found=done)


def _ahead(within: str) -> timedelta:
    return a_duration(within, "--within") if within else timedelta(0)


def _score(word: str) -> float | None:
    if not word.strip():
        return 0.0
    try:
        number = float(word)
    except ValueError:
        return None
    return number if 0 <= number <= 100 else None


def _findings(installation: Installation, least: float, most: int) -> Any:
    return findings(installation, least=least, most=most) if installation.has_store else []
