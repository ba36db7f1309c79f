"""The digest of a hunted store: one page of each host, every claim with a quote that the archive has, and mail."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from cli_call import Cli
from odd_kit import OddHunt, hunted
from receivers import postman

from vedette.config.model import parse
from vedette.contracts.words import Outcome
from vedette.core.findings.quotes import tidy
from vedette.core.urls.canonical import host_of
from vedette.operations.hunt_digest import hunt_digest, send_digest

ALWAYS = "2000-01-01"


@pytest.fixture
def hunt(tmp_path: Path) -> OddHunt:
    return hunted(tmp_path)


@pytest.mark.slow
def test_every_claim_resolves_to_a_stored_quote(hunt: OddHunt):
    cli = Cli(hunt.data, clock=hunt.clock)
    told = cli("digest", "--since", ALWAYS, "--json").json
    assert not told["nothing"]
    assert 5 <= len(told["cards"]) <= 10
    hosts = [host_of(card["url"]) for card in told["cards"]]
    assert len(hosts) == len(set(hosts))
    for card in told["cards"]:
        stored = tidy(cli("evidence", "cat", card["url"], "--text").out)
        assert card["why"]
        for claim in card["why"]:
            assert stored[claim["at"] : claim["at"] + len(claim["quote"])] == claim["quote"]


@pytest.mark.slow
def test_the_same_store_gives_the_same_digest_as_text_and_html(hunt: OddHunt, tmp_path: Path):
    cli = Cli(hunt.data, clock=hunt.clock)
    text = cli("digest", "--since", ALWAYS).out
    assert cli("digest", "--since", ALWAYS).out == text
    assert text.startswith("# ")
    html = tmp_path / "digest.html"
    assert cli("digest", "--since", ALWAYS, "--out", str(html)).code == 0
    page = html.read_text()
    assert page.count("<article>") == text.count("\n## ") - ("\n## Neighbourhoods" in text)
    assert "<script" not in page
    bad = cli("digest", "--out", str(tmp_path / "digest.pdf"))
    assert bad.code == 2
    assert ".md or .html" in bad.err


@pytest.mark.slow
async def test_a_digest_is_sent_by_mail_as_text_and_html(hunt: OddHunt):
    async with postman() as post:
        config = {
            "notify": {
                "channels": {
                    "team": {
                        "kind": "smtp", "host": "127.0.0.1", "port": post.port, "tls": "none",
                        "sender": "vedette@example.org", "to": ["team@example.org"],
                    }
                }
            }
        }  # fmt: skip
        hunt.config = parse(config)
        made = hunt.installation
        digest = await asyncio.to_thread(hunt_digest, made, since=hunt.clock.now().replace(year=2000))
        delivery = await asyncio.to_thread(send_digest, made, digest, "team")
        assert delivery.outcome is Outcome.OK
        (letter,) = post.letters
    assert digest.headline in letter["Subject"]
    text, html = (letter.get_body((kind,)).get_content() for kind in ("plain", "html"))
    for card in digest.cards:
        assert card.finding.url in text
        assert card.finding.url in html


@pytest.mark.slow
def test_after_a_time_without_looks_the_digest_says_that_there_was_nothing(hunt: OddHunt):
    told = Cli(hunt.data)("digest")  # of a week that is long after the hunt
    assert told.code == 0
    assert "There was nothing odd" in told.out
