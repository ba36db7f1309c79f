"""`hunt`: where it looked, what it found and why; seeds, runs, marks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vedette.contracts.errors import InputError
from vedette.contracts.oddness import OddFinding
from vedette.core.hunt import Chosen
from vedette.core.oddness.features import WORDS
from vedette.engine.crawl.loop import Mode
from vedette.engine.crawl.run import RunRequest
from vedette.operations.hunt import (
    HuntOverview,
    OddPageView,
    finding_json,
    findings,
    hunt_json,
    mark_page,
    odd_page,
    odd_page_json,
    rescore,
)
from vedette.operations.hunt import hunt as overview
from vedette.operations.hunt_seeds import check_seeded, seed, seeded_json, seeds_in
from vedette.operations.run import check_ended
from vedette.registries import read_registry
from vedette.report.digest_letter import cost_words
from vedette.report.plain import count
from vedette.surface.cli.live_view import watching
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import LimitOption, UrlArgument, group, verb

HOSTS = ("PLACE", "LOOKS", "YIELD", "ERRORS", "ROOM")
NEXT = ("VALUE", "URL", "WHY")
FOUND = ("SCORE", "ACTION", "URL", "WHY")
WHY = ("POINTS", "FAMILY", "FEATURE", "WHAT IT MEANS")
NOT_YET = "nothing was hunted yet: no source has `hunt: true`, or it was not run; type: vedette hunt seed URL"
REGISTRY = "registry:"
MOST_BYTES = 64 * 1024 * 1024
EXAMPLE = "vedette hunt seed registry:smallweb\nvedette hunt run --looks 500\nvedette hunt findings"
HOMES = {
    "status": "",
    "seed": "",
    "run": "",
    "findings": "",
    "show": "",
    "mark": "",
    "rescore": "",
    "graph": "hunt_findings",
    "clusters": "hunt_findings",
    "map": "hunt_findings",
    "analyse": "hunt_analyst",
    "forest": "hunt_models",
    "similar": "hunt_models",
    "vectors": "hunt_models",
}
TopOption = Annotated[
    int, typer.Option("--top", min=1, metavar="N", help="Places and pages that are listed.")
]


def register(app: typer.Typer) -> None:
    hunts = group("hunt", example=EXAMPLE, default=status, homes=HOMES)(hunt)
    verb(hunts, "status", example="vedette hunt status --top 50 --json")(status)
    verb(hunts, "seed", example="vedette hunt seed https://example.org/links blogroll.opml")(seed_)
    verb(hunts, "run", example="vedette hunt run --looks 500")(run)
    verb(hunts, "findings", example="vedette hunt findings --limit 20")(findings_)
    verb(hunts, "show", example="vedette hunt show https://example.org/~ana/")(show)
    verb(hunts, "mark", example="vedette hunt mark https://example.org/~ana/ odd")(mark)
    verb(hunts, "rescore", example="vedette hunt rescore")(rescore_)
    app.add_typer(hunts)


def hunt() -> None:
    """Look for odd corners of the web: seed, run, findings, show, mark."""


def status(session: Session, top: TopOption = 10) -> None:
    """Where the hunt has been, what that gave, and what comes next.

    For sources with `hunt: true`: what their crawl finds is looked at only if it is chosen.  A share of the looks goes
    to new places and neighbourhoods, the others to where looks found most.  Changes nothing.
    """
    found = overview(session.installation, top=top)
    if session.given.as_json:
        session.out.document(hunt_json(found))
        return
    _say(session, found)


def seed_(
    session: Session,
    what: Annotated[
        list[str],
        typer.Argument(metavar="FILE|URL...", help="URLs, lists, OPML, link pages, registry:smallweb."),
    ],
) -> None:
    """Start hunting from these addresses.  Each becomes a source that hunts.

    A file may be a list of URLs, OPML of a feed reader, CSV, YAML or a saved page of links.  registry:smallweb is a
    starter list that comes with the program.
    """
    urls = [url for one in what for url in _seeds(one)]
    done = seed(session.installation, urls, name=" ".join(what)[:80])
    if session.given.as_json:
        session.out.document(seeded_json(done))
        return
    for url, why in done.refused:
        session.out.note(f"{url}: {why}")
    known = f", {len(done.known)} were there" if done.known else ""
    left = f", {len(done.refused)} left out" if done.refused else ""
    session.out.say(
        f"{count(len(done.added), 'seed')} added{known}{left}; type: vedette hunt run --looks 500"
    )


def run(
    session: Session,
    looks: Annotated[int, typer.Option("--looks", min=1, metavar="N", help="End after so many looks.")] = 500,
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=0.0, metavar="N", help="End after so many seconds.")
    ] = None,
) -> None:
    """Hunt for a while, then say what was found."""
    check_seeded(session.installation)
    before = _judged(session)
    request = RunRequest(mode=Mode.UNTIL_IDLE, max_visits=looks, seconds=seconds)
    with watching(session) as on_event:
        ended = session.engine().run_engine(session.loaded, request, on_event=on_event)
    check_ended(ended, "hunt")
    _tell(session, ended.tally.visits, before)


def findings_(
    session: Session,
    limit: LimitOption = 50,
    least: Annotated[
        float, typer.Option("--least", min=0.0, metavar="N", help="Only from this score on.")
    ] = 0.0,
) -> None:
    """What hunts found, the oddest first."""
    found = findings(session.installation, least=least, most=limit or -1)
    if session.given.as_json:
        session.out.document([finding_json(one) for one in found])
        return
    rows = [(f"{one.score:.0f}", one.action.value, one.url, _brief(one)) for one in found]
    session.out.table(FOUND, rows, empty="nothing odd was found yet; `vedette hunt run` looks further")


def show(session: Session, url: UrlArgument) -> None:
    """Why a page is odd: what each feature adds to its score, in words."""
    view = odd_page(session.installation, url)
    if session.given.as_json:
        session.out.document(odd_page_json(view))
        return
    _why_odd(session, view)


def mark(
    session: Session,
    url: UrlArgument,
    word: Annotated[str, typer.Argument(metavar="odd|plain", help="What the page is.")],
) -> None:
    """Say that a page is odd, or plain.  Five of each fit weights of your own, used from the next run on."""
    done = mark_page(session.installation, url, word)
    if session.given.as_json:
        session.out.document(
            {
                "url": done.url,
                "mark": done.word,
                "odd": done.odd,
                "plain": done.plain,
                "weights": done.weights,
            }
        )
        return
    then = f"; weights {done.weights} from the next run on" if done.weights else ""
    session.out.say(f"marked {done.word}; {done.odd} odd and {done.plain} plain by now{then}")


def rescore_(
    session: Session,
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=8, metavar="N", help="Read so many at once.")
    ] = 1,
) -> None:
    """Judge every page again from the archive, with the weights of now."""
    done = rescore(session.installation, workers=workers)
    if session.given.as_json:
        session.out.document(
            {
                "pages": done.pages,
                "from_archive": done.from_archive,
                "findings": done.findings,
                "changed": done.changed,
                "digest": done.digest,
            }
        )
        return
    session.out.say(
        f"{count(done.pages, 'page')} judged again, {done.from_archive:,} from the archive; "
        f"{count(done.findings, 'finding')}, {count(done.changed, 'score')} changed"
    )


def _seeds(what: str) -> list[str]:
    if "://" in what:
        return [what]
    if what.startswith(REGISTRY):
        return seeds_in(read_registry(what.removeprefix(REGISTRY)), f"{what}.yaml")
    path = Path(what)
    if not path.is_file():
        raise InputError(f"{what} is neither a URL nor a file")
    if path.stat().st_size > MOST_BYTES:
        raise InputError(f"{what} is larger than {MOST_BYTES // (1024 * 1024)} MiB")
    return seeds_in(path.read_bytes(), path.name)


def _judged(session: Session) -> int:
    """Of an installation that never ran: none."""
    if not session.installation.has_store:
        return 0
    return overview(session.installation, top=1).judged


def _tell(session: Session, looks: int, before: int) -> None:
    found = overview(session.installation, top=1)
    top = findings(session.installation, most=5)
    if session.given.as_json:
        session.out.document(
            {
                "looks": looks,
                "judged": found.judged - before,
                "findings": found.findings,
                "open": found.open,
                "top": [finding_json(one) for one in top],
            }
        )
        return
    judged = found.judged - before
    session.out.say(
        f"{count(looks, 'look')}, {count(judged, 'new page')}; {count(found.findings, 'finding')} in all, "
        f"{found.open:,} pages are open"
    )
    if not judged and not found.open:
        session.out.note(
            "no seed answered, or there is none: `vedette health` says why, `vedette hunt seed` adds"
        )
    if top:
        rows = [(f"{one.score:.0f}", one.action.value, one.url, _brief(one)) for one in top]
        session.out.table(FOUND, rows, empty="")


def _brief(one: OddFinding) -> str:
    best = sorted(one.reasons, key=lambda reason: -reason.points)[:3]
    return ", ".join(f"{reason.feature} {reason.points:+.0f}" for reason in best)


def _why_odd(session: Session, view: OddPageView) -> None:
    out, page = session.out, view.page
    decision = page.decision
    verdicts = {"skip": "not kept", "persist": "a finding", "llm": "a finding, worth asking a model about"}
    marked = f"; you marked it {view.mark}" if view.mark else ""
    out.say(f"{page.url}")
    out.say(
        f"oddness {decision.score:.1f} of 100: {verdicts[decision.action.value]} ({_from_on(view)}){marked}"
    )
    if decision.twin:
        out.say("another page says nearly the same, so it is no find")
    rows = [
        (f"{one.points:+.1f}", one.family.value, f"{one.feature}/{one.version}", WORDS.get(one.feature, ""))
        for one in sorted(view.reasons, key=lambda one: -one.points)
    ]
    out.table(WHY, rows, empty="nothing about it is odd")
    made = page.features.provenance
    out.say(f"judged after {made.looks:,} pages, weights {decision.weights}, features {made.features}")


def _from_on(view: OddPageView) -> str:
    weights = view.weights
    least, most = weights.persist_at - weights.lower, weights.persist_at + weights.higher
    return f"from {most:g} on" + (f", or from {least:g} on as the crawl says" if least < most else "")


def _say(session: Session, found: HuntOverview) -> None:
    out, whole = session.out, found.whole
    limit = "" if found.looks_per_day is None else f", at most {found.looks_per_day:,.0f} a day"
    out.say(
        f"{found.state.number:,} looks chosen{limit}; {found.waiting:,} of them wait, {found.open:,} pages are open"
    )
    if whole.looks:
        out.say(
            f"{count(found.findings, 'finding')} among {count(found.judged, 'page')}; "
            f"{whole.found / whole.looks:.2f} found per look (0: nothing odd, 1: a find), "
            f"{count(whole.errors, 'error')}"
        )
        out.say(cost_words(found.cost))
    rows = [
        (host, f"{one.looks:,}", f"{one.found / one.looks:.2f}", f"{one.errors:,}", f"{found.room(one):,}")
        for host, one in found.hosts
    ]
    out.table(
        HOSTS,
        rows,
        empty=NOT_YET,
    )
    if found.next:
        why = [(f"{one.value:.1f}", one.prospect.url, _why(one)) for one in found.next]
        out.say("next:")
        out.table(NEXT, why, empty="")


def _why(one: Chosen) -> str:
    return ", ".join(f"{reason.code} {reason.points:+.1f}" for reason in one.reasons if reason.points)
