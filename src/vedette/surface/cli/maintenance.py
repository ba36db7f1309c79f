"""The house: doctor, gc, db."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from vedette.report.plain import count
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import group, verb

if TYPE_CHECKING:
    from vedette.operations.adopt import Adopted
    from vedette.surface.cli.doctor import DoctorFinding

_STYLE = {"ok": "good", "warn": "warn", "bad": "bad"}


def register(app: typer.Typer) -> None:
    verb(app, "doctor", example="vedette doctor\nvedette doctor --heal")(doctor)
    verb(app, "gc", example="vedette gc --dry-run\nvedette gc")(gc)
    db = group("db", example="vedette db status", default=status)(db_)
    verb(db, "status", example="vedette db status --json")(status)
    verb(db, "upgrade", example="vedette db upgrade\nvedette db upgrade --panel")(upgrade)
    verb(db, "adopt", example="vedette db adopt old.db --dry-run\nvedette db adopt postgresql://host/name")(
        adopt
    )
    verb(db, "path", example="sqlite3 $(vedette db path) .tables")(path)
    app.add_typer(db)


def doctor(
    session: Session,
    heal: Annotated[
        bool, typer.Option("--heal", help="First bring times back that a clock left which stood ahead.")
    ] = False,
) -> None:
    """Check everything that a run needs.

    Says what to do about what is not right.  Exit 6 when something is bad.

    `--heal` mends what a clock that stood ahead has left: due times, leases, breakers, holds and rests lie no further
    ahead than their rules allow.  Do it when the clock is right again; a run does it by itself at its start.
    """
    from vedette.surface.cli.doctor import examine

    if heal:
        _heal(session)
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


def _heal(session: Session) -> None:
    from vedette.config.policies import lane_policies
    from vedette.store import clock_repair as clock_heal
    from vedette.store.operator_orders import HEALED, order
    from vedette.surface.cli.doctor import ahead_words

    now = session.now()
    with session.operating() as db:
        healed = clock_heal.heal(db, now=now, policy_of=lane_policies(session.loaded.config).of)
        if healed.is_any:
            order(db, HEALED, "", now=now)
    session.out.note(f"healed: {ahead_words(healed)}" if healed.is_any else "no time lies too far ahead")


def gc(
    session: Session,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go; drop nothing.")] = False,
) -> None:
    """Drop archive files and decisions that have had their time.

    Archive files by `evidence.retention`, decisions by `evidence.ledger`.

    Only whole files of days that are over go.  Each leaves a tombstone: `evidence verify` says expired, not missing.
    Text that was made of them goes with them, and of prices and clocks what no decision on record names any more.
    The visits and the digests of what they showed stay.  Needs the store for itself: stop the engine first (exit 3).
    """
    from vedette.operations.maintenance import collect

    done = collect(session.installation, is_trial=dry_run)
    if session.given.as_json:
        body = [
            {"segment": s.name, "retention": s.retention, "day": s.day, "visits": s.count, "bytes": s.size}
            for s in done.segments
        ]
        counts = {
            "bytes": done.size,
            "ledger": done.ledger,
            "texts": done.texts,
            "versions": done.versions,
        }
        session.out.document({"dry_run": dry_run, **counts, "segments": body})
        return
    for segment in done.segments:
        session.out.say(f"{segment.name}: {count(segment.count, 'visit')}, {count(segment.size, 'byte')}")
    word = "would go" if dry_run else "dropped"
    session.out.say(
        f"{word}: {len(done.segments)} archive files, {count(done.size, 'byte')}; text of {done.texts} documents; "
        f"{count(done.ledger, 'decision')} of the ledger, {done.versions} old prices and clocks"
    )


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


def upgrade(
    session: Session,
    panel: Annotated[
        bool, typer.Option("--panel", help="Also what the panel needs in its database (DATABASE_URL).")
    ] = False,
) -> None:
    """Bring the store to this version.  Only ever adds; a store that is up to date is left alone.

    With --panel the tables, columns and indexes of the panel are added now, and not by the first `panel run`.
    """
    from vedette.store.migrate import DATABASE, HEAD, prepare, version

    place = session.loaded.data / DATABASE
    before = version(place)
    prepare(session.loaded.data, create=False)
    if panel:
        from vedette.app.panel import Panel

        with Panel(session.loaded, clock=session.clock).store():
            session.out.note("the database of the panel has all that a batch needs")
    words = "is up to date" if before == HEAD else f"upgraded from {before or 'nothing'}"
    session.out.say(f"{place} {words}: version {HEAD}")
    if session.given.as_json:
        session.out.document({"path": str(place), "before": before, "version": HEAD})


def adopt(
    session: Session,
    old: Annotated[
        str,
        typer.Argument(
            metavar="OLD", help="A SQLite file, or the URL of a database, with the table DiscoveredItem."
        ),
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done; change nothing.")
    ] = False,
) -> None:
    """Take over the store of an older sentinel.

    There: columns are added, items classified and scheduled, scrapeFrequency marked as deprecated and kept.  Nothing
    is dropped, and rows that have a schedule keep it.  Here: its endpoints become sources, its items watches.  Stopped
    anywhere, say it again.  Exit 6 when rows could not be taken; each is named with its reason.
    """
    from vedette.operations.adopt import Adoption

    with session.out.progress("items") as progress:
        work = Adoption(
            loaded=session.loaded, classify=session.classify, now=session.now(), on_items=progress
        )
        done = work.look(old) if dry_run else work.run(old)
    if session.given.as_json:
        body = {name: getattr(done, name) for name in done.__slots__ if name != "problems"}
        problems = [{"row": row, "why": why} for row, why in done.problems]
        session.out.document({"dry_run": dry_run, **body, "problems": problems})
    else:
        _print_adopted(session, done, dry_run)
    if done.problems:
        raise typer.Exit(Exit.FOUND_PROBLEMS)


def path(session: Session) -> None:
    """Where the database is."""
    from vedette.store.migrate import DATABASE

    place = (session.loaded.data / DATABASE).resolve()
    if session.given.as_json:
        session.out.document({"path": str(place), "exists": place.exists()})
    else:
        session.out.say(str(place))


def _print_adopted(session: Session, done: Adopted, dry_run: bool) -> None:
    word = "would be" if dry_run else "were"
    added = ", ".join(done.columns) or "none"
    for row, why in done.problems:
        session.out.say(f"{row}: not taken: {why}")
    session.out.say(f"{count(done.items, 'item')}; columns that {word} added: {added}")
    session.out.say(f"{count(done.scheduled, 'item')} {word} classified and scheduled")
    if not dry_run:
        session.out.say(
            f"{count(done.deprecated, 'endpoint')}: scrapeFrequency is marked as deprecated, and kept"
        )
        session.out.say(
            f"{count(done.sources, 'new source')}, {count(done.watches, 'new watch', 'new watches')}; "
            f"{count(done.left_alone, 'skipped item')} left alone"
        )


def _print(session: Session, findings: list[DoctorFinding]) -> None:
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
    session.out.lines(lines, indent=19)
