"""The sections of `vedette.yaml` about being told: health, notify, cron, serve, log."""

from __future__ import annotations

from datetime import time, timedelta
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from vedette.config.values import Duration, RiskWord, Section
from vedette.contracts.alerts import NoticeKind
from vedette.contracts.words import Risk


def parse_hour(value: object) -> time:
    """`"08:00"`; YAML reads a bare 08:30 as the number 510, base sixty."""
    if isinstance(value, time):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 24 * 60:
        return time(value // 60, value % 60)
    try:
        return time.fromisoformat(str(value)).replace(tzinfo=None)
    except ValueError:
        raise ValueError(f"{value!r} is not a time of day; write for example '08:00'") from None


HourOfDay = Annotated[
    time, BeforeValidator(parse_hour), WithJsonSchema({"type": "string", "examples": ["08:00"]})
]


class HealthConfig(Section):
    """When a source is in trouble, and when it is out of it."""

    sla: Duration = Field(default=timedelta(hours=24), gt=timedelta(0))  # 001 section 10.3
    errors: int = Field(default=3, ge=1, le=8)  # 001 section 10.3
    recover_after: Duration = timedelta(hours=4)  # 001 section 11.4
    every: Duration = Field(default=timedelta(minutes=1), ge=timedelta(seconds=1))


class ChannelConfig(Section):
    """One way to reach people.  Which keys it needs depends on its kind."""

    kind: Literal["stdout", "smtp", "webhook", "slack", "apprise"]
    url: str | None = None
    urls: tuple[str, ...] = ()
    secret: str | None = None
    headers: dict[str, str] = Field(default={})
    allow_networks: tuple[str, ...] = ()
    allow_ports: tuple[int, ...] = ()
    host: str | None = None
    port: int | None = Field(default=None, ge=1, le=65535)
    tls: Literal["starttls", "tls", "none"] = "starttls"
    username: str | None = None
    password: str | None = None
    sender: str | None = Field(default=None, alias="from")
    to: tuple[str, ...] = ()
    timeout: Duration = Field(default=timedelta(seconds=15), gt=timedelta(0))
    digest: Literal["none", "hourly", "daily"] = "none"
    digest_at: HourOfDay = time(8, 0)
    timezone: str | None = None
    per_day: int | None = Field(default=None, ge=0)
    bypass: RiskWord = Risk.CRITICAL
    template: str | None = None


class RuleConfig(Section):
    """Which notices a channel gets; what is not set does not filter."""

    channel: str
    risk: RiskWord | None = None
    sources: tuple[str, ...] = ()
    kinds: tuple[NoticeKind, ...] = ()


class NotifyConfig(Section):
    channels: dict[str, ChannelConfig] = Field(default={})
    rules: tuple[RuleConfig, ...] = ()
    attempts: int = Field(default=40, ge=1, le=100)  # a day of patience
    shortest: Duration = timedelta(seconds=5)
    longest: Duration = timedelta(hours=1)


class CronConfig(Section):
    """When `vedette serve` starts runs and checks (001 sections 7.1 and 10.2).  Empty: never."""

    timezone: str | None = None
    runs: str = ""  # 001: 0 6 * * *, `profile: croatia`
    health: str = "30 6 * * *"
    models: str = "30 3 * * *"  # 003: `list_models()` nightly
    stagger: Duration = timedelta(seconds=60)


class ServeConfig(Section):
    listen: str = "127.0.0.1:9464"
    token: str | None = None
    hosts: tuple[str, ...] = ()  # names in the Host header that are ours, beside those of loopback


class LogConfig(Section):
    format: Literal["auto", "json", "human"] = "auto"
    level: Literal["debug", "info", "warn", "error"] = "info"
