"""What people do on pages: forms that call the operations of the verbs, and answer with a page that says so."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from vedette.contracts.errors import InputError, RefusedError
from vedette.operations import probe
from vedette.operations.arguments import a_duration, a_lane
from vedette.operations.health import acknowledge_alert
from vedette.operations.lanes import drop_work, reset_lane, retry_work
from vedette.operations.maintenance import verify_evidence
from vedette.operations.page_trials import PageTrial, try_page
from vedette.operations.sources import (
    add_source,
    group_source,
    note_source,
    pause_source,
    remove_source,
    resume_source,
    unmute_source,
)
from vedette.surface.http.api_answers import field_of
from vedette.surface.http.api_writes import mute_for, order_look
from vedette.surface.http.dashboard import VERIFYING, source_values
from vedette.surface.http.long_work import CANCELLED, LongWork
from vedette.surface.http.page_frame import page
from vedette.surface.http.sign_in import form_of, own_path
from vedette.surface.http.web_context import WebDep

router = APIRouter()
# What may be said of a source: the operation, and the word for the page that follows.
ORDERS: dict[str, tuple[Any, str]] = {
    "pause": (pause_source, "paused"),
    "resume": (resume_source, "resumed"),
    "unmute": (unmute_source, "unmuted"),
    "remove": (remove_source, "removed"),
}


@router.post("/sources/preview")
async def post_preview(request: Request, web: WebDep) -> Response:
    """One look by hand; nothing is saved."""
    given = await form_of(request)
    url, lister = given.get("url", ""), given.get("lister", "") or "auto"
    values = await source_values(web)
    try:
        tried = await web.ask(try_page, PageTrial(url=url, lister=lister), probe.look_once)
    except (InputError, RefusedError) as error:
        said = field_of(error, "url")
        return page(
            request,
            "sources.html",
            **(values | {"given": given, "problem": {said.field: said.message}}),
            status=422,
        )
    return page(request, "sources.html", **(values | {"given": given, "tried": tried}))


@router.post("/sources/add")
async def post_add(request: Request, web: WebDep) -> Response:
    given = await form_of(request)
    keys: dict[str, Any] = {
        name: given[name] for name in ("name", "lister", "risk", "every") if given.get(name)
    }
    tags = [word.strip() for word in given.get("tags", "").split(",") if word.strip()]
    keys |= {"tags": tags} if tags else {}
    try:
        done = await web.ask(add_source, given.get("url", ""), keys, {})
    except (InputError, RefusedError) as error:
        said = field_of(error, "url")
        more = {"given": given, "problem": {said.field: said.message}}
        return page(request, "sources.html", **(await source_values(web) | more), status=422)
    word = "added" if done.is_new else "known"
    return _to(f"/watch?url={quote(done.source.url, safe='')}", word)


@router.post("/sources/order")
async def post_order(request: Request, web: WebDep) -> Response:
    """Pause, resume, mute, unmute, remove, note."""
    given = await form_of(request)
    what, order = given.get("source", ""), given.get("order", "")
    if order == "mute":
        length = given.get("for", "")
        await web.ask(mute_for, what, a_duration(length, "--for") if length else None)
        word = "muted"
    elif order == "note":
        await web.ask(note_source, what, given.get("words", ""))
        word = "noted"
    elif order == "group":
        await web.ask(group_source, what, given.get("words", ""))
        word = "grouped"
    elif order in ORDERS:
        call, word = ORDERS[order]
        await web.ask(call, what)
    else:
        raise InputError(f"{order!r} cannot be done to a source")
    return _to("/sources" if order == "remove" else own_path(given.get("next", "/sources")), word)


@router.post("/look")
async def post_look(request: Request, web: WebDep) -> Response:
    given = await form_of(request)
    url = given.get("url", "")
    await web.ask(order_look, [url], None)
    return _to(f"/watch?url={quote(url, safe='')}", "look")


@router.post("/lanes/reset")
async def post_lane(request: Request, web: WebDep) -> Response:
    given = await form_of(request)
    await web.ask(reset_lane, a_lane(given.get("lane", "")))
    return _to("/lanes", "reset")


@router.post("/alerts/ack")
async def post_ack(request: Request, web: WebDep) -> Response:
    given = await form_of(request)
    number = given.get("alert", "")
    if not (number.isascii() and number.isdigit()):
        raise InputError(f"{number!r} is no alert")
    await web.ask(acknowledge_alert, int(number), note=given.get("note", "")[:500])
    return _to("/alerts", "acked")


@router.post("/parked/order")
async def post_parked(request: Request, web: WebDep) -> Response:
    given = await form_of(request)
    what = given.get("what", "") or None
    if given.get("order") == "drop" and what:
        await web.ask(drop_work, what)
        return _to("/parked", "dropped")
    await web.ask(retry_work, what)
    return _to("/parked", "retried")


@router.post("/evidence/verify")
async def post_verify(request: Request, web: WebDep) -> Response:
    """Reads all evidence again, now."""
    web.work.forget(VERIFYING)
    work = LongWork(VERIFYING, "Reading all evidence again")
    await web.work.begun(work, lambda progress: verify_evidence(web.installation, progress=progress), request)
    return RedirectResponse("/evidence", status_code=303)


@router.post("/work/cancel")
async def post_cancel(request: Request, web: WebDep) -> Response:
    """An end to long work; what it is about stays as it was."""
    given = await form_of(request)
    work = web.work.of(given.get("work", ""))
    if work is not None:
        work.cancel()
    return _to(own_path(given.get("next", "/")), CANCELLED)


def _to(there: str, word: str) -> Response:
    """The page that follows, and what was done as a word of `page_frame.DONE`."""
    mark = "&" if "?" in there else "?"
    return RedirectResponse(f"{there}{mark}done={word}", status_code=303)
