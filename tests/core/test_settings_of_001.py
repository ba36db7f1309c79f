"""Every setting of 001 section 11 is on its page, can be set, and has the document's default there and in force."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from vedette.config.alert_policies import cron_entries, watchdog_params
from vedette.config.model import Config, database_notices, from_environment, load, parse, zone_name
from vedette.config.pace_policies import lane_policies, schedule_policy
from vedette.config.policies import (
    due_rule,
    fetch_settings,
    retry_rule,
    sources_of,
)
from vedette.config.sections import PanelConfig
from vedette.contracts.errors import ConfigError
from vedette.contracts.lane import LanePolicy
from vedette.contracts.source import Source
from vedette.contracts.words import LaneKey, Risk
from vedette.core.schedule.ewma import EwmaRule, VelocityParams
from vedette.core.urls.admission import AdmissionRules, rules_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "settings-of-001.md"
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
VARIABLES = ("DATABASE_URL", "REGULATORY_DATABASE_URL", "REDIS_URL")
NOT_THE_DOCUMENTS = {"maxItemsPerRun": None}  # ADR-0017


def source(config: Config) -> Source:
    return next(iter(sources_of(config)))


def admission(config: Config) -> AdmissionRules:
    one = source(config)
    return rules_of(one.lister, one.options, blocked_words=config.discover.blocked_words)


def lane(config: Config, key: str = "host:a.hr") -> LanePolicy:
    return lane_policies(config).of(LaneKey(key))


def velocity(config: Config) -> VelocityParams:
    return due_rule(config, "seed-ewma").velocity


def ewma(config: Config) -> Any:
    rule = due_rule(config, "seed-ewma").rule
    assert isinstance(rule, EwmaRule)
    return rule.params


class Setting(NamedTuple):
    """The document's default, another value as people write it, and what the program then goes by."""

    default: Any
    written: Any
    other: Any
    read: Callable[[Config], Any]


GAP = Setting(2 * SECOND, "3s", 3 * SECOND, lambda c: lane(c).gap_min)
BROWSER = "engine:browser"
SETTINGS = {
    "maxItemsPerRun": Setting(5000, 7, 7, lambda c: c.run.max_sightings),
    "maxPagesPerEndpoint": Setting(20, 7, 7, lambda c: source(c).options.max_pages),
    "maxSitemapDepth": Setting(5, 2, 2, lambda c: source(c).options.max_sitemap_depth),
    "crawlMaxDepth": Setting(4, 2, 2, lambda c: admission(c).max_depth),
    "crawlMaxUrls": Setting(2000, 9, 9, lambda c: admission(c).max_urls),
    "crawlDelayMs": GAP,
    "delayMinMs": GAP,
    "delayMaxMs": Setting(5 * SECOND, "9s", 9 * SECOND, lambda c: lane(c).gap_max),
    "sitemapDelayMs": GAP,
    "requestTimeoutMs": Setting(30 * SECOND, "60s", 60 * SECOND, lambda c: fetch_settings(c).total_timeout),
    "maxRetries": Setting(3, 5, 5, lambda c: retry_rule(c).attempts),
    "baseRetryDelayMs": Setting(SECOND, "2s", 2 * SECOND, lambda c: retry_rule(c).shortest),
    "maxRetryDelayMs": Setting(30 * SECOND, "60s", 60 * SECOND, lambda c: retry_rule(c).longest),
    "EVERY_RUN": Setting(0 * HOUR, "EVERY_RUN", 0 * HOUR, lambda c: source(c).scrape_frequency),
    "DAILY": Setting(24 * HOUR, "DAILY", 24 * HOUR, lambda c: source(c).scrape_frequency),
    "TWICE_WEEKLY": Setting(84 * HOUR, "TWICE_WEEKLY", 84 * HOUR, lambda c: source(c).scrape_frequency),
    "WEEKLY": Setting(168 * HOUR, "weekly", 168 * HOUR, lambda c: source(c).scrape_frequency),
    "MONTHLY": Setting(720 * HOUR, "MONTHLY", 720 * HOUR, lambda c: source(c).scrape_frequency),
    "warmupScans": Setting(3, 5, 5, lambda c: velocity(c).warmup),
    "alphaChange": Setting(0.3, 0.5, 0.5, lambda c: velocity(c).alpha_change),
    "alphaStable": Setting(0.1, 0.2, 0.2, lambda c: velocity(c).alpha_stable),
    "minFrequency": Setting(0.01, 0.05, 0.05, lambda c: velocity(c).floor),
    "maxFrequency": Setting(0.99, 0.9, 0.9, lambda c: velocity(c).ceiling),
    "baseIntervalHours": Setting(4 * HOUR, "2h", 2 * HOUR, lambda c: ewma(c).base_hours * HOUR),
    "maxIntervalHours": Setting(720 * HOUR, "48h", 48 * HOUR, lambda c: ewma(c).max_hours * HOUR),
    "jitterPercent": Setting(0.1, 0.2, 0.2, lambda c: ewma(c).jitter_share),
    **{
        f"RISK_FACTORS.{risk.name}": Setting(
            factor, 8, 8.0, lambda c, risk=risk: ewma(c).risk_factors[risk]
        )
        for risk, factor in zip(reversed(Risk), (4.0, 2.0, 1.0, 0.5), strict=True)
    },
    "maxRequestsPerMinute (9.1)": Setting(20, 6, 6, lambda c: lane(c).per_minute),
    "maxConcurrentRequests (9.1)": Setting(1, 2, 2, lambda c: lane(c).at_once),
    "requestDelayMs of the browser (9.1)": Setting(
        12 * SECOND, "20s", 20 * SECOND, lambda c: lane(c, BROWSER).gap_min
    ),
    "maxConcurrentRequests of the browser (9.1)": Setting(1, 2, 2, lambda c: lane(c, BROWSER).at_once),
    "CIRCUIT_BREAKER_THRESHOLD (8.4)": Setting(5, 3, 3, lambda c: lane(c).trips_after),
    "CIRCUIT_BREAKER_RESET_MS (8.4)": Setting(HOUR, "2h", 2 * HOUR, lambda c: lane(c).closed_for),
    "BLOCKED_DOMAINS (9.3)": Setting(
        ("heartbeat", "test", "synthetic", "debug"), ["probe"], ("probe",), lambda c: admission(c).blocked_words
    ),
    "respectRobots (9.6)": Setting(True, False, False, lambda c: fetch_settings(c).respect_robots),
    "SLA of 24 h (10.3)": Setting(24 * HOUR, "6h", 6 * HOUR, lambda c: watchdog_params(c).health.sla),
    "consecutive errors (10.3)": Setting(3, 4, 4, lambda c: watchdog_params(c).health.errors),
    "cron of the runs (7.1)": Setting("", "5 7 * * *", "5 7 * * *", lambda c: c.cron.runs),
    "cron of the health check (10.2)": Setting("30 6 * * *", "5 7 * * *", "5 7 * * *", lambda c: c.cron.health),
}  # fmt: skip


