"""GET /api/v1: all that is watched, seen, decided and kept.  Each call is one operation, as on the command line."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from vedette.contracts.errors import InputError
from vedette.contracts.events import Event
from vedette.operations.access_tokens import list_audit, list_tokens, token_json
from vedette.operations.arguments import a_duration
from vedette.operations.changes import numbered_json, stored_diff
from vedette.operations.evidence import body_of, kept_evidence, text_of
from vedette.operations.evidence_list import evidence_json, list_evidence
from vedette.operations.explain import explain
from vedette.operations.freshness import freshness_json
from vedette.operations.health import health_report_json, list_alerts, source_health
from vedette.operations.host_receipts import host_receipt, host_receipt_json
from vedette.operations.installation import Installation
from vedette.operations.lanes import list_parked
from vedette.operations.list_pages import MOST, change_page, lane_page, source_page, watch_page
from vedette.operations.overview import has_watches, overview, overview_json, politeness, receipt_json
from vedette.operations.panel_batches import batch_status
from vedette.operations.screenshots import screenshot_png
from vedette.operations.shown_config import settings
from vedette.operations.sources import list_sources, source_json
from vedette.operations.watches import history_of, watches_json
from vedette.operations.why_not import why_not, why_not_json
from vedette.report.explanation import explanation_json
from vedette.report.health import alert_json
from vedette.report.panel import view_json
from vedette.report.plain import dump, exact_numbers
from vedette.report.verdicts import parked_look_json, visit_json
from vedette.store.views import EvidenceView, WatchFilter
from vedette.surface.http.api_answers import PROBLEMS, ListPage, answer, problem
from vedette.surface.http.list_queries import ChangeQuery, LaneQuery, SourceQuery, WatchQuery
from vedette.surface.http.server import STREAM
from vedette.surface.http.web_context import Web, WebDep

router = APIRouter(responses=PROBLEMS)
Words = Annotated[str | None, Query(max_length=2000)]
Url = Annotated[str, Query(min_length=1, max_length=8000, description="In any spelling.")]
Limit = Annotated[int, Query(ge=1, le=MOST)]
Cursor = Annotated[str | None, Query(max_length=12_000, description="`next` of the page before.")]
Entry = dict[str, Any]
FOLLOWERS = 32  # of the event stream
FIRST_FIGURES_S = 20.0  # that a call waits for figures which are being worked out; a request has 30
PICTURE_HEADERS = {"Content-Security-Policy": "sandbox; default-src 'none'"}
COUNTED_S = 1.0  # between two lines of who only counts
QUIET = ": nothing new\n\n"
BEAT_S = 15.0  # a comment that keeps proxies from closing a quiet stream


@router.get("/overview", response_model=Entry, tags=["promises"])
async def get_overview(request: Request, web: WebDep) -> Response:
    """The three promises in numbers, and what needs somebody."""
    return answer(request, overview_json(await web.remembered("overview", overview), await web.promise()))


@router.get("/watches", response_model=ListPage, tags=["watches"])
async def get_watches(
    request: Request,
    web: WebDep,
    which: Annotated[WatchQuery, Query()],
) -> Response:
    """Watches in the order of their URLs, or those that are due, most overdue first."""
    page = await web.ask(_watches, which)
    items = watches_json(page.found)
    return answer(request, {"items": items, "next": page.after, "total": page.found.total})


@router.get("/watch", response_model=Entry, tags=["watches"])
async def get_watch(
    request: Request, web: WebDep, url: Url, visits: Annotated[int, Query(ge=1, le=MOST)] = 20
) -> Response:
    """One watch: what is known of it, what was decided last and why, and its last looks."""
    found = await web.ask(explain, url, visits=visits)
    return answer(request, explanation_json(found, web.installation.now()))


@router.get("/watch/history", response_model=ListPage, tags=["watches"])
async def get_history(request: Request, web: WebDep, url: Url, limit: Limit = 50) -> Response:
    """Every look at it, newest first."""
    found = await web.ask(history_of, url, limit)
    items = [visit_json(visit, found.changes) for visit in found.visits]
    return answer(request, {"items": items, "next": None, "total": None})


@router.get("/watch/why-not", response_model=Entry, tags=["watches"])
async def get_why_not(request: Request, web: WebDep, url: Url) -> Response:
    """Why a URL, watched or not, was not looked at, and what to do about it."""
    return answer(request, why_not_json(await web.ask(why_not, url)))


@router.get("/watch/evidence", response_model=ListPage, tags=["evidence"])
async def get_evidence_of_watch(request: Request, web: WebDep, url: Url, limit: Limit = 50) -> Response:
    """What was kept of it, newest first."""
    found = await web.ask(list_evidence, url, most=limit)
    return answer(request, {"items": [evidence_json(one) for one in found], "next": None, "total": None})


@router.get("/due", response_model=ListPage, tags=["watches"])
async def get_due(
    request: Request, web: WebDep, within: Words = None, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """What is due, most overdue first.  `within`: also what will be in 30m, 4h."""
    ahead = timedelta(0) if within is None else a_duration(within, "--within")
    which = WatchFilter(due_before=web.installation.now() + ahead, by_due=True)
    page = await web.ask(watch_page, which, limit, cursor)
    items = watches_json(page.found)
    return answer(request, {"items": items, "next": page.after, "total": page.found.total})


@router.get("/sources", response_model=ListPage, tags=["sources"])
async def get_sources(request: Request, web: WebDep, which: Annotated[SourceQuery, Query()]) -> Response:
    """Sources, highest tier first."""
    tag = which.tag
    found = await (web.remembered("sources", list_sources) if tag is None else web.ask(list_sources, tag))
    part = source_page(found, which.text, which.limit, which.cursor)
    items = [source_json(one) for one in part.rows]
    return answer(request, {"items": items, "next": part.after, "total": part.total})


@router.get("/changes", response_model=ListPage, tags=["changes"])
async def get_changes(request: Request, web: WebDep, which: Annotated[ChangeQuery, Query()]) -> Response:
    """Changes, newest first; without `state` those that people are told of."""
    page = await web.ask(_changes, which)
    items = [numbered_json(one, with_diff=which.diff) for one in page.changes]
    return answer(request, {"items": items, "next": page.after, "total": None})


@router.get("/changes/{number}", response_model=Entry, tags=["changes"])
async def get_change(request: Request, web: WebDep, number: int) -> Response:
    """One change by its number or id, with its diff."""
    found = await web.ask(stored_diff, str(number))
    more = {"before_at": found.before_at, "earlier": found.earlier}
    return answer(request, {**numbered_json(found.change, with_diff=True), **more})


@router.get("/lanes/{lane}/receipt", response_model=Entry, tags=["politeness"])
async def get_lane_receipt(
    request: Request, web: WebDep, lane: Annotated[str, Path(max_length=2000)]
) -> Response:
    """The requests that a host saw in the last day, and what its lane and its robots.txt allow."""
    found = await web.ask(host_receipt, lane)
    return answer(request, host_receipt_json(found, web.installation.now()))


@router.get("/lanes", response_model=ListPage, tags=["politeness"])
async def get_lanes(request: Request, web: WebDep, which: Annotated[LaneQuery, Query()]) -> Response:
    """Lanes, and of hosts what they were asked in the last day against what is allowed; the most asked first."""
    found, now = await web.remembered("lanes", politeness), web.installation.now()
    part = lane_page(found, which.text, which.limit, which.cursor)
    items = [receipt_json(one, now) for one in part.rows]
    return answer(request, {"items": items, "next": part.after, "total": part.total})


@router.get("/evidence/{what}", response_model=Entry, tags=["evidence"])
async def get_evidence(request: Request, web: WebDep, what: str) -> Response:
    """One piece by its number or the first digits of its sha256."""
    found = await web.ask(list_evidence, what, most=1)
    return answer(request, evidence_json(found[0]))


@router.get("/evidence/{what}/raw", response_class=Response, tags=["evidence"])
async def get_raw(request: Request, web: WebDep, what: str) -> Response:
    """The bytes as they came, as a download that no browser runs."""
    body = await web.ask(_raw, what)
    headers = {"Content-Disposition": "attachment", "Content-Security-Policy": "sandbox; default-src 'none'"}
    return Response(body, media_type="application/octet-stream", headers=headers)


@router.get(
    "/evidence/{what}/screenshot",
    response_class=Response,
    responses={200: {"content": {"image/png": {"schema": {"type": "string"}}}}},
    tags=["evidence"],
)
async def get_screenshot(request: Request, web: WebDep, what: str) -> Response:
    """A picture (PNG) of the page as the browser showed it, of a source with `screenshot: true`."""
    return Response(await web.ask(screenshot_png, what), media_type="image/png", headers=PICTURE_HEADERS)


@router.get("/evidence/{what}/text", response_model=Entry, tags=["evidence"])
async def get_text(request: Request, web: WebDep, what: str) -> Response:
    """All that it says, line by line."""
    return answer(request, {"text": await web.ask(_text, what)})


@router.get("/freshness", response_model=Entry, tags=["promises"])
async def get_freshness(request: Request, web: WebDep) -> Response:
    """What the policy foresees and what the looks on record show, against the objectives.

    A large store works it out after a start; the call waits for it, and 503 says when to ask again.
    """
    found = await web.promise(patience=FIRST_FIGURES_S)
    if found is not None:
        return answer(request, freshness_json(found))
    if await web.ask(has_watches):
        again = {"Retry-After": str(int(BEAT_S))}
        return problem(503, "it is being worked out; ask again in a moment", headers=again)
    raise InputError("nothing is watched yet; `vedette add URL` first")


@router.get("/alerts", response_model=ListPage, tags=["alerts"])
async def get_alerts(request: Request, web: WebDep, every: bool = False, limit: Limit = 100) -> Response:
    """Open alerts, newest first; with `every` also those that recovered."""
    found = await web.ask(list_alerts, every=every, most=limit)
    return answer(request, {"items": [alert_json(one) for one in found], "next": None, "total": None})


@router.get("/parked", response_model=Entry, tags=["alerts"])
async def get_parked(request: Request, web: WebDep, limit: Limit = 100) -> Response:
    """Looks and jobs that used up their attempts."""
    found = await web.ask(list_parked, limit)
    jobs = [{"queue": job.queue, "id": job.id, "name": job.name} for job in found.jobs]
    return answer(request, {"looks": [parked_look_json(one) for one in found.looks], "jobs": jobs})


@router.get("/health", response_model=Entry, tags=["sources"])
async def get_health(request: Request, web: WebDep) -> Response:
    """How every source fares."""
    return answer(request, health_report_json(await web.remembered("health", source_health)))


@router.get("/settings", response_model=ListPage, tags=["settings"])
async def get_settings(request: Request, web: WebDep) -> Response:
    """Every setting in force, and where it comes from.  Secrets are not shown."""
    found = await web.ask(lambda installation: list(settings(installation)))
    items = [{"key": one.key, "value": one.value, "origin": one.origin} for one in found]
    return answer(request, {"items": items, "next": None, "total": len(items)})


@router.get("/panel", response_model=Entry, tags=["panel"])
async def get_panel(request: Request, web: WebDep, batch: Words = None) -> Response:
    """How far a batch has come, by provider; the last one without a name."""
    return answer(request, view_json(await web.ask(batch_status, batch)))


@router.get("/tokens", response_model=ListPage, tags=["access"])
async def get_tokens(request: Request, web: WebDep, every: bool = False) -> Response:
    """Tokens by name; what they are is not kept."""
    found = await web.ask(list_tokens, every=every)
    return answer(request, {"items": [token_json(one) for one in found], "next": None, "total": len(found)})


@router.get("/audit", response_model=ListPage, tags=["access"])
async def get_audit(request: Request, web: WebDep, limit: Limit = 100) -> Response:
    """Requests that changed something, newest first."""
    found = await web.ask(list_audit, most=limit)
    names = ("at", "who", "method", "path", "status")
    items = [{name: getattr(one, name) for name in names} for one in found]
    return answer(request, {"items": items, "next": None, "total": None})


@router.get(
    "/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}},
    tags=["events"],
)
async def get_events(request: Request, web: WebDep, types: Words = None, counted: bool = False) -> Response:
    """Server-sent events as they happen.  `types`: only these, as in `changed,visited`.

    `counted`: only how many of each came, at most once a second, as pages ask for it.
    """
    events = web.state.events
    if len(events) >= FOLLOWERS or events.is_closed:
        return problem(503, "too many follow the stream; try again later")
    request.scope[STREAM]()
    wanted = None if types is None else frozenset(types.split(","))
    headers = {"X-Accel-Buffering": "no"}
    lines = _counts(web, wanted) if counted else _lines(web, wanted)
    return StreamingResponse(lines, media_type="text/event-stream", headers=headers)


async def _lines(web: Web, wanted: frozenset[str] | None) -> AsyncIterator[str]:
    """What comes at once goes out at once: a write costs more than the lines in it."""
    with web.state.events.follow(wanted) as follower:
        yield ": following\n\n"
        async for events in follower.read(BEAT_S):
            yield "".join(one.written(_event_lines) for one in events) or QUIET


async def _counts(web: Web, wanted: frozenset[str] | None) -> AsyncIterator[str]:
    with web.state.events.count(wanted) as follower:
        yield ": following\n\n"
        async for counts in follower.read(BEAT_S, COUNTED_S):
            yield f"event: counted\ndata: {dump(dict(counts))}\n\n" if counts else QUIET


def _event_lines(event: Event) -> str:
    body = {"event": event.name, "at": event.at.isoformat(), **event.fields}
    return f"event: {event.name}\ndata: {dump(exact_numbers(body))}\n\n"


def _watches(installation: Installation, which: WatchQuery) -> Any:
    return watch_page(installation, which.as_filter(installation), which.limit, which.cursor)


def _changes(installation: Installation, which: ChangeQuery) -> Any:
    return change_page(installation, which.as_filter(installation), which.limit, which.cursor)


def _raw(installation: Installation, what: str) -> bytes:
    return body_of(installation.loaded, _piece(installation, what))


def _text(installation: Installation, what: str) -> str:
    return text_of(installation.loaded, _piece(installation, what))


def _piece(installation: Installation, what: str) -> EvidenceView:
    return kept_evidence(installation, what)
