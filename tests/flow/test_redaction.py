"""Personal data on a hunted page: in the archive as it came, and nowhere else."""

from __future__ import annotations

import random

import pytest
from leaks import leaks
from scripted import START, life, page

from vedette.contracts.source import ListerOptions
from vedette.core.judging.embedding import embed, pack_vector
from vedette.core.text.redact import redact

SEED = "https://start.example/"
QUICK = {"lanes": {"default": {"gap_min": "1s", "gap_max": "1s", "per_minute": 0}}}
PERSONS = [
    "ana.anic@example.hr",
    "+385 91 234 5678",
    "HR1210010051863000160",
    "69435151530",
    "4111 1111 1111 1111",
]
LOOK_ALIKE = "HR1210010051863000161"


def source(**options: object) -> dict[str, object]:
    return {"id": "hunt", "url": SEED, "lister": "crawl", "max_urls": 100, **options}


def script(url: str, hours: float):
    """A page that says something else about the same persons every hour."""
    if url.endswith("robots.txt"):
        return 200, ""
    chance = random.Random(int(hours))
    said = [f"Izvjestaj {chance.random():.6f} {word} {LOOK_ALIKE}" for word in PERSONS]
    head = f'<meta name="author" content="Ana Anic"><meta name="description" content="{PERSONS[0]}">'
    links = f'<a href="mailto:{PERSONS[0]}">Ana</a> <a href="/next">dalje</a>' if url == SEED else ""
    return 200, page(*said, links, title=f"Kontakt {PERSONS[1]}", head=head)


def kept(folder, words):
    """In which files of the data folder the words are, the archive left out."""
    return [one for one in leaks(folder, words) if not one[0].startswith("archive")]


async def test_of_a_hunt_no_identifier_is_kept_but_in_the_archive(tmp_path):
    watched = life(tmp_path, script, source(hunt=True, follow_hosts=["*"]), hunt={"revisit": "4h"}, **QUICK)
    ended = await watched.run(seconds=40 * 3600.0)
    assert ended.error is None
    assert watched.rows("SELECT COUNT(*) FROM changes WHERE state = 'reported'")[0][0] > 0
    assert kept(tmp_path, [*PERSONS, "Ana Anic"]) == []
    assert LOOK_ALIKE in watched.rows("SELECT diff FROM changes")[0][0]
    assert {word for _, word in leaks(tmp_path, PERSONS)} == set(PERSONS)  # raw stays exact
    assert watched.rows("SELECT url FROM watches WHERE url LIKE '%@%'") == []


async def test_vectors_are_made_of_the_redacted_text(tmp_path):
    said = f"Pisite nam na {PERSONS[0]} ili nazovite {PERSONS[1]} svaki radni dan."

    def once(url: str, hours: float):
        return (
            (200, "") if url.endswith("robots.txt") else (200, f"<title>x</title><main><p>{said}</p></main>")
        )

    watched = life(tmp_path, once, source(hunt=True, follow_hosts=["*"]), **QUICK)
    await watched.run(seconds=60.0)
    vector = watched.rows("SELECT vector FROM verdicts")[0][0]
    assert vector == pack_vector(embed(redact(said)))
    assert vector != pack_vector(embed(said))


@pytest.mark.parametrize(
    ("options", "is_redacted"),
    [({}, False), ({"redact": True}, True), ({"hunt": True, "redact": False}, False), ({"hunt": True}, True)],
)
async def test_a_source_says_whether_it_redacts(tmp_path, options, is_redacted):
    watched = life(tmp_path, script, source(**options), **QUICK)
    await watched.run(seconds=9 * 3600.0)
    assert (kept(tmp_path, PERSONS) == []) is is_redacted
    assert ListerOptions(**options).redacts is is_redacted
    assert watched.clock.now() > START
