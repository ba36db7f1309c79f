"""The configuration is read once, says what is wrong with it, and keeps its secrets."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from vedette.config.model import (
    Config,
    load,
    parse,
    parse_day,
    parse_duration,
    parse_frequency,
    parse_size,
    read,
    schema,
)
from vedette.config.pace_policies import lane_policies
from vedette.config.policies import fetch_settings, slug, source_of, sources_of
from vedette.contracts.errors import ConfigError
from vedette.contracts.fetch import FetchSettings
from vedette.contracts.lane import LanePolicy
from vedette.contracts.source import ListerKind
from vedette.contracts.words import LaneKey, Risk

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
SAMPLE = """
data: ./watched
sources:
  - url: https://narodne-novine.nn.hr/
    name: Narodne novine
    lister: sitemap
    risk: CRITICAL
    tier: HIGH
    scrapeFrequency: DAILY
    startDate: 2024-01-01
    types: [1, 2]
    fetch: {headers: {X-Key: "env:NN_KEY"}, total_timeout: 60}
  - {url: "https://www.hgk.hr/vijesti", lister: html_list, maxPages: 3, selectors: {item: .vijest}}
lanes:
  default: {gap_min: 1s, per_minute: 30}
  host:hgk.hr: {at_once: 2, gap_max: 9s}
  all: {at_once: 16}