def rows() -> dict[str, list[str]]:
    """By the setting's name: key, default and note of every row of the page."""
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("|")]
    cells = [[cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in lines]
    return {
        row[0]: row[1:] for row in cells if len(row) == 4 and row[2] not in ("default", "interval", "---")
    }


def config_with(key: str, value: object) -> Config:
    """A configuration in which this key has this value."""
    base: dict[str, Any] = {"sources": [{"url": "https://a.hr/", "lister": "crawl"}]}
    place: Any = base
    *path, last = key.split(".")
    for part in path:
        place = place["sources"][0] if part == "sources[]" else place.setdefault(part, {})
    place[last] = value
    return parse(base)


def test_the_page_lists_every_setting_and_no_other():
    assert set(rows()) == set(SETTINGS) | set(VARIABLES) | {"NODE_ENV", "DEBUG", "WATCHDOG_TIMEZONE"}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_has_the_documents_default_and_can_be_set(name: str):
    setting, (key, default, note) = SETTINGS[name], rows()[name]
    plain = config_with("sources[].name", "a")
    if name in NOT_THE_DOCUMENTS:
        assert (setting.read(plain), default) == (NOT_THE_DOCUMENTS[name], "not set")
        assert "ADR" in note
    elif not key.endswith("scrape_frequency"):
        assert setting.read(plain) == setting.default
    if default != "not set":
        assert shown(default, setting.default) == setting.default
    assert setting.read(config_with(key, setting.written)) == setting.other


def shown(text: str, like: object) -> object:
    """The default of the page as a value."""
    if isinstance(like, timedelta):
        return (
            timedelta(hours=float(text[:-1])) if text.endswith("h") else timedelta(seconds=float(text[:-1]))
        )
    if isinstance(like, bool):
        return text == "true"
    if isinstance(like, int | float):
        return float(text)
    return tuple(text.split(", ")) if isinstance(like, tuple) else text


def test_what_is_configured_of_the_rule_is_what_decides():
    """A factor of its own moves the interval that `seed-ewma` gives, in the engine and in a simulation."""
    plain, other = parse({}), config_with("schedule.ewma.factors.CRITICAL", 0.25)
    hours = [due_rule(one, "seed-ewma").rule.interval(0.5, Risk.CRITICAL).hours for one in (plain, other)]
    assert hours == [4.0, 32.0]
    assert ewma(other).risk_factors[Risk.HIGH] == 2.0  # what is not said stays
    policy = schedule_policy(other, "seed-ewma", goals={}, budget=None)
    policy.add([1], risk=["CRITICAL"], host=[0], now=0.0)
    policy.observe([1], 1.0, [False])
    assert policy.next_due(1) > 20


def test_a_rule_that_cannot_be_is_told_by_its_name():
    with pytest.raises(ConfigError, match=r"velocity\.floor"):
        parse({"schedule": {"velocity": {"floor": 0.9}}})


# environment variables


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    for name in (*VARIABLES, "VEDETTE_DATA", "VEDETTE_CONFIG", "WATCHDOG_TIMEZONE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return monkeypatch


@pytest.mark.parametrize("name", VARIABLES[:2])
def test_a_sqlite_url_names_the_store(environment: pytest.MonkeyPatch, name: str, tmp_path: Path):
    environment.setenv(name, f"sqlite:///{tmp_path}/propisi/vedette.db")
    assert load().data == tmp_path / "propisi"
    assert database_notices(tmp_path / "propisi") == []
    assert from_environment(PanelConfig()).database is None  # a panel writes there anyway
    environment.setenv("VEDETTE_DATA", "elsewhere")
    assert load().data == Path("elsewhere")
    assert load(data=Path("given")).data == Path("given")


def test_a_relative_url_and_the_same_store_twice_are_fine(environment: pytest.MonkeyPatch):
    for name in VARIABLES[:2]:
        environment.setenv(name, "sqlite:///propisi/vedette.db")
    assert load().data == Path("propisi")


def test_two_stores_are_refused(environment: pytest.MonkeyPatch):
    for name in VARIABLES[:2]:
        environment.setenv(name, f"sqlite:///{name}/vedette.db")
    with pytest.raises(ConfigError, match="kept in one"):
        load()


@pytest.mark.parametrize(
    ("name", "url", "words"),
    [
        (
            "DATABASE_URL",
            "postgresql://fiskai:tajna@db/main",
            "PostgreSQL: only `vedette panel` writes there",
        ),
        ("DATABASE_URL", "sqlite:///odgovori.db", "not a vedette.db: only `vedette panel` writes there"),
        ("REGULATORY_DATABASE_URL", "postgres://fiskai:tajna@db/reg", "PostgreSQL: it is not used"),
        ("REDIS_URL", "redis://:tajna@fiskai-redis:6379", "the queues are in the store"),
    ],
)
def test_what_names_no_store_of_ours_is_told_and_moves_nothing(
    environment: pytest.MonkeyPatch, name: str, url: str, words: str
):
    environment.setenv(name, url)
    folder = Path("vedette-data")
    folder.mkdir()
    (folder / "vedette.db").touch()  # a folder that has a store keeps it
    (notice,) = database_notices(folder)
    assert notice.startswith(name)
    assert words in notice
    assert "tajna" not in notice
    assert load().store == folder / "vedette.db"


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_a_url_of_postgresql_chooses_the_store_where_the_folder_has_none(
    environment: pytest.MonkeyPatch, scheme: str
):
    environment.setenv("DATABASE_URL", f"{scheme}://fiskai:tajna@db:5432/main?sslmode=require")
    loaded = load()
    assert loaded.data == Path("vedette-data")
    assert str(loaded.store) == "postgresql://fiskai@db:5432/main"
    assert "tajna" not in repr(loaded)
    assert database_notices(loaded.data) == []
    loaded.data.mkdir()
    (loaded.data / "vedette.db").touch()
    assert load().store == loaded.data / "vedette.db"
    assert "vedette db copy --to" in database_notices(loaded.data)[0]


def test_a_panel_goes_on_where_database_url_says(environment: pytest.MonkeyPatch):
    environment.setenv("DATABASE_URL", "postgresql://db/main")
    environment.setenv("REDIS_URL", "redis://fiskai-redis:6379")
    panel = from_environment(PanelConfig())
    assert (panel.database, panel.redis) == ("postgresql://db/main", "redis://fiskai-redis:6379")


def test_the_zone_of_cron_is_the_documents_unless_the_environment_says_otherwise(
    environment: pytest.MonkeyPatch,
):
    assert (zone_name(), {str(one.zone) for one in cron_entries(parse({}))}) == ("UTC", {"UTC"})
    assert {str(one.zone) for one in cron_entries(parse({"profile": "croatia"}))} == {"Europe/Zagreb"}
    environment.setenv("WATCHDOG_TIMEZONE", "America/New_York")
    assert {str(one.zone) for one in cron_entries(parse({}))} == {"America/New_York"}
