"""What a look would see: test, classify, robots.  Nothing is saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from vedette.operations.arguments import a_url
from vedette.report.plain import count
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

if TYPE_CHECKING:
    from vedette.contracts.fetch import RobotsRules
    from vedette.report.lines import Line
    from vedette.surface.cli.session import Look

UrlArgument = Annotated[str, typer.Argument(metavar="URL", help="http or https.")]

HeaderOption = Annotated[
    list[str] | None,
    typer.Option("--header", metavar="'NAME: VALUE'", help="Also sent; env:NAME reads a secret; repeatable."),
]

TEST_EXAMPLE = """vedette test https://example.org/rules
vedette test https://example.org/news/ --lister html_list --include /news/"""


def register(app: typer.Typer) -> None:
    verb(app, "test", example=TEST_EXAMPLE)(look)
    verb(app, "classify", example="vedette classify https://example.org/zakon/123")(classify)
    verb(app, "robots", example="vedette robots https://example.org/private/")(robots)


def look(
    session: Session,
    url: UrlArgument,
    text: Annotated[bool, typer.Option("--text", help="Print all of the compared text.")] = False,
    lister: Annotated[
        str | None,
        typer.Option("--lister", help="Also say what it lists, read as feed, html_list, auto, ..."),
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
) -> None:
    """Look at a URL once; nothing is saved.

    Shows outcome, title and links as a run would see them, and the text that would be compared, line by line: which
    part of the page it is, and what of it is never compared.  With --lister also what a source of that kind would find
    there, and what its filters would leave out.
    robots.txt and the address guard are obeyed as in a run.  Exit 0 when there is content, 1 when not.
    """
    from vedette.core.lanes.outcomes import MEANING
    from vedette.surface.cli.compared_lines import compared, compared_lines, some_headers, trial
    from vedette.surface.cli.preview import preview, preview_json, preview_lines, preview_source

    wanted = a_url(url)
    source = preview_source(wanted, lister, {"include": include, "exclude": exclude, "item": item})
    loaded = trial(session.loaded, scope, some_headers(header))
    seen = session.engine().look_once(loaded, wanted)
    text_of = compared(seen[0], seen[1], loaded.config.extract.scope)
    found = None if source is None else preview(source, seen[0], session.now())
    if session.given.as_json:
        listing = {} if found is None else {"listing": preview_json(found)}
        own = {"scope": text_of.scope, "visible_chars": text_of.visible, "lines": list(text_of.lines)}
        session.out.document(_look_json(wanted, seen) | own | listing)
    else:
        session.out.lines([*_look_lines(seen), *compared_lines(text_of, whole=text)])
        if found is not None:
            session.out.lines(preview_lines(found))
    if not MEANING[seen[0].outcome].has_content:
        raise typer.Exit(Exit.FAILED)


def classify(
    session: Session,
    url: UrlArgument,
    content_type: Annotated[
        str | None, typer.Option("--content-type", help="As the server would say it.")
    ] = None,
) -> None:
    """Node type, role and risk of a URL by its words.

    Nothing is fetched.  Names the row of the language packs or of `classify.patterns` that decided.
    """
    from vedette.core.urls.blocked import blocked_by
    from vedette.core.urls.canonical import host_of

    wanted = a_url(url)
    said = session.classify(wanted, content_type)
    word = blocked_by(host_of(wanted), session.loaded.config.discover.blocked_words)
    role = said.node_role.value if said.node_role else None
    if session.given.as_json:
        session.out.document(
            {
                "url": wanted,
                "node_type": said.node_type.value,
                "role": role,
                "risk": said.risk.name,
                "reason": said.reason.code,
                "pattern": said.reason.note,
                "blocked_by": word,
            }
        )
        return
    session.out.say(
        f"{said.node_type.value}  role {role or 'none'}  risk {said.risk.name}  "
        f"({said.reason.code}: {said.reason.note})"
    )
    if word is not None:
        session.out.note(f"it would not be watched: the host contains the blocked word {word!r}")


def robots(session: Session, url: UrlArgument) -> None:
    """What robots.txt says about a URL.

    Whether we may look, by which rule, the Crawl-delay, and the sitemaps it names.

    Exit 0 when we may, 3 when robots.txt refuses.
    """
    from vedette.core.urls.canonical import origin_of

    wanted = a_url(url)
    rules, refusal = session.engine().fetch_robots(session.loaded, wanted)
    why = "" if refusal is None else refusal.note or refusal.code
    if session.given.as_json:
        session.out.document(
            {
                "url": wanted,
                "allowed": refusal is None,
                "rule": why or None,
                "verdict": rules.verdict,
                "status": rules.status,
                "outcome": rules.outcome.value,
                "crawl_delay": rules.crawl_delay,
                "sitemaps": list(rules.sitemaps),
                "expires_at": rules.expires_at,
            }
        )
    else:
        session.out.lines(_robots_lines(origin_of(wanted), rules, why))
    if refusal is not None:
        raise typer.Exit(Exit.REFUSED)


def _robots_lines(origin: str, rules: RobotsRules, why: str) -> list[Line]:
    from vedette.report.lines import line, quoted

    status = rules.status if rules.status is not None else rules.outcome.value
    return [
        line(("bad", "refused: "), quoted(why)) if why else line(("good", "allowed")),
        line("  ", quoted(f"{origin}/robots.txt answered {status}: {rules.verdict.replace('_', ' ')}")),
        line(f"  Crawl-delay {f'{rules.crawl_delay:g} s' if rules.crawl_delay else 'none'}"),
        *(line("  sitemap ", quoted(sitemap)) for sitemap in rules.sitemaps),
    ]


def _look_json(url: str, seen: Look) -> dict[str, object]:
    fetched, extraction, reasons = seen
    return {
        "url": url,
        "answered": fetched.url,
        "outcome": fetched.outcome.value,
        "status": fetched.status,
        "seconds": fetched.took.total_seconds(),
        "detail": fetched.detail,
        "content_type": fetched.content_type,
        "content_class": extraction.content_class.value,
        "wire_bytes": len(fetched.wire),
        "body_bytes": len(fetched.body),
        "title": extraction.title,
        "language": extraction.language,
        "published_at": extraction.published_at,
        "modified_at": extraction.modified_at,
        "canonical": extraction.canonical,
        "feeds": list(extraction.feeds),
        "links": len(extraction.hrefs),
        "text_chars": len(extraction.text),
        "text": extraction.text,
        "problem": extraction.problem,
        "reasons": [{"code": r.code, "points": r.points, "note": r.note} for r in reasons],
    }


def _look_lines(seen: Look) -> list[Line]:
    from vedette.core.lanes.outcomes import MEANING
    from vedette.report.lines import line, quoted

    fetched, extraction, reasons = seen
    status = "" if fetched.status is None else f" {fetched.status}"
    text = count(len(extraction.text), "character")
    size = f"{count(len(fetched.wire), 'byte')} sent, {len(fetched.body)} decoded, {text} of text"
    facts = (
        ("detail", fetched.detail),
        ("type", f"{fetched.content_type or 'none'} -> {extraction.content_class.value}"),
        ("size", size),
        ("title", extraction.title),
        ("links", str(len(extraction.hrefs))),
        ("feeds", " ".join(extraction.feeds)),
        ("canonical", extraction.canonical or ""),
        ("problem", extraction.problem),
    )
    head = line(
        ("head", f"{fetched.outcome.value}{status}"),
        f"  {MEANING[fetched.outcome].words}, {fetched.took.total_seconds():.3f} s  ",
        quoted(fetched.url, "mark"),
    )
    shown = [line(("dim", f"  {name:<10}"), quoted(value)) for name, value in facts if value]
    why = [line(("dim", "  because   "), quoted(f"{r.code} {r.note}")) for r in reasons]
    return [head, *shown, *why]
