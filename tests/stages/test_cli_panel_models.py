"""`vedette panel models`: what the providers have, what became of what the panel asks, and no key anywhere."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from cli_call import Cli, Told
from provider_kit import KEY

from vedette.app.configured_providers import note_calls, panellists
from vedette.app.model_refresh import callers
from vedette.config.model import from_environment, keys_of, load
from vedette.config.values import panel_log_level
from vedette.contracts.errors import ConfigError
from vedette.core.panel.models import ModelRow, resolve_alias
from vedette.fetch.http import HttpFetcher
from vedette.livingweb.providers import FaultRule, LivingProviders
from vedette.providers.provider_table import PROVIDERS
from vedette.store.operator import operating
from vedette.store.panel.lane_ledger import count_calls, read_models, save_models
from vedette.telemetry.clock import SystemClock

VARIABLES = sorted({row.key_env for row in PROVIDERS})


@pytest.fixture
def town() -> Iterator[LivingProviders]:
    """In a thread of its own: the verb has a loop of its own."""
    made = LivingProviders(latency=0.0)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(made.__aenter__(), loop).result(5)
    yield made
    asyncio.run_coroutine_threadsafe(made.__aexit__(None, None, None), loop).result(5)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(5)
    loop.close()


@pytest.fixture
def place(tmp_path: Path, town: LivingProviders, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration with all twelve on loopback, and a key for each."""
    for name in VARIABLES:
        monkeypatch.setenv(name, KEY)
    homes = {row.name: {"base_url": town.origin(row.name) + urlsplit(row.base_url).path} for row in PROVIDERS}
    write(tmp_path, fetch={"allow_networks": ["127.0.0.0/8"], "allow_ports": [town.port]}, providers=homes)
    return tmp_path


def write(folder: Path, **sections: Any) -> Path:
    path = folder / "vedette.yaml"
    path.write_text(yaml.safe_dump(sections))
    return path


def models(place: Path, *words: str) -> Told:
    return Cli(place / "data", clock=SystemClock())(
        "panel", "models", "--config", str(place / "vedette.yaml"), *words
    )


def test_a_refresh_finds_the_models_and_keeps_them(place: Path):
    told = models(place, "--refresh")
    assert (told.code, told.err.count("error")) == (0, 0)
    assert "anthropic/claude-3-haiku-20240307" in told.out
    assert "perplexity: the provider does not tell its models" in told.out
    rows = models(place, "--json").json["models"]
    haiku = next(row for row in rows if row["name"] == "anthropic/claude-3-haiku-20240307")
    assert haiku["aliases"] == ["anthropic/claude-3-haiku"]
    assert haiku["is_asked"]
    assert haiku["last_seen_at"]
    assert haiku["reliability"] == 0.9
    assert len(models(place, "--json", "--all").json["models"]) > len(rows) == 12


@pytest.mark.parametrize("word", ["claude-3-haiku", "anthropic/claude-3-haiku", "claude-3-haiku-20240307"])
def test_a_model_is_found_by_any_of_its_names(tmp_path: Path, word: str):
    write(tmp_path)
    rows = models(tmp_path, word, "--json").json["models"]
    assert [row["name"] for row in rows] == ["anthropic/claude-3-haiku-20240307"]
    told = models(tmp_path, "claude-3-hiaku")
    assert told.code == 2
    assert "did you mean" in told.err


def test_a_model_that_was_renamed_is_reported_after_a_refresh(place: Path, town: LivingProviders):
    models(place, "--refresh")
    town.hosts["anthropic/claude-3-haiku"].models[:] = ["claude-3-haiku-20261101", "claude-sonnet-4-20250514"]
    town.hosts["google/gemini-1.5-flash"].models[:] = ["gemini-2.5-flash", "gemini-2.5-pro"]
    told = models(place, "--refresh")
    assert told.code == 6
    assert "anthropic/claude-3-haiku-20240307 is now called anthropic/claude-3-haiku-20261101" in told.out
    assert "google/gemini-1.5-flash is no longer listed; nearest: google/gemini-2.5-flash" in told.out
    assert models(place).code == 6  # it stays so until the configuration names another
    findings = {
        row["provider"]: row["findings"] for row in models(place, "--refresh", "--json").json["refreshed"]
    }
    assert findings["google"] == []


