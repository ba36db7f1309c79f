"""Lists of sources: exported for other tools (sources, every known URL, changes, signals), and imported from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from vedette.config.policies import screens
from vedette.contracts.errors import InputError, VedetteError
from vedette.contracts.source import ListerKind, Source
from vedette.contracts.watch import Watch
from vedette.contracts.words import NodeType, SourceId, WatchId
from vedette.core.evidence.screen import screen
from vedette.core.limits.import_limits import unused, without_doors, words_of
from vedette.core.priority.score import UrlSignals
from vedette.core.text.nearest import unknown
from vedette.core.urls.canonical import canonical, host_of, watch_id
from vedette.operations.change_tables import change_rows
from vedette.operations.formats import read, write
from vedette.operations.formats.list_entry import Entry, Parsed, Problem
from vedette.operations.installation import Installation
from vedette.operations.rank import WRITERS
from vedette.operations.source_keys import keys_of, slug_of, source_of
from vedette.operations.sources import refuse_blocked, save_source
from vedette.operations.watches import not_taken_in
from vedette.store.imported_texts import save_texts
from vedette.store.operator import source_of_url
from vedette.store.views import WatchFilter


@dataclass(frozen=True, slots=True)
class SourceExport:
    text: str
    count: int


def export_sources(installation: Installation, what: str, form: str) -> SourceExport:
    """`what`: sources, watches, changes or signals.  `form`: what `vedette import` or `vedette rank` reads back."""
    if what not in EXPORTS:
        raise InputError(f"--what: {unknown('kind of export', what, EXPORTS)}")
    return EXPORTS[what](installation, form)


def _sources(installation: Installation, form: str) -> SourceExport:
    with installation.queries() as queries:
        found = [view.source for view in queries.sources()]
    sources = sorted([*found, *not_taken_in(installation)], key=lambda source: source.id)
    return SourceExport(write(sources, form), len(sources))


def _watches(installation: Installation, form: str) -> SourceExport:
    with installation.queries() as queries:
        asking = queries.asking()
        sources = [_as_source(watch, asking.get(watch.url)) for watch in queries.watches(WatchFilter())]
    return SourceExport(write(sources, form), len(sources))


def _signals(installation: Installation, form: str) -> SourceExport:
    if form not in WRITERS:
        raise InputError(f"--format: signals are written as {' or '.join(WRITERS)}, not {form!r}")
    with installation.queries() as queries:
        rows = [_signals_of(watch) for watch in queries.watches(WatchFilter(only_kept=True))]
    return SourceExport(WRITERS[form](rows), len(rows))


def _changes(installation: Installation, form: str) -> SourceExport:
    return SourceExport(*change_rows(installation, form))


EXPORTS: dict[str, Callable[[Installation, str], SourceExport]] = {
    "sources": _sources,
    "changes": _changes,
    "watches": _watches,
    "signals": _signals,
}


def _as_source(watch: Watch, asking: Source | None) -> Source:
    return Source(
        id=SourceId(slug_of(watch.url)),
        name=watch.title or slug_of(watch.url),
        url=watch.url,
        lister=watch.lister or ListerKind.PAGE,
        risk=watch.risk,
        every=asking.every if asking else None,
        scrape_frequency=asking.scrape_frequency if asking else None,
    )


def _signals_of(watch: Watch) -> UrlSignals:
    """Spec 002's fields, as the store knows them.  Nothing here judges topics, so `topic_relevance` is left at 0."""
    return UrlSignals(
        url=watch.url,
        visits=watch.scan_count,
        last_visited=watch.last_visit_at,
        last_changed=watch.last_changed_at,
        hub_depth=watch.depth,
        is_hub=watch.node_type is NodeType.HUB,
    )


# Import: what each line gives, what is left out of it, and what is refused.

PAST_ORIGIN = "changedetection.io"  # the one tool whose backups hold versions
REGISTRY = "registry:"  # a list that is shipped with the program


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    data: bytes
    name: str  # of the file; `registry:NAME` is ours, and trusted
    form: str = "auto"
    strict: bool = False  # nothing is taken when any line is bad
    dry_run: bool = False
    allowed: frozenset[str] = frozenset()  # what a list may ask of this machine

    @property
    def is_registry(self) -> bool:
        return self.name.startswith(REGISTRY)


@dataclass(frozen=True, slots=True)
class TakenLine:
    entry: Entry
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceImport:
    form: str
    lines: tuple[TakenLine, ...]  # those that can be taken
    saved: tuple[bool, ...]  # for each that was saved: is it new?
    problems: tuple[Problem, ...]  # lines that cannot be taken, in their order
    unused: tuple[str, ...]  # what was allowed and nothing asks for

    @property
    def left_out(self) -> list[Entry]:
        return [line.entry for line in self.lines if line.entry.left_out]


