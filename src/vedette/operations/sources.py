"""Sources as they stand, of the store and of vedette.yaml, and what an operator says of one of them or of a page.

A running engine hears of an order within a second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from vedette.config.credentials import missing_variables
from vedette.config.policies import another_id, classifier, fetch_settings, sources_of
from vedette.contracts.errors import ConfigError, InputError, RefusedError
from vedette.contracts.lane import LaneState
from vedette.contracts.source import Source
from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.words import LaneKey, Outcome, SourceId
from vedette.core.health.remedies import advice
from vedette.core.health.source_health import Checked
from vedette.core.lanes.lane import SHUT, condition
from vedette.core.lanes.outcomes import SEEN
from vedette.core.urls.canonical import host_of, watch_id
from vedette.fetch.guard import Guard
from vedette.operations.arguments import a_url
from vedette.operations.installation import Installation
from vedette.operations.source_keys import keys_of, page_keys, source_of
from vedette.operations.watches import not_taken_in, views_not_taken_in
from vedette.operations.why_not import interval_of
from vedette.report.lanes import AskedInterval, interval_json
from vedette.store import operator
from vedette.store.operator import source_of_url
from vedette.store.views import SourceView

FOREVER = datetime(9999, 1, 1, tzinfo=UTC)
MOST_NOTE = 500  # characters
COVERING = ("crawl", "html_list", "pagination")  # listers that reach what lies under their address
_Do = Callable[..., int | None]


@dataclass(frozen=True, slots=True)
class ListedSource:
    view: SourceView
    shares: Mapping[
        str, int
    ]  # by other source, its pages under the address of this one: a page is watched once


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOrdered:
    source: SourceId
    watches: int | None = None  # that were stopped or scheduled; None: the order is not about them
    comes_back: bool = False  # it stands in vedette.yaml and returns with the next run
    was_muted: bool = True  # before it was unmuted


def list_sources(installation: Installation, tag: str | None = None) -> list[ListedSource]:
    """Every source, or those with a tag; highest tier first."""
    found = _all_sources(installation)
    shares = _shares(installation, found)
    named = installation.tagged(tag)
    return [
        ListedSource(view, shares.get(view.source.id, {}))
        for view in found
        if named is None or view.source.id in named
    ]


def source_json(one: ListedSource) -> dict[str, object]:
    view, source, state = one.view, one.view.source, one.view.state
    return {
        "id": source.id,
        "name": source.name,
        "url": source.url,
        "lister": source.lister.value,
        "read_as": None if view.read_as is None else view.read_as.value,
        "risk": None if source.risk is None else source.risk.name,
        "tier": source.tier.name,
        "filters": list(source.options.filters),
        "active": source.is_active,
        "origin": source.origin,
        "category": source.registered.category or None,
        "hierarchy": source.registered.hierarchy,
        "domains": list(source.registered.domains),
        "provenance": source.registered.provenance or None,
        "tags": list(source.registered.tags),
        "note": source.registered.note or None,
        "muted_until": source.muted_until,
        "watches": view.watches,
        "failures": state.failures,
        "last_error": last_error(view),
        "last_success_at": view.last_success_at,
        "outcome": None if view.last_outcome is None else view.last_outcome.value,
        "remedy": remedy(view) or None,
        "closed_until": state.closed_until,
        "created_at": view.created_at,
        "shares": one.shares,
    }


def checked_json(one: Checked) -> dict[str, object]:
    look = one.look
    return {
        "id": look.source.id,
        "url": look.source.url,
        "provenance": look.source.registered.provenance or None,
        "lister": look.source.lister.value,
        "finding": one.finding.value,
        "words": one.words,
        "outcome": look.outcome.value,
        "status": look.status,
        "answered": look.answered,
        "moved_for_good": look.has_moved and look.is_permanent,
        "looks_like": look.looks_like.value if look.looks_like else None,
        "items": look.items,
    }


def last_error(view: SourceView) -> str | None:
    """Why the last look at its own address did not show it."""
    outcome = view.last_outcome
    if outcome is None or outcome in SEEN:
        return view.state.last_error or None
    return f"{outcome.value}: {view.last_detail}" if view.last_detail else outcome.value


def remedy(view: SourceView) -> str:
    """What to do about it; empty: nothing."""
    if view.last_outcome is None:
        return ""
    return advice(view.last_outcome, url=view.source.url, detail=view.last_detail)


def pause_source(installation: Installation, what: str) -> SourceOrdered:
    """Look at it no more until it is resumed.  A page that a listing found becomes a source of its own."""
    return _ordered(installation, what, operator.pause_source, finds=True)


def resume_source(installation: Installation, what: str) -> SourceOrdered:
    """Schedule it again."""
    return _ordered(installation, what, operator.resume_source)


def reset_source(installation: Installation, what: str) -> SourceOrdered:
    """Forget its failures and the trap budgets it has used; read its listing now."""
    return _ordered(installation, what, operator.reset_source)


def remove_source(installation: Installation, what: str) -> SourceOrdered:
    """Stop watching it; its history stays."""
    done = _ordered(installation, what, operator.remove_source, finds=True)
    left = not_taken_in(installation)  # it was in the store until now
    comes_back = any(what in (source.id, source.url) for source in left)
    return SourceOrdered(source=done.source, watches=done.watches, comes_back=comes_back)


def mute_source(installation: Installation, what: str, until: datetime) -> SourceOrdered:
    """No message about its changes until then."""
    return _ordered(installation, what, partial(operator.mute_source, until=until), finds=True)


def unmute_source(installation: Installation, what: str) -> SourceOrdered:
    """Tell of its changes again."""
    was_muted = False

    def unmute(db: SqlConnection, source: SourceId, *, now: datetime) -> None:
        nonlocal was_muted
        was_muted = operator.is_muted(db, source, now=now)
        operator.mute_source(db, source, now=now)

    done = _ordered(installation, what, unmute, finds=True)
    return replace(done, was_muted=was_muted)


def note_source(installation: Installation, what: str, words: str) -> SourceOrdered:
    """A note of the operator's own; empty: the note goes."""
    if len(words) > MOST_NOTE:
        raise InputError(f"a note has at most {MOST_NOTE} characters, this one {len(words)}")
    return _ordered(installation, what, partial(operator.note_source, words=words), finds=True)


