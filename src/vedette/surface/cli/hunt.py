"""Where does the hunt look?  hunt."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

if TYPE_CHECKING:
    from vedette.contracts.hunt import HuntRecord, HuntState
    from vedette.core.hunt import Chosen, HuntParams

HOSTS = ("HOST", "LOOKS", "YIELD", "ERRORS", "ROOM")
NEXT = ("VALUE", "URL", "WHY")
EXAMPLE = "vedette hunt\nvedette hunt --top 50 --json"


def register(app: typer.Typer) -> None:
    verb(app, "hunt", example=EXAMPLE)(hunt)


def hunt(
    session: Session,
    top: Annotated[
        int, typer.Option("--top", min=1, metavar="N", help="Hosts and pages that are listed.")
    ] = 10,
) -> None:
    """Where the hunt has been, what that gave, and what comes next.

    For sources with `hunt: true`: what their crawl finds is looked at only if it is chosen.  A share of the looks goes
    to new hosts and neighbourhoods, the others to where looks found most.  Changes nothing.
    """
    found = _answer(session, top)
    if session.given.as_json:
        session.out.document(_document(found))
        return
    _say(session, found)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    state: HuntState
    whole: HuntRecord
    open: int
    waiting: int
    hosts: list[tuple[str, HuntRecord]]
    next: list[Chosen]
    params: HuntParams
    looks_per_day: float | None

    def room(self, record: HuntRecord) -> int:
        from vedette.core.hunt import room_of

        return room_of(record, self.params)


def _answer(session: Session, top: int) -> _Answer:
    from vedette.config.policies import hunt_options
    from vedette.contracts.hunt import HuntRecord
    from vedette.engine.settle.hunter import Hunter
    from vedette.store.hunt_rows import HuntReader
    from vedette.store.sqlite import connect

    options = hunt_options(session.loaded.config)
    with closing(connect(session.store(), read_only=True)) as db:
        reader = HuntReader(db)
        is_open, waiting = reader.counts()
        return _Answer(
            state=reader.state(),
            whole=reader.records([""]).get("", HuntRecord()),
            open=is_open,
            waiting=waiting,
            hosts=reader.hosts(top),
            next=Hunter(reader, options, lambda now: 0).next(top, session.now()),
            params=options.params,
            looks_per_day=options.looks_per_day,
        )


def _say(session: Session, found: _Answer) -> None:
    from vedette.report.plain import count

    out, whole = session.out, found.whole
    limit = "" if found.looks_per_day is None else f", at most {found.looks_per_day:,.0f} a day"
    out.say(
        f"{found.state.number:,} looks chosen{limit}; {found.waiting:,} of them wait, {found.open:,} pages are open"
    )
    if whole.looks:
        out.say(
            f"{whole.found / whole.looks:.2f} found per look (0: nothing odd, 1: a find), "
            f"{count(whole.errors, 'error')}"
        )
    rows = [
        (host, f"{one.looks:,}", f"{one.found / one.looks:.2f}", f"{one.errors:,}", f"{found.room(one):,}")
        for host, one in found.hosts
    ]
    out.table(
        HOSTS, rows, empty="nothing was hunted yet; a source hunts with `lister: crawl` and `hunt: true`"
    )
    if found.next:
        why = [(f"{one.value:.1f}", one.prospect.url, _why(one)) for one in found.next]
        out.say("next:")
        out.table(NEXT, why, empty="")


def _why(one: Chosen) -> str:
    return ", ".join(f"{reason.code} {reason.points:+.1f}" for reason in one.reasons if reason.points)


def _document(found: _Answer) -> dict[str, object]:
    return {
        "chosen": found.state.number,
        "waiting": found.waiting,
        "open": found.open,
        "looks_per_day": found.looks_per_day,
        "share": found.params.share,
        **found.whole._asdict(),
        "hosts": [{"host": host, **one._asdict(), "room": found.room(one)} for host, one in found.hosts],
        "next": [
            {
                "url": one.prospect.url,
                "is_new": one.is_new,
                "value": one.value,
                "reasons": [{"code": r.code, "points": r.points, "note": r.note} for r in one.reasons],
            }
            for one in found.next
        ],
    }
