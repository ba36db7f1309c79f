"""A configuration as the policy values that the stages take."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import fields, replace
from datetime import timedelta
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vedette.config.credentials import check_credentials, with_credentials
from vedette.config.model import Config, ScreenRowConfig, SourceConfig
from vedette.config.pace_policies import SEED_EWMA, ewma_params, velocity_params
from vedette.config.sections import FetchConfig
from vedette.contracts.errors import ConfigError, InputError
from vedette.contracts.fetch import FetchSettings
from vedette.contracts.source import (
    ANYWHERE,
    ListerKind,
    ListerOptions,
    ListSelectors,
    Registered,
    Source,
    StructuredOptions,
    TrapBudgets,
)
from vedette.contracts.words import SourceId, WatchId
from vedette.core.evidence.screen import Classifier, ScreenRow, ScreenTable, screen_table
from vedette.core.evidence.segments import is_retention
from vedette.core.lanes.outcomes import RetryParams
from vedette.core.schedule.due import LEARNED, DueParams, due_params
from vedette.core.schedule.ewma import EwmaRule
from vedette.core.schedule.per_risk import FixedRule, IntervalRule
from vedette.core.text.media_types import HUNT_TYPES, check_types
from vedette.core.urls.canonical import canonical, clipped, host_of, too_long, watch_id
from vedette.core.urls.classify import Classification, RolePattern, classify_url
from vedette.core.urls.url_shape import compile_pattern, filters_of
from vedette.fetch.guard import check_addresses

if TYPE_CHECKING:
    pass

FETCH_NAMES = {field.name for field in fields(FetchSettings)}
_HOUR = timedelta(hours=1)
_SLUG = re.compile(r"[^a-z0-9]+")
_TAIL = 30  # characters of an address in an id


def check_config(config: Config) -> None:
    """Raises ConfigError for what no run could use, whatever the environment.

    What depends on the environment (secrets, files that settings name) is left to `run` and `doctor`.
    """
    given = config.model_fields_set
    try:
        due_rule(config, config.schedule.policy)
        if config.screen:
            screens(config)
        if "classify" in given:
            classifier(config)("https://vedette.example/")
    except InputError as error:
        raise ConfigError(str(error)) from None
    for name in config.evidence.retention:
        _check_retention(name, "evidence.retention")
    for key in config.lanes:
        _check_lane(key)
    _check_addresses(_overrides(config.fetch), "")
    for _ in sources_of(config):
        pass  # each is checked when it is made
    if given & {"cron", "notify"}:
        from vedette.config.alert_policies import check_notify, cron_entries  # cron, which few files need

        cron_entries(config)
        check_notify(config)


LANE_KINDS = ("host", "engine", "provider", "run", "addr", "notify")


def _check_lane(key: str) -> None:
    kind, _, name = key.partition(":")
    if key in ("default", "all") or (kind in LANE_KINDS and name):
        return
    words = (
        f"is no lane; write default, all, host:{name or key.strip(':') or 'example.org'} or engine:browser"
    )
    raise ConfigError(f"`lanes`: {key!r} {words}")


def _check_addresses(fetch: Mapping[str, Any], where: str) -> None:
    """Networks, ports, name servers, the proxy and the credentials of a `fetch` section."""
    check_types(fetch.get("types") or ())
    check_credentials(fetch, where)
    networks, ports, servers = (
        fetch.get(key) or () for key in ("allow_networks", "allow_ports", "nameservers")
    )
    if not (networks or ports or servers or fetch.get("proxy")):
        return
    try:
        proxy = fetch.get("proxy") or ""
        check_addresses(networks, ports, servers, None if proxy.startswith("env:") else proxy or None)
    except ConfigError as error:
        raise ConfigError(f"{where}{error}") from None


def _check_retention(name: str, where: str) -> None:
    if not is_retention(name):
        words = "a retention class is a-z, 0-9, _ and -, at most 32, a letter first"
        raise ConfigError(f"`{where}`: {name!r}: {words}")


def sources_of(config: Config) -> Iterator[Source]:
    """The configured sources, each under an id of its own, with clear errors for those that cannot be watched."""
    taken: dict[SourceId, str] = {}
    first: dict[WatchId, int] = {}  # which row watches an address
    for number, row in enumerate(config.sources):
        source = source_of(row, where=f"sources.{number}")
        before = first.setdefault(watch_id(source.url), number)
        if before != number:
            words = "an address has one source; take one of them out"
            raise ConfigError(
                f"`sources.{number}.url`: {source.url} is already watched by `sources.{before}`: {words}"
            )
        holder = taken.get(source.id, source.url)
        if holder != source.url and row.id:
            raise ConfigError(f"`sources.{number}.id`: {row.id!r} is already the id of {holder}")
        if holder != source.url:
            source = replace(source, id=another_id(source, taken))
        taken[source.id] = source.url
        yield source


# Options of a lister that a `sources` entry names by the same word: a new one is written there and in `contracts/`.
_OPTIONS = frozenset(one.name for one in fields(ListerOptions)) & SourceConfig.model_fields.keys() - {
    "selectors",
    "traps",
    "structured",
}


def source_of(row: SourceConfig, *, where: str = "source", origin: str = "config") -> Source:
    url = canonical(row.url)
    if url is None:
        hint = " (did you mean https://" + row.url + "?)" if "://" not in row.url else ""
        words = too_long(row.url) or f"is not an http or https URL{hint}"
        raise ConfigError(f"`{where}.url`: {clipped(row.url)!r} {words}")
    name = row.name or url.split("//", 1)[1].rstrip("/")
    selectors = ListSelectors(**row.selectors.model_dump()) if row.selectors else None
    source = Source(
        id=SourceId(row.id or slug(name)),
        name=name,
        url=url,
        lister=_lister(row),
        options=ListerOptions(
            **{name: getattr(row, name) for name in _OPTIONS},
            sitemap_types=row.types,
            selectors=selectors,
            traps=TrapBudgets(**row.traps.model_dump()),
            structured=StructuredOptions(**row.structured.model_dump()),
        ),
        risk=row.risk,
        tier=row.tier,
        is_active=row.active,
        every=row.every,
        scrape_frequency=row.scrape_frequency,
        retention=row.retention,
        fetch=tuple(sorted(_overrides(row.fetch).items())),
        origin=origin,
        registered=Registered(**{one.name: getattr(row, one.name) for one in fields(Registered)}),
    )
    _check_source(source, where)
    return source


def _lister(row: SourceConfig) -> ListerKind:
    """What is filtered is a page, unless the source says that it lists others."""
    is_said = "lister" in row.model_fields_set
    return row.lister if is_said or not row.filters else ListerKind.PAGE


def _check_source(source: Source, where: str) -> None:
    """Settings that no look at this source could use are an error now, not when it is due."""
    _check_retention(source.retention, f"{where}.retention")
    if source.fetch:
        _check_addresses(dict(source.fetch), "" if where == "source" else f"{where}.")
    _check_hunt(source, where)
    _check_screenshot(source.options, where)
    if source.origin != "config" and host_of(source.url).endswith(".onion"):
        raise ConfigError(
            f"`{where}.url`: onion names are only taken from `sources` in vedette.yaml (docs/how-to/tor.md)"
        )
    pattern = source.options.pagination_pattern
    try:
        filters_of(source.options)
        if pattern is not None:
            compile_pattern("pagination_pattern", pattern)
        if source.options.selectors is not None or source.options.filters:
            from vedette.config.selector_checks import check_markup  # parsers, which few sources need

            check_markup(source.options)
    except ConfigError as error:
        raise ConfigError(f"`{where}`: {error}") from None


def _check_hunt(source: Source, where: str) -> None:
    options = source.options
    if options.hunt and source.lister not in (ListerKind.CRAWL, ListerKind.AUTO):
        raise ConfigError(f"`{where}.hunt`: only what a crawl finds is hunted; set `lister: crawl`")
    if ANYWHERE in options.follow_hosts and not options.hunt:
        words = "a crawl of every host has no end; set `hunt: true`, so that looks are chosen and bounded"
        raise ConfigError(f"`{where}.follow_hosts`: {words}")


def _check_screenshot(options: ListerOptions, where: str) -> None:
    if options.screenshot and not options.requires_headless:
        raise ConfigError(
            f"`{where}.screenshot`: the browser takes the picture; set `requires_headless: true` too"
        )
    if options.screenshot and options.redacts:
        words = "a picture would show the personal data that `redact` takes out; leave one of them out"
        raise ConfigError(f"`{where}.screenshot`: {words}")


def another_id(source: Source, taken: Container[str]) -> SourceId:
    """For a source whose name another one has: with the end of its address behind it, which can be read and stays."""
    path = source.url.partition("//")[2].partition("?")[0].rstrip("/")
    tail = slug(path.rpartition("/")[2])[:_TAIL].strip("-")
    readable = f"{source.id}-{tail}"
    return SourceId(
        readable if readable not in taken else f"{source.id}-{watch_id(source.url) & 0xFFFFFF:06x}"
    )


def slug(name: str) -> str:
    """Spec 001/6.2: lower case, anything else a hyphen."""
    return _SLUG.sub("-", name.lower()).strip("-") or "source"


def fetch_settings(config: Config, source: Source | None = None) -> FetchSettings:
    """Global settings, with a source's own on top.  Secrets are read here and kept nowhere else."""
    values = _overrides(config.fetch) | dict(source.fetch if source else ())
    if source is not None and source.options.hunt:
        values.setdefault("types", HUNT_TYPES)
    try:
        values = with_credentials(values)
        settings = replace(FetchSettings(), **{k: v for k, v in values.items() if k in FETCH_NAMES})
    except (TypeError, ValueError, AttributeError) as error:
        whose = f"source {source.id}: " if source else ""
        raise ConfigError(f"{whose}the settings of `fetch` cannot be used: {error}") from None
    return settings


