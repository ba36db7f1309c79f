"""`hunt`: where it looked, what it found, and where it looks next."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.core.hunt import Chosen
from vedette.operations.hunt import HuntOverview, hunt_json
from vedette.operations.hunt import hunt as overview
from vedette.report.plain import count
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

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
    found = overview(session.installation, top=top)
    if session.given.as_json:
        session.out.document(hunt_json(found))
        return
    _say(session, found)


def _say(session: Session, found: HuntOverview) -> None:
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
