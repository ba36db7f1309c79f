"""The only reader of files and environment.  `config/policies.py` makes policy values of what comes out.

Sections of `vedette.yaml` are named after packages.  An unknown key is an error that names the nearest one.
Secrets come from the environment (`env:NAME`), are typed `Secret`, and print as `***`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from datetime import UTC, time, timedelta, tzinfo
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field, InstanceOf, ValidationError

from vedette.config.problems import Place, tell_problems
from vedette.config.sections import (
    VARIABLES,
    CronConfig,
    EvidenceConfig,
    ExtractConfig,
    FetchConfig,
    HealthConfig,
    HuntConfig,
    LaneConfig,
    LogConfig,
    NotifyConfig,
    ObjectiveConfig,
    PanelConfig,
    ReportConfig,
    ScheduleConfig,
    SelectorsConfig,
    ServeConfig,
    StructuredConfig,
    TorConfig,
    TrapsConfig,
)
from vedette.config.values import (
    AMAZON,
    MAIN,
    REDIS,
    STORE,
    Day,
    Duration,
    FilterLines,
    Frequency,
    Rate,
    RiskWord,
    Section,
    Size,
    Tag,
    data_folder,
    notices,
    object_place,
    parse_day,
    parse_duration,
    parse_frequency,
    parse_size,
    server_of,
    with_profile,
)
from vedette.config.values import VARIABLES as DATABASES
from vedette.contracts.errors import ConfigError
from vedette.contracts.source import ListerKind
from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.words import NodeRole, ObjectPlace, Risk, Secret
from vedette.core.limits.memory_budget import DEFAULT as DEFAULT_MEMORY
from vedette.core.limits.memory_budget import WORKER as LEAST_MEMORY

CONFIG_NAME = "vedette.yaml"
DATA_NAME = "vedette-data"
ARCHIVE_NAME = "archive"
MOST_KEYS = 9  # of one provider
ZONE = "UTC"  # spec 001/11.1 has Europe/Zagreb: `profile: croatia`
__all__ = [
    "Config",
    "Loaded",
    "Section",
    "load",
    "parse",
    "parse_day",
    "parse_duration",
    "parse_frequency",
    "parse_size",
]


class SourceConfig(Section):
    """One place to watch.  The words of spec 001/3.4 are accepted as aliases."""

    url: str
    name: str | None = None
    id: str | None = None
    lister: ListerKind = ListerKind.AUTO
    risk: RiskWord | None = None
    tier: RiskWord = Risk.MEDIUM
    active: bool = True
    every: Duration | None = Field(default=None, gt=timedelta(0))
    scrape_frequency: Frequency = Field(default=None, alias="scrapeFrequency")
    retention: str = "standard"
    url_pattern: str | None = Field(default=None, alias="urlPattern")
    include: tuple[str, ...] = Field(default=(), alias="includePatterns")
    exclude: tuple[str, ...] = Field(default=(), alias="excludePatterns")
    start_date: Day = Field(default=None, alias="startDate")
    end_date: Day = Field(default=None, alias="endDate")
    types: tuple[int, ...] = ()
    max_depth: int = Field(default=4, ge=0, le=100, alias="maxDepth")
    max_urls: int | None = Field(default=None, ge=1, alias="maxUrls")
    max_pages: int = Field(default=20, ge=1, alias="maxPages")
    max_sitemap_depth: int = Field(default=5, ge=0, le=20, alias="maxSitemapDepth")
    pagination_pattern: str | None = Field(default=None, alias="paginationPattern")
    selectors: SelectorsConfig | None = None
    requires_headless: bool = Field(default=False, alias="requiresHeadless")
    screenshot: bool = False
    follow_hosts: tuple[str, ...] = ()
    hunt: bool = False
    honour_nofollow: bool = True
    filters: FilterLines = ()
    redact: bool | None = None
    traps: TrapsConfig = TrapsConfig()
    structured: StructuredConfig = StructuredConfig()
    category: str = ""
    hierarchy: int | None = Field(default=None, ge=1, le=7)
    domains: tuple[str, ...] = ()
    provenance: Literal["", "stated", "checked", "listed", "inferred"] = ""
    tags: tuple[Tag, ...] = ()
    note: str = Field("", max_length=500)
    fetch: FetchConfig = FetchConfig()


class RolePatternConfig(Section):
    pattern: str
    role: NodeRole
    risk: RiskWord
    is_hub: bool = False


class ClassifyConfig(Section):
    packs: tuple[str, ...] = ("hr", "en")
    patterns: tuple[RolePatternConfig, ...] = ()


class DiscoverConfig(Section):
    blocked_words: tuple[str, ...] = ("heartbeat", "test", "synthetic", "debug")  # spec 001/9.3
    auto_sources: bool = False  # spec 001/6.2


class ScreenRowConfig(Section):
    """What is never kept: a pattern (RE2), the sha256 of a body or of what is in it, or what a classifier says."""

    category: str
    name: str = ""
    pattern: str = ""
    digest: str = ""
    digests: str = ""  # a file with one sha256 a line
    classifier: str = ""  # an entry point of the group vedette.screen


class RunConfig(Section):
    at_once: int = Field(default=64, ge=1)
    per_cycle: int = Field(default=500, ge=1)
    max_sightings: int | None = Field(default=None, ge=1)  # spec 001 has 5000; ADR-0017
    confirm_after: Duration = timedelta(seconds=5)  # the second look at a difference
    memory: Size = Field(default=DEFAULT_MEMORY, ge=LEAST_MEMORY)  # bodies and parses, over start


class RetryConfig(Section):
    """How a look that failed is tried again (spec 001/8.2)."""

    attempts: int = Field(default=3, ge=1, le=10)  # in all, the first included
    shortest: Duration = timedelta(seconds=1)
    longest: Duration = timedelta(seconds=30)


class StagesConfig(Section):
    """The queues after a look (spec 001/4.3)."""

    in_process: bool = True  # false: only `vedette worker` serves them
    queues: tuple[Literal["scout", "router", "ocr", "extract", "embed"], ...] = Field(
        default=("scout", "router", "ocr", "extract", "embed"), min_length=1
    )
    embed: bool = True
    similar: float = Field(default=0.9, gt=0, le=1)  # spec 001/9.2


class PriceConfig(Section):
    """US dollars per million tokens, and per request."""

    tokens_in: float = Field(default=0.0, ge=0)
    tokens_out: float = Field(default=0.0, ge=0)
    request: float = Field(default=0.0, ge=0)


class ProviderConfig(Section):
    """What differs from a row of `providers/provider_table.py`; a name that is not in it is a provider of your own."""

    active: bool = True
    format: Literal["openai", "anthropic", "gemini", "cohere", "you"] | None = None
    base_url: str | None = None
    path: str | None = Field(default=None, pattern="^/")
    model: str | None = Field(default=None, min_length=1, max_length=200)
    models_path: str | None = None
    keys: tuple[str, ...] = ()
    search: bool | None = None
    per_minute: Rate | None = None
    at_once: int | None = Field(default=None, ge=1)
    price: PriceConfig | None = None


class Config(Section):
    """All of `vedette.yaml`."""

    data: str | None = Field(default=None, pattern=r"^[^\x00]+$")
    profile: Literal["", "croatia"] = ""  # defaults of a country: config_profiles.py
    sources: tuple[SourceConfig, ...] = ()
    lanes: dict[str, LaneConfig] = Field(default={})
    fetch: FetchConfig = FetchConfig()
    classify: ClassifyConfig = ClassifyConfig()
    schedule: ScheduleConfig = ScheduleConfig()
    objectives: dict[RiskWord, ObjectiveConfig] = Field(
        default={Risk.CRITICAL: ObjectiveConfig(within=timedelta(hours=4))}  # spec 000/8
    )
    hunt: HuntConfig = HuntConfig()
    discover: DiscoverConfig = DiscoverConfig()
    extract: ExtractConfig = ExtractConfig()
    evidence: EvidenceConfig = EvidenceConfig()
    screen: tuple[ScreenRowConfig, ...] = ()
    run: RunConfig = RunConfig()
    retry: RetryConfig = RetryConfig()
    stages: StagesConfig = StagesConfig()
    report: ReportConfig = ReportConfig()
    health: HealthConfig = HealthConfig()
    notify: NotifyConfig = NotifyConfig()
    cron: CronConfig = CronConfig()
    serve: ServeConfig = ServeConfig()
    log: LogConfig = LogConfig()
    tor: TorConfig = TorConfig()
    panel: PanelConfig = PanelConfig()
    providers: dict[str, ProviderConfig] = Field(default={})


class Loaded(BaseModel):
    """A configuration and where it came from."""

    config: Config
    path: Path | None
    data: Path
    digest: str
    server: PostgresAddress | None = None  # None: the store is a file of the data folder
    redis: str | None = None  # whose BullMQ carries the jobs of a store on PostgreSQL; None: the store does
    objects: InstanceOf[ObjectPlace] | None = None  # None: the archive is a folder of the data folder

    @property
    def store(self) -> Path | PostgresAddress:
        """Where watches and evidence rows are."""
        return self.server or self.data / STORE

    @property
    def archive(self) -> Path | ObjectPlace:
        """Where the files of evidence are."""
        return self.objects or self.data / ARCHIVE_NAME


def load(path: Path | None = None, data: Path | None = None) -> Loaded:
    """Read the named file, else `$VEDETTE_CONFIG`, else ./vedette.yaml, else defaults.

    The data folder is the given one, else `$VEDETTE_DATA`, else that of `$DATABASE_URL`, else the file's.
    """
    usual = Path(CONFIG_NAME) if Path(CONFIG_NAME).exists() else None
    chosen = path or _env_path("VEDETTE_CONFIG") or usual
    config = read(chosen) if chosen else Config()
    root = chosen.parent if chosen else Path()
    named = _env_path("VEDETTE_DATA") or data_folder(_databases())
    place = data or named or (root / config.data if config.data else root / DATA_NAME)
    text = json.dumps(config.model_dump(mode="json", exclude={"sources"}), sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    server = server_of(_databases(), place)
    kept = config.evidence
    objects = object_place(kept.storage, kept.endpoint, kept.region, _environment(AMAZON))
    return Loaded(
        config=config,
        path=chosen,
        data=place,
        digest=digest,
        server=server,
        redis=(_databases()[REDIS] or config.panel.redis or None) if server else None,
        objects=objects,
    )


def data_origin(given: Path | None, loaded: Loaded) -> str:
    """Who named the data folder."""
    said = {
        "--data": given,
        "environment": _env_path("VEDETTE_DATA") or data_folder(_databases()),
        f"{loaded.path}": loaded.config.data,
    }
    return next((name for name, value in said.items() if value), "default")


def read(path: Path) -> Config:
    """Parse and check one file."""
    from vedette.config.yaml_text import (  # costs a tenth of a read, and often there is no file
        NotYaml,
        first_tab,
        line_of,
        read_yaml,
    )

    try:
        text = path.read_text(encoding="utf-8-sig")
        raw = read_yaml(text)
    except FileNotFoundError:
        raise ConfigError(f"there is no {path}; run `vedette init` to make one") from None
    except IsADirectoryError:
        raise ConfigError(f"{path} is a folder; name the file in it") from None
    except NotYaml as error:
        tab = first_tab(text)
        if tab is not None:
            raise ConfigError(f"{path}, line {tab}: a tab; indent with spaces") from None
        raise ConfigError(f"{path} is not valid YAML: {error}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"cannot read {path}: it is not text in UTF-8") from None
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    return parse(raw, str(path), lambda place: line_of(text, place))


def parse(
    raw: object, name: str = CONFIG_NAME, line: Callable[[Place], int | None] = lambda place: None
) -> Config:
    """Check what a file holds.  `line` says where in it a place is."""
    if raw is None:
        return Config()
    if not isinstance(raw, dict):
        raise ConfigError(
            f"{name}: expected sections such as `sources:` and `fetch:`, found {type(raw).__name__}"
        )
    try:
        return Config.model_validate(with_profile(raw))
    except ValidationError as error:
        raise ConfigError(tell_problems(error, Config, name, line)) from None


def secret(value: str, asked_by: str = "a header of `fetch`") -> str:
    """`env:NAME` gives the environment variable, loudly when it is not there.  Anything else is itself."""
    if not value.startswith("env:"):
        return value
    name = value[4:]
    found = os.environ.get(name)
    if found is None:
        raise ConfigError(f"the environment variable {name} is not set; {asked_by} asks for it")
    return Secret(found)


def is_set_in_environment(value: str) -> bool:
    """True where the environment has the variable that `env:NAME` names."""
    return os.environ.get(value.removeprefix("env:")) is not None


def lend(name: str, text: str) -> None:
    """A secret for this process alone, as for a demonstration: `env:NAME` then gives it."""
    os.environ.setdefault(name, text)


def keys_of(variable: str) -> tuple[Secret, ...]:
    """The key in that environment variable, and those in NAME_2 to NAME_9.  None where it is not set."""
    names = (variable, *(f"{variable}_{n}" for n in range(2, MOST_KEYS + 1)))
    found = (os.environ.get(name, "").strip() for name in names)
    return tuple(dict.fromkeys(Secret(key) for key in found if key))


def limits_of(variable: str) -> tuple[float | None, int | None]:
    """By the variable of a provider's key, OPENAI_API_KEY: what OPENAI_RPM and OPENAI_CONCURRENCY say (spec 003)."""
    house = variable.removesuffix("_API_KEY")
    found: list[float | None] = []
    for name in (f"{house}_RPM", f"{house}_CONCURRENCY"):
        text = os.environ.get(name, "").strip()
        try:
            number = float(text) if text else None
        except ValueError:
            number = -1.0
        if number is not None and not 1 <= number <= 1e6:
            raise ConfigError(f"{name}: {text!r} cannot be used; write a number from 1 on")
        found.append(number)
    return found[0], None if found[1] is None else int(found[1])


