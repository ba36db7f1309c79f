"""What is sent to be let in, on a page and by the API: tried on the real page, then saved.  Secrets are named only."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Query
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from vedette.contracts.errors import InputError, RefusedError, VedetteError
from vedette.operations import probe
from vedette.operations.arguments import some_cookies, some_headers
from vedette.operations.page_trials import PageTrial, try_page
from vedette.operations.source_access import NAMES, access_json, access_keys, checked_access, set_access
from vedette.operations.source_filters import filters_of_page, filters_of_source
from vedette.surface.http.api_answers import PROBLEMS, answer, field_of
from vedette.surface.http.login_fields import SourceLogin
from vedette.surface.http.page_frame import page
from vedette.surface.http.sign_in import Fields, form_of
from vedette.surface.http.web_context import Web, WebDep

router = APIRouter()
api = APIRouter(responses=PROBLEMS)
Entry = dict[str, Any]
SourceName = Annotated[str, Path(max_length=2000)]
PageUrl = Annotated[str, Query(min_length=1, max_length=8000)]
ONE_WORD = {"header": "headers", "cookie": "cookies"}  # as the command line names them, and as the form does
NOTHING: dict[str, Any] = {
    "headers": {},
    "cookies": {},
    "basic_auth": None,
    "post": None,
    "keep_cookies": False,
    "proxy": None,
}


@api.get("/sources/{source}/access", response_model=Entry, tags=["sources"])
async def get_source_access(request: Request, web: WebDep, source: SourceName) -> Response:
    """What is sent to be let in; of secrets only the names of their variables."""
    return answer(request, access_json(await web.ask(filters_of_source, source)))


@api.post("/sources/{source}/access", response_model=Entry, tags=["sources"])
async def post_source_access(
    request: Request, web: WebDep, source: SourceName, given: SourceLogin
) -> Response:
    """This in place of what it has, from the next look on; an empty object: nothing."""
    return answer(request, access_json(await web.ask(set_access, source, given.keys())))


@router.get("/access")
async def get_access(request: Request, web: WebDep, url: PageUrl) -> Response:
    """The form of one source."""
    return await _shown(request, web, url)


@router.post("/access/try")
async def post_try(request: Request, web: WebDep) -> Response:
    """One look at the real page with what the form says; nothing is saved."""
    given = await form_of(request)
    url = given.get("url", "")
    try:
        keys = checked_access(await web.ask(filters_of_page, url), _keys(given))
        trial = PageTrial(url=url, fetch={**NOTHING, **keys})
        tried = await web.ask(try_page, trial, probe.look_once)
    except (InputError, RefusedError) as error:
        return await _shown(request, web, url, given=given, error=error)
    return await _shown(request, web, url, given=given, tried=tried)


@router.post("/access/save")
async def post_save(request: Request, web: WebDep) -> Response:
    given = await form_of(request)
    url = given.get("url", "")
    try:
        found = await web.ask(filters_of_page, url)
        await web.ask(set_access, found.source.id, _keys(given))
    except (InputError, RefusedError) as error:
        return await _shown(request, web, url, given=given, error=error)
    return RedirectResponse(f"/watch?url={quote(url, safe='')}&done=let_in", status_code=303)


async def _shown(request: Request, web: Web, url: str, **more: Any) -> Response:
    """`given`: what was typed; `tried`: what came of it; `error`: what is wrong with it."""
    found = await web.ask(filters_of_page, url)
    problem = _problem(more["error"]) if "error" in more else {}
    given = more.get("given") or _typed(access_keys(found))
    values = {"found": found, "given": given, "tried": more.get("tried"), "problem": problem}
    return page(request, "access.html", **values, status=422 if problem else 200)


def _keys(given: Fields) -> dict[str, Any]:
    """What the form says, as keys of `fetch`."""
    user, password = given.get("user", "").strip(), given.get("password", "").strip()
    return {
        "headers": some_headers(_lines(given.get("headers", ""))),
        "cookies": some_cookies(_lines(given.get("cookies", ""))),
        "basic_auth": {"user": user, "password": password} if user or password else None,
        "post": given.get("post", "").strip(),
        "keep_cookies": given.get("keep_cookies") == "true",
        "proxy": given.get("proxy", "").strip(),
    }


def _typed(keys: dict[str, Any]) -> Fields:
    """The other way: the form of what is kept."""
    user, _, password = (keys.get("basic_auth") or "").partition(":")
    return {
        "headers": "\n".join(f"{name}: {value}" for name, value in keys.get("headers", {}).items()),
        "cookies": "\n".join(f"{name}: {value}" for name, value in keys.get("cookies", {}).items()),
        "user": user,
        "password": password,
        "post": keys.get("post") or "",
        "keep_cookies": "true" if keys.get("keep_cookies") else "",
        "proxy": keys.get("proxy") or "",
    }


def _problem(error: VedetteError) -> dict[str, str]:
    """Beside which field of the form it stands."""
    said = field_of(error, "fetch")
    name = said.field.removeprefix("fetch.").partition(".")[0]
    field = ONE_WORD.get(name, name)
    return {field if field in NAMES else "fetch": said.message}


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
