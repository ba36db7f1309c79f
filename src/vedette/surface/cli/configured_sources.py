"""What verbs say of sources of vedette.yaml that were not looked at yet."""

from __future__ import annotations

from vedette.operations.configured_sources import not_taken_in
from vedette.report.plain import count
from vedette.surface.cli.session import Session

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
