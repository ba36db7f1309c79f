"""What a look would see: test, robots.  Nothing is saved."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.operations.arguments import fetch_words, some_filters, some_headers
from vedette.operations.page_trials import PageTrial, ask_robots, try_page
from vedette.report.probes import robots_json, robots_lines, tried_json, tried_lines
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import (
    LISTERS,
    BasicAuthOption,
    CookieOption,
    FilterOption,
    HeaderOption,
    PostOption,
    ProxyOption,
    UrlArgument,
    verb,
)

TEST_EXAMPLE = """vedette test https://example.org/rules
vedette test https://example.org/news/ --lister html_list --include /news/
vedette test https://example.org/item --filter 'css: .price' --filter 'below: 90'"""


def register(app: typer.Typer) -> None:
    verb(app, "test", example=TEST_EXAMPLE)(look)
    verb(app, "robots", example="vedette robots https://example.org/private/")(robots)


def look(
    session: Session,
    url: UrlArgument,
    text: Annotated[bool, typer.Option("--text", help="Print all of the compared text.")] = False,
    lister: Annotated[
        str | None,
        typer.Option("--lister", help=f"Also say what it lists, read as {LISTERS}."),
    ] = None,
    include: Annotated[
        list[str] | None, typer.Option("--include", help="With --lister: only URLs that match (RE2).")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option("--exclude", help="With --lister: no URLs that match (RE2).")
    ] = None,
    item: Annotated[
        str | None, typer.Option("--item", metavar="CSS", help="With --lister: one entry of a list page.")
    ] = None,
    scope: Annotated[
        str | None, typer.Option("--scope", help="Compare main or all of a page.  [default: as configured]")
    ] = None,
    header: HeaderOption = None,
    cookie: CookieOption = None,
    basic_auth: BasicAuthOption = None,
    post: PostOption = None,
    proxy: ProxyOption = None,
    filters: FilterOption = None,
) -> None:
    """Look at a URL once; nothing is saved.

    Shows outcome, title and links as a run would see them, and the text that would be compared, line by line: which
    part of the page it is, and what of it is never compared.  With --lister also what a source of that kind would find
    there, and what its filters would leave out.
    With --filter, or of a page whose source has filters, also what each step leaves.
    robots.txt and the address guard are obeyed as in a run.
    Exit 0 when there is content that the filters match, else 1.
    """
    asked = PageTrial(
        url=url,
        lister=lister,
        include=tuple(include or ()),
        exclude=tuple(exclude or ()),
        item=item,
        scope=scope,
        headers=some_headers(header or ()),
        filters=some_filters(filters),
        fetch=fetch_words(cookie, basic_auth, post, proxy),
    )
    engine = session.engine()
    tried = try_page(session.installation, asked, engine.look_once, engine.filter_steps)
    if session.given.as_json:
        session.out.document(tried_json(tried))
    else:
        session.out.lines(tried_lines(tried, whole=text))
    if not tried.has_content or tried.is_unmatched:
        raise typer.Exit(Exit.FAILED)


def robots(session: Session, url: UrlArgument) -> None:
    """What robots.txt says about a URL.

    Whether we may look, by which rule, the Crawl-delay, and the sitemaps it names.

    Exit 0 when we may, 3 when robots.txt refuses.
    """
    answer = ask_robots(session.installation, url, session.engine().fetch_robots)
    if session.given.as_json:
        session.out.document(robots_json(answer))
    else:
        session.out.lines(robots_lines(answer))
    if answer.refusal is not None:
        raise typer.Exit(Exit.REFUSED)
