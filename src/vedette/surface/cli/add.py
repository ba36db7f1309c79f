"""The first steps: init, add."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vedette.config.first_config import write_config
from vedette.config.model import CONFIG_NAME
from vedette.operations.arguments import fetch_words, some_filters, some_headers
from vedette.report.lanes import interval_words, lane_words
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

if TYPE_CHECKING:
    from vedette.operations.sources import SourceAdded

EveryOption = Annotated[
    str | None,
    typer.Option(
        "--every", help="Look at it every 10m, 6h, ..., whatever the policy; off: no such interval."
    ),
]
FrequencyOption = Annotated[
    str | None,
    typer.Option(
        "--frequency", help="At least every 6h, DAILY, ...; the policy may look sooner; off: no limit."
    ),
]
NameOption = Annotated[str | None, typer.Option("--name", help="What people call it.")]
ListerOption = Annotated[str | None, typer.Option("--lister", help=f"{LISTERS}.  [default: page]")]
RiskOption = Annotated[
    str | None, typer.Option("--risk", help="CRITICAL, HIGH, MEDIUM or LOW.  [default: by its URL]")
]
TierOption = Annotated[
    str | None, typer.Option("--tier", help="Order of runs: CRITICAL first.  [default: MEDIUM]")
]
IncludeOption = Annotated[list[str] | None, typer.Option("--include", help="Only URLs that match (RE2).")]
ExcludeOption = Annotated[list[str] | None, typer.Option("--exclude", help="No URLs that match (RE2).")]
KeepCookiesOption = Annotated[
    bool, typer.Option("--keep-cookies", help="Send what the site sets again, until the run ends.")
]
OFF = ("off", "none")  # take an interval back
ADD_EXAMPLE = """vedette add https://example.org/rules --risk critical
vedette add https://example.org/feed.xml --lister feed --name "Example news"
vedette add https://example.org/item --filter 'css: .price' --filter 'below: 90'"""
HeadlessOption = Annotated[bool, typer.Option("--headless", help="The page needs a browser.")]
ScreenshotOption = Annotated[
    bool, typer.Option("--screenshot", help="Look with a browser, and keep a picture of each new state.")
]


def register(app: typer.Typer) -> None:
    verb(app, "init", example="vedette init\nvedette init --data /srv/vedette")(init)
    verb(app, "add", example=ADD_EXAMPLE)(add)


def init(
    session: Session,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a configuration that is there.")] = False,
) -> None:
    """Write a commented vedette.yaml and make the store.

    Beside it goes vedette.schema.json, for editors that complete and check.
    An existing configuration is not overwritten (exit 3) unless --force.  A store is never overwritten.
    """
    path = session.given.config or Path(CONFIG_NAME)
    beside = write_config(path, force=force)
    session = replace(session, given=replace(session.given, config=path))
    store = session.new_store()
    session.out.done(
        f"wrote {path} and {beside.name}; store in {session.loaded.server or session.loaded.data}"
    )
    session.out.note("next: vedette add URL, then vedette run")
    if session.given.as_json:
        session.out.document({"config": str(path), "schema": str(beside), "store": str(store)})


def add(
    session: Session,
    url: UrlArgument,
    name: NameOption = None,
    lister: ListerOption = None,
    risk: RiskOption = None,
    tier: TierOption = None,
    every: EveryOption = None,
    frequency: FrequencyOption = None,
    include: IncludeOption = None,
    exclude: ExcludeOption = None,
    max_depth: Annotated[int | None, typer.Option("--max-depth", help="Levels of a crawl.")] = None,
    max_urls: Annotated[int | None, typer.Option("--max-urls", help="At most so many URLs.")] = None,
    headless: HeadlessOption = False,
    screenshot: ScreenshotOption = False,
    header: HeaderOption = None,
    cookie: CookieOption = None,
    basic_auth: BasicAuthOption = None,
    post: PostOption = None,
    proxy: ProxyOption = None,
    keep_cookies: KeepCookiesOption = False,
    filters: FilterOption = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="A word of your own; repeatable.")] = None,
) -> None:
    """Watch a page, a feed, a sitemap, a list or a site.

    It is due at once; an engine that is running hears of it within a second.

    Adding the same URL again changes nothing but the options that are given.  `--every` holds below the floors of
    the schedule policy; robots.txt, the lane and the budgets stay stronger, and are named where they are.
    """
    from vedette.operations.sources import (  # the store, which `init` does without
        add_source,
        source_added_json,
    )

    keys: dict[str, Any] = {
        "name": name,
        "lister": lister.lower() if lister else None,
        "risk": risk,
        "tier": tier,
        "every": every,
        "scrape_frequency": frequency,
        "include": include,
        "exclude": exclude,
        "max_depth": max_depth,
        "max_urls": max_urls,
        "requires_headless": headless or screenshot,
        "screenshot": screenshot,
        "tags": tag,
    }
    login = fetch_words(cookie, basic_auth, post, proxy) | ({"keep_cookies": True} if keep_cookies else {})
    steps = some_filters(filters)
    given = _given(keys) | ({"fetch": login} if login else {})
    given |= {} if steps is None else {"filters": list(steps)}
    done = add_source(session.installation, url, given, some_headers(header or ()))
    if session.given.as_json:
        session.out.document(source_added_json(done))
    else:
        _say_added(session, done, is_taken_back=None in given.values())


def _given(keys: dict[str, Any]) -> dict[str, Any]:
    """What was given; an interval that is taken back is None."""
    said = {
        key: value for key, value in keys.items() if value is not None and value is not False and value != []
    }
    return {key: None if _is_off(key, value) else value for key, value in said.items()}


def _is_off(key: str, value: Any) -> bool:
    return key in ("every", "scrape_frequency") and value.lower() in OFF


def _say_added(session: Session, done: SourceAdded, *, is_taken_back: bool) -> None:
    source = done.source
    words = "watching" if done.is_new else "already watched, options updated:"
    session.out.done(f"{words} {source.url} (source {source.id}, lister {source.lister.value})")
    if done.shut_lane is not None:
        key, lane = done.shut_lane
        session.out.note(f"its lane {key} is {lane_words(lane, session.now())}")
    if done.interval is not None:
        session.out.done(interval_words(done.interval))
    if not done.is_new:
        session.out.note(f"it is due now; `vedette look {source.url}` looks at it and tells what it saw")
    for warning in done.warnings:
        session.out.note(warning)
    if is_taken_back and done.interval is None:
        session.out.done("no interval is asked for: it is looked at as the policy says")