def test_a_provider_that_fails_says_why_and_removes_nothing(place: Path, town: LivingProviders):
    models(place, "--refresh")
    before = models(place, "--json", "--all").json["models"]
    town.hosts["mistral"].strike(FaultRule(kind="server_error"))
    told = models(place, "--refresh", "--json").json["refreshed"]
    assert next(row for row in told if row["provider"] == "mistral")["outcome"] == "server_error"
    after = models(place, "--json", "--all").json["models"]
    assert [row["name"] for row in after] == [row["name"] for row in before]


def test_without_keys_nobody_is_asked_and_the_variable_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    write(tmp_path)
    told = models(tmp_path, "--refresh")
    assert told.code == 0
    assert "openai: no key: set OPENAI_API_KEY" in told.out


def test_a_planted_key_is_in_nothing_that_was_written(place: Path, town: LivingProviders):
    for host in town.hosts.values():
        host.models.append(f"model-{KEY}")
    outputs = [models(place, *words) for words in (("--refresh",), ("--refresh", "--json"), ("--all",))]
    assert all(told.code == 0 for told in outputs)
    assert not [told for told in outputs if KEY in told.out + told.err]
    files = [path for path in (place / "data").rglob("*") if path.is_file()]
    assert len(files) > 0
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []


def test_several_keys_are_several_callers_each_with_a_lane(place: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY_2", "sk-second")
    monkeypatch.setenv("OPENAI_API_KEY_4", KEY)  # the same again is no further key
    config = load(place / "vedette.yaml").config
    lanes = [one.lane for one in callers(config, HttpFetcher(SystemClock()))]
    assert [lane for lane in lanes if "openai" in lane] == ["provider:openai/k1", "provider:openai/k2"]
    assert len(lanes) == 13
    assert keys_of("OPENAI_API_KEY") == (KEY, "sk-second")
    assert KEY not in repr(keys_of("OPENAI_API_KEY"))


def test_the_configuration_changes_a_row_and_adds_one_of_your_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("LOCAL_KEY", " local-key-1234567890 \n")
    own = {
        "format": "openai",
        "base_url": "https://llm.example.org/v1/",
        "model": "llama",
        "keys": ["env:LOCAL_KEY"],
    }
    providers = {
        "groq": {"active": False},
        "mistral": {
            "per_minute": 30,
            "model": "mistral-large-latest",
            "price": {"tokens_in": 2, "tokens_out": 6},
        },
        "local/llama": own,
    }
    rows = {one.row.name: one for one in panellists(load(write(tmp_path, providers=providers)).config)}
    assert "groq" not in rows
    mistral = rows["mistral"].row
    assert (mistral.per_minute, mistral.model, mistral.price) == (30, "mistral-large-latest", (2, 6, 0))
    assert mistral.base_url == "https://api.mistral.ai/v1"
    mine = rows["local/llama"]
    assert (mine.row.base_url, mine.row.path, mine.row.lane) == (
        "https://llm.example.org/v1", "/chat/completions", "local-llama",
    )  # fmt: skip
    assert mine.keys == ("local-key-1234567890",)


def test_every_variable_of_003_is_honoured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """GLOBAL_CONCURRENCY and the rest as 003 names them; limits of a provider by the name of its key."""
    given = {
        "DATABASE_URL": "postgresql://u@h/x",
        "REDIS_URL": "redis://h/0",
        "GLOBAL_CONCURRENCY": "64",
        "CRAWL_SLA_TARGET_SECS": "3600.5",
        "CRAWL_SLA_MAX_SECS": "7200",
        "PROVIDER_TIMEOUT_MS": "15000",
        "COST_BUDGET_USD": "12.5",
        "CHUNK_SIZE": "100",
        "SHADOW_TABLE": "domain_responses_shadow",
        "OPENAI_RPM": "77",
        "OPENAI_CONCURRENCY": "5",
        "PERPLEXITY_RPM": "33",
        "RUST_LOG": "hyper=trace,warn",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    loaded = load(write(tmp_path, providers={"openai/gpt-4o-mini": {"per_minute": 10}}, panel={"at_once": 7}))
    panel = from_environment(loaded.config.panel)
    assert (panel.database, panel.redis, panel.shadow_table) == (
        "postgresql://u@h/x", "redis://h/0", "domain_responses_shadow",
    )  # fmt: skip
    assert (panel.at_once, panel.chunk_size, panel.budget_usd) == (64, 100, 12.5)
    seconds = [time.total_seconds() for time in (panel.target, panel.hard, panel.timeout)]
    assert seconds == [3600.5, 7200, 15]
    rows = {one.row.name: one.row for one in panellists(loaded.config)}
    openai = rows["openai/gpt-4o-mini"]
    assert (openai.per_minute, openai.at_once, rows["perplexity/sonar-pro"].per_minute) == (77, 5, 33)
    assert rows["cohere"].per_minute == 500, "the others are as they were"
    assert panel_log_level() == "warn"
    for name in VARIABLES:
        monkeypatch.setenv(name, KEY)
    assert all(one.keys == (KEY,) for one in panellists(loaded.config)), "a key for each of the twelve"


@pytest.mark.parametrize("name", ["OPENAI_RPM", "OPENAI_CONCURRENCY"])
@pytest.mark.parametrize("text", ["many", "0", "-3", "nan", "1e99"])
def test_a_limit_that_cannot_be_meant_names_its_variable(tmp_path, monkeypatch, name: str, text: str):
    monkeypatch.setenv(name, text)
    with pytest.raises(ConfigError, match=name):
        panellists(load(write(tmp_path)).config)


WRONG = [
    ({"local": {"model": "x"}}, "one of your own needs format, base_url"),
    ({"groq": {"keys": ["gsk_plain_text_key"]}}, "write env:NAME"),
    ({"groq": {"keys": ["env:NOT_THERE_AT_ALL"]}}, "NOT_THERE_AT_ALL is not set"),
    ({"groq": {"base_url": "ftp://x"}}, "write it like https"),
    ({"groq": {"base_url": "https://user:pass@x/"}}, "without credentials"),
]


@pytest.mark.parametrize(("providers", "words"), WRONG)
def test_a_provider_that_cannot_be_used_says_what_to_write(tmp_path: Path, providers: Any, words: str):
    with pytest.raises(ConfigError, match=words) as raised:
        panellists(load(write(tmp_path, providers=providers)).config)
    assert "gsk_plain" not in str(raised.value)
    assert "pass@" not in str(raised.value)


def test_the_registry_is_read_as_it_was_saved_and_counts_add_up(tmp_path: Path):
    from vedette.store.migrate import prepare

    path, now = prepare(tmp_path), SystemClock().now().replace(microsecond=0)
    row = ModelRow(
        name="openai/a", provider="openai", wire_name="A", aliases=("x", "ž"), first_seen_at=now, last_seen_at=now,
        retired_at=now, successor="openai/b", answered=3, failed=1,
    )  # fmt: skip
    with operating(path) as db:
        save_models(db, [row])
        assert read_models(db) == (row,)
        count_calls(db, {"openai/a": (10, 5), "openai/unknown": (1, 1)})
        save_models(db, [row])  # a refresh does not write over what was counted
        (found,) = read_models(db)
    assert (found.answered, found.failed) == (13, 6)
    assert resolve_alias("ž", [found]) is found


def test_what_a_run_counted_is_the_reliability_of_the_model(tmp_path: Path):
    from vedette.store.migrate import prepare

    with operating(prepare(tmp_path)) as db:
        note_calls(
            db, PROVIDERS, {"anthropic/claude-3-haiku": (90, 0), "deepseek": (0, 40), "nobody": (1, 1)}
        )
        note_calls(db, PROVIDERS, {"deepseek": (0, 50)})
        found = {row.name: row for row in read_models(db)}
    assert len(found) == 12
    assert found["anthropic/claude-3-haiku-20240307"].weight == 0.99
    assert found["deepseek/deepseek-chat"].weight == 0.09
