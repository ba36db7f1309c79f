"""The sections health, notify and cron as the policy values that watchdog, sender and cron take."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from vedette.config.model import Config, secret, zone_name
from vedette.config.sections import ChannelConfig
from vedette.contracts.alerts import ChannelName, ChannelPolicy, Message, Notice, Rule
from vedette.contracts.errors import ConfigError
from vedette.contracts.ports import Clock
from vedette.core.health.alarm import AlarmParams, route
from vedette.core.health.source_health import HealthParams
from vedette.core.lanes.outcomes import RetryParams
from vedette.core.text.nearest import unknown
from vedette.engine.service.cron import CronEntry, entry
from vedette.engine.service.watchdog import WatchdogParams

RUNS, HEALTH, MODELS = "runs", "health", "models"  # cron entries
STDOUT = ChannelName("stdout")  # the channel of those who configured none
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
# What each kind cannot do without.
NEEDS: dict[str, tuple[str, ...]] = {
    "stdout": (),
    "smtp": ("host", "sender", "to"),
    "webhook": ("url", "secret"),
    "slack": ("url",),
    "apprise": ("urls",),
}


def watchdog_params(config: Config) -> WatchdogParams:
    row = config.health
    return WatchdogParams(
        health=HealthParams(sla=row.sla, errors=row.errors),
        alarm=AlarmParams(recover_after=row.recover_after),
    )


def channel_policies(config: Config) -> tuple[ChannelPolicy, ...]:
    """The configured channels; `stdout` where there are none."""
    rows = channel_rows(config)
    return tuple(
        ChannelPolicy(
            name=name,
            digest=row.digest,
            digest_at=row.digest_at,
            digest_on=DAYS.index(row.digest_on),
            zone=zone(row.timezone or config.cron.timezone, f"notify.channels.{name}.timezone"),
            per_day=row.per_day,
            bypass=row.bypass,
        )
        for name, row in rows.items()
    )


def check_notify(config: Config) -> None:
    """Raises ConfigError for what could never be sent, before anything runs."""
    rules(config)
    channel_policies(config)
    for name, row in config.notify.channels.items():
        check_channel(name, row)


def channel_rows(config: Config) -> dict[ChannelName, ChannelConfig]:
    rows = {ChannelName(name): row for name, row in config.notify.channels.items()}
    return rows or {STDOUT: ChannelConfig(kind="stdout")}


def rules(config: Config) -> tuple[Rule, ...]:
    """Every rule names a channel that there is."""
    return tuple(_rules(config, tuple(channel_rows(config))))


def router(config: Config, clock: Clock) -> Callable[[Notice], Iterable[Message]]:
    """To whom a notice goes."""
    channels, given = channel_policies(config), rules(config)
    return lambda notice: route(notice, channels, given, now=clock.now())


def send_retry(config: Config) -> RetryParams:
    """The one retry rule, with more patience: an alert that comes an hour late is better than none."""
    row = config.notify
    return RetryParams(attempts=row.attempts, shortest=row.shortest, longest=max(row.shortest, row.longest))


def zone(name: str | None, where: str) -> ZoneInfo:
    try:
        return ZoneInfo(name or zone_name())
    except (ZoneInfoNotFoundError, ValueError, OSError):
        given = name or zone_name()
        raise ConfigError(
            f"`{where}`: there is no time zone {given!r}; write for example Europe/Zagreb"
        ) from None


def cron_entries(config: Config) -> tuple[CronEntry, ...]:
    """The entries that are not empty, in their zone."""
    row = config.cron
    where = zone(row.timezone, "cron.timezone")
    made = (
        entry(RUNS, row.runs, where, where="cron.runs"),
        entry(HEALTH, row.health, where, where="cron.health"),
        entry(MODELS, row.models, where, where="cron.models"),
    )
    return tuple(one for one in made if one is not None)


def secrets_of(config: Config) -> frozenset[str]:
    """Everything that must not be seen in a log: what came from the environment, and what never should be plain."""
    found = {
        secret(text, "a secret") for text in _texts(config.model_dump(mode="python")) if text[:4] == "env:"
    }
    for row in config.notify.channels.values():
        found |= {text for text in (row.secret, row.password, *row.urls) if text}
        if row.url and row.kind == "slack":
            found.add(row.url)
    return frozenset(found | ({config.serve.token} if config.serve.token else set()))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)


def _rules(config: Config, names: tuple[str, ...]) -> Iterator[Rule]:
    for number, row in enumerate(config.notify.rules):
        if row.channel not in names:
            raise ConfigError(f"`notify.rules.{number}.channel`: {unknown('channel', row.channel, names)}")
        yield Rule(
            channel=ChannelName(row.channel),
            risk=row.risk,
            sources=row.sources,
            kinds=row.kinds,
            tags=row.tags,
        )


def check_channel(name: str, row: ChannelConfig) -> None:
    if not _NAME.fullmatch(name):  # it is part of ids, and ids stand in headers
        words = "a channel's name is a-z, 0-9, _ and -, at most 40, a letter first"
        raise ConfigError(f"`notify.channels`: {name!r}: {words}")
    missing = [need for need in NEEDS[row.kind] if not getattr(row, need)]
    if missing:
        keys = ", ".join("from" if need == "sender" else need for need in missing)
        raise ConfigError(f"`notify.channels.{name}`: a channel of kind {row.kind} needs {keys}")
