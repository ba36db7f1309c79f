"""Changes for feed readers: feed show, add, list, revoke."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.contracts.errors import InputError
from vedette.core.text.nearest import unknown
from vedette.operations.arguments import a_risk
from vedette.operations.change_feeds import (
    ENTRIES,
    change_feed,
    check_scope,
    feed_address_json,
    list_feed_addresses,
    make_feed_address,
    revoke_feed_address,
    scope_words,
)
from vedette.report.feed_documents import NO_PLACE, WRITERS
from vedette.report.plain import moment, plain
from vedette.store.access_rows import FeedScope
from vedette.surface.cli.output import print_line
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import SourceOption, TagOption, group, verb

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Who reads it.")]
UrlOption = Annotated[str | None, typer.Option("--url", help="Only of this page.")]
RiskOption = Annotated[str | None, typer.Option("--risk", help="This risk and graver.")]
HOMES = {"list": "", "add": "", "revoke": "", "show": ""}
EXAMPLE = """vedette feed add ana --tag tax
vedette feed add board --source rules --risk high
vedette feed revoke ana"""


def register(app: typer.Typer) -> None:
    feeds = group("feed", example=EXAMPLE, default=feed_list, homes=HOMES)(feed)
    verb(feeds, "list", example="vedette feed list --all --json")(feed_list)
    verb(feeds, "add", example="vedette feed add ana --tag tax")(feed_add)
    verb(feeds, "revoke", example="vedette feed revoke ana")(feed_revoke)
    verb(feeds, "show", example="vedette feed show --format json --tag tax > changes.json")(feed_show)
    app.add_typer(feeds)


def feed() -> None:
    """Changes for feed readers: Atom and JSON Feed.

    `vedette serve` answers under a secret address, for readers that cannot send a token.  Who knows the address reads
    that feed and nothing else, until it is revoked.
    """


def feed_list(
    session: Session,
    every: Annotated[bool, typer.Option("--all", help="Also those that were revoked.")] = False,
) -> None:
    """Secret addresses by name; what they are is not kept."""
    found = list_feed_addresses(session.installation, every=every)
    if session.given.as_json:
        session.out.document({"feeds": [feed_address_json(one) for one in found]})
        return
    rows = (
        (
            plain(one.name),
            plain(scope_words(one.scope)),
            moment(one.created_at),
            "" if one.revoked_at is None else "revoked",
        )
        for one in found
    )
    session.out.table(
        ("NAME", "HOLDS", "MADE", "STATE"), rows, empty="no feed; `vedette feed add NAME` makes one"
    )


def feed_add(
    session: Session,
    name: NameArgument,
    tag: TagOption = None,
    source: SourceOption = None,
    url: UrlOption = None,
    risk: RiskOption = None,
) -> None:
    """Make a secret address.  It is shown once, on stdout alone."""
    made = make_feed_address(session.installation, name, _scope(tag, source, url, risk))
    paths = {form: f"/feeds/{made.secret}/changes.{form}" for form in WRITERS}
    if session.given.as_json:
        session.out.document({**feed_address_json(made.kept), **paths})
        return
    for path in paths.values():
        print_line(f"http://{session.loaded.config.serve.listen}{path}")
    session.out.note(f"{scope_words(made.kept.scope)}, for {made.kept.name}; the address is not shown again")


def feed_revoke(session: Session, name: NameArgument) -> None:
    """Let nobody read it any more."""
    gone = revoke_feed_address(session.installation, name)
    if session.given.as_json:
        session.out.document({"revoked": gone.name})
        return
    session.out.say(f"the feed of {gone.name} is read by nobody any more")


def feed_show(
    session: Session,
    form: Annotated[str, typer.Option("--format", help="atom or json.")] = "atom",
    tag: TagOption = None,
    source: SourceOption = None,
    url: UrlOption = None,
    risk: RiskOption = None,
    limit: Annotated[int, typer.Option("--limit", min=1, metavar="N", help="At most so many.")] = ENTRIES,
) -> None:
    """Print the feed, for a file that another server gives out."""
    if form not in WRITERS:
        raise InputError(f"--format: {unknown('format', form, WRITERS)}")
    scope = check_scope(session.installation, _scope(tag, source, url, risk))
    session.out.text(WRITERS[form][1](change_feed(session.installation, scope, most=limit), NO_PLACE))


def _scope(tag: str | None, source: str | None, url: str | None, risk: str | None) -> FeedScope:
    return FeedScope(tag=tag, source=source, url=url, risk=a_risk(risk, "--risk"))