def group_source(installation: Installation, what: str, words: str) -> SourceOrdered:
    """The groups (tags) that a source is in, parted by commas; empty: in none."""
    names = tuple(dict.fromkeys(word.strip() for word in words.split(",") if word.strip()))
    source_of(
        {"url": "https://example.org/", "tags": list(names)}, origin="cli"
    )  # says what is wrong with a name
    if what in {str(one.id) for one in sources_of(installation.loaded.config)}:
        raise RefusedError(f"--groups: source {what} stands in vedette.yaml; write its `tags` there")
    return _ordered(installation, what, partial(operator.group_source, tags=names))


def groups(installation: Installation) -> tuple[str, ...]:
    """All that sources are in, by name."""
    if not installation.has_store:
        return ()
    with installation.queries() as queries:
        return tuple(sorted({tag for tags in queries.tags().values() for tag in tags}))


def _all_sources(installation: Installation) -> list[SourceView]:
    found = views_not_taken_in(installation)
    if not found or installation.has_store:
        with installation.queries() as queries:
            found += queries.sources()
    return sorted(found, key=lambda view: (-view.source.tier, view.source.id))


def _shares(installation: Installation, found: Sequence[SourceView]) -> Mapping[str, Mapping[str, int]]:
    """What lies under the address of a source that lists, and belongs to another."""
    listing = [view.source for view in found if view.source.lister.value in COVERING and view.watches]
    if len(found) < 2 or not listing:
        return {}
    with installation.queries() as queries:
        return queries.shared_pages(listing)


def _ordered(installation: Installation, what: str, do: _Do, *, finds: bool = False) -> SourceOrdered:
    """`finds`: a page that a listing found may be named too."""
    if not_taken_in(installation):
        save_configured(installation)
    if "://" not in what:
        installation.check_source(what, "")
    with installation.operating() as db:
        source = _source(installation, db, what, finds=finds)
        number = do(db, source, now=installation.now())
    return SourceOrdered(source=source, watches=number)


def _source(installation: Installation, db: SqlConnection, what: str, *, finds: bool) -> SourceId:
    """The source of that id or URL.  A page that a listing found gets one of its own, so that it can rest alone."""
    if "://" not in what:
        return SourceId(what)
    url = a_url(what)
    known = operator.source_of_url(db, url)
    if known is not None:
        return known.id
    row = db.execute("SELECT source_id FROM watches WHERE id = ?", (watch_id(url),)).fetchone()
    if row is None:
        raise InputError(f"{url} is not watched; `vedette list` shows what is")
    if not finds:
        raise InputError(f"{url} is a page of source {row[0]}; name that one")
    return save_source(installation, db, source_of(page_keys(url), origin="cli"))[0].id


# A source is saved with its first watch; what stands in vedette.yaml too, before the first run.


def save_source(installation: Installation, db: SqlConnection, source: Source) -> tuple[Source, bool]:
    """Save a source and make its first watch due; gives it as it is kept, and whether it is new.

    A URL that is known keeps its source; an id that is taken is made unique.
    """
    known = operator.source_of_url(db, source.url)
    if known is not None:
        source = replace(source, id=known.id, url=known.url)
    else:
        holder = operator.source_by_id(db, source.id)
        if holder is not None and watch_id(holder.url) != watch_id(source.url):
            source = replace(source, id=another_id(source, operator.source_ids(db)))
    now, classify = installation.now(), classifier(installation.loaded.config)
    is_new = operator.save_source(db, source, now=now, classify=classify)
    operator.make_due(db, watch_id(source.url), now=now)
    return source, is_new


