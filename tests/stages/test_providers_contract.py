"""Every adapter keeps the one contract, against every way in which a provider can fail."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from provider_kit import ABOUT, KEY, O_NJOJ, panel

from vedette.contracts.errors import ConfigError
from vedette.contracts.panel_run import Provider, QualityFlag
from vedette.contracts.words import Outcome, Secret
from vedette.core.lanes.outcomes import MEANING
from vedette.livingweb.providers import FAULTS, TWELVE, KeyLimit
from vedette.providers.caller import ROWS
from vedette.providers.formats import FORMATS, YOU
from vedette.providers.provider_table import BY_NAME, PROVIDERS

SPEC_003 = (
    "openai/gpt-4o-mini anthropic/claude-3-haiku google/gemini-1.5-flash deepseek mistral cohere groq ai21/jamba "
    "perplexity/sonar perplexity/sonar-pro perplexity/sonar-large you/search"
).split()
# fault -> outcome, and the flag of an answer that did come
EXPECTED: dict[str, tuple[Outcome, QualityFlag | None]] = {
    "throttled": (Outcome.THROTTLED, None),
    "throttled_bare": (Outcome.THROTTLED, None),
    "quota": (Outcome.QUOTA_SPENT, None),
    "balance": (Outcome.QUOTA_SPENT, None),
    "auth": (Outcome.AUTH_ERROR, None),
    "forbidden": (Outcome.AUTH_ERROR, None),
    "echo_key": (Outcome.AUTH_ERROR, None),
    "echo_header": (Outcome.SERVER_ERROR, None),
    "refused": (Outcome.REFUSED_CONTENT, None),
    "filtered": (Outcome.REFUSED_CONTENT, None),
    "server_error": (Outcome.SERVER_ERROR, None),
    "overloaded": (Outcome.OVERLOADED, None),
    "bad_gateway": (Outcome.SERVER_ERROR, None),
    "unavailable": (Outcome.OVERLOADED, None),
    "wrong_type": (Outcome.MALFORMED_ANSWER, None),
    "malformed": (Outcome.MALFORMED_ANSWER, None),
    "empty_body": (Outcome.MALFORMED_ANSWER, None),
    "not_an_object": (Outcome.MALFORMED_ANSWER, None),
    "no_fields": (Outcome.MALFORMED_ANSWER, None),
    "no_usage": (Outcome.OK, QualityFlag.OK),
    "no_model": (Outcome.GONE, None),
    "hang": (Outcome.TIMEOUT, None),
    "closed": (Outcome.CONNECT_ERROR, None),
    "reset": (Outcome.CONNECT_ERROR, None),
    "truncated": (Outcome.TRUNCATED, None),
    "redirect": (Outcome.REDIRECT_ERROR, None),
    "slow": (Outcome.OK, QualityFlag.OK),
    "echo_in_answer": (Outcome.OK, QualityFlag.OK),
    "empty_text": (Outcome.OK, QualityFlag.EMPTY),
    "refusal": (Outcome.OK, QualityFlag.REFUSAL),
    "cut_short": (Outcome.OK, QualityFlag.TRUNCATED),
    "off_topic": (Outcome.OK, QualityFlag.OFF_TOPIC),
    "canned": (Outcome.OK, QualityFlag.OFF_TOPIC),
}
# A search has no finish and no filter; Cohere has a word for having failed.
OTHERS = {
    ("cohere", "filtered"): (Outcome.MALFORMED_ANSWER, None),
    ("you/search", "filtered"): (Outcome.OK, QualityFlag.EMPTY),
    ("you/search", "cut_short"): (Outcome.OK, QualityFlag.OK),
}


def test_the_table_has_the_twelve_of_003_and_the_four_that_search():
    assert [row.name for row in PROVIDERS] == SPEC_003
    searching = [row.name for row in PROVIDERS if row.is_search]
    assert searching == [name for name in SPEC_003 if name.startswith(("perplexity", "you"))]


def test_every_row_has_a_format_a_key_and_a_lane_of_its_own():
    assert {row.format for row in PROVIDERS} == set(FORMATS)
    assert all(row.key_env.endswith("_API_KEY") for row in PROVIDERS)
    assert len({row.lane for row in PROVIDERS}) == len(PROVIDERS)
    assert all(row.base_url.startswith("https://") for row in PROVIDERS)


async def test_every_provider_answers_with_text_usage_and_its_name():
    async with panel() as asked:
        for name, one in asked.by_name.items():
            provider: Provider = one
            answer = await provider.query("hgk.hr", ABOUT)
            assert (answer.outcome, answer.detail) == (Outcome.OK, ""), name
            assert answer.resp is not None
            assert "hgk.hr" in answer.resp.text
            assert answer.resp.quality_flag is QualityFlag.OK
            assert provider.name() == name
            assert provider.supports_search_enhanced() == BY_NAME[name].is_search
            assert bool(answer.resp.meta["citations"]) == BY_NAME[name].is_search
            if BY_NAME[name].format != YOU:
                assert answer.tokens_in > 0
                assert answer.tokens_out > 0
                assert answer.resp.meta["usage"]
                assert answer.resp.meta["finish"] == "stop"
        assert asked.town.stats()["answers"] == 12


async def test_croatian_goes_there_and_back_whole():
    async with panel() as asked:
        for one in asked.by_name.values():
            answer = await one.query("porezna-uprava.gov.hr", O_NJOJ)
            assert answer.resp is not None
            assert set("čšž") & set(answer.resp.text)
            host = asked.town.hosts[one.name()]
            assert host.answers["porezna-uprava.gov.hr", O_NJOJ.text] == 1


def test_every_fault_is_expected():
    assert set(EXPECTED) == set(FAULTS)


@pytest.mark.parametrize("fault", sorted(EXPECTED))
async def test_a_fault_is_the_same_outcome_at_every_provider(fault: str):
    patience = timedelta(seconds=0.15 if fault == "hang" else 5)
    async with panel(fault, total_timeout=patience) as asked:
        answers = await asyncio.gather(*(one.query("hgk.hr", ABOUT) for one in asked.by_name.values()))
    for name, answer in zip(asked.by_name, answers, strict=True):
        outcome, flag = OTHERS.get((name, fault), EXPECTED[fault])
        assert answer.outcome is outcome, (name, answer)
        assert (answer.resp is not None) == (outcome is Outcome.OK)
        assert (answer.resp.quality_flag if answer.resp else None) is flag, (name, answer)
        assert bool(answer.detail) == (outcome is not Outcome.OK)
        assert KEY not in repr(answer)


async def test_what_is_deterministic_is_not_repeated_and_what_passes_is():
    assert [MEANING[EXPECTED[f][0]].retry for f in ("auth", "quota", "balance", "refused")] == [False] * 4
    passing = ("throttled", "overloaded", "server_error", "hang", "malformed", "truncated")
    assert all(MEANING[EXPECTED[fault][0]].retry for fault in passing)


async def test_the_time_to_wait_is_read_wherever_the_provider_says_it():
    async with panel("throttled") as asked:
        for one in asked.by_name.values():
            answer = await one.query("hgk.hr", ABOUT)
            assert answer.retry_after is not None, one
            assert timedelta(seconds=55) < answer.retry_after <= timedelta(seconds=60)
    async with panel("throttled_bare") as asked:
        for one in asked.by_name.values():
            assert (await one.query("hgk.hr", ABOUT)).retry_after is None


TELLS = {"openai/gpt-4o-mini": 500, "anthropic/claude-3-haiku": 1000, "mistral": 360, "cohere": 500}


async def test_limits_are_read_from_the_headers_of_those_that_tell_them():
    async with panel() as asked:
        for name, one in asked.by_name.items():
            allowance = (await one.query("hgk.hr", ABOUT)).allowance
            if name in TELLS:
                assert allowance is not None
                assert allowance.requests_per_minute == TELLS[name]
                assert allowance.requests_left == TELLS[name] - 1
            elif name == "groq":  # requests by the day: no rate follows from them
                assert allowance is not None
                assert allowance.requests_per_minute is None
                assert allowance.tokens_per_minute == 300_000
            else:
                assert allowance is None


async def test_a_limit_that_changes_is_in_the_next_answer_also_in_a_refusal():
    async with panel() as asked:
        one = asked.by_name["mistral"]
        await one.query("a.hr", ABOUT)
        asked.town.hosts["mistral"].set_limit(1)
        answer = await one.query("b.hr", ABOUT)
    assert answer.outcome is Outcome.THROTTLED
    assert answer.allowance is not None
    assert (answer.allowance.requests_per_minute, answer.allowance.requests_left) == (1, 0)


async def test_several_keys_are_several_lanes_and_the_provider_counts_each():
    tight = [replace(spec, limit=KeyLimit(per_minute=2)) for spec in TWELVE[:1]]
    async with panel(specs=tight) as asked:
        row = BY_NAME["openai/gpt-4o-mini"]
        first, second = asked.caller(row), asked.caller(row, Secret("sk-planted-two-4hG7kP2sW9"))
        outcomes = [(await one.query(f"{n}.hr", ABOUT)).outcome for one in (first, second) for n in range(3)]
    assert outcomes == [Outcome.OK, Outcome.OK, Outcome.THROTTLED] * 2
    assert first.lane == "provider:openai/k1"


async def test_models_are_listed_where_the_provider_tells_them():
    async with panel() as asked:
        for spec in TWELVE:
            names = await asked.by_name[spec.name].list_models()
            assert list(names) == (sorted(spec.models) if spec.models_path else []), spec.name


@pytest.mark.parametrize("fault", ["a model that is gone", "a key that is refused"])
async def test_a_model_or_key_that_is_not_known_says_so(fault: str):
    specs = [replace(spec, keys=("another",) if "key" in fault else ()) for spec in TWELVE]
    async with panel(specs=specs) as asked:
        for name, one in asked.by_name.items():
            asked.town.hosts[name].models.clear()
            answer = await one.query("hgk.hr", ABOUT)
            expected = Outcome.AUTH_ERROR if "key" in fault else Outcome.GONE
            assert answer.outcome is expected, answer
            listing = await one.listing()
            assert listing.names == ()


async def test_a_redirect_is_not_followed_and_nobody_else_sees_the_key():
    async with panel("redirect") as asked:
        answer = await asked.by_name["deepseek"].query("hgk.hr", ABOUT)
        assert answer.outcome is Outcome.REDIRECT_ERROR
        assert sum(sum(host.asks.values()) for host in asked.town.hosts.values()) == 1


async def test_a_base_url_that_the_guard_refuses_is_never_connected_to():
    async with panel() as asked:
        closed = replace(asked.settings, allow_networks=())
        asked.settings = closed
        answer = await asked.caller(BY_NAME["groq"]).query("hgk.hr", ABOUT)
        assert answer.outcome is Outcome.ADDRESS_REFUSED
        assert not asked.town.hosts["groq"].asks


async def test_the_lane_hears_when_a_question_is_on_the_line():
    sent: list[str] = []
    async with panel() as asked:
        await asked.by_name["mistral"].query("hgk.hr", ABOUT, on_sent=lambda: sent.append("now"))
    assert sent == ["now"]


@pytest.mark.parametrize("key", ["two words", "line\nfeed", "tab\tbed"])
async def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(key: str):
    async with panel() as asked:
        with pytest.raises(ConfigError, match="OPENAI_API_KEY") as raised:
            asked.caller(BY_NAME["openai/gpt-4o-mini"], Secret(key))
    assert key not in str(raised.value)


async def test_what_the_operator_sends_to_sites_is_not_sent_to_providers():
    async with panel() as asked:
        asked.settings = replace(asked.settings, headers=(("Cookie", "session=1"),))
        one = asked.caller(BY_NAME["groq"])
        assert "session" not in repr(one._settings.headers)
        assert [name for name, _ in one._settings.headers] == ["Authorization", "Content-Type"]


PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "providers.md"


def test_every_provider_and_every_meaning_of_an_error_is_in_the_reference():
    lines = [line.replace("`", "") for line in PAGE.read_text("utf-8").splitlines()]
    for row in PROVIDERS:
        cells = (row.name, row.format, row.base_url, row.path, row.model, row.key_env)
        told = next(line for line in lines if line.startswith("| " + " | ".join(cells) + " | "))
        _, *rest, price, listed, _ = (cell.strip() for cell in told.split("|"))
        assert rest[-2:] == ["yes" if row.is_search else "no", f"{row.per_minute:g}"]
        assert listed == (row.models_path.partition("?")[0] or "no")
        paid = row.price or (0.0, 0.0, 0.0)
        assert price.startswith(f"{paid[0]:g} / {paid[1]:g}" if row.price else "unknown")
    for rule in ROWS:
        statuses = ", ".join(map(str, rule.status)) or "any"
        words = rule.words.replace("|", "\\|") or "any"
        assert f"| {statuses} | {rule.format or 'any'} | {words} | {rule.outcome.value} |" in lines
