"""The filters of a source, on a page and by the API: tried on the real page, then saved."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from vedette.contracts.errors import InputError, RefusedError
from vedette.contracts.filters import FilterKind
from vedette.core.filters.filter_steps import EXAMPLES
from vedette.operations import probe
from vedette.operations.page_trials import PageTrial, try_page
from vedette.operations.source_filters import filters_json, filters_of_page, filters_of_source, set_filters
from vedette.surface.http.api_answers import PROBLEMS, answer, field_of
from vedette.surface.http.page_frame import page
from vedette.surface.http.sign_in import form_of
from vedette.surface.http.web_context import Web, WebDep

router = APIRouter()
api = APIRouter(responses=PROBLEMS)
Entry = dict[str, Any]
SourceName = Annotated[str, Path(max_length=2000)]
PageUrl = Annotated[str, Query(min_length=1, max_length=8000)]
FilterWord = Annotated[str, Field(min_length=1, max_length=2100)]
FilterList = Annotated[
    list[FilterWord | dict[str, str | int | float | bool]],
    Field(max_length=50, description='Steps in order: `css: .price`, or {"css": ".price"}.'),
]


class NewFilters(BaseModel):
    model_config = ConfigDict(extra="forbid")
    filters: FilterList


@api.get("/sources/{source}/filters", response_model=Entry, tags=["sources"])
async def get_source_filters(request: Request, web: WebDep, source: SourceName) -> Response:
    """What stands between its pages and their comparison."""
    return answer(request, filters_json(await web.ask(filters_of_source, source)))


@api.post("/sources/{source}/filters", response_model=Entry, tags=["sources"])
async def post_source_filters(
    request: Request, web: WebDep, source: SourceName, given: NewFilters
) -> Response:
    """These in their place, from the next look on; an empty list: none."""
    await web.ask(set_filters, source, given.filters)
    return answer(request, filters_json(await web.ask(filters_of_source, source)))


@router.get("/filters")
async def get_filters(request: Request, web: WebDep, url: PageUrl) -> Response:
    """The steps of one watch, to be tried and changed."""
    return await _shown(request, web, url)


@router.post("/filters/try")
async def post_try(request: Request, web: WebDep) -> Response:
    """One look at the real page, and what each step leaves; nothing is saved."""
    given = await form_of(request)
    url, text = given.get("url", ""), given.get("filters", "")
    asked = PageTrial(url=url, filters=_steps(text))
    try:
        tried = await web.ask(try_page, asked, probe.look_once, probe.filter_steps)
    except (InputError, RefusedError) as error:
        return await _shown(request, web, url, text=text, problem=field_of(error, "filters").message)
    return await _shown(request, web, url, text=text, tried=tried)


@router.post("/filters/save")
async def post_save(request: Request, web: WebDep) -> Response:
    given = await form_of(request)
    url, text = given.get("url", ""), given.get("filters", "")
    try:
        found = await web.ask(filters_of_page, url)
        await web.ask(set_filters, found.source.id, _steps(text))
    except (InputError, RefusedError) as error:
        return await _shown(request, web, url, text=text, problem=field_of(error, "filters").message)
    return RedirectResponse(f"/watch?url={quote(url, safe='')}&done=filtered", status_code=303)


async def _shown(request: Request, web: Web, url: str, **more: Any) -> Response:
    found = await web.ask(filters_of_page, url)
    text = more.get("text")
    values = {
        "found": found,
        "text": "\n".join(found.source.options.filters) if text is None else text,
        "tried": more.get("tried"),
        "problem": {"filters": more["problem"]} if more.get("problem") else {},
        "examples": [(kind.value, EXAMPLES[kind]) for kind in FilterKind],
    }
    return page(request, "filters.html", **values, status=422 if values["problem"] else 200)


def _steps(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())
