"""What is watched: init, add, import."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vedette.contracts.errors import InputError, RefusedError, VedetteError
from vedette.operations.arguments import a_url
from vedette.report.plain import count
from vedette.surface.cli.compared_lines import some_headers
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.probe import HeaderOption
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

if TYPE_CHECKING:
    import sqlite3

    from vedette.contracts.source import Source
    from vedette.contracts.words import WatchId
    from vedette.surface.cli.formats.entry import Entry, Parsed

MOST_BYTES = 64 * 1024 * 1024  # of a list to import
REGISTRY = "registry:"

LISTERS = (
    "page, feed, sitemap, html_list, pagination, crawl, hnb, nn, eurlex, mrms, hok or auto.  [default: page]"
)
UrlArgument = Annotated[str, typer.Argument(metavar="URL", help="http or https.")]


def register(app: typer.Typer) -> None:
    verb(app, "init", example="vedette init\nvedette init --data /srv/vedette")(init)
    verb(app, "add", example=ADD_EXAMPLE)(add)
    verb(app, "import", example=IMPORT_EXAMPLE)(import_)


IMPORT_EXAMPLE = """vedette import urls.txt
vedette import jobs.yaml --format urlwatch
vedette import registry:croatia"""
ADD_EXAMPLE = """vedette add https://example.org/rules --risk critical
vedette add https://example.org/feed.xml --lister feed --name "Example news\""""


def init(
    session: Session,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a configuration that is there.")] = False,
) -> None:
    """Write a commented vedette.yaml and make the store.

    Beside it goes vedette.schema.json, for editors that complete and check.
    An existing configuration is not overwritten (exit 3) unless --force.  A store is never overwritten.
    """
    from vedette.config.model import CONFIG_NAME, schema
    from vedette.report.plain import dump
    from vedette.surface.cli.config_template import CONFIG

    path = session.given.config or Path(CONFIG_NAME)
    beside = path.with_name("vedette.schema.json")
    if path.exists() and not force:
        raise RefusedError(f"{path} exists; edit it, or overwrite it with --force")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))  # it may come to hold secrets
        path.write_text(CONFIG, encoding="utf-8")
        beside.write_text(dump(schema(), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
    session = replace(session, given=replace(session.given, config=path))
    store = session.new_store()
    session.out.done(f"wrote {path} and {beside.name}; store in {store.parent}")
    session.out.note("next: vedette add URL, then vedette run")
    if session.given.as_json:
        session.out.document({"config": str(path), "schema": str(beside), "store": str(store)})


def add(
    session: Session,
    url: UrlArgument,
    name: Annotated[str | None, typer.Option("--name", help="What people call it.")] = None,
    lister: Annotated[str | None, typer.Option("--lister", help=LISTERS)] = None,
    risk: Annotated[
        str | None, typer.Option("--risk", help="CRITICAL, HIGH, MEDIUM or LOW.  [default: by its URL]")
    ] = None,
    tier: Annotated[
        str | None, typer.Option("--tier", help="Order of runs: CRITICAL first.  [default: MEDIUM]")
    ] = None,
    every: Annotated[
        str | None, typer.Option("--every", help="Look at it every 10m, 6h, ..., whatever the policy.")
    ] = None,
    frequency: Annotated[
        str | None,
        typer.Option("--frequency", help="At least every 6h, DAILY, ...; the policy may look sooner."),
    ] = None,
    include: Annotated[
        list[str] | None, typer.Option("--include", help="Only URLs that match (RE2).")
    ] = None,
    exclude: Annotated[list[str] | None, typer.Option("--exclude", help="No URLs that match (RE2).")] = None,
    max_depth: Annotated[int | None, typer.Option("--max-depth", help="Levels of a crawl.")] = None,
    max_urls: Annotated[int | None, typer.Option("--max-urls", help="At most so many URLs.")] = None,
    headless: Annotated[bool, typer.Option("--headless", help="The page needs a browser.")] = False,
    header: HeaderOption = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="A word of your own; repeatable.")] = None,
) -> None:
    """Watch a page, a feed, a sitemap, a list or a site.

    It is due at once; an engine that is running hears of it within a second.

    Adding the same URL again changes nothing but the options that are given.  `--every` holds below the floors of
    the schedule policy; robots.txt, the lane and the budgets stay stronger, and are named where they are.
    """
    from vedette.surface.cli.formats.entry import source_of

    keys: dict[str, Any] = {
        "name": name,
        "lister": lister.lower() if lister else None,
        "risk": risk,
        "tier": tier,
        "every": every,
        "scrape_frequency": frequency,
        "include": include or None,
        "exclude": exclude or None,
        "max_depth": max_depth,
        "max_urls": max_urls,
        "requires_headless": headless or None,
        "tags": tag or None,
    }
    given = {key: value for key, value in keys.items() if value is not None}
    headers = some_headers(header)
    wanted = a_url(url)
    refuse_blocked(session, wanted)
    source_of({"url": wanted, **given}, origin="cli")  # bad words are told before a store is made
    source, is_new = _add(session, wanted, given, headers)
    _say_added(session, url, source, is_new=is_new)


