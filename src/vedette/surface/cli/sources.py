"""The operator's hand: lanes, sources.  A running engine hears of it within a second."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from vedette.contracts.errors import InputError
from vedette.operations.arguments import a_url
from vedette.report.plain import count
from vedette.surface.cli.check_sources import sources_check
from vedette.surface.cli.configured_sources import views_not_taken_in
from vedette.surface.cli.output import Cell
from vedette.surface.cli.pause import pause, remove, reset, resume
from vedette.surface.cli.queries import TagOption
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import group, verb

if TYPE_CHECKING:
    from datetime import datetime

    from vedette.contracts.words import LaneKey
    from vedette.store.views import LaneView, SourceView

LaneArgument = Annotated[str, typer.Argument(metavar="LANE", help="host:example.org, a host, or a URL.")]

COVERING = ("crawl", "html_list", "pagination")  # listers that reach what lies under their address


def register(app: typer.Typer) -> None:
    lanes = group(
        "lanes", example="vedette lanes show\nvedette lanes reset host:example.org", default=lanes_show
    )(lanes_)
    verb(lanes, "show", example="vedette lanes show host:example.org")(lanes_show)
    verb(lanes, "reset", example="vedette lanes reset example.org")(lanes_reset)
    verb(lanes, "block", example='vedette lanes block example.org --why "asked us to stop"')(lanes_block)
    sources = group("sources", example="vedette sources\nvedette sources pause news", default=sources_list)(
        sources_
    )
    verb(sources, "list", example="vedette sources list --json")(sources_list)
    verb(sources, "check", example="vedette sources check\nvedette sources check registry:croatia --json")(
        sources_check
    )
    for name, work in (("pause", pause), ("resume", resume), ("reset", reset), ("remove", remove)):
        verb(sources, name, example=f"vedette sources {name} news")(work)
    for one in (sources, lanes):
        app.add_typer(one)


def lanes_() -> None:
    """The queues in front of hosts: show, reset, block."""


def lanes_show(
    session: Session,
    lane: Annotated[
        str | None, typer.Argument(metavar="[LANE]", help="host:example.org, a host, or a URL.")
    ] = None,
    shut: Annotated[bool, typer.Option("--shut", help="Only those that something holds.")] = False,
) -> None:
    """Lanes and what holds them."""
    from vedette.core.lanes.lane import CLOSED, condition
    from vedette.store.views import LaneView

    now = session.now()
    with session.queries() as queries:
        if lane is None:
            found = queries.lanes()
        else:
            key = a_lane(lane)
            check_lane(session, key)
            state = queries.lane(key)
            found = [] if state is None else [LaneView(key=key, state=state)]
    if shut:
        found = [view for view in found if condition(view.state, now) != CLOSED]
    if session.given.as_json:
        session.out.document({"lanes": [_lane_json(session, view, now) for view in found]})
        return
    heads = ("LANE", "BREAKER", "WHAT HOLDS IT")
    empty = "no lane fits" if lane is None else f"{a_lane(lane)} has not been used yet: nothing holds it"
    session.out.table(heads, (_lane_cells(session, view, now) for view in found), empty=empty)


def lanes_reset(session: Session, lane: LaneArgument) -> None:
    """Lift the breaker, a Retry-After hold and a block.  The gap between requests and Crawl-delay stay."""
    from vedette.contracts.lane import LaneState
    from vedette.core.lanes.lane import CLOSED, reset
    from vedette.store import operator

    key = a_lane(lane)
    check_lane(session, key)
    with session.operating() as db:
        state = reset(operator.lane_state(db, key) or LaneState())
        operator.save_lane(db, key, state, now=session.now())
    tell(session, f"the breaker of {key} is closed: requests may start", {"lane": key, "condition": CLOSED})


def lanes_block(
    session: Session,
    lane: LaneArgument,
    why: Annotated[str, typer.Option("--why", help="For whoever asks later.")] = "",
) -> None:
    """Start nothing in this lane until it is reset."""
    from vedette.contracts.lane import LaneState
    from vedette.core.lanes.lane import block
    from vedette.store import operator

    key = a_lane(lane)
    check_lane(session, key)
    with session.operating() as db:
        state = block(operator.lane_state(db, key) or LaneState(), why)
        operator.save_lane(db, key, state, now=session.now())
    words = {"lane": key, "condition": "blocked", "blocked_by": state.blocked_by}
    tell(session, f"{key} is blocked: {state.blocked_by}", words)


def sources_() -> None:
    """What was configured: list, check, pause, resume, reset, remove."""


def sources_list(session: Session, tag: TagOption = None) -> None:
    """Every source, highest tier first.

    Says of a crawl or a list which pages under its address are watched by other sources: a page is watched once.
    """
    found = _all_sources(session)
    shares = _shares(session, found)
    named = session.installation.tagged(tag)
    found = [view for view in found if named is None or view.source.id in named]
    now = session.now()
    if session.given.as_json:
        bodies = [source_json(view) | {"shares": shares.get(view.source.id, {})} for view in found]
        session.out.document({"sources": bodies})
        return
    heads = ("ID", "TIER", "LISTER", "STATE", "WATCHES", "LAST SUCCESS", "URL")
    rows = (_source_cells(view, now) for view in found)
    least = ("LAST SUCCESS", "TIER", "LISTER")
    session.out.table(heads, rows, empty="no sources; `vedette add URL` makes one", least=least)
    for view in found:
        if view.source.is_active and _remedy(view):
            session.out.note(f"{view.source.id}: {_last_error(view)}. {_remedy(view)}")
        others = shares.get(view.source.id, {})
        if others:
            names = ", ".join(f"{name} {number}" for name, number in others.items())
            pages = count(sum(others.values()), "page")
            session.out.note(f"{view.source.id}: {pages} under its address watched by other sources: {names}")


def _all_sources(session: Session) -> list[SourceView]:
    """Of the store, and of vedette.yaml what the store does not have yet."""
    from vedette.store.migrate import DATABASE

    found = views_not_taken_in(session)
    if not found or (session.loaded.data / DATABASE).exists():
        with session.queries() as queries:
            found += queries.sources()
    return sorted(found, key=lambda view: (-view.source.tier, view.source.id))


def _shares(session: Session, found: list[SourceView]) -> dict[str, dict[str, int]]:
    """What lies under the address of a source that lists, and belongs to another: each page is watched once."""
    listing = [view.source for view in found if view.source.lister.value in COVERING and view.watches]
    if len(found) < 2 or not listing:
        return {}
    with session.queries() as queries:
        return queries.shared_pages(listing)


def a_lane(text: str) -> LaneKey:
    """`host:example.org`, `example.org` or a URL of it."""
    from vedette.contracts.words import LaneKey
    from vedette.core.urls.canonical import lane_of

    word = text.strip().lower()
    kind, mark, name = word.partition(":")
    if mark and kind in ("engine", "provider", "run", "addr", "notify") and name:
        return LaneKey(word)
    host = name if kind == "host" and mark else word
    try:
        return lane_of(a_url(host if "://" in host else f"http://{host}/"))
    except InputError:
        raise InputError(f"{text!r} is no lane; write host:example.org") from None


def check_lane(session: Session, key: LaneKey) -> None:
    """InputError that names the nearest, for a host that nothing is watched on; other lanes need no page."""
    from vedette.core.text.nearest import unknown

    if not key.startswith("host:"):
        return
    with session.queries() as queries:
        if queries.lane(key) is not None or queries.has_pages(key):
            return
        known = {str(view.key) for view in queries.lanes()} | set(queries.source_lanes())
    words = unknown("lane", key, known).partition(" (known:")[0]
    raise InputError(f"{words}; no page of it is watched (`vedette lanes` shows the lanes)")


def source_json(view: SourceView) -> dict[str, object]:
    source, state = view.source, view.state
    return {
        "id": source.id,
        "name": source.name,
        "url": source.url,
        "lister": source.lister.value,
        "read_as": None if view.read_as is None else view.read_as.value,
        "risk": None if source.risk is None else source.risk.name,
        "tier": source.tier.name,
        "active": source.is_active,
        "origin": source.origin,
        "category": source.registered.category or None,
        "hierarchy": source.registered.hierarchy,
        "domains": list(source.registered.domains),
        "provenance": source.registered.provenance or None,
        "tags": list(source.registered.tags),
        "note": source.registered.note or None,
        "muted_until": source.muted_until,
        "watches": view.watches,
        "failures": state.failures,
        "last_error": _last_error(view),
        "last_success_at": view.last_success_at,
        "outcome": None if view.last_outcome is None else view.last_outcome.value,
        "remedy": _remedy(view) or None,
        "closed_until": state.closed_until,
        "created_at": view.created_at,
    }


def tell(session: Session, words: str, body: dict[str, Any]) -> None:
    session.out.done(words)
    if session.given.as_json:
        session.out.document(body)


def _lane_json(session: Session, view: LaneView, now: datetime) -> dict[str, object]:
    from vedette.config.policies import lane_policies
    from vedette.core.lanes.lane import explain
    from vedette.report.explanation import lane_json

    policy = lane_policies(session.loaded.config).of(view.key)
    reasons = [
        {"code": r.code, "seconds": r.points, "note": r.note} for r in explain(policy, view.state, now)
    ]
    return {**lane_json(view.key, view.state, now), "reasons": reasons}


def _lane_cells(session: Session, view: LaneView, now: datetime) -> tuple[Cell, ...]:
    from vedette.core.lanes.lane import CLOSED, condition
    from vedette.report.explanation import lane_words

    word = condition(view.state, now)
    return (view.key, ("good" if word == CLOSED else "warn", word), lane_words(view.state, now))


def _lister_words(view: SourceView) -> str:
    """`auto: feed` once `auto` has become something."""
    lister, read_as = view.source.lister.value, view.read_as
    return lister if lister != "auto" or read_as is None else f"auto: {read_as.value}"


def _source_cells(view: SourceView, now: datetime) -> tuple[Cell, ...]:
    from vedette.core.urls.canonical import shown
    from vedette.report.plain import ago

    source, state = view.source, view.state
    word: Cell = ("good", "active") if source.is_active else ("warn", "paused")
    if source.is_active and state.closed_until is not None and state.closed_until > now:
        word = ("bad", f"closed, opens {ago(state.closed_until, now)}")
    elif source.is_active and _last_error(view) and view.last_outcome is not None:
        word = ("bad", f"not seen: {view.last_outcome.value}")
    elif source.is_active and state.failures:
        word = ("warn", count(state.failures, "failure"))
    elif source.is_active and view.last_outcome is None:
        word = ("", "not looked at yet")
    if source.muted_until is not None and source.muted_until > now:
        word = (word[0], f"{word[1]}, muted")
    last = ago(view.last_success_at, now) if view.last_success_at else "never"
    return (
        source.id,
        source.tier.name,
        _lister_words(view),
        word,
        str(view.watches),
        last,
        shown(source.url),
    )


def _last_error(view: SourceView) -> str | None:
    """Why the last look at its own address did not show it."""
    from vedette.core.lanes.outcomes import SEEN

    outcome = view.last_outcome
    if outcome is None or outcome in SEEN:
        return view.state.last_error or None
    return f"{outcome.value}: {view.last_detail}" if view.last_detail else outcome.value


def _remedy(view: SourceView) -> str:
    from vedette.core.health.remedies import advice

    if view.last_outcome is None:
        return ""
    return advice(view.last_outcome, url=view.source.url, detail=view.last_detail)
