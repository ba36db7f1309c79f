"""The house: doctor, db."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from vedette.surface.cli.exits import Exit
from vedette.surface.cli.session import Session
from vedette.surface.cli.verbs import group, verb

if TYPE_CHECKING:
    from vedette.surface.cli.health import Finding

_STYLE = {"ok": "good", "warn": "warn", "bad": "bad"}


def register(app: typer.Typer) -> None:
    verb(app, "doctor", example="vedette doctor")(doctor)
    db = group("db", example="vedette db status", default=status)(db_)
    verb(db, "status", example="vedette db status --json")(status)
    verb(db, "upgrade", example="vedette db upgrade")(upgrade)
    verb(db, "path", example="sqlite3 $(vedette db path) .tables")(path)
    app.add_typer(db)


def doctor(session: Session) -> None:
    """Check everything that a run needs.

    Says what to do about what is not right.  Exit 6 when something is bad.
    """
    from vedette.surface.cli.health import examine

    findings = examine(session)
    is_bad = any(finding.state == "bad" for finding in findings)
    if session.given.as_json:
        checks = [
            {"check": f.check, "state": f.state, "found": f.found, "remedy": f.remedy} for f in findings
        ]
        session.out.document({"healthy": not is_bad, "checks": checks})
    else:
        _print(session, findings)
    if is_bad:
        raise typer.Exit(Exit.FOUND_PROBLEMS)


def db_() -> None:
    """The database of the store."""


def status(session: Session) -> None:
    """Version, size and number of rows by table."""
    from vedette.store.migrate import HEAD, version
    from vedette.store.operator import lock_holder

    place = session.store()
    with session.queries() as queries:
        counts = queries.counts()
        runs = queries.runs(most=1)
    last = runs[0] if runs else None
    wal = place.with_name(place.name + "-wal")
    size = place.stat().st_size + (wal.stat().st_size if wal.exists() else 0)
    holder = lock_holder(session.loaded.data)
    if session.given.as_json:
        run = (
            None
            if last is None
            else {"run": last.id, "started_at": last.started_at, "ended_by": last.ended_by}
        )
        body = {
            "path": str(place),
            "version": version(place),
            "newest": HEAD,
            "bytes": size,
            "engine": holder,
        }
        session.out.document({**body, "last_run": run, "rows": counts})
        return
    session.out.say(f"{place}: version {version(place)} of {HEAD}, {size / 2**20:.1f} MiB")
    session.out.say(
        f"engine: {holder or 'not running'}; last run {f'{last.id} ({last.ended_by})' if last else 'none'}"
    )
    session.out.table(
        ("TABLE", "ROWS"), ((name, str(count)) for name, count in counts.items()), empty="no tables"
    )


def upgrade(session: Session) -> None:
    """Bring the store to this version.  Only ever adds; a store that is up to date is left alone."""
    from vedette.store.migrate import DATABASE, HEAD, prepare, version

    place = session.loaded.data / DATABASE
    before = version(place)
    prepare(session.loaded.data, create=False)
    words = "is up to date" if before == HEAD else f"upgraded from {before or 'nothing'}"
    session.out.say(f"{place} {words}: version {HEAD}")
    if session.given.as_json:
        session.out.document({"path": str(place), "before": before, "version": HEAD})


def path(session: Session) -> None:
    """Where the database is."""
    from vedette.store.migrate import DATABASE

    place = (session.loaded.data / DATABASE).resolve()
    if session.given.as_json:
        session.out.document({"path": str(place), "exists": place.exists()})
    else:
        session.out.say(str(place))


def _print(session: Session, findings: list[Finding]) -> None:
    from vedette.report.lines import line, quoted

    lines = []
    for finding in findings:
        lines.append(
            line(
                (_STYLE[finding.state], f"{finding.state:<5}"), f"{finding.check:<14}", quoted(finding.found)
            )
        )
        if finding.remedy and finding.state != "ok":
            lines.append(line(("dim", f"{'':<19}"), quoted(finding.remedy, "dim")))
    session.out.lines(lines)
