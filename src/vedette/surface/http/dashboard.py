"""The pages of the dashboard.  Each asks operations and shows what they give; nothing is decided or queried here."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from vedette.contracts.errors import InputError, StoreError, VedetteError
from vedette.contracts.source import Source
from vedette.contracts.words import Outcome, Risk
from vedette.core.lanes.lane import condition
from vedette.core.lanes.outcomes import MEANING
from vedette.core.schedule import POLICIES
from vedette.operations.changes import stored_diff
from vedette.operations.evidence import body_of, kept_evidence, text_of
from vedette.operations.evidence_list import archive_heads, list_evidence
from vedette.operations.explain import explain
from vedette.operations.health import list_alerts, source_health
from vedette.operations.host_receipts import host_receipt
from vedette.operations.imported_history import imported_diff, imported_versions
from vedette.operations.installation import Installation
from vedette.operations.lanes import list_parked
from vedette.operations.list_pages import ChangePage, change_page, lane_page, source_page, watch_page
from vedette.operations.overview import has_watches, overview, politeness
from vedette.operations.panel_batches import panel_page
from vedette.operations.screenshots import screenshot_png, screenshots
from vedette.operations.shown_config import settings
from vedette.operations.sources import groups, last_error, list_sources, remedy
from vedette.operations.why_not import why_not
from vedette.report.changes import because
from vedette.report.explanation import explanation_lines, noise_lines
from vedette.report.health import KIND_WORDS, alert_state, trouble, what_to_do
from vedette.report.lanes import lane_words
from vedette.report.rate_band import rate_band
from vedette.report.verdicts import changed_words
from vedette.surface.http.diff_rows import VIEWS, lines_of, side_by_side
from vedette.surface.http.list_queries import ChangeQuery, WatchQuery
from vedette.surface.http.page_frame import CSP, page
from vedette.surface.http.web_context import Web, WebDep

router = APIRouter()
Url = Annotated[str, Query(min_length=1, max_length=8000)]
Word = Annotated[str, Query(max_length=2000)]
LATEST = 8  # changes on the overview
LOOKS = 60  # on the page of a watch
UNTRIED = {"budget": "1", "hours": "4", "policy": ""}  # where the sliders of a what-if stand at first
VERIFYING = "verify"  # the long work that reads all evidence again
ROWS = 100  # of a list that is at hand as a whole
RAW_HEADERS = {
    "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'self'",
    "Content-Disposition": "inline",
}


@router.get("/")
async def get_overview(request: Request, web: WebDep) -> Response:
    """The three promises, what needs you now, what changed last; a page that is open asks for the last alone."""
    if request.headers.get("hx-target") == "latest-list":
        body = await web.shared("latest", partial(_latest_list, request, web))
        return HTMLResponse(body, headers={"Content-Security-Policy": CSP})
    latest = await _latest(web)
    found = await web.remembered("overview", overview)
    alerts = await web.ask(list_alerts, every=False, most=5)
    parked = await web.ask(list_parked, 5)
    plot = {
        "x": [int(one.at.timestamp()) for one in found.slices],
        "counts": True,
        "series": [
            {"label": "looks", "y": [one.looks for one in found.slices]},
            {"label": "changes", "y": [one.changes for one in found.slices]},
        ],
    }
    values: dict[str, Any] = {
        "found": found,
        "promise": await web.promise(),
        "changes": latest.changes,
        "alerts": alerts,
        "parked": parked.looks,
        "alert_state": alert_state,
        "kind_words": KIND_WORDS,
    }
    return page(request, "overview.html", **values, plot=json.dumps(plot), because=because)


@router.get("/changes")
async def get_changes(request: Request, web: WebDep) -> Response:
    """The stream; every filter is in the address."""
    which, problem = _read(ChangeQuery, request)
    found, problem = await _tried(web, _changes, which, problem)
    name = "changes_list.html" if request.headers.get("hx-target") == "results" else "changes.html"
    values = {"page": found, "which": which, "problem": problem, "risks": [*reversed(Risk)]}
    return page(request, name, **values, groups=await web.remembered("groups", groups), because=because)


@router.get("/changes/{number}")
async def get_change(request: Request, web: WebDep, number: int, view: str = "side") -> Response:
    """One change: what differs, why it is taken for true, and its two states."""
    found = await web.ask(stored_diff, str(number))
    wanted = view if view in VIEWS else "side"
    rows = side_by_side(found.ops) if wanted == "side" else []
    lines = [] if wanted == "side" else lines_of(found.ops, wanted)
    one = found.change
    values: dict[str, Any] = {
        "found": found,
        "one": one,
        "view": wanted,
        "views": VIEWS,
        "rows": rows,
        "lines": lines,
        "source": await web.ask(_source_of, one.view.source),
    }
    states = (one.view.change.before_evidence, one.view.change.after_evidence)
    values["shots"] = await web.ask(screenshots, states)
    return page(request, "change.html", **values, because=because(one.view.change))


@router.get("/watches")
async def get_watches(request: Request, web: WebDep) -> Response:
    which, problem = _read(WatchQuery, request)
    found, problem = await _tried(web, _watches, which, problem)
    name = "watches_list.html" if request.headers.get("hx-target") == "results" else "watches.html"
    outcomes = [outcome.value for outcome in Outcome]
    values = {
        "page": found,
        "which": which,
        "problem": problem,
        "risks": [*reversed(Risk)],
        "outcomes": outcomes,
    }
    return page(request, name, **values, groups=await web.remembered("groups", groups))


@router.get("/watch")
async def get_watch(request: Request, web: WebDep, url: Url) -> Response:
    """One watch: when it is looked at next and why, its looks and changes, what was kept, what varies by itself."""
    said = await web.ask(explain, url, visits=LOOKS)
    answers = await web.ask(why_not, said.watch.url)
    kept = await web.ask(list_evidence, said.watch.url, most=12, with_acts=False)
    now = web.installation.now()
    times = [*reversed(said.visits)]
    plot = {
        "x": [int(visit.at.timestamp()) for visit in times],
        "series": [{"label": "characters of text", "y": [visit.text_chars for visit in times]}],
    }
    return page(
        request,
        "watch.html",
        one=said,
        answers=answers.answers,
        kept=kept,
        imported=await web.ask(imported_versions, said.watch.url),
        lines=explanation_lines(said, now),
        noise=noise_lines(said.watch.noise),
        lane=None if said.lane is None else lane_words(said.lane, now),
        rate=None if said.believed is None else rate_band(said.believed),
        plot=json.dumps(plot),
        meaning=MEANING,
        changed_words=changed_words,
    )


@router.get("/watch/imported")
async def get_imported(request: Request, web: WebDep, url: Url, at: datetime) -> Response:
    """A version that another program kept, and what differs from the one before it."""
    moment = at if at.tzinfo else at.replace(tzinfo=UTC)
    found = await web.ask(imported_diff, url, moment)
    return page(request, "imported.html", found=found, rows=side_by_side(found.ops))


@router.get("/sources")
async def get_sources(request: Request, web: WebDep, text: Word = "", cursor: str | None = None) -> Response:
    return page(request, "sources.html", **await source_values(web, text, cursor))


@router.get("/add")
async def get_add(
    request: Request, web: WebDep, url: Annotated[str, Query(max_length=8000)] = ""
) -> Response:
    """The form, filled with an address: a bookmark of the browser opens it.  Nothing is looked at before a click."""
    values = await source_values(web) | {"given": {"url": url}}
    return page(request, "sources.html", **(values | {"is_adding": True}))


@router.get("/lanes")
async def get_lanes(request: Request, web: WebDep, text: Word = "", cursor: str | None = None) -> Response:
    """A receipt per host: what we asked, and what it allows."""
    found = await web.remembered("lanes", politeness)
    hosts = [one for one in found if one.lane.startswith("host:")]
    others = [one for one in found if not one.lane.startswith("host:")]
    part = lane_page(hosts, text, ROWS, cursor)
    values: dict[str, Any] = {"part": part, "has_hosts": bool(hosts), "others": others, "text": text}
    return page(request, "lanes.html", **values, words=lane_words, condition=condition)


@router.get("/lane")
async def get_lane(request: Request, web: WebDep, host: Url) -> Response:
    """The receipt of one host: what we asked, when, and what its robots.txt allowed."""
    found = await web.ask(host_receipt, host)
    return page(request, "lane.html", found=found, words=lane_words, one=found.receipt)


@router.get("/evidence")
async def get_evidence(request: Request, web: WebDep) -> Response:
    heads = await web.ask(archive_heads)
    work = web.work.of(VERIFYING)
    values: dict[str, Any] = {
        "heads": heads,
        "report": None,
        "problem": "",
        "work": None,
        "is_cancelled": False,
    }
    if work is not None:
        values["report"], values["is_cancelled"] = work.result, work.is_cancelled
        values["problem"] = str(work.error or "")
        values["work"] = work if work.is_running else None
    return page(request, "evidence.html", **values)


@router.get("/evidence-of")
async def get_evidence_of(request: Request, url: str = "") -> Response:
    """By the address of a page, or by the number or first digits of a piece."""
    word = url.strip()
    there = f"/watch?url={quote(word, safe='')}" if "." in word else f"/evidence/{quote(word, safe='')}"
    return RedirectResponse(there, status_code=303)


@router.get("/evidence/{what}")
async def get_piece(request: Request, web: WebDep, what: str) -> Response:
    """One piece: its text, its bytes in a frame that runs nothing, and where it lies."""
    one = (await web.ask(list_evidence, what, most=1))[0]
    text, problem = "", ""
    try:
        text = await web.ask(lambda installation: text_of(installation.loaded, one.view))
    except (StoreError, VedetteError) as error:
        problem = str(error)
    values: dict[str, Any] = {"act": one.act, "text": text, "problem": problem, "shot": one.screenshot}
    return page(request, "piece.html", one=one.view, **values)


@router.get("/evidence/{what}/screenshot.png")
async def get_screenshot(request: Request, web: WebDep, what: str) -> Response:
    """The picture that the browser took of this state."""
    png = await web.ask(screenshot_png, what)
    return Response(png, media_type="image/png", headers=RAW_HEADERS)


@router.get("/evidence/{what}/raw")
async def get_raw(request: Request, web: WebDep, what: str) -> Response:
    """The bytes as text: no browser runs them, whatever they are."""
    body = await web.ask(_raw, what)
    return Response(body, media_type="text/plain; charset=utf-8", headers=RAW_HEADERS)


@router.get("/freshness")
async def get_freshness(request: Request, web: WebDep) -> Response:
    found = await web.promise()
    is_late = found is None and await web.ask(has_watches)
    tried: dict[str, Any] = {"given": UNTRIED, "problem": {}, "policies": tuple(POLICIES)}
    return page(request, "freshness.html", found=found, is_late=is_late, **tried)


@router.get("/alerts")
async def get_alerts(request: Request, web: WebDep, every: bool = False) -> Response:
    found = await web.ask(list_alerts, every=every, most=200)
    words: dict[str, Any] = {"alert_state": alert_state, "kind_words": KIND_WORDS}
    return page(request, "alerts.html", alerts=found, every=every, **words)


@router.get("/parked")
async def get_parked(request: Request, web: WebDep) -> Response:
    return page(request, "parked.html", found=await web.ask(list_parked, ROWS), most=ROWS, meaning=MEANING)


@router.get("/panel")
async def get_panel(request: Request, web: WebDep, batch: Word | None = None, domain: Word = "") -> Response:
    """How far a batch is, what it cost and dropped, and what the models say of one domain."""
    found, problem = None, {}
    try:
        found = await web.ask(panel_page, batch or None, domain)
    except InputError as error:
        problem = {"domain": str(error)} if domain else {"batch": str(error)}
        found = await web.ask(panel_page, batch or None) if domain else None
    except VedetteError as error:
        problem = {"batch": str(error)}
    values: dict[str, Any] = {"shown": found, "found": found and found.view, "domain": domain}
    return page(request, "panel.html", **values, problem=problem, status=422 if "domain" in problem else 200)


@router.get("/settings")
async def get_settings(request: Request, web: WebDep) -> Response:
    found = await web.ask(lambda installation: list(settings(installation)))
    groups: dict[str, list[Any]] = {}
    for one in found:
        groups.setdefault(str(one.place[0]), []).append(one)
    return page(request, "settings.html", groups=groups)


async def source_values(web: Web, text: str = "", cursor: str | None = None) -> dict[str, Any]:
    """What the page of sources shows."""
    try:
        found = await web.remembered("sources", list_sources)
        report = await web.remembered("health", source_health)
        health = {str(one.id): one for one in report.sources}
    except StoreError:
        found, health = [], {}
    return {
        "part": source_page(found, text, ROWS, cursor),
        "has_sources": bool(found),
        "text": text,
        "health": health,
        "last_error": last_error,
        "remedy": remedy,
        "trouble": trouble,
        "what_to_do": what_to_do,
        "given": {},
        "problem": {},
        "tried": None,
        "is_adding": False,
    }


def _read(kind: type[Any], request: Request) -> tuple[Any, dict[str, str]]:
    """A filter as the address has it; what cannot be read is said beside its field, and the rest still filters."""
    given = {name: value for name, value in request.query_params.items() if value and name != "done"}
    try:
        return kind(**given), {}
    except ValidationError as error:
        wrong = {str(one["loc"][0]): "This cannot be used here." for one in error.errors()}
    kept = {name: value for name, value in given.items() if name not in wrong}
    return kind(**kept), wrong


async def _tried(
    web: Web, call: Any, which: BaseModel, problem: dict[str, str]
) -> tuple[Any, dict[str, str]]:
    try:
        return await web.ask(call, which), problem
    except InputError as error:
        name, mark, words = str(error).partition(": ")
        is_named = bool(mark) and name.startswith("--")
        return None, {**problem, name[2:] if is_named else "text": words if is_named else str(error)}


async def _latest(web: Web) -> ChangePage:
    return await web.ask(change_page, ChangeQuery().as_filter(web.installation), LATEST, None)


async def _latest_list(request: Request, web: Web) -> bytes:
    """The same for whoever may read: it says nothing of the visitor."""
    changes = (await _latest(web)).changes
    return bytes(page(request, "latest_list.html", changes=changes, because=because).body)


def _changes(installation: Installation, which: ChangeQuery) -> Any:
    return change_page(installation, which.as_filter(installation), which.limit, which.cursor)


def _watches(installation: Installation, which: WatchQuery) -> Any:
    return watch_page(installation, which.as_filter(installation), which.limit, which.cursor)


def _source_of(installation: Installation, source: str) -> Source | None:
    with installation.queries() as queries:
        found = queries.source(source)
    return None if found is None else found.source


def _raw(installation: Installation, what: str) -> bytes:
    return body_of(installation.loaded, kept_evidence(installation, what))