def schema() -> dict[str, Any]:
    """JSON Schema of `vedette.yaml`: both spellings of every key, and defaults as people write them."""
    made = Config.model_json_schema()
    for model in Section.__subclasses__():
        keys = made["properties"] if model is Config else made["$defs"][model.__name__]["properties"]
        for name, field in model.model_fields.items():
            rule = keys[field.alias or name]
            if "default" in rule:
                rule["default"] = written(field.default)
            keys[name] = rule
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


def zone_name() -> str:
    """The zone of cron entries and digests that name none of their own (spec 001/11.1)."""
    return os.environ.get("WATCHDOG_TIMEZONE") or ZONE


def zone_of(config: Config) -> tzinfo | None:
    """In which people read times; None: the zone of this machine."""
    name = config.report.timezone
    return {"UTC": UTC, "local": None}[name] if name in ("UTC", "local") else ZoneInfo(name)


def is_production() -> bool:
    """`VEDETTE_ENV`, else `NODE_ENV` (spec 001/11.1)."""
    return (os.environ.get("VEDETTE_ENV") or os.environ.get("NODE_ENV") or "") == "production"


def is_debug() -> bool:
    """`DEBUG` (spec 001/11.1): anything but nothing, 0 and false."""
    return os.environ.get("DEBUG", "").lower() not in ("", "0", "false")