def classifier(config: Config) -> Callable[[str], Classification]:
    """classify_url with the configured packs and patterns."""
    packs = config.classify.packs
    extra = patterns(config)
    return lambda url: classify_url(url, packs=packs, rows=extra)


def due_rule(config: Config, policy: str) -> DueParams:
    """The named schedule policy, with what is configured of it."""
    rules: dict[str, Callable[[], IntervalRule]] = {
        "fixed": lambda: FixedRule(config.schedule.interval / _HOUR),
        SEED_EWMA: lambda: EwmaRule(ewma_params(config)),
        LEARNED: lambda: EwmaRule(ewma_params(config)),  # for what the learned policy fails to decide
    }
    rule = rules[policy]() if policy in rules else None
    return due_params(policy, rule, velocity_params(config))


def retry_rule(config: Config) -> RetryParams:
    """How a failed look is tried again."""
    row = config.retry
    return RetryParams(attempts=row.attempts, shortest=row.shortest, longest=max(row.shortest, row.longest))


def screens(config: Config) -> ScreenTable:
    """The table, with the lists and classifiers that its rows name."""
    return screen_table(one for n, row in enumerate(config.screen, start=1) for one in _screen_rows(row, n))


def _screen_rows(row: ScreenRowConfig, number: int) -> list[ScreenRow]:
    name = row.name or f"row {number}"
    said = ScreenRow(name=name, category=row.category, pattern=row.pattern, digest=row.digest)
    if row.classifier and row.digests:
        raise InputError(f"screen row {name!r} needs a list or a classifier, and not both")
    if row.classifier:
        return [replace(said, classifier=_screen_classifier(row.classifier, name))]
    if not row.digests:
        return [said]
    try:
        lines = Path(row.digests).read_text("ascii").split("\n")
    except (OSError, UnicodeError) as error:
        raise InputError(f"screen row {name!r}: cannot read {row.digests}: {error}") from None
    return [replace(said, digest=line.split()[0]) for line in lines if line.strip() and line[0] != "#"]


def _screen_classifier(name: str, row: str) -> Classifier:
    """Code of an installed package: only what its owner registered can be named."""
    found = entry_points(group="vedette.screen", name=name)
    for one in found:
        judge: Classifier = one.load()
        return judge
    raise InputError(f"screen row {row!r}: no installed package has the classifier {name!r}")


def patterns(config: Config) -> tuple[RolePattern, ...]:
    return tuple(
        RolePattern(pattern=p.pattern, role=p.role, risk=p.risk, is_hub=p.is_hub)
        for p in config.classify.patterns
    )


def _overrides(section: FetchConfig) -> dict[str, Any]:
    values = {name: value for name, value in section.model_dump().items() if value is not None}
    for name in ("headers", "cookies"):
        if name in values:
            values[name] = tuple(sorted(values[name].items()))
    return values
