"""One limit on the length of a URL, at every door; and whatever a server sends, other WARC readers read our records."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import fastwarc.warc
import pytest
from cli_call import Cli
from evidence_kit import Database, keep, started, visit
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from vedette.config.model import parse
from vedette.config.policies import sources_of
from vedette.contracts.errors import ConfigError
from vedette.contracts.source import ListerKind, ListerOptions
from vedette.contracts.watch import ArchiveEntry
from vedette.contracts.words import Outcome
from vedette.core.urls.admission import AdmissionRules, Candidate, admit
from vedette.core.urls.canonical import MAX_URL, TOO_LONG, canonical
from vedette.core.urls.trap_counters import SourceTally
from vedette.core.urls.url_shape import filters_of
from vedette.discover import ListingDocument, read_listing
from vedette.discover.crawl import LinkReader
from vedette.evidence import warc
from vedette.evidence.warc import visit_record
from vedette.fetch.faults import Fault
from vedette.fetch.http import _redirect_target, readable

NOW = datetime(2026, 11, 15, tzinfo=UTC)
HOME = "https://h.hr/"
LENGTHS = [MAX_URL + 1, MAX_URL * 4 + 1, 70_023]
SHAPES = [
    lambda size: "/" + "a" * size,
    lambda size: "/" + "a/" * (size // 2),
    lambda size: HOME + "b" * size,
    lambda size: "?q=" + "c" * size,
    lambda size: "/%C5%BE" * (size // 7 + 1),
    lambda size: "/ž" * (size // 6 + 1),
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("length", LENGTHS)
def test_no_door_lets_a_long_url_in(shape, length):
    href = shape(length)
    assert canonical(href, HOME) is None
    reader = LinkReader(HOME)
    assert reader.links(HOME, HOME, [href, "/short"]) == reader.links(HOME, HOME, ["/short"])
    assert isinstance(_redirect_target(302, (href,), HOME), Fault)


LISTINGS = {
    ListerKind.SITEMAP: "<urlset><url><loc>{home}{long}</loc></url><url><loc>{home}a</loc></url></urlset>",
    ListerKind.FEED: "<rss><channel><item><link>{home}{long}</link></item>"
    "<item><link>{home}a</link></item></channel></rss>",
    ListerKind.HTML_LIST: "<ul><li><h2><a href='/{long}'>x</a></h2></li><li><h2><a href='/a'>y</a></h2></li></ul>",
    ListerKind.CRAWL: "<a href='/{long}'>x</a><a href='/a'>y</a>",
}


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize(("kind", "body"), LISTINGS.items())
def test_a_listing_says_that_it_left_long_addresses_out(kind, body, length):
    text = body.format(home=HOME, long="z" * length)
    document = ListingDocument(
        url=HOME, body=text.encode(), content_type="", options=ListerOptions(), depth=0, now=NOW
    )
    listing = read_listing(kind, document)
    assert [sighting.url for sighting in listing.sightings] == ["https://h.hr/a"]
    if kind is not ListerKind.CRAWL:  # the engine reads links itself and notes it there
        assert [note.points for note in listing.notes if note.code == TOO_LONG] == [1]


def test_what_comes_to_the_last_gate_all_the_same_is_refused_with_the_reason():
    rules = AdmissionRules(filters=filters_of(ListerOptions()))
    refused = admit(rules, SourceTally(), Candidate(url=HOME + "x" * MAX_URL), now=NOW)
    assert refused.code == TOO_LONG


def test_a_watch_from_before_there_was_a_limit_is_not_asked_for():
    fault = readable(HOME + "x" * MAX_URL)
    assert isinstance(fault, Fault)
    assert fault.outcome is Outcome.SCHEME_REFUSED
    assert str(MAX_URL) in fault.detail


def test_config_and_commands_say_why_and_do_not_repeat_it(tmp_path: Path):
    long = HOME + "x" * 70_000
    with pytest.raises(ConfigError, match="70013 characters") as told:
        list(sources_of(parse({"sources": [{"url": long}]})))
    assert len(str(told.value)) < 500
    cli = Cli(tmp_path)
    cli("init", "--config", str(tmp_path / "vedette.yaml"))
    added = cli("add", long)
    assert added.code != 0
    assert "70013 characters" in added.err
    said = cli("why-not", long, "--json").json
    assert said["reason"] == TOO_LONG
    assert "4096" in said["answer"]


sizes = st.sampled_from([0, 1, 100, 1000, 8_000, 16_384, 32_768, 65_536, 200_000])
headers = st.lists(
    st.tuples(st.sampled_from(["X-A", "Set-Cookie", "Content-Type", "Content-Encoding", "é"]), sizes),
    max_size=260,
)


@given(headers, sizes, sizes)
def test_both_readers_go_past_records_of_hostile_size(fields, url, phrase):
    page = visit(1)
    wild = tuple(
        (f"{name}-{n}" if name == "X-A" else name, "v" * size) for n, (name, size) in enumerate(fields)
    )
    entry = replace(
        page,
        facts=replace(page.facts, url=HOME + "u" * url),
        phrase="p" * phrase,
        headers=(*wild, ("Content-Type", "text/html")),
    )
    both = visit_record(entry, "s-1") + visit_record(visit(2), "s-1")
    records = fastwarc.warc.ArchiveIterator(io.BytesIO(both), parse_http=True)
    fast = [(record.http_content_type, record.reader.read()) for record in records]
    plain = [
        record.content_stream().read() for record in ArchiveIterator(io.BytesIO(both), check_digests="raise")
    ]
    assert [body for _, body in fast] == plain == [page.payload, visit(2).payload]
    if not any(name == "Content-Type" for name, _ in fields):
        assert fast[0][0] == "text/html"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda page: replace(page, facts=replace(page.facts, url=HOME + "x" * 70_000)), "WARC header"),
        (lambda page: replace(page, headers=tuple((f"X-{n}", "v" * 8000) for n in range(20))), "HTTP head"),
    ],
    ids=["url", "headers"],
)
def test_verify_finds_the_record_at_which_other_readers_stop(tmp_path, monkeypatch, change, words):
    """As versions before 0.2 wrote them."""
    for name in ("_URI_ROOM", "_FIELD_ROOM", "_HEAD_ROOM"):
        monkeypatch.setattr(warc, name, 10**9)
    database = Database()
    archive = started(tmp_path, database)
    keep(archive, database, [visit(1), _changed(change), visit(3)])
    archive.close(NOW)
    report = database.verify(tmp_path)
    assert not report.is_whole
    (problem,) = report.problems
    assert problem.seq == 2
    assert words in problem.words


def _changed(change) -> ArchiveEntry:
    return change(visit(2))