fetch: {body_limit: 2 MiB, user_agent: "Watcher/1.0", allow_networks: [127.0.0.0/8]}
schedule: {policy: per-risk}
evidence: {retention: {standard: null, short: 30d}, segment_limit: 512m}
run: {confirm_after: 500ms}
"""


def sample() -> Config:
    return parse(yaml.safe_load(SAMPLE))


# what is wrong is said


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"fetsh": {}}, "unknown key `fetsh`; did you mean `fetch`?"),
        ({"fetch": {"user_agnet": "x"}}, "unknown key `fetch.user_agnet`; did you mean `user_agent`?"),
        (
            {"lanes": {"default": {"gapmin": 2}}},
            "unknown key `lanes.default.gapmin`; did you mean `gap_min`?",
        ),
        ({"sources": [{"url": "x", "maxDeepth": 2}]}, "did you mean `max_depth`?"),
        (
            {"sources": [{"url": "x", "fetch": {"proxxy": 1}}]},
            "unknown key `sources.0.fetch.proxxy`; did you mean",
        ),
        (
            {"evidence": {"zzzzzz": 1}},
            "known keys: endpoint, ledger, region, retention, segment_limit, storage",
        ),
        ({"sources": [{}]}, "`sources.0.url` is missing"),
        ({"sources": [{"url": "x", "risk": "URGENT"}]}, "unknown risk 'URGENT' (known: CRITICAL"),
        ({"fetch": {"total_timeout": "soon"}}, "'soon' is not a duration; write for example"),
        ({"fetch": {"body_limit": "big"}}, "'big' is not a size"),
        ({"fetch": {"redirects": -1}}, "`fetch.redirects`"),
        ({"lanes": {"default": {"at_once": 0}}}, "`lanes.default.at_once`"),
        ({"sources": [{"url": "x", "startDate": "yesterday"}]}, "'yesterday' is not a date"),
        ({"extract": {"scope": "most"}}, "`extract.scope`"),
        ([1, 2], "expected sections such as `sources:`"),
        ("text", "expected sections such as `sources:`"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_place(raw: object, words: str):
    with pytest.raises(ConfigError) as raised:
        parse(raw)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_all_that_is_wrong_is_said_at_once():
    with pytest.raises(ConfigError) as raised:
        parse({"fetsh": {}, "run": {"at_once": 0}})
    assert "fetsh" in str(raised.value)
    assert "run.at_once" in str(raised.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"sources: [", "is not valid YAML"),
        (b"\xff\xfe\x00", "cannot read"),
        (b"[" * 1_500, "nested deeper"),
        (b"!!python/object/apply:os.system ['true']", "is not valid YAML"),
        (b"sources: []\nfetch: {}\nsources: []\n", "`sources` stands in line 1 and again in line 3"),
        (b"fetch:\n  proxy: x\n  redirects: 1\n  proxy: y\n", "`proxy` stands in line 2 and again in line 4"),
    ],
)
def test_a_file_that_is_no_configuration_is_named(tmp_path: Path, content: bytes, words: str):
    path = tmp_path / "vedette.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=words) as raised:
        read(path)
    assert str(path) in str(raised.value)


def test_a_key_may_stand_in_two_mappings_and_as_a_value(tmp_path: Path):
    path = tmp_path / "vedette.yaml"
    path.write_text(
        "fetch: {user_agent: proxy}\n"
        "lanes: {default: &one {burst: 2}, 'host:a.hr': {<<: *one, at_once: 1}, 'host:b.hr': {<<: *one}}\n"
    )
    assert read(path).lanes["host:b.hr"].burst == 2


def test_words_of_other_tools_lead_to_ours():
    for said, ours in (("rss", "feed"), ("Atom", "feed"), ("spider", "crawl")):
        with pytest.raises(ConfigError, match=f"did you mean '{ours}'"):
            parse({"sources": [{"url": "https://a.hr/", "lister": said}]})


def test_a_file_that_is_not_there_is_named_with_the_way_on(tmp_path: Path):
    with pytest.raises(ConfigError, match="vedette init"):
        read(tmp_path / "none.yaml")


def test_an_empty_file_is_the_defaults(tmp_path: Path):
    (tmp_path / "vedette.yaml").touch()
    assert read(tmp_path / "vedette.yaml") == Config()


keys = st.sampled_from("sources fetch lanes run url risk headers gap_min default evidence".split()) | st.text(
    max_size=3
)
values = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
trees = st.recursive(values, lambda inner: st.lists(inner) | st.dictionaries(keys, inner), max_leaves=8)


@settings(max_examples=60)
@given(trees)
def test_whatever_a_file_holds_it_is_taken_or_refused_with_words(raw: object):
    with suppress(ConfigError):
        assert isinstance(parse(raw), Config)


# values as people write them


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (90, 90 * SECOND),
        (2.5, 2.5 * SECOND),
        (0, 0 * SECOND),
        (HOUR, HOUR),
        ("500ms", 0.5 * SECOND),
        ("2s", 2 * SECOND),
        ("5m", 300 * SECOND),
        ("1.5h", 1.5 * HOUR),
        (" 30 d ", 720 * HOUR),
        ("1w", 168 * HOUR),
    ],
)
def test_durations(text: object, wanted: timedelta):
    assert parse_duration(text) == wanted


@pytest.mark.parametrize(
    "text", ["-1s", "1 day", "", None, True, "nan", "1e9", [], "99999999999999w", "9" * 400]
)
def test_what_is_no_duration_is_refused(text: object):
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (1024, 1024),
        ("10 MiB", 10 * 1024**2),
        ("512k", 512 * 1024),
        ("1g", 1024**3),
        ("3MB", 3 * 1024**2),
        ("0", 0),
    ],
)
def test_sizes(text: object, wanted: int):
    assert parse_size(text) == wanted


@pytest.mark.parametrize("text", ["-1", "1.5m", "ten", None, True, "", "1t", "9" * 5000])
def test_what_is_no_size_is_refused(text: object):
    with pytest.raises(ValueError, match=r"size|digits"):
        parse_size(text)


def test_the_frequencies_of_001_are_understood():
    assert parse_frequency("DAILY") == 24 * HOUR
    assert parse_frequency("twice_weekly") == 84 * HOUR
    assert parse_frequency("EVERY_RUN") == timedelta(0)
    assert parse_frequency("6h") == 6 * HOUR
    assert parse_frequency(None) is None


def test_days_are_utc_unless_they_say_otherwise():
    assert parse_day("2024-01-02") == datetime(2024, 1, 2, tzinfo=UTC)
    assert parse_day(datetime(2024, 1, 2)) == datetime(2024, 1, 2, tzinfo=UTC)
    assert parse_day("2024-01-02T00:00:00+02:00") == datetime(2024, 1, 1, 22, tzinfo=UTC)


# what comes out


def test_the_words_of_001_and_our_own_mean_the_same():
    theirs = {
        "urlPattern": "a",
        "includePatterns": ["b"],
        "excludePatterns": ["c"],
        "maxDepth": 2,
        "maxUrls": 3,
    }
    ours = {"url_pattern": "a", "include": ["b"], "exclude": ["c"], "max_depth": 2, "max_urls": 3}
    theirs |= {
        "paginationPattern": "d",
        "maxSitemapDepth": 4,
        "requiresHeadless": True,
        "endDate": "2024-01-01",
    }
    ours |= {
        "pagination_pattern": "d",
        "max_sitemap_depth": 4,
        "requires_headless": True,
        "end_date": "2024-01-01",
    }
    one, two = (parse({"sources": [{"url": "https://a.example/"} | words]}) for words in (theirs, ours))
    assert one == two
    assert one.sources[0].max_depth == 2


def test_a_source_comes_out_as_it_was_written():
    first, second = sources_of(sample())
    assert (first.id, first.lister, first.risk, first.tier) == (
        "narodne-novine",
        ListerKind.SITEMAP,
        Risk.CRITICAL,
        Risk.HIGH,
    )
    assert (first.scrape_frequency, first.options.sitemap_types) == (24 * HOUR, (1, 2))
    assert first.options.start_date == datetime(2024, 1, 1, tzinfo=UTC)
    assert second.options.selectors is not None
    assert (second.options.max_pages, second.options.selectors.item) == (3, ".vijest")


def test_a_source_without_a_scheme_is_refused_with_a_hint():
    with pytest.raises(ConfigError, match=r"`sources.0.url`.*did you mean https://hgk.hr\?"):
        list(sources_of(parse({"sources": [{"url": "hgk.hr"}]})))


def test_a_lane_has_its_own_words_over_those_of_default_over_ours():
    policies = lane_policies(sample())
    default, own = policies.of(LaneKey("host:x.hr")), policies.of(LaneKey("host:hgk.hr"))
    assert (default.gap_min, default.per_minute, default.at_once) == (SECOND, 30, LanePolicy().at_once)
    assert (own.gap_min, own.gap_max, own.at_once) == (SECOND, 9 * SECOND, 2)
    everything = policies.of(LaneKey("all"))
    assert (everything.at_once, everything.gap_min, everything.per_minute) == (16, 0 * SECOND, 0)


def test_a_longer_gap_is_never_cut_by_the_upper_end_that_was_not_set():
    policies = lane_policies(parse({"lanes": {"default": {"gap_min": "30s"}}}))
    assert policies.default.gap_max >= policies.default.gap_min == 30 * SECOND


def test_settings_of_a_source_lie_on_top_of_the_global_ones(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NN_KEY", "s3cret")
    config = sample()
    first, second = sources_of(config)
    mine, others = fetch_settings(config, first), fetch_settings(config, second)
    assert (mine.total_timeout, others.total_timeout) == (60 * SECOND, FetchSettings().total_timeout)
    assert mine.user_agent == others.user_agent == "Watcher/1.0"
    assert mine.body_limit == 2 * 1024**2
    assert (mine.headers, others.headers) == ((("X-Key", "s3cret"),), ())


# secrets


def test_a_secret_comes_from_the_environment_and_is_not_printed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NN_KEY", "s3cret")
    settings = fetch_settings(sample(), next(iter(sources_of(sample()))))
    assert settings.headers[0][1] == "s3cret"
    assert "s3cret" not in repr(settings)
    assert "***" in repr(settings)


def test_a_secret_that_is_not_set_is_refused_by_name(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("NN_KEY", raising=False)
    with pytest.raises(ConfigError, match="NN_KEY is not set"):
        fetch_settings(sample(), next(iter(sources_of(sample()))))


def test_a_secret_is_in_no_source_and_no_digest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    path = tmp_path / "vedette.yaml"
    path.write_text(SAMPLE)
    digests = []
    for value in ("one", "two"):
        monkeypatch.setenv("NN_KEY", value)
        loaded = load(path)
        digests.append(loaded.digest)
        assert "env:NN_KEY" in str([source.fetch for source in sources_of(loaded.config)])
    assert digests[0] == digests[1]


# where it is read from


def test_the_named_file_wins_over_the_environment_over_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("named", "environment", "vedette"):
        (tmp_path / f"{name}.yaml").write_text(f"data: {name}-data")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VEDETTE_DATA", raising=False)
    monkeypatch.setenv("VEDETTE_CONFIG", str(tmp_path / "environment.yaml"))
    assert load(tmp_path / "named.yaml").data == tmp_path / "named-data"
    assert load().data == tmp_path / "environment-data"
    monkeypatch.delenv("VEDETTE_CONFIG")
    assert load().data == Path("vedette-data")
    monkeypatch.setenv("VEDETTE_DATA", "/elsewhere")
    assert load().data == Path("/elsewhere")
    assert load(data=Path("given")).data == Path("given")


def test_the_digest_is_of_what_decides_and_not_of_how_it_is_written(tmp_path: Path):
    one, two, other = (tmp_path / f"{name}.yaml" for name in ("one", "two", "other"))
    one.write_text("run: {at_once: 8}\nfetch: {total_timeout: 60}")
    two.write_text(
        "# a comment\nfetch:\n  total_timeout: 1m\nrun:\n  at_once: 8\nsources: [{url: https://a.example/}]"
    )
    other.write_text("run: {at_once: 9}\nfetch: {total_timeout: 60}")
    assert load(one).digest == load(two).digest != load(other).digest


# the schema for editors


def test_the_schema_takes_the_sample_and_knows_every_section():
    made = schema()
    assert misfits(json.loads(json.dumps(yaml.safe_load(SAMPLE), default=str)), made, made) == []
    assert misfits({"fetsh": {}}, made, made) == ["fetsh"]
    assert misfits({"sources": [{"url": 5}]}, made, made) == [5]
    both = {"sources": [{"url": "https://a.example/", "max_depth": 2, "maxDepth": 2, "risk": "critical"}]}
    assert misfits(both, made, made) == []


def misfits(value: Any, rule: dict[str, Any], whole: dict[str, Any]) -> list[Any]:
    """The part of JSON Schema that we use: what does not fit."""
    if "$ref" in rule:
        return misfits(value, whole["$defs"][rule["$ref"].rpartition("/")[2]], whole)
    if "anyOf" in rule:
        tried = [misfits(value, one, whole) for one in rule["anyOf"]]
        return [] if [] in tried else tried[0]
    if "enum" in rule:
        return [] if value in rule["enum"] else [value]
    names = rule.get("type", [])
    if not any(
        isinstance(value, JSON_TYPES[name]) for name in ([names] if isinstance(names, str) else names)
    ):
        return [value]
    if isinstance(value, list):
        return [bad for one in value for bad in misfits(one, rule["items"], whole)]
    if not isinstance(value, dict):
        return []
    found = []
    for name, one in value.items():
        inner = rule.get("properties", {}).get(name, rule.get("additionalProperties", True))
        found += [name] if inner is False else misfits(one, inner, whole)
    return found


JSON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}


def test_every_default_that_the_schema_names_may_be_written_into_a_file():
    made = schema()
    sections = {
        name: rule["$ref"].rpartition("/")[2] for name, rule in made["properties"].items() if "$ref" in rule
    }
    for name, model in sections.items():
        defaults = {
            key: rule["default"]
            for key, rule in made["$defs"][model]["properties"].items()
            if "default" in rule
        }
        assert getattr(parse({name: defaults}), name) == getattr(Config(), name)


def test_the_schema_is_json_and_names_every_key():
    made = json.loads(json.dumps(schema()))
    assert made["$schema"].endswith("2020-12/schema")
    assert set(made["properties"]) == set(Config.model_fields)
    assert made["additionalProperties"] is False
    assert "scrapeFrequency" in made["$defs"]["SourceConfig"]["properties"]


@given(st.text(max_size=40))
def test_a_slug_is_a_safe_id(name: str):
    made = slug(name)
    assert made
    assert made.strip("-") == made
    assert set(made) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert slug(made) == made


def test_a_source_given_by_hand_has_a_name_from_its_url():
    source = source_of(parse({"sources": [{"url": "https://www.hgk.hr/vijesti/"}]}).sources[0], origin="cli")
    assert (source.name, source.id, source.origin) == ("www.hgk.hr/vijesti", "www-hgk-hr-vijesti", "cli")


SOURCE = "sources:\n- url: https://example.org/\n"
TOLD = {
    "fetch:\n  redirects: many\n": "line 2: `fetch.redirects`: 'many' is not a whole number",
    f"{SOURCE}  lister: fede\n": "line 3: `sources.0.lister`: unknown lister 'fede'; did you mean 'feed'?",
    f"{SOURCE}  tier: hihg\n": "line 3: `sources.0.tier`: unknown tier 'hihg'; did you mean 'HIGH'?",
    "run:\n\n  at_once: 0\n": "line 3: `run.at_once`: 0 is too little; at least 1",
    "sources:\n- name: x\n": "line 2: `sources.0.url` is missing",
    "sources: https://example.org/\n": "line 1: `sources`: a list is needed here",
    "fetch: yes\n": "line 1: `fetch`: keys and values are needed here",
    "discover:\n  auto_sources: perhaps\n": "line 2: `discover.auto_sources`: 'perhaps' is neither true nor",
    "sources:\n- url: 7\n": "line 2: `sources.0.url`: 7 is not text",
    "fetch:\n  total_timeout: 0\n": "line 2: `fetch.total_timeout`: 0 is too little; it must be above 0",
    f"{SOURCE}  every: 0s\n": "line 3: `sources.0.every`: '0s' is too little; it must be above 0",
    "health:\n  every: 1ms\n": "line 2: `health.every`: 0.001s is too little; at least 1 second",
    "run:\n  confirm_after: 2024-01-01\n": "line 2: `run.confirm_after`: 2024-01-01 is not a duration",
    "run:\n  at_once:\n": "line 2: `run.at_once`: an empty value is not a whole number",
    "fetch:\n\tredirects: 3\n": "line 2: a tab; indent with spaces",
}


@pytest.mark.parametrize(("text", "words"), TOLD.items())
def test_a_problem_is_told_in_one_line_of_our_words_with_the_line_of_the_file(
    tmp_path: Path, text: str, words: str
):
    path = tmp_path / "vedette.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as raised:
        read(path)
    assert str(raised.value).startswith(f"{path}, {words}")
    assert "\n" not in str(raised.value)
    assert all(alien not in str(raised.value) for alien in ("Input should", "datetime.", "None"))


def test_several_problems_are_lines_of_their_own_and_known_keys_are_listed_once(tmp_path):
    path = tmp_path / "vedette.yaml"
    path.write_text("evidence:\n" + "".join(f"  zzzz{n}: 1\n" for n in range(40)) + "run: {at_once: x}\n")
    with pytest.raises(ConfigError) as raised:
        read(path)
    lines = str(raised.value).splitlines()
    assert lines[0] == f"{path}: 41 problems"
    stamps = "time_stamps, time_stamps_ca, time_stamps_every"
    known = f"endpoint, ledger, region, retention, segment_limit, storage, {stamps}"
    assert lines[1] == f"  line 2: unknown key `evidence.zzzz0`; known keys: {known}"
    assert lines[2] == "  line 3: unknown key `evidence.zzzz1`"
    assert lines[-1] == "  and 21 more"
    assert len(lines) == 22


def test_a_folder_is_no_configuration(tmp_path):
    with pytest.raises(ConfigError, match=r"is a folder; name the file in it"):
        read(tmp_path)


def test_the_same_address_twice_is_an_error_that_names_both(tmp_path):
    rows = [{"url": "https://example.org/a", "name": "A"}, {"url": "https://EXAMPLE.org/a", "name": "B"}]
    with pytest.raises(
        ConfigError, match=r"`sources.1.url`: https://example.org/a is already watched by `sources.0`"
    ):
        list(sources_of(parse({"sources": rows})))


def test_a_profile_sets_the_defaults_of_a_country_and_the_file_wins():
    neutral, croatia = parse({}), parse({"profile": "croatia", "extract": {"ocr_languages": "deu"}})
    assert (neutral.cron.runs, neutral.extract.ocr_languages, neutral.fetch.accept_language) == (
        "",
        "eng",
        None,
    )
    assert (croatia.cron.runs, croatia.cron.timezone) == ("0 6 * * *", "Europe/Zagreb")
    assert (croatia.fetch.accept_language, croatia.extract.ocr_languages) == ("hr,en;q=0.9", "deu")
    with pytest.raises(ConfigError, match="profile"):
        parse({"profile": "atlantis"})


@pytest.mark.parametrize(
    ("keys", "words"),
    [({}, "requires_headless"), ({"requires_headless": True, "redact": True}, "personal data")],
)
def test_a_screenshot_needs_a_browser_and_no_redaction(keys: dict[str, object], words: str):
    row = {"url": "https://a.example/", "lister": "page", "screenshot": True, **keys}
    with pytest.raises(ConfigError, match=words):
        list(sources_of(parse({"sources": [row]})))