def _add(session: Session, url: str, given: dict[str, Any], headers: dict[str, str]) -> tuple[Source, bool]:
    """What is known of the source stays; headers are added to those that it has."""
    from vedette.store.operator import source_of_url
    from vedette.surface.cli.formats.entry import keys_of, page_keys, source_of

    with session.operating(create=True) as db:
        known = source_of_url(db, url)
        before = keys_of(known) if known else page_keys(url)
        if headers:
            fetch = dict(before.get("fetch", {}))
            given = {**given, "fetch": fetch | {"headers": {**fetch.get("headers", {}), **headers}}}
        return keep(session, db, source_of(before | given, origin="cli"))


def _say_added(session: Session, url: str, source: Source, *, is_new: bool) -> None:
    words = "watching" if is_new else "already watched, options updated:"
    session.out.done(f"{words} {source.url} (source {source.id}, lister {source.lister.value})")
    asked = _say_interval(session, source)
    if not is_new:
        session.out.note(f"it is due now; `vedette look {source.url}` looks at it and tells what it saw")
    _warn(session, url, source)
    if session.given.as_json:
        body = {"source": source.id, "url": source.url, "added": is_new} | shown(source)
        session.out.document(body | {"asked": asked})


def _say_interval(session: Session, source: Source) -> dict[str, object] | None:
    """What was asked for, and what is stronger, as far as that is known before the first look."""
    from vedette.core.lanes.lane import SHUT, condition
    from vedette.core.urls.canonical import watch_id
    from vedette.report.explanation import lane_words
    from vedette.report.intervals import interval_json, interval_words
    from vedette.surface.cli.asked_intervals import interval_of

    with session.queries() as queries:
        watch = queries.watch(watch_id(source.url))
        lane = None if watch is None else queries.lane(watch.lane)
        interval = None if watch is None else interval_of(session, queries, watch, source)
    if watch is not None and lane is not None and condition(lane, session.now()) in SHUT:
        session.out.note(f"its lane {watch.lane} is {lane_words(lane, session.now())}")
    if interval is None:
        return None
    session.out.done(interval_words(interval))
    return interval_json(interval)


def _warn(session: Session, url: str, source: Source) -> None:
    """What the user may not expect of what they added."""
    if "@" in url.partition("//")[2].partition("/")[0]:
        session.out.note(
            "the user name and password in the URL are not kept; use `fetch.headers` with env:NAME"
        )
    refused = _refused_address(session, source)
    if refused:
        session.out.note(refused)
    if source.options.requires_headless:
        from vedette.fetch.browser import find_browser

        missing = find_browser()[1]
        if missing:
            session.out.note(f"{missing}; until then it is parked (outcome no_browser)")


def _refused_address(session: Session, source: Source) -> str:
    """An address that the guard will not connect to, said now and not after the first run."""
    from urllib.parse import urlsplit

    from vedette.config.policies import fetch_settings
    from vedette.contracts.words import Outcome
    from vedette.core.health.remedies import advice
    from vedette.core.urls.canonical import host_of
    from vedette.fetch.guard import Guard

    host, parts = host_of(source.url), urlsplit(source.url)
    if not host.replace(".", "").isdigit() and ":" not in host:
        return ""
    settings = fetch_settings(session.loaded.config, source)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    reason = Guard(settings.allow_networks, settings.allow_ports).refuses(host.strip("[]"), port)
    if reason is None:
        return ""
    said = advice(Outcome.ADDRESS_REFUSED, url=source.url, detail=reason.note)
    return f"it will not be looked at: {reason.note}. {said}"


