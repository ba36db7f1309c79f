"""Seeds of a hunt: from files, lists of feeds, link pages and registries; each becomes a source that hunts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vedette.contracts.errors import InputError, VedetteError
from vedette.core.urls.canonical import canonical, origin_of
from vedette.extract import extract
from vedette.operations.formats import read
from vedette.operations.installation import Installation
from vedette.operations.sources import add_source
from vedette.operations.watches import not_taken_in

# A hunt follows links to any host; what of it is looked at is chosen.
KEYS = {
    "lister": "crawl",
    "hunt": True,
    "follow_hosts": ["*"],
    "max_urls": 1_000_000,
    "max_depth": 50,
    "risk": "LOW",
}
_PAGE = (b"<!doctype html", b"<html", b"<head", b"<body", b"<ul", b"<h1", b"<p")
MOST = 10_000  # seeds of one list


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeded:
    added: tuple[str, ...]  # addresses of new sources
    known: tuple[str, ...]  # that hunted before
    refused: tuple[tuple[str, str], ...]  # and why


def check_seeded(installation: Installation) -> None:
    """A hunt that has nowhere to start is an error that says what to do."""
    if any(source.options.hunt for source in not_taken_in(installation)):
        return
    if installation.has_store:
        with installation.queries() as queries:
            if any(view.source.options.hunt for view in queries.sources()):
                return
    raise InputError(
        "there is nothing to hunt from: no source hunts; type: vedette hunt seed registry:smallweb, "
        "or name URLs or a file of your own"
    )


def seeds_in(data: bytes, name: str) -> list[str]:
    """The addresses that a list names: one a line, OPML, CSV, YAML, or the links of a page that leave it."""
    head = data[:200].lstrip().lower()
    if name.lower().endswith((".html", ".htm")) or head.startswith(_PAGE):
        return _links(data)
    _, parsed = read(data, "auto", name)
    found = [str(entry.keys.get("url", "")) for entry in parsed.entries]
    if not found and parsed.problems:
        problem = parsed.problems[0]
        raise InputError(f"{name}: line {problem.line}: {problem.why}")
    return [url for url in found if url]


def seed(installation: Installation, urls: Sequence[str], *, name: str = "the list") -> Seeded:
    """Every address becomes a source that hunts; what is there already stays."""
    wanted = list(dict.fromkeys(url.strip() for url in urls if url.strip()))
    if not wanted:
        raise InputError(f"{name} names no seed; give URLs, a file, or registry:smallweb")
    if len(wanted) > MOST:
        raise InputError(f"{name} names {len(wanted):,} seeds; at most {MOST:,} at a time")
    added: list[str] = []
    known: list[str] = []
    refused: list[tuple[str, str]] = []
    for url in wanted:
        try:
            done = add_source(installation, url, KEYS, {})
        except VedetteError as error:
            refused.append((url, str(error)))
            continue
        (added if done.is_new else known).append(done.source.url)
    if refused and not (added or known):
        url, why = refused[0]
        raise InputError(f"none of {len(refused)} seeds can be used; the first: {url}: {why}")
    return Seeded(added=tuple(added), known=tuple(known), refused=tuple(refused))


def seeded_json(done: Seeded) -> dict[str, object]:
    return {
        "added": list(done.added),
        "known": list(done.known),
        "refused": [{"url": url, "why": why} for url, why in done.refused],
    }


def _links(data: bytes) -> list[str]:
    """Of a saved link page or directory: what it links to, with a whole address."""
    found: Iterable[str] = extract(data, url="http://list.invalid/", content_type="text/html").hrefs
    whole = (canonical(href) for href in found if href.startswith(("http://", "https://")))
    return list(dict.fromkeys(url for url in whole if url and origin_of(url) != "http://list.invalid"))