def from_environment(section: PanelConfig) -> PanelConfig:
    """Spec 003's environment variables, which win over the file.  One that is set and empty is not set.

    A `DATABASE_URL` that names the store is where a panel without one writes anyway.
    """
    words = {name: os.environ.get(name, "") for name in VARIABLES}
    return section.with_words(words if data_folder(words) is None else {**words, MAIN: ""})


def panel_settings(config: Config, *, reads_environment: bool = True) -> PanelConfig:
    """The panel as it is to run."""
    found = from_environment(config.panel) if reads_environment else config.panel
    if found.hard < found.target:
        raise ConfigError("`panel.hard` is earlier than `panel.target`; the hard stop comes last")
    return found


def database_notices(data: Path) -> list[str]:
    """What those who run must know of `DATABASE_URL`, `REGULATORY_DATABASE_URL` and `REDIS_URL`."""
    return notices(_databases(), data)


def forces_terminal() -> bool:
    """True where a variable that rich honours says that a pipe is a terminal."""
    return "FORCE_COLOR" in os.environ or "TTY_COMPATIBLE" in os.environ


def is_ci() -> bool:
    return bool(os.environ.get("CI"))


def written(value: object) -> object:
    """A value as people write it in the file."""
    if isinstance(value, BaseModel):
        return written(value.model_dump(exclude_unset=True))
    if isinstance(value, dict):
        return {written(name): written(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return [written(one) for one in value]
    if isinstance(value, timedelta):
        return f"{value / timedelta(seconds=1):.15g}s"
    if isinstance(value, time):
        return f"{value:%H:%M}"
    return value.name if isinstance(value, Risk) else value


def _databases() -> dict[str, str]:
    return _environment(DATABASES)


def _environment(names: Iterable[str]) -> dict[str, str]:
    return {name: os.environ.get(name, "").strip() for name in names}


def _env_path(name: str) -> Path | None:
    value = os.environ.get(name)
    return Path(value) if value else None