def import_(
    session: Session,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A file, - for stdin, or registry:NAME (registry:croatia).")
    ],
    form: Annotated[
        str,
        typer.Option(
            "--format",
            help="auto, urls, csv, xlsx, opml, urlwatch, webchanges, changedetection, distill, jsonl, yaml.",
        ),
    ] = "auto",
    strict: Annotated[bool, typer.Option("--strict", help="Import nothing when any line is bad.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be imported; write nothing.")
    ] = False,
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", metavar="WHAT", help="Let this in: env:NAME, allow_networks=10.0.0.0/8."),
    ] = None,
) -> None:
    """Take sources over from other tools.

    Reads a URL list, CSV, a spreadsheet, OPML, the job file of urlwatch or webchanges, the watches of
    changedetection.io, the watchlist of Distill, and what `vedette export` writes.  Of a source that is known only what
    the line says is changed.

    Says for every line what was taken, what was left out, and what was refused and why.  A bad line loses nothing
    else; the exit code is then 2.

    A file cannot open a door of this machine: environment variables, networks, ports, proxies, name servers and
    certificates that it names are left out and told, line by line, unless `--allow` names them.
    """
    from vedette.surface.cli.formats import read

    is_registry = file.startswith(REGISTRY)
    chosen, parsed = read(_read(file), "yaml" if is_registry else form, file)
    taken, left_out = _sources(session, parsed)
    if not is_registry:
        taken, left_out = _shut_doors(session, taken, frozenset(allow or ()))
    is_bad = bool(parsed.problems)
    kept = [] if dry_run or (strict and is_bad) else _keep_all(session, taken)
    problems = [
        {"line": p.line, "text": p.text, "why": p.why} for p in sorted(parsed.problems, key=lambda p: p.line)
    ]
    if session.given.as_json:
        counts = {"format": chosen, "taken": len(kept), "new": sum(kept), "bad": len(problems)}
        session.out.document({**counts, "lines": [_line(*one) for one in taken], "problems": problems})
    else:
        for entry in left_out:
            session.out.note(f"line {entry.line}: not carried over: {', '.join(entry.left_out)}")
        for problem in problems:
            text = f" ({problem['text']})" if problem["text"] else ""
            session.out.say(f"line {problem['line']}: not taken: {problem['why']}{text}")
        _say_taken(session, chosen, len(taken), kept, is_stopped=strict and is_bad)
        _say_profile(session, file)
    if is_bad:
        raise typer.Exit(Exit.BAD_INPUT)


def _line(entry: Entry, source: Source) -> dict[str, object]:
    left_out = list(entry.left_out)
    return {"line": entry.line, "url": source.url, "source": source.id, "not_carried_over": left_out}


def refuse_blocked(session: Session, url: str) -> None:
    from vedette.core.urls.blocked import blocked_by
    from vedette.core.urls.canonical import host_of

    word = blocked_by(host_of(url), session.loaded.config.discover.blocked_words)
    if word is not None:
        raise RefusedError(
            f"{host_of(url)} is blocked by the word {word!r}; change `discover.blocked_words` to watch it"
        )


def keep(session: Session, db: sqlite3.Connection, source: Source) -> tuple[Source, bool]:
    """Save a source and its first watch.  A URL that is known keeps its source; an id that is taken is made unique."""
    from vedette.config.policies import another_id, classifier
    from vedette.core.urls.canonical import watch_id
    from vedette.store import operator

    known = operator.source_of_url(db, source.url)
    if known is not None:
        source = replace(source, id=known.id, url=known.url)
    else:
        holder = operator.source_by_id(db, source.id)
        if holder is not None and watch_id(holder.url) != watch_id(source.url):
            source = replace(source, id=another_id(source, operator.source_ids(db)))
    now = session.now()
    is_new = operator.save_source(db, source, now=now, classify=classifier(session.loaded.config))
    operator.make_due(db, watch_id(source.url), now=now)
    return source, is_new


def shown(source: Source) -> dict[str, object]:
    risk = None if source.risk is None else source.risk.name
    return {"name": source.name, "lister": source.lister.value, "risk": risk, "tier": source.tier.name}


