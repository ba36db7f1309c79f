"""Sources of vedette.yaml, which are watched from the moment they are written down; the store has them from the next
run on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vedette.contracts.source import Source
    from vedette.store.views import SourceView
    from vedette.surface.cli.session import Session

NAMED = 5  # of those that a note names


def not_taken_in(session: Session) -> list[Source]:
    """Those that the store does not know yet."""
    if not session.loaded.config.sources:
        return []  # at no cost, for every verb asks
    from vedette.config.policies import sources_of
    from vedette.store.migrate import DATABASE

    written = list(sources_of(session.loaded.config))
    if not (session.loaded.data / DATABASE).exists():
        return written
    with session.queries() as queries:
        known = set(queries.source_ids())
    return [source for source in written if source.id not in known]


def views_not_taken_in(session: Session) -> list[SourceView]:
    """The same as the store would show them."""
    from vedette.contracts.watch import SourceState
    from vedette.store.views import SourceView

    now = session.now()
    return [
        SourceView(source=source, state=SourceState(source=source.id), created_at=now)
        for source in not_taken_in(session)
    ]


def note_not_taken_in(session: Session) -> None:
    """For verbs that show what the store has."""
    from vedette.report.plain import count

    found = not_taken_in(session)
    if not found or session.given.as_json:
        return
    names = ", ".join(str(source.id) for source in found[:NAMED])
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    session.out.note(
        f"{count(len(found), 'source')} of vedette.yaml not looked at yet: {names}{more}; type: vedette run"
    )


def written_url(session: Session, url: str) -> Source | None:
    """The source of vedette.yaml with this address that the store does not know yet."""
    from vedette.core.urls.canonical import watch_id

    number = watch_id(url)
    return next((source for source in not_taken_in(session) if watch_id(source.url) == number), None)


def save_configured(session: Session) -> None:
    """What stands in vedette.yaml is watched, before the first run too."""
    from vedette.config.policies import classifier, sources_of
    from vedette.store.operator import save_source

    config = session.loaded.config
    with session.operating(create=True) as db:
        for source in sources_of(config):
            save_source(db, source, now=session.now(), classify=classifier(config))