def import_sources(installation: Installation, asked: ImportRequest) -> SourceImport:
    """A bad line loses nothing else."""
    form, parsed = read(asked.data, "yaml" if asked.is_registry else asked.form, asked.name)
    lines = _lines(installation, parsed)
    never_asked: list[str] = []
    if not asked.is_registry:
        lines, never_asked = _shut_doors(installation, lines, asked.allowed)
    lines = [_with_past_that_may_be_kept(installation, line) for line in lines]
    is_kept = lines and not asked.dry_run and not (asked.strict and parsed.problems)
    return SourceImport(
        form=form,
        lines=tuple(lines),
        saved=tuple(_save(installation, lines)) if is_kept else (),
        problems=tuple(sorted(parsed.problems, key=lambda problem: problem.line)),
        unused=tuple(never_asked),
    )


def source_import_json(done: SourceImport) -> dict[str, object]:
    lines = [
        {
            "line": line.entry.line,
            "url": line.source.url,
            "source": line.source.id,
            "not_carried_over": list(line.entry.left_out),
            **({"imported_versions": len(line.entry.past)} if line.entry.past else {}),
        }
        for line in done.lines
    ]
    problems = [{"line": one.line, "text": one.text, "why": one.why} for one in done.problems]
    counts = {"format": done.form, "taken": len(done.saved), "new": sum(done.saved), "bad": len(problems)}
    return {**counts, "lines": lines, "problems": problems}


def _lines(installation: Installation, parsed: Parsed) -> list[TakenLine]:
    """The lines that can be taken; what cannot is added to the problems."""
    taken = []
    urls = [canonical(str(entry.keys.get("url", ""))) for entry in parsed.entries]
    known = _known_sources(installation, [url for url in urls if url])
    for entry, url in zip(parsed.entries, urls, strict=True):
        before = keys_of(known[url]) if url in known else entry.defaults
        try:
            source = source_of({**before, **entry.keys}, origin="import")
            refuse_blocked(installation, source.url)
        except VedetteError as error:
            parsed.bad(entry.line, entry.keys.get("url", ""), str(error))
            continue
        taken.append(TakenLine(entry, source))
    return taken


def _known_sources(installation: Installation, urls: list[str]) -> dict[str | None, Source]:
    """By address: a line says what changes, all else of a known source stays."""
    if not urls or not installation.has_store:
        return {}
    with installation.reading() as db:
        found = ((url, source_of_url(db, url)) for url in dict.fromkeys(urls))
        return {url: source for url, source in found if source is not None}


def _shut_doors(
    installation: Installation, lines: list[TakenLine], allowed: frozenset[str]
) -> tuple[list[TakenLine], list[str]]:
    """What nobody allowed is left out; what a source of ours has by hand already may stay."""
    ours = _doors_of_ours(installation) if any(line.source.fetch for line in lines) else {}
    asked: set[str] = set()
    found = []
    for line in lines:
        asked |= words_of(line.source)
        own = ours.get(watch_id(line.source.url), frozenset())
        kept, doors = without_doors(line.source, allowed | own)
        told = (*line.entry.left_out, *(door.told() for door in doors))
        found.append(TakenLine(replace(line.entry, left_out=told), kept))
    return found, list(unused(allowed, asked))


def _doors_of_ours(installation: Installation) -> dict[WatchId, frozenset[str]]:
    if not installation.has_store:
        return {}
    with installation.queries() as queries:
        sources = [view.source for view in queries.sources()]
    return {watch_id(source.url): words_of(source) for source in sources if source.fetch}


def _save(installation: Installation, lines: list[TakenLine]) -> list[bool]:
    with installation.operating(create=True) as db:
        saved = [save_source(installation, db, line.source)[1] for line in lines]
        for line in lines:
            texts = [(one.at, one.text) for one in line.entry.past]
            save_texts(db, watch_id(line.source.url), texts, origin=PAST_ORIGIN, now=installation.now())
        return saved


def _with_past_that_may_be_kept(installation: Installation, line: TakenLine) -> TakenLine:
    """What would not be kept of a look is not taken from another program either, and told as left out."""
    past, url = line.entry.past, line.source.url
    if not past:
        return line
    table, redacts = screens(installation.loaded.config), line.source.options.redacts
    kept = () if redacts else tuple(one for one in past if not screen(one.text, url, host_of(url), table))
    refused = len(past) - len(kept)
    told = (f"{refused} of its versions may not be kept here",) if refused else ()
    return replace(line, entry=replace(line.entry, past=kept, left_out=(*line.entry.left_out, *told)))