def save_configured(installation: Installation) -> None:
    """What stands in vedette.yaml is watched, before the first run too."""
    config = installation.loaded.config
    with installation.operating(create=True) as db:
        for source in sources_of(config):
            operator.save_source(db, source, now=installation.now(), classify=classifier(config))


def refuse_blocked(installation: Installation, url: str) -> None:
    """RefusedError where `discover.blocked_words` has a word of the host."""
    word = installation.blocked_word(url)
    if word is not None:
        raise RefusedError(
            f"{host_of(url)} is blocked by the word {word!r}; change `discover.blocked_words` to watch it"
        )


# Adds one source, and says what its operator should know of it before the first look.


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceAdded:
    source: Source
    is_new: bool
    interval: AskedInterval | None = None  # what was asked for, and what is stronger
    shut_lane: tuple[LaneKey, LaneState] | None = None
    warnings: tuple[str, ...] = ()  # what the operator may not expect of it


def add_source(
    installation: Installation, url: str, keys: Mapping[str, Any], headers: Mapping[str, str]
) -> SourceAdded:
    """Watch what is at this address; it is due at once.

    `keys`: of a `sources` section.  What is known of the source stays; headers are added to those that it has.
    """
    wanted = a_url(url)
    refuse_blocked(installation, wanted)
    # Bad input is reported before a store is made.
    source_of({"url": wanted, **keys, **({"fetch": {"headers": headers}} if headers else {})}, origin="cli")
    source, is_new = _save(installation, wanted, keys, headers)
    with installation.queries() as queries:
        watch = queries.watch(watch_id(source.url))
        lane = None if watch is None else queries.lane(watch.lane)
        interval = None if watch is None else interval_of(installation, queries, watch, source)
    is_shut = lane is not None and condition(lane, installation.now()) in SHUT
    return SourceAdded(
        source=source,
        is_new=is_new,
        interval=interval,
        shut_lane=(watch.lane, lane) if is_shut and watch is not None and lane is not None else None,
        warnings=tuple(_warnings(installation, url, source)),
    )


def source_added_json(done: SourceAdded) -> dict[str, object]:
    source = done.source
    return {
        "source": source.id,
        "url": source.url,
        "added": done.is_new,
        "name": source.name,
        "lister": source.lister.value,
        "risk": None if source.risk is None else source.risk.name,
        "tier": source.tier.name,
        "asked": None if done.interval is None else interval_json(done.interval),
    }


def _save(
    installation: Installation, url: str, keys: Mapping[str, Any], headers: Mapping[str, str]
) -> tuple[Source, bool]:
    with installation.operating(create=True) as db:
        known = source_of_url(db, url)
        before = keys_of(known) if known else page_keys(url)
        given = dict(keys)
        said = {**given.get("fetch", {}), **({"headers": headers} if headers else {})}
        if said:
            given["fetch"] = _fetch_keys(before.get("fetch", {}), said)
        return save_source(installation, db, source_of(before | given, origin="cli"))


def _fetch_keys(before: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Headers and cookies are added to those that are there; other settings take the place of what they were."""
    added = {
        name: {**(before.get(name) or {}), **said[name]} for name in ("headers", "cookies") if said.get(name)
    }
    return {name: value for name, value in {**before, **said, **added}.items() if value is not None}


def _warnings(installation: Installation, url: str, source: Source) -> list[str]:
    words = []
    if "@" in url.partition("//")[2].partition("/")[0]:
        words.append("the user name and password in the URL are not kept; use --basic-auth USER:env:NAME")
    words += filter(None, (_missing_variable(source), _refused_address(installation, source)))
    if source.options.requires_headless:
        from vedette.fetch.browser import find_browser  # aiohttp and asyncio: 0.19 s that few additions need

        missing = find_browser()[1]
        if missing:
            words.append(f"{missing}; until then it is parked (outcome no_browser)")
    return words


def _missing_variable(source: Source) -> str:
    """Said now; the engine may have what this shell has not."""
    missing = missing_variables(dict(source.fetch))
    names = " and ".join(missing)
    words = "set it where `vedette run` or `serve` starts; until then nothing is asked (outcome bad_settings)"
    return f"the environment variable {names} is not set here; {words}" if missing else ""


def _refused_address(installation: Installation, source: Source) -> str:
    """An address that the guard will not connect to, said now and not after the first run."""
    host, parts = host_of(source.url), urlsplit(source.url)
    if not host.replace(".", "").isdigit() and ":" not in host:
        return ""
    try:
        settings = fetch_settings(installation.loaded.config, source)
    except ConfigError:  # a variable that is not set here was told of
        return ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    reason = Guard(settings.allow_networks, settings.allow_ports).refuses(host.strip("[]"), port)
    if reason is None:
        return ""
    said = advice(Outcome.ADDRESS_REFUSED, url=source.url, detail=reason.note)
    return f"it will not be looked at: {reason.note}. {said}"
