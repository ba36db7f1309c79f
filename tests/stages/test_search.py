"""Full-text search over evidence: found once it is indexed, gone with the evidence, shown as text."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from cli_call import Cli
from evidence_kit import visit
from stocked import NOW, blank
from web_kit import FixedClock, an_installation, serving

from vedette.contracts.errors import InputError
from vedette.contracts.sql_connection import PostgresAddress
from vedette.evidence.archive import Archive
from vedette.operations.installation import Installation
from vedette.operations.maintenance import collect
from vedette.operations.search import count_waiting, index_evidence, search
from vedette.store import statements as sql
from vedette.store.connection import operating
from vedette.store.migrate import ARCHIVE
from vedette.store.rows import segment_row, to_ms
from vedette.store.text_index import FILE, opened
from vedette.store.text_index_postgres import PostgresTextIndex

EVIL = "<script>alert(1)</script> zakon \u202egnp &amp; kraj"


def keep(data: Path, *texts: str, watches: int = 1000, server: PostgresAddress | None = None) -> None:
    """Each text as a page in the archive; with fewer watches than texts they are versions of the same pages."""
    path, archive = server or blank(data), Archive(data / ARCHIVE)
    archive.recover((), now=NOW)
    with operating(path) as db:
        for n, text in enumerate(texts, start=1):
            body = f"<html><body><main><p>{text.replace('<', '&lt;')}</p></main></body></html>".encode()
            entry = visit(n, at=NOW + timedelta(minutes=n), body=body)
            done, facts = archive.append(entry), entry.facts
            url = f"https://www.hgk.hr/{n % watches}"
            row = (n, n % watches, facts.digest, url, to_ms(facts.at), "HTML", "text/html", len(body), done.segment,
                   done.offset, done.length, n, "content", None, None)  # fmt: skip
            db.execute(sql.NEW_EVIDENCE, row)
        db.executemany(sql.SAVE_SEGMENT, [segment_row(one) for one in archive.sync()])
    archive.committed(NOW)
    archive.close(NOW)


def urls(found) -> list[str]:
    return [hit.evidence.url.rpartition("/")[2] for hit in found.hits]


def stored(data: Path, server: PostgresAddress | None) -> Installation:
    loaded = an_installation(data).loaded
    return Installation(loaded.model_copy(update={"server": server}), FixedClock())


def test_pages_that_say_all_of_it_are_found_newest_first(tmp_path: Path, server: PostgresAddress | None):
    pages = ("Stopa PDV-a je 25", "Članak o porezu na dobit", "PDV i porez: stopa", "obrtnici")
    keep(tmp_path, *pages, server=server)
    installation = stored(tmp_path, server)
    assert count_waiting(installation) == 4
    assert index_evidence(installation).added == 4
    assert index_evidence(installation).added == 0
    for typed, wanted in (
        ("pdv", ["3", "1"]), ("pdv stopa", ["3", "1"]), ('"stopa pdv"', ["1"]), ("clanak", ["2"]), ("obrt", []),
        ("obrt*", ["4"]), ("stopa -porez", ["1"]), ("POREZU", ["2"]),
    ):  # fmt: skip
        assert urls(search(installation, typed, limit=9)) == wanted, typed


def test_versions_of_a_page_stand_together_and_pages_of_the_list_hold_each_once(tmp_path: Path):
    keep(tmp_path, *(f"zakon broj {n}" for n in range(40)), watches=4)
    installation = an_installation(tmp_path)
    index_evidence(installation)
    whole = search(installation, "zakon", limit=9)
    assert [(hit.older, hit.evidence.id) for hit in whole.hits] == [(9, 40), (9, 39), (9, 38), (9, 37)]
    assert whole.after is None
    seen, after = [], None
    while True:
        part = search(installation, "zakon", limit=1, after=after)
        seen += [hit.evidence.id for hit in part.hits]
        after = part.after
        if after is None:
            break
    assert len(seen) == len(set(seen))
    assert {number % 4 for number in seen} == {0, 1, 2, 3}


def test_on_a_server_what_is_gone_is_found_no_more_and_gc_forgets_its_words(
    tmp_path: Path, postgres_store: PostgresAddress
):
    keep(tmp_path, "tajna jedan", "tajna dva", "v2.0 o'brien 3e5 č" + "x" * 3000, server=postgres_store)
    installation = stored(tmp_path, postgres_store)
    index_evidence(installation)
    for typed, wanted in (
        ("tajna", ["2", "1"]),
        ("o'brien", ["3"]),
        ("3e5", ["3"]),
        ('"v2 0"', ["3"]),
        ("cx*", ["3"]),
    ):
        assert urls(search(installation, typed, limit=9)) == wanted, typed
    with installation.operating() as db:
        db.execute("DELETE FROM evidence WHERE id = 2")
    assert urls(search(installation, "tajna", limit=9)) == ["1"]
    collect(installation)
    with closing(PostgresTextIndex(postgres_store)) as index:
        assert index.texts([1, 2]).keys() == {1}


def test_what_retention_took_is_found_no_more_and_its_words_are_gone(tmp_path: Path):
    keep(tmp_path, "tajna jedan", "tajna dva")
    installation = an_installation(tmp_path)
    index_evidence(installation)
    with installation.operating() as db:
        db.execute("DELETE FROM evidence WHERE id = 2")
    assert urls(search(installation, "tajna", limit=9)) == ["1"]
    assert index_evidence(installation).dropped == 1
    with opened(tmp_path, installation.store()) as index:
        assert index.texts([1, 2]).keys() == {1}
    (tmp_path / FILE).unlink()  # it can be made again at any time
    index_evidence(installation)
    assert urls(search(installation, "tajna", limit=9)) == ["1"]


def test_a_piece_of_the_same_number_with_other_bytes_is_taken_in_anew(tmp_path: Path):
    keep(tmp_path / "a", "staro")
    keep(tmp_path / "b", "novo")
    index_evidence(an_installation(tmp_path / "a"))
    (tmp_path / "a" / FILE).rename(tmp_path / "b" / FILE)
    installation = an_installation(tmp_path / "b")
    index_evidence(installation)
    assert urls(search(installation, "novo", limit=9)) == ["1"]
    assert urls(search(installation, "staro", limit=9)) == []


@pytest.mark.parametrize("typed", ["", "  ", '"', "*", "-zakon", "...", '""'])
def test_without_a_word_there_is_a_message_that_says_how(tmp_path: Path, typed: str):
    keep(tmp_path, "zakon")
    with pytest.raises(InputError, match="write a word"):
        search(an_installation(tmp_path), typed, limit=9)


@pytest.mark.parametrize(
    "typed", ["a AND", 'x" OR "y', "NEAR(a b)", "title:x", "^a", "a + b", "{a}", "a*b*", "\0"]
)
def test_signs_of_the_index_are_only_text(tmp_path: Path, typed: str):
    keep(tmp_path, "zakon")
    installation = an_installation(tmp_path)
    index_evidence(installation)
    assert urls(search(installation, f"nothing {typed}", limit=9)) == []


async def test_the_page_and_the_call_show_what_was_found_as_text(tmp_path: Path):
    keep(tmp_path, EVIL)
    installation = an_installation(tmp_path)
    async with serving(installation) as client:
        waits = (await client.ask("/search?text=zakon")).text
        assert "1 piece is not in the index yet" in waits
        index_evidence(installation)
        page = (await client.ask("/search?text=zakon")).text
        assert "&lt;/script&gt; <mark>zakon</mark> " in page
        assert "<script>alert" not in page
        assert "\u202e" not in page
        said = (await client.ask("/api/v1/search?text=zakon")).json
        assert [part["text"] for part in said["items"][0]["snippet"] if part["is_hit"]] == ["zakon"]
        assert "problem-text" in (await client.ask("/search?text=%22")).text
        assert (await client.ask("/api/v1/search?text=%22")).status == 422
        assert (await client.ask("/api/v1/search?text=a&cursor=x")).json["errors"][0]["field"] == "cursor"


def test_the_verb_takes_in_what_is_new_and_prints_where_it_stands(tmp_path: Path):
    keep(tmp_path, "Stopa PDV-a je 25", EVIL)
    cli = Cli(tmp_path)
    told = cli("search", "stopa pdv")
    assert told.code == 0, told.err
    assert "https://www.hgk.hr/1" in told.out
    assert "\u202e" not in cli("search", "zakon").out
    assert cli("search", "zakon", "--json").json["items"][0]["evidence"] == 2
    assert cli("search").code == 2
    assert cli("search", "--index").code == 0
