"""Sections of `vedette.yaml`: lanes, fetch, health, notify, cron, serve, log, parts of a source, and some more."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import time, timedelta
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from vedette.config.values import (
    BUCKET,
    MOST_BYTES,
    MOST_LOOKS,
    ControlAddress,
    CurrencyCode,
    Duration,
    LanguageCode,
    Rate,
    RiskWord,
    Section,
    Size,
    SleepWindows,
    Tag,
    ZoneName,
    parse_basic_auth,
    parse_duration,
    parse_post,
)
from vedette.contracts.alerts import NoticeKind
from vedette.contracts.errors import ConfigError
from vedette.contracts.source import TrapBudgets
from vedette.contracts.words import Risk
from vedette.core.schedule.ewma import EwmaParams, VelocityParams


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


_ENV = "env:VARIABLE"
_LOGIN = {"type": ["object", "string", "null"], "examples": [{"user": "me", "password": _ENV}]}
_POST = {
    "type": ["object", "string", "null"],
    "examples": [{"json": {"token": _ENV}}, {"form": {"q": "rules"}}],
}


def parse_receiver(value: object) -> object:
    """Its library writes the address into lines of the log when the receiver is away: no secret belongs there."""
    if value is None or (isinstance(value, str) and re.fullmatch(r"https?://[^\s@?#]+", value)):
        return value
    raise ValueError(
        "an address such as http://127.0.0.1:4318/v1/traces is needed here, without a password or a query; a key of "
        "the receiver goes into the environment: OTEL_EXPORTER_OTLP_HEADERS='api-key=...'"
    )


TraceReceiver = Annotated[
    str | None,
    BeforeValidator(parse_receiver),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": r"^https?://[^\s@?#]+$"}, {"type": "null"}]}),
]
BasicAuth = Annotated[str | None, BeforeValidator(parse_basic_auth), WithJsonSchema(_LOGIN)]
PostBody = Annotated[str | None, BeforeValidator(parse_post), WithJsonSchema(_POST)]


class LaneConfig(Section):
    """The most that a server may see from us.  Fields that are not set come from `lanes.default`."""

    gap_min: Duration | None = None
    gap_max: Duration | None = None
    per_minute: Rate | None = None
    burst: int | None = Field(default=None, ge=1)
    at_once: int | None = Field(default=None, ge=1)
    trips_after: int | None = Field(default=None, ge=1)
    trip_share: float | None = Field(default=None, ge=0, le=1)
    closed_for: Duration | None = None
    sleep: SleepWindows | None = None


class FetchConfig(Section):
    """How to ask.  Global under `fetch`, per source under `sources[].fetch`."""

    connect_timeout: Duration | None = Field(default=None, gt=timedelta(0))
    read_timeout: Duration | None = Field(default=None, gt=timedelta(0))
    total_timeout: Duration | None = Field(default=None, gt=timedelta(0))
    wire_limit: Size | None = Field(default=None, ge=1, le=MOST_BYTES)
    body_limit: Size | None = Field(default=None, ge=1, le=MOST_BYTES)
    redirects: int | None = Field(default=None, ge=0, le=50)
    allow_networks: tuple[str, ...] | None = None
    allow_ports: tuple[int, ...] | None = None
    nameservers: tuple[str, ...] | None = None
    ca_file: str | None = None
    user_agent: str | None = Field(default=None, min_length=3, max_length=1000)
    robots_agent: str | None = None
    accept_language: str | None = None
    headers: dict[str, str] | None = None
    cookies: dict[str, str] | None = None
    basic_auth: BasicAuth = None
    post: PostBody = None
    keep_cookies: bool | None = None
    proxy: str | None = None
    respect_robots: bool | None = None
    types: tuple[str, ...] | None = None


class HealthConfig(Section):
    """When a source is in trouble, and when it is out of it."""

    sla: Duration = Field(default=timedelta(hours=24), gt=timedelta(0))  # spec 001/10.3
    errors: int = Field(default=3, ge=1, le=8)  # spec 001/10.3
    recover_after: Duration = timedelta(hours=4)  # spec 001/11.4
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
    digest: Literal["none", "hourly", "daily", "weekly"] = "none"
    digest_at: HourOfDay = time(8, 0)
    digest_on: Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] = (
        "monday"
    )
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
    tags: tuple[Tag, ...] = ()


class NotifyConfig(Section):
    channels: dict[str, ChannelConfig] = Field(default={})
    rules: tuple[RuleConfig, ...] = ()
    attempts: int = Field(default=40, ge=1, le=100)  # a day of patience
    shortest: Duration = timedelta(seconds=5)
    longest: Duration = timedelta(hours=1)


class CronConfig(Section):
    """When `vedette serve` starts runs and checks (spec 001/7.1, 001/10.2).  Empty: never."""

    timezone: str | None = None
    runs: str = ""  # spec 001: 0 6 * * *, `profile: croatia`
    health: str = "30 6 * * *"
    models: str = "30 3 * * *"  # spec 003: `list_models()` nightly
    stagger: Duration = timedelta(seconds=60)


class ServeConfig(Section):
    listen: str = "127.0.0.1:9464"
    token: str | None = None
    hosts: tuple[str, ...] = ()  # names in the Host header that are ours, beside those of loopback


class LogConfig(Section):
    format: Literal["auto", "json", "human"] = "auto"
    level: Literal["debug", "info", "warn", "error"] = "info"
    traces: TraceReceiver = None  # a receiver of OTLP over HTTP


class ExtractConfig(Section):
    scope: Literal["main", "all"] = "main"
    worker_above: Size = 256 * 1024  # larger bodies are parsed in a worker process
    render: Literal["auto", "asked"] = "auto"  # auto: pages that only scripts fill are shown in a browser
    ocr_languages: str = Field(default="eng", pattern=r"^[a-z_]{3,12}(\+[a-z_]{3,12}){0,5}$")


class EvidenceConfig(Section):
    retention: dict[str, Duration | None] = Field(default={"standard": None, "short": timedelta(days=30)})
    time_stamps: str | None = None
    time_stamps_every: Duration = timedelta(days=1)
    time_stamps_ca: str | None = None  # a path
    segment_limit: Size = 1024**3
    storage: str = Field(default="", pattern=BUCKET)  # s3://bucket/prefix; empty: the data folder
    endpoint: str = Field(default="", pattern=r"^(https?://\S+)?$")  # of an S3-compatible store
    region: str = ""
    ledger: Duration | None = None


class TorConfig(Section):
    """The control port of Tor; what goes through it is said by `fetch.proxy`."""

    control: ControlAddress = None
    password: str | None = Field(default=None, pattern="^env:.+$")


class ReportConfig(Section):
    """How people read what the command line prints."""

    timezone: ZoneName = "UTC"


# Parts of a source: what its lister reads, and how much of made-up addresses a crawl takes.

_TRAPS = TrapBudgets()


class SelectorsConfig(Section):
    item: str = "article, .news-item, .vijest, .views-row, li"
    link: str = "a"
    title: str = "h1, h2, h3, h4, .title"
    date: str = "time, .date, .datum"


class TrapsConfig(Section):
    """How much of each class of made-up addresses a crawl takes; a refusal names the budget that it met."""

    path_depth: int = Field(default=_TRAPS.path_depth, ge=0)
    session: int = Field(default=_TRAPS.session, ge=0)
    token_names: int = Field(default=_TRAPS.token_names, ge=0)
    calendar: int = Field(default=_TRAPS.calendar, ge=0)
    calendar_ahead: Duration = _TRAPS.calendar_ahead
    calendar_back: Duration = _TRAPS.calendar_back
    facets: int = Field(default=_TRAPS.facets, ge=0)
    shape: int = Field(default=_TRAPS.shape, ge=0)
    content_repeat: int = Field(default=_TRAPS.content_repeat, ge=1)


class StructuredConfig(Section):
    """What the listers `hnb`, `nn` and `eurlex` take of their site."""

    currencies: tuple[CurrencyCode, ...] = ()
    formats: tuple[Literal["html", "json-ld", "pdf"], ...] = Field(default=("html",), min_length=1)
    celex: tuple[str, ...] = ()
    languages: tuple[LanguageCode, ...] = Field(default=("HR",), min_length=1)


# The sections `schedule` and `objectives`: when to look again, and how soon a change must be seen.

_EWMA, _VELOCITY = EwmaParams(), VelocityParams()


class VelocityConfig(Section):
    """How a velocity follows what looks find (spec 001/11.4)."""

    warmup: int = Field(default=_VELOCITY.warmup, ge=0)
    alpha_change: float = Field(default=_VELOCITY.alpha_change, ge=0, le=1)
    alpha_stable: float = Field(default=_VELOCITY.alpha_stable, ge=0, le=1)
    floor: float = Field(default=_VELOCITY.floor, ge=0, le=0.5)  # a new target begins at 0.5
    ceiling: float = Field(default=_VELOCITY.ceiling, ge=0.5, le=1)


class EwmaConfig(Section):
    """The interval of `seed-ewma` (spec 000/4, spec 001/11.4)."""

    base: Duration = Field(default=timedelta(hours=_EWMA.base_hours), gt=timedelta(0))
    longest: Duration = timedelta(hours=_EWMA.max_hours)
    jitter: float = Field(default=_EWMA.jitter_share, ge=0, lt=1)
    factors: dict[RiskWord, float] = Field(default=dict(zip(Risk, _EWMA.risk_factors, strict=True)))


class ScheduleConfig(Section):
    policy: str = "learned"
    interval: Duration = Field(default=timedelta(hours=4), gt=timedelta(0))  # for `fixed`
    velocity: VelocityConfig = VelocityConfig()  # for `seed-ewma`, as `ewma`
    ewma: EwmaConfig = EwmaConfig()
    budget_per_day: float | None = Field(default=None, gt=0, le=MOST_LOOKS)  # looks; not set: no limit
    host_budget_per_day: float | None = Field(default=None, gt=0, le=MOST_LOOKS)
    audit_share: float = Field(default=0.015, ge=0, le=0.5)  # of looks, at a random moment


class ObjectiveConfig(Section):
    """How soon a change must be seen, and how often that must hold."""

    within: Duration
    share: float = Field(default=0.95, gt=0, le=1)


# The section `hunt`: where sources that hunt look first.


FamilyWord = Literal["markup", "age", "form", "words", "phrases", "place", "links"]


class HuntConfig(Section):
    """For sources with `hunt: true`.  The defaults are those of `core/hunt.py`, which costs numpy to import."""

    looks_per_day: float | None = Field(default=None, gt=0, le=MOST_LOOKS)  # first looks
    share: float = Field(default=0.15, ge=0, le=1)  # of them, for new hosts and neighbourhoods
    host_budget: float = Field(default=200.0, ge=0, le=MOST_LOOKS)  # units that one host may cost
    error_cost: float = Field(default=5.0, ge=1, le=MOST_LOOKS)  # units of an error; a page costs one
    at_host: int = Field(default=2, ge=1)  # chosen looks that wait at one host
    daring: float = Field(default=0.5, ge=0, le=100)
    persist_at: float | None = Field(default=None, ge=0, le=100)  # a score from which on a page is a finding
    llm_at: float | None = Field(default=None, ge=0, le=100)  # and from which on it is worth a model
    without: list[FamilyWord] = Field(default_factory=list)  # families of features that do not count
    vectors: Literal["numpy", "qdrant"] = "numpy"  # the index that `hunt similar` asks
    isolation_forest: bool = False  # what `hunt forest` grew counts
    revisit: Duration = Field(default=timedelta(days=30))  # of findings and seeds
    failure_cache_seconds: float = Field(
        default=7 * 86_400.0, ge=0, le=MOST_LOOKS
    )  # a 404 is asked for once in it
    analyst: str | None = None  # the provider that is asked about findings; None: the first with a key
    analyst_usd: float = Field(default=1.0, ge=0, le=10_000)  # that one `hunt analyse` may cost


# The section `panel`: what is asked of the providers, and within which limits.


class PromptConfig(Section):
    """One question.  `{domain}` in its text stands for the domain."""

    type: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")
    text: str = Field(min_length=1, max_length=20_000)
    tier: int = Field(default=1, ge=1, le=9)
    version: str = Field(default="1", max_length=40)
    system: str = Field(default="", max_length=20_000)
    most_tokens: int = Field(default=512, ge=1, le=100_000)
    canary: bool = False


BRAND = PromptConfig(type="brand", text="What is {domain} known for?  Answer in three sentences.")


class PanelConfig(Section):
    """What a batch asks, of whom, how often, and what it must keep to."""

    models: tuple[str, ...] = ()  # none: every provider that has a key
    prompts: tuple[PromptConfig, ...] = (BRAND,)
    repeats: int = Field(default=1, ge=1, le=100)
    at_once: int = Field(default=96, ge=1, le=10_000)
    chunk_size: int = Field(default=500, ge=1, le=100_000)
    target: Duration = timedelta(hours=1)
    hard: Duration = timedelta(hours=2)
    timeout: Duration = timedelta(seconds=15)
    budget_usd: float | None = Field(default=None, ge=0)
    database: str | None = None
    shadow_table: str | None = None
    redis: str | None = None
    registry: str | None = None
    listen: str = "127.0.0.1:9465"
    token: str | None = None
    hosts: tuple[str, ...] = ()  # names in the Host header that are ours, beside those of loopback

    def with_words(self, words: Mapping[str, str]) -> PanelConfig:
        """These variables on top; raises ConfigError that names the one that cannot be used."""
        values: dict[str, Any] = {}
        for name, text in words.items():
            if text.strip():
                key, read = VARIABLES[name]
                values[key] = _read(name, text.strip(), read)
        try:
            return PanelConfig.model_validate({**self.model_dump(), **values})
        except ValueError as error:
            raise ConfigError(f"environment: {str(error).splitlines()[2].strip()}") from None


def _seconds(text: str) -> timedelta:
    return parse_duration(f"{float(text)}s")


# spec 003's names, kept at the boundary: the key of the section each sets, and how its text is read.
VARIABLES: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "DATABASE_URL": ("database", str),
    "GLOBAL_CONCURRENCY": ("at_once", int),
    "CRAWL_SLA_TARGET_SECS": ("target", _seconds),
    "CRAWL_SLA_MAX_SECS": ("hard", _seconds),
    "PROVIDER_TIMEOUT_MS": ("timeout", lambda text: parse_duration(f"{float(text)}ms")),
    "COST_BUDGET_USD": ("budget_usd", float),
    "CHUNK_SIZE": ("chunk_size", int),
    "REDIS_URL": ("redis", str),
    "SHADOW_TABLE": ("shadow_table", str),
}


def _read(name: str, text: str, read: Callable[[str], Any]) -> Any:
    try:
        return read(text)
    except ValueError:
        raise ConfigError(f"{name}: {text!r} cannot be used; write a number") from None
