"""`alerts test` and `alerts digest`: one message to a channel.  A file of its own: it loads what sends."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.app.channels import send_test
from vedette.contracts.alerts import Delivery
from vedette.contracts.words import Outcome
from vedette.notify import templates
from vedette.operations.arguments import a_moment, a_risk
from vedette.operations.change_digests import change_digest, send_digest
from vedette.operations.change_feeds import check_scope
from vedette.store.access_rows import FeedScope
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import SourceOption, TagOption, verb

DIGEST = """vedette alerts digest --since 7d
vedette alerts digest --since 24h --tag tax --send desk"""


def register(app: typer.Typer) -> None:
    verb(app, "test", example="vedette alerts test ops")(alerts_test)
    verb(app, "digest", example=DIGEST)(alerts_digest)


def alerts_test(
    session: Session,
    channel: Annotated[str, typer.Argument(metavar="CHANNEL", help="A name under notify.channels.")],
) -> None:
    """Send a test to one channel now, past outbox and budget.  Exit 1 when it does not arrive."""
    delivery = send_test(session.loaded.config, channel, clock=session.clock)
    _say_delivered(session, channel, delivery)


def alerts_digest(
    session: Session,
    since: Annotated[str, typer.Option("--since", help="24h, 7d, 2026-11-15, ...")] = "24h",
    tag: TagOption = None,
    source: SourceOption = None,
    risk: Annotated[str | None, typer.Option("--risk", help="This risk and graver.")] = None,
    send: Annotated[
        str | None,
        typer.Option("--send", metavar="CHANNEL", help="Send it there now, past outbox and budget."),
    ] = None,
    html: Annotated[bool, typer.Option("--html", help="Print it as a mail shows it.")] = False,
) -> None:
    """Changes of some days in one message, with their diffs.

    Printed, or sent to a channel.  To get one every day or week by itself: `digest: daily` or `weekly` of a channel.
    """
    scope = FeedScope(tag=tag, source=source, risk=a_risk(risk, "--risk"))
    asked = check_scope(session.installation, scope)
    start = a_moment(since, "--since", session.now()) or session.now()
    digest = change_digest(session.installation, asked, start)
    if send is not None:
        _say_delivered(session, send, send_digest(session.installation, send, digest))
    elif session.given.as_json:
        session.out.document({"title": digest.title, "lines": list(digest.excerpt), **digest.facts})
    else:
        session.out.text(templates.html(digest) if html else f"{templates.text(digest)}\n")


def _say_delivered(session: Session, channel: str, delivery: Delivery) -> None:
    is_told = delivery.outcome is Outcome.OK
    if session.given.as_json:
        body = {"channel": channel, "outcome": delivery.outcome.value, "detail": delivery.detail}
        session.out.document(body)
    else:
        words = delivery.detail or delivery.outcome.value
        session.out.say(f"{channel}: {'delivered' if is_told else f'not delivered, {words}'}")
    if not is_told:
        raise typer.Exit(Exit.FAILED)
