"""`vedette sources check`: is every source still where and what its row says?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from vedette.contracts.errors import InputError
from vedette.surface.cli.configured_sources import not_taken_in
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.output import Cell
from vedette.surface.cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vedette.contracts.source import Source
    from vedette.core.health.source_check import Checked

STYLES = {"fine": "good", "moved": "warn", "not_looked": "dim"}
REGISTRY = "registry:"
OFFLINE = "there is no network: none of the hosts could be reached, so nothing was checked"


def sources_check(
    session: Session,
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="Sources, or registry:NAME.  [default: every source]"),
    ] = None,
) -> None:
    """Look at each source once and report what moved.

    Redirected, gone, another kind of listing, nothing listed.  Guard, robots.txt and lanes are obeyed as in a run;
    nothing is saved but how far the lanes are used.  Exit 0 when all are fine, 6 when some are not, 1 without network.
    """
    from vedette.core.health.source_check import SourceFinding, is_offline

    sources = _wanted(session, ids or [])
    checked = _check(session, sources)
    offline = is_offline(checked)
    if session.given.as_json:
        session.out.document({"offline": offline, "sources": [_json(one) for one in checked]})
    elif offline:
        session.out.say(OFFLINE)
    else:
        heads = ("ID", "FOUND", "PROVENANCE", "WHAT")
        session.out.table(heads, map(_cells, checked), empty="no sources; `vedette import` takes a list")
        session.out.note(_count(checked))
    if offline:
        raise typer.Exit(Exit.FAILED)
    if any(one.finding not in (SourceFinding.FINE, SourceFinding.NOT_LOOKED) for one in checked):
        raise typer.Exit(Exit.FOUND_PROBLEMS)


def _wanted(session: Session, ids: Sequence[str]) -> list[Source]:
    found: list[Source] = []
    for name in (one for one in ids if one.startswith(REGISTRY)):
        found += registry_sources(name.removeprefix(REGISTRY))
    plain = [one for one in ids if not one.startswith(REGISTRY)]
    if ids and not plain:
        return found
    from vedette.store.migrate import DATABASE

    for one in plain:
        session.installation.check_source(one, "")
    known = {source.id: source for source in not_taken_in(session)}
    if (session.loaded.data / DATABASE).exists() or not known:
        with session.queries() as queries:
            known |= {view.source.id: view.source for view in queries.sources()}
    wanted = [source for name, source in known.items() if name in plain or (not plain and source.is_active)]
    return found + wanted


def registry_sources(name: str) -> list[Source]:
    """The sources of a registry that is shipped with the program."""
    from vedette.registries import read_registry
    from vedette.surface.cli.formats.entry import source_of
    from vedette.surface.cli.formats.own import read_yaml

    parsed = read_yaml(read_registry(name))
    if parsed.problems:
        raise InputError(f"registry {name}: line {parsed.problems[0].line}: {parsed.problems[0].why}")
    return [source_of(entry.keys, origin="import") for entry in parsed.entries]


def _check(session: Session, sources: list[Source]) -> list[Checked]:
    from vedette.store.migrate import DATABASE
    from vedette.store.operator import save_lane

    engine = session.engine()
    if not sources:
        return []
    with session.out.progress("looking at sources") as progress:
        if not (session.loaded.data / DATABASE).exists():
            return engine.check_sources(session.loaded, sources, progress=progress)[0]
        with session.queries() as queries:
            checked, lanes = engine.check_sources(
                session.loaded, sources, load_lane=queries.lane, progress=progress
            )
    with session.operating() as db:
        for key, state in lanes:
            save_lane(db, key, state, now=session.now())
    return checked


def _json(one: Checked) -> dict[str, object]:
    look = one.look
    return {
        "id": look.source.id,
        "url": look.source.url,
        "provenance": look.source.registered.provenance or None,
        "lister": look.source.lister.value,
        "finding": one.finding.value,
        "words": one.words,
        "outcome": look.outcome.value,
        "status": look.status,
        "answered": look.answered,
        "moved_for_good": look.has_moved and look.is_permanent,
        "looks_like": look.looks_like.value if look.looks_like else None,
        "items": look.items,
    }


def _cells(one: Checked) -> tuple[Cell, ...]:
    from vedette.report.plain import plain

    word = one.finding.value
    return (
        one.look.source.id,
        (STYLES.get(word, "bad"), word),
        one.look.source.registered.provenance or "-",
        plain(one.words, 120),
    )


def _count(checked: Sequence[Checked]) -> str:
    from collections import Counter

    counts = Counter(one.finding.value for one in checked)
    return ", ".join(f"{count} {word}" for word, count in counts.most_common())
