"""`alerts test`: sends one message to a channel.  A file of its own: it loads what sends."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.app.channels import send_test
from vedette.contracts.words import Outcome
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb


def register(app: typer.Typer) -> None:
    verb(app, "test", example="vedette alerts test ops")(alerts_test)


def alerts_test(
    session: Session,
    channel: Annotated[str, typer.Argument(metavar="CHANNEL", help="A name under notify.channels.")],
) -> None:
    """Send a test to one channel now, past outbox and budget.  Exit 1 when it does not arrive."""
    delivery = send_test(session.loaded.config, channel, clock=session.clock)
    is_told = delivery.outcome is Outcome.OK
    if session.given.as_json:
        body = {"channel": channel, "outcome": delivery.outcome.value, "detail": delivery.detail}
        session.out.document(body)
    else:
        words = delivery.detail or delivery.outcome.value
        session.out.say(f"{channel}: {'delivered' if is_told else f'not delivered, {words}'}")
    if not is_told:
        raise typer.Exit(Exit.FAILED)
