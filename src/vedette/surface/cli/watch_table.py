"""Watches for people: the address gets the room.  On a narrow screen it has a line of its own."""

from __future__ import annotations

from collections.abc import Sequence

from vedette.core.urls.canonical import shown
from vedette.operations.watches import WatchList, is_unseen, not_taken_in
from vedette.report.plain import Line, Span, about, count, line, plain, span
from vedette.report.table import fold, joints, wide
from vedette.store.views import WatchLine
from vedette.surface.cli.output import Cell, is_terminal
from vedette.surface.cli.session import Session

ENOUGH = 60  # columns for an address; with less it gets a line of its own
BY_VELOCITY = "seed-ewma"  # the policy that goes by it
Row = tuple[Span, ...]


def show_watches(session: Session, found: WatchList, *, empty: str) -> None:
    """As a table; SOURCE only on a pipe, VELOCITY only where the schedule goes by it."""
    watches, policy = found.watches, session.loaded.config.schedule.policy
    heads = ["RISK", "OUTCOME", "LOOKED AT", "DUE", *(["VELOCITY"] if policy == BY_VELOCITY else [])]
    rows = [_facts(one, found)[: len(heads)] for one in watches]
    if rows and is_terminal():
        addresses = [plain(shown(one.url)) for one in watches]
        session.out.lines(_on_screen(heads, rows, addresses, session.out.console().width))
        return
    cells: list[tuple[Cell, ...]] = [
        (*row, one.source, shown(one.url)) for row, one in zip(rows, watches, strict=True)
    ]
    session.out.table((*heads, "SOURCE", "URL"), cells, empty=empty)


def _on_screen(heads: Sequence[str], rows: Sequence[Row], addresses: Sequence[str], width: int) -> list[Line]:
    """The address beside its facts, or above them where there is no room."""
    wides = [max(len(text) for text in column) for column in zip(heads, *_texts(rows), strict=True)]
    room = width - sum(wides) - 2 * len(wides)
    is_wide = room >= min(ENOUGH, max(map(len, addresses)))
    lines = [_padded([("head", head) for head in heads], wides, [("head", "URL")])] if is_wide else []
    for row, address in zip(rows, addresses, strict=True):
        parts = [("mark", part) for part in joints(address)]
        if is_wide:
            lines += fold(_padded(row, wides, parts), width, indent=width - room)
        else:
            lines += [*fold(tuple(parts), width), *fold(_sentence(row, wides), width)]
    return lines


def _facts(watch: WatchLine, found: WatchList) -> Row:
    now = found.now
    return (
        (watch.risk.name, watch.risk.name),
        ("bad" if is_unseen(watch) else "", watch.last_outcome.value if watch.last_outcome else "-"),
        ("", about(watch.last_visit_at, now)),
        ("", _due(watch, found)),
        ("", f"{watch.velocity:.2f}"),
    )


def _due(watch: WatchLine, found: WatchList) -> str:
    """When it is looked at next, or why not; and whether its changes are told."""
    source = found.asking.get(watch.url)
    every = f", every {span(source.every)}" if source and source.every else ""
    idle = "merged" if watch.merged_into else "paused" if watch.source in found.paused else "not scheduled"
    due = about(watch.due_at, found.now) + every if watch.due_at else idle
    return f"{due}, muted" if watch.source in found.muted else due


def _texts(rows: Sequence[Row]) -> list[list[str]]:
    return [[text for _, text in row] for row in rows]


def _sentence(row: Row, wides: Sequence[int]) -> Line:
    """The same without heads above it."""
    (risk, outcome, (_, looked), (_, due), *more) = row
    said = "never looked at" if looked == "never" else f"looked at {looked}"
    soon = due if due.startswith(("merged", "paused", "not ")) else f"due {due}"
    rest = "".join(f", velocity {text}" for _, text in more)
    return line("    ", *_padded((risk, outcome), wides[:2], []), f"{said}, {soon}{rest}")


def _padded(row: Sequence[Span], wides: Sequence[int], last: Sequence[Span]) -> Line:
    cells = [
        (style, text + " " * (size - wide(((style, text),)) + 2))
        for (style, text), size in zip(row, wides, strict=True)
    ]
    return line(*cells, *last)


NAMED = 5  # of those that a note names


def note_not_taken_in(session: Session) -> None:
    """For verbs that show what the store has."""
    if session.given.as_json:
        return
    found = not_taken_in(session.installation)
    if not found:
        return
    names = ", ".join(str(source.id) for source in found[:NAMED])
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    session.out.note(
        f"{count(len(found), 'source')} of vedette.yaml not looked at yet: {names}{more}; type: vedette run"
    )