def _read(file: str) -> bytes:
    if file.startswith(REGISTRY):
        from vedette.registries import read_registry

        return read_registry(file.removeprefix(REGISTRY))
    if "://" in file:
        raise InputError(f"{file} is a URL; save it to a file first, or watch it with `vedette add`")
    try:
        if file == "-":
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with open(file, "rb") as source:
                data = source.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise InputError(f"{file} is larger than {MOST_BYTES // 2**20} MiB; split it")
    return data


def _sources(session: Session, parsed: Parsed) -> tuple[list[tuple[Entry, Source]], list[Entry]]:
    """The lines that can be taken; what cannot is added to the problems."""
    from vedette.core.urls.canonical import canonical
    from vedette.surface.cli.formats.entry import keys_of, source_of

    taken = []
    urls = [canonical(str(entry.keys.get("url", ""))) for entry in parsed.entries]
    known = _known_sources(session, [url for url in urls if url])
    for entry, url in zip(parsed.entries, urls, strict=True):
        before = keys_of(known[url]) if url in known else entry.defaults
        try:
            source = source_of({**before, **entry.keys}, origin="import")
            refuse_blocked(session, source.url)
        except VedetteError as error:
            parsed.bad(entry.line, entry.keys.get("url", ""), str(error))
            continue
        taken.append((entry, source))
    return taken, [entry for entry, _ in taken if entry.left_out]


def _known_sources(session: Session, urls: list[str]) -> dict[str | None, Source]:
    """By address: a line says what changes, all else of a known source stays."""
    from vedette.store.migrate import DATABASE
    from vedette.store.operator import source_of_url

    if not urls or not (session.loaded.data / DATABASE).exists():
        return {}
    with session.reading() as db:
        found = ((url, source_of_url(db, url)) for url in dict.fromkeys(urls))
        return {url: source for url, source in found if source is not None}


def _shut_doors(
    session: Session, taken: list[tuple[Entry, Source]], allowed: frozenset[str]
) -> tuple[list[tuple[Entry, Source]], list[Entry]]:
    """What nobody allowed is left out; what a source of ours has by hand already may stay."""
    from vedette.core.limits.import_limits import unused, without_doors, words_of
    from vedette.core.urls.canonical import watch_id

    ours = _doors_of_ours(session) if any(source.fetch for _, source in taken) else {}
    asked: set[str] = set()
    found = []
    for entry, source in taken:
        asked |= words_of(source)
        kept, doors = without_doors(source, allowed | ours.get(watch_id(source.url), frozenset()))
        told = (*entry.left_out, *(door.told() for door in doors))
        found.append((replace(entry, left_out=told), kept))
    for word in unused(allowed, asked):
        session.out.note(f"--allow {word}: nothing in the file asks for it")
    return found, [entry for entry, _ in found if entry.left_out]


def _doors_of_ours(session: Session) -> dict[WatchId, frozenset[str]]:
    from vedette.core.limits.import_limits import words_of
    from vedette.core.urls.canonical import watch_id
    from vedette.store.migrate import DATABASE

    if not (session.loaded.data / DATABASE).exists():
        return {}
    with session.queries() as queries:
        sources = [view.source for view in queries.sources()]
    return {watch_id(source.url): words_of(source) for source in sources if source.fetch}


def _keep_all(session: Session, taken: list[tuple[Entry, Source]]) -> list[bool]:
    if not taken:
        return []
    with session.operating(create=True) as db:
        return [keep(session, db, source)[1] for _, source in taken]


def _say_profile(session: Session, file: str) -> None:
    """A registry of a country is read best with the defaults of that country."""
    from vedette.config.profiles import PROFILES

    country = file.removeprefix(REGISTRY)
    if file.startswith(REGISTRY) and country in PROFILES and session.loaded.config.profile != country:
        session.out.note(
            f"write `profile: {country}` into vedette.yaml: languages, zone and runs as its sources need them"
        )


def _say_taken(session: Session, chosen: str, good: int, kept: list[bool], *, is_stopped: bool) -> None:
    if is_stopped:
        session.out.done(f"nothing imported: some lines are bad and --strict was given ({good} good)")
    elif kept:
        session.out.done(
            f"{count(len(kept), 'source')} taken from {chosen}: {sum(kept)} new, {len(kept) - sum(kept)} known"
        )
    else:
        session.out.done(f"{count(good, 'source')} could be taken from {chosen}; nothing was written")
